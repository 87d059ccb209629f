//! `sawah replay`: runs dead letters again, one or many.

use super::context::Context;
use super::error::{CliError, Exit};
use super::letters::{self, Letters};
use super::output;
use super::submit::key_value;
use crate::model::{Name, PipelineId, Requirements};
use crate::protocol::dead::{DeadLetterFilter, Edit, ReplayBatch, ReplayOrder};
use clap::Args;
use std::str::FromStr;

const EXAMPLES: &str = "Examples:
  sawah replay 17 --reason ffmpeg-installed
  sawah replay --where reason=disk.full --reason disk-freed --dry-run
  sawah replay --where fingerprint=1a2b3c4d --reason driver-updated
  sawah replay --missing 12 --reason storage-is-back
  sawah replay 17 --reason too-large --set still_px=512 --memory-mib 8192
  sawah replay 17 --reason too-large --needs cores=16 --needs memory_mib=65536
  sawah replay 17 --reason no-card --needs gpu=true --needs program=ffmpeg
  sawah replay 17 --reason bad-driver --not-worker render-02
  sawah replay 17 --reason to-watch-it --only-worker render-03";

/// Run dead letters again, each as a new job
///
/// A replay never repeats what was delivered: an export that was written is not written again.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReplayArguments {
    #[command(flatten)]
    letters: Letters,
    /// Of this pipeline every failed part that nothing has made since, the dismissed ones included
    #[arg(long, value_name = "PIPELINE", conflicts_with_all = ["jobs", "all"])]
    missing: Option<PipelineId>,
    /// Change a setting, for these jobs alone; can be given several times
    #[arg(long = "set", value_name = "K=V", value_parser = key_value)]
    settings: Vec<(String, String)>,
    /// Another memory limit of the stage; 0 means none
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u64>,
    /// Another longest run, in seconds; 0 means no limit
    #[arg(long, value_name = "S")]
    timeout_s: Option<u64>,
    /// What the machine must have, as in the examples; can be given several times
    #[arg(long = "needs", value_name = "KEY=VALUE", value_parser = key_value)]
    needs: Vec<(String, String)>,
    /// This worker alone may take it; an empty name means any again
    #[arg(long, value_name = "W")]
    only_worker: Option<String>,
    /// This worker may not take it; an empty name means any again
    #[arg(long, value_name = "W")]
    not_worker: Option<String>,
    /// Why, for the audit; needed
    #[arg(long)]
    reason: Option<String>,
}

impl ReplayArguments {
    fn edit(&self) -> Result<Edit, CliError> {
        let requires = requirements(&self.needs).map_err(|why| CliError::usage(&why))?;
        Ok(Edit {
            settings: self.settings.iter().cloned().collect(),
            memory_mib: self.memory_mib,
            timeout_s: self.timeout_s,
            requires: (!requires.is_empty()).then_some(requires),
            only_worker: self.only_worker.clone(),
            not_worker: self.not_worker.clone(),
        })
    }

    fn filter(&self) -> Result<DeadLetterFilter, CliError> {
        let mut filter = self.letters.narrowed()?;
        if let Some(pipeline) = self.missing {
            filter.pipeline = Some(pipeline);
            filter.only_missing = true;
        }
        letters::named(filter)
    }
}

fn requirements(needs: &[(String, String)]) -> Result<Requirements, String> {
    fn parse<T: FromStr>(key: &str, value: &str) -> Result<Option<T>, String> {
        value.parse().map(Some).map_err(|_| format!("'{value}' is no value of '{key}'"))
    }
    let mut requires = Requirements::default();
    for (key, value) in needs {
        match key.as_str() {
            "cores" => requires.cores = parse(key, value)?,
            "memory_mib" => requires.memory_mib = parse(key, value)?,
            "gpu" => requires.gpu = parse(key, value)?,
            "program" => {
                let name: Name = value.parse().map_err(|error| format!("{error}"))?;
                requires.programs.get_or_insert_default().insert(name);
            }
            _ => {
                let known = "cores, memory_mib, gpu or program";
                return Err(format!("nothing is required by '{key}': use {known}"));
            }
        }
    }
    Ok(requires)
}

pub(super) fn run(context: &Context, arguments: ReplayArguments) -> Result<Exit, CliError> {
    let (filter, edit) = (arguments.filter()?, arguments.edit()?);
    let ReplayArguments { letters, reason, .. } = arguments;
    let actor = crate::client::actor();
    let reason = reason.filter(|reason| !reason.trim().is_empty()).ok_or_else(|| {
        CliError::usage("a replay needs a reason: say why with --reason TEXT, for the audit")
    })?;
    if let [job] = *letters.jobs
        && !letters.dry_run
    {
        let order = ReplayOrder { actor, reason, edit };
        let reply =
            context.with_client(|client| async move { Ok(client.replay(job, &order).await?) })?;
        if context.json {
            output::json(&reply)?;
        } else {
            output::line(&format!("Job {job} runs again as job {}", reply.job))?;
        }
        return Ok(Exit::Done);
    }
    let order = ReplayBatch { actor, reason, filter, edit, dry_run: letters.dry_run };
    let reply =
        context.with_client(|client| async move { Ok(client.replay_many(&order).await?) })?;
    letters::tell(context.json, &reply, "replayed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_typed_and_unknown_ones_are_refused() {
        let needs = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            requirements(&pairs)
        };
        let good = needs(&[("cores", "8"), ("gpu", "true"), ("program", "ffmpeg")]).unwrap();
        assert_eq!((good.cores, good.gpu, good.memory_mib), (Some(8), Some(true), None));
        assert_eq!(good.programs.map(|names| names.len()), Some(1));
        for bad in [("cores", "many"), ("gpu", "2"), ("colour", "red"), ("program", "")] {
            assert!(needs(&[bad]).is_err(), "{bad:?}");
        }
    }
}
