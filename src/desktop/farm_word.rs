//! The whole farm in one word, with its reason.

use super::index::Index;
use super::theme::Tone;
use super::words;
use crate::client::live::Connection;
use crate::client::read_model::ReadModel;

/// What the farm does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarmWord {
    /// One or a few words.
    pub word: &'static str,
    /// Its tone.
    pub tone: Tone,
    /// Why.
    pub reason: String,
}

/// The word for a farm. What hinders work comes before what waits for people, since dead letters
/// have a chip of their own.
pub fn farm_word(connection: &Connection, model: &ReadModel, index: &Index) -> FarmWord {
    let say = |word, tone, reason| FarmWord { word, tone, reason };
    let live = index.queued + index.running + index.retrying;
    let jobs = |number| words::plural(number, "job", "jobs");
    match connection {
        Connection::Connecting => {
            return say("Connecting", Tone::Calm, "the first snapshot is on its way".to_owned());
        }
        Connection::Lost { .. } => {
            return say("Cut off", Tone::Dead, "what you see may be out of date".to_owned());
        }
        Connection::Live => {}
    }
    if model.workers.is_empty() && live > 0 {
        let reason = format!("{} and nobody to do it", jobs(live));
        return say("Waiting for a worker", Tone::Wait, reason);
    }
    if index.running > 0 {
        let busy = model.workers.values().filter(|worker| !worker.jobs.is_empty()).count();
        let reason = if busy > 0 {
            let workers = words::plural(busy, "worker", "workers");
            format!("{} on {workers}", jobs(index.running))
        } else {
            format!("{} running", jobs(index.running))
        };
        return say("Active", Tone::Run, reason);
    }
    if index.queued > 0 {
        return say("Starting", Tone::Run, format!("{} about to be claimed", jobs(index.queued)));
    }
    if index.retrying > 0 {
        return say("Waiting to retry", Tone::Wait, jobs(index.retrying));
    }
    if index.dead_letters > 0 {
        let letters = words::plural(index.dead_letters, "dead letter waits", "dead letters wait");
        return say("Trouble", Tone::Dead, format!("{letters} for a decision"));
    }
    if model.workers.is_empty() {
        return say("Idle", Tone::Calm, "nothing to do, no worker here yet".to_owned());
    }
    let workers = words::plural(model.workers.len(), "worker", "workers");
    say("Idle", Tone::Good, format!("nothing to do, {workers} ready"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hinders_work_comes_first() {
        let model = ReadModel::default();
        let word =
            |connection: &Connection, index: &Index| farm_word(connection, &model, index).word;
        let live = Connection::Live;
        let index = Index { queued: 2, dead_letters: 1, ..Index::default() };
        assert_eq!(word(&live, &index), "Waiting for a worker");
        assert_eq!(word(&Connection::Lost { why: "gone".to_owned() }, &index), "Cut off");
        let index = Index { dead_letters: 1, ..Index::default() };
        assert_eq!(word(&live, &index), "Trouble");
        assert_eq!(word(&live, &Index::default()), "Idle");
        assert_eq!(word(&Connection::Connecting, &Index::default()), "Connecting");
    }
}
