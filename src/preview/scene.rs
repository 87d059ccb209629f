//! A scene ready to draw: triangles in world space with glTF materials.
//!
//! Right-handed, +Y up, metres, as glTF 2.0 says. Readers flip what differs.

pub use super::mapping::{Mapping, Mappings, UvSet};
use glam::{Vec2, Vec3, Vec4};

/// Everything that is drawn.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Groups of triangles, each with one material, already in world space.
    pub parts: Vec<Part>,
    /// Materials that the parts point to.
    pub materials: Vec<Material>,
    /// Images that the materials point to.
    pub textures: Vec<Texture>,
}

/// Triangles with one material, in world space. All lists but `indices` have one entry a vertex.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Name for people: the node or group it came from.
    pub name: String,
    /// Corners.
    pub positions: Vec<Vec3>,
    /// Unit normals. Never empty: readers compute flat ones where the file has none.
    pub normals: Vec<Vec3>,
    /// Texture coordinates, origin top left; empty where there are none.
    pub uvs: Vec<Vec2>,
    /// A second set of them, for textures that say so; empty where there is none.
    pub more_uvs: Vec<Vec2>,
    /// Unit vectors along growing u of the normal texture, w is 1 or −1: the direction up in the
    /// texture is w · normal × tangent (glTF 2.0 §3.7.2.1). Empty where there are none.
    pub tangents: Vec<Vec4>,
    /// Linear vertex colours; empty where there are none.
    pub colors: Vec<Vec4>,
    /// Three indices a triangle, counter-clockwise seen from the front (mirrored nodes are
    /// already turned).
    pub indices: Vec<u32>,
    /// Index into [`Scene::materials`].
    pub material: usize,
}

/// The metallic-roughness material of glTF 2.0 (§3.9).
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Name for people.
    pub name: String,
    /// Linear base colour, multiplied with its texture and the vertex colour.
    pub base_color: Vec4,
    /// sRGB texture of the base colour: index into [`Scene::textures`].
    pub base_color_texture: Option<usize>,
    /// 0 to 1, multiplied with the texture's blue.
    pub metallic: f32,
    /// 0 to 1, multiplied with the texture's green.
    pub roughness: f32,
    /// Linear texture: green is roughness, blue is metalness.
    pub metallic_roughness_texture: Option<usize>,
    /// Linear tangent-space normals, +Y up.
    pub normal_texture: Option<usize>,
    /// Scale of the normal texture's x and y.
    pub normal_scale: f32,
    /// Linear texture: red darkens indirect light.
    pub occlusion_texture: Option<usize>,
    /// How much of that darkening counts, 0 to 1.
    pub occlusion_strength: f32,
    /// Linear emitted light, multiplied with its texture.
    pub emissive: Vec3,
    /// sRGB texture of the emitted light.
    pub emissive_texture: Option<usize>,
    /// Where each of its textures lies.
    pub mappings: Mappings,
    /// How alpha is used.
    pub alpha: AlphaMode,
    /// Both sides are seen.
    pub double_sided: bool,
    /// Shows the base colour without light (`KHR_materials_unlit`).
    pub unlit: bool,
}

/// How alpha is used (glTF 2.0 §3.9.4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlphaMode {
    /// Ignored.
    Opaque,
    /// Below the cutoff nothing is drawn, above it all.
    Mask {
        /// The cutoff.
        cutoff: f32,
    },
    /// Blended over what is behind.
    Blend,
}

/// An image on a surface.
#[derive(Debug, Clone)]
pub struct Texture {
    /// Name for people.
    pub name: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `width × height × 4` bytes as stored (not yet linear).
    pub rgba: Vec<u8>,
    /// What happens outside 0..1 in u and v.
    pub wrap: [Wrap; 2],
    /// Pixels stay sharp when near.
    pub nearest: bool,
}

/// What happens outside 0..1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// Begins again.
    Repeat,
    /// Begins again, mirrored.
    Mirror,
    /// Keeps the edge.
    Clamp,
}

impl Default for Material {
    /// What glTF 2.0 says for a primitive without a material, but rough and not a metal, so that
    /// plain triangles (STL, PLY) look like clay and not like chrome.
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: Vec4::new(0.72, 0.72, 0.72, 1.0),
            base_color_texture: None,
            metallic: 0.0,
            roughness: 0.8,
            metallic_roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            occlusion_texture: None,
            occlusion_strength: 1.0,
            emissive: Vec3::ZERO,
            emissive_texture: None,
            mappings: Mappings::default(),
            alpha: AlphaMode::Opaque,
            double_sided: true,
            unlit: false,
        }
    }
}

impl Part {
    /// Adds a vertex like the one at `at`. Tangents are left to the caller.
    pub(super) fn repeat(&mut self, at: usize) {
        fn again<T: Copy>(list: &mut Vec<T>, at: usize) {
            if let Some(value) = list.get(at).copied() {
                list.push(value);
            }
        }
        again(&mut self.positions, at);
        again(&mut self.normals, at);
        again(&mut self.uvs, at);
        again(&mut self.more_uvs, at);
        again(&mut self.colors, at);
    }
}

/// The box around finite points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Least corner.
    pub min: Vec3,
    /// Greatest corner.
    pub max: Vec3,
}

impl Scene {
    /// The box around all finite corners that a triangle uses; none where there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        let corners = self.parts.iter().flat_map(|part| {
            part.indices.iter().filter_map(|index| part.positions.get(*index as usize))
        });
        corners.filter(|corner| corner.is_finite()).fold(None, |bounds, corner| {
            let bounds = bounds.unwrap_or(Bounds { min: *corner, max: *corner });
            Some(Bounds { min: bounds.min.min(*corner), max: bounds.max.max(*corner) })
        })
    }

    /// Triangles in all parts.
    pub fn triangles(&self) -> usize {
        self.parts.iter().map(|part| part.indices.len() / 3).sum()
    }
}
