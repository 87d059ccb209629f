//! A look at one file without a farm: its picture, and what is known of it and of how it was drawn.

use super::assemble::programs::Programs;
use super::formats::{image_facts, load_image, load_scene, sniff_file, with_tangents};
use super::render::finished_picture;
use super::{Reporter, clip};
use crate::clock::Stopwatch;
use crate::model::AssetKind;
use crate::preview::{Artist, DecodedImage, DrawOn, Picture, auto_exposure, fit};
use crate::protocol::work::{Failure, Warning};
use serde::Serialize;
use std::path::Path;

/// A picture and its record.
#[derive(Debug)]
pub struct Glance {
    /// What was drawn.
    pub picture: Picture,
    /// How, and of what.
    pub record: Record,
}

/// How a picture was drawn, and of what.
#[derive(Debug, Serialize)]
pub struct Record {
    /// What the file is.
    pub kind: AssetKind,
    /// `cpu`, or the adapter and its interface; none for pictures that were only decoded.
    pub drawn_by: Option<String>,
    /// The tone map, where light was made into colours.
    pub tone_map: Option<&'static str>,
    /// Brightened by so many stops.
    pub exposure_stops: f32,
    /// Where the camera stands: degrees around, degrees above the horizon, and its distance in radii
    /// of the object; none for pictures.
    pub camera: Option<[f32; 3]>,
    /// What each step took.
    pub timings_ms: Timings,
    /// What the file says about itself.
    pub facts: serde_json::Value,
    /// What was left out or mended.
    pub warnings: Vec<Warning>,
    /// Lines for those who want to know more.
    pub notes: Vec<String>,
}

/// What each step took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Timings {
    /// Reading and decoding the file.
    pub read: f64,
    /// Preparing what is drawn, and opening the adapter where it is the first picture.
    pub prepare: f64,
    /// Drawing it, and reading it back.
    pub draw: f64,
}

const TONE_MAP: &str = "Khronos PBR Neutral";

/// Nobody watches.
struct Quiet;

impl Reporter for Quiet {
    fn progress(&self, _percent: f32, _message: &str) {}
    fn log(&self, _line: &str) {}
}

/// Draws the file at `path`: a mesh in a square of `size_px`, a picture or a frame of a film with at
/// most that edge.
///
/// Fails with an `input.*`, `reference.*`, `program.*` or `gpu.*` reason.
pub fn glance(path: &Path, size_px: u32, on: DrawOn) -> Result<Glance, Failure> {
    if clip::is_film(path) {
        return film(path, size_px);
    }
    match sniff_file(path)?.kind() {
        AssetKind::Mesh => mesh(path, size_px, on),
        kind => image(path, kind, size_px),
    }
}

fn mesh(path: &Path, size_px: u32, on: DrawOn) -> Result<Glance, Failure> {
    let watch = Stopwatch::start();
    let mut loaded = load_scene(path, path.parent().unwrap_or(Path::new(".")), &Quiet)?;
    let mut notes = with_tangents(&mut loaded);
    let read = milliseconds(&watch);
    let failed = |error: crate::preview::DrawError| Failure::new(error.reason(), error.to_string());
    let watch = Stopwatch::start();
    let mut artist = Artist::open_on(&loaded.scene, on).map_err(failed)?;
    let view = artist.still_view(size_px, size_px);
    let prepare = milliseconds(&watch);
    let watch = Stopwatch::start();
    let picture = artist.draw(&view).map_err(failed)?;
    let draw = milliseconds(&watch);
    notes.extend(artist.notes());
    let camera = &view.camera;
    let (around, above) = (camera.azimuth.to_degrees(), camera.elevation.to_degrees());
    let record = Record {
        kind: AssetKind::Mesh,
        drawn_by: Some(artist.name().to_owned()),
        tone_map: Some(TONE_MAP),
        exposure_stops: 0.0,
        camera: Some([around, above, camera.distance]),
        timings_ms: Timings { read, prepare, draw },
        facts: loaded.facts,
        warnings: loaded.warnings,
        notes,
    };
    Ok(Glance { picture, record })
}

fn image(path: &Path, kind: AssetKind, size_px: u32) -> Result<Glance, Failure> {
    let watch = Stopwatch::start();
    let facts = image_facts(path)?;
    let decoded = load_image(path)?;
    let read = milliseconds(&watch);
    let watch = Stopwatch::start();
    let (tone_map, exposure_stops) = match &decoded {
        DecodedImage::Light(light) => (Some(TONE_MAP), auto_exposure(light)),
        DecodedImage::Display(_) => (None, 0.0),
    };
    let picture = fit(&finished_picture(decoded, exposure_stops), size_px);
    let draw = milliseconds(&watch);
    let record = Record {
        kind,
        drawn_by: None,
        tone_map,
        exposure_stops,
        camera: None,
        timings_ms: Timings { read, prepare: 0.0, draw },
        facts: serde_json::to_value(&facts).unwrap_or_default(),
        warnings: Vec::new(),
        notes: Vec::new(),
    };
    Ok(Glance { picture, record })
}

fn film(path: &Path, size_px: u32) -> Result<Glance, Failure> {
    let watch = Stopwatch::start();
    let clip = clip::look(path, size_px, &Programs::find())?;
    let record = Record {
        // A film is frames in their order, in one file.
        kind: AssetKind::Sequence,
        drawn_by: None,
        tone_map: None,
        exposure_stops: 0.0,
        camera: None,
        timings_ms: Timings { read: milliseconds(&watch), ..Timings::default() },
        facts: clip.facts,
        warnings: Vec::new(),
        notes: Vec::new(),
    };
    Ok(Glance { picture: clip.picture, record })
}

fn milliseconds(watch: &Stopwatch) -> f64 {
    watch.elapsed().as_secs_f64() * 1_000.0
}
