//! A program that is kept running between chunks of one scene: its start costs more than a light
//! frame.
//!
//! A script of ours inside it takes one order a chunk from a pipe. It lives in the host, with a copy
//! of the scene's files of its own, as long as chunks of the same scene with the same settings come.
//! Whatever is doubtful about it ends it; the frames that are missing are then drawn as usual.

use super::super::{StageRequest, Stay};
use super::order::Order;
use crate::model::frames::FrameList;
use crate::model::{Checksum, limits};
use crate::programs::{self, Bounds, EndSignal, EndWhy, Heard, Program, mark};
use crate::renderers::lines::Lines;
use std::io::{self, PipeWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it may take to end after it was asked to.
const GRACE_MS: u64 = 2_000;
/// How long a program that waits for an order may take to begin it.
const ANSWER_MS: u64 = 10_000;
/// Most output that waits to be read, in bytes: one that writes on and on while nobody asks it to.
const WAITING_BYTES: usize = 8 << 20;
/// The same in pieces, as they were read.
const WAITING_PIECES: usize = 4_096;
/// What the script's lines begin with.
const OURS: &str = "Sawah: ";

/// The one that is kept by this process.
static KEPT: Mutex<Option<Warm>> = Mutex::new(None);

/// Why a program that was kept is used no more.
#[derive(Debug, thiserror::Error)]
pub(super) enum Doubt {
    /// It has ended.
    #[error("it has ended")]
    Ended,
    /// It does not begin what it is told.
    #[error("it does not answer")]
    Silent,
    /// It said that it could not.
    #[error("it failed: {0}")]
    Failed(String),
    /// It could not be started or told anything.
    #[error("it cannot be kept: {0}")]
    System(#[from] io::Error),
}

/// What must be the same for a program to be used again.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    program: Program,
    /// The scene and all that it needs.
    files: Vec<(String, Checksum)>,
    memory_bytes: u64,
}

struct Warm {
    key: Key,
    feed: PipeWriter,
    told: Receiver<Told>,
    lines: Lines,
    shared: Arc<Shared>,
    end: EndSignal,
    thread: Option<JoinHandle<()>>,
    orders: u64,
}

#[derive(Default)]
struct Shared {
    peak_bytes: AtomicU64,
    waiting_bytes: AtomicUsize,
}

enum Told {
    Output(Vec<u8>),
    Ended,
}

/// Where a chunk is drawn by a program that stays.
pub(super) struct Plan {
    key: Key,
    scene_dir: PathBuf,
    picture: String,
    script: (PathBuf, &'static str),
    stay: Stay,
}

impl Plan {
    /// None where nothing is gained, or the program cannot stay. A scene that stays where it lies may
    /// have side files that are saved again between two chunks: it is read anew for each.
    pub(super) fn of(
        order: &Order<'_>,
        request: &StageRequest,
        frames: &FrameList,
        total: u32,
    ) -> Option<Self> {
        let stay = request.stay.clone()?;
        // The only chunk: nothing comes after it.
        if order.scene.frames().count() <= total {
            return None;
        }
        let text = order.profile.warm.as_ref()?.text()?;
        let script = stay.folder.join("warm-script.py");
        let scene_dir = stay.folder.join("scene");
        let file = scene_dir.join(order.file.strip_prefix(&request.input_dir).ok()?);
        let (mut program, picture) = order.warm_command(frames, &file, &script)?;
        // It belongs to the host, not to the attempt that starts it.
        let temporary = stay.folder.join("tmp").to_string_lossy().into_owned();
        for name in ["TMPDIR", "TMP", "TEMP"] {
            program.set.entry(name.to_owned()).or_insert_with(|| temporary.clone());
        }
        if let Ok(mark) = std::env::var(mark::VARIABLE) {
            program.set.insert(mark::VARIABLE.to_owned(), mark);
        }
        let assignment = &request.assignment;
        let files = assignment.dependencies.iter();
        let files = files.map(|file| (file.name.clone(), file.checksum)).collect();
        let key = Key { program, files, memory_bytes: assignment.limits.memory_bytes };
        Some(Self { key, scene_dir, picture, script: (script, text), stay })
    }

    /// What draws the frames, for people.
    pub(super) fn words(&self, title: &str) -> String {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|warm| warm.is_alive() && warm.key == self.key) {
            return format!("{title} runs already, with this scene");
        }
        format!("$ {} (stays for the next chunks)", self.key.program.shown())
    }

    /// Draws `frames`; `hear` gets what the program writes. The most memory that it took so far.
    pub(super) fn draw(
        self,
        input_dir: &Path,
        frames: &FrameList,
        hear: &mut dyn FnMut(&str),
    ) -> Result<u64, Doubt> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warm = match kept.take().filter(Warm::is_alive) {
            Some(warm) if warm.key == self.key => warm,
            other => {
                drop(other);
                self.start(input_dir, hear)?
            }
        };
        let picture = self.picture;
        warm.order(frames, &picture, hear)?;
        let peak = warm.shared.peak_bytes.load(Ordering::Relaxed);
        *kept = Some(warm);
        Ok(peak)
    }

    fn start(&self, input_dir: &Path, hear: &mut dyn FnMut(&str)) -> Result<Warm, Doubt> {
        match std::fs::remove_dir_all(&self.scene_dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        copy(input_dir, &self.scene_dir)?;
        std::fs::write(&self.script.0, self.script.1)?;
        let mut warm = Warm::start(&self.key, &self.stay.folder.join("warm.log"))?;
        // A large scene takes its time; the attempt's own limits hold.
        warm.hear_until("ready", None, hear)?;
        Ok(warm)
    }
}

/// Ends the program that is kept, if there is one.
pub(super) fn end() {
    drop(KEPT.lock().unwrap_or_else(PoisonError::into_inner).take());
}

impl Warm {
    fn start(key: &Key, log: &Path) -> io::Result<Self> {
        let (input, feed) = io::pipe()?;
        let (tell, told) = sync_channel(WAITING_PIECES);
        let (end, shared) = (EndSignal::new(), Arc::<Shared>::default());
        let bounds = Bounds {
            memory_bytes: key.memory_bytes,
            grace_ms: GRACE_MS,
            log_bytes: limits::ATTEMPT_LOG_BYTES,
        };
        let (program, log) = (key.program.clone(), log.to_owned());
        let thread = {
            let (end, shared) = (end.clone(), Arc::clone(&shared));
            std::thread::Builder::new().name("warm-program".to_owned()).spawn(move || {
                let mut hear = |heard: Heard<'_>| shared.hear(heard, &tell, &end);
                // However it ended: it is used no more.
                let _ = programs::run_fed(&program, input, &bounds, &log, &end, &mut hear);
                // Where it finds no room the end of the queue says the same.
                let _ = tell.try_send(Told::Ended);
            })?
        };
        let key = Key {
            program: key.program.clone(),
            files: key.files.clone(),
            memory_bytes: key.memory_bytes,
        };
        let lines = Lines::default();
        Ok(Self { key, feed, told, lines, shared, end, thread: Some(thread), orders: 0 })
    }

    fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Has it draw `frames`.
    fn order(
        &mut self,
        frames: &FrameList,
        picture: &str,
        hear: &mut dyn FnMut(&str),
    ) -> Result<(), Doubt> {
        self.orders += 1;
        let number = self.orders;
        let order =
            serde_json::json!({"order": number, "frames": frames.as_slice(), "out": picture});
        writeln!(self.feed, "{order}")?;
        // What it wrote before belongs to nobody.
        let answer = Some(Duration::from_millis(ANSWER_MS));
        self.hear_until(&format!("order {number} begins"), answer, &mut |_| {})?;
        self.hear_until(&format!("order {number} done"), None, hear)
    }

    /// Reads what it writes up to a line of ours.
    fn hear_until(
        &mut self,
        wanted: &str,
        within: Option<Duration>,
        hear: &mut dyn FnMut(&str),
    ) -> Result<(), Doubt> {
        loop {
            let told = match within {
                Some(within) => self.told.recv_timeout(within),
                None => self.told.recv().map_err(RecvTimeoutError::from),
            };
            let bytes = match told {
                Ok(Told::Output(bytes)) => bytes,
                Err(RecvTimeoutError::Timeout) => return Err(Doubt::Silent),
                Ok(Told::Ended) | Err(RecvTimeoutError::Disconnected) => return Err(Doubt::Ended),
            };
            self.shared.waiting_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
            let (mut is_there, mut failed) = (false, None);
            self.lines.push(&bytes, |line| match line.strip_prefix(OURS) {
                Some(said) if said == wanted => is_there = true,
                Some(said) => failed = failed.take().or_else(|| why_failed(said)),
                None => hear(line),
            });
            if let Some(why) = failed {
                return Err(Doubt::Failed(why));
            }
            if is_there {
                return Ok(());
            }
        }
    }
}

fn why_failed(said: &str) -> Option<String> {
    said.split_once(" failed: ").map(|(_, why)| why.to_owned())
}

/// Nothing of it is left when this returns.
impl Drop for Warm {
    fn drop(&mut self) {
        self.end.end(EndWhy::Fault);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn hear(&self, heard: Heard<'_>, tell: &SyncSender<Told>, end: &EndSignal) {
        match heard {
            Heard::Output(bytes) => {
                let before = self.waiting_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
                let is_told =
                    before <= WAITING_BYTES && tell.try_send(Told::Output(bytes.to_vec())).is_ok();
                if !is_told {
                    end.end(EndWhy::Fault);
                }
            }
            Heard::Usage(usage) => {
                self.peak_bytes.fetch_max(usage.peak_memory_bytes, Ordering::Relaxed);
            }
        }
    }
}

/// Puts the files of one folder into another by links: what the program reads late must be there when
/// the first attempt's folder is gone.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &target)?;
        } else if std::fs::hard_link(&path, &target).is_err() {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "warm_tests.rs"]
mod tests;
