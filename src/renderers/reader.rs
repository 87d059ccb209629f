//! Reads a program's log as it comes: bytes in, events out.

use super::event::Event;
use super::lines::Lines;
use super::profile::Profile;
use super::rules::ReasonRule;
use crate::model::limits;
use std::sync::Arc;

/// Reads one log by one profile. However the bytes are cut, the events are the same.
#[derive(Debug)]
pub struct LogReader {
    lines: Lines,
    rules: Rules,
}

#[derive(Debug)]
struct Rules {
    profile: Arc<Profile>,
    seen: u64,
    /// The error of a traceback that has begun: its last line says what it was.
    traceback: Option<Event>,
}

/// How Python begins to tell where an error was.
const TRACEBACK: &str = "Traceback (most recent call last):";

impl LogReader {
    /// A reader at the log's beginning.
    pub fn new(profile: Arc<Profile>) -> Self {
        Self { lines: Lines::default(), rules: Rules { profile, seen: 0, traceback: None } }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        let Self { lines, rules } = self;
        lines.push(bytes, |line| rules.read(line, &mut events));
        events
    }

    /// Reads what is left once the program has closed its output.
    pub fn finish(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let Self { lines, rules } = self;
        lines.finish(|line| rules.read(line, &mut events));
        events.extend(rules.traceback.take());
        events
    }
}

impl Rules {
    fn read(&mut self, whole: &str, events: &mut Vec<Event>) {
        let profile = Arc::clone(&self.profile);
        let log = &profile.log;
        let line = log.strip.iter().fold(whole, |line, strip| strip.strip(line)).trim_end();
        self.seen = self.seen.saturating_add(1);
        self.end_traceback(line, whole, events);
        if self.seen <= limits::RENDERER_LOG_LINES {
            progress(&profile, line, events);
        } else if self.seen == limits::RENDERER_LOG_LINES.saturating_add(1) {
            events.push(Event::TooLong);
        }
        if log.ignore.iter().any(|pattern| pattern.is_match(line)) {
            return;
        }
        if let Some((rank, rule)) = first(&log.error, line) {
            let (reason, message) = (rule.reason, said(rule, line));
            let error = Event::Error { rank, reason, message, line: whole.to_owned() };
            if line.contains(TRACEBACK) {
                self.traceback = Some(error);
            } else {
                events.push(error);
            }
        } else if let Some((_, rule)) = first(&log.warning, line) {
            events.push(Event::Warning {
                reason: rule.reason,
                message: said(rule, line),
                line: whole.to_owned(),
            });
        }
        if profile.success.as_ref().is_some_and(|rule| rule.pattern.is_match(line)) {
            events.push(Event::Success);
        }
    }
}

impl Rules {
    /// The lines inside a traceback are indented; the first that is not names the error.
    fn end_traceback(&mut self, line: &str, whole: &str, events: &mut Vec<Event>) {
        let is_inside = line.starts_with(char::is_whitespace);
        let Some(mut error) = self.traceback.take_if(|_| !is_inside) else { return };
        if let Event::Error { line, .. } = &mut error {
            whole.clone_into(line);
        }
        events.push(error);
    }
}

/// Of each kind the first rule that matches.
fn progress(profile: &Profile, line: &str, events: &mut Vec<Event>) {
    let mut told = Vec::new();
    for rule in &profile.log.progress {
        if told.contains(&rule.tells) {
            continue;
        }
        if let Some(event) = rule.read(line) {
            told.push(rule.tells);
            events.push(event);
        }
    }
}

fn first<'r>(rules: &'r [ReasonRule], line: &str) -> Option<(usize, &'r ReasonRule)> {
    rules.iter().enumerate().find(|(_, rule)| rule.pattern.is_match(line))
}

/// The rule's sentence; a group `text` of its pattern adds the program's own words.
fn said(rule: &ReasonRule, line: &str) -> String {
    let found = rule.pattern.captures(line);
    match found.as_ref().and_then(|found| found.name("text")) {
        Some(text) => format!("{}: {}", rule.message, text.as_str().trim()),
        None => rule.message.clone(),
    }
}
