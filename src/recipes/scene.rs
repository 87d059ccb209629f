//! What a program draws of a scene: which program, which frames, with which values.

use super::SettingError;
use crate::model::frames::FrameList;
use crate::model::{Chunk, limits, paths};
use crate::renderers::output::Expect;
use crate::renderers::placeholder::{Placeholder, ValueKind};
use crate::renderers::template::Template;
use crate::renderers::values::Values;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The settings of a scene. Each is a key of `--set` too: `--set samples=64`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SceneSettings {
    /// The renderer profile that draws it: `blender`.
    pub renderer: String,
    /// The frames, in the order in which they are drawn; one frame where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameList>,
    /// How long a chunk shall take: once frames of the asset were measured, their times say how many
    /// make one; until then `chunk_frames` does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_seconds: Option<u32>,
    /// Values of the profile's placeholders: `samples`, `width`, `camera`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The job's own arguments; they may hold placeholders such as `{scene}` and `{frames}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Where the scene lies on storage that all see, as the submitting machine calls it: it is read
    /// there, with all that lies beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What becomes of a scene that needs files which are not there; it fails unless this says
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingPolicy>,
    /// What the program must leave behind, where the profile's own rule does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// What becomes of a scene that needs files which are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingPolicy {
    /// It is refused.
    #[default]
    Fail,
    /// It is drawn without them, and a warning names them.
    Warn,
}

/// Keys beside the placeholders'.
const KEYS: [&str; 7] =
    ["renderer", "frames", "chunk_seconds", "arguments", "at", "expect", "missing"];

/// Longest chunk that can be asked for.
const CHUNK_SECONDS: u32 = 86_400;

impl SceneSettings {
    /// Whether `--set KEY=…` with this key is about the scene.
    pub fn has_key(key: &str) -> bool {
        KEYS.contains(&key) || Placeholder::parse(key).is_some_and(is_free)
    }

    /// All keys, for people.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        let free = Placeholder::ALL.iter().copied().filter(|place| is_free(*place));
        KEYS.into_iter().chain(free.map(Placeholder::name))
    }

    /// Sets one key.
    pub(super) fn change(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let invalid = |why: String| SettingError::Invalid {
            key: key.to_owned(),
            value: value.to_owned(),
            why,
        };
        match key {
            "renderer" => value.clone_into(&mut self.renderer),
            "frames" => {
                self.frames = Some(value.parse().map_err(|error| {
                    invalid(crate::model::frames::FrameError::to_string(&error))
                })?);
            }
            "chunk_seconds" => {
                let seconds = value.parse().ok().filter(|s| (1..=CHUNK_SECONDS).contains(s));
                let why = format!("use whole seconds from 1 to {CHUNK_SECONDS}");
                self.chunk_seconds = Some(seconds.ok_or_else(|| invalid(why))?);
            }
            "arguments" => {
                let why = "write a list of texts: [\"python3\", \"{scene}\"]";
                let list = format!("value = {value}").parse::<toml::Table>().ok();
                let list = list.and_then(|mut table| table.remove("value"));
                let list = list.and_then(|value| value.try_into().ok());
                self.arguments = list.ok_or_else(|| invalid(why.to_owned()))?;
            }
            "expect" => {
                let parsed = Expect::parse(value);
                self.expect = Some(parsed.ok_or_else(|| invalid(Expect::WORDS.to_owned()))?);
            }
            "at" => self.at = Some(value.to_owned()),
            "missing" => {
                self.missing = Some(match value {
                    "fail" => MissingPolicy::Fail,
                    "warn" => MissingPolicy::Warn,
                    _ => return Err(invalid("use fail or warn".to_owned())),
                });
            }
            _ => {
                self.values.insert(key.to_owned(), value.to_owned());
            }
        }
        Ok(())
    }

    /// Checks every bound and value.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        let invalid = |key: &str, value: &str, why: String| {
            let (key, value) = (key.to_owned(), value.to_owned());
            Err(SettingError::Invalid { key, value, why })
        };
        let named = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if self.renderer.is_empty() || !self.renderer.chars().all(named) {
            let why = "name a renderer profile: `sawah renderers` lists them".to_owned();
            return invalid("renderer", &self.renderer, why);
        }
        if let Some(at) = &self.at {
            let is_bounded = at.len() <= limits::FILE_NAME_BYTES && !at.contains(char::is_control);
            if !is_bounded || paths::folder(at).is_none() {
                let why = "name the file by an absolute path without '..'".to_owned();
                return invalid("at", at, why);
            }
        }
        let mut values = Values::default();
        for (name, text) in &self.values {
            let place = Placeholder::parse(name).filter(|place| is_free(*place));
            let Some(place) = place else {
                let keys: Vec<_> = Self::keys().collect();
                return invalid(name, text, format!("the keys are {}", keys.join(", ")));
            };
            if let Err(error) = values.set(place, text) {
                return invalid(name, text, error.to_string());
            }
        }
        if let Err(error) = values.set_arguments(self.arguments.clone()) {
            return invalid("arguments", "", error.to_string());
        }
        for argument in &self.arguments {
            if let Err(error) = Template::parse(argument) {
                return invalid("arguments", argument, error.to_string());
            }
        }
        Ok(())
    }

    /// The frames; frame 1 where nothing is said.
    pub fn frames(&self) -> FrameList {
        self.frames.clone().unwrap_or_else(FrameList::one)
    }

    /// The frames of a part of the render stage; none where it is no chunk of frames.
    pub fn frames_of(&self, chunk: Chunk) -> Option<FrameList> {
        match chunk {
            Chunk::Frames { first, last } => self.chunk(first, last),
            Chunk::Whole => Some(self.frames()),
            Chunk::Still => None,
        }
    }

    /// The frames of the chunk from `first` to `last`, counted from 1.
    pub fn chunk(&self, first: u32, last: u32) -> Option<FrameList> {
        let frames = self.frames();
        let from = usize::try_from(first.checked_sub(1)?).ok()?;
        let to = usize::try_from(last.min(limits::FRAMES)).ok()?.min(frames.as_slice().len());
        FrameList::new(frames.as_slice().get(from..to)?.to_vec())
    }
}

/// Whether people may set it: the others follow from the job.
fn is_free(place: Placeholder) -> bool {
    use Placeholder as P;
    let given = matches!(
        place,
        P::Scene | P::Out | P::OutFolder | P::OutName | P::First | P::Last | P::Fps | P::Arguments
    );
    !given && place.kind() != ValueKind::Frames
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    fn changed(changes: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let changes = changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Settings::default().with_changes(&changes.collect())
    }

    #[test]
    fn a_scene_is_set_key_by_key_and_read_back() {
        let settings = changed(&[
            ("renderer", "blender"),
            ("frames", "1-10, 20"),
            ("samples", "64"),
            ("arguments", "[\"--flag\", \"{scene}\"]"),
            ("chunk_frames", "5"),
        ])
        .unwrap();
        let scene = settings.scene.as_ref().unwrap();
        assert_eq!(scene.frames().count(), 11);
        assert_eq!(scene.values.get("samples").map(String::as_str), Some("64"));
        assert_eq!(scene.arguments.len(), 2);
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(scene.chunk(6, 10).unwrap().as_slice(), [6, 7, 8, 9, 10]);
        assert_eq!(scene.chunk(11, 15).unwrap().as_slice(), [20]);
        assert_eq!(scene.chunk(12, 15), None);
    }

    #[test]
    fn what_no_program_can_be_given_is_refused() {
        for (key, value) in [
            ("frames", "1-"),
            ("samples", "0"),
            ("samples", "many"),
            ("chunk_seconds", "0"),
            ("chunk_seconds", "1.5"),
            ("camera", "-x"),
            ("scene", "/etc/passwd"),
            ("out", "/tmp/x"),
            ("start", "3"),
            ("arguments", "python3"),
            ("arguments", "[\"{nothing}\"]"),
            ("expect", "everything"),
            ("at", "shots/a.blend"),
            ("at", "/shots/../a.blend"),
        ] {
            let refused = changed(&[("renderer", "blender"), (key, value)]);
            assert!(refused.is_err(), "{key}={value}");
        }
        assert!(changed(&[("frames", "1-10")]).is_err(), "no renderer");
        assert!(changed(&[("renderer", "../x")]).is_err());
    }

    #[test]
    fn wrong_frames_are_shown_under_their_fault() {
        let error = changed(&[("renderer", "blender"), ("frames", "1-5,x")]).unwrap_err();
        assert!(error.to_string().contains('^'), "{error}");
    }
}
