//! What this installation is told: defaults, then `settings.toml`, then `SAWAH_…` in the
//! environment, then flags. Every value knows where it came from; `sawah doctor` shows it.

mod file;
pub mod folders;

pub use folders::Folders;

use crate::model::{PathMapping, limits, paths};
use crate::protocol::webhook::NewsKind;
use crate::telemetry::{self, LogFormat};
use file::FileSettings;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a coordinator listens unless told otherwise: this machine only.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7420);
/// Jobs one worker may run at once.
pub const SLOTS: RangeInclusive<u32> = 1..=limits::JOBS_PER_CLAIM;
/// Shortest and longest lease, in milliseconds.
pub const LEASE_MS: RangeInclusive<u64> = 1_000..=600_000;
/// Shortest and longest time between heartbeats, in milliseconds.
pub const HEARTBEAT_MS: RangeInclusive<u64> = 200..=200_000;
/// A lease must outlast this many heartbeats, so that one lost packet loses no job.
pub const BEATS_PER_LEASE: u64 = 3;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A line of the settings file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(&'static str),
    /// A flag on the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{} line {line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The farm's folder.
    pub farm: Setting<PathBuf>,
    /// Where the coordinator listens.
    pub listen: Setting<SocketAddr>,
    /// Jobs the worker runs at once.
    pub worker_slots: Setting<u32>,
    /// The worker's name, unique in the farm.
    pub worker_name: Setting<String>,
    /// Where the worker keeps its staging.
    pub worker_work_dir: Setting<PathBuf>,
    /// Which adapter pictures are drawn with: `auto`, `off`, `software` or a part of a name.
    pub worker_adapter: Setting<String>,
    /// Which graphics cards the programs of each slot may see, one after the other; empty: all.
    pub worker_gpu_masks: Setting<Vec<String>>,
    /// What shared folders of other machines are called here.
    pub worker_paths: Setting<Vec<PathMapping>>,
    /// The log filter; none means that the command decides.
    pub log: Setting<Option<String>>,
    /// The shape of log lines.
    pub log_format: Setting<LogFormat>,
    /// Without a heartbeat for this long a worker's jobs are handed on.
    pub lease_ms: Setting<u64>,
    /// How often a worker says that it lives.
    pub heartbeat_ms: Setting<u64>,
    /// Nothing is taken from watch folders while the farm's disk has less room, in MiB.
    pub free_floor_mib: Setting<u64>,
    /// Who is told of dead letters; empty means nobody.
    pub webhook_dead_letter: Setting<String>,
    /// Who is told of published files; empty means nobody.
    pub webhook_published: Setting<String>,
}

/// What the command line says; wins over everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--farm`.
    pub farm: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--slots`.
    pub slots: Option<u32>,
    /// `--name` of a worker.
    pub name: Option<String>,
    /// `--work`.
    pub work: Option<PathBuf>,
    /// `--log`.
    pub log: Option<String>,
    /// `--log-format`.
    pub log_format: Option<LogFormat>,
}

/// What the machine says when nobody else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// Name of the machine.
    pub host: String,
    /// Cores of the machine.
    pub cores: u32,
}

impl Defaults {
    /// Of this machine.
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let host = hostname::get()
            .map_or_else(|_| "this-machine".to_owned(), |name| name.to_string_lossy().into_owned());
        Self { host, cores: u32::try_from(cores).unwrap_or(1) }
    }

    /// Half of the cores, but at least one: a stage may use several cores at times.
    fn slots(&self) -> u32 {
        (self.cores / 2).clamp(*SLOTS.start(), *SLOTS.end())
    }
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The platform has no home folder.
    #[error(
        "this user has no home folder: name the farm with --farm and the settings' folder with SAWAH_CONFIG"
    )]
    NoHome,
    /// The file cannot be read.
    #[error("the settings cannot be read: {source}. Check the rights on {path}", path = path.display())]
    Read {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML, or a key that does not exist. The source names the line and the known keys.
    #[error("the settings are wrong: {source}\nCorrect them in {path}", path = path.display())]
    Parse {
        /// Where.
        path: PathBuf,
        /// Why, with line and column.
        source: Box<toml::de::Error>,
    },
    /// A value cannot be used.
    #[error("{key} cannot be '{value}': {why} (from {origin})")]
    Value {
        /// Which setting.
        key: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        why: String,
        /// Where it came from.
        origin: Origin,
    },
}

/// Reads one variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Settings {
    /// Reads `settings.toml` of `folders` (which may be absent), the environment and the flags.
    pub fn load(
        folders: &Folders,
        environment: Environment<'_>,
        flags: Flags,
        defaults: &Defaults,
    ) -> Result<Self, SettingsError> {
        let from = Sources { file: FileSettings::load(&folders.settings_file())?, environment };
        let file = &from.file;
        let farm = from.path("SAWAH_FARM", flags.farm.map(|v| (v, "--farm")), file.farm())?;
        let work = flags.work.map(|v| (v, "--work"));
        let work = from.path("SAWAH_WORKER_WORK_DIR", work, file.worker_work_dir())?;
        let [lease_ms, heartbeat_ms, free_floor_mib] = from.numbers()?;
        let settings = Self {
            farm: farm.unwrap_or_else(|| by_default(folders.farm())),
            listen: from
                .value(
                    "listen",
                    "SAWAH_LISTEN",
                    flags.listen.map(|v| (v, "--listen")),
                    file.listen(),
                )?
                .unwrap_or_else(|| by_default(DEFAULT_LISTEN)),
            worker_slots: from
                .value(
                    "worker.slots",
                    "SAWAH_WORKER_SLOTS",
                    flags.slots.map(|v| (v, "--slots")),
                    file.worker_slots(),
                )?
                .unwrap_or_else(|| by_default(defaults.slots())),
            worker_name: from
                .value(
                    "worker.name",
                    "SAWAH_WORKER_NAME",
                    flags.name.map(|v| (v, "--name")),
                    file.worker_name(),
                )?
                .unwrap_or_else(|| by_default(defaults.host.clone())),
            worker_work_dir: work.unwrap_or_else(|| by_default(folders.work())),
            worker_adapter: from.adapter()?,
            worker_gpu_masks: file.worker_gpu_masks().unwrap_or_else(|| by_default(Vec::new())),
            worker_paths: file.worker_paths().unwrap_or_else(|| by_default(Vec::new())),
            log: from
                .value("log.level", "SAWAH_LOG", flags.log.map(|v| (v, "--log")), file.log_level())?
                .map_or_else(
                    || by_default(None),
                    |one| Setting { value: Some(one.value), origin: one.origin },
                ),
            log_format: from
                .value(
                    "log.format",
                    "SAWAH_LOG_FORMAT",
                    flags.log_format.map(|v| (v, "--log-format")),
                    file.log_format(),
                )?
                .unwrap_or_else(|| by_default(LogFormat::Text)),
            lease_ms,
            heartbeat_ms,
            free_floor_mib,
            webhook_dead_letter: from.text(
                "webhooks.dead_letter",
                "SAWAH_WEBHOOK_DEAD_LETTER",
                file.webhook_dead_letter(),
            )?,
            webhook_published: from.text(
                "webhooks.published",
                "SAWAH_WEBHOOK_PUBLISHED",
                file.webhook_published(),
            )?,
        };
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), SettingsError> {
        in_bounds("worker.slots", &self.worker_slots, &SLOTS)?;
        for mask in &self.worker_gpu_masks.value {
            let is_good = |letter: char| letter.is_ascii_alphanumeric() || ",.:-".contains(letter);
            if mask.is_empty() || !mask.chars().all(is_good) {
                let origin = self.worker_gpu_masks.origin.clone();
                let why =
                    "a mask is the number or name of a card, or several with commas: 0 or 0,1";
                let shown = Setting { value: mask.clone(), origin };
                return Err(refused("worker.gpu_masks", &shown, why.to_owned()));
            }
        }
        for mapping in &self.worker_paths.value {
            if !paths::is_absolute(&mapping.from) || !paths::is_absolute(&mapping.to) {
                let why = "both folders of a mapping must be absolute, without '..'".to_owned();
                let shown = self.worker_paths.origin.clone();
                let shown = Setting { value: mapping.from.clone(), origin: shown };
                return Err(refused("worker.paths", &shown, why));
            }
        }
        in_bounds("lease_ms", &self.lease_ms, &LEASE_MS)?;
        in_bounds("heartbeat_ms", &self.heartbeat_ms, &HEARTBEAT_MS)?;
        if self.heartbeat_ms.value.saturating_mul(BEATS_PER_LEASE) > self.lease_ms.value {
            return Err(refused(
                "heartbeat_ms",
                &self.heartbeat_ms,
                format!(
                    "a lease of {} ms must last at least {BEATS_PER_LEASE} heartbeats",
                    self.lease_ms.value
                ),
            ));
        }
        webhook("webhooks.dead_letter", &self.webhook_dead_letter)?;
        webhook("webhooks.published", &self.webhook_published)?;
        let name = &self.worker_name.value;
        if name.trim().is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
            return Err(refused(
                "worker.name",
                &self.worker_name,
                "use 1 to 64 bytes without control characters".to_owned(),
            ));
        }
        if let Some(filter) = &self.log.value {
            telemetry::check_filter(filter).map_err(|error| SettingsError::Value {
                key: "log.level",
                value: filter.clone(),
                why: error.to_string(),
                origin: self.log.origin.clone(),
            })?;
        }
        Ok(())
    }

    /// Where each kind of news goes; kinds without an address are not told.
    pub fn webhooks(&self) -> BTreeMap<NewsKind, String> {
        let urls = [
            (NewsKind::DeadLetter, &self.webhook_dead_letter.value),
            (NewsKind::Published, &self.webhook_published.value),
        ];
        let urls = urls.into_iter().filter(|(_, url)| !url.is_empty());
        urls.map(|(kind, url)| (kind, url.clone())).collect()
    }

    /// Every setting as text with its origin, in the order of the settings file.
    pub fn table(&self) -> Vec<(&'static str, String, &Origin)> {
        let log = self.log.value.clone().unwrap_or_else(|| "(as the command needs)".to_owned());
        vec![
            ("farm", self.farm.value.display().to_string(), &self.farm.origin),
            ("listen", self.listen.value.to_string(), &self.listen.origin),
            ("lease_ms", self.lease_ms.value.to_string(), &self.lease_ms.origin),
            ("heartbeat_ms", self.heartbeat_ms.value.to_string(), &self.heartbeat_ms.origin),
            ("free_floor_mib", self.free_floor_mib.value.to_string(), &self.free_floor_mib.origin),
            (
                "webhooks.dead_letter",
                self.webhook_dead_letter.value.clone(),
                &self.webhook_dead_letter.origin,
            ),
            (
                "webhooks.published",
                self.webhook_published.value.clone(),
                &self.webhook_published.origin,
            ),
            ("worker.name", self.worker_name.value.clone(), &self.worker_name.origin),
            ("worker.slots", self.worker_slots.value.to_string(), &self.worker_slots.origin),
            (
                "worker.work_dir",
                self.worker_work_dir.value.display().to_string(),
                &self.worker_work_dir.origin,
            ),
            ("worker.adapter", self.worker_adapter.value.clone(), &self.worker_adapter.origin),
            (
                "worker.gpu_masks",
                self.worker_gpu_masks.value.join(" "),
                &self.worker_gpu_masks.origin,
            ),
            ("worker.paths", mapped(&self.worker_paths.value), &self.worker_paths.origin),
            ("log.level", log, &self.log.origin),
            ("log.format", self.log_format.value.to_string(), &self.log_format.origin),
        ]
    }
}

fn mapped(mappings: &[PathMapping]) -> String {
    let words = mappings.iter().map(|mapping| format!("{} is {}", mapping.from, mapping.to));
    words.collect::<Vec<_>>().join(", ")
}

/// An address that a webhook can be sent to, or none. Only plain HTTP is spoken.
fn webhook(key: &'static str, setting: &Setting<String>) -> Result<(), SettingsError> {
    let url = &setting.value;
    let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let is_address = host.is_some_and(|host| !host.is_empty())
        && !url.chars().any(|letter| letter.is_control() || letter == ' ')
        && url.len() <= limits::WEBHOOK_URL_BYTES;
    if url.is_empty() || is_address {
        return Ok(());
    }
    Err(refused(key, setting, "write it as http://HOST:PORT/PATH".to_owned()))
}

fn by_default<T>(value: T) -> Setting<T> {
    Setting { value, origin: Origin::Default }
}

fn refused<T: fmt::Display>(key: &'static str, setting: &Setting<T>, why: String) -> SettingsError {
    let origin = setting.origin.clone();
    SettingsError::Value { key, value: setting.value.to_string(), why, origin }
}

fn in_bounds<T: fmt::Display + PartialOrd>(
    key: &'static str,
    setting: &Setting<T>,
    range: &RangeInclusive<T>,
) -> Result<(), SettingsError> {
    if range.contains(&setting.value) {
        return Ok(());
    }
    Err(refused(key, setting, format!("use {} to {}", range.start(), range.end())))
}

struct Sources<'a> {
    file: FileSettings,
    environment: Environment<'a>,
}

impl Sources<'_> {
    fn path(
        &self,
        variable: &'static str,
        flag: Option<(PathBuf, &'static str)>,
        file: Option<Setting<PathBuf>>,
    ) -> Result<Option<Setting<PathBuf>>, SettingsError> {
        let chosen = match (flag, self.variable(variable), file) {
            (Some((value, name)), _, _) => Setting { value, origin: Origin::Flag(name) },
            (None, Some(value), _) => {
                Setting { value: value.into(), origin: Origin::Environment(variable) }
            }
            (None, None, Some(setting)) => setting,
            (None, None, None) => return Ok(None),
        };
        let absolute = std::path::absolute(&chosen.value).map_err(|error| {
            let value = chosen.value.display().to_string();
            refused("farm", &Setting { value, origin: chosen.origin.clone() }, error.to_string())
        })?;
        Ok(Some(Setting { value: absolute, origin: chosen.origin }))
    }

    /// Those that no flag sets: `lease_ms`, `heartbeat_ms` and `free_floor_mib`.
    fn numbers(&self) -> Result<[Setting<u64>; 3], SettingsError> {
        let number = |key, variable, file, default| {
            let found = self.value(key, variable, None, file)?;
            Ok(found.unwrap_or_else(|| by_default(default)))
        };
        let file = &self.file;
        let beat = file.heartbeat_ms();
        let floor = file.free_floor_mib();
        Ok([
            number("lease_ms", "SAWAH_LEASE_MS", file.lease_ms(), limits::LEASE_MS)?,
            number("heartbeat_ms", "SAWAH_HEARTBEAT_MS", beat, limits::HEARTBEAT_MS)?,
            number("free_floor_mib", "SAWAH_FREE_FLOOR_MIB", floor, limits::FREE_FLOOR_MIB)?,
        ])
    }

    fn value<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &'static str,
        variable: &'static str,
        flag: Option<(T, &'static str)>,
        file: Option<Setting<T>>,
    ) -> Result<Option<Setting<T>>, SettingsError> {
        if let Some((value, name)) = flag {
            return Ok(Some(Setting { value, origin: Origin::Flag(name) }));
        }
        let Some(text) = self.variable(variable) else { return Ok(file) };
        let text = text.to_string_lossy();
        let origin = Origin::Environment(variable);
        match text.parse() {
            Ok(value) => Ok(Some(Setting { value, origin })),
            Err(why) => Err(SettingsError::Value {
                key,
                value: text.into_owned(),
                why: why.to_string(),
                origin,
            }),
        }
    }

    /// The adapter that a worker draws with.
    fn adapter(&self) -> Result<Setting<String>, SettingsError> {
        let found = self.value("worker.adapter", "SAWAH_GPU", None, self.file.worker_adapter())?;
        Ok(found.unwrap_or_else(|| by_default("auto".to_owned())))
    }

    /// A text that is empty by default.
    fn text(
        &self,
        key: &'static str,
        variable: &'static str,
        file: Option<Setting<String>>,
    ) -> Result<Setting<String>, SettingsError> {
        Ok(self.value(key, variable, None, file)?.unwrap_or_else(|| by_default(String::new())))
    }

    /// An empty variable counts as unset, as people expect of `SAWAH_FARM= sawah …`.
    fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests;
