//! A large file into the content store, hashed and flushed to the disk, beside `dd` that only
//! copies and flushes.

use super::book::{Book, Unit};
use super::programs::is_there;
use super::{BenchError, Plan};
use crate::artifacts::{AdoptOptions, Artifacts, Links, Way};
use crate::cli::{output, words};
use crate::clock::Stopwatch;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Size of the file of a usual and a quick run.
const BYTES: u64 = 2 << 30;
const QUICK_BYTES: u64 = 256 << 20;
/// Smallest and largest file that is measured.
const LEAST_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 1 << 40;
/// Times that each is measured, in turns; the middle one counts.
const ROUNDS: usize = 5;
const QUICK_ROUNDS: usize = 3;
/// Bytes made at once.
const PIECE_BYTES: usize = 1 << 20;

const AREA: &str = "ingest";
const DD: &str = "dd bs=1M conv=fsync";

/// The size of the file that is measured, in bytes; none means that of the kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(Option<u64>);

impl Size {
    /// What stands behind `--ingest`: nothing, or a number with K, M, G or T for powers of 1024.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let wrong = || format!("'{text}' is no size: write it as 512M or 2G, from 1M to 1T");
        let upper = text.to_ascii_uppercase();
        let short = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
        let digits = short.trim_end_matches(['K', 'M', 'G', 'T']);
        let shift = match short.strip_prefix(digits) {
            Some("") => 0,
            Some("K") => 10,
            Some("M") => 20,
            Some("G") => 30,
            Some("T") => 40,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
        if !(LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
            return Err(wrong());
        }
        Ok(Self(Some(bytes)))
    }
}

/// Measures both in turns, with the file in the system's cache each time.
pub(super) fn measure(size: Size, plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    if !is_there("dd") {
        let why = "dd is not in the path: apt install coreutils";
        return Err(BenchError::Nothing(why.to_owned()));
    }
    let (usual, rounds) = if plan.quick { (QUICK_BYTES, QUICK_ROUNDS) } else { (BYTES, ROUNDS) };
    let size_bytes = size.0.unwrap_or(usual);
    output::note(&format!("Making a file of {}", words::size(size_bytes)));
    let source = plan.folder.join("source.bin");
    make(&source, size_bytes)?;
    let store = Artifacts::open(&plan.folder.join("farm")).map_err(nothing)?;
    let (mut by_dd, mut adopted) = (Vec::new(), Vec::new());
    let mut way = Way::Copied;
    for round in 1..=rounds {
        output::note(&format!("Taking it in, round {round} of {rounds}"));
        warm(&source)?;
        by_dd.push(copied(&source, plan)?);
        warm(&source)?;
        let (took, done) = taken_in(&source, &store, plan)?;
        adopted.push(took);
        way = done;
    }
    let speed = |took: Vec<Duration>| size_bytes as f64 / 1e9 / median_seconds(took).max(1e-9);
    let ours = match way {
        Way::Copied => "hashed and copied",
        Way::Cloned => "hashed and cloned by reflink",
    };
    book.add(AREA, DD, speed(by_dd), Unit::GigabytesPerSecond);
    book.compare(AREA, ours, speed(adopted), Unit::GigabytesPerSecond, (AREA, DD));
    Ok(())
}

/// Bytes that no disk can make smaller, on the disk and in the cache.
fn make(path: &Path, size_bytes: u64) -> Result<(), BenchError> {
    let mut random = blake3::Hasher::new().finalize_xof();
    let mut file = File::create_new(path)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = size_bytes;
    while left > 0 {
        random.fill(&mut piece);
        let count = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        file.write_all(piece.get(..count).unwrap_or_default())?;
        left -= count as u64;
    }
    file.sync_all()?;
    Ok(())
}

/// Has the file in the system's cache, as one that was just copied is.
fn warm(path: &Path) -> Result<(), BenchError> {
    let mut file = std::io::BufReader::with_capacity(PIECE_BYTES, File::open(path)?);
    std::io::copy(&mut file, &mut std::io::sink())?;
    Ok(())
}

fn copied(source: &Path, plan: &Plan) -> Result<Duration, BenchError> {
    let target = plan.folder.join("copy.bin");
    let argument = |key: &str, path: &Path| {
        let mut argument = std::ffi::OsString::from(key);
        argument.push(path);
        argument
    };
    let mut command = Command::new("dd");
    command.args([argument("if=", source), argument("of=", &target)]).args(["bs=1M", "conv=fsync"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let watch = Stopwatch::start();
    let status = command.status()?;
    let took = watch.elapsed();
    if !status.success() {
        return Err(BenchError::Nothing(format!("dd ended with {status}")));
    }
    forget(&target, plan)?;
    Ok(took)
}

fn taken_in(source: &Path, store: &Artifacts, plan: &Plan) -> Result<(Duration, Way), BenchError> {
    let options =
        AdoptOptions { max_bytes: u64::MAX, links: Links::Refuse, is_cancelled: &|| false };
    let watch = Stopwatch::start();
    let adopted = store.adopt(source, &options).map_err(nothing)?;
    let took = watch.elapsed();
    forget(&store.path(&adopted.checksum), plan)?;
    Ok((took, adopted.way))
}

/// Removes a copy, so that the next one is as new, and lets the disk come to rest.
fn forget(path: &PathBuf, plan: &Plan) -> Result<(), BenchError> {
    std::fs::remove_file(path)?;
    if cfg!(unix) {
        File::open(&plan.folder)?.sync_all()?;
    }
    Ok(())
}

fn nothing(error: impl std::fmt::Display) -> BenchError {
    BenchError::Nothing(error.to_string())
}

fn median_seconds(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took.get(took.len() / 2).map_or(0.0, Duration::as_secs_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused() {
        for (text, bytes) in [
            ("2G", 2 << 30),
            ("2GiB", 2 << 30),
            ("512m", 512 << 20),
            ("300MB", 300 << 20),
            ("1048576", 1 << 20),
            ("1t", 1 << 40),
        ] {
            assert_eq!(Size::parse(text), Ok(Size(Some(bytes))), "{text}");
        }
        assert_eq!(Size::parse(""), Ok(Size(None)));
        for text in ["2X", "G", "1.5G", "1K", "2T", "-1G", "99999999999999999999G", "1KM"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn both_are_measured_and_compared() {
        let folder = tempfile::tempdir().unwrap();
        let plan =
            Plan { folder: folder.path().to_owned(), budget: Duration::ZERO, jobs: 0, quick: true };
        let mut book = Book::default();
        measure(Size(Some(3 << 20)), &plan, &mut book).unwrap();
        let told = serde_json::to_value(&book).unwrap();
        let figures = told["figures"].as_array().unwrap();
        assert_eq!((figures.len(), &figures[1]["unit"]), (2, &"GB/s".into()));
        assert!(figures[1]["name"].as_str().unwrap().starts_with("hashed and c"));
        assert_eq!(figures[1]["ratio"]["to"], "ingest: dd bs=1M conv=fsync");
        assert!(figures[1]["ratio"]["value"].as_f64().unwrap() > 0.0);
        let kept = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(kept, 2, "the file and the farm; no copy stays");
    }
}
