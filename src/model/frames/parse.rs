//! Reads frames, and says under which sign they are wrong.

use super::dialect::Dialect;
use super::expand::{Take, count, expand};
use super::{FrameList, Parsed};
use crate::model::limits;
use std::collections::HashSet;
use std::fmt;

/// The text says no frames: why, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FrameError {
    text: String,
    /// The place in the text, in characters from 0.
    pub at: usize,
    /// What is wrong there and what would be right.
    pub why: String,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String =
            self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        write!(f, "these are no frames: {}\n  {text}\n  {:>at$}", self.why, '^', at = self.at + 1)
    }
}

/// One part of the list.
struct Part {
    first: i32,
    last: i32,
    take: Take,
    step: u32,
    at: usize,
}

pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Parsed, FrameError> {
    let mut reader = Reader { text, dialect, at: 0 };
    if text.len() > limits::FRAME_TEXT_BYTES {
        let most = limits::FRAME_TEXT_BYTES;
        return Err(reader.error(0, format!("the text is longer than {most} bytes")));
    }
    let mut list = List::default();
    reader.blanks();
    if reader.rest().is_empty() {
        return Err(reader.error(0, "nothing is here: write frames like 1-250 or 1,5,9"));
    }
    loop {
        let part = reader.part()?;
        list.add(&reader, &part)?;
        if reader.rest().is_empty() {
            break;
        }
        reader.separator()?;
    }
    let doubles = list.doubles;
    let mut frames = list.frames;
    if dialect.sorts() {
        frames.sort_unstable();
    }
    Ok(Parsed { frames: FrameList(frames), doubles })
}

#[derive(Default)]
struct List {
    frames: Vec<i32>,
    /// The least and the greatest of them.
    span: Option<(i32, i32)>,
    /// All of them, once one came that is not beyond the others: lists that only rise or fall, as
    /// nearly all do, need no such table.
    known: Option<HashSet<i32>>,
    doubles: u32,
}

impl List {
    fn add(&mut self, reader: &Reader<'_>, part: &Part) -> Result<(), FrameError> {
        let most = u64::from(limits::FRAMES);
        let more = count(part.first, part.last, part.take, part.step);
        let have = u64::try_from(self.frames.len()).unwrap_or(u64::MAX);
        if more == 0 {
            return Err(reader.error(part.at, "this leaves no frame at all"));
        }
        if have.saturating_add(more) > most {
            return Err(
                reader.error(part.at, format!("with this there are more than {most} frames"))
            );
        }
        for frame in expand(part.first, part.last, part.take, part.step) {
            if self.is_new(frame) {
                if reader.dialect.must_rise()
                    && self.frames.last().is_some_and(|last| *last > frame)
                {
                    return Err(reader.error(part.at, "values must rise in this dialect"));
                }
                self.frames.push(frame);
            } else if reader.dialect.must_rise() {
                return Err(reader.error(part.at, format!("frame {frame} is there already")));
            } else {
                self.doubles = self.doubles.saturating_add(1);
            }
        }
        Ok(())
    }

    /// Notes a frame; whether it was not there yet.
    fn is_new(&mut self, frame: i32) -> bool {
        let (least, greatest) = self.span.unwrap_or((frame, frame));
        let is_beyond = self.span.is_none() || frame < least || frame > greatest;
        self.span = Some((least.min(frame), greatest.max(frame)));
        if self.known.is_none() && is_beyond {
            return true;
        }
        let frames = &self.frames;
        self.known.get_or_insert_with(|| frames.iter().copied().collect()).insert(frame)
    }
}

/// Reads from left to right; `at` counts bytes.
struct Reader<'a> {
    text: &'a str,
    dialect: Dialect,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, at: usize, why: impl Into<String>) -> FrameError {
        let at = self.text.get(..at).map_or(0, |before| before.chars().count());
        FrameError { text: self.text.to_owned(), at, why: why.into() }
    }

    fn blanks(&mut self) {
        if self.dialect.allows_blanks() {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn separator(&mut self) -> Result<(), FrameError> {
        let before = self.at;
        let separated = self.takes(",") || self.dialect.blanks_separate();
        self.blanks();
        if separated && !self.rest().is_empty() {
            return Ok(());
        }
        let why = if separated {
            "another frame must follow the comma"
        } else {
            "a comma, a range or a step must follow here"
        };
        Err(self.error(before, why))
    }

    fn part(&mut self) -> Result<Part, FrameError> {
        let at = self.at;
        let first = self.number()?;
        let mut part = Part { first, last: first, take: Take::Every, step: 1, at };
        self.blanks();
        if !self.dialect.range_signs().iter().any(|sign| self.takes(sign)) {
            return Ok(part);
        }
        self.blanks();
        part.last = self.number()?;
        self.blanks();
        let before_step = self.at;
        let step = self.dialect.step_signs().iter().find(|(sign, _)| self.takes(sign));
        if let Some((_, take)) = step {
            self.blanks();
            part.take = *take;
            part.step = self.step(part.first, part.last, before_step)?;
            self.blanks();
        }
        if self.dialect.must_rise() && part.last < part.first {
            return Err(self.error(at, "values must rise in this dialect"));
        }
        if self.dialect == Dialect::Flamenco && part.last < part.first {
            return Err(self.error(at, "this range is empty: its end comes before its start"));
        }
        Ok(part)
    }

    fn step(&mut self, first: i32, last: i32, sign: usize) -> Result<u32, FrameError> {
        let step = self.number()?;
        if step == 0 {
            return Err(self.error(sign, "a step of 0 goes nowhere: use 1 or more"));
        }
        if step < 0 && last >= first {
            return Err(self.error(sign, "a step back needs an end before the start"));
        }
        Ok(step.unsigned_abs())
    }

    fn number(&mut self) -> Result<i32, FrameError> {
        let start = self.at;
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits =
            rest.get(sign..).unwrap_or_default().bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.error(start, no_number(rest)));
        }
        if sign == 1 && !self.dialect.allows_negatives() {
            return Err(self.error(start, "frames before 0 do not exist in this dialect"));
        }
        self.at += sign + digits;
        let text = self.text.get(start..self.at).unwrap_or_default();
        text.parse().map_err(|_| self.error(start, "this frame number is too large"))
    }
}

fn no_number(rest: &str) -> String {
    match rest.chars().next() {
        None => "a frame number must follow here".to_owned(),
        Some(c) if c.is_numeric() => format!("'{c}' is no digit of 0 to 9"),
        Some(c) => format!("a frame number must stand here, not '{}'", c.escape_debug()),
    }
}
