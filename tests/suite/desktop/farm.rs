//! A prepared farm: the window's data source with models built by hand, and what it was asked.

use sawah::client::intake::Preview;
use sawah::client::live::{Connection, Draft, Fetched, Notice, Order, Pixels, WatchList};
use sawah::client::read_model::ReadModel;
use sawah::desktop::view::FarmView;
use sawah::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, JobId, JobState, PipelineId, PipelineStatus,
    Reason, SessionId, Stage, StageStatus, TraceId, WatchFolderId,
};
use sawah::protocol::view::{
    AttemptOutcome, AttemptView, DeadLetterView, JobDetail, JobView, PipelineDetail, PipelineView,
    PublishedFile, StageView, WorkerView,
};
use sawah::protocol::watch::{WatchFileView, WatchFolderView};
use sawah::protocol::work::{Capabilities, Failure, InputFile, Program, Progress, Warning};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The moment of all prepared farms: 2026-11-30 10:00 UTC.
pub(super) const NOW_MS: i64 = 1_796_032_800_000;
const MINUTE_MS: i64 = 60_000;

/// What the farm answers, and what it was asked.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) model: Arc<ReadModel>,
    pub(super) connection: Option<Connection>,
    pub(super) later_ms: i64,
    pub(super) orders: Vec<Order>,
    pub(super) notices: Vec<Notice>,
    pub(super) pictures: HashMap<Checksum, Arc<Pixels>>,
    pub(super) previews: HashMap<Vec<std::path::PathBuf>, Vec<Preview>>,
    pub(super) details: HashMap<PipelineId, Arc<PipelineDetail>>,
    pub(super) logs: HashMap<JobId, Arc<String>>,
    pub(super) watch_folders: Arc<Vec<WatchFolderView>>,
    pub(super) watch_files: Arc<Vec<WatchFileView>>,
    pub(super) watch_saved: Option<Result<WatchFolderId, String>>,
}

/// A handle to a prepared farm.
#[derive(Clone, Default)]
pub(super) struct PreparedFarm {
    state: Arc<Mutex<Prepared>>,
    /// Pictures asked for, to see how many rows were built.
    pub(super) pictures_asked: Arc<AtomicUsize>,
}

impl PreparedFarm {
    pub(super) fn with<R>(&self, change: impl FnOnce(&mut Prepared) -> R) -> R {
        change(&mut self.state.lock().unwrap())
    }

    pub(super) fn edit(&self, change: impl FnOnce(&mut ReadModel)) {
        self.with(|farm| change(Arc::make_mut(&mut farm.model)));
    }

    pub(super) fn orders(&self) -> Vec<Order> {
        self.with(|farm| farm.orders.clone())
    }
}

impl FarmView for PreparedFarm {
    fn model(&self) -> Arc<ReadModel> {
        self.with(|farm| Arc::clone(&farm.model))
    }

    fn connection(&self) -> Connection {
        self.with(|farm| farm.connection.clone().unwrap_or(Connection::Live))
    }

    fn now_ms(&self) -> i64 {
        self.with(|farm| NOW_MS + farm.later_ms)
    }

    fn address(&self) -> String {
        "http://127.0.0.1:7420".to_owned()
    }

    fn order(&self, order: Order) {
        self.with(|farm| farm.orders.push(order));
    }

    fn orders_pending(&self) -> usize {
        self.with(|farm| farm.orders.len())
    }

    fn take_notices(&self) -> Vec<Notice> {
        self.with(|farm| std::mem::take(&mut farm.notices))
    }

    fn preview(&self, draft: &Draft) -> Fetched<Vec<Preview>> {
        self.with(|farm| match farm.previews.get(&draft.paths) {
            Some(previews) => Fetched::Ready(Arc::new(previews.clone())),
            None => Fetched::Pending,
        })
    }

    fn picture(&self, checksum: Checksum) -> Fetched<Pixels> {
        self.pictures_asked.fetch_add(1, Ordering::Relaxed);
        self.with(|farm| match farm.pictures.get(&checksum) {
            Some(pixels) => Fetched::Ready(Arc::clone(pixels)),
            None => Fetched::Pending,
        })
    }

    fn pipeline(&self, pipeline: PipelineId) -> Fetched<PipelineDetail> {
        self.with(|farm| match farm.details.get(&pipeline) {
            Some(detail) => Fetched::Ready(Arc::clone(detail)),
            None => Fetched::Pending,
        })
    }

    fn watch_folders(&self) -> Fetched<Vec<WatchFolderView>> {
        self.with(|farm| Fetched::Ready(Arc::clone(&farm.watch_folders)))
    }

    fn watch_files(&self, list: WatchList) -> Fetched<Vec<WatchFileView>> {
        self.with(|farm| {
            if list.state.is_none() {
                return Fetched::Ready(Arc::clone(&farm.watch_files));
            }
            let all = farm.watch_files.iter().filter(|file| Some(file.state) == list.state);
            Fetched::Ready(Arc::new(all.cloned().collect()))
        })
    }

    fn take_watch_saved(&self) -> Option<Result<WatchFolderId, String>> {
        self.with(|farm| farm.watch_saved.take())
    }

    fn log_tail(&self, job: JobId) -> Fetched<String> {
        self.with(|farm| match farm.logs.get(&job) {
            Some(log) => Fetched::Ready(Arc::clone(log)),
            None => Fetched::Ready(Arc::new(String::new())),
        })
    }
}

/// A pipeline whose stages before `at` are done, with `at` in `status`.
pub(super) fn pipeline(id: i64, asset: &str, at: Stage, status: StageStatus) -> PipelineView {
    let stages = Stage::ALL.map(|stage| {
        let status = match stage.cmp(&at) {
            std::cmp::Ordering::Less => StageStatus::Succeeded,
            std::cmp::Ordering::Equal => status,
            std::cmp::Ordering::Greater => StageStatus::Pending,
        };
        let parts_total = if stage == Stage::Render { 3 } else { 1 };
        let parts_done = match status {
            StageStatus::Succeeded => parts_total,
            StageStatus::Running if stage == Stage::Render => 1,
            _ => 0,
        };
        StageView { stage, status, parts_total, parts_done }
    });
    let done = at == Stage::Cleanup && status == StageStatus::Succeeded;
    let created_at_ms = NOW_MS - (60 - id).max(0) * 3 * MINUTE_MS;
    PipelineView {
        id: PipelineId(id),
        asset: AssetName::from_any(asset),
        asset_version: u32::try_from(id % 4).unwrap() + 1,
        kind: Some([AssetKind::Mesh, AssetKind::Image, AssetKind::Sequence][id as usize % 3]),
        recipe: "preview".to_owned(),
        status: match status {
            _ if done => PipelineStatus::Succeeded,
            StageStatus::DeadLettered => PipelineStatus::DeadLettered,
            StageStatus::Cancelled => PipelineStatus::Cancelled,
            _ => PipelineStatus::Running,
        },
        created_at_ms,
        finished_at_ms: done.then_some(created_at_ms + 48_300),
        source_ref: format!("/projects/terrace/assets/{asset}.glb"),
        stages: stages.into(),
        still: (at > Stage::Render).then(|| Checksum::of(asset.as_bytes())),
    }
}

/// A job of a pipeline.
pub(super) fn job(id: i64, pipeline: i64, stage: Stage, part: Chunk, now: JobState) -> JobView {
    let leased = now.is_leased();
    JobView {
        id: JobId(id),
        pipeline: PipelineId(pipeline),
        stage,
        chunk: part,
        frames: None,
        queue: format!("{stage}.preview"),
        state: now,
        attempt: u32::from(now != JobState::Queued),
        max_attempts: 3,
        epoch: Epoch(1),
        worker: (now != JobState::Queued).then(|| "paddy-02".to_owned()),
        session: leased.then(|| session(2)),
        run_at_ms: (now == JobState::RetryScheduled).then_some(NOW_MS + 83_000),
        progress: (now == JobState::Processing).then(|| Progress {
            percent: 58.0,
            message: "frame 7 of 12".to_owned(),
            ..Progress::default()
        }),
        last_failure: (now == JobState::RetryScheduled)
            .then(|| Failure::new(Reason::LeaseLost, "paddy-01 stopped reporting")),
        replay_of: None,
        created_at_ms: NOW_MS - 2 * MINUTE_MS,
        updated_at_ms: NOW_MS - 20_000,
    }
}

pub(super) fn session(number: u8) -> SessionId {
    SessionId::from_random([number; 16])
}

pub(super) fn worker(number: u8, name: &str, gpu: Option<&str>, lease_left_ms: u64) -> WorkerView {
    WorkerView {
        name: name.to_owned(),
        session: session(number),
        capabilities: Capabilities {
            host: format!("{name}.studio.lan"),
            os: "linux".to_owned(),
            version: "0.1.0".to_owned(),
            cores: 16,
            memory_bytes: 64 << 30,
            slots: 4,
            gpus: gpu.map(str::to_owned).into_iter().collect(),
            programs: vec![Program { name: "ffmpeg".to_owned(), version: "5.1.9".to_owned() }],
            paths: Vec::new(),
        },
        jobs: Vec::new(),
        opened_at_ms: NOW_MS - 200 * MINUTE_MS,
        lease_left_ms,
        quarantine: None,
    }
}

pub(super) fn dead_letter(
    job: i64,
    row: &PipelineView,
    reason: Reason,
    message: &str,
) -> DeadLetterView {
    DeadLetterView {
        job: JobId(job),
        pipeline: row.id,
        asset: row.asset.clone(),
        asset_version: row.asset_version,
        stage: Stage::Inspect,
        chunk: Chunk::Whole,
        reason,
        class: reason.class(),
        message: message.to_owned(),
        remedy: reason.remedy().to_owned(),
        attempts: 1,
        worker: Some("paddy-02".to_owned()),
        at_ms: row.created_at_ms + 4_000,
        replayed_as: None,
        dismissed: false,
        fingerprint: String::new(),
    }
}

pub(super) fn insert(model: &mut ReadModel, row: PipelineView) {
    model.pipelines.insert(row.id, Arc::new(row));
    model.pipelines_total = model.pipelines.len() as u64;
}

pub(super) fn insert_job(model: &mut ReadModel, row: JobView) {
    model.jobs.insert(row.id, Arc::new(row));
}

/// A shaded ball over nothing, so that shape, aspect and transparency can be judged.
pub(super) fn ball(width: u32, height: u32, tint: [f32; 3]) -> Pixels {
    let mut rgba = Vec::with_capacity((width * height * 4) as usize);
    let radius = width.min(height) as f32 * 0.38;
    for y in 0..height {
        for x in 0..width {
            let dx = (x as f32 - width as f32 / 2.0) / radius;
            let dy = (y as f32 - height as f32 / 2.0) / radius;
            let inside = 1.0 - dx * dx - dy * dy;
            if inside <= 0.0 {
                let ground = 52 + (y * 24 / height) as u8;
                rgba.extend([ground, ground + 4, ground + 4, 255]);
                continue;
            }
            let light =
                (0.25 + 0.75 * (inside.sqrt() * 0.7 - dy * 0.5 - dx * 0.3)).clamp(0.05, 1.0);
            rgba.extend(tint.map(|part| (part * light * 255.0) as u8));
            rgba.push(255);
        }
    }
    Pixels { width, height, rgba }
}

/// A farm in the middle of its day: something of everything.
pub(super) fn busy() -> PreparedFarm {
    use Stage::{Assemble, Cleanup, Ingest, Inspect, Render, Transform};
    use StageStatus::{Cancelled, DeadLettered, Running, Succeeded};
    let farm = PreparedFarm::default();
    let assets = [
        ("water-buffalo", Cleanup, Succeeded),
        ("rice-terrace-dawn", Cleanup, Succeeded),
        ("dragon", Cleanup, Succeeded),
        ("lantern", Cleanup, Succeeded),
        ("mist-plate-exr", Cleanup, Succeeded),
        ("bamboo-bridge", Inspect, DeadLettered),
        ("heron-flight", Cleanup, Succeeded),
        ("village-hut", Transform, Cancelled),
        ("mill-wheel", Cleanup, Succeeded),
        ("irrigation-gate", Assemble, Running),
        ("banyan", Render, DeadLettered),
        ("kite-sequence", Render, Running),
        ("stone-lion", Render, Running),
        ("spirit-house", Transform, Running),
        ("gong", Ingest, Running),
        ("rooster", Ingest, Running),
    ];
    farm.edit(|model| {
        for (id, (asset, at, status)) in (45..).zip(assets) {
            insert(model, pipeline(id, asset, at, status));
        }
        busy_jobs(model);
        let bridge = model.pipelines[&PipelineId(50)].as_ref().clone();
        let letter = dead_letter(
            501,
            &bridge,
            Reason::InputTruncated,
            "bamboo-bridge.glb ends after 18 324 of 96 512 bytes: the binary chunk is cut off",
        );
        model.dead_letters.insert(letter.job, Arc::new(letter));
        let banyan = model.pipelines[&PipelineId(55)].as_ref().clone();
        let mut letter = dead_letter(
            553,
            &banyan,
            Reason::GpuOutOfMemory,
            "the adapter could not allocate 6.2 GiB for the textures of 'banyan'",
        );
        letter.stage = Render;
        letter.chunk = Chunk::Frames { first: 13, last: 24 };
        letter.attempts = 2;
        model.dead_letters.insert(letter.job, Arc::new(letter));
        let gpu = "NVIDIA RTX A4000 · Vulkan";
        for mut row in [
            worker(1, "paddy-01", None, 11_000),
            worker(2, "paddy-02", Some(gpu), 27_000),
            worker(3, "paddy-03", Some(gpu), 29_000),
        ] {
            row.jobs = model
                .jobs
                .values()
                .filter(|job| job.session.as_ref() == Some(&row.session))
                .map(|job| job.id)
                .collect();
            model.workers.insert(row.session.clone(), Arc::new(row));
        }
    });
    farm.with(fill_details);
    farm
}

fn busy_jobs(model: &mut ReadModel) {
    use JobState::{Claimed, FailedTerminal, Processing, Queued, RetryScheduled, Succeeded};
    let frames = |first, last| Chunk::Frames { first, last };
    for row in [
        job(541, 54, Stage::Assemble, Chunk::Whole, Processing),
        job(501, 50, Stage::Inspect, Chunk::Whole, FailedTerminal),
        job(552, 55, Stage::Render, Chunk::Still, Succeeded),
        job(553, 55, Stage::Render, frames(13, 24), FailedTerminal),
        job(561, 56, Stage::Render, Chunk::Still, Succeeded),
        job(562, 56, Stage::Render, frames(1, 12), Processing),
        job(563, 56, Stage::Render, frames(13, 24), RetryScheduled),
        job(571, 57, Stage::Render, Chunk::Still, Processing),
        job(572, 57, Stage::Render, frames(1, 12), Queued),
        job(573, 57, Stage::Render, frames(13, 24), Queued),
        job(581, 58, Stage::Transform, Chunk::Whole, Claimed),
        job(591, 59, Stage::Ingest, Chunk::Whole, Queued),
        job(601, 60, Stage::Ingest, Chunk::Whole, Queued),
    ] {
        insert_job(model, row);
    }
    for (id, number) in [(541, 3), (571, 1)] {
        let row = model.jobs.get_mut(&JobId(id)).unwrap();
        let row = Arc::make_mut(row);
        row.session = Some(session(number));
        row.worker = Some(format!("paddy-0{number}"));
    }
}

fn fill_details(farm: &mut Prepared) {
    let model = Arc::clone(&farm.model);
    let tints = [[0.86, 0.45, 0.30], [0.38, 0.62, 0.86], [0.55, 0.76, 0.45], [0.85, 0.74, 0.38]];
    for (place, row) in model.pipelines.values().enumerate() {
        if let Some(still) = row.still {
            let (width, height) = if place % 3 == 1 { (1024, 576) } else { (768, 768) };
            let pixels = ball(width, height, tints[place % tints.len()]);
            farm.pictures.insert(still, Arc::new(pixels));
        }
        farm.details.insert(row.id, Arc::new(detail(&model, row)));
    }
    let log = "10:00:01 sawah stage-host 0.1.0\n10:00:01 reading bamboo-bridge.glb, 18 324 bytes\n10:00:01 header: glTF 2, length 96 512\n10:00:01 chunk JSON 4 096 bytes\n10:00:01 chunk BIN 92 388 bytes wanted, 14 192 there\n10:00:01 failed: input.truncated\n";
    farm.logs.insert(JobId(501), Arc::new(log.to_owned()));
}

/// A pipeline in full: attempts for each job, published files where it succeeded.
pub(super) fn detail(model: &ReadModel, row: &PipelineView) -> PipelineDetail {
    let done = row.status == PipelineStatus::Succeeded;
    let folder = format!("/srv/farm/published/{}/v{:04}", row.asset, row.asset_version);
    let published = ["manifest.json", "metadata.json", "scene.glb", "still.png", "turntable.mp4"];
    let mut jobs: Vec<_> = model
        .jobs
        .values()
        .filter(|job| job.pipeline == row.id)
        .map(|job| job_detail(job.as_ref().clone(), row))
        .collect();
    if done {
        for (id, stage) in (row.id.0 * 100..).zip(Stage::ALL) {
            let view = job(id, row.id.0, stage, Chunk::Whole, JobState::Succeeded);
            jobs.push(job_detail(view, row));
        }
    }
    PipelineDetail {
        pipeline: row.clone(),
        trace_id: TraceId::from_random([7; 16]),
        sources: vec![InputFile {
            made_by: None,
            name: format!("{}.glb", row.asset),
            checksum: Checksum::of(b"source"),
            size_bytes: 18_324,
        }],
        jobs,
        published: published
            .into_iter()
            .filter(|_| done)
            .map(|output| PublishedFile {
                output: output.to_owned(),
                checksum: Checksum::of(output.as_bytes()),
                size_bytes: 1_482_113,
                path: Some(format!("{folder}/{output}")),
            })
            .collect(),
        export_folder: done.then_some(folder),
    }
}

fn job_detail(view: JobView, row: &PipelineView) -> JobDetail {
    let failed = view.state == JobState::FailedTerminal;
    let begin_ms = row.created_at_ms + 600;
    let attempts = (0..view.attempt).map(|place| AttemptView {
        epoch: Epoch(place + 1),
        attempt: place + 1,
        worker: view.worker.clone().unwrap_or_default(),
        session: session(2),
        claimed_at_ms: begin_ms,
        started_at_ms: Some(begin_ms + 40),
        ended_at_ms: (!view.state.is_leased()).then_some(begin_ms + 3_240),
        outcome: match view.state {
            JobState::FailedTerminal => AttemptOutcome::Failed,
            JobState::RetryScheduled => AttemptOutcome::Lost,
            state if state.is_leased() => AttemptOutcome::Running,
            _ => AttemptOutcome::Succeeded,
        },
        failure: failed.then(|| {
            Failure::new(Reason::InputTruncated, "the binary chunk is cut off after 14 192 bytes")
        }),
    });
    JobDetail {
        attempts: attempts.collect(),
        idempotency_key: format!("{}:{}", view.stage, row.asset),
        outputs: Vec::new(),
        warnings: if view.stage == Stage::Assemble {
            let text =
                "ffmpeg is not installed on paddy-02, so no film was made: apt install ffmpeg";
            vec![Warning { reason: Reason::ProgramMissing, message: text.to_owned() }]
        } else {
            Vec::new()
        },
        drawn_by: (view.stage == Stage::Render)
            .then(|| "llvmpipe (LLVM 15.0.6, 256 bits) · Vulkan".to_owned()),
        job: view,
        edit: None,
        reused_from: None,
    }
}
