//! How people's surfaces reach a farm: over HTTP, also on this machine, so that there is one path.
//!
//! [`discover`] finds a coordinator, [`http`] calls it, [`intake`] hands in files, [`live`] keeps a
//! [`read_model`] up to date for a window.

pub mod discover;
pub mod error;
pub mod events;
pub mod http;
pub mod intake;
pub mod live;
pub mod read_model;
pub mod sse;
mod submit;
#[cfg(test)]
mod test_server;
pub mod transfer;
pub mod watch;

pub use error::ClientError;
pub use http::{AuditQuery, Client, Page, Token};

/// Who acts, for the audit: `operator ana`.
pub fn actor() -> String {
    let name = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|variable| std::env::var(variable).ok().filter(|name| !name.is_empty()));
    let name: String = name.unwrap_or_else(|| "unknown".to_owned()).chars().take(64).collect();
    format!("operator {name}")
}
