//! Notices: a few on the screen, all in a history. Errors stay until they are dismissed.

use crate::client::live::Notice;
use crate::model::PipelineId;
use std::collections::VecDeque;

/// How long good news stays on the screen.
const GOOD_NEWS_MS: i64 = 7_000;
/// Most toasts on the screen.
const SHOWN: usize = 4;
/// Most notices kept.
const KEPT: usize = 200;

/// A notice that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// Counts up.
    pub id: u64,
    /// Whether something was refused or failed.
    pub is_error: bool,
    /// For people.
    pub text: String,
    /// The pipeline to show.
    pub pipeline: Option<PipelineId>,
    /// How often it came.
    pub times: u32,
    /// When it came last, Unix milliseconds.
    pub at_ms: i64,
    /// Still on the screen.
    pub on_screen: bool,
}

/// All notices, newest last.
#[derive(Debug, Default)]
pub struct Toasts {
    kept: VecDeque<Toast>,
    next_id: u64,
}

impl Toasts {
    /// Adds one; the same text again is folded into the one on the screen.
    pub fn add(&mut self, notice: Notice, now_ms: i64) {
        let same = self.kept.iter_mut().rev().find(|toast| {
            toast.on_screen
                && toast.text == notice.text
                && toast.is_error == notice.is_error
                && toast.pipeline == notice.pipeline
        });
        if let Some(toast) = same {
            toast.times = toast.times.saturating_add(1);
            toast.at_ms = now_ms;
            return;
        }
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Toast {
            id: self.next_id,
            is_error: notice.is_error,
            text: notice.text,
            pipeline: notice.pipeline,
            times: 1,
            at_ms: now_ms,
            on_screen: true,
        });
        self.next_id += 1;
    }

    /// Takes one from the screen; the history keeps it.
    pub fn dismiss(&mut self, id: u64) {
        if let Some(toast) = self.kept.iter_mut().find(|toast| toast.id == id) {
            toast.on_screen = false;
        }
    }

    /// Takes good news away when its time is over.
    pub fn expire(&mut self, now_ms: i64) {
        for toast in self.kept.iter_mut().filter(|toast| toast.on_screen && !toast.is_error) {
            toast.on_screen = now_ms.saturating_sub(toast.at_ms) < GOOD_NEWS_MS;
        }
    }

    /// Until the next one goes by itself.
    pub fn next_expiry_ms(&self, now_ms: i64) -> Option<i64> {
        self.kept
            .iter()
            .filter(|toast| toast.on_screen && !toast.is_error)
            .map(|toast| (toast.at_ms + GOOD_NEWS_MS - now_ms).max(0))
            .min()
    }

    /// Those on the screen, newest first, and how many more there are.
    pub fn on_screen(&self) -> (Vec<&Toast>, usize) {
        let mut shown: Vec<_> = self.kept.iter().rev().filter(|toast| toast.on_screen).collect();
        let more = shown.len().saturating_sub(SHOWN);
        shown.truncate(SHOWN);
        (shown, more)
    }

    /// All that are kept, newest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Toast> {
        self.kept.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(text: &str, is_error: bool) -> Notice {
        Notice { is_error, text: text.to_owned(), pipeline: None }
    }

    #[test]
    fn good_news_goes_and_errors_stay_until_dismissed() {
        let mut toasts = Toasts::default();
        toasts.add(notice("submitted", false), 0);
        toasts.add(notice("refused", true), 0);
        toasts.add(notice("refused", true), 10);
        assert_eq!(toasts.next_expiry_ms(1_000), Some(GOOD_NEWS_MS - 1_000));
        toasts.expire(GOOD_NEWS_MS);
        let (shown, more) = toasts.on_screen();
        assert_eq!((shown.len(), shown[0].times, more), (1, 2, 0));
        toasts.dismiss(shown[0].id);
        assert!(toasts.on_screen().0.is_empty());
        assert_eq!(toasts.history().len(), 2);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut toasts = Toasts::default();
        for number in 0..2 * KEPT {
            toasts.add(notice(&number.to_string(), true), 0);
        }
        assert_eq!(toasts.history().len(), KEPT);
        assert_eq!(toasts.on_screen().1, KEPT - SHOWN);
    }
}
