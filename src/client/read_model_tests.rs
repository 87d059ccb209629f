use super::*;
use crate::model::{AssetName, Chunk, Epoch, Reason, Stage, StageStatus};
use crate::protocol::event::JobProgress;
use crate::protocol::view::StageView;
use crate::protocol::work::{Capabilities, Progress};

fn session(byte: u8) -> SessionId {
    SessionId::from_random([byte; 16])
}

fn pipeline(id: i64) -> PipelineView {
    let stage =
        |stage| StageView { stage, status: StageStatus::Pending, parts_total: 1, parts_done: 0 };
    PipelineView {
        id: PipelineId(id),
        asset: AssetName::from_any("gear"),
        asset_version: 1,
        kind: None,
        recipe: "preview".to_owned(),
        status: PipelineStatus::Running,
        created_at_ms: 10,
        finished_at_ms: None,
        source_ref: "/a/gear.stl".to_owned(),
        stages: vec![stage(Stage::Ingest), stage(Stage::Inspect)],
        still: None,
    }
}

fn worker(byte: u8, jobs: Vec<JobId>) -> WorkerView {
    WorkerView {
        name: "render-01".to_owned(),
        session: session(byte),
        capabilities: Capabilities {
            host: "h".to_owned(),
            os: "linux".to_owned(),
            version: "0".to_owned(),
            cores: 4,
            memory_bytes: 1,
            slots: 1,
            gpus: vec![],
            programs: vec![],
            paths: Vec::new(),
        },
        jobs,
        opened_at_ms: 5,
        lease_left_ms: 30_000,
        quarantine: None,
    }
}

fn job(id: i64) -> JobView {
    JobView {
        id: JobId(id),
        pipeline: PipelineId(1),
        stage: Stage::Ingest,
        chunk: Chunk::Whole,
        frames: None,
        queue: "ingest".to_owned(),
        state: JobState::Queued,
        attempt: 0,
        max_attempts: 3,
        epoch: Epoch(0),
        worker: None,
        session: None,
        run_at_ms: None,
        progress: None,
        last_failure: None,
        replay_of: None,
        created_at_ms: 11,
        updated_at_ms: 11,
    }
}

fn changed(to: JobState, verb: Verb, attempt: u32, failure: Option<Failure>) -> Change {
    Change::JobChanged {
        job: JobId(1),
        pipeline: PipelineId(1),
        from: JobState::Queued,
        to,
        verb,
        attempt,
        epoch: Epoch(attempt),
        worker: Some("render-01".to_owned()),
        session: Some(session(1)),
        failure,
        run_at_ms: None,
        max_attempts: None,
    }
}

fn created(id: i64, replay_of: Option<i64>) -> Change {
    Change::JobCreated {
        job: JobId(id),
        pipeline: PipelineId(1),
        stage: Stage::Ingest,
        chunk: Chunk::Whole,
        frames: None,
        queue: "ingest".to_owned(),
        max_attempts: 3,
        replay_of: replay_of.map(JobId),
    }
}

fn broken() -> Failure {
    Failure::new(Reason::InputCorrupt, "the file ends too early")
}

fn pipeline_changed(status: PipelineStatus) -> Change {
    Change::PipelineChanged { pipeline: PipelineId(1), status, kind: None, still: None }
}

/// A life that touches every kind of change; event N was committed at `10 + N - 1` ms.
fn events() -> Vec<Event> {
    let changes = vec![
        Change::PipelineCreated { pipeline: pipeline(1) },
        created(1, None),
        Change::WorkerJoined { worker: worker(1, vec![]) },
        changed(JobState::Claimed, Verb::Claim, 1, None),
        changed(JobState::Processing, Verb::Start, 1, None),
        Change::StageChanged {
            pipeline: PipelineId(1),
            stage: Stage::Ingest,
            status: StageStatus::DeadLettered,
            parts_total: 1,
            parts_done: 0,
        },
        changed(JobState::FailedTerminal, Verb::GiveUp, 1, Some(broken())),
        pipeline_changed(PipelineStatus::DeadLettered),
        Change::DeadLetterSettled {
            job: JobId(1),
            replayed_as: Some(JobId(2)),
            note: "again".to_owned(),
        },
        created(2, Some(1)),
        pipeline_changed(PipelineStatus::Running),
        Change::Published { pipeline: PipelineId(1), generation: 1, outputs: 3 },
        Change::Exported { pipeline: PipelineId(1), folder: "/f".to_owned() },
        Change::WorkerLeft { worker: "render-01".to_owned(), session: session(1), lost: true },
    ];
    (1..)
        .zip(changes)
        .map(|(seq, change)| Event {
            seq,
            at_ms: 9 + i64::try_from(seq).expect("small"),
            actor: "test".to_owned(),
            change,
        })
        .collect()
}

fn folded(count: usize) -> ReadModel {
    let mut model = ReadModel::default();
    for event in events().iter().take(count) {
        model.apply(event).expect("no gap");
    }
    model
}

fn snapshot(seq: u64) -> Snapshot {
    Snapshot {
        seq,
        at_ms: 0,
        pipelines: vec![pipeline(1)],
        jobs: vec![job(1)],
        workers: vec![],
        dead_letters: vec![],
        pipelines_total: 1,
    }
}

#[test]
fn the_fold_of_events_is_the_snapshot_of_that_moment() {
    assert_eq!(folded(2), ReadModel::from_snapshot(snapshot(2)));

    // While the job runs.
    let mut running = snapshot(5);
    running.workers = vec![worker(1, vec![JobId(1)])];
    let row = &mut running.jobs[0];
    row.state = JobState::Processing;
    row.attempt = 1;
    row.epoch = Epoch(1);
    row.worker = Some("render-01".to_owned());
    row.session = Some(session(1));
    row.updated_at_ms = 14;
    assert_eq!(folded(5), ReadModel::from_snapshot(running));

    // After everything: given up, replayed, worker gone.
    let mut end = snapshot(14);
    end.pipelines[0].stages[0].status = StageStatus::DeadLettered;
    let row = &mut end.jobs[0];
    row.state = JobState::FailedTerminal;
    row.attempt = 1;
    row.epoch = Epoch(1);
    row.last_failure = Some(broken());
    row.max_attempts = max_attempts(broken().class);
    row.updated_at_ms = 16;
    end.jobs.push(JobView {
        replay_of: Some(JobId(1)),
        created_at_ms: 19,
        updated_at_ms: 19,
        ..job(2)
    });
    assert_eq!(folded(14), ReadModel::from_snapshot(end));
}

#[test]
fn a_dead_letter_is_built_from_job_pipeline_and_failure() {
    let model = folded(8);
    let letter = &model.dead_letters[&JobId(1)];
    assert_eq!((letter.reason, letter.asset.as_str()), (Reason::InputCorrupt, "gear"));
    assert_eq!((letter.attempts, letter.at_ms), (1, 16));
    assert_eq!(letter.worker.as_deref(), Some("render-01"));
    assert_eq!(model.pipelines[&PipelineId(1)].finished_at_ms, Some(17));
    assert!(folded(9).dead_letters.is_empty(), "a replayed one waits for nobody");
    assert_eq!(folded(11).pipelines[&PipelineId(1)].finished_at_ms, None, "it runs again");
}

#[test]
fn events_twice_change_nothing_and_gaps_are_noticed() {
    let mut model = folded(14);
    let before = model.clone();
    for event in events() {
        assert_eq!(model.apply(&event), Ok(()));
    }
    assert_eq!(model, before);
    let late = Event { seq: 20, ..events().remove(0) };
    assert_eq!(model.apply(&late), Err(Gap { expected: 15, got: 20 }));
    assert_eq!(model, before, "a gap changes nothing");
}

#[test]
fn pulses_reach_only_jobs_of_their_own_session() {
    let mut model = folded(5);
    let beat = |byte: u8, percent: f32| Pulse::Beat {
        session: session(byte),
        lease_left_ms: 20_000,
        running: vec![JobProgress {
            job: JobId(1),
            progress: Progress { percent, message: "half".to_owned(), ..Progress::default() },
        }],
    };
    model.pulse(&beat(1, 50.0));
    model.pulse(&beat(2, 90.0));
    let progress = model.jobs[&JobId(1)].progress.clone().expect("progress");
    assert!((progress.percent - 50.0).abs() < f32::EPSILON);
    assert_eq!(model.workers[&session(1)].lease_left_ms, 20_000);
}

#[test]
fn a_success_keeps_the_failure_before_it_and_old_pipelines_leave() {
    let mut model = folded(5);
    for (seq, change) in [
        (6, changed(JobState::RetryScheduled, Verb::Retry, 1, Some(broken()))),
        (7, changed(JobState::Succeeded, Verb::Complete, 2, None)),
    ] {
        let event = Event { seq, at_ms: 0, actor: String::new(), change };
        model.apply(&event).expect("no gap");
    }
    assert_eq!(model.jobs[&JobId(1)].last_failure, Some(broken()));

    for id in 2..=i64::try_from(PIPELINES).expect("small") + 1 {
        let change = Change::PipelineCreated { pipeline: pipeline(id) };
        let event = Event { seq: model.seq + 1, at_ms: 0, actor: String::new(), change };
        model.apply(&event).expect("no gap");
    }
    assert!(model.pipelines.len() <= PIPELINES);
    assert!(!model.pipelines.contains_key(&PipelineId(1)) && model.jobs.is_empty());
    assert_eq!(model.pipelines_total, PIPELINES as u64 + 1);
}
