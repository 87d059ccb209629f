//! Materials and textures of a glTF.

use super::data::{Data, resource};
use crate::model::Reason;
use crate::preview::scene::{AlphaMode, Material, Wrap};
use crate::protocol::work::{Failure, Warning};
use crate::stages::formats::references::SideRoot;
use crate::stages::formats::textures::Textures;
use crate::stages::formats::{corrupt, warning};
use glam::{Vec2, Vec3, Vec4};
use gltf::json;
use gltf::json::extensions::texture::TextureTransform;
use gltf::json::texture::{MagFilter, WrappingMode};
use gltf::json::validation::Checked;
use std::collections::HashMap;

/// A material and which texture coordinates it wants.
pub(super) struct Look {
    pub material: Material,
    /// The set: 0 for `TEXCOORD_0`.
    pub uv_set: u32,
    pub transform: Option<TextureTransform>,
}

impl Look {
    /// Texture coordinates with the material's transform baked in (`KHR_texture_transform`).
    pub(super) fn place(&self, uv: Vec2) -> Vec2 {
        let Some(transform) = &self.transform else { return uv };
        let (sin, cos) = transform.rotation.0.sin_cos();
        let scaled = uv * Vec2::from(transform.scale.0);
        let turned = Vec2::new(scaled.x * cos + scaled.y * sin, scaled.y * cos - scaled.x * sin);
        turned + Vec2::from(transform.offset.0)
    }
}

/// One use of a texture by a material.
struct Slot<'a> {
    index: usize,
    uv_set: u32,
    transform: Option<&'a TextureTransform>,
}

impl<'a> Slot<'a> {
    fn of(info: &'a json::texture::Info) -> Self {
        let transform = info.extensions.as_ref().and_then(|all| all.texture_transform.as_ref());
        let uv_set = transform.and_then(|transform| transform.tex_coord).unwrap_or(info.tex_coord);
        Self { index: info.index.value(), uv_set, transform }
    }

    fn same_place(&self, other: &Slot<'_>) -> bool {
        let parts = |transform: Option<&TextureTransform>| {
            let transform = transform.cloned().unwrap_or_default();
            (transform.offset.0, transform.rotation.0, transform.scale.0)
        };
        self.uv_set == other.uv_set && parts(self.transform) == parts(other.transform)
    }
}

/// Reads materials, decoding each texture once.
pub(super) struct Materials<'a> {
    data: &'a Data<'a>,
    sides: &'a SideRoot,
    /// Decoded so far.
    pub textures: Textures,
    at: HashMap<usize, usize>,
    /// What is not drawn.
    pub warnings: Vec<Warning>,
}

impl<'a> Materials<'a> {
    pub(super) fn new(data: &'a Data<'a>, sides: &'a SideRoot) -> Self {
        let (textures, at) = (Textures::default(), HashMap::new());
        Self { data, sides, textures, at, warnings: Vec::new() }
    }

    /// The material with this index.
    pub(super) fn read(&mut self, index: usize) -> Result<Look, Failure> {
        let data = self.data;
        let from = data.root.materials.get(index).ok_or_else(|| {
            corrupt(format!("{}: material {index} does not exist. Export it again", data.name))
        })?;
        let pbr = &from.pbr_metallic_roughness;
        let base = pbr.base_color_texture.as_ref().map(Slot::of);
        let rough = pbr.metallic_roughness_texture.as_ref().map(Slot::of);
        let emissive = from.emissive_texture.as_ref().map(Slot::of);
        // The typed form drops the extensions of these two.
        let normal = from.normal_texture.as_ref();
        let normal_slot =
            normal.map(|n| Slot { index: n.index.value(), uv_set: n.tex_coord, transform: None });
        let occlusion = from.occlusion_texture.as_ref();
        let occlusion_slot = occlusion.map(|o| Slot {
            index: o.index.value(),
            uv_set: o.tex_coord,
            transform: None,
        });
        let name = from.name.clone().unwrap_or_else(|| format!("material {index}"));
        let slots = [&base, &rough, &emissive, &normal_slot, &occlusion_slot];
        let main = slots.into_iter().flatten().next();
        let differs = |slot: &&Slot<'_>| main.is_some_and(|main| !main.same_place(slot));
        if [&base, &rough, &emissive].into_iter().flatten().any(|slot| differs(&slot)) {
            self.warnings.push(warning(
                Reason::InputUnsupported,
                format!("material '{name}': its textures use different coordinates; the first one's are drawn"),
            ));
        }
        let (uv_set, transform) =
            main.map_or((0, None), |main| (main.uv_set, main.transform.cloned()));
        let extensions = from.extensions.as_ref();
        let strength = extensions
            .and_then(|all| all.emissive_strength.as_ref())
            .map_or(1.0, |strength| strength.emissive_strength.0);
        let material = Material {
            base_color: finite4(Vec4::from(pbr.base_color_factor.0)),
            base_color_texture: self.slot(base.as_ref())?,
            metallic: unit(pbr.metallic_factor.0),
            roughness: unit(pbr.roughness_factor.0),
            metallic_roughness_texture: self.slot(rough.as_ref())?,
            normal_texture: self.slot(normal_slot.as_ref())?,
            normal_scale: normal.map_or(1.0, |normal| normal.scale),
            occlusion_texture: self.slot(occlusion_slot.as_ref())?,
            emissive: finite3(Vec3::from(from.emissive_factor.0) * strength),
            emissive_texture: self.slot(emissive.as_ref())?,
            alpha: alpha(from),
            double_sided: from.double_sided,
            unlit: extensions.is_some_and(|all| all.unlit.is_some()),
            name,
        };
        Ok(Look { material, uv_set, transform })
    }

    fn slot(&mut self, slot: Option<&Slot<'_>>) -> Result<Option<usize>, Failure> {
        slot.map(|slot| self.texture(slot.index)).transpose()
    }

    fn texture(&mut self, index: usize) -> Result<usize, Failure> {
        if let Some(known) = self.at.get(&index) {
            return Ok(*known);
        }
        let (root, name) = (self.data.root, self.data.name);
        let bad = |what: &str| corrupt(format!("{name}: texture {index} {what}. Export it again"));
        let texture = root.textures.get(index).ok_or_else(|| bad("does not exist"))?;
        let image = root.images.get(texture.source.value()).ok_or_else(|| bad("has no image"))?;
        let label = image.name.clone().or_else(|| short_uri(image.uri.as_deref()));
        let label = label.unwrap_or_else(|| format!("image {}", texture.source.value()));
        let loaded;
        let bytes = match (&image.uri, image.buffer_view) {
            (Some(uri), _) => {
                loaded = resource(uri, self.sides, "the texture", name)?;
                loaded.as_slice()
            }
            (None, Some(view)) => self.data.view(view.value())?.0,
            (None, None) => return Err(bad("has an image without data")),
        };
        let sampler = match texture.sampler {
            Some(sampler) => {
                Some(root.samplers.get(sampler.value()).ok_or_else(|| bad("has no sampler"))?)
            }
            None => None,
        };
        let wrap = sampler.map_or([Wrap::Repeat; 2], |s| [wrap(s.wrap_s), wrap(s.wrap_t)]);
        let nearest =
            sampler.is_some_and(|s| s.mag_filter == Some(Checked::Valid(MagFilter::Nearest)));
        let known = self.textures.add(bytes, &label, wrap, nearest)?;
        self.at.insert(index, known);
        Ok(known)
    }
}

fn short_uri(uri: Option<&str>) -> Option<String> {
    uri.filter(|uri| !uri.starts_with("data:")).map(|uri| uri.chars().take(120).collect())
}

fn wrap(mode: Checked<WrappingMode>) -> Wrap {
    match mode {
        Checked::Valid(WrappingMode::ClampToEdge) => Wrap::Clamp,
        Checked::Valid(WrappingMode::MirroredRepeat) => Wrap::Mirror,
        _ => Wrap::Repeat,
    }
}

fn alpha(from: &json::Material) -> AlphaMode {
    match from.alpha_mode {
        Checked::Valid(json::material::AlphaMode::Mask) => {
            AlphaMode::Mask { cutoff: from.alpha_cutoff.map_or(0.5, |cutoff| cutoff.0) }
        }
        Checked::Valid(json::material::AlphaMode::Blend) => AlphaMode::Blend,
        _ => AlphaMode::Opaque,
    }
}

fn unit(value: f32) -> f32 {
    if value.is_finite() { value.clamp(0.0, 1.0) } else { 1.0 }
}

fn finite3(value: Vec3) -> Vec3 {
    if value.is_finite() { value.max(Vec3::ZERO) } else { Vec3::ZERO }
}

fn finite4(value: Vec4) -> Vec4 {
    if value.is_finite() { value.max(Vec4::ZERO) } else { Vec4::ONE }
}
