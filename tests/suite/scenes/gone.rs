//! Nothing that a program started outlives its attempt, whatever session it is in.

use super::{farm, painter, paints, submit};
use crate::events::Events;
use crate::farm::Farm;
use crate::kill_worker::{frames_job, until_gone};
use sawah::model::{JobId, JobState, PipelineId, Reason};
use sawah::protocol::event::{Change, Event};
use sawah::protocol::submit::{CancelReply, Order};
use std::fs;
use std::path::Path;

/// A process that a program has noted.
#[derive(Debug)]
pub(super) struct Noted {
    pid: u32,
    group: u32,
}

/// The processes in a file: id and group of one a line.
pub(super) fn noted(place: &Path) -> Vec<Noted> {
    let text = fs::read_to_string(place).expect("the program has noted its processes");
    let numbers = |line: &str| -> Vec<u32> {
        line.split(' ').map(|word| word.parse().expect("a number")).collect()
    };
    let noted: Vec<Noted> = text
        .lines()
        .map(|line| match numbers(line).as_slice() {
            [pid, group] => Noted { pid: *pid, group: *group },
            _ => panic!("'{line}' is no process"),
        })
        .collect();
    assert_eq!(noted.len(), 5, "a program with four children: {noted:?}");
    let groups: std::collections::BTreeSet<u32> = noted.iter().map(|one| one.group).collect();
    assert_eq!(groups.len(), 3, "two children have sessions of their own: {noted:?}");
    noted
}

impl Noted {
    /// Whether it, or anything in its group, still runs.
    pub(super) fn lives(&self) -> bool {
        let processes = fs::read_dir("/proc").expect("proc is there").flatten();
        processes.into_iter().any(|entry| {
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let pid = entry.file_name().to_string_lossy().parse::<u32>();
            // Behind the name, which may hold anything: state, parent, group.
            let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
            let mut fields = fields.split_whitespace();
            let (state, group) = (fields.next(), fields.nth(1));
            let is_it = pid.is_ok_and(|pid| pid == self.pid)
                || group.and_then(|group| group.parse().ok()) == Some(self.group);
            is_it && state.is_some_and(|state| state != "Z" && state != "X")
        })
    }
}

/// Hands in a program that starts a tree and does not end.
async fn endless(farm: &Farm, name: &str, how: &str, recipe: &str) -> PipelineId {
    let place = farm.root().join(name);
    let options = ["--renderer", "command", "--frames", "1-3", "--recipe", recipe, "--name", name];
    let ran = submit(farm, &painter(farm), &options, &paints(how, Some(&place))).await;
    ran.expect_code(0).pipeline()
}

async fn until_begun(events: &mut Events, pipeline: PipelineId) -> JobId {
    let created = events.until("the job of the frames", |event| {
        matches!(event.change, Change::JobCreated { pipeline: of, .. } if of == pipeline)
            && frames_job(event).is_some()
    });
    let job = frames_job(&created.await).expect("it is one");
    events.until_under_way(job).await;
    job
}

/// Waits until all are gone, and looks at the table of processes as well.
async fn check_gone(place: &Path) {
    for process in noted(place) {
        until_gone(process.pid).await;
        // The stage host leads one of the groups.
        until_gone(process.group).await;
        assert!(!process.lives(), "{process:?} is not gone");
    }
}

#[tokio::test]
async fn cancel_and_time_limit_leave_no_process_alive() {
    let time = "timeout_s = 6\n[stages.retry.unknown]\nattempts = 1\n";
    let (farm, _serve) = farm("gone", &[("short", time), ("long", "")]).await;
    let _worker = farm.worker("render-01");
    let mut events = farm.events(0).await;
    let timed = endless(&farm, "timed", "chatter", "short").await;
    let cancelled = endless(&farm, "cancelled", "silent", "long").await;

    until_begun(&mut events, cancelled).await;
    let order = Order { actor: "operator test".to_owned(), reason: "enough".to_owned() };
    let path = format!("/v1/pipelines/{cancelled}/cancel");
    let reply: CancelReply = farm.post(&path, &order).await;
    assert!(reply.jobs >= 1, "{reply:?}");
    check_gone(&farm.root().join("cancelled")).await;

    let died = |event: &Event| {
        matches!(event.change, Change::JobChanged { pipeline, to: JobState::FailedTerminal, .. }
            if pipeline == timed)
    };
    farm.events(0).await.until("the end of the time", died).await;
    for process in noted(&farm.root().join("timed")) {
        assert!(!process.lives(), "{process:?} lives when its end is told");
    }
    let letters = farm.dead_letters(timed).await;
    let [letter] = letters.as_slice() else { panic!("{letters:#?}") };
    assert_eq!(letter.reason, Reason::LimitTime, "{letter:?}");
    assert!(letter.message.contains("frames were 1-3"), "{letter:?}");
}

#[tokio::test]
async fn a_killed_worker_leaves_no_process_alive() {
    let (farm, _serve) = farm("gone-worker", &[("long", "")]).await;
    let worker = farm.worker("render-01");
    let mut events = farm.events(0).await;
    let pipeline = endless(&farm, "orphaned", "silent", "long").await;
    until_begun(&mut events, pipeline).await;
    worker.kill_hard().await;
    check_gone(&farm.root().join("orphaned")).await;
}
