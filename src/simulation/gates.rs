//! What operators shut and limited, as the audit tells it: no claim may pass it.

use super::ledger::{Broken, ensure};
use crate::model::{Mode, Name, Target};
use crate::protocol::control::Limit;
use std::collections::BTreeMap;

/// All that keeps work back.
#[derive(Debug, Default)]
pub(super) struct Gates {
    shut: BTreeMap<Target, Mode>,
    semaphores: BTreeMap<Name, u32>,
    rates: BTreeMap<Name, u32>,
    quotas: BTreeMap<Name, (u32, u32)>,
    queues: BTreeMap<String, u64>,
}

/// A claim, just made, and what is held with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim<'a> {
    pub(super) queue: &'a str,
    pub(super) worker: &'a str,
    /// The semaphore that it needs, and how many hold it now.
    pub(super) semaphore: Option<(&'a str, usize)>,
    /// Jobs of the only project that are held now.
    pub(super) held: usize,
}

impl Gates {
    /// What is paused or draining.
    pub(super) fn shut(&self) -> impl Iterator<Item = &Target> {
        self.shut.keys()
    }

    /// Orders that lift each limit.
    pub(super) fn limited(&self) -> impl Iterator<Item = Limit> {
        let semaphores = self.semaphores.keys().cloned();
        let rates = self.rates.iter().map(|(name, burst)| (name.clone(), *burst));
        let quotas = self.quotas.iter().map(|(name, (weight, _))| (name.clone(), *weight));
        let queues = self.queues.keys().cloned();
        semaphores
            .map(|name| Limit::Semaphore { name, capacity: None })
            .chain(rates.map(|(name, burst)| Limit::Rate { name, per_minute: None, burst }))
            .chain(quotas.map(|(name, weight)| Limit::Project { name, weight, quota: None }))
            .chain(queues.map(|queue| Limit::Queue { queue, max_queued: None }))
    }

    /// A mode was changed.
    pub(super) fn control(&mut self, target: &Target, from: Mode, mode: Mode) -> Broken {
        let before = if mode == Mode::Running {
            self.shut.remove(target)
        } else {
            self.shut.insert(target.clone(), mode)
        };
        let was = before.unwrap_or_default();
        ensure(was == from && from != mode, || {
            format!("{target} was {was}, but went from {from} to {mode}")
        })
    }

    /// A limit was set or lifted.
    pub(super) fn limit(&mut self, limit: &Limit) {
        match limit.clone() {
            Limit::Semaphore { name, capacity } => set(&mut self.semaphores, name, capacity),
            Limit::Rate { name, per_minute, burst } => {
                set(&mut self.rates, name, per_minute.map(|_| burst));
            }
            Limit::Project { name, weight, quota } => {
                set(&mut self.quotas, name, quota.map(|quota| (weight, quota)));
            }
            Limit::Queue { queue, max_queued } => set(&mut self.queues, queue, max_queued),
        }
    }

    /// Nothing that was shut or full gave out work.
    pub(super) fn passed(&self, claim: Claim<'_>) -> Broken {
        let targets = [
            Target::Farm,
            Target::Queue { queue: claim.queue.to_owned() },
            Target::Worker { worker: claim.worker.to_owned() },
        ];
        for target in targets {
            let open = !self.shut.contains_key(&target);
            ensure(open, || format!("{} got a job though {target} is shut", claim.worker))?;
        }
        if let Some((name, holders)) = claim.semaphore
            && let Some((_, capacity)) = self.semaphores.iter().find(|one| one.0.as_str() == name)
        {
            ensure(holders <= *capacity as usize, || {
                format!("{holders} jobs hold {name}, which has {capacity} places")
            })?;
        }
        match self.quotas.get(&Name::default_project()) {
            Some((_, quota)) => ensure(claim.held <= *quota as usize, || {
                format!("{} jobs run of a project whose quota is {quota}", claim.held)
            }),
            None => Ok(()),
        }
    }
}

fn set<K: Ord, V>(limits: &mut BTreeMap<K, V>, name: K, limit: Option<V>) {
    match limit {
        Some(limit) => drop(limits.insert(name, limit)),
        None => drop(limits.remove(&name)),
    }
}
