//! Reads glTF 2.0 and GLB.
//!
//! The `gltf` crate only types the JSON. Everything it takes for granted (indices, ranges, a
//! forest of nodes) is checked here, and files that it refuses without need are read.

mod container;
mod data;
mod facts;
#[cfg(test)]
mod material_tests;
mod materials;
mod meshopt;
mod nodes;
mod pictures;
mod places;
mod pose;
#[cfg(test)]
mod pose_tests;
mod primitives;
#[cfg(test)]
mod rule_tests;
mod skins;
mod suspect;
#[cfg(test)]
mod tangent_tests;
#[cfg(test)]
mod tests;
mod unpack;
mod weights;

use super::mesh::{Budget, Mended, complete};
use super::references::{SideRoot, uri_path};
use super::strokes::{self, Strokes};
use super::{LoadedScene, Moment, bounds, corrupt, warning};
use crate::model::Reason;
use crate::preview::Scene;
use crate::protocol::work::{Failure, Warning};
use crate::stages::Reporter;
use data::Data;
use glam::Mat4;
use gltf::json::Root;
use gltf::json::mesh::Semantic;
use gltf::json::validation::Checked;
use materials::{Look, Materials};
use nodes::Placed;
use places::Places;
use primitives::{Outcome, Pose};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use suspect::Suspect;

/// Decodes a .gltf or .glb file, as it is at a moment of its animations.
pub fn read(
    bytes: &[u8],
    name: &str,
    moment: Moment,
    sides: &SideRoot,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    let container = container::split(bytes, name)?;
    let root = container::parse(container.json, name)?;
    let mut data = Data::load(&root, container.binary, name, sides)?;
    let (posed, weights) = match moment {
        Moment::Rest => (None, weights::first_frame(&data)?),
        Moment::At { animation, time_s } => {
            let played = root.animations.get(animation).ok_or_else(|| no_animation(&root, name))?;
            (Some(pose::at(&data, played, time_s)?), HashMap::new())
        }
    };
    let root = posed.as_ref().unwrap_or(&root);
    data.root = root;
    let placed = nodes::place(root, name)?;
    reporter.progress(20.0, "document checked");
    let mut reader = Reader {
        data: &data,
        placed: &placed,
        materials: Materials::new(&data, sides),
        looks: Vec::new(),
        look_at: HashMap::new(),
        scene: Scene::default(),
        budget: Budget::default(),
        mended: Mended::default(),
        suspect: Suspect::default(),
        strokes: Vec::new(),
        weights,
    };
    for (at, (index, world)) in placed.nodes.iter().enumerate() {
        reader.node(*index, *world)?;
        let share = at as f32 / placed.nodes.len() as f32;
        reporter.progress(20.0 + 60.0 * share, "reading nodes");
    }
    let (scene, mut warnings) = reader.finish()?;
    if container.trailing > 0 {
        warnings.push(warning(
            Reason::InputCorrupt,
            format!("{name}: {} bytes after its end are ignored", container.trailing),
        ));
    }
    warnings.extend(not_drawn(root, name));
    let facts = facts::facts(root, bytes.starts_with(b"glTF"));
    Ok(LoadedScene { scene, warnings, facts })
}

fn no_animation(root: &Root, name: &str) -> Failure {
    let count = root.animations.len();
    let why = match count {
        0 => format!("{name} has no animation: show it without a time"),
        _ => format!("{name} has {count} animations, numbered from 0: name one of them"),
    };
    Failure::new(Reason::SettingInvalid, why)
}

struct Reader<'a> {
    data: &'a Data<'a>,
    placed: &'a Placed,
    materials: Materials<'a>,
    looks: Vec<Look>,
    /// By the material's index; none is for primitives without one.
    look_at: HashMap<Option<usize>, usize>,
    scene: Scene,
    budget: Budget,
    mended: Mended,
    suspect: Suspect,
    strokes: Vec<Strokes>,
    /// Morph weights of animated nodes at the start of their animation.
    weights: HashMap<usize, Vec<f32>>,
}

impl Reader<'_> {
    fn node(&mut self, index: usize, world: Mat4) -> Result<(), Failure> {
        let (root, name) = (self.data.root, self.data.name);
        let Some(node) = root.nodes.get(index) else { return Ok(()) };
        let Some(mesh_index) = node.mesh else { return Ok(()) };
        let mesh = root.meshes.get(mesh_index.value()).ok_or_else(|| {
            corrupt(format!(
                "{name}: node {index} has no mesh {}. Export it again",
                mesh_index.value()
            ))
        })?;
        let label = node.name.clone().or_else(|| mesh.name.clone());
        let label = label.unwrap_or_else(|| format!("node {index}"));
        let skin = node.skin.map(|skin| skin.value());
        let joints = skin.map(|skin| skins::joints(self.data, self.placed, skin)).transpose()?;
        let animated = self.weights.remove(&index);
        let weights = animated.as_ref().or(node.weights.as_ref()).or(mesh.weights.as_ref());
        let weights = weights.map_or(&[][..], Vec::as_slice);
        for primitive in &mesh.primitives {
            self.weigh(primitive)?;
            let look = self.look(primitive.material.map(|material| material.value()))?;
            let pose = Pose { world, joints: joints.as_deref(), weights };
            let Some(known) = self.looks.get(look) else { continue };
            let suspect = &mut self.suspect;
            match primitives::read(self.data, primitive, known, &pose, &label, suspect)? {
                Outcome::Nothing => {}
                Outcome::Strokes(strokes) => {
                    self.strokes.push(Strokes { material: look, ..strokes });
                }
                Outcome::Part(mut part) => {
                    part.material = look;
                    self.mended.add(complete(&mut part, name)?);
                    self.scene.parts.push(part);
                }
            }
        }
        Ok(())
    }

    /// Counts a primitive before anything is allocated for it.
    fn weigh(&mut self, primitive: &gltf::json::mesh::Primitive) -> Result<(), Failure> {
        let find = |semantic| primitive.attributes.get(&Checked::Valid(semantic));
        let Some(positions) = find(Semantic::Positions) else { return Ok(()) };
        let corners = self.data.count(positions.value())?;
        let indices = match primitive.indices {
            Some(accessor) => self.data.count(accessor.value())?,
            None => corners,
        };
        let is_draco = primitive
            .extensions
            .as_ref()
            .is_some_and(|extensions| extensions.others.contains_key(container::DRACO));
        if is_draco && !self.data.has_values(positions.value()) {
            return Err(container::draco(self.data.name));
        }
        // Without normals each triangle gets its own corners.
        let flat = find(Semantic::Normals).is_none();
        self.budget.take(if flat { corners.max(indices) } else { corners }, indices, self.data.name)
    }

    fn look(&mut self, material: Option<usize>) -> Result<usize, Failure> {
        if let Some(look) = self.look_at.get(&material) {
            return Ok(*look);
        }
        let look = match material {
            Some(index) => self.materials.read(index)?,
            None => Look { material: materials::unstated(), places: Places::default() },
        };
        self.looks.push(look);
        self.look_at.insert(material, self.looks.len() - 1);
        Ok(self.looks.len() - 1)
    }

    fn finish(mut self) -> Result<(Scene, Vec<Warning>), Failure> {
        let mut warnings = std::mem::take(&mut self.materials.pictures.warnings);
        warnings.extend(self.mended.warnings(self.data.name));
        warnings.extend(self.suspect.warnings(self.data));
        let (strokes, name) = (&self.strokes, self.data.name);
        warnings.extend(strokes::add(&mut self.scene, strokes, &mut self.budget, name)?);
        self.scene.materials = self.looks.into_iter().map(|look| look.material).collect();
        self.scene.textures = self.materials.pictures.textures.list;
        Ok((self.scene, warnings))
    }
}

/// Extensions that change the look and are not drawn. Textures that cannot be read are warned of
/// one by one, and lights, variants and animations change nothing of a still in studio light.
fn not_drawn(root: &Root, name: &str) -> Option<Warning> {
    const DRAWN: [&str; 14] = [
        "EXT_meshopt_compression",
        "EXT_texture_avif",
        "EXT_texture_webp",
        "KHR_animation_pointer",
        "KHR_lights_punctual",
        "KHR_materials_emissive_strength",
        "KHR_materials_pbrSpecularGlossiness",
        "KHR_materials_unlit",
        "KHR_materials_variants",
        "KHR_mesh_quantization",
        "KHR_meshopt_compression",
        "KHR_texture_basisu",
        "KHR_texture_transform",
        "KHR_xmp_json_ld",
    ];
    let used = root.extensions_used.iter().map(String::as_str);
    let others: Vec<&str> = used.filter(|one| !DRAWN.contains(one)).take(32).collect();
    (!others.is_empty()).then(|| {
        warning(
            Reason::InputUnsupported,
            format!("{name} uses {}, which is not drawn; its fallback is", others.join(", ")),
        )
    })
}

/// The URIs of a file's buffers and images as paths; none where the file cannot be understood.
pub(super) fn uris(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let mut head = [0_u8; 20];
    let got = file.read(&mut head)?;
    let json = match head {
        [b'g', b'l', b'T', b'F', _, _, _, _, _, _, _, _, a, b, c, d, ..] if got == head.len() => {
            let length = u64::from(u32::from_le_bytes([a, b, c, d]));
            let mut json = Vec::new();
            file.take(length.min(bounds::GLTF_JSON_BYTES as u64)).read_to_end(&mut json)?;
            json
        }
        _ => {
            let mut json = head.get(..got).unwrap_or_default().to_vec();
            file.take(bounds::GLTF_JSON_BYTES as u64).read_to_end(&mut json)?;
            json
        }
    };
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&json);
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(json) else {
        return Ok(Vec::new());
    };
    let list =
        |key: &str| value.get(key).and_then(serde_json::Value::as_array).into_iter().flatten();
    Ok(list("buffers")
        .chain(list("images"))
        .filter_map(|item| item.get("uri")?.as_str())
        .filter_map(|uri| uri_path(uri).ok().flatten())
        .take(bounds::REFERENCES)
        .collect())
}
