//! Watch folders: how soon a finished file is worked on, and what it costs to watch many files that
//! do not change.

use super::book::{Book, Unit};
use super::served::Served;
use super::timing::Times;
use super::{BenchError, Plan};
use crate::cli::output;
use crate::client::events::{EventStream, StreamItem};
use crate::client::{Client, Token};
use crate::clock::Stopwatch;
use crate::model::{JobState, PipelineStatus};
use crate::protocol::event::Change;
use crate::protocol::watch::{Existing, NewWatchFolder, Seeing, WatchRules, WatchWord};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files that are dropped, one after the other.
const DROPS: u32 = 20;
const QUICK_DROPS: u32 = 5;
/// How long files settle here, and how often the folder is looked through.
const SETTLE_MS: u64 = 1_000;
const POLL_MS: u64 = 2_000;
/// Files that do not change, in folders of a hundred.
const IDLE_FILES: u32 = 100_000;
const QUICK_IDLE_FILES: u32 = 10_000;
const FILES_PER_FOLDER: u32 = 100;
/// How long nothing happens.
const IDLE: Duration = Duration::from_mins(1);
const QUICK_IDLE: Duration = Duration::from_secs(15);
/// Between two looks whether the watcher is ready.
const LOOK: Duration = Duration::from_millis(200);
/// Longest wait for anything.
const WAIT: Duration = Duration::from_mins(5);

const AREA: &str = "watch folders";

pub(super) async fn measure(plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    for (seeing, name) in [(Seeing::Events, "events"), (Seeing::Polling, "polling")] {
        output::note(&format!("Dropping files, seen by {name}"));
        let folder = plan.folder.join(format!("drop-{name}"));
        let mut times = drops(plan, &folder, seeing).await?;
        for percent in [50, 100] {
            let text = format!(
                "finished file to its first stage, beyond the settle time, {name} p{percent}"
            );
            book.add(
                AREA,
                &text,
                times.percentile_ms(percent) - SETTLE_MS as f64,
                Unit::Milliseconds,
            );
        }
    }
    let count = if plan.quick { QUICK_IDLE_FILES } else { IDLE_FILES };
    output::note(&format!("Making {count} files"));
    let many = plan.folder.join("many");
    make(&many, count)?;
    let base = idle(plan, "none", None).await?;
    book.add(AREA, "idle without watch folders", base, Unit::PercentOfCore);
    for (seeing, name) in [(Seeing::Events, "events"), (Seeing::Polling, "polling")] {
        output::note(&format!("Watching {count} files that do not change, by {name}"));
        let used = idle(plan, name, Some((&many, seeing))).await?;
        let text = format!("idle with {count} files, {name}");
        book.add(AREA, &text, used, Unit::PercentOfCore);
    }
    Ok(())
}

fn client(served: &Served) -> Result<Client, BenchError> {
    Client::new(&format!("http://{}", served.line.address), Token::new(&served.line.token))
        .map_err(nothing)
}

fn nothing(error: impl std::fmt::Display) -> BenchError {
    BenchError::Nothing(error.to_string())
}

/// Watches a folder and waits until it was looked through.
async fn watch(client: &Client, folder: &Path, rules: WatchRules) -> Result<(), BenchError> {
    let path = folder.canonicalize()?.to_string_lossy().into_owned();
    let new = NewWatchFolder { path, rules, actor: "bench".to_owned() };
    let id = client.add_watch_folder(&new).await.map_err(nothing)?.id;
    let watch = Stopwatch::start();
    while watch.elapsed() < WAIT {
        let view = client.watch_folder(id).await.map_err(nothing)?;
        let counts = view.counts;
        if view.health.word == WatchWord::Watching && counts.settling + counts.waiting == 0 {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(nothing("the folder was not looked through in time"))
}

/// From the end of writing to the start of the first stage.
async fn drops(plan: &Plan, folder: &Path, seeing: Seeing) -> Result<Times, BenchError> {
    let drop_in = folder.join("in");
    std::fs::create_dir_all(&drop_in)?;
    let served = Served::start_working(&folder.join("farm"), 1).await?;
    let client = client(&served)?;
    let rules = WatchRules {
        settle_ms: Some(SETTLE_MS),
        seeing,
        poll_ms: POLL_MS,
        recipe: Some("quick".to_owned()),
        ..WatchRules::default()
    };
    watch(&client, &drop_in, rules).await?;
    let seq = client.snapshot(1).await.map_err(nothing)?.seq;
    let mut events = client.events(seq).await.map_err(nothing)?;
    let mut times = Times::default();
    for number in 0..if plan.quick { QUICK_DROPS } else { DROPS } {
        // Another time of the interval for each, since a poll may be near or far.
        tokio::time::sleep(Duration::from_millis(u64::from(number) * 137 % POLL_MS)).await;
        let partial = drop_in.join(format!("{number}.part"));
        std::fs::write(&partial, triangle(number))?;
        std::fs::rename(&partial, drop_in.join(format!("drop{}.stl", letters(number))))?;
        let watch = Stopwatch::start();
        // The first job that runs is that of the first stage.
        until(&mut events, |change| {
            matches!(change, Change::JobChanged { to: JobState::Processing, .. })
        })
        .await?;
        times.push(watch.elapsed());
        // So that the next file meets a worker that waits.
        until(&mut events, |change| {
            matches!(change, Change::PipelineChanged { status, .. } if *status != PipelineStatus::Running)
        })
        .await?;
    }
    served.stop().await?;
    Ok(times)
}

/// Waits for a change.
async fn until(
    events: &mut EventStream,
    is_wanted: impl Fn(&Change) -> bool,
) -> Result<(), BenchError> {
    loop {
        let next = tokio::time::timeout(WAIT, events.next()).await.map_err(nothing)?;
        if let StreamItem::Event(event) = next.map_err(nothing)?
            && is_wanted(&event.change)
        {
            return Ok(());
        }
    }
}

/// Percent of a core that a coordinator uses while nothing happens.
async fn idle(
    plan: &Plan,
    name: &str,
    watched: Option<(&PathBuf, Seeing)>,
) -> Result<f64, BenchError> {
    let served = Served::start(&plan.folder.join(format!("idle-{name}"))).await?;
    let client = client(&served)?;
    if let Some((folder, seeing)) = watched {
        let rules = WatchRules { existing: Existing::Leave, seeing, ..WatchRules::default() };
        watch(&client, folder, rules).await?;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let none = || nothing("the system does not tell the processor time of a process");
    let before = served.processor_time().ok_or_else(none)?;
    let stopwatch = Stopwatch::start();
    tokio::time::sleep(if plan.quick { QUICK_IDLE } else { IDLE }).await;
    let used = served.processor_time().ok_or_else(none)?.saturating_sub(before);
    let percent = used.as_secs_f64() / stopwatch.elapsed().as_secs_f64() * 100.0;
    served.stop().await?;
    Ok(percent)
}

fn make(folder: &Path, count: u32) -> Result<(), BenchError> {
    for number in 0..count {
        let below = folder.join((number / FILES_PER_FOLDER).to_string());
        if number % FILES_PER_FOLDER == 0 {
            std::fs::create_dir_all(&below)?;
        }
        std::fs::write(below.join(format!("{number}.stl")), b"solid")?;
    }
    Ok(())
}

/// A number in letters: a digit would make it a frame of a series.
fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// One triangle as binary STL, another for each number.
fn triangle(number: u32) -> Vec<u8> {
    let mut bytes = vec![0; 80];
    bytes.extend(1_u32.to_le_bytes());
    let corner = 1.0 + number as f32;
    for value in [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, corner, 0.0, 0.0, 0.0, corner, 0.0_f32] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0, 0]);
    bytes
}
