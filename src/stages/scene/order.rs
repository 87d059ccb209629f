//! The command that draws some frames of a scene.

use super::super::StageRequest;
use super::profiles;
use crate::model::frames::{ChunkShape, FrameList};
use crate::model::{Reason, paths};
use crate::programs::Program;
use crate::protocol::work::Failure;
use crate::recipes::{SceneSettings, Settings};
use crate::renderers::placeholder::Placeholder;
use crate::renderers::template::Template;
use crate::renderers::{Invocation, Profile, Unit, Values};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The suffix of pictures where the program must be told one and nobody said which.
const SUFFIX: &str = ".png";

/// The container of films where nobody said which.
const CONTAINER: &str = "mp4";

/// The variables by which programs of several makers are told which graphics cards they may see.
const GPU_MASKS: [&str; 4] =
    ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"];

/// A scene, the program that draws it, and where its pictures go.
pub struct Order<'a> {
    pub(super) scene: &'a SceneSettings,
    pub(super) profile: Arc<Profile>,
    program: Option<PathBuf>,
    pub(super) version: Option<&'a str>,
    pub(super) file: PathBuf,
    /// Folder and name of the pictures, without number and suffix.
    pub(super) out: PathBuf,
    /// Frames a second.
    fps: u32,
    /// Processor threads to use; 0 leaves it to the program.
    threads: u32,
    /// The graphics cards that the program may see; none where it may see all.
    gpu_mask: Option<String>,
}

impl<'a> Order<'a> {
    /// What the request asks for, or why this worker cannot do it.
    pub(super) fn of(request: &'a StageRequest, scene: &'a SceneSettings) -> Result<Self, Failure> {
        let profile = profiles::profile(request.workshop.profiles_dir.as_deref(), &scene.renderer)?;
        let programs = &request.workshop.programs;
        let found = programs.iter().find(|found| found.profile == scene.renderer);
        let input = &request.assignment.input;
        let source = request.input_dir.join("source");
        let file = match &scene.at {
            Some(at) => in_place(at, request)?,
            None => super::super::source::below(&source, &input.main_file)?,
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let out = request.output_dir.join("render").join(format!("{}_", plain(&stem)));
        Ok(Self {
            scene,
            profile,
            program: found.map(|found| found.path.clone()),
            version: found.and_then(|found| found.version.as_deref()),
            file,
            out,
            fps: request.assignment.settings.fps,
            threads: request.workshop.threads,
            gpu_mask: request.workshop.gpu_mask.clone(),
        })
    }

    /// The order as some worker will have it, to show the command before anything is sent.
    pub fn preview(settings: &'a Settings, profile: Arc<Profile>, file: &Path) -> Option<Self> {
        let scene = settings.scene.as_ref()?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = profile.program.names.first().map(PathBuf::from);
        Some(Self {
            scene,
            profile,
            program,
            version: None,
            file: file.to_owned(),
            out: Path::new("render").join(format!("{}_", plain(&stem))),
            fps: settings.fps,
            threads: 0,
            gpu_mask: None,
        })
    }

    /// The frames as the program can be given them at once.
    pub fn runs(&self, frames: &FrameList) -> Vec<FrameList> {
        match self.profile.command.unit {
            Unit::List | Unit::Whole => vec![frames.clone()],
            Unit::Frame => frames.chunks(1, ChunkShape::List),
            Unit::Run => frames.chunks(frames.count(), ChunkShape::Run),
        }
    }

    /// The program that draws `frames` and stays, for a copy of the scene at `file`, and where the
    /// pictures go in its own words. None where it cannot stay.
    pub(super) fn warm_command(
        &self,
        frames: &FrameList,
        file: &Path,
        script: &Path,
    ) -> Option<(Program, String)> {
        let program = self.program.as_ref()?.to_str()?;
        let warm = self.profile.warm.as_ref()?;
        // The job's own program or arguments are its own business.
        if !self.scene.arguments.is_empty() || self.scene.values.contains_key("program") {
            return None;
        }
        let mut values = self.values(frames).ok()?;
        let picture = warm.picture.fill(|place| self.profile.word(&values, place)).ok()?;
        set(&mut values, Placeholder::Scene, utf8(file).ok()?).ok()?;
        let mut made = self.profile.warm_invocation(program, &values)?.ok()?;
        made.arguments.push(script.to_str()?.to_owned());
        let folder = file.parent()?.to_owned();
        Some((self.program(made, folder), picture))
    }

    /// Width and height that the pictures must have, where both were asked for.
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        let pixels = |key: &str| self.scene.values.get(key)?.parse().ok();
        Some((pixels("width")?, pixels("height")?))
    }

    /// The program with the arguments that draw `frames`.
    pub fn command(&self, frames: &FrameList) -> Result<Program, Failure> {
        let wrong = |why: String| Failure::new(Reason::ArgumentsInvalid, why);
        let mut values = self.values(frames)?;
        if !self.scene.arguments.is_empty() {
            let mut arguments = Vec::new();
            for text in &self.scene.arguments {
                let template = Template::parse(text).map_err(|error| wrong(error.to_string()))?;
                let filled = template.fill(|place| self.profile.word(&values, place));
                arguments.push(filled.map_err(|place| {
                    wrong(format!(
                        "the argument '{text}' needs {place}, and nothing says what that is"
                    ))
                })?);
            }
            if self.profile.program.names.is_empty() && !self.scene.values.contains_key("program") {
                let program = arguments.remove(0);
                set(&mut values, Placeholder::Program, &program)?;
            }
            values.set_arguments(arguments).map_err(|error| wrong(error.to_string()))?;
        }
        let named = self.scene.values.contains_key("program");
        let program = match &self.program {
            Some(path) => path.to_string_lossy().into_owned(),
            None if self.profile.program.names.is_empty() || named => String::new(),
            None => return Err(self.missing()),
        };
        let made =
            self.profile.invocation(&program, &values).map_err(|error| wrong(error.to_string()))?;
        if made.program.is_empty() {
            let why = format!(
                "{} names no program: give its arguments, the program first",
                self.profile.title
            );
            return Err(wrong(why));
        }
        Ok(self.program(made, self.file.parent().unwrap_or(Path::new(".")).to_owned()))
    }

    fn program(&self, made: Invocation, folder: PathBuf) -> Program {
        let mut set = made.set;
        if let Some(mask) = &self.gpu_mask {
            for name in GPU_MASKS {
                // What the profile says itself goes first.
                set.entry(name.to_owned()).or_insert_with(|| mask.clone());
            }
        }
        Program {
            program: made.program.into(),
            arguments: made.arguments,
            set,
            remove: made.remove,
            folder,
        }
    }

    fn missing(&self) -> Failure {
        let names = self.profile.program.names.join(" or ");
        let title = &self.profile.title;
        let why =
            format!("{title} is not on this worker: install it so that '{names}' is in the path");
        Failure::new(Reason::ProgramMissing, why)
    }

    fn values(&self, frames: &FrameList) -> Result<Values, Failure> {
        let mut values = Values::default();
        let all = self.scene.frames();
        let (lowest, highest) = ends(&all);
        let folder = self.out.parent().unwrap_or(Path::new("."));
        let name = self.out.file_name().unwrap_or_default().to_string_lossy();
        set(&mut values, Placeholder::Scene, utf8(&self.file)?)?;
        set(&mut values, Placeholder::Out, utf8(&self.out)?)?;
        set(&mut values, Placeholder::OutFolder, utf8(folder)?)?;
        set(&mut values, Placeholder::OutName, &name)?;
        set(&mut values, Placeholder::Suffix, SUFFIX)?;
        set(&mut values, Placeholder::Container, CONTAINER)?;
        set(&mut values, Placeholder::First, &lowest.to_string())?;
        set(&mut values, Placeholder::Last, &highest.to_string())?;
        set(&mut values, Placeholder::Fps, &self.fps.to_string())?;
        if self.threads > 0 {
            set(&mut values, Placeholder::Threads, &self.threads.to_string())?;
        }
        for (key, text) in &self.scene.values {
            if let Some(place) = Placeholder::parse(key) {
                set(&mut values, place, text)?;
            }
        }
        values.set_frames(frames.clone());
        Ok(values)
    }
}

/// Where a scene that stays where it lies is here, checked to be the one that was handed in.
pub(super) fn in_place(at: &str, request: &StageRequest) -> Result<PathBuf, Failure> {
    let lost = |why: String| Failure::new(Reason::SceneMissing, why);
    let here = paths::map(at, &request.workshop.paths, std::env::consts::OS).ok_or_else(|| {
        lost(format!("{at} leads nowhere on this worker: name its folder under [[worker.paths]]"))
    })?;
    let file = PathBuf::from(&here);
    let input = &request.assignment.input;
    let submitted = request
        .assignment
        .dependencies
        .iter()
        .find(|file| file.made_by.is_none() && file.name == input.main_file);
    let mut hasher = blake3::Hasher::new();
    let read =
        std::fs::File::open(&file).and_then(|mut file| std::io::copy(&mut file, &mut hasher));
    if let Err(error) = read {
        return Err(lost(format!("the scene cannot be read ({error}), {at} is here {here}")));
    }
    let is_same =
        submitted.is_some_and(|file| *file.checksum.as_bytes() == *hasher.finalize().as_bytes());
    if is_same {
        return Ok(file);
    }
    let why = format!("the scene was saved again after it was handed in: submit it anew. {here}");
    Err(Failure::new(Reason::InputChanged, why))
}

/// The lowest and the highest frame.
fn ends(frames: &FrameList) -> (i32, i32) {
    let all = frames.as_slice();
    let lowest = all.iter().min().copied().unwrap_or_default();
    (lowest, all.iter().max().copied().unwrap_or_default())
}

/// A name that no program reads as a pattern or an option.
fn plain(stem: &str) -> String {
    let good = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = stem.chars().map(|one| if good(one) { one } else { '_' }).collect();
    name.trim_start_matches('-').to_owned()
}

fn set(values: &mut Values, place: Placeholder, text: &str) -> Result<(), Failure> {
    let wrong = |error: crate::renderers::ValueError| {
        Failure::new(Reason::ArgumentsInvalid, error.to_string())
    };
    values.set(place, text).map_err(wrong)
}

fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        let why = "the worker's folder has a name that is no Unicode: give it another with --work";
        Failure::new(Reason::Unexpected, format!("{why}. {}", path.display()))
    })
}
