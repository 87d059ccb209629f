//! The textures of a glTF, each decoded once.

use super::data::{Data, resource};
use crate::preview::scene::Wrap;
use crate::protocol::work::{Failure, Warning};
use crate::stages::formats::corrupt;
use crate::stages::formats::references::SideRoot;
use crate::stages::formats::textures::{Textures, left_out};
use gltf::json;
use gltf::json::texture::{MagFilter, WrappingMode};
use gltf::json::validation::Checked;
use serde_json::Value;
use std::collections::HashMap;

/// Textures decoded so far.
pub(super) struct Pictures<'a> {
    data: &'a Data<'a>,
    sides: &'a SideRoot,
    /// What the scene gets.
    pub textures: Textures,
    /// By index in the file; none for one that cannot be drawn.
    at: HashMap<usize, Option<usize>>,
    /// What is not drawn.
    pub warnings: Vec<Warning>,
}

impl<'a> Pictures<'a> {
    pub(super) fn new(data: &'a Data<'a>, sides: &'a SideRoot) -> Self {
        let (textures, at) = (Textures::default(), HashMap::new());
        Self { data, sides, textures, at, warnings: Vec::new() }
    }

    /// The place of a texture in the scene. One whose picture is missing or unreadable is none,
    /// with a warning; one that lies outside the asset's folder, or is too large, fails.
    pub(super) fn texture(&mut self, index: usize) -> Result<Option<usize>, Failure> {
        if let Some(known) = self.at.get(&index) {
            return Ok(*known);
        }
        let name = self.data.name;
        let texture = self.data.root.textures.get(index).ok_or_else(|| {
            corrupt(format!("{name}: texture {index} does not exist. Export it again"))
        })?;
        let known = match self.load(index, texture) {
            Ok(known) => Some(known),
            Err(failure) => {
                let what = format!("{name}: texture {index}");
                self.warnings.push(left_out(failure, &what)?);
                None
            }
        };
        self.at.insert(index, known);
        Ok(known)
    }

    fn load(&mut self, index: usize, texture: &json::Texture) -> Result<usize, Failure> {
        let (root, name) = (self.data.root, self.data.name);
        let bad = |what: &str| corrupt(format!("{name}: texture {index} {what}. Export it again"));
        let source = source(texture).ok_or_else(|| bad("names no image"))?;
        let image = root.images.get(source).ok_or_else(|| bad("has no image"))?;
        let label = image.name.clone().or_else(|| short_uri(image.uri.as_deref()));
        let label = label.unwrap_or_else(|| format!("image {source}"));
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
        self.textures.add(bytes, &label, wrap, nearest)
    }
}

/// The image of a texture: the plain one, else the one that an extension (WebP, Basis) names.
fn source(texture: &json::Texture) -> Option<usize> {
    // The typed form has the greatest number where the file has none.
    let plain = texture.source.value();
    if plain != u32::MAX as usize {
        return Some(plain);
    }
    let others = texture.extensions.as_ref().map(|all| &all.others)?;
    let source = others.values().find_map(|one| one.get("source").and_then(Value::as_u64));
    usize::try_from(source?).ok()
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
