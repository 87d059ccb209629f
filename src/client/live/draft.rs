//! What somebody is about to hand in, and what that would do.

use super::Fetched;
use super::shared::{Shared, lock};
use crate::client::intake::{self, Handover, Preview, SceneOrder};
use crate::model::limits;
use crate::recipes::Library;
use crate::recipes::library::SCENE_RECIPE;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A submission as it is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// The recipe; none means the default.
    pub recipe: Option<String>,
    /// Frames of scenes as typed; empty means those that the scenes say.
    pub frames: String,
    /// Most frames of one job as typed; empty means the recipe's.
    pub chunk: String,
    /// Changed settings as typed: `samples=64`, one a line or after a blank.
    pub settings: String,
}

impl Draft {
    /// These paths and nothing else.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths, ..Self::default() }
    }

    /// As it is handed in, or what is written wrongly.
    pub(super) fn handover(&self, actor: &str) -> Result<Handover, String> {
        let mut handover = Handover::new(self.paths.clone());
        actor.clone_into(&mut handover.actor);
        handover.recipe.clone_from(&self.recipe);
        handover.what.settings = self.changes()?;
        let frames = self.frames.trim();
        let frames = (!frames.is_empty()).then(|| frames.parse()).transpose();
        let chunk = self.chunk.trim();
        let number =
            |text: &str| text.parse().ok().filter(|size| (1..=limits::FRAMES).contains(size));
        let chunk = match chunk {
            "" => None,
            text => Some(number(text).ok_or_else(|| {
                format!("'{text}' is no number of frames: write 1 to {}", limits::FRAMES)
            })?),
        };
        handover.what.scene = SceneOrder {
            frames: frames.map_err(|error: crate::model::FrameError| error.to_string())?,
            chunk,
            ..SceneOrder::default()
        };
        Ok(handover)
    }

    fn changes(&self) -> Result<BTreeMap<String, String>, String> {
        let words = self.settings.split_whitespace();
        let change = |word: &str| match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(format!("'{word}' is no setting: write KEY=VALUE, such as samples=64")),
        };
        words.map(change).collect()
    }
}

/// Whether one of the files is a scene, by its name.
pub fn has_scene(paths: &[PathBuf]) -> bool {
    let suffix = |path: &Path| path.extension().map(|suffix| suffix.to_string_lossy().into_owned());
    let renderers = Handover::new(Vec::new()).what.renderers;
    paths
        .iter()
        .filter_map(|path| suffix(path))
        .any(|suffix| renderers.of_suffix(&suffix).is_some())
}

/// The draft that was looked at last, and what was seen.
pub(super) type LastLook = Option<(Draft, Fetched<Vec<Preview>>)>;

/// What handing in `draft` would do. Looked at again only when the draft changes.
pub(super) fn preview(shared: &Arc<Shared>, draft: &Draft) -> Fetched<Vec<Preview>> {
    let mut last = lock(&shared.preview);
    match &*last {
        Some((known, seen)) if known == draft => return seen.clone(),
        _ => {}
    }
    *last = Some((draft.clone(), Fetched::Pending));
    drop(last);
    let (task, draft) = (Arc::clone(shared), draft.clone());
    shared.spawn(async move {
        // One look at a time: while somebody types, the drafts in between are passed over.
        let Ok(slot) = Arc::clone(&task.preview_slot).acquire_owned().await else { return };
        if lock(&task.preview).as_ref().is_none_or(|(known, _)| *known != draft) {
            return;
        }
        let (actor, wanted) = (task.actor.clone(), draft.clone());
        let looked = tokio::task::spawn_blocking(move || look(&wanted, &actor)).await;
        let seen = match looked.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(previews) => Fetched::Ready(Arc::new(previews)),
            Err(why) => Fetched::Failed(why),
        };
        let mut last = lock(&task.preview);
        if last.as_ref().is_some_and(|(known, _)| *known == draft) {
            *last = Some((draft, seen));
        }
        drop((last, slot));
        task.wake();
    });
    Fetched::Pending
}

fn look(draft: &Draft, actor: &str) -> Result<Vec<Preview>, String> {
    let handover = draft.handover(actor)?;
    let library = Library::load(None).map_err(|error| error.to_string())?;
    let name = draft.recipe.as_deref().unwrap_or(SCENE_RECIPE);
    // A recipe of the farm's own: its settings are not known here, and none is changed by a look.
    let defaults = library.get(name).map(|recipe| recipe.settings.clone()).unwrap_or_default();
    Ok(intake::preview(&handover.what, &defaults))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(frames: &str, chunk: &str, settings: &str) -> Draft {
        Draft {
            frames: frames.to_owned(),
            chunk: chunk.to_owned(),
            settings: settings.to_owned(),
            ..Draft::new(vec!["shot.blend".into()])
        }
    }

    #[test]
    fn what_is_typed_becomes_a_handover_or_is_said_to_be_wrong() {
        let good = draft(" 1-10 ", "5", "samples=64\n width=320").handover("ana").unwrap();
        assert_eq!(good.what.scene.frames.map(|frames| frames.count()), Some(10));
        assert_eq!((good.what.scene.chunk, good.what.settings.len()), (Some(5), 2));
        let empty = draft("", " ", "").handover("ana").unwrap();
        assert_eq!((empty.what.scene.frames, empty.what.scene.chunk), (None, None));
        for (frames, chunk, settings) in
            [("1-", "", ""), ("", "0", ""), ("", "many", ""), ("", "", "samples"), ("", "", "=3")]
        {
            assert!(draft(frames, chunk, settings).handover("ana").is_err(), "{frames} {chunk}");
        }
    }

    #[test]
    fn scenes_are_known_by_their_names() {
        assert!(has_scene(&["a.png".into(), "Shot.BLEND".into()]));
        assert!(!has_scene(&["a.png".into(), "dragon.glb".into(), "folder".into()]));
    }
}
