//! A look at one file without a farm: its picture, and what is known of it and of how it was drawn.

use super::assemble::programs::Programs;
use super::formats::{Moment, asset_facts, load_scene_at, sniff_file, with_tangents};
use super::view::{View, ViewRecord, ViewWish};
use super::{Reporter, clip};
use crate::clock::Stopwatch;
use crate::model::{AssetKind, Pass, ToneMap};
use crate::preview::{self, Artist, Backdrop, DrawOn, Picture};
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
    /// How a picture is looked at.
    #[serde(flatten)]
    pub view: ViewRecord,
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

/// How a file is shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wish {
    /// Where it is a picture.
    pub view: ViewWish,
    /// Where it is a mesh.
    pub scene: SceneWish,
}

/// What of a mesh is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SceneWish {
    /// What of its surfaces.
    pub pass: Pass,
    /// Before what.
    pub backdrop: Backdrop,
    /// When.
    pub moment: Moment,
}

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
    glance_as(path, size_px, on, &Wish::default())
}

/// As [`glance`], but pictures and meshes are shown as it is wished; what is not for a file is noted.
///
/// Fails with `setting.invalid` too, where a picture has no such layer or a mesh no such animation.
pub fn glance_as(path: &Path, size_px: u32, on: DrawOn, wish: &Wish) -> Result<Glance, Failure> {
    let Wish { view, scene } = wish;
    let is_plain_scene = *scene == SceneWish::default();
    let mut glance = if clip::is_film(path) {
        film(path, size_px)?
    } else {
        match sniff_file(path)?.kind() {
            AssetKind::Mesh => mesh(path, size_px, on, scene)?,
            kind => image(path, kind, size_px, view)?,
        }
    };
    let is_image = glance.record.kind != AssetKind::Mesh && !clip::is_film(path);
    let is_plain_view = ViewWish { detail: view.detail, ..ViewWish::default() } == *view;
    if !is_image && !is_plain_view {
        let what = "the flags that say how a picture is looked at have no effect: this is none";
        glance.record.notes.push(what.to_owned());
    }
    if glance.record.kind != AssetKind::Mesh && !is_plain_scene {
        let what = "the flags that say what of a mesh is shown have no effect: this is none";
        glance.record.notes.push(what.to_owned());
    }
    Ok(glance)
}

fn mesh(path: &Path, size_px: u32, on: DrawOn, wish: &SceneWish) -> Result<Glance, Failure> {
    let watch = Stopwatch::start();
    let sides = path.parent().unwrap_or(Path::new("."));
    let mut loaded = load_scene_at(path, sides, wish.moment, &Quiet)?;
    let mut notes = with_tangents(&mut loaded);
    let read = milliseconds(&watch);
    let failed = |error: preview::DrawError| Failure::new(error.reason(), error.to_string());
    let watch = Stopwatch::start();
    let mut artist = Artist::open_on(&loaded.scene, on).map_err(failed)?;
    let still = artist.still_view(size_px, size_px);
    let view = preview::View { pass: wish.pass, backdrop: wish.backdrop, ..still };
    let prepare = milliseconds(&watch);
    let watch = Stopwatch::start();
    let picture = artist.draw(&view).map_err(failed)?;
    let draw = milliseconds(&watch);
    notes.extend(artist.notes());
    let camera = &view.camera;
    let (around, above) = (camera.azimuth.to_degrees(), camera.elevation.to_degrees());
    let record = Record {
        kind: AssetKind::Mesh,
        drawn_by: Some(artist.drawer(wish.pass).to_owned()),
        tone_map: (wish.pass == Pass::Beauty).then(|| ToneMap::Neutral.title()),
        exposure_stops: 0.0,
        camera: Some([around, above, camera.distance]),
        view: ViewRecord::default(),
        timings_ms: Timings { read, prepare, draw },
        facts: loaded.facts,
        warnings: loaded.warnings,
        notes,
    };
    Ok(Glance { picture, record })
}

fn image(path: &Path, kind: AssetKind, size_px: u32, wish: &ViewWish) -> Result<Glance, Failure> {
    let watch = Stopwatch::start();
    let facts = asset_facts(path)?;
    let view = View::open(path, wish)?;
    let read = milliseconds(&watch);
    let watch = Stopwatch::start();
    let picture = view.shown(size_px);
    let draw = milliseconds(&watch);
    let record = Record {
        kind,
        drawn_by: None,
        tone_map: view.tone_map(),
        exposure_stops: view.look.grade.exposure_stops,
        camera: None,
        timings_ms: Timings { read, prepare: 0.0, draw },
        facts: serde_json::to_value(&facts).unwrap_or_default(),
        notes: view.notes(),
        warnings: view.warnings,
        view: view.record,
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
        view: ViewRecord::default(),
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
