//! What heartbeats cost: the coordinator's own processor time, with many sessions.

use super::book::{Book, Unit};
use super::samples::open_session;
use super::served::Served;
use super::wire::Wire;
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use crate::model::{SessionId, limits};
use crate::protocol::work::{Heartbeat, HeartbeatReply, SessionOpened};

/// Sessions of a usual and of a quick run.
const SESSIONS: [usize; 2] = [1_000, 10_000];
const QUICK_SESSIONS: [usize; 1] = [1_000];
/// Processor time is told in steps; a smaller sum says nothing.
const LEAST_BEATS: usize = 2_000;

pub(super) async fn measure(
    plan: &Plan,
    book: &mut Book,
    served: &Served,
) -> Result<(), BenchError> {
    let counts: &[usize] = if plan.quick { &QUICK_SESSIONS } else { &SESSIONS };
    let mut wire = Wire::open(&served.line).await?;
    let mut sessions: Vec<SessionId> = Vec::new();
    for count in counts {
        while sessions.len() < *count {
            let request = open_session(100_000 + sessions.len());
            let opened: SessionOpened = wire.call("POST", "/v1/sessions", &request).await?;
            sessions.push(opened.session);
        }
        if let Some(percent) = beat(plan, served, &mut wire, &sessions).await? {
            let seconds = limits::HEARTBEAT_MS / 1_000;
            let name = format!("{count} sessions that beat every {seconds} s");
            book.add("coordinator", &name, percent, Unit::PercentOfCore);
        }
    }
    Ok(())
}

/// Beats for each session in turn; the share of one core at the usual pace.
async fn beat(
    plan: &Plan,
    served: &Served,
    wire: &mut Wire,
    sessions: &[SessionId],
) -> Result<Option<f64>, BenchError> {
    let Some(before) = served.processor_time() else { return Ok(None) };
    let watch = Stopwatch::start();
    let mut beats = 0_usize;
    for session in sessions.iter().cycle() {
        let path = format!("/v1/sessions/{session}/heartbeat");
        let beat = Heartbeat { running: Vec::new() };
        let _: HeartbeatReply = wire.call("POST", &path, &beat).await?;
        beats += 1;
        if beats >= LEAST_BEATS && watch.elapsed() > plan.budget {
            break;
        }
    }
    let used = served.processor_time().map(|after| after.saturating_sub(before));
    let per_second = sessions.len() as f64 * 1_000.0 / limits::HEARTBEAT_MS as f64;
    Ok(used.map(|used| used.as_secs_f64() / beats as f64 * per_second * 100.0))
}
