//! How work runs from stage to stage: parts of a stage, what a stage reads, what is published.

use crate::model::{AssetKind, Chunk, Stage};
use crate::recipes::{FilmPolicy, Recipe, Settings};

/// Where frames wait that a program draws.
const FINAL: &str = "render.final";

/// All queues, in the order of their stages.
pub const QUEUES: [&str; 8] =
    ["ingest", "inspect", "transform", "render.preview", FINAL, "assemble", "publish", "cleanup"];

/// Where jobs of a stage wait: what a program draws has a queue of its own.
pub fn queue_of(stage: Stage, settings: &Settings) -> &'static str {
    if stage == Stage::Render && settings.scene.is_some() { FINAL } else { queue(stage) }
}

/// Where jobs of a stage wait that need no program of others.
pub const fn queue(stage: Stage) -> &'static str {
    match stage {
        Stage::Render => "render.preview",
        _ => stage.as_str(),
    }
}

/// Whether jobs wait in a queue of this name.
pub fn is_queue(name: &str) -> bool {
    QUEUES.contains(&name)
}

/// The queue with this name, and whose jobs wait in it.
pub fn stage_of(name: &str) -> Option<(&'static str, Stage)> {
    let queue = QUEUES.into_iter().find(|queue| *queue == name)?;
    let of =
        |stage: &Stage| queue == FINAL && *stage == Stage::Render || self::queue(*stage) == queue;
    Some((queue, Stage::ALL.into_iter().find(of)?))
}

/// The jobs of one stage; empty means that the stage is skipped.
pub fn fan_out(
    recipe: &Recipe,
    stage: Stage,
    kind: Option<AssetKind>,
    frame_count: Option<u32>,
) -> Vec<Chunk> {
    match recipe.rule(stage) {
        Some(rule) if rule.applies_to(kind) => {}
        _ => return Vec::new(),
    }
    if stage != Stage::Render {
        return vec![Chunk::Whole];
    }
    let settings = &recipe.settings;
    if let Some(scene) = &settings.scene {
        return chunks(scene.frames().count(), settings.chunk_frames).collect();
    }
    let film = settings.film != FilmPolicy::Never
        && recipe.rule(Stage::Assemble).is_some_and(|rule| rule.applies_to(kind));
    let frames = match kind {
        Some(AssetKind::Mesh) => settings.turntable_frames,
        Some(AssetKind::Sequence) if film => frame_count.unwrap_or(0),
        _ => 0,
    };
    std::iter::once(Chunk::Still).chain(chunks(frames, settings.chunk_frames)).collect()
}

/// `1..=frames` cut into runs of at most `size`.
fn chunks(frames: u32, size: u32) -> impl Iterator<Item = Chunk> {
    let size = size.max(1);
    (0..frames.div_ceil(size)).map(move |index| {
        let first = index * size + 1;
        Chunk::Frames { first, last: first.saturating_add(size - 1).min(frames) }
    })
}

/// What a stage reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    /// The source files.
    pub source: bool,
    /// Files of these stages.
    pub stages: &'static [Stage],
}

/// What a stage reads of an asset of this kind.
pub fn reads(stage: Stage, kind: Option<AssetKind>) -> Reads {
    match stage {
        // A program reads the scene as it was handed in.
        Stage::Render if kind == Some(AssetKind::Scene) => Reads { source: true, stages: &[] },
        Stage::Ingest => Reads { source: true, stages: &[] },
        Stage::Inspect | Stage::Transform => Reads { source: true, stages: &[Stage::Ingest] },
        Stage::Render => Reads { source: false, stages: &[Stage::Transform] },
        Stage::Assemble => Reads { source: false, stages: &[Stage::Transform, Stage::Render] },
        Stage::Publish => Reads {
            source: false,
            stages: &[Stage::Inspect, Stage::Transform, Stage::Render, Stage::Assemble],
        },
        Stage::Cleanup => Reads { source: false, stages: &[] },
    }
}

/// Whether people get this output: results, not the steps towards them.
pub fn is_published(made_by: Stage, name: &str) -> bool {
    match made_by {
        // A scene's own picture stands in until assemble has made the real one.
        Stage::Inspect => name != STILL,
        Stage::Assemble | Stage::Publish => true,
        Stage::Transform => name == "scene.glb",
        Stage::Render => !name.contains('/') || name.starts_with(SCENE_FOLDER),
        Stage::Ingest | Stage::Cleanup => false,
    }
}

/// Where the pictures lie that a program drew of a scene: they are the result.
pub const SCENE_FOLDER: &str = "render/";

/// Where the small pictures of a scene's frames lie, for people who watch.
pub const THUMBNAIL_FOLDER: &str = "thumbnails/";

/// The name of the picture that stands for the whole pipeline.
pub const STILL: &str = "still.png";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::Library;

    fn recipe() -> Recipe {
        Library::load(None).unwrap().get("preview").unwrap().clone()
    }

    #[test]
    fn chunks_cover_every_frame_once() {
        for (frames, size) in [(0, 5), (1, 5), (5, 5), (24, 12), (25, 12), (7, 1), (3, 0)] {
            let mut seen = Vec::new();
            for chunk in chunks(frames, size) {
                let Chunk::Frames { first, last } = chunk else { panic!("{chunk}") };
                assert!(last - first < size.max(1));
                seen.extend(first..=last);
            }
            assert_eq!(seen, (1..=frames).collect::<Vec<_>>(), "{frames} by {size}");
        }
    }

    #[test]
    fn a_mesh_turns_an_image_stands_and_a_sequence_runs() {
        let recipe = recipe();
        let render = |kind, frames| fan_out(&recipe, Stage::Render, Some(kind), frames).len();
        assert_eq!(render(AssetKind::Mesh, None), 3);
        assert_eq!(render(AssetKind::Image, None), 1);
        assert_eq!(render(AssetKind::Sequence, Some(25)), 4);
        assert!(fan_out(&recipe, Stage::Assemble, Some(AssetKind::Image), None).is_empty());
        assert_eq!(fan_out(&recipe, Stage::Assemble, Some(AssetKind::Mesh), None).len(), 1);
    }

    #[test]
    fn the_frames_of_a_scene_are_cut_into_chunks_and_wait_in_a_queue_of_their_own() {
        let mut recipe = recipe();
        assert_eq!(queue_of(Stage::Render, &recipe.settings), "render.preview");
        let changes = [("renderer", "blender"), ("frames", "101-110"), ("chunk_frames", "4")];
        let changes = changes.map(|(key, value)| (key.to_owned(), value.to_owned()));
        recipe.settings = recipe.settings.with_changes(&changes.into()).unwrap();
        let chunks = fan_out(&recipe, Stage::Render, Some(AssetKind::Scene), None);
        assert_eq!(chunks.last(), Some(&Chunk::Frames { first: 9, last: 10 }));
        assert_eq!((chunks.len(), queue_of(Stage::Render, &recipe.settings)), (3, "render.final"));
        assert_eq!(queue_of(Stage::Publish, &recipe.settings), "publish");
    }

    #[test]
    fn every_queue_has_a_stage_and_every_stage_a_queue() {
        for name in QUEUES {
            let (queue, stage) = stage_of(name).unwrap();
            assert!(queue == name && (queue == self::queue(stage) || queue == FINAL), "{name}");
        }
        assert!(Stage::ALL.iter().all(|stage| is_queue(queue(*stage))));
        assert_eq!(stage_of("render"), None);
    }

    #[test]
    fn frames_on_the_way_to_a_film_are_not_published() {
        assert!(is_published(Stage::Render, STILL) && is_published(Stage::Assemble, STILL));
        assert!(!is_published(Stage::Inspect, STILL));
        assert!(is_published(Stage::Inspect, "metadata.json"));
        assert!(!is_published(Stage::Render, "turntable/0001.png"));
        assert!(!is_published(Stage::Transform, "frames/000001.png"));
        assert!(!is_published(Stage::Render, "thumbnails/shot_0001.png"));
        assert!(is_published(Stage::Transform, "scene.glb"));
        assert!(is_published(Stage::Render, "render/shot_0001.exr"));
    }

    #[test]
    fn a_stage_reads_only_stages_before_it() {
        for stage in Stage::ALL {
            for kind in AssetKind::ALL {
                let reads = reads(stage, Some(kind));
                assert!(reads.stages.iter().all(|read| *read < stage), "{stage} {kind}");
            }
        }
    }
}
