//! Waiting for work: a claim is tried at once, then after each commit that may have made some.

use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Time between the second try and the third; it doubles up to [`Patience::spacing`].
const LEAST_SPACING: Duration = Duration::from_millis(4);

/// How patient a wait is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// The whole wait; zero tries once.
    pub(super) wait: Duration,
    /// Time between two tries of a claim that waits long, so that a burst of commits costs one.
    pub(super) spacing: Duration,
    /// A try without a commit: some work becomes claimable by the passing of time alone.
    pub(super) poll: Duration,
}

/// Tries until there is something, the wait is over or the coordinator stops.
pub(super) async fn until_some<T, E, F>(
    mut committed: watch::Receiver<u64>,
    patience: Patience,
    stopping: &CancellationToken,
    mut attempt: impl FnMut() -> F,
) -> Result<Vec<T>, E>
where
    F: Future<Output = Result<Vec<T>, E>>,
{
    // The first commit wakes at once; those that bring nothing are then followed ever more lazily.
    let mut spacing = Duration::ZERO;
    let mut over = pin!(tokio::time::sleep(patience.wait));
    loop {
        // Marked as seen before the try: a commit during the try is not missed.
        committed.borrow_and_update();
        let found = attempt().await?;
        if !found.is_empty() || patience.wait.is_zero() {
            return Ok(found);
        }
        tokio::select! {
            biased;
            () = &mut over => return Ok(Vec::new()),
            () = stopping.cancelled() => return Ok(Vec::new()),
            () = next_chance(&mut committed, spacing, patience.poll) => {}
        }
        spacing = (spacing * 2).max(LEAST_SPACING).min(patience.spacing);
    }
}

async fn next_chance(committed: &mut watch::Receiver<u64>, spacing: Duration, poll: Duration) {
    tokio::time::sleep(spacing).await;
    // A timeout, a commit and a closed store all lead to the next try, which tells them apart.
    let _ = tokio::time::timeout(poll, committed.changed()).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const LONG: Duration = Duration::from_mins(1);
    const PATIENT: Patience = Patience { wait: LONG, spacing: Duration::ZERO, poll: LONG };

    #[tokio::test]
    async fn a_commit_wakes_the_waiter() {
        let (commit, committed) = watch::channel(0);
        let tries = Cell::new(0);
        let stopping = CancellationToken::new();
        let claim = until_some(committed, PATIENT, &stopping, || {
            tries.set(tries.get() + 1);
            let found = if *commit.borrow() >= 2 { vec![7] } else { Vec::new() };
            async { Ok::<_, ()>(found) }
        });
        let commits = async {
            for seq in 1..=2 {
                tokio::task::yield_now().await;
                commit.send_replace(seq);
            }
        };
        let (found, ()) = tokio::join!(claim, commits);
        assert_eq!(found, Ok(vec![7]));
        assert!(tries.get() <= 3, "{}", tries.get());
    }

    #[tokio::test]
    async fn a_commit_during_the_try_is_not_missed() {
        let (commit, committed) = watch::channel(0);
        let tries = Cell::new(0);
        let stopping = CancellationToken::new();
        let found = until_some(committed, PATIENT, &stopping, || {
            tries.set(tries.get() + 1);
            let found = if tries.get() == 1 { Vec::new() } else { vec![7] };
            commit.send_replace(1);
            async { Ok::<_, ()>(found) }
        });
        assert_eq!(found.await, Ok(vec![7]));
    }

    #[tokio::test]
    async fn the_wait_ends_by_time_by_stopping_and_by_error() {
        let (_commit, committed) = watch::channel(0);
        let none = || async { Ok::<Vec<u8>, ()>(Vec::new()) };
        let stopping = CancellationToken::new();
        let short = Patience { wait: Duration::from_millis(1), ..PATIENT };
        assert_eq!(until_some(committed.clone(), short, &stopping, none).await, Ok(Vec::new()));
        let once = Patience { wait: Duration::ZERO, ..PATIENT };
        assert_eq!(until_some(committed.clone(), once, &stopping, none).await, Ok(Vec::new()));
        stopping.cancel();
        assert_eq!(until_some(committed.clone(), PATIENT, &stopping, none).await, Ok(Vec::new()));
        let fails = || async { Err::<Vec<u8>, _>("gone") };
        assert_eq!(until_some(committed, PATIENT, &stopping, fails).await, Err("gone"));
    }
}
