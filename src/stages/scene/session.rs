//! One run of a program: its log read, its frames looked at as they appear.

use super::super::{Reporter, StageRequest};
use super::order::Order;
use super::pictures::Pictures;
use super::warm;
use crate::model::frames::FrameList;
use crate::model::{Reason, limits};
use crate::programs::{self, Bounds, EndSignal, EndWhy, Heard, How, ProgramError};
use crate::protocol::work::{Failure, Warning};
use crate::renderers::lines::Lines;
use crate::renderers::output::Expect;
use crate::renderers::{Event, Exit, LogReader, Run};
use std::collections::BTreeSet;
use std::path::Path;

/// How long a program may take to end after it was asked to.
const GRACE_MS: u64 = 2_000;

/// What a run is for.
pub(super) struct Session<'a> {
    pub(super) request: &'a StageRequest,
    pub(super) order: &'a Order<'a>,
    pub(super) pictures: &'a mut Pictures,
    pub(super) reporter: &'a dyn Reporter,
    pub(super) memory_bytes: u64,
    pub(super) expect: Expect,
    /// Frames of the whole chunk.
    pub(super) total: u32,
}

/// What is learned while the program runs.
struct Watch<'a, 'b> {
    session: &'b mut Session<'a>,
    run: Run,
    reader: LogReader,
    lines: Lines,
    seen: BTreeSet<i32>,
    told: (i32, String),
    /// The last line that was more than progress.
    last: String,
}

/// All that a program said.
struct Told {
    run: Run,
    last: String,
}

/// Most of a program's last line that stands in a message, in characters.
const LAST_WORDS_CHARS: usize = 300;

impl Session<'_> {
    /// Draws `frames`; the most memory that the program took.
    pub(super) fn run(&mut self, frames: &FrameList, raw_log: &Path) -> Result<u64, Failure> {
        let plan = (self.expect == Expect::Frames)
            .then(|| warm::Plan::of(self.order, self.request, frames, self.total))
            .flatten();
        let Some(plan) = plan else {
            warm::end();
            return self.run_once(frames, raw_log);
        };
        match self.run_warm(plan, frames) {
            Ok(result) => result,
            Err(doubt) => {
                warm::end();
                let title = &self.order.profile.title;
                self.reporter
                    .log(&format!("{title} is started anew, the one kept running: {doubt}"));
                let missing = self.pictures.missing();
                let rest = missing.and_then(|missing| {
                    missing.filtered(|frame| frames.as_slice().contains(&frame))
                });
                rest.map_or(Ok(0), |rest| self.run_once(&rest, raw_log))
            }
        }
    }

    /// Has a program that stays draw `frames`. In doubt the missing ones are to be drawn as usual.
    fn run_warm(
        &mut self,
        plan: warm::Plan,
        frames: &FrameList,
    ) -> Result<Result<u64, Failure>, warm::Doubt> {
        let input_dir = &self.request.input_dir;
        self.reporter.log(&plan.words(&self.order.profile.title));
        let mut watch = Watch::new(self, frames);
        let drawn = plan.draw(input_dir, frames, &mut |line| watch.line(line));
        let told = watch.end();
        match drawn {
            Ok(peak_bytes) => Ok(self.conclude(&told, frames, How::Code(0)).map(|()| peak_bytes)),
            Err(doubt) => {
                frames.as_slice().iter().for_each(|frame| self.look(*frame));
                Err(doubt)
            }
        }
    }

    /// Runs the program over `frames` from its start to its end.
    fn run_once(&mut self, frames: &FrameList, raw_log: &Path) -> Result<u64, Failure> {
        let command = self.order.command(frames)?;
        self.reporter.log(&format!("$ {}", command.shown()));
        let bounds = Bounds {
            memory_bytes: self.memory_bytes,
            grace_ms: GRACE_MS,
            log_bytes: limits::ATTEMPT_LOG_BYTES,
        };
        let mut watch = Watch::new(self, frames);
        let end = EndSignal::new();
        let ended = programs::run(&command, &bounds, raw_log, &end, &mut |heard| {
            if let Heard::Output(bytes) = heard {
                watch.hear(bytes);
            }
        });
        let told = watch.end();
        let ended = ended.map_err(|error| not_run(&error))?;
        self.conclude(&told, frames, ended.how)?;
        Ok(ended.peak_memory_bytes)
    }

    /// What a run comes to.
    fn conclude(&mut self, told: &Told, frames: &FrameList, how: How) -> Result<(), Failure> {
        let Told { run, last } = told;
        let verdict = run.verdict(exit(how));
        for warning in run.warnings() {
            let message = format!("{}: {}", warning.message, warning.evidence);
            self.pictures.warnings.push(Warning { reason: warning.reason, message });
        }
        if self.expect == Expect::Frames {
            for frame in frames.as_slice() {
                self.look(*frame);
            }
        }
        verdict.map_err(|failure| {
            let by_itself = matches!(how, How::Code(_));
            let last = (by_itself && !last.is_empty()).then(|| format!("its last line: {last}"));
            let evidence = failure.evidence.or(last);
            let evidence = evidence.map(|line| format!(": {line}")).unwrap_or_default();
            let used = if how == How::OverMemory { over(self.memory_bytes) } else { String::new() };
            Failure::new(failure.reason, format!("{}{used}{evidence}", failure.message))
        })
    }

    /// Looks at a frame that should be there; what is right is kept at once.
    fn look(&mut self, frame: i32) {
        let is_known = self.pictures.made(frame).is_some();
        let (rules, size) = (&self.order.profile.output, self.order.size());
        if is_known || !self.pictures.look(frame, rules, size) {
            return;
        }
        if let Some(file) = self.pictures.made(frame) {
            self.reporter.keep(file.clone());
        }
        if let Some(small) = self.pictures.thumbnail(frame) {
            self.reporter.keep(small);
        }
        let done = self.pictures.done();
        let percent = 100.0 * done as f32 / self.total.max(1) as f32;
        let message = format!("frame {frame} is done, {done} of {}", self.total);
        self.reporter.frame(frame, percent.min(99.0), &message);
    }
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(session: &'b mut Session<'a>, frames: &FrameList) -> Self {
        let profile = &session.order.profile;
        Self {
            run: Run::new(profile.clone(), Some(frames.clone())),
            reader: LogReader::new(profile.clone()),
            lines: Lines::default(),
            seen: BTreeSet::new(),
            told: (-1, String::new()),
            last: String::new(),
            session,
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let mut lines = Vec::new();
        self.lines.push(bytes, |line| lines.push(line.to_owned()));
        for line in &lines {
            self.line(line);
        }
    }

    /// Reads the last words.
    fn end(mut self) -> Told {
        let mut lines = Vec::new();
        self.lines.finish(|line| lines.push(line.to_owned()));
        for line in &lines {
            self.line(line);
        }
        let events = self.reader.finish();
        for event in &events {
            self.run.apply(event);
        }
        Told { run: self.run, last: self.last }
    }

    /// One line. What only counts up is progress and stays out of the log.
    fn line(&mut self, line: &str) {
        let mut events = self.reader.push(line.as_bytes());
        events.extend(self.reader.push(b"\n"));
        if events.is_empty() || !events.iter().all(is_counting) {
            self.session.reporter.log(line);
            let ignored = &self.session.order.profile.log.ignore;
            if !ignored.iter().any(|pattern| pattern.is_match(line)) {
                self.last = line.chars().take(LAST_WORDS_CHARS).collect();
            }
        }
        for event in &events {
            self.run.apply(event);
        }
        if self.session.expect == Expect::Frames {
            for frame in self.run.frames_done() {
                if self.seen.insert(frame) {
                    self.session.look(frame);
                }
            }
        }
        self.tell();
    }

    /// Says how far it is, but no more often than a per cent or a status changes.
    fn tell(&mut self) {
        let session = &self.session;
        let before = session.pictures.done().min(session.total);
        let share = match session.expect {
            Expect::Frames => {
                let inside = self.run.progress() / 100.0 * (session.total - before) as f32;
                inside.clamp(0.0, 1.0) + before as f32
            }
            _ => self.run.progress() / 100.0 * session.total as f32,
        };
        let percent = (100.0 * share / session.total.max(1) as f32).min(99.0);
        let status = self.run.status().map_or_else(
            || self.run.current_frame().map_or_else(String::new, |frame| format!("frame {frame}")),
            str::to_owned,
        );
        let now = (percent as i32, status);
        if now != self.told {
            session.reporter.progress(percent, &now.1);
            self.told = now;
        }
    }
}

/// Whether an event only counts up: a log of many thousand such lines helps nobody.
const fn is_counting(event: &Event) -> bool {
    matches!(
        event,
        Event::FrameShare { .. }
            | Event::RunShare { .. }
            | Event::Memory { .. }
            | Event::Remaining { .. }
            | Event::Frame { .. }
    )
}

fn exit(how: How) -> Exit {
    match how {
        How::Code(code) => Exit::Code(code),
        How::Signal(signal) => Exit::Signal(signal),
        How::OverMemory => Exit::Killed(Reason::LimitMemory),
        How::Told(EndWhy::Time) => Exit::Killed(Reason::LimitTime),
        How::Told(EndWhy::Silence) => Exit::Killed(Reason::LimitStall),
        How::Told(EndWhy::Stop | EndWhy::Fault) => Exit::Killed(Reason::Unexpected),
    }
}

fn over(memory_bytes: u64) -> String {
    format!(": it needed more than {} MiB", memory_bytes >> 20)
}

fn not_run(error: &ProgramError) -> Failure {
    let reason = match error {
        ProgramError::NotFound(_) | ProgramError::NotExecutable { .. } => Reason::ProgramMissing,
        ProgramError::Log { error, .. } if super::super::failure::is_disk_full(error) => {
            Reason::DiskFull
        }
        _ => Reason::Unexpected,
    };
    Failure::new(reason, error.to_string())
}
