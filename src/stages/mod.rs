//! The work of each stage, one module each, run inside a stage host (a child process).
//!
//! A stage reads files from `input_dir`, writes files into `output_dir` and says what it made. It
//! knows no network and no store, so that it can crash alone.

pub mod formats;

pub mod ingest;
pub mod inspect;
pub mod transform;
pub mod render;
pub mod assemble;
pub mod publish;
pub mod cleanup;
pub mod scene;

mod clip;
pub mod dispatch;
pub mod compare;
pub mod failure;
pub mod frames;
pub mod glance;
pub mod host;
pub mod message;
mod source;
pub mod view;

#[cfg(test)]
mod asset_tests;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod testing;

pub use dispatch::run;

use crate::model::{PathMapping, Stage};
use crate::protocol::work::{Assignment, Failure, StageReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a stage is given.
///
/// Source files lie at `input_dir/source/NAME`, files of stage S at `input_dir/S/NAME`
/// (`input_dir/transform/scene.glb`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageRequest {
    /// The job.
    pub assignment: Assignment,
    /// Where the inputs lie; read only.
    pub input_dir: PathBuf,
    /// Where outputs go; empty at the start.
    pub output_dir: PathBuf,
    /// The programs of others on this machine.
    #[serde(default)]
    pub workshop: Workshop,
    /// Set where the host serves other attempts after this one.
    #[serde(default)]
    pub stay: Option<Stay>,
}

/// What an attempt needs of its own in a host that serves many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// The host's folder: what lies there may be used again by later attempts.
    pub folder: PathBuf,
    /// For temporary files of this attempt.
    pub temporary: PathBuf,
    /// By which this attempt's programs are found.
    pub mark: String,
}

/// Whether the host of an attempt can serve others. Foreign files are decoded in hosts that end with
/// their attempt: what a decoder leaves behind must meet no other. What the render stage reads are
/// files that were written here, or programs of others read them.
pub fn may_share(assignment: &Assignment) -> bool {
    assignment.stage == Stage::Render
}

/// What a worker's machine has of other people's programs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Workshop {
    /// The folder of the user's own renderer profiles.
    pub profiles_dir: Option<PathBuf>,
    /// What was found at the worker's start.
    pub programs: Vec<FoundProgram>,
    /// What shared folders of other machines are called here.
    pub paths: Vec<PathMapping>,
    /// Processor threads that an attempt should use; 0 leaves it to the program.
    pub threads: u32,
    /// The graphics cards that the programs may see; none where they may see all.
    #[serde(default)]
    pub gpu_mask: Option<String>,
}

/// The program of a renderer profile, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundProgram {
    /// The profile.
    pub profile: String,
    /// The program.
    pub path: PathBuf,
    /// Its version, where it says one.
    pub version: Option<String>,
}

/// A file that a stage made, at `output_dir/name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Produced {
    /// Relative name with `/`: `turntable/0001.png`.
    pub name: String,
    /// Its type: `image/png`.
    pub media_type: String,
}

/// What a stage made and learned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageOutput {
    /// Files made.
    pub files: Vec<Produced>,
    /// What was learned.
    pub report: StageReport,
}

/// Where a stage says how far it is.
pub trait Reporter {
    /// `percent` is 0 to 100 and never falls.
    fn progress(&self, percent: f32, message: &str);
    /// The same, with the frame that was just done.
    fn frame(&self, _frame: i32, percent: f32, message: &str) {
        self.progress(percent, message);
    }
    /// A file that is right whatever becomes of the rest: it need not be made again.
    fn keep(&self, _file: Produced) {}
    /// One line for the attempt's log.
    fn log(&self, line: &str);
}

/// The result of a stage.
pub type StageResult = Result<StageOutput, Failure>;
