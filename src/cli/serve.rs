//! `sawah serve`: a coordinator without a window.

#![expect(clippy::doc_markdown, reason = "these comments are help texts, shown as they are")]

use super::context::Context;
use super::embedded::House;
use super::error::{CliError, Exit};
use super::{output, signals};
use crate::client::discover::TOKEN_FILE;
use clap::Args;
use std::net::SocketAddr;

const EXAMPLES: &str = "Examples:
  sawah serve
  sawah serve --farm /srv/farm --listen 0.0.0.0:7420
  sawah serve --listen 127.0.0.1:0 --with-worker --json

Workers on other machines need the address and the token in the farm folder's file 'token'.";

/// Serve a farm: coordinator without a window, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArguments {
    /// Where to listen; port 0 takes a free one [env: SAWAH_LISTEN] [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<SocketAddr>,
    /// Also work: this machine runs jobs
    #[arg(long)]
    with_worker: bool,
}

pub(super) fn run(context: &Context, arguments: &ServeArguments) -> Result<Exit, CliError> {
    let farm = &context.settings.farm.value;
    let listen = context.settings.listen.value;
    Context::runtime()?.block_on(async {
        let mut house = House::start(context, farm, listen, arguments.with_worker).await?;
        let said = if context.json {
            let token_file = farm.join(TOKEN_FILE).display().to_string();
            output::json(&serde_json::json!({"url": house.url(), "token_file": token_file}))
        } else {
            output::line(&format!("Listening on {}", house.url()))
        };
        let result = match said {
            // Whoever reads our one line may close the pipe after it: the farm goes on.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => tokio::select! {
                () = signals::end_wanted() => Ok(Exit::Done),
                error = house.worker_ended() => Err(error),
            },
        };
        house.shutdown().await;
        result
    })
}
