//! Inspect: says what the files are and whether they can be used.

use super::failure::failure_from_io;
use super::formats::blend::{self, Thumbnail};
use super::formats::image_writer::png_bytes;
use super::formats::images::Examined;
use super::formats::references::{self, SideFiles};
use super::formats::{ImageFacts, asset_facts, image_facts, load_asset, load_image, load_scene};
use super::render::STILL_FILE;
use super::scene::look::look;
use super::source::{Source, write_json};
use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{AssetKind, Reason, limits};
use crate::preview::DecodedImage;
use crate::protocol::submit::MissingWhy;
use crate::protocol::work::{Failure, StageReport, Warning};
use crate::recipes::GapPolicy;
use crate::recipes::SceneSettings;
use serde_json::{Value, json};
use std::path::Path;

/// The file that inspect makes.
pub const METADATA_FILE: &str = "metadata.json";

/// What was learned of an asset.
struct Findings {
    facts: Value,
    references: Vec<String>,
    warnings: Vec<Warning>,
    /// The picture that a scene carries.
    still: Option<Thumbnail>,
}

/// Decodes the asset once and writes `metadata.json`. A refusal is the failure.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    let source = Source::of(request)?;
    let scene = request.assignment.settings.scene.as_ref();
    let (kind, format) = if let Some(scene) = scene {
        (AssetKind::Scene, scene.renderer.as_str())
    } else {
        let format = source.format()?;
        (source.kind(request.assignment.input.kind, format), format.name())
    };
    reporter.progress(5.0, format);
    let mut findings = match kind {
        AssetKind::Scene => of_scene(request, &source, scene)?,
        AssetKind::Mesh => mesh(&source, reporter)?,
        AssetKind::Image => image(&source)?,
        AssetKind::Sequence => sequence(&source, request.assignment.settings.gaps, reporter)?,
    };
    findings.warnings.truncate(limits::WARNINGS_PER_JOB);
    let warnings: Vec<Value> = findings
        .warnings
        .iter()
        .map(|warning| json!({ "code": warning.reason.code(), "message": warning.message }))
        .collect();
    let metadata = json!({
        "asset": request.assignment.asset,
        "version": request.assignment.asset_version,
        "kind": kind,
        "format": format,
        "main_file": source.main_name,
        "size_bytes": source.files.iter().map(|file| file.size_bytes).sum::<u64>(),
        "files": source
            .files
            .iter()
            .map(|file| json!({
                "name": file.name, "size_bytes": file.size_bytes, "checksum": file.checksum,
            }))
            .collect::<Vec<_>>(),
        "references": findings.references,
        "verdict": if warnings.is_empty() { "ok" } else { "warnings" },
        "warnings": warnings,
        "facts": findings.facts,
        "inspected_by": concat!("sawah ", env!("CARGO_PKG_VERSION")),
    });
    write_json(&metadata, &request.output_dir.join(METADATA_FILE))?;
    let mut files = vec![Produced {
        name: METADATA_FILE.to_owned(),
        media_type: "application/json".to_owned(),
    }];
    if let Some(still) = &findings.still {
        files.push(write_still(still, &request.output_dir)?);
    }
    reporter.progress(100.0, "inspected");
    Ok(StageOutput {
        files,
        report: StageReport {
            kind: Some(kind),
            warnings: findings.warnings,
            ..StageReport::default()
        },
    })
}

/// A scene has a picture before its first frame.
fn write_still(still: &Thumbnail, folder: &Path) -> Result<Produced, Failure> {
    let path = folder.join(STILL_FILE);
    png_bytes(still.width, still.height, &still.rgba)
        .and_then(|bytes| std::fs::write(&path, bytes))
        .map_err(|error| failure_from_io(&error, "a picture could not be written", &path))?;
    Ok(Produced { name: STILL_FILE.to_owned(), media_type: "image/png".to_owned() })
}

fn of_scene(
    request: &StageRequest,
    source: &Source<'_>,
    scene: Option<&SceneSettings>,
) -> Result<Findings, Failure> {
    let look = look(request, source, scene.unwrap_or(&SceneSettings::default()))?;
    // Without it the scene is as good: what cannot be read of the file was told by the look at it.
    let still = blend::thumbnail(&source.main).ok().flatten();
    Ok(Findings { facts: look.facts, references: look.references, warnings: look.warnings, still })
}

fn mesh(source: &Source<'_>, reporter: &dyn Reporter) -> Result<Findings, Failure> {
    let sides = references::side_files_below(&source.main, &source.root).map_err(|error| {
        failure_from_io(&error, "the main file could not be searched", &source.main)
    })?;
    refuse_lacking(&sides, MissingWhy::Outside, source.main_name)?;
    let loaded = load_scene(&source.main, &source.root, reporter).or_else(|failure| {
        if failure.reason == Reason::ReferenceMissing {
            // All that is missing at once, not the first one alone.
            refuse_lacking(&sides, MissingWhy::NotFound, source.main_name)?;
        }
        Err(failure)
    })?;
    let mut facts = loaded.facts;
    if let Some(facts) = facts.as_object_mut() {
        let missing = sides.missing.iter().map(|missing| missing.name.as_str().into());
        facts.insert("missing_files".to_owned(), Value::Array(missing.collect()));
    }
    let references = sides.found.into_iter().map(|(name, _)| name).collect();
    Ok(Findings { facts, references, warnings: loaded.warnings, still: None })
}

/// Refuses an asset whose side files are lacking for this reason. What it can be drawn without (a
/// texture) is a warning of the reader instead.
fn refuse_lacking(sides: &SideFiles, why: MissingWhy, main: &str) -> Result<(), Failure> {
    const SHOWN: usize = 8;
    let (reason, what) = match why {
        MissingWhy::Outside => (Reason::ReferenceOutside, "that lie outside its folder"),
        MissingWhy::NotFound => (Reason::ReferenceMissing, "that are missing"),
    };
    let lacking = sides.missing.iter().filter(|missing| missing.why == why);
    let names: Vec<&str> = lacking.map(|missing| missing.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    Err(Failure::new(
        reason,
        format!(
            "{main} names side files {what}. Put them beside it, refer to them by relative paths and submit it again: {}{more}",
            shown.join(", ")
        ),
    ))
}

fn image(source: &Source<'_>) -> Result<Findings, Failure> {
    let facts = asset_facts(&source.main)?;
    let picture = load_asset(&source.main)?;
    let light = light_facts(&picture.examined);
    let mut warnings = picture.warnings;
    let counts = picture.examined.counts;
    if counts.not_finite > 0 {
        warnings.push(Warning {
            reason: Reason::InputCorrupt,
            message: format!(
                "{} has {} pixels that are no number and {} that are infinite; they are shown black and as the brightest light. Render it again without them",
                source.main_name, counts.nan, counts.infinite
            ),
        });
    }
    if facts.format == "OpenEXR" && facts.profile {
        warnings.push(Warning {
            reason: Reason::InputUnsupported,
            message: format!(
                "{} states its own primaries; it is shown as if they were those of sRGB",
                source.main_name
            ),
        });
    }
    if facts.frames > 1 {
        warnings.push(Warning {
            reason: Reason::InputUnsupported,
            message: format!(
                "{} moves: only the first of its {} frames is shown. Submit a film as a sequence",
                source.main_name, facts.frames
            ),
        });
    }
    let facts = json!({ "picture": facts, "pixels": light });
    Ok(Findings { facts, references: Vec::new(), warnings, still: None })
}

/// Least, greatest and mean value of each channel of scene light.
fn light_facts(examined: &Examined) -> Value {
    let DecodedImage::Light(light) = &examined.image else { return Value::Null };
    let mut least = [f32::INFINITY; 4];
    let mut most = [f32::NEG_INFINITY; 4];
    let mut sums = [0.0_f64; 4];
    for pixel in &light.pixels {
        for (((value, least), most), sum) in
            pixel.iter().zip(&mut least).zip(&mut most).zip(&mut sums)
        {
            *least = least.min(*value);
            *most = most.max(*value);
            *sum += f64::from(*value);
        }
    }
    let count = light.pixels.len().max(1) as f64;
    json!({
        "least": least,
        "greatest": most,
        "mean": sums.map(|sum| sum / count),
        "nan": examined.counts.nan,
        "infinite": examined.counts.infinite,
        "negative": examined.counts.negative,
    })
}

fn sequence(
    source: &Source<'_>,
    policy: GapPolicy,
    reporter: &dyn Reporter,
) -> Result<Findings, Failure> {
    let frames = source.frames()?;
    let count = frames.frames.len();
    if count > limits::FRAMES as usize {
        return Err(Failure::new(
            Reason::InputTooLarge,
            format!("the sequence has {count} frames; at most {} can be used", limits::FRAMES),
        ));
    }
    let mut first: Option<(&str, ImageFacts)> = None;
    for (index, frame) in frames.frames.iter().enumerate() {
        let facts = image_facts(&source.path(&frame.name)?)?;
        match &first {
            None => first = Some((&frame.name, facts)),
            Some((name, known)) if !known.fits(&facts) => {
                return Err(mixed((name, known), (&frame.name, &facts)));
            }
            Some(_) => {}
        }
        reporter.progress(5.0 + 80.0 * index as f32 / count as f32, &frame.name);
    }
    // Headers were read of all frames; decoding all of them is the work of render.
    for index in [0, count / 2, count.saturating_sub(1)] {
        if let Some(frame) = frames.frames.get(index) {
            load_image(&source.path(&frame.name)?)?;
        }
    }
    let mut warnings = Vec::new();
    if !frames.gaps.is_empty() {
        let gaps = frames.gaps.iter().take(8);
        let gaps: Vec<String> =
            gaps.map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") }).collect();
        warnings.push(Warning {
            reason: Reason::ReferenceMissing,
            message: format!(
                "{} frames are missing: {}. {}",
                frames.missing(),
                gaps.join(", "),
                in_a_film(policy)
            ),
        });
    }
    let number = |frame: Option<&super::formats::sequence::Frame>| frame.map(|frame| frame.number);
    let facts = json!({
        "pattern": frames.label(),
        "frames": count,
        "first": number(frames.frames.first()),
        "last": number(frames.frames.last()),
        "padding": frames.padding,
        "gaps": frames.gaps,
        "picture": first.map(|(_, facts)| facts),
    });
    Ok(Findings { facts, references: Vec::new(), warnings, still: None })
}

/// What the policy does about missing frames.
const fn in_a_film(policy: GapPolicy) -> &'static str {
    match policy {
        GapPolicy::Fail => {
            "No film can be made of it: submit it with all frames, or set gaps to hold or black"
        }
        GapPolicy::Hold => "A film repeats the frame before them",
        GapPolicy::Black => "A film is black in their place",
    }
}

fn mixed(first: (&str, &ImageFacts), other: (&str, &ImageFacts)) -> Failure {
    let describe = |(name, facts): (&str, &ImageFacts)| {
        format!("{name} is {} of {} × {} pixels", facts.format, facts.width, facts.height)
    };
    Failure::new(
        Reason::InputMixedSequence,
        format!(
            "the frames differ: {}, but {}. Give all frames one size and one format",
            describe(first),
            describe(other)
        ),
    )
}
