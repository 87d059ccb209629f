//! Every shipped profile reads logs of our own making, healthy and broken.
//!
//! `tests/fixtures/renderers/PROFILE/` holds the logs, `expected.toml` beside them what each must
//! give. A log whose name begins with `healthy` may match no error at all.

use super::*;
use crate::model::Reason;
use crate::model::frames::FrameList;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    exit: Option<i32>,
    signal: Option<i32>,
    killed: Option<Reason>,
    frames: Option<String>,
    reason: Option<Reason>,
    done: Option<String>,
    progress: Option<f32>,
    #[serde(default)]
    warnings: Vec<Reason>,
}

struct Case {
    name: String,
    profile: Arc<Profile>,
    log: Vec<u8>,
    expected: Expected,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/renderers")
}

fn cases() -> Vec<Case> {
    let library = Library::load(None).unwrap();
    let mut cases = Vec::new();
    for profile in library.profiles() {
        let folder = folder().join(&profile.name);
        let text = fs::read_to_string(folder.join("expected.toml")).unwrap();
        let expected: BTreeMap<String, Expected> =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", profile.name)).unwrap();
        let logs = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let logs: BTreeSet<String> = logs
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "log"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let named: BTreeSet<String> = expected.keys().cloned().collect();
        assert_eq!(logs, named, "{}: logs and expectations are not the same", profile.name);
        for (name, expected) in expected {
            let log = fs::read(folder.join(format!("{name}.log"))).unwrap();
            let name = format!("{}/{name}", profile.name);
            cases.push(Case { name, profile: Arc::clone(profile), log, expected });
        }
    }
    cases
}

fn events(case: &Case, pieces: impl IntoIterator<Item = usize>) -> Vec<Event> {
    let mut reader = LogReader::new(Arc::clone(&case.profile));
    let mut rest = case.log.as_slice();
    let mut events = Vec::new();
    for length in pieces {
        let (piece, left) = rest.split_at(length.min(rest.len()));
        events.extend(reader.push(piece));
        rest = left;
    }
    events.extend(reader.push(rest));
    events.extend(reader.finish());
    events
}

fn frames(text: &str) -> FrameList {
    text.parse().unwrap()
}

impl Case {
    fn is_healthy(&self) -> bool {
        self.name.contains("/healthy")
    }

    fn exit(&self) -> Exit {
        match (self.expected.exit, self.expected.signal, self.expected.killed) {
            (Some(code), None, None) => Exit::Code(code),
            (None, Some(signal), None) => Exit::Signal(signal),
            (None, None, Some(reason)) => Exit::Killed(reason),
            _ => panic!("{}: say one of exit, signal, killed", self.name),
        }
    }

    fn run(&self) -> Run {
        let asked = self.expected.frames.as_deref().map(frames);
        let mut run = Run::new(Arc::clone(&self.profile), asked);
        let mut before = 0.0;
        for event in events(self, []) {
            run.apply(&event);
            let now = run.progress();
            assert!(
                now >= before && (0.0..=100.0).contains(&now),
                "{}: {before} → {now}",
                self.name
            );
            before = now;
        }
        run
    }
}

#[test]
fn every_log_gives_the_expected_verdict_and_progress_never_falls() {
    let mut wrong = Vec::new();
    for case in cases() {
        let run = case.run();
        let verdict = run.verdict(case.exit());
        let reason = verdict.as_ref().err().map(|failure| failure.reason);
        if reason != case.expected.reason {
            wrong.push(format!("{}: {verdict:?}", case.name));
        }
        if let Some(done) = &case.expected.done
            && run.frames_done() != frames(done).as_slice()
        {
            wrong.push(format!("{}: done {:?}", case.name, run.frames_done()));
        }
        if let Some(progress) = case.expected.progress
            && (run.progress() - progress).abs() > 1.0
        {
            wrong.push(format!("{}: progress {}", case.name, run.progress()));
        }
        let warnings: Vec<Reason> = run.warnings().iter().map(|warning| warning.reason).collect();
        if case.expected.reason.is_none() && warnings != case.expected.warnings {
            wrong.push(format!("{}: warnings {warnings:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_healthy_log_matches_an_error_and_every_profile_has_one() {
    let mut healthy = BTreeSet::new();
    for case in cases().iter().filter(|case| case.is_healthy()) {
        let errors: Vec<Event> = events(case, [])
            .into_iter()
            .filter(|event| matches!(event, Event::Error { .. }))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", case.name);
        healthy.insert(case.profile.name.clone());
    }
    let all: BTreeSet<String> = Library::load(None).unwrap().names().map(str::to_owned).collect();
    assert_eq!(healthy, all);
}

#[test]
fn every_error_rule_warning_and_exit_code_is_hit_by_some_log() {
    let mut hit: BTreeSet<(String, String)> = BTreeSet::new();
    for case in cases() {
        for event in events(&case, []) {
            let rule = match event {
                Event::Error { rank, .. } => format!("error {rank}"),
                Event::Warning { reason, message, .. } => {
                    let place = case.profile.log.warning.iter().position(|rule| {
                        rule.reason == reason && message.starts_with(&rule.message)
                    });
                    format!("warning {}", place.unwrap())
                }
                _ => continue,
            };
            hit.insert((case.profile.name.clone(), rule));
        }
        if let Some(code) = case.expected.exit {
            hit.insert((case.profile.name.clone(), format!("exit {code}")));
        }
    }
    for profile in Library::load(None).unwrap().profiles() {
        let errors = (0..profile.log.error.len()).map(|rank| format!("error {rank}"));
        let warnings = (0..profile.log.warning.len()).map(|place| format!("warning {place}"));
        let exits = profile.exit.iter().map(|rule| format!("exit {}", rule.code));
        for rule in errors.chain(warnings).chain(exits) {
            let key = (profile.name.clone(), rule);
            assert!(hit.contains(&key), "no log of {} hits {}", key.0, key.1);
        }
    }
}

#[test]
fn however_a_log_is_cut_its_events_are_the_same() {
    let cases = cases();
    for case in &cases {
        let whole = events(case, []);
        assert_eq!(events(case, std::iter::repeat_n(1, case.log.len())), whole, "{}", case.name);
    }
    proptest::proptest!(|(place in 0..cases.len(), cuts in proptest::collection::vec(0_usize..40, 0..60))| {
        let case = &cases[place];
        proptest::prop_assert_eq!(events(case, cuts), events(case, []));
    });
}
