//! What can go wrong between a client and a coordinator.

use crate::model::Checksum;
use crate::protocol::problem::{Problem, ProblemCode};
use std::path::PathBuf;

/// A call that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers.
    #[error(
        "no coordinator answers ({why}): check that it runs and that this machine reaches {url}"
    )]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What the connection said.
        why: String,
    },
    /// The token is not this coordinator's.
    #[error(
        "the coordinator does not know this token: use the one in its farm's 'token' file. Asked {url}"
    )]
    Unauthorized {
        /// Who refused.
        url: String,
    },
    /// The coordinator says no, and why.
    #[error("{} {}", sentence(&problem.message), problem.remedy)]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its words.
        problem: Box<Problem>,
    },
    /// The answer is no answer of a coordinator of this version.
    #[error(
        "the coordinator's answer to {call} cannot be read ({why}): check that both sides run the same version of Sawah"
    )]
    BadAnswer {
        /// Which call.
        call: String,
        /// What is wrong with it.
        why: String,
    },
    /// The address is no address of a coordinator.
    #[error("'{url}' is no address of a coordinator ({why}): write it as http://HOST:PORT")]
    BadAddress {
        /// As given.
        url: String,
        /// Why.
        why: String,
    },
    /// Bytes came that are not those of the checksum.
    #[error("the bytes that came are not those of {0}: check network and disk, then try again")]
    Damaged(Checksum),
    /// A file of this machine cannot be read or written.
    #[error("cannot {doing} a file: {source}. Path: {path}", path = path.display())]
    File {
        /// What was tried: `read`, `write`.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl ClientError {
    /// Whether trying the same again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Damaged(_) => true,
            Self::Refused { problem, .. } => problem.code == ProblemCode::Busy,
            _ => false,
        }
    }

    pub(super) fn unreachable(url: &str, error: &reqwest::Error) -> Self {
        Self::Unreachable { url: url.to_owned(), why: innermost(error) }
    }

    pub(super) fn bad_answer(call: &str, why: &(impl ToString + ?Sized)) -> Self {
        Self::BadAnswer { call: call.to_owned(), why: why.to_string() }
    }
}

/// The last error of the chain says what happened; those around it only that something did.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', ':']) { text.to_owned() } else { format!("{text}.") }
}
