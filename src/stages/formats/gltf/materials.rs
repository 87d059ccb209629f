//! Materials of a glTF.

use super::data::Data;
use super::pictures::Pictures;
use super::places::{self, Places, Slot, Slots};
use crate::model::Reason;
use crate::preview::scene::{AlphaMode, Material};
use crate::protocol::work::Failure;
use crate::stages::formats::references::SideRoot;
use crate::stages::formats::textures::without_textures;
use crate::stages::formats::{corrupt, warning};
use glam::{Vec3, Vec4};
use gltf::json;
use gltf::json::extensions::texture::TextureTransform;
use gltf::json::validation::Checked;
use serde::Deserialize;
use serde_json::{Map, Value};

const TRANSFORM: &str = "KHR_texture_transform";
const SPECULAR: &str = "KHR_materials_pbrSpecularGlossiness";

/// A material and which texture coordinates it wants.
pub(super) struct Look {
    pub material: Material,
    pub places: Places,
}

/// The typed form knows the transform of some textures only.
fn transform_in(others: Option<&Map<String, Value>>) -> Option<TextureTransform> {
    serde_json::from_value(others?.get(TRANSFORM)?.clone()).ok()
}

/// What a material says, from whichever of its models.
struct Said {
    base_color: Vec4,
    metallic: f32,
    roughness: f32,
    slots: Slots,
    /// It has a texture that the farm's model has no place for.
    loses_texture: bool,
}

/// `KHR_materials_pbrSpecularGlossiness`, as far as it has a like in the other model.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specular {
    diffuse_factor: [f32; 4],
    diffuse_texture: Option<json::texture::Info>,
    glossiness_factor: f32,
    #[serde(rename = "specularGlossinessTexture")]
    shine_texture: Option<Value>,
}

impl Default for Specular {
    fn default() -> Self {
        Self {
            diffuse_factor: [1.0; 4],
            diffuse_texture: None,
            glossiness_factor: 1.0,
            shine_texture: None,
        }
    }
}

/// What a primitive without a material is drawn with (glTF 2.0 §3.7.2.1: all defaults of §3.9).
pub(super) fn unstated() -> Material {
    Material {
        base_color: Vec4::ONE,
        metallic: 1.0,
        roughness: 1.0,
        double_sided: false,
        ..Material::default()
    }
}

/// Reads materials.
pub(super) struct Materials<'a> {
    data: &'a Data<'a>,
    /// Their textures.
    pub pictures: Pictures<'a>,
}

impl<'a> Materials<'a> {
    pub(super) fn new(data: &'a Data<'a>, sides: &'a SideRoot) -> Self {
        Self { data, pictures: Pictures::new(data, sides) }
    }

    /// The material with this index.
    pub(super) fn read(&mut self, index: usize) -> Result<Look, Failure> {
        let data = self.data;
        let from = data.root.materials.get(index).ok_or_else(|| {
            corrupt(format!("{}: material {index} does not exist. Export it again", data.name))
        })?;
        let name = from.name.clone().unwrap_or_else(|| format!("material {index}"));
        let mut said = said(from);
        if said.loses_texture {
            self.pictures.warnings.push(warning(
                Reason::InputUnsupported,
                format!("material '{name}': its specular and glossiness texture is not drawn"),
            ));
        }
        let (places, mappings, lost) = places::arrange(&mut said.slots);
        for what in lost {
            self.pictures.warnings.push(warning(
                Reason::InputUnsupported,
                format!(
                    "material '{name}': its {what} texture wants a third set of texture coordinates and is not drawn"
                ),
            ));
        }
        let extensions = from.extensions.as_ref();
        let strength = extensions
            .and_then(|all| all.emissive_strength.as_ref())
            .map_or(1.0, |strength| strength.emissive_strength.0);
        let slots = said.slots;
        let (has_base, has_rough, has_glow) =
            (slots.base.is_some(), slots.rough.is_some(), slots.emissive.is_some());
        let mut material = Material {
            base_color: finite4(said.base_color),
            base_color_texture: self.slot(slots.base)?,
            metallic: unit(said.metallic),
            roughness: unit(said.roughness),
            metallic_roughness_texture: self.slot(slots.rough)?,
            normal_texture: self.slot(slots.normal)?,
            normal_scale: from.normal_texture.as_ref().map_or(1.0, |normal| normal.scale),
            occlusion_texture: self.slot(slots.occlusion)?,
            occlusion_strength: from
                .occlusion_texture
                .as_ref()
                .map_or(1.0, |one| unit(one.strength.0)),
            emissive: finite3(Vec3::from(from.emissive_factor.0) * strength),
            emissive_texture: self.slot(slots.emissive)?,
            mappings,
            alpha: alpha(from),
            double_sided: from.double_sided,
            unlit: extensions.is_some_and(|all| all.unlit.is_some()),
            name,
        };
        without_textures(&mut material, has_base, has_rough, has_glow);
        Ok(Look { material, places })
    }

    fn slot(&mut self, slot: Option<Slot>) -> Result<Option<usize>, Failure> {
        slot.map_or(Ok(None), |slot| self.pictures.texture(slot.index))
    }
}

fn said(from: &json::Material) -> Said {
    let pbr = &from.pbr_metallic_roughness;
    let normal = from.normal_texture.as_ref().map(|normal| {
        let transform = transform_in(normal.extensions.as_ref().map(|all| &all.others));
        Slot::at(normal.index.value(), normal.tex_coord, transform)
    });
    let occlusion = from.occlusion_texture.as_ref().map(|occlusion| {
        let transform = transform_in(occlusion.extensions.as_ref().map(|all| &all.others));
        Slot::at(occlusion.index.value(), occlusion.tex_coord, transform)
    });
    let emissive = from.emissive_texture.as_ref().map(Slot::of);
    let mut said = Said {
        base_color: Vec4::from(pbr.base_color_factor.0),
        metallic: pbr.metallic_factor.0,
        roughness: pbr.roughness_factor.0,
        slots: Slots {
            base: pbr.base_color_texture.as_ref().map(Slot::of),
            rough: pbr.metallic_roughness_texture.as_ref().map(Slot::of),
            normal,
            occlusion,
            emissive,
        },
        loses_texture: false,
    };
    // Where the file has both models, the one that the farm draws is the better.
    let is_stated = said.slots.base.is_some() || said.base_color != Vec4::ONE;
    let written = from.extensions.as_ref().and_then(|all| all.others.get(SPECULAR));
    let specular = written.and_then(|one| serde_json::from_value::<Specular>(one.clone()).ok());
    if let (Some(specular), false) = (specular, is_stated) {
        said.base_color = Vec4::from(specular.diffuse_factor);
        said.metallic = 0.0;
        said.roughness = 1.0 - specular.glossiness_factor;
        said.slots.base = specular.diffuse_texture.as_ref().map(Slot::of);
        said.slots.rough = None;
        said.loses_texture = specular.shine_texture.is_some();
    }
    said
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
