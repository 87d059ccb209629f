//! Tests of whole watch folders: real disks, real stores, a clock that the test moves.

mod asked;
mod bench;
mod changing;
#[cfg(unix)]
mod folder;
mod fuzz;
mod many;
mod names;
mod orders;
mod restarts;
mod series;
mod sets;
mod single;
#[cfg(target_os = "linux")]
mod ways;
