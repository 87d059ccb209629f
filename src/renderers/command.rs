//! The command of one run: a program and its arguments, made of a profile and values.

use super::padding::Padding;
use super::placeholder::Placeholder;
use super::profile::Profile;
use super::template::{Argument, Template};
use super::values::Values;
use crate::model::frames::FrameList;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one process renders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Any frames.
    List,
    /// Frames from one to another by a step.
    Run,
    /// One frame.
    Frame,
    /// All of the job at once: a film.
    Whole,
}

/// How frames are written for the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameWords {
    /// Between the ends of a run: `..` or `-`.
    pub run: String,
    /// Between the parts: `,`.
    pub between: String,
}

/// How a program is called.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRules {
    /// What one process renders.
    pub unit: Unit,
    /// How `{frames}` is written.
    #[serde(default)]
    pub frames: Option<FrameWords>,
    /// The lowest frame that the command line can name: some read `-3` as "three from the end".
    #[serde(default)]
    pub least_frame: Option<i32>,
    /// The frame number in file names.
    pub padding: Padding,
    /// The arguments in order; the first may follow options, so order is the profile's.
    pub arguments: Vec<Argument>,
}

/// What is set and removed in the environment of the program.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvironmentRules {
    /// Set; left out where a value is absent.
    pub set: BTreeMap<String, Template>,
    /// Removed.
    pub remove: BTreeSet<String>,
}

/// A program that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invocation {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables to set.
    pub set: BTreeMap<String, String>,
    /// Variables to remove.
    pub remove: BTreeSet<String>,
}

/// Why there is no command.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CommandError {
    /// The profile needs it.
    #[error("the profile {profile} needs a value for {place}")]
    Missing {
        /// Which profile.
        profile: String,
        /// Which value.
        place: Placeholder,
    },
    /// The program cannot be given these frames at once.
    #[error(
        "{profile} renders {unit} in one process, and the frames {frames} are more: make smaller chunks"
    )]
    Frames {
        /// Which profile.
        profile: String,
        /// What it can.
        unit: &'static str,
        /// What was asked.
        frames: String,
    },
    /// The program goes from one frame to the next and leaves none out.
    #[error(
        "{profile} takes every frame from the first to the last, and {frames} leaps: ask for a run such as 1-100"
    )]
    Leaps {
        /// Which profile.
        profile: String,
        /// What was asked.
        frames: String,
    },
    /// The program's command line has no word for such a frame.
    #[error("{profile} cannot be asked for frames below {least}: move the animation up")]
    LowFrame {
        /// Which profile.
        profile: String,
        /// The lowest.
        least: i32,
    },
}

impl Unit {
    const fn words(self) -> &'static str {
        match self {
            Self::List => "a list of frames",
            Self::Run => "one run of frames",
            Self::Frame => "one frame",
            Self::Whole => "the whole job",
        }
    }
}

impl Profile {
    /// The command that runs `program` (a name or path, or the job's own) with these values.
    pub fn invocation(&self, program: &str, values: &Values) -> Result<Invocation, CommandError> {
        self.invocation_of(program, &self.command.arguments, values)
    }

    /// The command that keeps the program running; its script's path is still to be added. None
    /// where this program cannot be kept.
    pub fn warm_invocation(
        &self,
        program: &str,
        values: &Values,
    ) -> Option<Result<Invocation, CommandError>> {
        let warm = self.warm.as_ref()?;
        Some(self.invocation_of(program, &warm.arguments, values))
    }

    fn invocation_of(
        &self,
        program: &str,
        wanted: &[Argument],
        values: &Values,
    ) -> Result<Invocation, CommandError> {
        self.check_frames(values)?;
        let value = |place| self.word(values, place);
        let mut arguments = Vec::new();
        for argument in wanted {
            let there = |place| value(place).is_some() || is_list(values, place);
            let is_whole = argument.templates().iter().flat_map(Template::gaps).all(there);
            if matches!(argument, Argument::Group(_)) && !is_whole {
                continue;
            }
            for template in argument.templates() {
                if let (Some(_), Some(list)) = (template.list(), values.arguments()) {
                    arguments.extend(list.iter().cloned());
                    continue;
                }
                arguments.push(template.fill(value).map_err(|place| self.missing(place))?);
            }
        }
        let set = self.environment.set.iter();
        let set = set.filter_map(|(name, text)| Some((name.clone(), text.fill(value).ok()?)));
        Ok(Invocation {
            program: values.text(Placeholder::Program).unwrap_or(program).to_owned(),
            arguments,
            set: set.collect(),
            remove: self.environment.remove.clone(),
        })
    }

    fn missing(&self, place: Placeholder) -> CommandError {
        CommandError::Missing { profile: self.name.clone(), place }
    }

    fn check_frames(&self, values: &Values) -> Result<(), CommandError> {
        let Some(frames) = values.frames() else { return Ok(()) };
        if let Some(least) = self.command.least_frame
            && frames.as_slice().iter().any(|frame| *frame < least)
        {
            return Err(CommandError::LowFrame { profile: self.name.clone(), least });
        }
        let has_step = self.gaps().any(|gap| gap == Placeholder::Step);
        let fits = match self.command.unit {
            Unit::List => true,
            Unit::Frame => frames.count() == 1,
            // One that is told where to begin goes on from there.
            Unit::Whole if !self.gaps().any(|gap| gap == Placeholder::Start) => true,
            Unit::Run | Unit::Whole => {
                run(frames).is_some_and(|(_, _, step)| has_step || step == 1)
            }
        };
        let (profile, unit) = (self.name.clone(), self.command.unit.words());
        let frames = frames.to_string();
        match self.command.unit {
            _ if fits => Ok(()),
            Unit::Whole => Err(CommandError::Leaps { profile, frames }),
            _ => Err(CommandError::Frames { profile, unit, frames }),
        }
    }

    /// Every placeholder of the arguments.
    pub fn gaps(&self) -> impl Iterator<Item = Placeholder> {
        self.command.arguments.iter().flat_map(Argument::templates).flat_map(Template::gaps)
    }

    /// What stands for a placeholder; none where nothing says so.
    pub fn word(&self, values: &Values, place: Placeholder) -> Option<String> {
        let frames = values.frames();
        let run = || frames.and_then(run);
        match place {
            Placeholder::Pad => self.command.padding.field(frames.map(FrameList::first)),
            Placeholder::Frames => Some(self.command.frames.as_ref()?.write(frames?)),
            Placeholder::Frame => {
                frames.filter(|frames| frames.count() == 1).map(|frames| frames.first().to_string())
            }
            Placeholder::Start => Some(run()?.0.to_string()),
            Placeholder::End => Some(run()?.1.to_string()),
            Placeholder::Step => Some(run()?.2.to_string()),
            Placeholder::Count => Some(frames?.count().to_string()),
            _ => values.text(place).map(str::to_owned),
        }
    }
}

fn is_list(values: &Values, place: Placeholder) -> bool {
    place == Placeholder::Arguments && values.arguments().is_some()
}

/// The frames as a run that counts up; programs know no other.
fn run(frames: &FrameList) -> Option<(i32, i32, i32)> {
    let (start, end, step) = frames.as_run()?;
    Some(if step < 0 { (end, start, step.checked_neg()?) } else { (start, end, step) })
}

impl FrameWords {
    fn write(&self, frames: &FrameList) -> String {
        let mut runs: Vec<(i32, i32)> = Vec::new();
        for frame in frames.as_slice() {
            match runs.last_mut() {
                Some((_, end)) if end.checked_add(1) == Some(*frame) => *end = *frame,
                _ => runs.push((*frame, *frame)),
            }
        }
        let words: Vec<String> =
            runs.into_iter()
                .map(|(start, end)| {
                    if start == end {
                        start.to_string()
                    } else {
                        format!("{start}{}{end}", self.run)
                    }
                })
                .collect();
        words.join(&self.between)
    }
}
