//! Which worker may take which job.

use crate::model::{AssetKind, Name, Requirements, Stage, limits, paths};
use crate::protocol::work::Capabilities;

/// What a job asks of a worker. Interned into each job, so that a claim never tests jobs one by
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceClass {
    /// Any worker will do.
    Any,
    /// A worker with a graphics adapter is preferred.
    PrefersGpu,
}

impl ResourceClass {
    /// All classes.
    pub const ALL: [Self; 2] = [Self::Any, Self::PrefersGpu];

    /// The number in the store.
    pub const fn code(self) -> i64 {
        match self {
            Self::Any => 0,
            Self::PrefersGpu => 1,
        }
    }

    /// The class with this number.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.code() == code)
    }
}

/// What a job of this stage and kind asks for.
pub fn resource_class(stage: Stage, kind: Option<AssetKind>) -> ResourceClass {
    if stage == Stage::Render && kind == Some(AssetKind::Mesh) {
        ResourceClass::PrefersGpu
    } else {
        ResourceClass::Any
    }
}

/// The jobs of a class that a worker may take now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// All that are ready.
    All,
    /// Those that have been ready since this wall time or longer.
    ReadySince {
        /// Unix milliseconds.
        wall_ms: i64,
    },
}

/// Jobs that prefer a GPU are left to the workers that have one, for a while.
pub fn allowed(
    class: ResourceClass,
    worker: &Capabilities,
    live: &[Capabilities],
    now_wall_ms: i64,
) -> Allowed {
    let waits_for_gpu = class == ResourceClass::PrefersGpu
        && worker.gpus.is_empty()
        && live.iter().any(|other| !other.gpus.is_empty());
    if waits_for_gpu {
        Allowed::ReadySince { wall_ms: now_wall_ms.saturating_sub(limits::GPU_PREFERENCE_MS) }
    } else {
        Allowed::All
    }
}

/// Something that a job requires and a worker's machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// Processor cores.
    Cores {
        /// Required.
        wanted: u32,
        /// There.
        has: u32,
    },
    /// Memory, in MiB.
    Memory {
        /// Required.
        wanted_mib: u64,
        /// There.
        has_mib: u64,
    },
    /// A graphics adapter.
    Gpu,
    /// A program.
    Program(Name),
    /// A folder of shared storage.
    Folder(String),
}

/// Everything required that the worker does not have.
pub fn lacking(requires: &Requirements, worker: &Capabilities) -> Vec<Lack> {
    let mut lacks = Vec::new();
    let has_mib = worker.memory_bytes >> 20;
    if let Some(wanted) = requires.cores.filter(|wanted| worker.cores < *wanted) {
        lacks.push(Lack::Cores { wanted, has: worker.cores });
    }
    if let Some(wanted_mib) = requires.memory_mib.filter(|wanted| has_mib < *wanted) {
        lacks.push(Lack::Memory { wanted_mib, has_mib });
    }
    if requires.gpu == Some(true) && worker.gpus.is_empty() {
        lacks.push(Lack::Gpu);
    }
    let has = |name: &Name| worker.programs.iter().any(|program| program.name == name.as_str());
    let programs = requires.programs.iter().flatten();
    lacks.extend(programs.filter(|name| !has(name)).cloned().map(Lack::Program));
    let unseen = |folder: &&String| paths::map(folder, &worker.paths, &worker.os).is_none();
    lacks.extend(requires.sees.iter().filter(unseen).cloned().map(Lack::Folder));
    lacks
}

/// Whether a job that just failed on the asking worker is left to another one for a while.
/// `others` counts the live workers beside the one that asks: without one nothing is left.
pub fn left_to_another(failed_here: bool, others: u32, ready_ms: i64, now_wall_ms: i64) -> bool {
    let waited_ms = now_wall_ms.saturating_sub(ready_ms);
    failed_here && others > 0 && waited_ms < limits::ANOTHER_WORKER_MS
}

/// Retries of one queue that may run at once on workers with so many slots in all: failing jobs
/// never take all of them where there is more than one.
pub fn retries_at_once(slots: u32) -> u32 {
    (slots.saturating_mul(limits::RETRY_SHARE_PERCENT) / 100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(gpus: &[&str]) -> Capabilities {
        Capabilities {
            host: "h".into(),
            os: "linux".into(),
            version: "0".into(),
            cores: 2,
            memory_bytes: 0,
            slots: 1,
            gpus: gpus.iter().map(|gpu| (*gpu).to_owned()).collect(),
            programs: Vec::new(),
            paths: Vec::new(),
        }
    }

    #[test]
    fn a_gpu_is_preferred_only_where_there_is_one() {
        let (with, without) = (worker(&["card"]), worker(&[]));
        let both = [with.clone(), without.clone()];
        let class = ResourceClass::PrefersGpu;
        assert_eq!(allowed(class, &with, &both, 100_000), Allowed::All);
        assert_eq!(
            allowed(class, &without, &both, 100_000),
            Allowed::ReadySince { wall_ms: 85_000 }
        );
        assert_eq!(allowed(class, &without, &both[1..], 100_000), Allowed::All);
        assert_eq!(allowed(ResourceClass::Any, &without, &both, 100_000), Allowed::All);
    }

    #[test]
    fn a_failed_job_is_left_to_another_worker_for_a_while_and_only_where_there_is_one() {
        assert!(left_to_another(true, 1, 100_000, 100_000));
        assert!(left_to_another(true, 1, 100_000, 129_999));
        assert!(!left_to_another(true, 1, 100_000, 130_000));
        assert!(!left_to_another(true, 0, 100_000, 100_000), "nobody else is there");
        assert!(!left_to_another(false, 5, 100_000, 100_000));
        assert!(!left_to_another(true, 1, i64::MIN, i64::MAX));
    }

    #[test]
    fn retries_take_half_of_the_slots_and_at_least_one() {
        for (slots, retries) in [(0, 1), (1, 1), (2, 1), (3, 1), (8, 4), (u32::MAX, 42_949_672)] {
            assert_eq!(retries_at_once(slots), retries, "{slots}");
        }
    }

    #[test]
    fn a_requirement_that_is_not_met_is_named_and_none_that_is() {
        let machine = Capabilities { cores: 8, memory_bytes: 16 << 30, ..worker(&[]) };
        let programs = |name: &str| Some([name.parse().unwrap()].into());
        let wants = Requirements {
            cores: Some(16),
            memory_mib: Some(16 << 10),
            gpu: Some(true),
            programs: programs("ffmpeg"),
            sees: Some("P:\\proj".to_owned()),
        };
        let expected = [
            Lack::Cores { wanted: 16, has: 8 },
            Lack::Gpu,
            Lack::Program("ffmpeg".parse().unwrap()),
            Lack::Folder("P:\\proj".to_owned()),
        ];
        assert_eq!(lacking(&wants, &machine), expected);
        let none = Requirements {
            cores: Some(0),
            memory_mib: Some(0),
            gpu: Some(false),
            programs: Some(std::collections::BTreeSet::new()),
            sees: None,
        };
        assert!(lacking(&none, &machine).is_empty());
    }

    #[test]
    fn only_the_drawing_of_meshes_prefers_a_gpu() {
        assert_eq!(resource_class(Stage::Render, Some(AssetKind::Mesh)), ResourceClass::PrefersGpu);
        assert_eq!(resource_class(Stage::Render, Some(AssetKind::Image)), ResourceClass::Any);
        assert_eq!(resource_class(Stage::Publish, Some(AssetKind::Mesh)), ResourceClass::Any);
    }
}
