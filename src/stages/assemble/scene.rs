//! The frames that a renderer drew of a scene.

use crate::model::Stage;
use crate::stages::StageRequest;
use std::collections::BTreeMap;

/// Where render puts the frames of a scene, among its outputs.
const FOLDER: &str = "render/";

/// The frames of a scene by number, each with its file among the outputs of render, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SceneFrames {
    pub(super) frames: Vec<(i32, Option<String>)>,
}

/// The frames that were drawn; none where there is none.
pub(super) fn scene_frames(request: &StageRequest) -> Option<SceneFrames> {
    let mut frames = BTreeMap::new();
    for file in &request.assignment.dependencies {
        if file.made_by != Some(Stage::Render) {
            continue;
        }
        if let Some(number) = frame_number(&file.name) {
            // Of two files with one number the first is shown.
            frames.entry(number).or_insert_with(|| Some(file.name.clone()));
        }
    }
    let frames: Vec<_> = frames.into_iter().collect();
    (!frames.is_empty()).then_some(SceneFrames { frames })
}

/// 101 of `render/hero_0101.exr`, −3 of `render/hero_-0003.exr`.
fn frame_number(name: &str) -> Option<i32> {
    let (stem, _) = name.strip_prefix(FOLDER)?.rsplit_once('.')?;
    let (_, number) = stem.rsplit_once('_')?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_after_the_last_underscore() {
        for (name, number) in [
            ("render/hero_0101.exr", Some(101)),
            ("render/hero_v2_-0003.png", Some(-3)),
            ("render/hero_12345.tif", Some(12_345)),
            ("render/hero_+003.png", None),
            ("render/hero_.png", None),
            ("render/hero.png", None),
            ("hero_0101.exr", None),
            ("render/hero_0101", None),
        ] {
            assert_eq!(frame_number(name), number, "{name}");
        }
    }
}
