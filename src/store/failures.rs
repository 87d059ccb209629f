//! How an attempt ends without a result: the job runs again, waits, or becomes a dead letter.

use super::StoreError;
use super::transition::{JobRow, With, apply, is_loss};
use super::writer::Tx;
use super::{advance, dead_letters, flights, kept, quarantine};
use crate::model::{JobState, Reason, Verb, limits};
use crate::policy::flight;
use crate::policy::retry::{Decision, History, Policy};
use crate::protocol::work::Failure;
use rusqlite::params;

/// How an attempt ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The worker said so.
    Reported,
    /// The worker vanished.
    Lost,
}

/// Ends an attempt that has no result, by the policy of its stage.
pub(super) fn end_attempt(
    tx: &Tx<'_>,
    row: &JobRow,
    failure: &Failure,
    ending: Ending,
    actor: &str,
) -> Result<JobState, StoreError> {
    let (failure, workers_lost) = as_kept(tx, row, failure, ending)?;
    let pipeline = advance::pipeline(tx.db, row.pipeline)?;
    if ending == Ending::Reported {
        quarantine::failed(tx, row, &failure, actor)?;
    }
    if flight::is_loss_of_bytes(failure.reason) {
        flights::forget(tx, row.pipeline)?;
    }
    // Otherwise the next attempt would name the same lost bytes again.
    if matches!(failure.reason, Reason::ArtifactMissing | Reason::ArtifactMismatch) {
        kept::forget(tx, row.id)?;
    }
    let policy = Policy::of(pipeline.recipe.rule(row.stage));
    let history = History { workers_lost, licence_waited_ms: row.licence_waited_ms };
    let decision = policy.decide(row.id, row.attempt, failure.class, failure.reason, history);
    let with = With {
        failure: Some(&failure),
        max_attempts: Some(policy.max_attempts(failure.class)),
        ..With::default()
    };
    let due = |delay_ms: u64| {
        let delay_ms = i64::try_from(delay_ms).unwrap_or(i64::MAX);
        Some(tx.now.wall_ms.saturating_add(delay_ms))
    };
    let after = match decision {
        Decision::RetryIn { delay_ms } => {
            apply(tx, row, Verb::Retry, actor, With { run_at_ms: due(delay_ms), ..with })?
        }
        Decision::WaitFor { delay_ms } => {
            let with = With { run_at_ms: due(delay_ms), licence_wait_ms: Some(delay_ms), ..with };
            apply(tx, row, Verb::Retry, actor, with)?
        }
        Decision::GiveUp => {
            let after = apply(tx, row, Verb::GiveUp, actor, with)?;
            dead_letters::bury(tx, row, &failure, actor)?;
            after
        }
    };
    Ok(after.state)
}

/// The failure as it is kept, and how many different workers were lost on the job.
fn as_kept(
    tx: &Tx<'_>,
    row: &JobRow,
    failure: &Failure,
    ending: Ending,
) -> Result<(Failure, u32), StoreError> {
    let mut failure = failure.clone();
    failure.message = clipped(&failure.message);
    if ending == Ending::Reported && is_loss(&failure) {
        failure.reason = Reason::Unexpected;
    }
    let lost = if ending == Ending::Lost { workers_lost(tx, row)? } else { 0 };
    if lost >= limits::POISON_WORKERS {
        let message = format!(
            "{lost} different workers were lost on this job; the last: {}",
            failure.message
        );
        failure = Failure::new(Reason::WorkerPoisoned, message);
    }
    Ok((failure, lost))
}

/// Different workers lost on the job, the one that is being lost now included.
fn workers_lost(tx: &Tx<'_>, row: &JobRow) -> Result<u32, StoreError> {
    Ok(tx
        .db
        .prepare_cached(
            "SELECT count(DISTINCT worker) FROM attempt
             WHERE job = ?1 AND (outcome = 'lost' OR epoch = ?2)",
        )?
        .query_row(params![row.id, row.epoch], |found| found.get(0))?)
}

fn clipped(message: &str) -> String {
    let end = message.floor_char_boundary(limits::MESSAGE_BYTES);
    message.get(..end).unwrap_or_default().to_owned()
}
