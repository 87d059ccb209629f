//! The logs of attempts: appended by the worker that holds the job, read by everybody.

use super::extract::{At, JsonBody, Params};
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::{Farm, Shared, blocking};
use crate::model::{Epoch, JobId, JobState, limits};
use crate::protocol::problem::ProblemCode;
use crate::protocol::work::LogAppend;
use crate::store::StoreError;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use std::fs::File;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Tells the size of the log up to the end of what was read.
pub(super) const LOG_SIZE: HeaderName = HeaderName::from_static("x-log-size");
/// Locks that appends share: two calls for one attempt must not interleave.
const LOCKS: usize = 16;
/// Jobs whose logs share a folder: making one for each job costs a short job more than its log.
const JOBS_PER_FOLDER: i64 = 1_000;
const END_NOTE: &str = "\n[The log ends here: it has reached its largest size.]\n";

/// The folder of the logs. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    folder: PathBuf,
    locks: Arc<[Mutex<()>; LOCKS]>,
}

/// A log could not be appended to or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    /// Bytes between are missing.
    #[error("the log has {size_bytes} bytes, so nothing can be appended at {offset}")]
    Gap {
        /// Bytes there are.
        size_bytes: u64,
        /// Where the text was to go.
        offset: u64,
    },
    /// The system refused.
    #[error("the log cannot be used: {source}. Check the disk and the rights on {path}")]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl From<LogError> for Refusal {
    fn from(error: LogError) -> Self {
        let message = error.to_string();
        match error {
            LogError::Gap { size_bytes, .. } => Self::new(
                StatusCode::CONFLICT,
                ProblemCode::Conflict,
                message,
                format!("Send the log from offset {size_bytes}."),
            ),
            LogError::File { path, source } if source.kind() == ErrorKind::StorageFull => {
                crate::artifacts::ArtifactError::DiskFull { path }.into()
            }
            LogError::File { .. } => Self::internal(message),
        }
    }
}

/// A piece of a log and the offset where it ends.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    bytes: Vec<u8>,
    end: u64,
}

impl Logs {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, locks: Arc::new(std::array::from_fn(|_| Mutex::new(()))) }
    }

    fn path(&self, job: JobId, epoch: Epoch) -> PathBuf {
        let before = self.folder.join(job.to_string()).join(format!("attempt-{epoch}.log"));
        // Farms of an earlier version have a folder for each job.
        if before.is_file() {
            return before;
        }
        let shared = format!("{}k", job.0.div_euclid(JOBS_PER_FOLDER));
        self.folder.join(shared).join(format!("{job}-attempt-{epoch}.log"))
    }

    /// Appends `text` that begins at `offset`; what is there already is not written again.
    fn append(&self, job: JobId, epoch: Epoch, offset: u64, text: &str) -> Result<(), LogError> {
        let path = self.path(job, epoch);
        let lock = self.locks.get(job.0.unsigned_abs() as usize % LOCKS);
        let _held = lock.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        let file_error = |source| LogError::File { path: path.clone(), source };
        let open = || File::options().append(true).create(true).open(&path);
        let mut file = match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| open())
            }
            opened => opened,
        }
        .map_err(file_error)?;
        let size_bytes = file.metadata().map_err(file_error)?.len();
        if size_bytes >= limits::ATTEMPT_LOG_BYTES {
            return Ok(());
        }
        let Some(known) = size_bytes.checked_sub(offset) else {
            return Err(LogError::Gap { size_bytes, offset });
        };
        let bytes = text.as_bytes();
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let Some(fresh) = bytes.get(known..) else { return Ok(()) };
        let room = usize::try_from(limits::ATTEMPT_LOG_BYTES - size_bytes).unwrap_or(usize::MAX);
        match fresh.get(..room) {
            // One write, so that a crash leaves a prefix and the worker can go on from there.
            Some(fitting) => {
                file.write_all(&[fitting, END_NOTE.as_bytes()].concat()).map_err(file_error)
            }
            None => file.write_all(fresh).map_err(file_error),
        }
    }

    /// Reads from `offset`, counted from the end where it is negative.
    fn read(&self, job: JobId, epoch: Epoch, offset: i64) -> Result<Piece, LogError> {
        let path = self.path(job, epoch);
        read_piece(&path, offset).or_else(|source| match source.kind() {
            ErrorKind::NotFound => Ok(Piece { bytes: Vec::new(), end: 0 }),
            _ => Err(LogError::File { path, source }),
        })
    }

    /// The last lines of an attempt's log, bounded.
    pub(super) fn tail(&self, job: JobId, epoch: Epoch) -> Result<Vec<String>, LogError> {
        let most = i64::try_from(limits::DEAD_LOG_BYTES).unwrap_or(i64::MAX);
        let piece = self.read(job, epoch, -most)?;
        Ok(last_lines(&String::from_utf8_lossy(&piece.bytes)))
    }
}

/// As many as a dead letter keeps.
pub(super) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(limits::DEAD_LOG_LINES);
    lines.into_iter().skip(first).map(str::to_owned).collect()
}

fn read_piece(path: &Path, offset: i64) -> std::io::Result<Piece> {
    let file = File::open(path)?;
    let size_bytes = file.metadata()?.len();
    piece(file, size_bytes, offset)
}

/// The bytes of a log from `offset`, counted from the end where it is negative.
fn piece(mut log: impl Read + Seek, size_bytes: u64, offset: i64) -> std::io::Result<Piece> {
    let from_end = offset < 0;
    let start = if from_end {
        size_bytes.saturating_sub(offset.unsigned_abs())
    } else {
        offset.unsigned_abs().min(size_bytes)
    };
    log.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    log.take(size_bytes.saturating_sub(start)).read_to_end(&mut bytes)?;
    let end = start.saturating_add(bytes.len() as u64);
    if from_end {
        // Not in the middle of a letter.
        let broken = bytes.iter().take_while(|byte| (**byte & 0xC0) == 0x80).count();
        bytes.drain(..broken);
    }
    Ok(Piece { bytes, end })
}

/// More lines of the running attempt.
#[utoipa::path(post, path = "/v1/jobs/{job}/log", tag = "workers", params(("job" = i64, Path)),
    request_body = LogAppend, responses((status = 204), Refusals, Conflicts))]
pub(super) async fn append(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<LogAppend>,
) -> Result<StatusCode, Refusal> {
    let LogAppend { fence, offset, text } = request;
    if !farm.leases().is_live(&fence.session) {
        return Err(Refusal::unknown_session());
    }
    if !farm.store.held(&fence.session).await?.contains(&(job, fence.epoch.0)) {
        return Err(not_held(job, farm.store.job(job).await?.job.state).into());
    }
    let logs = farm.logs.clone();
    blocking(move || logs.append(job, fence.epoch, offset, &text)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn not_held(job: JobId, state: JobState) -> StoreError {
    match state {
        JobState::Cancelled => StoreError::Cancelled(job),
        JobState::Succeeded | JobState::FailedTerminal => StoreError::Finished(job),
        _ => StoreError::Superseded(job),
    }
}

/// Which part of a log is read.
#[derive(Debug, Deserialize)]
pub(super) struct LogPart {
    epoch: Option<u32>,
    offset: Option<i64>,
}

/// The log of an attempt, of the last one where no epoch is given.
#[utoipa::path(get, path = "/v1/jobs/{job}/log", tag = "jobs",
    params(("job" = i64, Path), ("epoch" = Option<u32>, Query),
        ("offset" = Option<i64>, Query, description = "In bytes; negative counts from the end")),
    responses(
        (status = 200, body = String, content_type = "text/plain",
            headers(("x-log-size" = u64, description = "Where to read on, in bytes"))),
        Refusals))]
pub(super) async fn read(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    Params(part): Params<LogPart>,
) -> Result<impl IntoResponse, Refusal> {
    let detail = farm.store.job(job).await?;
    let last = detail.attempts.iter().map(|attempt| attempt.epoch).max();
    let epoch = part.epoch.map(Epoch).or(last);
    let piece = match epoch {
        Some(epoch) => piece_of(&farm, job, epoch, part.offset.unwrap_or(0)).await?,
        None => Piece { bytes: Vec::new(), end: 0 },
    };
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (LOG_SIZE, piece.end.to_string()),
    ];
    Ok((headers, piece.bytes))
}

async fn piece_of(farm: &Farm, job: JobId, epoch: Epoch, offset: i64) -> Result<Piece, Refusal> {
    if let Some(text) = farm.store.short_log(job, epoch).await? {
        let read = piece(Cursor::new(text.as_bytes()), text.len() as u64, offset);
        return read.map_err(|error| Refusal::internal(error.to_string()));
    }
    let logs = farm.logs.clone();
    blocking(move || logs.read(job, epoch, offset)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(7);
    const EPOCH: Epoch = Epoch(2);

    fn logs() -> (tempfile::TempDir, Logs) {
        let farm = tempfile::tempdir().unwrap();
        let logs = Logs::new(farm.path().join("logs"));
        (farm, logs)
    }

    fn text(logs: &Logs, offset: i64) -> String {
        String::from_utf8(logs.read(JOB, EPOCH, offset).unwrap().bytes).unwrap()
    }

    #[test]
    fn repeated_and_overlapping_appends_write_each_byte_once() {
        let (_farm, logs) = logs();
        assert_eq!(logs.read(JOB, EPOCH, 0).unwrap(), Piece { bytes: Vec::new(), end: 0 });
        logs.append(JOB, EPOCH, 0, "one\n").unwrap();
        logs.append(JOB, EPOCH, 0, "one\n").unwrap();
        logs.append(JOB, EPOCH, 0, "one\ntwo\n").unwrap();
        assert_eq!(text(&logs, 0), "one\ntwo\n");
        let gap = logs.append(JOB, EPOCH, 9, "x\n");
        assert!(matches!(gap, Err(LogError::Gap { size_bytes: 8, offset: 9 })));
        let refusal = Refusal::from(gap.unwrap_err());
        assert_eq!(refusal.status, StatusCode::CONFLICT);
        assert!(refusal.problem.remedy.contains("offset 8"));
    }

    #[test]
    fn jobs_share_folders_and_a_log_of_an_earlier_version_goes_on_where_it_lies() {
        let (farm, logs) = logs();
        let old = farm.path().join("logs/7");
        std::fs::create_dir_all(&old).unwrap();
        std::fs::write(old.join("attempt-1.log"), "one\n").unwrap();
        logs.append(JobId(7), Epoch(1), 4, "two\n").unwrap();
        logs.append(JobId(7), Epoch(2), 0, "new\n").unwrap();
        logs.append(JobId(8), Epoch(1), 0, "other\n").unwrap();
        assert_eq!(logs.read(JobId(7), Epoch(1), 0).unwrap().bytes, b"one\ntwo\n");
        assert_eq!(logs.read(JobId(7), Epoch(2), 0).unwrap().bytes, b"new\n");
        assert_eq!(std::fs::read_dir(farm.path().join("logs/0k")).unwrap().count(), 2);
    }

    #[test]
    fn a_log_is_read_from_both_ends() {
        let (_farm, logs) = logs();
        logs.append(JOB, EPOCH, 0, "one\nzwölf\n").unwrap();
        assert_eq!(text(&logs, 4), "zwölf\n");
        assert_eq!(text(&logs, -3), "lf\n".to_owned());
        assert_eq!(text(&logs, -4), "lf\n", "not in the middle of a letter");
        assert_eq!(text(&logs, i64::MIN), "one\nzwölf\n");
        assert_eq!(text(&logs, i64::MAX), "");
        assert_eq!(logs.read(JOB, EPOCH, -3).unwrap().end, 11);
    }

    #[test]
    fn the_tail_is_the_last_twenty_lines_and_bounded() {
        let (_farm, logs) = logs();
        assert!(logs.tail(JOB, EPOCH).unwrap().is_empty());
        let lines: Vec<String> = (1..=30).map(|line| format!("line {line}\n")).collect();
        let text = lines.concat();
        logs.append(JOB, EPOCH, 0, &text).unwrap();
        let tail = logs.tail(JOB, EPOCH).unwrap();
        assert_eq!((tail.len(), tail[0].as_str(), tail[19].as_str()), (20, "line 11", "line 30"));
        logs.append(JOB, EPOCH, text.len() as u64, &"x".repeat(1 << 20)).unwrap();
        let bytes: usize = logs.tail(JOB, EPOCH).unwrap().iter().map(String::len).sum();
        assert_eq!(bytes as u64, limits::DEAD_LOG_BYTES);
    }

    #[test]
    fn a_log_at_its_bound_ends_with_one_note() {
        let (_farm, logs) = logs();
        let line = "x".repeat(limits::ATTEMPT_LOG_BYTES as usize - 3);
        logs.append(JOB, EPOCH, 0, &line).unwrap();
        let offset = line.len() as u64;
        logs.append(JOB, EPOCH, offset, "abcdef\n").unwrap();
        logs.append(JOB, EPOCH, offset + 7, "ghi\n").unwrap();
        let end = text(&logs, -i64::try_from(END_NOTE.len() + 3).unwrap());
        assert_eq!(end, format!("abc{END_NOTE}"));
    }
}
