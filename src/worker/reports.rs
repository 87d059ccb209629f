//! What the attempts of a session report, in few calls: while one is on its way the next ones
//! gather, so that many short jobs do not cost a call each, and a lone one waits for nothing.

use super::api::{Api, ApiError};
use crate::model::{SessionId, limits};
use crate::protocol::batch::{Report, ReportOutcome};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Reports that wait to be sent. Each attempt waits for the answer to one message at a time, so
/// there are never more than it has attempts.
#[derive(Debug, Default)]
pub(super) struct ReportQueue {
    waiting: Mutex<VecDeque<Message>>,
    wake: Notify,
}

/// What one attempt has to say, in its order, and who hears what became of the last of it.
#[derive(Debug)]
struct Message {
    reports: Vec<Report>,
    answer: oneshot::Sender<Result<(), ApiError>>,
}

impl ReportQueue {
    /// Sends reports of one job and waits for the answer to the last one.
    pub(super) async fn send(&self, reports: Vec<Report>) -> Result<(), ApiError> {
        let (answer, answered) = oneshot::channel();
        self.waiting().push_back(Message { reports, answer });
        self.wake.notify_one();
        let gone = |_| Err(ApiError::Unreachable("the session has ended".to_owned()));
        answered.await.unwrap_or_else(gone)
    }

    /// Sends what comes, for ever.
    pub(super) async fn run(&self, api: &Api, session: &SessionId) {
        loop {
            let (answers, reports) = self.take();
            if reports.is_empty() {
                self.wake.notified().await;
                continue;
            }
            let told = api.report(session, reports).await;
            let told = told.and_then(|outcomes| {
                if outcomes.len() < answers.last_end() {
                    return Err(ApiError::Unreachable("its answer is too short".to_owned()));
                }
                Ok(outcomes)
            });
            answers.give(&told);
        }
    }

    /// The oldest messages that fit into one call.
    fn take(&self) -> (Answers, Vec<Report>) {
        let mut waiting = self.waiting();
        let (mut answers, mut reports) = (Answers(Vec::new()), Vec::new());
        while let Some(next) = waiting.front() {
            if !reports.is_empty() && reports.len() + next.reports.len() > limits::REPORTS_PER_CALL
            {
                break;
            }
            let Some(message) = waiting.pop_front() else { break };
            // Whoever waits no more has been told to stop.
            if !message.answer.is_closed() {
                reports.extend(message.reports);
                answers.0.push((reports.len(), message.answer));
            }
        }
        (answers, reports)
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who waits for the outcome of the report before this place.
struct Answers(Vec<(usize, oneshot::Sender<Result<(), ApiError>>)>);

impl Answers {
    fn last_end(&self) -> usize {
        self.0.last().map_or(0, |(end, _)| *end)
    }

    fn give(self, told: &Result<Vec<ReportOutcome>, ApiError>) {
        for (end, answer) in self.0 {
            let outcome = match told {
                Ok(outcomes) => match outcomes.get(end.saturating_sub(1)) {
                    Some(ReportOutcome::Refused(problem)) => Err(problem.clone().into()),
                    _ => Ok(()),
                },
                Err(error) => Err(error.clone()),
            };
            // Nobody may listen any more.
            let _ = answer.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Epoch, JobId, JobState};
    use crate::protocol::batch::ReportEvent;
    use crate::protocol::problem::{Problem, ProblemCode};
    use futures_util::FutureExt;

    fn report(job: i64) -> Report {
        Report { job: JobId(job), epoch: Epoch(1), event: ReportEvent::Start }
    }

    fn refused() -> ReportOutcome {
        ReportOutcome::Refused(Problem {
            code: ProblemCode::Superseded,
            message: String::new(),
            remedy: String::new(),
            reason: None,
        })
    }

    #[test]
    fn each_hears_of_its_own_last_report_and_who_left_is_not_sent() {
        let queue = ReportQueue::default();
        let sends = [vec![report(1)], vec![report(2), report(2)], vec![report(3)]];
        let mut sends = sends.map(|reports| Box::pin(queue.send(reports)));
        let mut left = Box::pin(queue.send(vec![report(9)]));
        assert!(left.as_mut().now_or_never().is_none());
        drop(left);
        assert!(sends.iter_mut().all(|send| send.as_mut().now_or_never().is_none()));
        let (answers, reports) = queue.take();
        let jobs: Vec<i64> = reports.iter().map(|report| report.job.0).collect();
        assert_eq!(jobs, [1, 2, 2, 3]);
        let done = ReportOutcome::State(JobState::Processing);
        answers.give(&Ok(vec![done.clone(), refused(), done, refused()]));
        let said = sends.map(FutureExt::now_or_never);
        assert_eq!(said, [Some(Ok(())), Some(Ok(())), Some(Err(ApiError::Superseded))]);
        assert!(queue.take().1.is_empty());
    }

    #[test]
    fn a_call_carries_no_more_than_the_coordinator_takes() {
        let queue = ReportQueue::default();
        let mut sends: Vec<_> =
            (0..200).map(|job| Box::pin(queue.send(vec![report(job), report(job)]))).collect();
        assert!(sends.iter_mut().all(|send| send.as_mut().now_or_never().is_none()));
        let counts: Vec<usize> = (0..3).map(|_| queue.take().1.len()).collect();
        assert_eq!(counts, [limits::REPORTS_PER_CALL, 400 - limits::REPORTS_PER_CALL, 0]);
    }
}
