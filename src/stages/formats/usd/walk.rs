//! Goes through the prims of a scene, from the roots down.

use super::looks::Looks;
use super::shapes::{Mesh, Shapes};
use super::sources::Sources;
use super::values::{self, Reader};
use super::{corrupt_here, place};
use crate::model::Reason;
use crate::preview::scene::Part;
use crate::protocol::work::{Failure, Warning};
use crate::stages::formats::{bounds, corrupt, too_large, warning};
use glam::DMat4;
use openusd::sdf::Path;
use openusd::tf::Token;
use openusd::usd::Prim;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Types that have a shape of their own, but no mesh.
const NOT_DRAWN: [&str; 14] = [
    "PointInstancer",
    "Cube",
    "Sphere",
    "Cylinder",
    "Cylinder_1",
    "Cone",
    "Capsule",
    "Capsule_1",
    "Plane",
    "BasisCurves",
    "NurbsCurves",
    "NurbsPatch",
    "Points",
    "Volume",
];

/// What a prim gives to those below it.
#[derive(Debug, Clone)]
struct State {
    world: DMat4,
    material: Option<Bound>,
    purpose: String,
    depth: usize,
}

/// A material, and whether it counts more than those below.
#[derive(Debug, Clone)]
struct Bound {
    material: Path,
    strong: bool,
}

/// How often something was met.
#[derive(Debug, Default)]
struct Counts {
    prims: usize,
    meshes: usize,
    instances: usize,
    cameras: usize,
    lights: usize,
    skinned: usize,
    hidden: usize,
    helpers: usize,
    collections: usize,
    /// By type.
    not_drawn: BTreeMap<String, usize>,
}

/// The way through a scene.
pub(super) struct Walk<'a> {
    reader: &'a Reader<'a>,
    shapes: Shapes<'a>,
    looks: Looks<'a>,
    counts: Counts,
}

impl<'a> Walk<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, sources: &'a Sources) -> Self {
        Self {
            reader,
            shapes: Shapes::new(reader),
            looks: Looks::new(reader, sources),
            counts: Counts::default(),
        }
    }

    /// Reads all that is drawn; `to_ours` brings the file's space to metres and +Y up.
    pub(super) fn scene(&mut self, to_ours: DMat4) -> Result<(), Failure> {
        let state =
            State { world: to_ours, material: None, purpose: "default".to_owned(), depth: 0 };
        let mut waiting = vec![(Path::abs_root(), state)];
        while let Some((path, state)) = waiting.pop() {
            let prim = self.reader.stage.prim(path.clone());
            let below = if path.is_abs_root() { Some(state) } else { self.prim(&prim, state)? };
            let Some(state) = below else { continue };
            let names = prim.child_names();
            let names = names.map_err(|error| corrupt_here(self.reader.name, &error))?;
            for name in names.iter().rev() {
                if let Ok(child) = path.append_path(name.as_str()) {
                    waiting.push((child, State { depth: state.depth + 1, ..state.clone() }));
                }
            }
        }
        Ok(())
    }

    /// Reads a prim; none where nothing below it is drawn.
    fn prim(&mut self, prim: &Prim, mut state: State) -> Result<Option<State>, Failure> {
        let name = self.reader.name;
        self.counts.prims += 1;
        if self.counts.prims > bounds::NODES {
            return Err(too_large(format!("{name} has more than {} prims", bounds::NODES)));
        }
        if state.depth > bounds::USD_DEPTH {
            return Err(corrupt(format!(
                "{name} has more than {} prims below each other. Flatten it",
                bounds::USD_DEPTH
            )));
        }
        let asked =
            |answer: anyhow::Result<bool>| answer.map_err(|error| corrupt_here(name, &error));
        if !asked(prim.is_active())? || !asked(prim.is_defined())? || asked(prim.is_abstract())? {
            return Ok(None);
        }
        self.counts.instances += usize::from(asked(prim.is_instance())?);
        if self.reader.word(prim, "visibility")?.as_deref() == Some("invisible") {
            self.counts.hidden += 1;
            return Ok(None);
        }
        if let Some(purpose) = self.reader.word(prim, "purpose")? {
            state.purpose = purpose;
        }
        if matches!(state.purpose.as_str(), "guide" | "proxy") {
            self.counts.helpers += 1;
            return Ok(None);
        }
        state.material = self.bound(prim, state.material)?;
        let place = place::of(self.reader, prim)?;
        state.world = if place.reset { place.matrix } else { state.world * place.matrix };
        let kind = prim.type_name().map_err(|error| corrupt_here(name, &error))?;
        self.typed(prim, kind.as_ref().map_or("", Token::as_str), state)
    }

    fn typed(&mut self, prim: &Prim, kind: &str, state: State) -> Result<Option<State>, Failure> {
        match kind {
            "Mesh" => self.mesh(prim, &state)?,
            "Camera" => self.counts.cameras += 1,
            "Material" | "Shader" | "NodeGraph" | "GeomSubset" => return Ok(None),
            light if light.ends_with("Light") => self.counts.lights += 1,
            other if NOT_DRAWN.contains(&other) => {
                *self.counts.not_drawn.entry(other.to_owned()).or_default() += 1;
                // What it multiplies is not meant to be seen by itself.
                if other == "PointInstancer" {
                    return Ok(None);
                }
            }
            _ => {}
        }
        Ok(Some(state))
    }

    /// The material of a prim: its own, unless one above it counts more.
    fn bound(&mut self, prim: &Prim, above: Option<Bound>) -> Result<Option<Bound>, Failure> {
        if above.as_ref().is_some_and(|above| above.strong) {
            return Ok(above);
        }
        for name in ["material:binding:preview", "material:binding"] {
            let Some(material) = self.reader.target(prim, name)? else { continue };
            let property = prim.path().append_property(name);
            let strength = property.ok().map(|path| self.reader.stage.attribute(path));
            let strength = strength.and_then(|place| {
                place.get_metadata::<openusd::sdf::Value>("bindMaterialAs").ok().flatten()
            });
            let strong =
                strength.and_then(values::word).as_deref() == Some("strongerThanDescendants");
            return Ok(Some(Bound { material, strong }));
        }
        let names =
            prim.property_names().map_err(|error| corrupt_here(self.reader.name, &error))?;
        let by_collection = |name: &str| name.starts_with("material:binding:collection");
        self.counts.collections +=
            usize::from(names.iter().any(|name| by_collection(name.as_str())));
        Ok(above)
    }

    fn mesh(&mut self, prim: &Prim, state: &State) -> Result<(), Failure> {
        let Some(mut mesh) = Mesh::read(self.reader, prim)? else { return Ok(()) };
        self.counts.meshes += 1;
        let joints = prim.attribute("primvars:skel:jointIndices");
        self.counts.skinned += usize::from(joints.type_name().is_ok_and(|kind| kind.is_some()));
        let material = state.material.as_ref().map(|bound| &bound.material);
        let look = self.looks.of(material)?;
        let names = prim.child_names().map_err(|error| corrupt_here(self.reader.name, &error))?;
        for name in names {
            let Ok(path) = prim.path().append_path(name.as_str()) else { continue };
            let subset = self.reader.stage.prim(path);
            let kind = subset.type_name().ok().flatten();
            if kind.is_none_or(|kind| kind.as_str() != "GeomSubset") {
                continue;
            }
            let bound = self.bound(&subset, None)?;
            let faces = self.reader.indices(&subset, "indices")?.unwrap_or_default();
            let by_face =
                self.reader.word(&subset, "elementType")?.is_none_or(|kind| kind == "face");
            let strong = state.material.as_ref().is_some_and(|bound| bound.strong);
            if let (Some(bound), true, false) = (bound, by_face, strong) {
                let own = self.looks.of(Some(&bound.material))?;
                mesh.dress(&faces, own);
            }
        }
        self.shapes.add(&mesh, look, state.world, &mut self.looks)
    }

    /// What was read, with the counts added to the facts.
    pub(super) fn finish(
        self,
        facts: &mut Json,
    ) -> Result<(Vec<Part>, Looks<'a>, Vec<Warning>), Failure> {
        let Self { reader, shapes, mut looks, counts } = self;
        if let Some(facts) = facts.as_object_mut() {
            for (what, count) in [
                ("prims", counts.prims),
                ("meshes", counts.meshes),
                ("instances", counts.instances),
                ("cameras", counts.cameras),
                ("lights", counts.lights),
                ("skins", counts.skinned),
            ] {
                facts.insert(what.to_owned(), json!(count));
            }
        }
        let name = reader.name;
        let subdivided = shapes.subdivided;
        let (parts, mended) = shapes.finish()?;
        let mut warnings = std::mem::take(&mut looks.warnings);
        warnings.extend(mended.warnings(name));
        let told = [
            (counts.hidden, "hidden prims are not drawn"),
            (counts.helpers, "guides and proxies are not drawn"),
            (subdivided, "subdivision surfaces are drawn as their cages"),
            (counts.skinned, "skinned meshes are drawn in their rest pose"),
            (counts.collections, "bindings of materials to collections are not followed"),
        ];
        let told = told.into_iter().filter(|(count, _)| *count > 0);
        let told = told.map(|(count, what)| format!("{name}: {count} {what}"));
        let kinds = counts.not_drawn.into_iter();
        let kinds = kinds.map(|(kind, count)| {
            format!("{name}: {count} of the type {kind} are not drawn. Convert them to meshes")
        });
        warnings
            .extend(told.chain(kinds).map(|message| warning(Reason::InputUnsupported, message)));
        Ok((parts, looks, warnings))
    }
}
