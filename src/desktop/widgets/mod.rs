//! Small things that panels draw with.

pub mod bar;
pub mod chip;
pub mod logo;
pub mod strip;
pub mod table;
pub mod text;
