//! Materials and textures of an FBX.

use super::names;
use crate::model::Reason;
use crate::preview::scene::{AlphaMode, Material, Wrap};
use crate::protocol::work::{Failure, Warning};
use crate::stages::formats::references::{self, Lookup, SideRoot};
use crate::stages::formats::textures::{Textures, left_out, without_textures};
use crate::stages::formats::{bounds, read_bounded, warning};
use glam::{DVec2, Vec2, Vec3, Vec4};
use std::collections::HashMap;
use ufbx::{MaterialMap, Mesh, Texture, VertexVec2, WrapMode};

/// How the texture coordinates of a part are found.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// The set that the base colour's texture names; empty for the first one.
    set: String,
    /// Columns of the change from the file's coordinates to the texture's; none for no change.
    change: Option<[DVec2; 3]>,
}

impl Place {
    /// The set of coordinates of a mesh.
    pub(super) fn uvs<'a>(&self, mesh: &'a Mesh) -> Option<&'a VertexVec2> {
        let named = mesh.uv_sets.iter().find(|set| *set.name == *self.set);
        let set = named.map_or(&mesh.vertex_uv, |set| &set.vertex_uv);
        set.exists.then_some(set)
    }

    /// A coordinate as scenes have it: v goes down.
    pub(super) fn uv(&self, u: f64, v: f64) -> Vec2 {
        let uv = match &self.change {
            Some([x, y, offset]) => *x * u + *y * v + *offset,
            None => DVec2::new(u, v),
        };
        Vec2::new(uv.x as f32, (1.0 - uv.y) as f32)
    }
}

/// Materials read so far.
pub(super) struct Looks<'a> {
    name: &'a str,
    sides: &'a SideRoot,
    /// What the scene gets.
    pub materials: Vec<Material>,
    places: Vec<Place>,
    /// By the file's own number; none is for parts without a material.
    at: HashMap<Option<u32>, usize>,
    /// Decoded textures.
    pub textures: Textures,
    /// By the file's own number; none for one that cannot be drawn.
    texture_at: HashMap<u32, Option<usize>>,
    /// What is not drawn.
    pub warnings: Vec<Warning>,
}

impl<'a> Looks<'a> {
    pub(super) fn new(name: &'a str, sides: &'a SideRoot) -> Self {
        Self {
            name,
            sides,
            materials: Vec::new(),
            places: Vec::new(),
            at: HashMap::new(),
            textures: Textures::default(),
            texture_at: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The place of a material in the scene.
    pub(super) fn of(&mut self, material: Option<&ufbx::Material>) -> Result<usize, Failure> {
        let key = material.map(|material| material.element.element_id);
        if let Some(known) = self.at.get(&key) {
            return Ok(*known);
        }
        let (material, place) = match material {
            Some(material) => self.read(material)?,
            None => (Material::default(), Place::default()),
        };
        self.materials.push(material);
        self.places.push(place);
        self.at.insert(key, self.materials.len() - 1);
        Ok(self.materials.len() - 1)
    }

    /// How parts with this material find their texture coordinates.
    pub(super) fn place(&self, look: usize) -> Place {
        self.places.get(look).cloned().unwrap_or_default()
    }

    fn read(&mut self, from: &ufbx::Material) -> Result<(Material, Place), Failure> {
        let pbr = &from.pbr;
        let name = from.element.name.to_string();
        let mut material = Material { name, ..Material::default() };
        let base = used(&pbr.base_color);
        let color = color(&pbr.base_color, Vec3::splat(0.8)) * factor(&pbr.base_factor, 1.0);
        // Beside a texture the colour is a tint, and often black by mistake.
        let color = if base.is_some() && color == Vec3::ZERO { Vec3::ONE } else { color };
        let opacity = opacity(from);
        material.base_color = color.clamp(Vec3::ZERO, Vec3::ONE).extend(opacity);
        material.base_color_texture = self.texture(base)?;
        if opacity < 1.0 {
            material.alpha = AlphaMode::Blend;
        }
        material.metallic = factor(&pbr.metalness, 0.0).clamp(0.0, 1.0);
        let shine = from.features.roughness_as_glossiness.enabled;
        let roughness = if shine && pbr.glossiness.has_value {
            1.0 - factor(&pbr.glossiness, 0.2)
        } else {
            factor(&pbr.roughness, 0.8)
        };
        material.roughness = roughness.clamp(0.04, 1.0);
        let glow = used(&pbr.emission_color);
        material.emissive = color_of_light(&pbr.emission_color, &pbr.emission_factor);
        if glow.is_some() && material.emissive == Vec3::ZERO {
            material.emissive = Vec3::splat(factor(&pbr.emission_factor, 1.0).max(0.0));
        }
        material.emissive_texture = self.texture(glow)?;
        material.normal_texture = self.texture(used(&pbr.normal_map))?;
        material.unlit = from.features.unlit.enabled;
        self.opacity_texture(from, base, &mut material);
        self.others(from);
        without_textures(&mut material, base.is_some(), false, glow.is_some());
        Ok((material, base.map_or_else(Place::default, place)))
    }

    /// The texture of opacity is drawn where it is the one of the base colour.
    fn opacity_texture(
        &mut self,
        from: &ufbx::Material,
        base: Option<&Texture>,
        material: &mut Material,
    ) {
        let plain = used(&from.fbx.transparency_color);
        let Some(opacity) = used(&from.pbr.opacity).or(plain) else { return };
        let same = |base: &Texture| {
            base.element.element_id == opacity.element.element_id
                || (base.has_file && opacity.has_file && base.file_index == opacity.file_index)
        };
        if base.is_some_and(same) {
            material.alpha = AlphaMode::Blend;
        } else {
            self.not_drawn(from, "opacity");
        }
    }

    /// Textures that a part of ours has no place for.
    fn others(&mut self, from: &ufbx::Material) {
        let pbr = &from.pbr;
        for (map, what) in [
            (&pbr.metalness, "metalness"),
            (&pbr.roughness, "roughness"),
            (&pbr.glossiness, "glossiness"),
            (&pbr.ambient_occlusion, "occlusion"),
            (&pbr.specular_color, "specular"),
            (&pbr.displacement_map, "displacement"),
        ] {
            if used(map).is_some() {
                self.not_drawn(from, what);
            }
        }
    }

    fn not_drawn(&mut self, from: &ufbx::Material, what: &str) {
        self.warnings.push(warning(
            Reason::InputUnsupported,
            format!("material '{}': its {what} texture is not drawn", &*from.element.name),
        ));
    }

    fn texture(&mut self, texture: Option<&Texture>) -> Result<Option<usize>, Failure> {
        let Some(texture) = texture else { return Ok(None) };
        let key = texture.element.element_id;
        if let Some(known) = self.texture_at.get(&key) {
            return Ok(*known);
        }
        let label = names::last_part(&texture.filename).to_owned();
        let known = match self.load(texture, &label) {
            Ok(known) => Some(known),
            Err(failure) => {
                let what = format!("{}: the texture {label}", self.name);
                self.warnings.push(left_out(failure, &what)?);
                None
            }
        };
        self.texture_at.insert(key, known);
        Ok(known)
    }

    fn load(&mut self, texture: &Texture, label: &str) -> Result<usize, Failure> {
        let wrap = [texture.wrap_u, texture.wrap_v].map(|wrap| match wrap {
            WrapMode::Repeat => Wrap::Repeat,
            WrapMode::Clamp => Wrap::Clamp,
        });
        if !texture.content.is_empty() {
            return self.textures.add(&texture.content, label, wrap, false);
        }
        let written = [&texture.relative_filename, &texture.filename, &texture.absolute_filename];
        let file = written
            .iter()
            .map(|name| names::find(self.sides, self.name, name))
            .find(|lookup| matches!(lookup, Lookup::File { .. }));
        match file {
            Some(Lookup::File { path, .. }) => {
                let bytes = read_bounded(&path, bounds::IMAGE_FILE_BYTES)?;
                self.textures.add(&bytes, label, wrap, false)
            }
            _ => Err(references::missing("the file", label)),
        }
    }
}

/// The texture of a map, if it is in use: of a layered one the first file.
fn used(map: &MaterialMap) -> Option<&Texture> {
    let texture = map.texture.as_ref().filter(|_| map.texture_enabled)?;
    let first = texture.file_textures.into_iter().next();
    Some(first.unwrap_or(texture))
}

fn place(texture: &Texture) -> Place {
    let by = &texture.uv_to_texture;
    let change = texture.has_uv_transform.then(|| {
        [DVec2::new(by.m00, by.m10), DVec2::new(by.m01, by.m11), DVec2::new(by.m03, by.m13)]
    });
    Place { set: texture.uv_set.to_string(), change }
}

/// Newer shaders say their opacity; the plain ones of FBX a colour that shines through, and many
/// exporters `Opacity` beside it. What would be invisible is meant to be seen.
fn opacity(from: &ufbx::Material) -> f32 {
    let stated = from.element.props.props.iter().find(|prop| *prop.name == *"Opacity");
    let through = color(&from.fbx.transparency_color, Vec3::ZERO).element_sum() / 3.0;
    let through = through * factor(&from.fbx.transparency_factor, 1.0);
    let opacity = match stated {
        Some(prop) => prop.value_vec4.x as f32,
        None => factor(&from.pbr.opacity, 1.0 - through),
    };
    if opacity > 0.0 { opacity.min(1.0) } else { 1.0 }
}

fn value(map: &MaterialMap) -> Option<Vec4> {
    let value = &map.value_vec4;
    let value = Vec4::new(value.x as f32, value.y as f32, value.z as f32, value.w as f32);
    (map.has_value && value.is_finite()).then_some(value)
}

fn color(map: &MaterialMap, absent: Vec3) -> Vec3 {
    match value(map) {
        Some(value) if map.value_components == 1 => Vec3::splat(value.x),
        Some(value) => value.truncate(),
        None => absent,
    }
}

fn factor(map: &MaterialMap, absent: f32) -> f32 {
    value(map).map_or(absent, |value| value.x)
}

fn color_of_light(map: &MaterialMap, by: &MaterialMap) -> Vec3 {
    (color(map, Vec3::ZERO) * factor(by, 1.0)).max(Vec3::ZERO)
}
