//! Watch folders and their files, as tables.

use super::super::context::Context;
use super::super::error::{CliError, Exit};
use super::super::output::{self, Table};
use super::super::words;
use super::FilesArguments;
use crate::client::watch::WatchedFiles;
use crate::protocol::watch::{WatchFileView, WatchFolderView, WatchWord};

pub(super) fn folders(context: &Context) -> Result<Exit, CliError> {
    let folders = context.with_client(|client| async move { Ok(client.watch_folders().await?) })?;
    if context.json {
        output::json(&folders)?;
        return Ok(Exit::Done);
    }
    folder_table(&folders).print("No folder is watched: try 'sawah watch add DIR'")?;
    for folder in &folders {
        if let Some(why) = &folder.health.why {
            output::note(&format!("{}: {why}", output::one_line(&folder.path)));
        }
    }
    Ok(Exit::Done)
}

fn folder_table(folders: &[WatchFolderView]) -> Table {
    let mut table = Table::new(&[
        "#ID",
        "STATE",
        "SEEN BY",
        "#SETTLING",
        "#WAITING",
        "#ACCEPTED",
        "#SAME",
        "#REFUSED",
        "#IGNORED",
        "FOLDER",
    ]);
    for folder in folders {
        let counts = folder.counts;
        table.row([
            folder.id.to_string(),
            word(folder.health.word).to_owned(),
            if folder.health.events { "events" } else { "polling" }.to_owned(),
            counts.settling.to_string(),
            counts.waiting.to_string(),
            counts.accepted.to_string(),
            counts.duplicate.to_string(),
            counts.refused.to_string(),
            counts.ignored.to_string(),
            output::one_line(&folder.path),
        ]);
    }
    table
}

const fn word(word: WatchWord) -> &'static str {
    match word {
        WatchWord::Starting => "starting",
        WatchWord::Watching => "watching",
        WatchWord::Paused => "paused",
        WatchWord::Held => "held",
        WatchWord::Gone => "gone",
        WatchWord::Trouble => "trouble",
    }
}

pub(super) fn files(context: &Context, arguments: &FilesArguments) -> Result<Exit, CliError> {
    let files = context.with_client(|client| async move {
        let folder = super::find(&client, &arguments.folder).await?;
        let wanted =
            WatchedFiles { state: arguments.state, before: None, limit: Some(arguments.limit) };
        Ok(client.watch_files(folder.id, wanted).await?)
    })?;
    if context.json {
        output::json(&files)?;
    } else {
        file_table(&files, context.now_ms()).print("No such file was seen there yet")?;
    }
    Ok(Exit::Done)
}

fn file_table(files: &[WatchFileView], now_ms: i64) -> Table {
    let mut table =
        Table::new(&["#ID", "STATE", "SINCE", "#SIZE", "ASSET", "#PIPELINE", "FILE", "WHY"]);
    for file in files {
        let drop = file.drop.as_ref();
        table.row([
            file.id.to_string(),
            file.state.as_str().to_owned(),
            words::ago(now_ms, file.since_ms),
            words::size(file.size_bytes),
            drop.map_or_else(String::new, |drop| format!("{} v{}", drop.asset, drop.asset_version)),
            drop.map_or_else(String::new, |drop| drop.pipeline.to_string()),
            output::one_line(&file.path),
            why(file),
        ]);
    }
    table
}

/// Why a file is as it is, and what lacks.
fn why(file: &WatchFileView) -> String {
    let mut parts: Vec<String> = file.why.iter().map(|why| output::one_line(why)).collect();
    if let Some(reason) = file.reason {
        parts.push(format!("{} ({reason})", reason.remedy()));
    }
    let missing = file.drop.as_ref().map(|drop| drop.missing.as_slice()).unwrap_or_default();
    if file.is_main && !missing.is_empty() {
        parts.push(format!("without {}", output::one_line(&missing.join(", "))));
    }
    parts.join(". ")
}
