//! Tests of whole watch folders: real disks, real stores, a clock that the test moves.

mod asked;
mod bench;
mod fuzz;
mod many;
mod sets;
mod single;
