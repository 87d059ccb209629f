//! Why something failed: the stable codes, their class, and what to do about each.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// How a failure is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Goes away by itself: network, storage away, service busy.
    Transient,
    /// Somebody must do something: disk full, program missing.
    Intervention,
    /// Trying again gives the same: broken file, bad parameter.
    Permanent,
    /// Crash, signal, lost lease.
    Unknown,
}

impl ErrorClass {
    /// All classes.
    pub const ALL: [Self; 4] =
        [Self::Transient, Self::Intervention, Self::Permanent, Self::Unknown];

    /// The name used in the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Intervention => "intervention",
            Self::Permanent => "permanent",
            Self::Unknown => "unknown",
        }
    }

    /// The class with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! reasons {
    ($($variant:ident = $code:literal, $class:ident, $remedy:literal;)+) => {
        /// What went wrong, as a stable dotted code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(
                #[doc = concat!("`", $code, "`: ", $remedy)]
                $variant,
            )+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The dotted code used in the API, the store and the window.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// How a failure with this reason is treated.
            pub const fn class(self) -> ErrorClass {
                match self { $(Self::$variant => ErrorClass::$class,)+ }
            }

            /// What a person can do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)+ }
            }

            /// The reason with this code.
            pub fn parse(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.code() == code)
            }
        }
    };
}

reasons! {
    InputEmpty = "input.empty", Permanent, "Export the file again: it holds no bytes.";
    InputTruncated = "input.truncated", Permanent, "Copy or export the file again: its end is missing.";
    InputCorrupt = "input.corrupt", Permanent, "Export the file again from the program that made it.";
    InputUnsupported = "input.unsupported", Permanent, "Convert the file to GLB, glTF, OBJ, STL, PLY, PNG, JPEG, TIFF, EXR or HDR.";
    InputWrongSuffix = "input.wrong_suffix", Permanent, "Rename the file: its content is another format than its name says.";
    InputUnreadable = "input.unreadable", Permanent, "Check that the file exists and that you may read it.";
    InputTooLarge = "input.too_large", Permanent, "Make the file smaller: the message names the limit.";
    InputChanged = "input.changed", Transient, "Wait until the program that writes the file is done, then submit it again.";
    InputNotAFile = "input.not_a_file", Permanent, "Submit a regular file or a folder of numbered pictures.";
    InputNothingToDraw = "input.nothing_to_draw", Permanent, "Export the file with at least one triangle that has finite corners.";
    InputNameConflict = "input.name_conflict", Permanent, "Rename one of the two files: some systems cannot tell their names apart.";
    InputMixedSequence = "input.mixed_sequence", Permanent, "Give all frames one size and one format.";
    ReferenceMissing = "reference.missing", Permanent, "Put the named side file beside the asset and submit it again.";
    ReferenceOutside = "reference.outside", Permanent, "Put side files in the asset's own folder and refer to them by a relative path.";
    SceneMissing = "scene.missing", Permanent, "Check the scene's path, and that every worker sees its folder.";
    SceneTooNew = "scene.too_new", Permanent, "Install the version of the program that saved the scene, or save it for the older one.";
    SceneCorrupt = "scene.corrupt", Permanent, "Open the scene on a desk and save it again: it cannot be read.";
    SceneInvalid = "scene.invalid", Permanent, "Open the scene on a desk and mend what the message names.";
    CameraMissing = "camera.missing", Permanent, "Set a camera in the scene, or name one for the render.";
    ScriptError = "script.error", Permanent, "Mend the script: the evidence names the line or the error.";
    ArgumentsInvalid = "arguments.invalid", Permanent, "Correct the render's options: the program does not know one of them.";
    PluginMissing = "plugin.missing", Intervention, "Install the named plug-in or effect on the workers, or remove it from the scene.";
    DenoiserMissing = "denoiser.missing", Intervention, "Turn denoising off in the scene, or use a worker whose program has the denoiser.";
    OutputUnwritable = "output.unwritable", Transient, "Check that the output folder exists, may be written to, and has room.";
    OutputDegraded = "output.degraded", Intervention, "Do not use these pictures: they carry a watermark or lack something. Check licences and plug-ins.";
    SettingInvalid = "setting.invalid", Permanent, "Correct the setting.";
    LimitMemory = "limit.memory", Intervention, "Raise the stage's memory limit in the recipe or reduce the asset.";
    HostOutOfMemory = "host.out_of_memory", Intervention, "Use a worker with more memory, run less at once on it, or make the scene lighter.";
    LimitTime = "limit.time", Unknown, "Raise the stage's time limit in the recipe or reduce the asset.";
    LimitStall = "limit.stall", Unknown, "See the log for where it stopped; raise the stall limit if the work is only slow.";
    LicenceUnavailable = "licence.unavailable", Transient, "Wait until a licence is free, or add licences; the job tries again by itself.";
    ProgramMissing = "program.missing", Intervention, "Install the named program on a worker.";
    ProgramFailed = "program.failed", Unknown, "See the attempt's log for the program's own words.";
    ProgramUnfinished = "program.unfinished", Unknown, "See the attempt's log: the program ended early without saying why.";
    DiskFull = "disk.full", Intervention, "Free space on the named disk, then replay.";
    DiskError = "disk.error", Transient, "Check the disk and the rights on the farm's folder.";
    NetworkError = "network.error", Transient, "Check that the coordinator can be reached.";
    OutputMissing = "output.missing", Unknown, "See the attempt's log: the stage ended without one of its outputs.";
    OutputInvalid = "output.invalid", Unknown, "See the attempt's log: an output could not be read back.";
    ArtifactMissing = "artifact.missing", Intervention, "Submit the asset again: the store has lost the bytes.";
    ArtifactMismatch = "artifact.mismatch", Transient, "Check network and disk: bytes differ from their checksum.";
    GpuLost = "gpu.lost", Unknown, "Check the graphics driver of the worker.";
    GpuMissing = "gpu.missing", Intervention, "Install a graphics driver on the worker, or render on the processor.";
    GpuOutOfMemory = "gpu.out_of_memory", Intervention, "Use a worker with more graphics memory or smaller pictures.";
    ProcessCrashed = "process.crashed", Unknown, "See the attempt's log; if every worker crashes on it, the file is at fault.";
    LeaseLost = "lease.lost", Unknown, "Check the worker: it stopped reporting.";
    WorkerPoisoned = "worker.poisoned", Permanent, "Two workers were lost on this job: look at the file before you replay it.";
    PublishConflict = "publish.conflict", Transient, "Another publish of this asset came first; the next attempt sees it.";
    StorageFull = "storage.full", Intervention, "Free space on the coordinator's disk, then submit again.";
    QueueFull = "queue.full", Transient, "Wait until some work is done, then submit again.";
    Unexpected = "unexpected", Unknown, "See the attempt's log and report it.";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::parse(&code)
            .ok_or_else(|| serde::de::Error::custom(format!("no reason has the code '{code}'")))
    }
}

impl utoipa::PartialSchema for Reason {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::ALL.iter().map(|reason| reason.code())))
            .description(Some("A stable dotted code of what went wrong"))
            .into()
    }
}

impl utoipa::ToSchema for Reason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dotted_unique_and_read_back() {
        for reason in Reason::ALL {
            assert_eq!(Reason::parse(reason.code()), Some(*reason));
            assert!(reason.remedy().ends_with('.'), "{reason}");
        }
        let mut codes: Vec<_> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
