//! The rules of the farm: pure functions of what they are told.
