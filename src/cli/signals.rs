//! Ctrl-C and the system's request to end.

use super::error::Exit;

/// Waits until somebody wants the program to end. A second request ends it at once.
pub(super) async fn end_wanted() {
    once().await;
    tokio::spawn(async {
        once().await;
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
}

async fn once() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Without a handler the system ends the program itself, which is what was asked for.
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = term.recv() => return,
                _ = tokio::signal::ctrl_c() => return,
            }
        }
    }
    drop(tokio::signal::ctrl_c().await);
}
