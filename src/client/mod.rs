//! How people's surfaces reach a farm: over HTTP, also on this machine, so that there is one path.

pub mod live;
pub mod read_model;
