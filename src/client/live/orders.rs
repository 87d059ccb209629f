//! Carries out what the window asks for, and says what became of it.

use super::shared::Shared;
use super::{Draft, Notice, Order, watch};
use crate::client::error::ClientError;
use crate::client::intake::{self, Item};
use crate::model::PipelineId;
use crate::protocol::dead::{Edit, ReplayOrder};
use crate::protocol::submit;
use crate::protocol::submit::SubmitOutcome;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

/// Orders carried out at the same time, so that a large upload does not hold up a replay.
const AT_ONCE: usize = 4;
/// Notices about single assets of one order; the rest is counted.
const NOTICES_PER_ORDER: usize = 8;

pub(super) async fn run(shared: Arc<Shared>, mut orders: mpsc::Receiver<Order>) {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    while let Some(order) = orders.recv().await {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let task = Arc::clone(&shared);
        shared.spawn(async move {
            let notices = carry_out(&task, order).await;
            task.answer(notices);
            drop(slot);
        });
    }
}

async fn carry_out(shared: &Shared, order: Order) -> Vec<Notice> {
    let client = &shared.client;
    let by_hand =
        |reason: &str| submit::Order { actor: shared.actor.clone(), reason: reason.to_owned() };
    match order {
        Order::Submit(draft) => submit_all(shared, &draft).await,
        Order::Replay { job } => {
            let row = shared.model().dead_letters.get(&job).map(|letter| letter.pipeline);
            let submit::Order { actor, reason } = by_hand("replayed from the desktop");
            let order = ReplayOrder { actor, reason, edit: Edit::default() };
            let result = client.replay(job, &order).await;
            one(result.map(|new| format!("Job {job} runs again as job {}", new.job)), row)
        }
        Order::Dismiss { job } => {
            let result = client.dismiss(job, &by_hand("dismissed in the window")).await;
            one(result.map(|()| format!("The dead letter of job {job} is dismissed")), None)
        }
        Order::Cancel { pipeline } => {
            let result = client.cancel(pipeline, &by_hand("cancelled in the window")).await;
            let text = |reply: submit::CancelReply| match reply.jobs {
                0 => format!("Pipeline {pipeline} had nothing left to cancel"),
                1 => format!("Pipeline {pipeline} is cancelled, with 1 job"),
                jobs => format!("Pipeline {pipeline} is cancelled, with {jobs} jobs"),
            };
            one(result.map(text), Some(pipeline))
        }
        Order::Watch(wish) => watch::carry_out(shared, wish).await,
    }
}

fn one(result: Result<String, ClientError>, pipeline: Option<PipelineId>) -> Vec<Notice> {
    let notice = match result {
        Ok(text) => Notice { is_error: false, text, pipeline },
        Err(error) => Notice { is_error: true, text: error.to_string(), pipeline },
    };
    vec![notice]
}

async fn submit_all(shared: &Shared, draft: &Draft) -> Vec<Notice> {
    let handover = match draft.handover(&shared.actor) {
        Ok(handover) => handover,
        Err(text) => return vec![Notice { is_error: true, text, pipeline: None }],
    };
    let items = intake::hand_in(&shared.client, &handover, &|_| {}).await;
    let mut notices: Vec<Notice> = items.iter().map(notice).collect();
    // What went wrong is said first; what went right may be counted.
    notices.sort_by_key(|notice| !notice.is_error);
    let more = notices.len().saturating_sub(NOTICES_PER_ORDER);
    let hidden_errors =
        notices.iter().skip(NOTICES_PER_ORDER).filter(|notice| notice.is_error).count();
    notices.truncate(NOTICES_PER_ORDER);
    if more > 0 {
        let text = format!("{more} more were handed in, {hidden_errors} of them refused");
        notices.push(Notice { is_error: hidden_errors > 0, text, pipeline: None });
    }
    notices
}

fn notice(item: &Item) -> Notice {
    match &item.outcome {
        Ok(done) => {
            let what = match done.outcome {
                SubmitOutcome::Created => "is handed in",
                SubmitOutcome::AlreadyRunning => "is in work already",
                SubmitOutcome::AlreadyThere => "was made before: its results are there",
            };
            let mut text = format!("{} v{} {what}", done.asset, done.asset_version);
            for note in &item.notes {
                text = format!("{text}; {note}");
            }
            Notice { is_error: false, text, pipeline: Some(done.pipeline) }
        }
        Err(error) => Notice { is_error: true, text: error.to_string(), pipeline: None },
    }
}
