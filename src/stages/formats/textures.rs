//! Decodes the textures of meshes, within one budget of bytes.

use super::{bounds, images, sniff, too_large, warning};
use crate::model::Reason;
use crate::preview::scene::{Material, Texture, Wrap};
use crate::preview::{DecodedImage, Picture};
use crate::protocol::work::{Failure, Warning};
use glam::Vec3;

/// The textures of one scene and how many bytes they take.
#[derive(Debug, Default)]
pub(super) struct Textures {
    /// Decoded so far.
    pub list: Vec<Texture>,
    bytes: u64,
}

impl Textures {
    /// Decodes and adds a texture; gives its index.
    pub(super) fn add(
        &mut self,
        bytes: &[u8],
        name: &str,
        wrap: [Wrap; 2],
        nearest: bool,
    ) -> Result<usize, Failure> {
        let picture = picture(bytes, name)?;
        self.bytes = self.bytes.saturating_add(picture.rgba.len() as u64);
        if self.bytes > bounds::TEXTURE_BYTES {
            return Err(too_large(format!(
                "the textures take more than {} bytes. Make them smaller",
                bounds::TEXTURE_BYTES
            )));
        }
        self.list.push(Texture {
            name: name.to_owned(),
            width: picture.width,
            height: picture.height,
            rgba: picture.rgba,
            wrap,
            nearest,
        });
        Ok(self.list.len() - 1)
    }
}

/// A texture's name says little about its content, so only the content decides.
fn picture(bytes: &[u8], name: &str) -> Result<Picture, Failure> {
    let head = bytes.get(..bounds::SNIFF_BYTES.min(bytes.len())).unwrap_or_default();
    let size = bytes.len() as u64;
    let format = match sniff::sniff(head, size, None) {
        Some(format) => format,
        None => sniff::sniff_named(head, size, name)?,
    };
    Ok(match images::decode(format, bytes, &format!("the texture {name}"))? {
        DecodedImage::Display(picture) => picture,
        DecodedImage::Light(light) => Picture {
            width: light.width,
            height: light.height,
            rgba: light
                .pixels
                .iter()
                .flat_map(|[r, g, b, a]| [encoded(*r), encoded(*g), encoded(*b), byte(*a)])
                .collect(),
        },
    })
}

fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Linear light to an sRGB byte.
fn encoded(value: f32) -> u8 {
    let value = value.clamp(0.0, 1.0);
    byte(if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 })
}

/// The warning for a texture that is missing or cannot be read. What must not be passed over in
/// silence stays a failure: a place outside the asset's folder, and too much memory.
pub(super) fn left_out(failure: Failure, what: &str) -> Result<Warning, Failure> {
    if matches!(failure.reason, Reason::ReferenceOutside | Reason::InputTooLarge) {
        return Err(failure);
    }
    let message = failure.message;
    Ok(warning(failure.reason, format!("{what} is not drawn: {message}")))
}

/// What a material looks like without the textures that it should have: grey instead of white, not
/// a mirror, and dark instead of glowing.
pub(super) fn without_textures(material: &mut Material, base: bool, rough: bool, glow: bool) {
    let clay = Material::default();
    if base && material.base_color_texture.is_none() {
        let grey = clay.base_color.truncate() * material.base_color.truncate();
        material.base_color = grey.extend(material.base_color.w);
    }
    if rough && material.metallic_roughness_texture.is_none() {
        material.metallic = clay.metallic;
        material.roughness = clay.roughness;
    }
    if glow && material.emissive_texture.is_none() {
        material.emissive = Vec3::ZERO;
    }
}
