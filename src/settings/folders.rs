//! Where this platform keeps settings and data.

use super::{Environment, SettingsError};
use std::path::PathBuf;

/// The folders of one user's installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Holds `settings.toml`, `recipes/` and `renderers/`.
    pub config: PathBuf,
    /// Holds farms and work folders.
    pub data: PathBuf,
}

impl Folders {
    /// The platform's own; `SAWAH_CONFIG` names another folder for the settings.
    pub fn find(environment: Environment<'_>) -> Result<Self, SettingsError> {
        let platform = directories::ProjectDirs::from("", "", "sawah");
        let told = environment("SAWAH_CONFIG").filter(|value| !value.is_empty());
        let config = match (told, &platform) {
            (Some(told), _) => told.into(),
            (None, Some(dirs)) => dirs.config_dir().to_owned(),
            (None, None) => return Err(SettingsError::NoHome),
        };
        let data = match platform {
            Some(dirs) => dirs.data_dir().to_owned(),
            None => config.join("data"),
        };
        Ok(Self { config, data })
    }

    /// The settings file; it may be absent.
    pub fn settings_file(&self) -> PathBuf {
        self.config.join("settings.toml")
    }

    /// The user's own recipes; the folder may be absent.
    pub fn recipes(&self) -> PathBuf {
        self.config.join("recipes")
    }

    /// The user's own renderer profiles; the folder may be absent.
    pub fn renderers(&self) -> PathBuf {
        self.config.join("renderers")
    }

    /// The farm that is used unless another is named.
    pub fn farm(&self) -> PathBuf {
        self.data.join("farm")
    }

    /// The demo's own farm.
    pub fn demo(&self) -> PathBuf {
        self.data.join("demo")
    }

    /// Where a separate worker keeps its staging.
    pub fn work(&self) -> PathBuf {
        self.data.join("work")
    }
}
