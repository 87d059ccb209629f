//! The rules of the farm: pure functions of what they are told. No IO, no clock, no randomness.

pub mod fingerprint;
pub mod flow;
pub mod keys;
pub mod matching;
pub mod quarantine;
pub mod retry;
