//! Scenes: what a renderer profile's program draws, frame by frame, with results that are checked.
//!
//! Reading order: [`look`] (what the scene is), [`draw`] (a chunk of frames from start to end),
//! `order` (the command), `session` (one run of the program), `warm` (one that stays for the next chunk), [`pictures`] (what came out).

pub mod draw;
pub mod files;
pub mod look;
pub mod media;
pub mod pictures;
pub mod order;
mod profiles;
mod session;
mod warm;

#[cfg(test)]
mod tests;
