//! Writers that do everything wrong, and a reader that runs beside them: no half of a file may
//! ever be stored.

use super::bench::{Bench, SETTLE_MS, png};
use crate::clock::Clock as _;
use crate::model::Checksum;
use crate::protocol::watch::WatchFileState;
use crate::simulation::random::Random;
use crate::watch::jobs::{Done, Job};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, UNIX_EPOCH};

/// The writers begin within this time.
const BEGIN_MS: u64 = 20_000;
const TICK_MS: u64 = 100;

/// What a writer does next.
enum Op {
    /// Opens its file, with nothing in it.
    Create(PathBuf),
    /// Opens it to go on at its end.
    Reopen(PathBuf),
    /// Writes bytes where it is.
    Write(Vec<u8>),
    /// Makes the file as long, and goes to its beginning.
    SetLen(u64),
    Close,
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Pause(u64),
}

/// One program that writes one file.
struct Writer {
    ops: VecDeque<Op>,
    file: Option<File>,
    next_ms: u64,
}

/// Bytes in up to five pieces with pauses between them; where the file stays open, or its end can be
/// seen, a pause may be longer than the settle time.
fn pieces(random: &mut Random, bytes: &[u8], path: &Path, has_end: bool) -> Vec<Op> {
    let mut ops = Vec::new();
    let most = random.range(1, 5);
    let mut left = bytes;
    for piece in 1..=most {
        let length = if piece == most { left.len() } else { left.len() / 2 };
        let (now, later) = left.split_at(length);
        ops.push(Op::Write(now.to_vec()));
        left = later;
        if piece < most {
            let closes = random.permille(400);
            let long = if closes && !has_end { SETTLE_MS * 6 / 10 } else { SETTLE_MS * 4 };
            let pause = Op::Pause(random.range(0, long));
            if closes {
                ops.extend([Op::Close, pause, Op::Reopen(path.to_owned())]);
            } else {
                ops.push(pause);
            }
        }
    }
    ops
}

/// What one writer does, until its file has its last bytes.
fn script(random: &mut Random, bench: &Bench, number: u32) -> (Writer, Vec<u8>) {
    let has_end = random.permille(700);
    let bytes = if has_end { png(number) } else { stone(number) };
    let letters: String =
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    let path = bench.path(format!("{letters}.{}", if has_end { "png" } else { "obj" }));
    let other =
        bench.path(format!("{letters}.{}", ["part", "tmp", "png.crdownload"][number as usize % 3]));
    let mut ops = Vec::new();
    match random.range(0, 5) {
        // Beside, and then into place.
        0 => {
            ops.push(Op::Create(other.clone()));
            ops.extend(pieces(random, &bytes, &other, false));
            ops.extend([Op::Close, Op::Rename(other, path)]);
        }
        // A half that is cut off, and everything anew.
        1 => {
            ops.push(Op::Create(path.clone()));
            ops.extend(pieces(random, &bytes[..bytes.len() / 2], &path, has_end));
            ops.extend([
                Op::SetLen(random.range(0, 20)),
                Op::Pause(random.range(0, 4 * SETTLE_MS)),
            ]);
            ops.push(Op::SetLen(0));
            ops.extend(pieces(random, &bytes, &path, has_end));
        }
        // The whole length at once, and the bytes later.
        2 => {
            ops.push(Op::Create(path.clone()));
            ops.extend([Op::SetLen(bytes.len() as u64), Op::Pause(random.range(0, 4 * SETTLE_MS))]);
            ops.extend([Op::Write(bytes.clone())]);
        }
        // Half a file that is deleted, and written once more.
        3 => {
            ops.push(Op::Create(path.clone()));
            ops.extend([Op::Write(bytes[..bytes.len() / 3].to_vec()), Op::Close]);
            ops.extend([Op::Pause(random.range(0, SETTLE_MS / 2)), Op::Remove(path.clone())]);
            ops.extend([Op::Pause(random.range(0, SETTLE_MS)), Op::Create(path.clone())]);
            ops.extend(pieces(random, &bytes, &path, has_end));
        }
        _ => {
            ops.push(Op::Create(path.clone()));
            ops.extend([Op::Pause(random.range(0, 4 * SETTLE_MS))]);
            ops.extend(pieces(random, &bytes, &path, has_end));
        }
    }
    ops.push(Op::Close);
    let next_ms = bench.clock.now().mono_ms + random.range(0, BEGIN_MS);
    (Writer { ops: ops.into(), file: None, next_ms }, bytes)
}

/// A mesh without an end that could be seen; no two have the same bytes.
fn stone(number: u32) -> Vec<u8> {
    use std::fmt::Write as _;
    let mut text = format!("# stone {number}\n");
    for line in 0..200 {
        writeln!(text, "v {line} {number} 0").unwrap();
    }
    text.push_str("f 1 2 3\n");
    text.into_bytes()
}

impl Writer {
    /// Does what is due. Each change has a time of its own: the real clock stands still in a test
    /// that runs a minute in a second.
    fn run(&mut self, now_ms: u64, stamp: &mut u64) {
        while now_ms >= self.next_ms {
            let Some(op) = self.ops.pop_front() else { return };
            match op {
                Op::Create(path) => self.file = Some(File::create(path).unwrap()),
                Op::Reopen(path) => {
                    self.file = Some(OpenOptions::new().append(true).open(path).unwrap());
                }
                Op::Write(bytes) => self.file.as_mut().unwrap().write_all(&bytes).unwrap(),
                Op::SetLen(bytes) => {
                    let file = self.file.as_mut().unwrap();
                    file.set_len(bytes).unwrap();
                    file.seek(SeekFrom::Start(0)).unwrap();
                }
                Op::Close => self.file = None,
                Op::Rename(from, to) => std::fs::rename(from, to).unwrap(),
                Op::Remove(path) => std::fs::remove_file(path).unwrap(),
                Op::Pause(ms) => self.next_ms = now_ms + ms,
            }
            if let Some(file) = &self.file {
                *stamp += 1;
                let changed = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_000 + *stamp);
                file.set_modified(changed).unwrap();
            }
        }
    }
}

/// A reader on a thread of its own, as the watcher has.
fn reader(bench: &Bench) -> (SyncSender<Job>, Receiver<Done>) {
    let tools = bench.engine.as_ref().unwrap().tools.clone();
    let (jobs, waiting) = sync_channel::<Job>(16);
    let (finished, done) = sync_channel(16);
    let read = move || {
        for job in waiting {
            if finished.send(tools.run(job)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("reader".to_owned()).spawn(read).unwrap();
    (jobs, done)
}

fn fuzz(seed: u64, files: u32) {
    let mut random = Random::new(seed);
    let mut bench = Bench::new();
    let (mut writers, mut last) = (Vec::new(), BTreeSet::new());
    for number in 0..files {
        let (writer, bytes) = script(&mut random, &bench, number);
        writers.push(writer);
        last.insert(Checksum::of(&bytes).to_string());
    }
    let (jobs, done) = reader(&bench);
    let (mut stamp, mut running) = (0, 0_usize);
    for _ in 0..5_000 {
        let now = bench.clock.now();
        for writer in &mut writers {
            writer.run(now.mono_ms, &mut stamp);
        }
        for job in bench.step() {
            jobs.send(job).unwrap();
            running += 1;
        }
        let is_written = writers.iter().all(|writer| writer.ops.is_empty());
        // While there are writers, jobs end whenever they do; after them, time waits for jobs.
        let next = if is_written && running > 0 { done.recv().ok() } else { done.try_recv().ok() };
        let has_done = next.is_some();
        for one in next.into_iter().chain(done.try_iter()) {
            running -= 1;
            let now = bench.clock.now();
            bench.engine.as_mut().unwrap().done(one, now).unwrap();
        }
        if is_written && running == 0 && !has_done && bench.stored().len() >= files as usize {
            break;
        }
        bench.pass_ms(TICK_MS);
    }
    bench.run_ms(4 * SETTLE_MS);
    let stored: BTreeSet<String> = bench.stored().into_iter().collect();
    let partial: Vec<_> = stored.difference(&last).collect();
    assert!(partial.is_empty(), "seed {seed}: never a last content: {partial:?}");
    let left: Vec<_> =
        bench.files().into_iter().filter(|file| file.state != WatchFileState::Accepted).collect();
    assert!(left.is_empty(), "seed {seed}: {left:#?}");
    assert_eq!(stored, last, "seed {seed}");
    assert_eq!(bench.pipelines(), files as usize, "seed {seed}: each file once");
}

#[test]
fn whatever_a_writer_does_no_half_of_a_file_is_stored() {
    fuzz(0, 1_000);
    for seed in 1..4 {
        fuzz(seed, 200);
    }
}
