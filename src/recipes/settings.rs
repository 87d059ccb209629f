//! What a recipe can be told, typed and bounded.

use super::film::{FilmAlpha, FilmCodec, GapPolicy, MovingPicture};
use super::scene::SceneSettings;
use crate::model::{Chunk, Pass, Stage, ToneMap, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Whether a film is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilmPolicy {
    /// Made where ffmpeg is installed; otherwise a warning says what to install.
    IfAvailable,
    /// Its lack is a failure.
    Required,
    /// Not made.
    Never,
}

/// The settings of a pipeline. `--set KEY=VALUE` changes one for one submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Edge of the still picture of a mesh, and the longest edge of an image's, in pixels.
    pub still_px: u32,
    /// Longest edges of the thumbnails, in pixels.
    pub thumbnails_px: Vec<u32>,
    /// Frames of a turntable; 0 makes none.
    pub turntable_frames: u32,
    /// Edge of a turntable frame, in pixels.
    pub turntable_px: u32,
    /// Longest edge of a film's frame, in pixels.
    pub film_px: u32,
    /// Most frames in one render job.
    pub chunk_frames: u32,
    /// Frames a second of films.
    pub fps: u32,
    /// Whether a film is made.
    pub film: FilmPolicy,
    /// What a program draws; none where Sawah draws itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<SceneSettings>,
    /// How films are compressed.
    pub film_codec: FilmCodec,
    /// What becomes of transparency in films.
    pub film_alpha: FilmAlpha,
    /// What a film shows in place of missing frames.
    pub gaps: GapPolicy,
    /// A small looping picture beside the film.
    pub moving_picture: MovingPicture,
    /// How the light of pictures and frames (EXR, HDR) becomes colours; meshes keep the usual one.
    pub tone_map: ToneMap,
    /// What else of a mesh is drawn beside its still, each to a picture of its own.
    pub passes: Vec<Pass>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            still_px: 1024,
            thumbnails_px: vec![512, 256, 128],
            turntable_frames: 24,
            turntable_px: 512,
            film_px: 1920,
            chunk_frames: 12,
            fps: 24,
            film: FilmPolicy::IfAvailable,
            scene: None,
            film_codec: FilmCodec::H264,
            film_alpha: FilmAlpha::Black,
            gaps: GapPolicy::Fail,
            moving_picture: MovingPicture::None,
            tone_map: ToneMap::Neutral,
            passes: Vec::new(),
        }
    }
}

/// A setting that is unknown or out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No such key, or a value of the wrong type.
    #[error("setting '{key}' cannot be '{value}': {why}")]
    Invalid {
        /// The key as given.
        key: String,
        /// The value as given.
        value: String,
        /// What would be right.
        why: String,
    },
    /// The value is outside its bounds.
    #[error("setting '{key}' is {value}, but must be {bounds}")]
    OutOfBounds {
        /// The key.
        key: &'static str,
        /// The value.
        value: u64,
        /// The bounds in words.
        bounds: &'static str,
    },
}

impl Settings {
    /// Applies `KEY=VALUE` changes; values are read as TOML, a bare word as text.
    pub fn with_changes(&self, changes: &BTreeMap<String, String>) -> Result<Self, SettingError> {
        let mut settings = self.clone();
        for (key, value) in changes {
            if SceneSettings::has_key(key) {
                settings.scene.get_or_insert_default().change(key, value)?;
            } else {
                settings = settings.with_change(key, value)?;
            }
        }
        settings.check()?;
        Ok(settings)
    }

    fn with_change(&self, key: &str, value: &str) -> Result<Self, SettingError> {
        let invalid = |why: String| SettingError::Invalid {
            key: key.to_owned(),
            value: value.to_owned(),
            why,
        };
        let mut table = toml::Table::try_from(self).map_err(|error| invalid(error.to_string()))?;
        if key == "scene" || !table.contains_key(key) {
            let own = table.keys().filter(|key| *key != "scene").cloned();
            let keys: Vec<String> = own.chain(SceneSettings::keys().map(str::to_owned)).collect();
            return Err(invalid(format!("the settings are {}", keys.join(", "))));
        }
        let parsed = format!("value = {value}")
            .parse::<toml::Table>()
            .ok()
            .and_then(|mut one| one.remove("value"))
            .unwrap_or_else(|| toml::Value::String(value.to_owned()));
        table.insert(key.to_owned(), parsed);
        table.try_into().map_err(|error: toml::de::Error| invalid(error.message().to_owned()))
    }

    /// The frames of a scene that a job draws, for people.
    pub fn frames_of(&self, stage: Stage, chunk: Chunk) -> Option<String> {
        let scene = self.scene.as_ref().filter(|_| stage == Stage::Render)?;
        scene.frames_of(chunk).map(|frames| frames.to_string())
    }

    /// Checks every bound.
    pub fn check(&self) -> Result<(), SettingError> {
        in_bounds("still_px", self.still_px, 16..=8_192, "16 to 8192")?;
        in_bounds("turntable_px", self.turntable_px, 16..=8_192, "16 to 8192")?;
        in_bounds("film_px", self.film_px, 16..=8_192, "16 to 8192")?;
        in_bounds("turntable_frames", self.turntable_frames, 0..=limits::FRAMES, "0 to 10000")?;
        in_bounds("chunk_frames", self.chunk_frames, 1..=limits::FRAMES, "1 to 10000")?;
        in_bounds("fps", self.fps, 1..=240, "1 to 240")?;
        self.scene.as_ref().map_or(Ok(()), SceneSettings::check)?;
        let count = u32::try_from(self.thumbnails_px.len()).unwrap_or(u32::MAX);
        in_bounds("thumbnails_px", count, 0..=16, "at most 16 sizes")?;
        self.thumbnails_px
            .iter()
            .try_for_each(|px| in_bounds("thumbnails_px", *px, 16..=8_192, "16 to 8192 each"))?;
        self.check_alpha()
    }

    /// A codec without alpha would drop it without a word.
    fn check_alpha(&self) -> Result<(), SettingError> {
        if self.film_alpha == FilmAlpha::Black || self.film_codec.facts().alpha.is_some() {
            return Ok(());
        }
        let able = FilmCodec::ALL.into_iter().filter(|codec| codec.facts().alpha.is_some());
        let able: Vec<&str> = able.map(FilmCodec::as_str).collect();
        Err(SettingError::Invalid {
            key: "film_alpha".to_owned(),
            value: "keep".to_owned(),
            why: format!(
                "a film in {} has no transparency; set film_codec to one of {}, or film_alpha to black",
                self.film_codec,
                able.join(", ")
            ),
        })
    }
}

fn in_bounds(
    key: &'static str,
    value: u32,
    range: std::ops::RangeInclusive<u32>,
    bounds: &'static str,
) -> Result<(), SettingError> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(SettingError::OutOfBounds { key, value: value.into(), bounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: &str, value: &str) -> Result<Settings, SettingError> {
        Settings::default().with_changes(&BTreeMap::from([(key.to_owned(), value.to_owned())]))
    }

    #[test]
    fn changes_are_typed_and_bounded() {
        assert_eq!(change("still_px", "512").map(|settings| settings.still_px), Ok(512));
        assert_eq!(change("film", "never").map(|settings| settings.film), Ok(FilmPolicy::Never));
        assert_eq!(
            change("thumbnails_px", "[64, 32]").map(|settings| settings.thumbnails_px),
            Ok(vec![64, 32])
        );
        for (key, value) in [
            ("still_px", "9999999"),
            ("fps", "0"),
            ("still_px", "big"),
            ("stil_px", "512"),
            ("film", "maybe"),
        ] {
            assert!(change(key, value).is_err(), "{key}={value}");
        }
    }

    #[test]
    fn transparency_is_kept_only_by_codecs_that_have_it() {
        for codec in FilmCodec::ALL {
            let changes = [("film_codec", codec.as_str()), ("film_alpha", "keep")];
            let changes = changes.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let checked = Settings::default().with_changes(&BTreeMap::from(changes));
            let able = matches!(codec, FilmCodec::Prores | FilmCodec::Vp9 | FilmCodec::Ffv1);
            assert_eq!(checked.is_ok(), able, "{codec}: {checked:?}");
        }
        let refused = change("film_alpha", "keep").unwrap_err().to_string();
        assert!(refused.contains("h264") && refused.contains("prores, vp9, ffv1"), "{refused}");
        assert_eq!(change("gaps", "hold").map(|settings| settings.gaps), Ok(GapPolicy::Hold));
        assert!(change("gaps", "skip").is_err() && change("moving_picture", "apng").is_err());
        assert!(change("film_codec", "theora").is_err());
    }

    #[test]
    fn the_tone_map_is_neutral_unless_one_of_the_others_is_named() {
        assert_eq!(Settings::default().tone_map, ToneMap::Neutral);
        for map in ToneMap::ALL {
            assert_eq!(change("tone_map", map.as_str()).map(|settings| settings.tone_map), Ok(map));
        }
        let refused = change("tone_map", "filmic").unwrap_err().to_string();
        let all = ToneMap::ALL.iter().all(|map| refused.contains(map.as_str()));
        assert!(all && refused.contains("filmic"), "{refused}");
    }

    #[test]
    fn an_unknown_key_names_the_known_ones() {
        let error = change("stil_px", "512").map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("still_px")));
    }
}
