//! `settings.toml`: every key, and the line it stands on.

use super::{Origin, Setting, SettingsError};
use crate::model::PathMapping;
use crate::telemetry::LogFormat;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The file as read; keys may be absent, unknown ones are refused.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    keys: Keys,
    text: String,
    path: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Keys {
    farm: Option<Spanned<PathBuf>>,
    listen: Option<Spanned<SocketAddr>>,
    lease_ms: Option<Spanned<u64>>,
    heartbeat_ms: Option<Spanned<u64>>,
    free_floor_mib: Option<Spanned<u64>>,
    worker: WorkerKeys,
    webhooks: WebhookKeys,
    log: LogKeys,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WorkerKeys {
    name: Option<Spanned<String>>,
    slots: Option<Spanned<u32>>,
    work_dir: Option<Spanned<PathBuf>>,
    adapter: Option<Spanned<String>>,
    gpu_masks: Option<Spanned<Vec<String>>>,
    paths: Option<Spanned<Vec<PathMapping>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WebhookKeys {
    dead_letter: Option<Spanned<String>>,
    published: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LogKeys {
    level: Option<Spanned<String>>,
    format: Option<Spanned<LogFormat>>,
}

impl FileSettings {
    pub(super) fn load(path: &Path) -> Result<Self, SettingsError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => return Err(SettingsError::Read { path: path.to_owned(), source }),
        };
        let keys = toml::from_str(&text).map_err(|source| SettingsError::Parse {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        Ok(Self { keys, text, path: path.to_owned() })
    }

    fn setting<T: Clone>(&self, value: Option<&Spanned<T>>) -> Option<Setting<T>> {
        value.map(|spanned| {
            let before = self.text.get(..spanned.span().start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let origin = Origin::File { path: self.path.clone(), line };
            Setting { value: spanned.get_ref().clone(), origin }
        })
    }

    /// Relative folders are relative to the settings file, wherever the command runs.
    fn folder(&self, value: Option<&Spanned<PathBuf>>) -> Option<Setting<PathBuf>> {
        let home = self.path.parent().unwrap_or(Path::new("."));
        self.setting(value).map(|one| Setting { value: home.join(one.value), origin: one.origin })
    }

    pub(super) fn farm(&self) -> Option<Setting<PathBuf>> {
        self.folder(self.keys.farm.as_ref())
    }

    pub(super) fn listen(&self) -> Option<Setting<SocketAddr>> {
        self.setting(self.keys.listen.as_ref())
    }

    pub(super) fn lease_ms(&self) -> Option<Setting<u64>> {
        self.setting(self.keys.lease_ms.as_ref())
    }

    pub(super) fn heartbeat_ms(&self) -> Option<Setting<u64>> {
        self.setting(self.keys.heartbeat_ms.as_ref())
    }

    pub(super) fn free_floor_mib(&self) -> Option<Setting<u64>> {
        self.setting(self.keys.free_floor_mib.as_ref())
    }

    pub(super) fn worker_name(&self) -> Option<Setting<String>> {
        self.setting(self.keys.worker.name.as_ref())
    }

    pub(super) fn worker_slots(&self) -> Option<Setting<u32>> {
        self.setting(self.keys.worker.slots.as_ref())
    }

    pub(super) fn worker_work_dir(&self) -> Option<Setting<PathBuf>> {
        self.folder(self.keys.worker.work_dir.as_ref())
    }

    pub(super) fn worker_adapter(&self) -> Option<Setting<String>> {
        self.setting(self.keys.worker.adapter.as_ref())
    }

    pub(super) fn worker_gpu_masks(&self) -> Option<Setting<Vec<String>>> {
        self.setting(self.keys.worker.gpu_masks.as_ref())
    }

    pub(super) fn worker_paths(&self) -> Option<Setting<Vec<PathMapping>>> {
        self.setting(self.keys.worker.paths.as_ref())
    }

    pub(super) fn webhook_dead_letter(&self) -> Option<Setting<String>> {
        self.setting(self.keys.webhooks.dead_letter.as_ref())
    }

    pub(super) fn webhook_published(&self) -> Option<Setting<String>> {
        self.setting(self.keys.webhooks.published.as_ref())
    }

    pub(super) fn log_level(&self) -> Option<Setting<String>> {
        self.setting(self.keys.log.level.as_ref())
    }

    pub(super) fn log_format(&self) -> Option<Setting<LogFormat>> {
        self.setting(self.keys.log.format.as_ref())
    }
}
