//! Files that are right before their attempt is done: sent to the coordinator while the stage runs,
//! so that whatever becomes of the attempt they need not be made again.

use super::attempt::Attempt;
use super::outputs;
use crate::model::limits;
use crate::policy::flow;
use crate::protocol::work::{Failure, KeepRequest};
use crate::stages::{Produced, StageOutput};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Files that wait to be sent.
#[derive(Debug, Default)]
pub struct KeepBuffer {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Produced>,
    is_closed: bool,
}

impl KeepBuffer {
    /// Adds one file. What finds no room is kept with the result only.
    pub fn push(&self, file: Produced) {
        let mut state = self.state();
        if !state.is_closed && state.waiting.len() < limits::OUTPUTS_PER_JOB {
            state.waiting.push(file);
            self.wake.notify_one();
        }
    }

    /// No more files: the task that sends them ends when all are sent.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.wake.notify_one();
    }

    /// What waits; none when nothing more comes.
    async fn next(&self) -> Option<Vec<Produced>> {
        loop {
            {
                let mut state = self.state();
                if !state.waiting.is_empty() {
                    return Some(std::mem::take(&mut state.waiting));
                }
                if state.is_closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends files until the buffer is closed and empty. One that cannot be sent is made again by the
/// next attempt, or comes with the result.
pub(super) async fn send(attempt: &Attempt) {
    while let Some(files) = attempt.kept.next().await {
        let count = files.len();
        if let Err(failure) = send_some(attempt, files).await {
            tracing::warn!(job = %attempt.job(), count, why = failure.message, "frames are not kept");
        }
    }
}

async fn send_some(attempt: &Attempt, files: Vec<Produced>) -> Result<(), Failure> {
    let verified = attempt.verify(StageOutput { files, ..StageOutput::default() }).await?;
    attempt.upload(&verified).await?;
    let files = verified.into_iter().map(|one| one.file).collect();
    let request = KeepRequest { fence: attempt.fence.clone(), files };
    let told = attempt.session.worker.api.keep(attempt.job(), &request).await;
    told.map_err(|error| Failure::new(crate::model::Reason::NetworkError, error.to_string()))
}

/// The outputs of a result: what was kept before, and what this attempt made.
pub(super) fn together(
    kept: &[crate::protocol::work::OutputFile],
    verified: Vec<outputs::Verified>,
) -> Vec<crate::protocol::work::OutputFile> {
    let mut all: Vec<_> = verified.into_iter().map(|verified| verified.file).collect();
    // Small pictures are for those who watch, and no result.
    let results = kept.iter().filter(|file| !file.name.starts_with(flow::THUMBNAIL_FOLDER));
    for file in results {
        if !all.iter().any(|made| made.name == file.name) {
            all.push(file.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Checksum;
    use crate::protocol::work::OutputFile;

    fn file(name: &str, content: &[u8]) -> OutputFile {
        OutputFile {
            name: name.to_owned(),
            checksum: Checksum::of(content),
            size_bytes: 1,
            media_type: "image/png".to_owned(),
        }
    }

    #[test]
    fn a_result_holds_each_file_once_and_the_new_one_counts() {
        let made = outputs::Verified { path: "x".into(), file: file("render/2.png", b"new") };
        let small = file("thumbnails/1.png", b"small");
        let kept = [file("render/1.png", b"old"), file("render/2.png", b"old"), small];
        let all = together(&kept, vec![made]);
        assert_eq!(all, [file("render/2.png", b"new"), file("render/1.png", b"old")]);
    }

    #[tokio::test]
    async fn what_was_pushed_comes_out_once_and_the_end_is_told() {
        let buffer = KeepBuffer::default();
        let one = Produced { name: "a".to_owned(), media_type: "image/png".to_owned() };
        buffer.push(one.clone());
        buffer.close();
        buffer.push(one.clone());
        assert_eq!(buffer.next().await, Some(vec![one]));
        assert_eq!(buffer.next().await, None);
    }
}
