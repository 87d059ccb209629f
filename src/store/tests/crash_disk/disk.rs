//! A disk that can lose power: what was flushed is there afterwards, of the rest anything may be.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was done to a file. Names of files count as safe at once: SQLite flushes their folder.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Write { file: String, at: usize, bytes: Vec<u8> },
    Truncate { file: String, size: usize },
    Sync { file: String },
    Delete { file: String },
}

/// All that was done, in order.
#[derive(Debug, Default)]
pub(super) struct Disk(Mutex<Vec<Op>>);

/// A stream of chance; the same seed gives the same.
pub(super) struct Chance(u64);

/// What the loss of power leaves of what was not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Everything,
    /// Each write whole, torn or not at all.
    Pieces,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Less than `below`.
    pub(super) fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        let hash = *blake3::hash(&self.0.to_le_bytes()).as_bytes();
        let number = u64::from_le_bytes(hash[..8].try_into().unwrap());
        number as usize % below.max(1)
    }
}

impl Disk {
    fn ops(&self) -> MutexGuard<'_, Vec<Op>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self, op: Op) {
        self.ops().push(op);
    }

    /// How many things were done so far: a moment.
    pub(super) fn moment(&self) -> usize {
        self.ops().len()
    }

    /// The files as they may be when the power goes at this moment.
    pub(super) fn after_power_cut(
        &self,
        moment: usize,
        chance: &mut Chance,
    ) -> BTreeMap<String, Vec<u8>> {
        let ops = self.ops();
        let done = &ops[..moment];
        let mut flushed = BTreeMap::new();
        for (index, op) in done.iter().enumerate() {
            if let Op::Sync { file } = op {
                flushed.insert(file.clone(), index);
            }
        }
        let left = [Left::Nothing, Left::Everything, Left::Pieces, Left::Pieces][chance.below(4)];
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (index, op) in done.iter().enumerate() {
            match op {
                Op::Sync { .. } => {}
                Op::Delete { file } => drop(files.remove(file)),
                Op::Write { file, .. } | Op::Truncate { file, .. } => {
                    let safe = flushed.get(file).is_some_and(|last| index < *last);
                    apply(files.entry(file.clone()).or_default(), op, safe, left, chance);
                }
            }
        }
        files
    }
}

fn apply(content: &mut Vec<u8>, op: &Op, safe: bool, left: Left, chance: &mut Chance) {
    let whole = match left {
        _ if safe => true,
        Left::Nothing => return,
        Left::Everything => true,
        Left::Pieces => match chance.below(3) {
            0 => return,
            1 => true,
            _ => false,
        },
    };
    match op {
        Op::Write { at, bytes, .. } => {
            let length = if whole { bytes.len() } else { chance.below(bytes.len()) };
            if content.len() < at + length {
                content.resize(at + length, 0);
            }
            content[*at..at + length].copy_from_slice(&bytes[..length]);
        }
        Op::Truncate { size, .. } if whole => content.resize(*size, 0),
        _ => {}
    }
}

#[test]
fn only_what_was_flushed_is_sure_to_survive() {
    let disk = Disk::default();
    let write = |at, byte| Op::Write { file: "f".into(), at, bytes: vec![byte; 8] };
    disk.record(write(0, 1));
    disk.record(Op::Sync { file: "f".into() });
    disk.record(write(8, 2));
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let files = disk.after_power_cut(3, &mut Chance::new(seed << 32));
        assert_eq!(files["f"][..8], [1; 8]);
        lengths.insert(files["f"].len());
    }
    assert!(lengths.contains(&8) && lengths.contains(&16) && lengths.len() > 2, "torn too");
    let unflushed = (0..50).map(|seed| disk.after_power_cut(1, &mut Chance::new(seed << 32)));
    assert!(unflushed.into_iter().any(|files| files["f"].is_empty()));
}
