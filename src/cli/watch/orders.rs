//! Taking files anew, and taking them back.

use super::super::context::Context;
use super::super::error::{CliError, Exit};
use super::super::output;
use super::{RetakeArguments, WithdrawArguments, file_number, find};
use crate::client::Client;
use crate::client::watch::WatchedFiles;
use crate::model::{WatchFileId, WatchFolderId, limits};
use crate::protocol::watch::{NewWatchOrder, WatchOrder};

pub(super) fn retake(context: &Context, arguments: &RetakeArguments) -> Result<Exit, CliError> {
    context.with_client(|client| async move {
        let folder = find(&client, &arguments.folder).await?;
        let recipe = arguments.recipe.clone();
        let order = match &arguments.file {
            Some(file) => {
                WatchOrder::Retake { file: find_file(&client, folder.id, file).await?, recipe }
            }
            None => WatchOrder::RetakeAll { recipe },
        };
        leave(&client, folder.id, order).await
    })?;
    say(context, "Ordered: it is looked at anew; see 'sawah watch files'")
}

pub(super) fn withdraw(context: &Context, arguments: &WithdrawArguments) -> Result<Exit, CliError> {
    context.with_client(|client| async move {
        let folder = find(&client, &arguments.folder).await?;
        let file = find_file(&client, folder.id, &arguments.file).await?;
        leave(&client, folder.id, WatchOrder::Withdraw { file }).await
    })?;
    say(context, "Ordered: its work is cancelled, the file stays; see 'sawah watch files'")
}

async fn leave(client: &Client, folder: WatchFolderId, order: WatchOrder) -> Result<(), CliError> {
    let order = NewWatchOrder { order, actor: crate::client::actor() };
    Ok(client.order_watch(folder, &order).await?)
}

fn say(context: &Context, text: &str) -> Result<Exit, CliError> {
    if context.json {
        output::json(&serde_json::json!({"ordered": true}))?;
    } else {
        output::line(text)?;
    }
    Ok(Exit::Done)
}

/// The file that a person means: its path as it is shown, or its number.
async fn find_file(
    client: &Client,
    folder: WatchFolderId,
    named: &str,
) -> Result<WatchFileId, CliError> {
    let mut before = None;
    loop {
        let wanted = WatchedFiles { state: None, before, limit: Some(limits::ROWS_PER_PAGE) };
        let page = client.watch_files(folder, wanted).await?;
        let number = file_number(named);
        let is_meant = |file: &&crate::protocol::watch::WatchFileView| file.path == named;
        if let Some(found) = page.iter().find(is_meant) {
            return Ok(found.id);
        }
        if let Some(found) = page.iter().find(|file| Some(file.id) == number) {
            return Ok(found.id);
        }
        let Some(last) = page.last() else {
            let text = format!("no file '{named}' was seen there: see 'sawah watch files'");
            return Err(CliError::usage(&text));
        };
        before = Some((last.since_ms, last.id));
    }
}
