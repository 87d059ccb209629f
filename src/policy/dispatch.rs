//! Which ready jobs a worker gets: the best of what nothing keeps from it.

use super::gate::{Facts, Round, Worker};
use super::needs::Needs;
use super::urgency;
use crate::model::{JobId, ProjectId, Stage};
use crate::protocol::work::Capabilities;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Ready jobs that differ in nothing that a rule looks at but their age.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Where they wait.
    pub queue: &'static str,
    /// Their stage.
    pub stage: Stage,
    /// What they ask for.
    pub needs: Needs,
    /// Whose they are.
    pub project: ProjectId,
    /// Their priority.
    pub priority: u8,
    /// Whether they have failed before.
    pub round: Round,
    /// The oldest of them, oldest first.
    pub heads: VecDeque<Head>,
}

/// One ready job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Since when it is ready, Unix milliseconds.
    pub ready_ms: i64,
    /// Which.
    pub job: JobId,
    /// The worker that it failed on last.
    pub failed_on: Option<String>,
}

/// A job that is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Which.
    pub job: JobId,
    /// The number of its lane.
    pub lane: usize,
}

impl Lane {
    /// Whether a limit keeps all of its jobs from all workers.
    pub fn is_held(&self, facts: &Facts, now_wall_ms: i64) -> bool {
        let holds =
            facts.holds(self.queue, &self.needs, self.project, self.round, now_wall_ms).next();
        holds.is_some()
    }
}

/// Takes up to `wanted` jobs for a worker out of the lanes: by the projects' turns, then level
/// (priority and age), then later stages first so that pipelines end before new ones begin, then
/// age. `facts` are left as they are after all of these are handed out.
pub fn pick(
    lanes: &mut [Lane],
    facts: &mut Facts,
    worker: &Worker,
    live: &[Capabilities],
    wanted: u32,
    now_wall_ms: i64,
) -> Vec<Pick> {
    // What is left to another worker stands in nobody's way.
    for lane in lanes.iter_mut().filter(|lane| lane.round == Round::Retry) {
        let Lane { heads, needs, .. } = lane;
        heads.retain(|head| worker.failed_here(needs, waiting(head), now_wall_ms).is_none());
    }
    let mut picked = Vec::new();
    for _ in 0..wanted {
        let best = lanes
            .iter()
            .enumerate()
            .filter_map(|(number, lane)| Some((number, lane, lane.heads.front()?)))
            .filter(|(_, lane, head)| {
                let mut holds = worker.holds(&lane.needs, live, waiting(head), now_wall_ms);
                holds.next().is_none() && !lane.is_held(facts, now_wall_ms)
            })
            .min_by_key(|(_, lane, head)| {
                let level = urgency::level(lane.priority, head.ready_ms, now_wall_ms);
                let turn = facts.turn(lane.project);
                (turn, Reverse(level), Reverse(lane.stage), head.ready_ms, head.job)
            })
            .map(|(number, _, _)| number);
        let Some(number) = best else { break };
        let Some(lane) = lanes.get_mut(number) else { break };
        let Some(head) = lane.heads.pop_front() else { break };
        facts.take(lane.queue, &lane.needs, lane.project, lane.round, now_wall_ms);
        picked.push(Pick { job: head.job, lane: number });
    }
    picked
}

fn waiting(head: &Head) -> (i64, Option<&str>) {
    (head.ready_ms, head.failed_on.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mode, limits};
    use crate::policy::gate::{Project, Retries, Semaphore};
    use crate::policy::matching::ResourceClass;

    const NOW_MS: i64 = 1_800_000_000_000;

    fn worker() -> Worker {
        let capabilities = Capabilities {
            host: "h".into(),
            os: "linux".into(),
            version: "0".into(),
            cores: 2,
            memory_bytes: 0,
            slots: 8,
            gpus: Vec::new(),
            programs: Vec::new(),
            paths: Vec::new(),
        };
        Worker {
            name: "w".into(),
            mode: Mode::Running,
            capabilities,
            busy: 0,
            quarantined: false,
            others: 0,
        }
    }

    fn lane(stage: Stage, project: i64, priority: u8, jobs: &[i64]) -> Lane {
        let heads = jobs.iter().map(|job| Head {
            ready_ms: NOW_MS - 1_000 + job,
            job: JobId(*job),
            failed_on: None,
        });
        Lane {
            queue: super::super::flow::queue(stage),
            stage,
            needs: Needs::only(ResourceClass::Any),
            project: ProjectId(project),
            priority,
            round: Round::Fresh,
            heads: heads.collect(),
        }
    }

    fn project(name: &str, weight: u32, quota: Option<u32>) -> Project {
        Project { name: name.parse().unwrap(), weight, quota, leased: 0, pass: 0 }
    }

    fn facts() -> Facts {
        let projects = [(1, project("default", 1, None)), (2, project("film", 3, None))];
        let projects = projects.into_iter().map(|(id, one)| (ProjectId(id), one)).collect();
        Facts { projects, ..Facts::default() }
    }

    fn picked(lanes: &mut [Lane], facts: &mut Facts, wanted: u32) -> Vec<i64> {
        let picks = pick(lanes, facts, &worker(), &[], wanted, NOW_MS);
        picks.into_iter().map(|pick| pick.job.0).collect()
    }

    #[test]
    fn priority_then_later_stage_then_age() {
        let mut lanes = [
            lane(Stage::Ingest, 1, 5, &[1, 5]),
            lane(Stage::Publish, 1, 5, &[3, 4]),
            lane(Stage::Ingest, 1, 7, &[6]),
        ];
        assert_eq!(picked(&mut lanes, &mut facts(), 9), [6, 3, 4, 1, 5]);
    }

    #[test]
    fn who_waited_long_passes_who_is_more_urgent() {
        let mut lanes = [lane(Stage::Ingest, 1, 8, &[1]), lane(Stage::Ingest, 1, 0, &[2])];
        assert_eq!(picked(&mut lanes.clone(), &mut facts(), 1), [1]);
        lanes[1].heads[0].ready_ms = NOW_MS - 9 * limits::AGEING_MS;
        assert_eq!(picked(&mut lanes, &mut facts(), 1), [2]);
    }

    #[test]
    fn projects_take_turns_by_weight_whatever_their_priorities() {
        let numbers: Vec<i64> = (1..=20).collect();
        let mut lanes = [lane(Stage::Ingest, 1, 9, &numbers), lane(Stage::Ingest, 2, 0, &numbers)];
        let mut facts = facts();
        let picks = pick(&mut lanes, &mut facts, &worker(), &[], 8, NOW_MS);
        assert_eq!(picks.iter().filter(|pick| pick.lane == 1).count(), 6, "{picks:?}");
    }

    #[test]
    fn a_full_limit_holds_its_lane_only_and_no_claim_overdraws_it() {
        let licence = "licence".parse().unwrap();
        let mut lanes = [lane(Stage::Ingest, 1, 9, &[1, 2, 3]), lane(Stage::Ingest, 1, 0, &[4])];
        lanes[0].needs.semaphores.insert("licence".parse().unwrap());
        let mut facts = facts();
        facts.semaphores.insert(licence, Semaphore { capacity: 2, held: 1 });
        assert_eq!(picked(&mut lanes, &mut facts, 9), [1, 4]);
        facts.projects.get_mut(&ProjectId(1)).unwrap().quota = Some(3);
        let mut more = [lane(Stage::Ingest, 1, 5, &[5, 6])];
        assert_eq!(picked(&mut more, &mut facts, 9), [5], "two of three run already");
    }

    #[test]
    fn retries_leave_room_for_fresh_jobs_and_pass_over_the_worker_that_they_failed_on() {
        let mut again = lane(Stage::Ingest, 1, 5, &[1, 2, 3]);
        again.round = Round::Retry;
        again.heads[0].failed_on = Some("w".into());
        let mut lanes = [again, lane(Stage::Ingest, 1, 5, &[7, 8])];
        let mut facts = facts();
        let queue = lanes[0].queue.to_owned();
        facts.retries.insert(queue, Retries { at_once: 2, running: 1 });
        let careful = Worker { others: 1, ..worker() };
        let picks = pick(&mut lanes.clone(), &mut facts.clone(), &careful, &[], 9, NOW_MS);
        let jobs: Vec<_> = picks.iter().map(|pick| pick.job.0).collect();
        assert_eq!(jobs, [2, 7, 8], "the first is left to another, the third has no room");
        assert_eq!(picked(&mut lanes, &mut facts, 9), [1, 7, 8], "nobody else is there");
        let barred = Worker { quarantined: true, ..worker() };
        assert!(pick(&mut lanes, &mut facts, &barred, &[], 9, NOW_MS).is_empty());
    }

    #[test]
    fn what_is_paused_gets_and_gives_nothing() {
        let lanes = [lane(Stage::Ingest, 1, 5, &[1]), lane(Stage::Inspect, 1, 5, &[2])];
        for mode in [Mode::Paused, Mode::Draining] {
            let mut queue = facts();
            queue.queues.insert("inspect".into(), mode);
            assert_eq!(picked(&mut lanes.clone(), &mut queue, 9), [1]);
            let mut farm = Facts { farm: mode, ..facts() };
            assert!(picked(&mut lanes.clone(), &mut farm, 9).is_empty());
            let stopped = Worker { mode, ..worker() };
            let picks = pick(&mut lanes.clone(), &mut facts(), &stopped, &[], 9, NOW_MS);
            assert!(picks.is_empty());
        }
    }
}
