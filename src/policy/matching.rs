//! Which worker may take which job.

use crate::model::{AssetKind, Stage, limits};
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
    fn only_the_drawing_of_meshes_prefers_a_gpu() {
        assert_eq!(resource_class(Stage::Render, Some(AssetKind::Mesh)), ResourceClass::PrefersGpu);
        assert_eq!(resource_class(Stage::Render, Some(AssetKind::Image)), ResourceClass::Any);
        assert_eq!(resource_class(Stage::Publish, Some(AssetKind::Mesh)), ResourceClass::Any);
    }
}
