//! What simulated attempts make, how long they take, and what people hand in.

use super::random::Random;
use crate::model::{AssetKind, AssetName, Checksum, Reason, Stage};
use crate::protocol::submit::{SourceFile, Submission};
use crate::protocol::work::{Assignment, Completion, Failure, OutputFile, StageReport};
use crate::recipes::Recipe;
use std::collections::BTreeMap;

/// Names of assets; what follows the dash is the kind.
const ASSETS: [&str; 5] = ["gear-mesh", "crate-mesh", "stone-image", "walk-sequence", "sky-image"];

const FAILURES: [Reason; 8] = [
    Reason::NetworkError,
    Reason::DiskError,
    Reason::ProcessCrashed,
    Reason::LimitStall,
    Reason::DiskFull,
    Reason::ProgramMissing,
    Reason::InputCorrupt,
    Reason::LicenceUnavailable,
];

/// What every job that draws holds.
pub(super) const SEMAPHORE: &str = "licence.draw";
/// How often transforming begins.
pub(super) const RATE: &str = "storage";

/// Frames of every sequence.
const FRAMES: u32 = 5;

/// A shipped recipe with little to do, whose stages ask for limits.
pub(super) fn recipe(shipped: &Recipe) -> Recipe {
    let mut recipe = shipped.clone();
    recipe.settings.turntable_frames = 4;
    recipe.settings.chunk_frames = 2;
    for rule in &mut recipe.stages {
        match rule.stage {
            Stage::Render => rule.semaphores.extend(SEMAPHORE.parse()),
            Stage::Transform => rule.rates.extend(RATE.parse()),
            _ => {}
        }
    }
    recipe
}

/// How long an attempt works: mostly seconds, now and then longer than a lease.
pub(super) fn length_ms(random: &mut Random) -> u64 {
    if random.permille(60) { random.range(30_000, 180_000) } else { random.range(300, 12_000) }
}

/// Whether the attempt fails, and why.
pub(super) fn failure(random: &mut Random, calm: bool) -> Option<Failure> {
    let chance = if calm { 10 } else { 90 };
    let fails = random.permille(chance);
    let reason = random.pick(&FAILURES).copied()?;
    fails.then(|| Failure::new(reason, "the simulated work failed"))
}

/// How everything fails on a broken machine.
pub(super) fn sick() -> Failure {
    Failure::new(Reason::ProcessCrashed, "the simulated machine is broken")
}

fn kind(asset: &AssetName) -> AssetKind {
    match asset.as_str().rsplit('-').next() {
        Some("mesh") => AssetKind::Mesh,
        Some("sequence") => AssetKind::Sequence,
        _ => AssetKind::Image,
    }
}

/// A plausible result: a file named after stage and part, whose bytes tell the attempt.
pub(super) fn result(job: &Assignment) -> Completion {
    let chunk = job.chunk.to_string();
    let name = match (job.stage, chunk.as_str()) {
        (Stage::Render, "still") => "still.png".to_owned(),
        (Stage::Transform, _) => "scene.glb".to_owned(),
        (stage, chunk) => format!("{stage}/{}", chunk.replace(':', "-")),
    };
    let text = format!("{} {}", job.job_id, job.epoch);
    let kind = kind(&job.asset);
    let sequence = kind == AssetKind::Sequence && job.stage == Stage::Transform;
    Completion {
        outputs: vec![OutputFile {
            name,
            checksum: Checksum::of(text.as_bytes()),
            size_bytes: text.len() as u64,
            media_type: "image/png".into(),
        }],
        report: StageReport {
            kind: (job.stage == Stage::Ingest).then_some(kind),
            frame_count: sequence.then_some(FRAMES),
            ..StageReport::default()
        },
        pointer_generation: job.pointer_generation,
    }
}

/// Something to hand in; `content` is which bytes the asset has.
pub(super) fn submission(random: &mut Random, content: u64) -> Option<Submission> {
    let asset = *random.pick(&ASSETS)?;
    let text = format!("{asset} {content}");
    Some(Submission {
        asset: asset.parse().ok()?,
        source_ref: format!("/somewhere/{asset}"),
        main_file: "main".into(),
        sequence: false,
        files: vec![SourceFile {
            name: "main".into(),
            checksum: Checksum::of(text.as_bytes()),
            size_bytes: text.len() as u64,
        }],
        missing: Vec::new(),
        recipe: None,
        settings: BTreeMap::new(),
        project: None,
        priority: None,
        actor: "operator".into(),
    })
}
