//! What a profile's arguments may leave open, each with the kind of value it takes.

use serde::Serialize;
use std::fmt;

/// What a value may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A file or folder; never read as an option.
    Path,
    /// One word or name; never read as an option.
    Name,
    /// A whole number of at least this.
    Integer(i64),
    /// Follows from the frames.
    Frames,
    /// Any arguments, each one by itself.
    List,
}

macro_rules! placeholders {
    ($($variant:ident = $name:literal, $kind:expr, $doc:literal;)+) => {
        /// A typed gap in a profile's arguments.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Placeholder {
            $(#[doc = $doc] $variant,)+
        }

        impl Placeholder {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name between the braces.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it takes.
            pub const fn kind(self) -> ValueKind {
                match self { $(Self::$variant => $kind,)+ }
            }
        }
    };
}

placeholders! {
    Scene = "scene", ValueKind::Path, "The scene file.";
    Out = "out", ValueKind::Path, "Folder and name of the pictures, without frame number and suffix.";
    OutFolder = "out_folder", ValueKind::Path, "The folder of the pictures.";
    OutName = "out_name", ValueKind::Name, "The name of the pictures in their folder, without frame number and suffix.";
    Input = "input", ValueKind::Path, "Pictures or film that are read, without frame number and suffix.";
    Suffix = "suffix", ValueKind::Name, "The suffix with its dot.";
    Pad = "pad", ValueKind::Frames, "Where the program puts the frame number.";
    Frames = "frames", ValueKind::Frames, "All frames in the program's own words.";
    Frame = "frame", ValueKind::Frames, "The frame, where it is one.";
    Start = "start", ValueKind::Frames, "The lowest frame of a run.";
    End = "end", ValueKind::Frames, "The highest frame of a run.";
    Step = "step", ValueKind::Frames, "The step of a run.";
    Count = "count", ValueKind::Frames, "How many frames.";
    First = "first", ValueKind::Integer(i64::MIN), "The first frame of the whole job.";
    Last = "last", ValueKind::Integer(i64::MIN), "The last frame of the whole job.";
    Threads = "threads", ValueKind::Integer(1), "Threads to use.";
    MemoryMib = "memory_mib", ValueKind::Integer(1), "Memory to use, in MiB.";
    Gpu = "gpu", ValueKind::Integer(0), "The graphics card to use.";
    Engine = "engine", ValueKind::Name, "The renderer inside the program.";
    Samples = "samples", ValueKind::Integer(1), "Samples of each pixel.";
    Width = "width", ValueKind::Integer(1), "Width in pixels.";
    Height = "height", ValueKind::Integer(1), "Height in pixels.";
    Fps = "fps", ValueKind::Integer(1), "Frames a second.";
    Camera = "camera", ValueKind::Name, "The camera.";
    Format = "format", ValueKind::Name, "The file format in the program's own word.";
    Codec = "codec", ValueKind::Name, "The codec of a film.";
    Container = "container", ValueKind::Name, "The container of a film, which is its suffix too: mp4.";
    PixelFormat = "pixel_format", ValueKind::Name, "The pixel format of a film.";
    Layer = "layer", ValueKind::Name, "The render layer.";
    SceneName = "scene_name", ValueKind::Name, "The scene, where the file holds several.";
    Device = "device", ValueKind::Name, "What the renderer computes on, in the program's own word.";
    Node = "node", ValueKind::Name, "The node that writes.";
    Take = "take", ValueKind::Name, "The take.";
    Composition = "composition", ValueKind::Name, "The composition.";
    Template = "template", ValueKind::Name, "The settings template of the render.";
    OutputTemplate = "output_template", ValueKind::Name, "The settings template of the output.";
    Project = "project", ValueKind::Path, "The project folder.";
    Script = "script", ValueKind::Path, "A script that runs before the render.";
    Program = "program", ValueKind::Path, "The program, where the job names it.";
    Arguments = "arguments", ValueKind::List, "The job's own arguments.";
}

impl Placeholder {
    /// The placeholder with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.name())
    }
}
