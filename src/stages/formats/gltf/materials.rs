//! Materials of a glTF.

use super::data::Data;
use super::pictures::Pictures;
use crate::model::Reason;
use crate::preview::scene::{AlphaMode, Material};
use crate::protocol::work::Failure;
use crate::stages::formats::references::SideRoot;
use crate::stages::formats::textures::without_textures;
use crate::stages::formats::{corrupt, warning};
use glam::{Vec2, Vec3, Vec4};
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
#[derive(Clone)]
struct Slot {
    index: usize,
    uv_set: u32,
    transform: Option<TextureTransform>,
}

impl Slot {
    fn of(info: &json::texture::Info) -> Self {
        let transform = info.extensions.as_ref().and_then(|all| all.texture_transform.clone());
        Self::at(info.index.value(), info.tex_coord, transform)
    }

    fn at(index: usize, tex_coord: u32, transform: Option<TextureTransform>) -> Self {
        let stated = transform.as_ref().and_then(|transform| transform.tex_coord);
        Self { index, uv_set: stated.unwrap_or(tex_coord), transform }
    }

    fn same_place(&self, other: &Self) -> bool {
        let parts = |transform: &Option<TextureTransform>| {
            let transform = transform.clone().unwrap_or_default();
            (transform.offset.0, transform.rotation.0, transform.scale.0)
        };
        self.uv_set == other.uv_set && parts(&self.transform) == parts(&other.transform)
    }
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

/// The textures of a material.
struct Slots {
    base: Option<Slot>,
    rough: Option<Slot>,
    normal: Option<Slot>,
    occlusion: Option<Slot>,
    emissive: Option<Slot>,
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
        let main = self.one_place(&mut said.slots, &name);
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
            alpha: alpha(from),
            double_sided: from.double_sided,
            unlit: extensions.is_some_and(|all| all.unlit.is_some()),
            name,
        };
        without_textures(&mut material, has_base, has_rough, has_glow);
        let (uv_set, transform) = main.map_or((0, None), |main| (main.uv_set, main.transform));
        Ok(Look { material, uv_set, transform })
    }

    /// Parts have one set of texture coordinates: textures that want another are left out.
    fn one_place(&mut self, slots: &mut Slots, name: &str) -> Option<Slot> {
        let all = [
            (&mut slots.base, "base colour"),
            (&mut slots.rough, "metal and roughness"),
            (&mut slots.normal, "normal"),
            (&mut slots.emissive, "emissive"),
            (&mut slots.occlusion, "occlusion"),
        ];
        let mut main: Option<(Slot, &str)> = None;
        for (slot, what) in all {
            let Some(found) = slot.clone() else { continue };
            match &main {
                None => main = Some((found, what)),
                Some((first, _)) if first.same_place(&found) => {}
                Some((_, first)) => {
                    *slot = None;
                    self.pictures.warnings.push(warning(
                        Reason::InputUnsupported,
                        format!(
                            "material '{name}': its {what} texture lies at other coordinates than its {first} texture and is not drawn"
                        ),
                    ));
                }
            }
        }
        main.map(|(slot, _)| slot)
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
