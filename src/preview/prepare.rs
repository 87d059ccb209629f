//! Brings a scene into the form that both renderers draw: only sound triangles, the bounding sphere
//! at radius 1 around the origin, textures with mip levels, blended triangles apart.

use super::scene::{AlphaMode, Mapping, Material, Part, Scene, UvSet};
use super::texels::{Role, Texels};
use bytemuck::{Pod, Zeroable};
use glam::{DVec3, Vec2, Vec3, Vec4};
use std::collections::HashMap;

/// Largest texture edge that is kept, in pixels.
pub(crate) const MAX_TEXTURE_PX: u32 = 4_096;
/// Base colour, metallic-roughness, normal, occlusion, emissive.
pub(crate) const SLOTS: usize = 5;

/// A corner as the GPU reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub(crate) struct Vertex {
    pub(crate) position: [f32; 3],
    /// Zero where the file's normal is unusable: then the face's own is taken.
    pub(crate) normal: [f32; 3],
    pub(crate) uv: [f32; 2],
    pub(crate) color: [f32; 4],
    /// Zero where there is none: then directions are found by the picture.
    pub(crate) tangent: [f32; 4],
    pub(crate) second_uv: [f32; 2],
}

/// Triangles that share one material.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) vertices: Vec<Vertex>,
    pub(crate) indices: Vec<u32>,
    pub(crate) surface: usize,
}

/// How a texture finds its coordinates. Laid out for WGSL.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Place {
    /// What u adds to (u, v), then what v adds.
    pub(crate) turn: Vec4,
    /// Added at the end; z is 1 if it starts from the second coordinates.
    pub(crate) offset: Vec4,
}

/// The numbers of a material. Laid out for WGSL.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Factors {
    pub(crate) base_color: Vec4,
    /// w is the normal scale.
    pub(crate) emissive: Vec4,
    /// Metallic, roughness, alpha cutoff (below 0: alpha is not tested), 1 if unlit.
    pub(crate) numbers: Vec4,
    /// 1 if blended, 1 if there is a normal texture, strength of the occlusion; the rest is unused.
    pub(crate) switches: Vec4,
    /// By slot.
    pub(crate) places: [Place; SLOTS],
}

/// Whether a surface's textures all lie at the first coordinates as they are, which is quicker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Plain,
    Placed,
}

/// A material ready to draw.
#[derive(Debug)]
pub(crate) struct Surface {
    pub(crate) factors: Factors,
    /// Indices into [`Drawable::textures`] by slot.
    pub(crate) textures: [Option<usize>; SLOTS],
    pub(crate) layout: Layout,
    pub(crate) double_sided: bool,
    pub(crate) blended: bool,
    pub(crate) masked: bool,
}

/// A scene ready to draw.
#[derive(Debug)]
pub(crate) struct Drawable {
    /// Opaque and masked groups first, then blended ones.
    pub(crate) groups: Vec<Group>,
    pub(crate) surfaces: Vec<Surface>,
    pub(crate) textures: Vec<Texels>,
    /// Height of the ground: the lowest corner.
    pub(crate) ground_y: f32,
    /// What had to be left out, for the log.
    pub(crate) notes: Vec<String>,
}

impl Drawable {
    /// None where no triangle can be drawn.
    pub(crate) fn new(scene: &Scene, max_texture_px: u32) -> Option<Self> {
        let mut notes = Vec::new();
        let sphere = Sphere::around(scene)?;
        let mut maker = SurfaceMaker::new(scene, max_texture_px);
        let mut groups = Vec::new();
        let mut dropped = 0;
        for part in &scene.parts {
            let (mut group, lost) = sound_group(part, &sphere);
            dropped += lost;
            if !group.indices.is_empty() {
                group.surface = maker.surface(part.material);
                groups.push(group);
            }
        }
        if dropped > 0 {
            notes.push(format!("{dropped} triangles with unusable corners are left out"));
        }
        notes.append(&mut maker.notes);
        let SurfaceMaker { surfaces, textures, .. } = maker;
        let blended =
            |group: &Group| surfaces.get(group.surface).is_some_and(|surface| surface.blended);
        groups.sort_by_key(blended);
        let ground_y = groups
            .iter()
            .flat_map(|group| &group.vertices)
            .map(|vertex| vertex.position[1])
            .fold(f32::MAX, f32::min);
        (!groups.is_empty()).then_some(Self { groups, surfaces, textures, ground_y, notes })
    }

    /// All corners.
    pub(crate) fn points(&self) -> Vec<Vec3> {
        let vertices = self.groups.iter().flat_map(|group| &group.vertices);
        vertices.map(|vertex| Vec3::from(vertex.position)).collect()
    }

    /// The corners of every triangle.
    pub(crate) fn triangles(&self) -> impl Iterator<Item = [Vec3; 3]> + '_ {
        self.groups.iter().flat_map(|group| {
            group.indices.chunks_exact(3).filter_map(|triangle| {
                let corner = |at: usize| {
                    let vertex = group.vertices.get(*triangle.get(at)? as usize)?;
                    Some(Vec3::from(vertex.position))
                };
                Some([corner(0)?, corner(1)?, corner(2)?])
            })
        })
    }

    pub(crate) fn surface(&self, group: &Group) -> Option<&Surface> {
        self.surfaces.get(group.surface)
    }
}

/// In doubles, so that neither huge nor far-away coordinates overflow.
struct Sphere {
    center: DVec3,
    scale: f64,
}

impl Sphere {
    fn around(scene: &Scene) -> Option<Self> {
        let bounds = scene.bounds()?;
        let center = (bounds.min.as_dvec3() + bounds.max.as_dvec3()) * 0.5;
        let radius = scene
            .parts
            .iter()
            .flat_map(|part| part.indices.iter().filter_map(|at| part.positions.get(*at as usize)))
            .filter(|point| point.is_finite())
            .map(|point| point.as_dvec3().distance_squared(center))
            .fold(0.0, f64::max)
            .sqrt();
        Some(Self { center, scale: if radius > 0.0 { radius.recip() } else { 1.0 } })
    }

    fn place(&self, point: Vec3) -> Vec3 {
        ((point.as_dvec3() - self.center) * self.scale).as_vec3()
    }
}

/// The triangles whose corners exist and are finite, and how many were left out.
fn sound_group(part: &Part, sphere: &Sphere) -> (Group, usize) {
    let mut group = Group::default();
    let mut new_index = vec![u32::MAX; part.positions.len()];
    let mut dropped = usize::from(!part.indices.len().is_multiple_of(3));
    for triangle in part.indices.chunks_exact(3) {
        let sound = triangle
            .iter()
            .all(|at| part.positions.get(*at as usize).is_some_and(|point| point.is_finite()));
        if !sound {
            dropped += 1;
            continue;
        }
        for at in triangle {
            let at = *at as usize;
            let Some(slot) = new_index.get_mut(at) else { continue };
            if *slot == u32::MAX {
                *slot = group.vertices.len() as u32;
                group.vertices.push(vertex(part, at, sphere));
            }
            group.indices.push(*slot);
        }
    }
    (group, dropped)
}

fn vertex(part: &Part, at: usize, sphere: &Sphere) -> Vertex {
    let position = part.positions.get(at).map_or(Vec3::ZERO, |point| sphere.place(*point));
    let normal = part.normals.get(at).map_or(Vec3::ZERO, |normal| normal.normalize_or_zero());
    let uv = |list: &[Vec2]| list.get(at).copied().filter(|uv| uv.is_finite()).unwrap_or_default();
    let tangent = part.tangents.get(at).map_or(Vec4::ZERO, |tangent| {
        let along = tangent.truncate().normalize_or_zero();
        let sign = if tangent.w < 0.0 { -1.0 } else { 1.0 };
        along.extend(if along == Vec3::ZERO { 0.0 } else { sign })
    });
    let color = part.colors.get(at).copied().filter(|color| color.is_finite()).unwrap_or(Vec4::ONE);
    Vertex {
        position: position.into(),
        normal: normal.into(),
        uv: uv(&part.uvs).into(),
        color: color.max(Vec4::ZERO).into(),
        tangent: tangent.into(),
        second_uv: uv(&part.more_uvs).into(),
    }
}

struct SurfaceMaker<'a> {
    scene: &'a Scene,
    max_texture_px: u32,
    known: HashMap<usize, usize>,
    prepared: HashMap<(usize, Role), Option<usize>>,
    surfaces: Vec<Surface>,
    textures: Vec<Texels>,
    notes: Vec<String>,
}

impl<'a> SurfaceMaker<'a> {
    fn new(scene: &'a Scene, max_texture_px: u32) -> Self {
        Self {
            scene,
            max_texture_px: max_texture_px.clamp(1, MAX_TEXTURE_PX),
            known: HashMap::new(),
            prepared: HashMap::new(),
            surfaces: Vec::new(),
            textures: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn surface(&mut self, material: usize) -> usize {
        if let Some(known) = self.known.get(&material) {
            return *known;
        }
        let default = Material::default();
        let surface = self.make(self.scene.materials.get(material).unwrap_or(&default));
        self.surfaces.push(surface);
        self.known.insert(material, self.surfaces.len() - 1);
        self.surfaces.len() - 1
    }

    fn make(&mut self, material: &Material) -> Surface {
        let textures = [
            self.texture(material.base_color_texture, Role::Color),
            self.texture(material.metallic_roughness_texture, Role::Data),
            self.texture(material.normal_texture, Role::Data),
            self.texture(material.occlusion_texture, Role::Data),
            self.texture(material.emissive_texture, Role::Color),
        ];
        let blended = material.alpha == AlphaMode::Blend;
        let (masked, cutoff) = match material.alpha {
            AlphaMode::Mask { cutoff } => (true, finite(cutoff, 0.5).max(0.0)),
            AlphaMode::Opaque | AlphaMode::Blend => (false, -1.0),
        };
        let base_color =
            if material.base_color.is_finite() { material.base_color } else { Vec4::ONE };
        let emissive = if material.emissive.is_finite() { material.emissive } else { Vec3::ZERO };
        let mappings = &material.mappings;
        let mappings = [
            mappings.base_color,
            mappings.metallic_roughness,
            mappings.normal,
            mappings.occlusion,
            mappings.emissive,
        ];
        let factors = Factors {
            base_color: base_color.max(Vec4::ZERO),
            emissive: emissive.max(Vec3::ZERO).extend(finite(material.normal_scale, 1.0)),
            numbers: Vec4::new(
                finite(material.metallic, 0.0).clamp(0.0, 1.0),
                finite(material.roughness, 1.0).clamp(0.0, 1.0),
                cutoff,
                f32::from(u8::from(material.unlit)),
            ),
            switches: Vec4::new(
                f32::from(u8::from(blended)),
                f32::from(u8::from(textures[2].is_some())),
                finite(material.occlusion_strength, 1.0).clamp(0.0, 1.0),
                0.0,
            ),
            places: mappings.map(|mapping| place(&mapping)),
        };
        let placed = textures
            .iter()
            .zip(mappings)
            .any(|(texture, mapping)| texture.is_some() && mapping != Mapping::default());
        let layout = if placed { Layout::Placed } else { Layout::Plain };
        Surface { factors, textures, layout, double_sided: material.double_sided, blended, masked }
    }

    fn texture(&mut self, index: Option<usize>, role: Role) -> Option<usize> {
        let index = index?;
        if let Some(prepared) = self.prepared.get(&(index, role)) {
            return *prepared;
        }
        let source = self.scene.textures.get(index);
        let texels = source.and_then(|image| Texels::prepare(image, role, self.max_texture_px));
        let prepared = if let Some(texels) = texels {
            self.textures.push(texels);
            Some(self.textures.len() - 1)
        } else {
            let name = source.map_or("", |image| image.name.as_str());
            self.notes.push(format!("texture {index} '{name}' has no pixels and is left out"));
            None
        };
        self.prepared.insert((index, role), prepared);
        prepared
    }
}

fn place(mapping: &Mapping) -> Place {
    let second = f32::from(u8::from(mapping.uv_set == UvSet::Second));
    let (turn, offset) = (mapping.turn(), mapping.offset);
    if turn.is_finite() && offset.is_finite() {
        Place { turn, offset: Vec4::new(offset.x, offset.y, second, 0.0) }
    } else {
        Place { turn: Vec4::new(1.0, 0.0, 0.0, 1.0), offset: Vec4::Z * second }
    }
}

fn finite(value: f32, otherwise: f32) -> f32 {
    if value.is_finite() { value } else { otherwise }
}
