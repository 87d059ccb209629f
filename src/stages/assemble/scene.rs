//! The frames that a renderer drew of a scene.

use crate::model::Stage;
use crate::policy::flow::SCENE_FOLDER;
use crate::stages::StageRequest;
use std::collections::BTreeMap;

/// The frames of a scene by number, each with its file among the outputs of render, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SceneFrames {
    pub(super) frames: Vec<(i32, Option<String>)>,
}

/// The frames that were asked for, in the order in which they are played, with the files that were
/// drawn; none where there are none.
pub(super) fn scene_frames(request: &StageRequest) -> Option<SceneFrames> {
    let scene = request.assignment.settings.scene.as_ref()?;
    let wanted = scene.frames();
    let mut frames: BTreeMap<i32, Option<String>> =
        wanted.as_slice().iter().map(|frame| (*frame, None)).collect();
    let mut is_any = false;
    for file in &request.assignment.dependencies {
        if file.made_by != Some(Stage::Render) {
            continue;
        }
        // Of two files with one number the first is shown.
        let place = frame_number(&file.name).and_then(|number| frames.get_mut(&number));
        if let Some(place @ None) = place {
            *place = Some(file.name.clone());
            is_any = true;
        }
    }
    is_any.then(|| SceneFrames { frames: frames.into_iter().collect() })
}

/// 101 of `render/hero_0101.exr`, −3 of `render/hero_-0003.exr`.
pub(super) fn frame_number(name: &str) -> Option<i32> {
    let (stem, _) = name.strip_prefix(SCENE_FOLDER)?.rsplit_once('.')?;
    let (_, number) = stem.rsplit_once('_')?;
    let number = number.trim_start_matches('.');
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
            ("render/hero_.0007.exr", Some(7)),
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
