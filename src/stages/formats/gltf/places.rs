//! Where the textures of a glTF material lie: `texCoord` and `KHR_texture_transform`.

use crate::preview::scene::{Mapping, Mappings, UvSet};
use glam::Vec2;
use gltf::json;
use gltf::json::extensions::texture::TextureTransform;

/// One use of a texture by a material.
#[derive(Clone)]
pub(super) struct Slot {
    pub index: usize,
    /// 0 for `TEXCOORD_0`.
    uv_set: u32,
    mapping: Mapping,
}

impl Slot {
    pub(super) fn of(info: &json::texture::Info) -> Self {
        let transform = info.extensions.as_ref().and_then(|all| all.texture_transform.clone());
        Self::at(info.index.value(), info.tex_coord, transform)
    }

    pub(super) fn at(index: usize, tex_coord: u32, transform: Option<TextureTransform>) -> Self {
        let uv_set = transform.as_ref().and_then(|transform| transform.tex_coord);
        let mapping = transform.map_or_else(Mapping::default, |transform| Mapping {
            offset: Vec2::from(transform.offset.0),
            rotation: transform.rotation.0,
            scale: Vec2::from(transform.scale.0),
            ..Mapping::default()
        });
        Self { index, uv_set: uv_set.unwrap_or(tex_coord), mapping }
    }
}

/// The textures of a material.
pub(super) struct Slots {
    pub base: Option<Slot>,
    pub rough: Option<Slot>,
    pub normal: Option<Slot>,
    pub occlusion: Option<Slot>,
    pub emissive: Option<Slot>,
}

/// Which of a primitive's sets become those of a part.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The number of the first set.
    pub first: u32,
    pub second: Option<u32>,
    /// Where all textures lie alike, the first set is brought there once and for all.
    baked: Mapping,
}

impl Places {
    /// Coordinates of the first set as a part has them.
    pub(super) fn place(&self, uv: Vec2) -> Vec2 {
        self.baked.place(uv)
    }
}

/// Sorts out where each texture lies. A part has two sets of coordinates: textures that want a
/// third one are taken away and named.
pub(super) fn arrange(slots: &mut Slots) -> (Places, Mappings, Vec<&'static str>) {
    let mut mappings = Mappings::default();
    let all = [
        (&mut slots.base, &mut mappings.base_color, "base colour"),
        (&mut slots.rough, &mut mappings.metallic_roughness, "metal and roughness"),
        (&mut slots.normal, &mut mappings.normal, "normal"),
        (&mut slots.emissive, &mut mappings.emissive, "emissive"),
        (&mut slots.occlusion, &mut mappings.occlusion, "occlusion"),
    ];
    let used = || all.iter().filter_map(|(slot, ..)| slot.as_ref());
    let Some(main) = used().next() else { return (Places::default(), mappings, Vec::new()) };
    if used().all(|slot| (slot.uv_set, slot.mapping) == (main.uv_set, main.mapping)) {
        let places = Places { first: main.uv_set, second: None, baked: main.mapping };
        return (places, mappings, Vec::new());
    }
    let other = used().map(|slot| slot.uv_set).find(|set| *set != main.uv_set);
    let first = other.map_or(main.uv_set, |other| other.min(main.uv_set));
    let second = other.map(|other| other.max(main.uv_set));
    let mut lost = Vec::new();
    for (slot, mapping, what) in all {
        let Some(found) = slot else { continue };
        let uv_set = if found.uv_set == first {
            UvSet::First
        } else if Some(found.uv_set) == second {
            UvSet::Second
        } else {
            *slot = None;
            lost.push(what);
            continue;
        };
        *mapping = Mapping { uv_set, ..found.mapping };
    }
    (Places { first, second, baked: Mapping::default() }, mappings, lost)
}
