//! The values that fill a profile's arguments: checked, so that none can pose as an option.

use super::placeholder::{Placeholder, ValueKind};
use crate::model::frames::FrameList;
use crate::model::limits;
use std::collections::BTreeMap;

/// Why a value is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ValueError {
    /// Nothing was given.
    #[error("{0} is empty: give a value or leave it out")]
    Empty(Placeholder),
    /// No program can be given more.
    #[error("{0} is longer than {max} bytes: shorten it", max = limits::ARGUMENT_BYTES)]
    TooLong(Placeholder),
    /// The program would read it as an option.
    #[error(
        "{0} begins with '-' and would be read as an option: write ./ before a file name, or rename it"
    )]
    LooksLikeOption(Placeholder),
    /// Line ends, tabs and the like.
    #[error("{0} holds a control character: remove it")]
    Control(Placeholder),
    /// Not the number that it must be.
    #[error("{0} must be a whole number of at least {1}")]
    Number(Placeholder, i64),
    /// It is worked out, never given.
    #[error("{0} follows from the frames and cannot be set by itself: set the frames")]
    Derived(Placeholder),
    /// It is a list.
    #[error("{0} is a list of arguments: set them as a list")]
    List(Placeholder),
    /// More arguments than are given to a program.
    #[error("more than {max} arguments: put them into a file", max = limits::ARGUMENTS)]
    TooMany,
}

/// What one run is given.
#[derive(Debug, Clone, Default)]
pub struct Values {
    texts: BTreeMap<Placeholder, String>,
    arguments: Option<Vec<String>>,
    frames: Option<FrameList>,
}

impl Values {
    /// Sets one value.
    pub fn set(&mut self, place: Placeholder, text: &str) -> Result<(), ValueError> {
        if text.is_empty() {
            return Err(ValueError::Empty(place));
        }
        if text.len() > limits::ARGUMENT_BYTES {
            return Err(ValueError::TooLong(place));
        }
        match place.kind() {
            ValueKind::Path | ValueKind::Name => {
                if text.starts_with('-') {
                    return Err(ValueError::LooksLikeOption(place));
                }
                if text.chars().any(char::is_control) {
                    return Err(ValueError::Control(place));
                }
            }
            ValueKind::Integer(least) => {
                let number: Option<i64> = text.parse().ok();
                if number.is_none_or(|number| number < least) {
                    return Err(ValueError::Number(place, least));
                }
            }
            ValueKind::Frames => return Err(ValueError::Derived(place)),
            ValueKind::List => return Err(ValueError::List(place)),
        }
        self.texts.insert(place, text.to_owned());
        Ok(())
    }

    /// Sets the job's own arguments. Here options are what is wanted.
    pub fn set_arguments(&mut self, arguments: Vec<String>) -> Result<(), ValueError> {
        let place = Placeholder::Arguments;
        if arguments.len() > limits::ARGUMENTS {
            return Err(ValueError::TooMany);
        }
        if arguments.iter().any(|one| one.len() > limits::ARGUMENT_BYTES) {
            return Err(ValueError::TooLong(place));
        }
        if arguments.iter().any(|one| one.contains('\0')) {
            return Err(ValueError::Control(place));
        }
        self.arguments = Some(arguments);
        Ok(())
    }

    /// Sets the frames.
    pub fn set_frames(&mut self, frames: FrameList) {
        self.frames = Some(frames);
    }

    /// The frames.
    pub fn frames(&self) -> Option<&FrameList> {
        self.frames.as_ref()
    }

    /// The job's own arguments.
    pub fn arguments(&self) -> Option<&[String]> {
        self.arguments.as_deref()
    }

    /// The value that was set for `place`.
    pub fn text(&self, place: Placeholder) -> Option<&str> {
        self.texts.get(&place).map(String::as_str)
    }
}
