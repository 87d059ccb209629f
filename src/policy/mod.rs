//! The rules of the farm: pure functions of what they are told. No IO, no clock, no randomness.
//!
//! [`dispatch`] decides who gets which job, with [`gate`] (what keeps a job back), [`urgency`],
//! [`fair`] and [`bucket`]; [`explain`] says the same in words.

pub mod bucket;
pub mod dispatch;
pub mod explain;
pub mod fair;
pub mod fingerprint;
pub mod flight;
pub mod flow;
pub mod gate;
pub mod keys;
pub mod matching;
pub mod needs;
pub mod quarantine;
pub mod retry;
pub mod scaling;
pub mod urgency;
pub mod watchdog;
