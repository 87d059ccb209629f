//! What is known of a run: the events of its log put together.

use super::event::Event;
use super::profile::Profile;
use crate::model::frames::FrameList;
use crate::model::{Reason, limits};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One run of a program, as far as its log tells.
#[derive(Debug)]
pub struct Run {
    pub(super) profile: Arc<Profile>,
    frames: Option<FrameList>,
    current: Option<i32>,
    /// Share of the current frame that is done.
    share: f32,
    /// Share of the whole run that is done, where the log tells that.
    whole_share: f32,
    done: BTreeSet<i32>,
    counted: u32,
    total: Option<u32>,
    progress: f32,
    memory_bytes: u64,
    remaining_s: Option<u64>,
    status: Option<String>,
    warnings: Vec<RunWarning>,
    warnings_dropped: u64,
    pub(super) error: Option<Found>,
    pub(super) has_succeeded: bool,
}

/// Something that did not stop the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunWarning {
    /// Its code.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// What the program wrote.
    pub evidence: String,
}

/// The error that decides so far.
#[derive(Debug, Clone)]
pub(super) struct Found {
    rank: usize,
    pub(super) reason: Reason,
    pub(super) message: String,
    pub(super) line: String,
}

impl Run {
    /// A run that begins; `frames` are those that were asked for, where that is known.
    pub fn new(profile: Arc<Profile>, frames: Option<FrameList>) -> Self {
        Self {
            profile,
            frames,
            current: None,
            share: 0.0,
            whole_share: 0.0,
            done: BTreeSet::new(),
            counted: 0,
            total: None,
            progress: 0.0,
            memory_bytes: 0,
            remaining_s: None,
            status: None,
            warnings: Vec::new(),
            warnings_dropped: 0,
            error: None,
            has_succeeded: false,
        }
    }

    /// Takes in what the log told.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Frame { frame } => self.begin(Some(*frame)),
            Event::Index { index, total } => self.begin_index(*index, *total),
            Event::Finished { frame } => self.end(frame.or(self.current)),
            Event::Count { frames } => self.counted = self.counted.max(*frames),
            Event::FrameShare { share } => self.share = self.share.max(*share),
            Event::RunShare { share } => self.whole_share = self.whole_share.max(*share),
            Event::Saved { path } => self.end(self.frame_of(path)),
            Event::Skipped { path } => {
                let named = path.as_ref().and_then(|path| self.frame_of(path));
                self.end(named.or(self.current));
            }
            Event::Memory { bytes } => self.memory_bytes = self.memory_bytes.max(*bytes),
            Event::Remaining { seconds } => self.remaining_s = Some(*seconds),
            Event::Status { text } => self.status = Some(text.clone()),
            Event::Warning { reason, message, line } => self.warn(*reason, message, line),
            Event::Error { rank, reason, message, line } => {
                if self.error.as_ref().is_none_or(|found| *rank < found.rank) {
                    let (message, line) = (message.clone(), line.clone());
                    self.error = Some(Found { rank: *rank, reason: *reason, message, line });
                }
            }
            Event::Success => {
                self.has_succeeded = true;
                if !self.profile.tells_ends() {
                    self.end(self.current);
                }
            }
            Event::TooLong => {}
        }
        self.progress = self.progress.max(self.reckoned()).min(100.0);
    }

    /// Per cent of the work that is done; it never falls.
    pub fn progress(&self) -> f32 {
        self.progress
    }

    /// Frames whose end the log told, in order.
    pub fn frames_done(&self) -> Vec<i32> {
        self.done.iter().copied().collect()
    }

    /// How many frames are done, where the log only counts them.
    pub fn frames_counted(&self) -> u32 {
        self.counted.max(u32::try_from(self.done.len()).unwrap_or(u32::MAX))
    }

    /// The first frame beyond those that were counted, and how many were asked for.
    pub(super) fn next_uncounted(&self) -> Option<(i32, u32)> {
        let frames = self.frames.as_ref()?;
        let counted = usize::try_from(self.frames_counted()).ok()?;
        frames.as_slice().get(counted).map(|frame| (*frame, frames.count()))
    }

    /// The frame that began last.
    pub fn current_frame(&self) -> Option<i32> {
        self.current
    }

    /// The most memory that the program spoke of; 0 where it said nothing.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Time left by the program's own reckoning.
    pub fn remaining_s(&self) -> Option<u64> {
        self.remaining_s
    }

    /// What the program does.
    pub fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// Warnings, each once.
    pub fn warnings(&self) -> &[RunWarning] {
        &self.warnings
    }

    /// Warnings beyond those that are kept.
    pub fn warnings_dropped(&self) -> u64 {
        self.warnings_dropped
    }

    fn begin(&mut self, frame: Option<i32>) {
        if frame != self.current {
            if !self.profile.tells_ends() {
                self.end(self.current);
            }
            self.share = 0.0;
        }
        self.current = frame;
    }

    /// A profile that counts from 1 means the frames in the order in which they were asked for.
    fn begin_index(&mut self, index: u32, total: u32) {
        self.total = Some(total);
        let place = index.checked_sub(1);
        let known = self.frames.as_ref().zip(place.and_then(|place| usize::try_from(place).ok()));
        let frame = known.and_then(|(frames, place)| frames.as_slice().get(place).copied());
        self.begin(frame.or(i32::try_from(index).ok()));
    }

    fn end(&mut self, frame: Option<i32>) {
        let Some(frame) = frame else { return };
        let wanted = self.frames.as_ref().is_none_or(|list| list.as_slice().contains(&frame));
        let room = self.done.len() < usize::try_from(limits::FRAMES).unwrap_or(usize::MAX);
        if wanted && room && self.done.insert(frame) {
            self.share = 0.0;
        }
    }

    /// The frame of a file: its number where that was asked for, else the one that began last.
    fn frame_of(&self, path: &str) -> Option<i32> {
        let named = number_in(path);
        match &self.frames {
            Some(list) => named.filter(|frame| list.as_slice().contains(frame)).or(self.current),
            None => self.current.or(named),
        }
    }

    fn warn(&mut self, reason: Reason, message: &str, line: &str) {
        let is_known = |one: &RunWarning| one.reason == reason && one.evidence == line;
        if self.warnings.iter().any(is_known) {
            return;
        }
        if self.warnings.len() >= limits::WARNINGS_PER_JOB {
            self.warnings_dropped = self.warnings_dropped.saturating_add(1);
            return;
        }
        let (message, evidence) = (message.to_owned(), line.to_owned());
        self.warnings.push(RunWarning { reason, message, evidence });
    }

    fn reckoned(&self) -> f32 {
        let asked = self.frames.as_ref().map(FrameList::count).or(self.total);
        let by_frames = asked.filter(|total| *total > 0).map_or(0.0, |total| {
            let done = self.frames_counted();
            let is_running = self.current.is_none_or(|frame| !self.done.contains(&frame));
            let inside = if is_running { self.share } else { 0.0 };
            (done as f32 + inside).min(total as f32) / total as f32
        });
        by_frames.max(self.whole_share) * 100.0
    }
}

/// The number that stands last in a file's name, before its suffix.
fn number_in(path: &str) -> Option<i32> {
    let name = path.rsplit(['/', '\\']).next()?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let digits = stem.len() - stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let (before, number) = stem.split_at_checked(stem.len() - digits)?;
    let number: i32 = number.parse().ok()?;
    // `shot-0003` is frame 3 of a shot, `shot_-0003` and `-0003` are frame -3.
    let sign = before
        .strip_suffix('-')
        .is_some_and(|left| left.is_empty() || left.ends_with(['_', '.', '-']));
    Some(if sign { -number } else { number })
}
