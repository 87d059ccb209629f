//! `sawah bench`: how fast the farm is on this machine, next to what the machine itself can do.
//!
//! Every figure of the farm stands beside the raw limit that bounds it, measured in the same run:
//! on a busy machine the ratio tells more than the number.

mod beats;
mod book;
mod claims;
mod crew;
mod echo;
mod ingest;
mod latency;
mod lives;
mod ordering;
mod previews;
mod programs;
mod raw;
mod samples;
mod served;
mod serving;
mod shots;
mod timing;
mod wal;
mod watching;
mod wire;
mod wire_lives;

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::store::StoreError;
use book::Book;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Queued jobs of a usual, a quick and a full run.
const JOBS: usize = 100_000;
const QUICK_JOBS: usize = 5_000;
const FULL_JOBS: usize = 1_000_000;
/// Shots whose frames live in one measurement.
const SHOTS: usize = 4;
/// Time for one measurement.
const BUDGET: Duration = Duration::from_secs(3);
const QUICK_BUDGET: Duration = Duration::from_millis(300);

const EXAMPLES: &str = "Examples:
  sawah bench --quick
  sawah bench --json
  sawah bench --renderers
  sawah bench --previews models
  sawah bench --watch
  sawah bench --ingest 2G --folder /srv/farm-disk
  sawah bench --full --folder /srv/farm-disk

It measures on a folder of its own, which it removes: put that on the disk the farm will use. A
submission makes one pipeline with one job; lives are those of jobs that draw one frame each.";

/// Measure the farm's speed on this machine, next to the raw limits of disk, SQLite and HTTP
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct BenchArguments {
    /// Less of everything, in well under a minute
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// A million queued jobs; takes long and needs some gigabytes of disk
    #[arg(long)]
    full: bool,
    /// Jobs that wait while claims, memory and start are measured [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: Option<u32>,
    /// What the farm adds to programs: light frames beside Blender by hand, `true` beside xargs
    #[arg(long, conflicts_with_all = ["full", "jobs"])]
    renderers: bool,
    /// Pictures of the models in a folder beside f3d, and of an EXR beside ffmpeg and oiiotool; f3d
    /// needs a display
    #[arg(long, value_name = "DIR", conflicts_with_all = ["full", "jobs", "renderers"])]
    previews: Option<PathBuf>,
    /// A file of this size into the content store, hashed and flushed, beside dd that copies and
    /// flushes [default: 2G]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, default_missing_value = "")]
    #[arg(value_parser = ingest::Size::parse)]
    #[arg(conflicts_with_all = ["full", "jobs", "renderers", "previews"])]
    ingest: Option<ingest::Size>,
    /// How soon files of watch folders are worked on, and what watching many files costs
    #[arg(long, conflicts_with_all = ["full", "jobs", "renderers", "previews", "ingest"])]
    watch: bool,
    /// Where to measure; a new folder is made inside and removed [default: the system's own for
    /// temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// How much is measured, and where.
#[derive(Debug)]
struct Plan {
    folder: PathBuf,
    budget: Duration,
    jobs: usize,
    quick: bool,
}

impl Plan {
    /// Shots of the most frames that are enough for the lives of one measurement.
    fn shots(&self) -> usize {
        if self.quick { 1 } else { SHOTS }
    }
}

/// What cannot be measured.
#[derive(Debug, thiserror::Error)]
enum BenchError {
    /// The store refused a verb.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk or the network.
    #[error("the measurement broke off: {0}. Check the space and the rights of the folder")]
    Io(#[from] std::io::Error),
    /// An answer is not what it should be.
    #[error("the coordinator under measurement answered wrongly: {why}. Call: {path}")]
    Answer {
        /// The call.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A measurement that has nothing to work on.
    #[error("nothing was there to measure: {0}")]
    Nothing(String),
}

impl From<BenchError> for CliError {
    fn from(error: BenchError) -> Self {
        Self::failed(&error)
    }
}

pub(super) fn run(context: &Context, arguments: &BenchArguments) -> Result<Exit, CliError> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("sawah-bench-");
    let folder = match &arguments.folder {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    }
    .map_err(BenchError::Io)?;
    let plan = plan(arguments, folder.path().to_owned());
    let mut book = Book::default();
    let measured = Context::runtime()?.block_on(async {
        tokio::select! {
            done = measure_all(context, arguments, &plan, &mut book) => done.map(|()| Exit::Done),
            () = super::signals::end_wanted() => Ok(Exit::Interrupted),
        }
    });
    drop(folder);
    let exit = measured?;
    if context.json {
        output::json(&book)?;
    } else {
        book.print()?;
    }
    Ok(exit)
}

fn plan(arguments: &BenchArguments, folder: PathBuf) -> Plan {
    let usual = match (arguments.quick, arguments.full) {
        (true, _) => QUICK_JOBS,
        (_, true) => FULL_JOBS,
        _ => JOBS,
    };
    let jobs = arguments.jobs.and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or(usual);
    let budget = if arguments.quick { QUICK_BUDGET } else { BUDGET };
    Plan { folder, budget, jobs, quick: arguments.quick }
}

async fn measure_all(
    context: &Context,
    arguments: &BenchArguments,
    plan: &Plan,
    book: &mut Book,
) -> Result<(), BenchError> {
    if let Some(models) = &arguments.previews {
        return previews::measure(models, plan, book);
    }
    if let Some(size) = arguments.ingest {
        return ingest::measure(size, plan, book);
    }
    if arguments.watch {
        return watching::measure(plan, book).await;
    }
    if arguments.renderers {
        return programs::measure(context, plan, book).await;
    }
    measure(context, plan, book).await
}

/// Everything in turn: the machine first, so that the farm's figures can be compared with it.
async fn measure(context: &Context, plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    output::note("Measuring the disk and SQLite");
    raw::measure(plan, book)?;
    output::note("Measuring HTTP");
    echo::measure(plan, book).await?;
    output::note("Measuring submissions and claims");
    let store = shots::Studio::open(context, &plan.folder.join("store"))?;
    ordering::measure(plan, book, &store).await?;
    claims::measure(context, plan, book, &store).await?;
    output::note("Measuring lives of jobs in the store");
    lives::measure(plan, book, &store).await?;
    wal::measure(plan, book, &store).await?;
    store.close().await;
    output::note("Measuring the coordinator over HTTP");
    let served = served::Served::start(&plan.folder.join("served")).await?;
    serving::idle(book, &served);
    latency::measure(plan, book, &served.line).await?;
    wire_lives::measure(plan, book, &served.line).await?;
    beats::measure(plan, book, &served).await?;
    served.stop().await?;
    output::note("Measuring a start with waiting jobs");
    serving::with_jobs(book, &plan.folder.join("store")).await
}
