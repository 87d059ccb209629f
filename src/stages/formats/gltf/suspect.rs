//! What is drawn although it is not right, so that the artist is told.
//!
//! Khronos' validator calls these errors; other programs cut, misplace or refuse such models.

use super::data::Data;
use super::materials::Look;
use crate::model::Reason;
use crate::protocol::work::Warning;
use crate::stages::formats::warning;
use glam::Vec3;
use std::collections::BTreeSet;

/// How far corners may leave the bounds that the file states, as a share of the longest edge:
/// exporters round what they state.
const ROUNDED: f32 = 1e-3;

/// What was found in the primitives that were read.
#[derive(Debug, Default)]
pub(super) struct Suspect {
    /// Accessors of corners that lie outside the stated bounds.
    outside: BTreeSet<usize>,
    /// Names of primitives whose material has textures, but that have no coordinates for them.
    untextured: BTreeSet<String>,
}

impl Suspect {
    /// Holds corners, as stored, against the bounds that their accessor states (glTF 2.0 §3.6.2.5).
    pub(super) fn bounds(&mut self, data: &Data<'_>, accessor: usize, corners: &[Vec3]) {
        let Some([low, high]) = data.stated_bounds(accessor) else { return };
        let slack = (high - low).max_element() * ROUNDED;
        let holds =
            |corner: &Vec3| corner.cmpge(low - slack).all() && corner.cmple(high + slack).all();
        if !corners.iter().filter(|corner| corner.is_finite()).all(holds) {
            self.outside.insert(accessor);
        }
    }

    /// Looks whether a primitive has the texture coordinates that its material wants.
    pub(super) fn coordinates(&mut self, look: &Look, has_them: bool, name: &str) {
        let material = &look.material;
        let textures = [
            material.base_color_texture,
            material.metallic_roughness_texture,
            material.normal_texture,
            material.occlusion_texture,
            material.emissive_texture,
        ];
        if !has_them && textures.iter().any(Option::is_some) {
            self.untextured.insert(name.to_owned());
        }
    }

    /// One warning for each kind of fault, with what was found in the whole document.
    pub(super) fn warnings(&self, data: &Data<'_>) -> Vec<Warning> {
        let name = data.name;
        let views = (0..data.root.buffer_views.len()).filter(|view| data.view(*view).is_err());
        let views: Vec<usize> = views.collect();
        let mut found = Vec::new();
        let mut tell = |message: String| found.push(warning(Reason::InputCorrupt, message));
        if let Some(first) = views.first() {
            tell(format!(
                "{name}: {} buffer views reach beyond their buffer (the first is {first}); nothing that is drawn uses them. Export it again",
                views.len()
            ));
        }
        if let Some(first) = self.outside.first() {
            tell(format!(
                "{name}: {} meshes reach beyond the bounds that the file states (the first is accessor {first}); other programs may cut or hide them. Export it again",
                self.outside.len()
            ));
        }
        if let Some(first) = self.untextured.first() {
            tell(format!(
                "{name}: {} meshes have no texture coordinates for the textures of their material (the first is '{first}'). Unwrap them and export again",
                self.untextured.len()
            ));
        }
        found
    }
}
