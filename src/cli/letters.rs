//! Which dead letters a command is about, and how it tells what became of them.

use super::error::{CliError, Exit};
use super::output;
use super::words;
use crate::model::{JobId, Reason};
use crate::protocol::dead::{BatchReply, DeadLetterFilter};
use clap::Args;

/// Jobs by number, or a filter.
#[derive(Debug, Args)]
pub(super) struct Letters {
    /// Numbers of jobs, as 'sawah dead' shows them
    #[arg(value_name = "JOB")]
    pub(super) jobs: Vec<JobId>,
    /// Those that match: asset=, pipeline=, stage=, reason= or fingerprint=; can be given several
    /// times
    #[arg(long = "where", value_name = "KEY=VALUE")]
    wheres: Vec<String>,
    /// All that wait
    #[arg(long)]
    all: bool,
    /// Say what would happen and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl Letters {
    pub(super) fn filter(&self) -> Result<DeadLetterFilter, CliError> {
        named(self.narrowed()?)
    }

    /// The filter as it was typed, which may be empty.
    pub(super) fn narrowed(&self) -> Result<DeadLetterFilter, CliError> {
        let mut filter = DeadLetterFilter {
            jobs: self.jobs.clone(),
            all: self.all,
            ..DeadLetterFilter::default()
        };
        for one in &self.wheres {
            narrow(&mut filter, one).map_err(|why| CliError::usage(&why))?;
        }
        Ok(filter)
    }
}

/// The filter, if it names anything.
pub(super) fn named(filter: DeadLetterFilter) -> Result<DeadLetterFilter, CliError> {
    if filter == DeadLetterFilter::default() {
        return Err(CliError::usage(
            "name the dead letters: job numbers, --where KEY=VALUE, or --all",
        ));
    }
    Ok(filter)
}

fn narrow(filter: &mut DeadLetterFilter, text: &str) -> Result<(), String> {
    let known = "asset, pipeline, stage, reason or fingerprint";
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("'{text}' is not KEY=VALUE with {known}"))?;
    match key {
        "asset" => filter.asset = Some(value.parse().map_err(|error| format!("{error}"))?),
        "pipeline" => {
            let id = value.parse().map_err(|_| format!("'{value}' is no pipeline's number"))?;
            filter.pipeline = Some(id);
        }
        "stage" => filter.stage = Some(value.parse().map_err(|error| format!("{error}"))?),
        "reason" => {
            let reason = Reason::parse(value);
            filter.reason =
                Some(reason.ok_or_else(|| format!("no reason has the code '{value}'"))?);
        }
        "fingerprint" => filter.fingerprint = Some(value.to_owned()),
        _ => return Err(format!("dead letters are not told apart by '{key}': use {known}")),
    }
    Ok(())
}

/// Tells what became of the letters. `done` is the word for those that went well.
pub(super) fn tell(json: bool, reply: &BatchReply, done: &str) -> Result<Exit, CliError> {
    if json {
        output::json(reply)?;
    } else {
        let matched = usize::try_from(reply.matched).unwrap_or(usize::MAX);
        let would = if reply.dry_run { "would be " } else { "" };
        output::line(&format!(
            "{} match: {} {would}{done}, {} refused, {} left for another call",
            words::count(matched, "dead letter"),
            reply.done,
            reply.refused,
            reply.left
        ))?;
        for item in &reply.items {
            let fate = match (&item.refused, item.replayed_as) {
                (Some(why), _) => format!("refused: {}", output::one_line(why)),
                (None, Some(new)) => format!("runs again as job {new}"),
                (None, None) => format!("{would}{done}"),
            };
            output::line(&format!("  job {}: {fate}", item.job))?;
        }
    }
    Ok(if reply.done == 0 { Exit::Failed } else { Exit::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_typed_and_unknown_keys_are_refused() {
        let mut filter = DeadLetterFilter::default();
        for good in ["asset=dragon", "pipeline=3", "stage=render", "reason=disk.full"] {
            assert_eq!(narrow(&mut filter, good), Ok(()), "{good}");
        }
        assert_eq!(filter.reason, Some(Reason::DiskFull));
        for bad in ["reason=full", "stage=paint", "pipeline=x", "colour=red", "asset"] {
            assert!(narrow(&mut filter, bad).is_err(), "{bad}");
        }
    }
}
