//! What a stage host says on its standard output: one JSON document a line.

use super::{Produced, StageOutput};
use crate::protocol::work::Failure;
use serde::{Deserialize, Serialize};

/// The longest line between a worker and a stage host, in bytes. Holds the largest output list.
pub const HOST_LINE_BYTES: usize = 16 << 20;

/// The line by which a worker asks a stage host to stop: its programs are asked to end, and the
/// stage ends with what it has.
pub const STOP_LINE: &str = "stop";

/// One line from a stage host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostMessage {
    /// How far the stage is.
    Progress {
        /// 0 to 100.
        percent: f32,
        /// What it does now.
        message: String,
        /// The frame that was just done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<i32>,
    },
    /// One line for the attempt's log.
    Log {
        /// The line, without its end.
        line: String,
    },
    /// A file that is right whatever becomes of the rest.
    Keep {
        /// The file.
        file: Produced,
    },
    /// A program was started or has ended.
    Programs {
        /// How many run now: while there are any, the stage can be asked to stop.
        running: usize,
    },
    /// The stage has made all its files.
    Done {
        /// What it made.
        output: StageOutput,
    },
    /// The stage refused or failed.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// After the answer, from a host that is to stay: nothing of the attempt is left, and the next
    /// request may come.
    Ready,
}

/// Cuts a text at a letter's border so that it has at most `max` bytes.
pub fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_agreed_form() {
        let line = serde_json::to_string(&HostMessage::Progress {
            percent: 50.0,
            message: "frame 1 of 2".to_owned(),
            frame: None,
        })
        .unwrap();
        assert_eq!(line, r#"{"type":"progress","percent":50.0,"message":"frame 1 of 2"}"#);
        let log: HostMessage = serde_json::from_str(r#"{"type":"log","line":"x"}"#).unwrap();
        assert_eq!(log, HostMessage::Log { line: "x".to_owned() });
    }

    #[test]
    fn a_cut_keeps_whole_letters() {
        assert_eq!(cut("aä", 2), "a");
        assert_eq!(cut("aä", 3), "aä");
        assert_eq!(cut("", 3), "");
    }
}
