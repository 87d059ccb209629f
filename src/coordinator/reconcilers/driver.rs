//! Runs a reconciler's passes: periodically, and soon after a commit where it asks for that.

use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// When a reconciler runs.
pub(super) struct Rhythm {
    /// Its name in the log.
    pub(super) name: &'static str,
    /// Time between two passes without a signal.
    pub(super) period: Duration,
    /// Commits that wake it; none where time alone does.
    pub(super) commits: Option<watch::Receiver<u64>>,
    /// Least time between two passes that commits caused.
    pub(super) spacing: Duration,
}

/// Runs passes until `stopping`. A pass that fails or panics is told once and tried again with
/// the next one.
pub(super) async fn drive<F>(
    mut rhythm: Rhythm,
    stopping: CancellationToken,
    mut pass: impl FnMut() -> F,
) where
    F: Future<Output = Result<(), String>>,
{
    let mut trouble = None;
    while !stopping.is_cancelled() {
        if let Some(commits) = &mut rhythm.commits {
            commits.borrow_and_update();
        }
        let result = match AssertUnwindSafe(pass()).catch_unwind().await {
            Ok(result) => result,
            Err(_) => Err("it panicked: see the log above".to_owned()),
        };
        tell(rhythm.name, &mut trouble, result.err());
        tokio::select! {
            () = stopping.cancelled() => return,
            () = next_pass(&mut rhythm) => {}
        }
    }
}

async fn next_pass(rhythm: &mut Rhythm) {
    match &mut rhythm.commits {
        None => tokio::time::sleep(rhythm.period).await,
        Some(commits) => {
            tokio::time::sleep(rhythm.spacing).await;
            match tokio::time::timeout(rhythm.period, commits.changed()).await {
                Ok(Ok(())) | Err(_) => {}
                // The store is gone: only the period is left.
                Ok(Err(_)) => tokio::time::sleep(rhythm.period).await,
            }
        }
    }
}

fn tell(name: &str, before: &mut Option<String>, now: Option<String>) {
    match (before.as_deref(), now.as_deref()) {
        (None, None) => {}
        (Some(_), None) => tracing::info!(reconciler = name, "works again"),
        (old, Some(new)) if old == Some(new) => {}
        (_, Some(new)) => tracing::warn!(reconciler = name, trouble = new, "cannot do its work"),
    }
    *before = now;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const LONG: Duration = Duration::from_mins(1);

    fn rhythm(period: Duration, commits: Option<watch::Receiver<u64>>) -> Rhythm {
        Rhythm { name: "test", period, commits, spacing: Duration::ZERO }
    }

    #[tokio::test]
    async fn a_pass_that_fails_or_panics_is_followed_by_the_next() {
        let stopping = CancellationToken::new();
        let passes = Cell::new(0);
        drive(rhythm(Duration::ZERO, None), stopping.clone(), || {
            passes.set(passes.get() + 1);
            let (pass, stopping) = (passes.get(), stopping.clone());
            async move {
                match pass {
                    1 => Err("no".to_owned()),
                    2 => panic!("a pass of the test panics"),
                    _ => {
                        stopping.cancel();
                        Ok(())
                    }
                }
            }
        })
        .await;
        assert_eq!(passes.get(), 3);
    }

    #[tokio::test]
    async fn a_commit_during_a_pass_causes_another() {
        let stopping = CancellationToken::new();
        let (commit, commits) = watch::channel(0);
        let passes = Cell::new(0);
        drive(rhythm(LONG, Some(commits)), stopping.clone(), || {
            passes.set(passes.get() + 1);
            if passes.get() == 1 {
                commit.send_replace(1);
            } else {
                stopping.cancel();
            }
            async { Ok(()) }
        })
        .await;
        assert_eq!(passes.get(), 2);
    }
}
