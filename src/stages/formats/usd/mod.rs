//! Reads USD: text (`.usda`), binary (`.usdc`) and archives (`.usdz`), by the crate `openusd`.
//!
//! That library parses and composes layers. What is drawn is read here: meshes where their
//! transforms place them at the first frame, with the materials of `UsdPreviewSurface`. Layers and
//! textures come from the asset's folder or its archive alone.

mod crate_file;
mod looks;
mod network;
pub(super) mod names;
pub(super) mod package;
mod place;
mod shapes;
mod sources;
#[cfg(test)]
pub(super) mod tests;
mod text;
mod values;
mod walk;

use super::references::SideRoot;
use super::{LoadedScene, corrupt, references, unsupported, warning};
use crate::model::Reason;
use crate::preview::Scene;
use crate::protocol::work::{Failure, Warning};
use crate::stages::Reporter;
use glam::{DMat4, DVec3};
use openusd::sdf::Value;
use openusd::usd::{Stage, TimeCode};
use package::Package;
use serde_json::{Value as Json, json};
use sources::{Lacking, Sources};
use std::panic::AssertUnwindSafe;
use values::Reader;
use walk::Walk;

pub(super) use crate_file::MAGIC as BINARY_MAGIC;
pub(super) use text::MAGIC as TEXT_MAGIC;

/// Names shown in a message.
const SHOWN: usize = 8;

/// Whether a path is that of a layer.
pub(super) fn is_layer(path: &str) -> bool {
    let suffix = path.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    ["usd", "usda", "usdc"].iter().any(|known| suffix.eq_ignore_ascii_case(known))
}

/// Decodes a USD, whichever of the three it is.
pub fn read(
    bytes: Vec<u8>,
    name: &str,
    sides: &SideRoot,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    let is_package = bytes.starts_with(b"PK");
    let package = if is_package { Some(Package::open(bytes, name)?) } else { None };
    let sources = Sources::new(sides, package);
    let root = sources.root(sides, name);
    // The parser takes for granted what a damaged file does not hold.
    let composed =
        std::panic::catch_unwind(AssertUnwindSafe(|| compose(&root, name, &sources, reporter)));
    let lacking = sources.lacking();
    let composed = composed.unwrap_or_else(|_| {
        Err(corrupt(format!("{name} states what it does not hold. Export it again")))
    });
    refuse_outside(&lacking, name)?;
    match composed {
        Ok(mut loaded) => {
            let drawn = !loaded.scene.parts.is_empty();
            if let (Some(failure), false) = (lacking.refused.clone(), drawn) {
                return Err(failure);
            }
            if let (Some(layer), false) = (lacking.missing.first(), drawn) {
                return Err(references::missing("a layer of the scene", layer));
            }
            if let Some(facts) = loaded.facts.as_object_mut() {
                facts.insert("layers".to_owned(), json!(lacking.opened));
            }
            loaded.warnings.splice(0..0, of_lacking(&lacking, name));
            Ok(loaded)
        }
        Err(failure) => Err(lacking.refused.unwrap_or(failure)),
    }
}

fn corrupt_here(name: &str, error: &anyhow::Error) -> Failure {
    corrupt(format!("{name} cannot be read as USD: {error:#}. Export it again"))
}

fn compose(
    root: &str,
    name: &str,
    sources: &Sources,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    let stage = Stage::builder().resolver(sources.clone()).open(root);
    let stage = stage.map_err(|error| corrupt_here(name, &error))?;
    reporter.progress(30.0, "layers read");
    let ranged = stage.has_authored_time_code_range();
    let time = if ranged { TimeCode::new(stage.start_time_code()) } else { TimeCode::EARLIEST };
    let reader = Reader { stage, name, time };
    let stated = Stated::of(&reader)?;
    let mut walk = Walk::new(&reader, sources);
    walk.scene(stated.to_ours())?;
    reporter.progress(80.0, "meshes read");
    let mut facts = stated.facts(&reader);
    let (parts, looks, mut warnings) = walk.finish(&mut facts)?;
    let composition = reader.stage.composition_errors();
    let unresolved = ["unresolved", "malformed"];
    // Layers that are not there are told by their own names.
    let other = composition.iter().map(ToString::to_string);
    let other = other.filter(|error| !unresolved.iter().any(|word| error.starts_with(word)));
    warnings.extend(other.map(|error| warning(Reason::InputCorrupt, format!("{name}: {error}"))));
    let scene = Scene { parts, materials: looks.materials, textures: looks.textures.list };
    Ok(LoadedScene { scene, warnings, facts })
}

/// What a stage states about its space.
struct Stated {
    up: Option<String>,
    /// Metres of a unit.
    unit_meters: Option<f64>,
}

impl Stated {
    fn of(reader: &Reader<'_>) -> Result<Self, Failure> {
        let field = |field: &str| -> Result<Option<Value>, Failure> {
            reader.stage.stage_metadata(field).map_err(|error| corrupt_here(reader.name, &error))
        };
        let unit = field("metersPerUnit")?.as_ref().and_then(values::number);
        Ok(Self { up: field("upAxis")?.and_then(values::word), unit_meters: unit })
    }

    /// From the file's space to metres with +Y up. Without a word USD means +Y and centimetres.
    fn to_ours(&self) -> DMat4 {
        let unit = self.unit_meters.filter(|unit| unit.is_finite() && *unit > 0.0).unwrap_or(0.01);
        let scale = DMat4::from_scale(DVec3::splat(unit));
        let turn = match self.up.as_deref() {
            Some("Z" | "z") => DMat4::from_rotation_x(-std::f64::consts::FRAC_PI_2),
            _ => DMat4::IDENTITY,
        };
        turn * scale
    }

    fn facts(&self, reader: &Reader<'_>) -> Json {
        let stage = &reader.stage;
        let ranged = stage.has_authored_time_code_range();
        json!({
            "format": "USD",
            "up": self.up.as_ref().map(|axis| format!("+{axis}")),
            "unit_meters": self.unit_meters,
            "first_frame": ranged.then(|| stage.start_time_code()),
            "last_frame": ranged.then(|| stage.end_time_code()),
            "frames_per_second": ranged.then(|| stage.frames_per_second()),
            "default_prim": stage.default_prim().map(|prim| prim.as_str().to_owned()),
        })
    }
}

fn refuse_outside(lacking: &Lacking, name: &str) -> Result<(), Failure> {
    match lacking.outside.first() {
        Some(path) => Err(references::outside(&format!("a file that {name} names"), path)),
        None => Ok(()),
    }
}

fn of_lacking(lacking: &Lacking, name: &str) -> Vec<Warning> {
    let shown = |names: &std::collections::BTreeSet<String>| {
        let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
        shown.join(", ")
    };
    let mut warnings = Vec::new();
    if !lacking.missing.is_empty() {
        let message = format!(
            "{name} is drawn without {} layers that are missing. Put them beside it and submit it again: {}",
            lacking.missing.len(),
            shown(&lacking.missing)
        );
        warnings.push(warning(Reason::ReferenceMissing, message));
    }
    if !lacking.packages.is_empty() {
        let what = shown(&lacking.packages);
        let failure = unsupported(format!(
            "{name} is drawn without the archives that it refers to. Unpack them: {what}"
        ));
        warnings.push(warning(failure.reason, failure.message));
    }
    if let Some(failure) = &lacking.refused {
        warnings.push(warning(
            failure.reason,
            format!("{name} is drawn without a layer: {}", failure.message),
        ));
    }
    warnings
}
