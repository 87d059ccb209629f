//! Watch folders: what people set up, and what became of each file that was seen there.

use crate::model::{
    AssetKind, AssetName, Name, PipelineId, Reason, WatchFileId, WatchFolderId, limits,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What happens with the files of one watch folder. Waits are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
pub struct WatchRules {
    /// The recipe; none means the farm's default for the kind.
    pub recipe: Option<String>,
    /// Recipes of single kinds, which win over `recipe`.
    #[schema(value_type = BTreeMap<String, String>)]
    pub recipes: BTreeMap<AssetKind, String>,
    /// Changed settings of the recipes.
    pub settings: BTreeMap<String, String>,
    /// Whose share of the farm it uses; none means `default`.
    pub project: Option<Name>,
    /// 0 to 9, the highest first; none means 5.
    pub priority: Option<u8>,
    /// How long a file must be still; none means 5 s on local disks and 15 s elsewhere.
    pub settle_ms: Option<u64>,
    /// How long an asset waits for side files that it names, and a numbered picture for others of
    /// its series.
    pub side_wait_ms: u64,
    /// How long a file may stay empty or without its end before it is refused.
    pub give_up_ms: u64,
    /// Whether files in folders below are taken too.
    pub subfolders: bool,
    /// Whether symbolic links are followed, where they stay inside the folder.
    pub follow_links: bool,
    /// How new files are noticed.
    pub seeing: Seeing,
    /// How often the folder is looked through where there are no events.
    pub poll_ms: u64,
    /// What was there when the folder was added.
    pub existing: Existing,
    /// What happens to the source after a success.
    pub after: AfterSuccess,
    /// Where results go beside the farm's own `published` folder.
    pub results: Results,
    /// Whether a note is laid beside a refused file.
    pub notes: bool,
    /// Patterns of names to leave alone; none means the shipped list.
    pub ignore: Option<Vec<String>>,
    /// Whether numbered pictures stay single assets.
    pub separate: bool,
}

impl Default for WatchRules {
    fn default() -> Self {
        Self {
            recipe: None,
            recipes: BTreeMap::new(),
            settings: BTreeMap::new(),
            project: None,
            priority: None,
            settle_ms: None,
            side_wait_ms: limits::SIDE_WAIT_MS,
            give_up_ms: limits::GIVE_UP_MS,
            subfolders: true,
            follow_links: false,
            seeing: Seeing::Auto,
            poll_ms: limits::POLL_MS,
            existing: Existing::Take,
            after: AfterSuccess::Stay,
            results: Results::Farm,
            notes: true,
            ignore: None,
            separate: false,
        }
    }
}

/// How new files are noticed. A full look from time to time comes on top of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seeing {
    /// By events on local disks, by looking again and again elsewhere.
    #[default]
    Auto,
    /// By events, whatever the file system.
    Events,
    /// By looking again and again.
    Polling,
}

/// What is done with files that lay there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Existing {
    /// They are taken like new ones.
    #[default]
    Take,
    /// They are left alone until they change.
    Leave,
}

/// What happens to a source file once its results are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterSuccess {
    /// It stays where it is.
    #[default]
    Stay,
    /// It moves to `_done/2026-11-30/` in the watch folder.
    Move,
    /// It is deleted; its bytes stay in the content store.
    Delete,
}

/// Where results are copied to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "to")]
pub enum Results {
    /// Only the farm's own `published` folder.
    #[default]
    Farm,
    /// `_results/ASSET_v1_RECIPE/` beside the source.
    Beside,
    /// `ASSET_v1_RECIPE/` in one folder.
    Folder {
        /// Which, as an absolute path on the coordinator's machine.
        path: String,
    },
    /// `PROJECT/ASSET_v1_RECIPE/` in one folder.
    Project {
        /// Which, as an absolute path on the coordinator's machine.
        path: String,
    },
}

/// `POST /v1/watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewWatchFolder {
    /// An absolute path on the coordinator's machine.
    pub path: String,
    /// What happens with its files.
    #[serde(default)]
    pub rules: WatchRules,
    /// Who asks, for the audit.
    pub actor: String,
}

/// `PUT /v1/watch/{folder}`: what is none stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchChange {
    /// New rules, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<WatchRules>,
    /// Whether nothing more is taken for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit.
    #[serde(default)]
    pub reason: String,
}

/// One watch folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchFolderView {
    /// Its number.
    pub id: WatchFolderId,
    /// Where it is on the coordinator's machine.
    pub path: String,
    /// What happens with its files.
    pub rules: WatchRules,
    /// Whether an operator paused it.
    pub paused: bool,
    /// How the watching goes.
    pub health: WatchHealth,
    /// Files by state.
    pub counts: WatchCounts,
    /// When it was added, Unix milliseconds.
    pub added_at_ms: i64,
}

/// How the watching of a folder goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchHealth {
    /// In one word.
    pub word: WatchWord,
    /// Why, and what to do; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether events tell of new files; else the folder is looked through again and again.
    pub events: bool,
    /// When it was last looked through whole, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at_ms: Option<i64>,
}

impl Default for WatchHealth {
    fn default() -> Self {
        Self { word: WatchWord::Starting, why: None, events: false, looked_at_ms: None }
    }
}

/// How the watching of a folder goes, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchWord {
    /// The first look is not done.
    Starting,
    /// All is well.
    Watching,
    /// Nothing is taken: an operator paused it.
    Paused,
    /// Nothing is taken for now: the farm has no room or its queue is full.
    Held,
    /// The folder is not there or cannot be read; it is looked for again and again.
    Gone,
    /// It is watched, but something needs somebody: a limit, an unreadable folder.
    Trouble,
}

/// Files of a watch folder by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchCounts {
    /// Not still yet.
    pub settling: u32,
    /// Waiting for others.
    pub waiting: u32,
    /// Handed in.
    pub accepted: u32,
    /// Known already.
    pub duplicate: u32,
    /// Not taken.
    pub refused: u32,
    /// Left alone.
    pub ignored: u32,
    /// Taken back.
    pub withdrawn: u32,
}

/// What an operator did with a watch folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchVerb {
    /// It is watched from now on.
    Added,
    /// Its rules are others.
    Changed,
    /// Nothing more is taken for now.
    Paused,
    /// It goes on.
    Resumed,
    /// It is not watched any more.
    Removed,
}

impl WatchVerb {
    /// The name used in the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "watch_added",
            Self::Changed => "watch_changed",
            Self::Paused => "watch_paused",
            Self::Resumed => "watch_resumed",
            Self::Removed => "watch_removed",
        }
    }
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchFileState {
    /// It is not still yet: it grows, is open elsewhere, or its end is missing.
    Settling,
    /// It is still, and waits for side files, for others of its series, or for room.
    Waiting,
    /// It was handed in, alone or as a part.
    Accepted,
    /// The same content was handed in before.
    Duplicate,
    /// It is not taken; the reason says why.
    Refused,
    /// A rule leaves it alone.
    Ignored,
    /// Somebody took it back.
    Withdrawn,
}

impl WatchFileState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Settling,
        Self::Waiting,
        Self::Accepted,
        Self::Duplicate,
        Self::Refused,
        Self::Ignored,
        Self::Withdrawn,
    ];

    /// The name used in the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Settling => "settling",
            Self::Waiting => "waiting",
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Refused => "refused",
            Self::Ignored => "ignored",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The state with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// One file of a watch folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchFileView {
    /// Its number.
    pub id: WatchFileId,
    /// Its folder.
    pub folder: WatchFolderId,
    /// Below the folder, for people: what is no Unicode or no letter is written as `\xNN`.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// What became of it.
    pub state: WatchFileState,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The stable code, where it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub reason: Option<Reason>,
    /// Since when, Unix milliseconds.
    pub since_ms: i64,
    /// The asset it belongs to, where it was handed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<DropView>,
    /// Whether it is the asset's main file.
    pub is_main: bool,
}

/// What was handed in from a watch folder: one asset version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DropView {
    /// The main file or the series, below the folder.
    pub main: String,
    /// The asset.
    pub asset: AssetName,
    /// Its version.
    pub asset_version: u32,
    /// The pipeline that does it.
    pub pipeline: PipelineId,
    /// How that went.
    pub outcome: DropOutcome,
    /// Side files that it names and that were not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Where its results were copied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
}

/// How the work for a drop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropOutcome {
    /// It goes on.
    Open,
    /// Results are there.
    Succeeded,
    /// It was given up or cancelled.
    Failed,
    /// Somebody took it back.
    Withdrawn,
}

impl DropOutcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Open, Self::Succeeded, Self::Failed, Self::Withdrawn];

    /// The name used in the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The outcome with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// What to do with files of a watch folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum WatchOrder {
    /// Cancel the asset's pipeline and leave the file.
    Withdraw {
        /// A file of the asset.
        file: WatchFileId,
    },
    /// Look at a file anew as if it had just come.
    Retake {
        /// Which.
        file: WatchFileId,
        /// With another recipe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recipe: Option<String>,
    },
    /// The same for all files of the folder.
    RetakeAll {
        /// With another recipe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recipe: Option<String>,
    },
}

/// `POST /v1/watch/{folder}/orders`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewWatchOrder {
    /// What.
    pub order: WatchOrder,
    /// Who asks, for the audit.
    pub actor: String,
}
