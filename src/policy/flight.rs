//! Which work is alike: jobs of one flight never run side by side. Of those with the same result
//! one runs and the others take what it made; publishes of one asset take turns.

use super::matching::ResourceClass;
use crate::model::{AssetKind, AssetName, Checksum, Chunk, Reason, Stage};
use crate::protocol::work::{InputFile, Warning};
use crate::recipes::Settings;

/// Raised whenever a stage makes other bytes of the same input.
const RESULTS_REVISION: u32 = 2;

/// All that the result of a job follows from.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// Its stage.
    pub stage: Stage,
    /// Its part of the stage.
    pub chunk: Chunk,
    /// What the asset is.
    pub kind: Option<AssetKind>,
    /// Frames of a sequence.
    pub frame_count: Option<u32>,
    /// The file of the source that stands for all.
    pub main_file: &'a str,
    /// Whose it is: some results name the asset.
    pub asset: (&'a AssetName, u32),
    /// What kind of worker it asks for: pictures of a graphics adapter and of a CPU differ.
    pub class: ResourceClass,
    /// The settings as the job will be given them.
    pub settings: &'a Settings,
    /// Of the source, whatever the stage reads of it.
    pub source: Checksum,
    /// Of [`inputs`].
    pub inputs: Checksum,
}

/// Whether jobs of a stage share their results. The other stages check or change what is outside
/// of the content store, so they run for each pipeline.
pub const fn is_shared(stage: Stage) -> bool {
    matches!(stage, Stage::Inspect | Stage::Transform | Stage::Render | Stage::Assemble)
}

/// Whether a result with these warnings may stand for later work: what a missing program left out
/// may be there tomorrow.
pub fn is_lasting(warnings: &[Warning]) -> bool {
    warnings.iter().all(|warning| warning.reason != Reason::ProgramMissing)
}

/// Whether a failure says that bytes which a result names are gone or damaged.
pub const fn is_loss_of_bytes(reason: Reason) -> bool {
    matches!(reason, Reason::ArtifactMissing | Reason::ArtifactMismatch | Reason::OutputInvalid)
}

/// The checksum of all that a stage reads.
pub fn inputs(files: &[InputFile]) -> Checksum {
    let mut hash = Hash::new("sawah inputs 1");
    for file in files {
        hash.text(file.made_by.map_or("source", Stage::as_str));
        hash.text(&file.name);
        hash.bytes(file.checksum.as_bytes());
    }
    hash.finish()
}

/// The flight of jobs that have the same result; none where results are not shared.
pub fn result_key(work: &Work<'_>) -> Option<Checksum> {
    // What a program of others draws follows from its version too, which differs from worker to
    // worker.
    let is_drawn_by_others = work.stage == Stage::Render && work.settings.scene.is_some();
    if !is_shared(work.stage) || is_drawn_by_others {
        return None;
    }
    let mut hash = Hash::new("sawah result 1");
    hash.text(env!("CARGO_PKG_VERSION"));
    hash.text(&RESULTS_REVISION.to_string());
    hash.text(work.stage.as_str());
    hash.text(&work.chunk.to_string());
    hash.text(work.kind.map_or("", AssetKind::as_str));
    hash.text(&work.frame_count.unwrap_or(0).to_string());
    hash.text(work.main_file);
    hash.text(&work.class.code().to_string());
    hash.bytes(work.source.as_bytes());
    hash.bytes(work.inputs.as_bytes());
    // The record of an inspection names the asset and its version.
    if work.stage == Stage::Inspect {
        hash.text(work.asset.0.as_str());
        hash.text(&work.asset.1.to_string());
    }
    for (name, value) in relevant(work.stage, work.settings) {
        hash.text(name);
        hash.text(&value);
    }
    Some(hash.finish())
}

/// The flight of all publishes of one asset: each moves its pointers from where the one before
/// left them.
pub fn publish_key(asset: &AssetName) -> Checksum {
    let mut hash = Hash::new("sawah publish 1");
    hash.text(asset.as_str());
    hash.finish()
}

/// The settings that a stage looks at.
fn relevant(stage: Stage, settings: &Settings) -> Vec<(&'static str, String)> {
    let pictures = || {
        vec![
            ("still_px", settings.still_px.to_string()),
            ("thumbnails_px", format!("{:?}", settings.thumbnails_px)),
            ("turntable_frames", settings.turntable_frames.to_string()),
            ("turntable_px", settings.turntable_px.to_string()),
            ("film_px", settings.film_px.to_string()),
        ]
    };
    match stage {
        // The record of an inspection says what a film does about missing frames.
        Stage::Inspect => vec![("gaps", format!("{:?}", settings.gaps))],
        Stage::Render => {
            let mut all = pictures();
            all.push(("film_alpha", format!("{:?}", settings.film_alpha)));
            all.push(("tone_map", settings.tone_map.as_str().to_owned()));
            all.push(("passes", format!("{:?}", settings.passes)));
            all
        }
        Stage::Assemble => {
            let mut all = pictures();
            let scene = settings.scene.as_ref();
            all.push(("frames", scene.map_or_else(String::new, |it| it.frames().to_string())));
            all.push(("fps", settings.fps.to_string()));
            all.push(("film", format!("{:?}", settings.film)));
            all.push(("film_codec", settings.film_codec.as_str().to_owned()));
            all.push(("film_alpha", format!("{:?}", settings.film_alpha)));
            all.push(("gaps", format!("{:?}", settings.gaps)));
            all.push(("moving_picture", format!("{:?}", settings.moving_picture)));
            all.push(("tone_map", settings.tone_map.as_str().to_owned()));
            all
        }
        _ => Vec::new(),
    }
}

/// Hashes parts with their lengths, so that no two lists of parts are the same bytes.
struct Hash(blake3::Hasher);

impl Hash {
    fn new(purpose: &str) -> Self {
        let mut hash = Self(blake3::Hasher::new());
        hash.text(purpose);
        hash
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(&self) -> Checksum {
        Checksum::from_bytes(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn lasting<T>(value: T) -> &'static T {
        Box::leak(Box::new(value))
    }

    fn settings(key: &str, value: &str) -> &'static Settings {
        let change = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        lasting(Settings::default().with_changes(&change).unwrap())
    }

    fn asset(name: &str) -> &'static AssetName {
        lasting(name.parse().unwrap())
    }

    fn key_with(change: impl FnOnce(&mut Work<'static>)) -> Option<Checksum> {
        let mut work = Work {
            stage: Stage::Render,
            chunk: Chunk::Still,
            kind: Some(AssetKind::Mesh),
            frame_count: None,
            main_file: "dragon.glb",
            asset: (asset("dragon"), 1),
            class: ResourceClass::Any,
            settings: lasting(Settings::default()),
            source: Checksum::of(b"source"),
            inputs: inputs(&[]),
        };
        change(&mut work);
        result_key(&work)
    }

    #[test]
    fn what_changes_the_result_changes_the_key() {
        let same = key_with(|_| {});
        assert_eq!(same, key_with(|_| {}));
        let file = |name: &str, content: &[u8]| InputFile {
            made_by: Some(Stage::Transform),
            name: name.into(),
            checksum: Checksum::of(content),
            size_bytes: 1,
        };
        let others = [
            key_with(|work| work.stage = Stage::Assemble),
            key_with(|work| work.chunk = Chunk::Frames { first: 1, last: 2 }),
            key_with(|work| work.kind = Some(AssetKind::Image)),
            key_with(|work| work.frame_count = Some(3)),
            key_with(|work| work.main_file = "gear.glb"),
            key_with(|work| work.class = ResourceClass::PrefersGpu),
            key_with(|work| work.settings = settings("still_px", "64")),
            key_with(|work| work.source = Checksum::of(b"other")),
            key_with(|work| work.inputs = inputs(&[file("a", b"1")])),
            key_with(|work| work.inputs = inputs(&[file("a", b"2")])),
            key_with(|work| work.inputs = inputs(&[file("b", b"1")])),
        ];
        let distinct: std::collections::BTreeSet<_> = others.iter().chain([&same]).collect();
        assert_eq!(distinct.len(), others.len() + 1);
    }

    #[test]
    fn what_does_not_change_the_result_does_not_change_the_key() {
        assert_eq!(key_with(|_| {}), key_with(|work| work.settings = settings("fps", "12")));
        let gear = asset("gear");
        assert_eq!(key_with(|_| {}), key_with(|work| work.asset = (gear, 7)), "a picture");
        let inspected = |asset| {
            key_with(|work| {
                work.stage = Stage::Inspect;
                work.asset = asset;
            })
        };
        assert_ne!(inspected((gear, 7)), inspected((gear, 8)), "a record that names its asset");
    }

    #[test]
    fn what_a_program_of_others_draws_is_not_shared() {
        let scene = BTreeMap::from([("renderer".to_owned(), "blender".to_owned())]);
        let scene = lasting(Settings::default().with_changes(&scene).unwrap());
        assert_eq!(key_with(|work| work.settings = scene), None);
    }

    #[test]
    fn settings_of_films_change_what_looks_at_them() {
        let with = |stage, settings| {
            key_with(|work| {
                work.stage = stage;
                work.settings = settings;
            })
        };
        let default = lasting(Settings::default());
        for (key, value, stages) in [
            ("film_codec", "ffv1", &[Stage::Assemble][..]),
            ("gaps", "hold", &[Stage::Inspect, Stage::Assemble]),
            ("moving_picture", "gif", &[Stage::Assemble]),
            ("tone_map", "agx", &[Stage::Render, Stage::Assemble]),
            ("passes", "['normal']", &[Stage::Render]),
        ] {
            for stage in [Stage::Inspect, Stage::Transform, Stage::Render, Stage::Assemble] {
                let changed = with(stage, settings(key, value)) != with(stage, default);
                assert_eq!(changed, stages.contains(&stage), "{key} in {stage}");
            }
        }
        let keep = BTreeMap::from([
            ("film_codec".to_owned(), "ffv1".to_owned()),
            ("film_alpha".to_owned(), "keep".to_owned()),
        ]);
        let keep = lasting(Settings::default().with_changes(&keep).unwrap());
        for stage in [Stage::Render, Stage::Assemble] {
            assert_ne!(with(stage, keep), with(stage, settings("film_codec", "ffv1")), "{stage}");
        }
    }

    #[test]
    fn stages_that_touch_the_outside_run_for_each_pipeline() {
        for stage in [Stage::Ingest, Stage::Publish, Stage::Cleanup] {
            assert_eq!(key_with(|work| work.stage = stage), None, "{stage}");
        }
    }
}
