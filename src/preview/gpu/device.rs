//! Finds an adapter and opens it; turns everything that goes wrong into errors.

use super::Wanted;
use crate::preview::artist::DrawError;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{Adapter, Backends, DeviceType, ErrorFilter, Instance, InstanceDescriptor};

/// An open adapter.
pub(super) struct Connection {
    pub(super) name: String,
    /// It is a program, as lavapipe and WARP are.
    pub(super) is_software: bool,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// The first thing that went wrong outside of a guarded call.
    failed: Arc<Mutex<Option<Trouble>>>,
}

/// What went wrong, in the driver's words.
#[derive(Debug, Clone)]
enum Trouble {
    Memory(String),
    Other(String),
}

impl From<wgpu::Error> for Trouble {
    fn from(error: wgpu::Error) -> Self {
        match error {
            wgpu::Error::OutOfMemory { source } => Self::Memory(source.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

/// All adapters that can draw, hardware before software.
pub(super) fn find() -> Vec<Adapter> {
    let mut wanted = InstanceDescriptor::new_without_display_handle();
    wanted.backends = Backends::PRIMARY;
    let instance = Instance::new(wanted);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    });
    adapters
}

fn is_software(adapter: &Adapter) -> bool {
    adapter.get_info().device_type == DeviceType::Cpu
}

/// Name and interface, for people.
pub(super) fn describe(adapter: &Adapter) -> String {
    let info = adapter.get_info();
    format!("{} · {:?}", info.name, info.backend)
}

/// Which of several adapters that are equally good this process takes first, so that the processes of
/// a worker share them: its number among them, as `SAWAH_GPU_TURN` says it.
fn turn() -> usize {
    std::env::var("SAWAH_GPU_TURN").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Begins with another one of those that are of the first one's kind.
fn in_turn<T, K: PartialEq>(best_first: &mut [T], kind: impl Fn(&T) -> K, turn: usize) {
    let Some(best) = best_first.first().map(&kind) else { return };
    let alike = best_first.iter().take_while(|one| kind(one) == best).count();
    if let Some(alike) = best_first.get_mut(..alike) {
        let shift = turn % alike.len().max(1);
        alike.rotate_left(shift);
    }
}

impl Connection {
    /// Opens the best adapter that lets itself be opened.
    pub(super) fn open(wanted: &Wanted) -> Result<Self, DrawError> {
        let mut why = "none was found".to_owned();
        let mut adapters = find();
        adapters.retain(|adapter| {
            let name = describe(adapter);
            let fits = wanted.fits(&name, is_software(adapter));
            if !fits {
                why = match wanted {
                    Wanted::Hardware => {
                        format!("'{name}' is a program, and slower than drawing without it")
                    }
                    _ => format!("'{name}' is not the one that is wanted"),
                };
            }
            fits
        });
        let kind = |adapter: &Adapter| (adapter.get_info().device_type, adapter.get_info().backend);
        in_turn(&mut adapters, kind, turn());
        for adapter in adapters {
            let name = describe(&adapter);
            match Self::to(&adapter, name.clone()) {
                Ok(connection) => return Ok(connection),
                Err(error) => why = format!("'{name}' cannot be opened: {error}"),
            }
        }
        Err(DrawError::NoAdapter(why))
    }

    fn to(adapter: &Adapter, name: String) -> Result<Self, wgpu::RequestDeviceError> {
        let wanted = wgpu::DeviceDescriptor {
            label: Some("sawah preview"),
            // The defaults allow less than the adapter can: large textures would be refused.
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&wanted))?;
        let failed = Arc::new(Mutex::new(None));
        let note = Arc::clone(&failed);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            remember(&note, Trouble::from(error));
        }));
        let note = Arc::clone(&failed);
        device.set_device_lost_callback(move |reason, message| {
            remember(&note, Trouble::Other(format!("device lost ({reason:?}): {message}")));
        });
        Ok(Self { name, is_software: is_software(adapter), device, queue, failed })
    }

    /// Runs graphics commands; what the driver refuses becomes an error.
    pub(super) fn guarded<T>(&self, work: impl FnOnce(&Self) -> T) -> Result<T, DrawError> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(ErrorFilter::Validation);
        let internal = self.device.push_error_scope(ErrorFilter::Internal);
        let result = work(self);
        let seen = [internal.pop(), validation.pop(), memory.pop()].map(|caught| {
            // A scope without an error is ready at once: nothing waits for the device here.
            pollster::block_on(caught)
        });
        if let Some(error) = seen.into_iter().flatten().next() {
            return Err(self.error(Trouble::from(error)));
        }
        self.check()?;
        Ok(result)
    }

    /// An error if anything went wrong since the connection was opened.
    pub(super) fn check(&self) -> Result<(), DrawError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        failed.map_or(Ok(()), |trouble| Err(self.error(trouble)))
    }

    /// The adapter failed for this reason.
    pub(super) fn lost(&self, why: impl Into<String>) -> DrawError {
        DrawError::GpuLost { adapter: self.name.clone(), why: why.into() }
    }

    fn error(&self, trouble: Trouble) -> DrawError {
        match trouble {
            Trouble::Memory(why) => DrawError::GpuOutOfMemory { adapter: self.name.clone(), why },
            Trouble::Other(why) => self.lost(why),
        }
    }
}

fn remember(failed: &Mutex<Option<Trouble>>, trouble: Trouble) {
    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_adapters_are_taken_in_turn_and_worse_ones_stay_behind() {
        let order = |turn| {
            let mut adapters = [("big", 1), ("big", 2), ("big", 3), ("small", 4)];
            in_turn(&mut adapters, |(kind, _)| *kind, turn);
            adapters.map(|(_, number)| number)
        };
        assert_eq!([order(0), order(1), order(2)], [[1, 2, 3, 4], [2, 3, 1, 4], [3, 1, 2, 4]]);
        assert_eq!(order(3), order(0));
        in_turn(&mut [0_u8; 0], |one| *one, 5);
    }
}
