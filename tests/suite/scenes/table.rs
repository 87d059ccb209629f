//! Many submissions to one farm, each with the end that it must have.

use super::submit;
use crate::farm::Farm;
use futures_util::{StreamExt as _, stream};
use sawah::model::{Reason, Stage};
use sawah::protocol::view::PipelineDetail;
use std::path::PathBuf;

/// Submissions at once: with two, a worker never fails three pipelines without a success between,
/// for which it would be put in quarantine.
const AT_ONCE: usize = 2;

/// How a submission must end.
pub(super) enum End {
    /// With a result; warnings with these codes.
    Good(&'static [Reason]),
    /// With one dead letter, whose message holds these words.
    Dead(Stage, Reason, &'static [&'static str]),
}

/// One submission.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) scene: PathBuf,
    pub(super) options: Vec<&'static str>,
    pub(super) program: Vec<String>,
    pub(super) end: End,
}

/// Hands all in and tells of all that ended otherwise.
pub(super) async fn check_all(farm: &Farm, cases: Vec<Case>) {
    let ends = stream::iter(cases).map(|case| async move {
        let wrong = check(farm, &case).await;
        wrong.err().map(|why| format!("{}: {why}", case.name))
    });
    let wrong: Vec<Option<String>> = ends.buffer_unordered(AT_ONCE).collect().await;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} ended otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

async fn check(farm: &Farm, case: &Case) -> Result<(), String> {
    let mut options = vec!["--wait", "--name", case.name];
    options.extend(&case.options);
    if !options.contains(&"--recipe") {
        options.extend(["--recipe", "once"]);
    }
    let ran = submit(farm, &case.scene, &options, &case.program).await;
    if ran.code != 0 && ran.code != 1 || ran.stdout.is_empty() {
        return Err(format!("it was not handed in: {ran:#?}"));
    }
    let detail = farm.pipeline(ran.pipeline()).await;
    match case.end {
        End::Good(warnings) => good(&detail, warnings),
        End::Dead(stage, reason, words) => dead(farm, &detail, stage, reason, words).await,
    }
}

fn good(detail: &PipelineDetail, warnings: &[Reason]) -> Result<(), String> {
    let told: Vec<_> = detail.jobs.iter().flat_map(|job| &job.warnings).collect();
    let lacks = |reason: &&Reason| !told.iter().any(|warning| warning.reason == **reason);
    let lacking: Vec<_> = warnings.iter().filter(lacks).collect();
    if detail.published.is_empty() || !lacking.is_empty() {
        return Err(format!("it lacks {lacking:?}, but told {told:?}: {:#?}", detail.pipeline));
    }
    Ok(())
}

async fn dead(
    farm: &Farm,
    detail: &PipelineDetail,
    stage: Stage,
    reason: Reason,
    words: &[&str],
) -> Result<(), String> {
    let letters = farm.dead_letters(detail.pipeline.id).await;
    let [letter] = letters.as_slice() else {
        return Err(format!("one dead letter was expected: {letters:#?}"));
    };
    let lacking: Vec<_> = words.iter().filter(|word| !letter.message.contains(**word)).collect();
    if (letter.stage, letter.reason) != (stage, reason) || !lacking.is_empty() {
        let (found, at, message) = (letter.reason, letter.stage, &letter.message);
        return Err(format!(
            "{reason} at {stage} was expected; {found} at {at}, without {lacking:?}: {message}"
        ));
    }
    Ok(())
}
