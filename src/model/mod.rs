//! The words of the farm as types: pure data, no IO, no clock, no randomness.
//!
//! Start with [`state`] (the life of a job), then [`stage`], [`reason`] and [`ids`].

pub mod asset;
pub mod checksum;
pub mod chunk;
pub mod control;
pub mod frames;
pub mod ids;
pub mod intent;
pub mod limits;
pub mod load;
pub mod name;
pub mod pass;
pub mod paths;
pub mod reason;
pub mod requirements;
pub mod sight;
pub mod stage;
pub mod state;
pub mod time;
pub mod tone_map;

pub use asset::{AssetKind, AssetName};
pub use checksum::Checksum;
pub use chunk::Chunk;
pub use control::{Mode, Target};
pub use frames::{ChunkShape, Dialect, FrameError, FrameList};
pub use ids::{
    Epoch, JobId, PipelineId, ProjectId, SessionId, TraceId, WatchFileId, WatchFolderId,
};
pub use intent::Intent;
pub use load::Load;
pub use name::Name;
pub use pass::Pass;
pub use paths::PathMapping;
pub use reason::{ErrorClass, Reason};
pub use requirements::Requirements;
pub use sight::Sight;
pub use stage::{PipelineStatus, Stage, StageStatus};
pub use state::{JobState, Verb};
pub use time::Now;
pub use tone_map::ToneMap;
