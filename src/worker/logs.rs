//! The log of one attempt on its way to the coordinator: whole lines, in batches, each byte once.

use super::api::Api;
use super::bounds;
use crate::model::{JobId, limits};
use crate::protocol::work::{Fence, LogAppend};
use crate::stages::message::cut;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Kept free for the note that ends a log which is too long.
const NOTE_BYTES: u64 = 256;

/// Lines that wait to be sent.
#[derive(Debug, Default)]
pub struct LogBuffer {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    pending: String,
    /// Bytes that the coordinator has.
    sent_bytes: u64,
    /// Lines that found no room.
    dropped: u64,
    /// The log has its largest size.
    full: bool,
    closed: bool,
    /// A batch is on its way, and may arrive.
    is_sending: bool,
}

impl LogBuffer {
    /// Adds one line; control characters become blanks. Never waits: without room the line is
    /// counted and dropped.
    pub fn push(&self, line: &str) {
        let mut state = self.state();
        if state.full || state.closed {
            return;
        }
        let line = cut(line, limits::LOG_LINE_BYTES);
        let so_far = state.sent_bytes.saturating_add(state.pending.len() as u64);
        let room = limits::ATTEMPT_LOG_BYTES.saturating_sub(NOTE_BYTES).saturating_sub(so_far);
        if line.len() as u64 + 1 > room {
            state.full = true;
            state.pending.push_str("[the log has its largest size: later lines are dropped]\n");
        } else if state.pending.len() + line.len() >= bounds::LOG_PENDING_BYTES {
            state.dropped += 1;
        } else {
            state.note_dropped();
            let clean =
                |letter: char| if letter.is_control() && letter != '\t' { ' ' } else { letter };
            state.pending.extend(line.chars().map(clean));
            state.pending.push('\n');
        }
        if state.pending.len() >= bounds::LOG_BATCH_BYTES {
            self.wake.notify_one();
        }
    }

    /// No more lines: [`LogBuffer::ship`] ends when all is sent.
    pub fn close(&self) {
        let mut state = self.state();
        state.note_dropped();
        state.closed = true;
        self.wake.notify_one();
    }

    /// The whole log, where none of it was sent before and it is short: it goes with the report of
    /// the attempt's end, and nothing is left to send.
    pub fn take_short(&self) -> Option<String> {
        let mut state = self.state();
        let is_short = state.sent_bytes == 0 && !state.is_sending;
        let fits = (1..=limits::SHORT_LOG_BYTES).contains(&state.pending.len());
        (is_short && fits).then(|| std::mem::take(&mut state.pending))
    }

    /// Sends lines until the buffer is closed and empty, or the coordinator takes no more.
    pub async fn ship(&self, api: &Api, job: JobId, fence: &Fence) {
        loop {
            let _ = tokio::time::timeout(
                Duration::from_millis(bounds::LOG_BATCH_MS),
                self.wake.notified(),
            )
            .await;
            while let Some((offset, text)) = self.batch() {
                let bytes = text.len();
                let append = LogAppend { fence: fence.clone(), offset, text };
                if !send(api, job, &append).await {
                    return;
                }
                self.sent(bytes);
            }
            if self.state().closed {
                return;
            }
        }
    }

    /// Where the next batch begins, and its lines. They stay until [`LogBuffer::sent`].
    fn batch(&self) -> Option<(u64, String)> {
        let mut state = self.state();
        let most = cut(&state.pending, bounds::LOG_BATCH_BYTES);
        let end = most.rfind('\n')?;
        let batch = (state.sent_bytes, most.get(..=end)?.to_owned());
        state.is_sending = true;
        Some(batch)
    }

    fn sent(&self, bytes: usize) {
        let mut state = self.state();
        state.pending.drain(..bytes);
        state.sent_bytes = state.sent_bytes.saturating_add(bytes as u64);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note_dropped(&mut self) {
        if self.dropped > 0 {
            let _ = writeln!(
                self.pending,
                "[{} lines dropped: they came faster than they could be sent]",
                self.dropped
            );
            self.dropped = 0;
        }
    }
}

/// Sends the very same batch until it is answered: the offset makes a repeat harmless. False when
/// the coordinator refuses it.
async fn send(api: &Api, job: JobId, append: &LogAppend) -> bool {
    let mut failures = 0;
    loop {
        match api.log(job, append).await {
            Ok(()) => return true,
            Err(error) if error.may_pass() => {
                failures += 1;
                tokio::time::sleep(Duration::from_millis(bounds::backoff_ms(failures))).await;
            }
            Err(error) => {
                tracing::debug!(%job, %error, "the coordinator takes no more log lines");
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_whole_lines_with_rising_offsets() {
        let log = LogBuffer::default();
        let line = "x".repeat(20_000);
        assert_eq!(log.batch(), None);
        log.push("a\x1b[31mb\r");
        log.push(&line);
        let (offset, text) = log.batch().unwrap();
        let first = format!("a [31mb \n{}\n", "x".repeat(limits::LOG_LINE_BYTES));
        assert_eq!((offset, text.as_str()), (0, first.as_str()));
        assert_eq!(log.batch().unwrap().0, 0);
        log.sent(text.len());
        assert_eq!(log.batch(), None);
        log.push("next");
        assert_eq!(log.batch(), Some((first.len() as u64, "next\n".to_owned())));
    }

    #[test]
    fn lines_without_room_are_counted() {
        let log = LogBuffer::default();
        for _ in 0..200 {
            log.push(&"y".repeat(limits::LOG_LINE_BYTES));
        }
        assert!(log.state().pending.len() <= bounds::LOG_PENDING_BYTES);
        assert!(log.state().dropped > 0);
        log.close();
        let (_, pending) = (0, log.state().pending.clone());
        assert!(pending.ends_with("lines dropped: they came faster than they could be sent]\n"));
    }

    #[test]
    fn only_a_short_log_of_which_nothing_is_sent_goes_with_the_end() {
        let log = LogBuffer::default();
        assert_eq!(log.take_short(), None);
        log.push("drawn");
        assert_eq!(log.take_short().as_deref(), Some("drawn\n"));
        assert_eq!((log.take_short(), log.batch()), (None, None));
        log.push("more");
        assert!(log.batch().is_some());
        assert_eq!(log.take_short(), None, "the batch may have arrived");
        let wordy = LogBuffer::default();
        wordy.push(&"x".repeat(limits::SHORT_LOG_BYTES));
        assert_eq!(wordy.take_short(), None);
    }

    #[test]
    fn the_log_has_a_largest_size() {
        let log = LogBuffer::default();
        for _ in 0..2_000 {
            log.push(&"z".repeat(limits::LOG_LINE_BYTES));
            while let Some((_, text)) = log.batch() {
                log.sent(text.len());
            }
        }
        let state = log.state();
        assert!(state.full && state.sent_bytes <= limits::ATTEMPT_LOG_BYTES);
        assert!(state.sent_bytes > limits::ATTEMPT_LOG_BYTES - 20_000);
    }
}
