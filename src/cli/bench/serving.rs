//! A coordinator's memory and start: with nothing to do, and with many jobs waiting.

use super::BenchError;
use super::book::{Book, Unit};
use super::samples::open_session;
use super::served::Served;
use super::wire::Wire;
use crate::protocol::view::FarmStatus;
use crate::protocol::work::{ClaimReply, ClaimRequest, SessionOpened};
use serde_json::Value;
use std::path::Path;

const IDLE: &str = "resident memory, idle";

pub(super) fn idle(book: &mut Book, served: &Served) {
    if let Some(bytes) = served.resident_bytes() {
        book.add("coordinator", IDLE, bytes as f64 / f64::from(1 << 20), Unit::Mebibytes);
    }
}

/// Serves a farm full of waiting jobs and uses it a little.
pub(super) async fn with_jobs(book: &mut Book, farm: &Path) -> Result<(), BenchError> {
    let served = Served::start(farm).await?;
    let mut wire = Wire::open(&served.line).await?;
    let status: FarmStatus = wire.call("GET", "/v1/status", &()).await?;
    let queued = status.queued;
    let started_ms = served.started_in.as_secs_f64() * 1_000.0;
    let name = format!("start with {queued} queued");
    book.add("coordinator", &name, started_ms, Unit::Milliseconds);
    let _: Value = wire.call("GET", "/v1/jobs?state=queued&limit=1000", &()).await?;
    let opened: SessionOpened = wire.call("POST", "/v1/sessions", &open_session(0)).await?;
    let path = format!("/v1/sessions/{}/claim", opened.session);
    let _: ClaimReply =
        wire.call("POST", &path, &ClaimRequest { max_jobs: 64, wait_ms: 0 }).await?;
    if let Some(bytes) = served.resident_bytes() {
        let mebibytes = bytes as f64 / f64::from(1 << 20);
        let name = format!("resident memory with {queued} queued");
        book.compare("coordinator", &name, mebibytes, Unit::Mebibytes, ("coordinator", IDLE));
        if let Some(idle) = book.value(("coordinator", IDLE)) {
            let more_bytes = (mebibytes - idle).max(0.0) * f64::from(1 << 20);
            let each = more_bytes / (queued.max(1) as f64);
            book.add("coordinator", "memory for each queued job", each, Unit::Bytes);
        }
    }
    served.stop().await
}
