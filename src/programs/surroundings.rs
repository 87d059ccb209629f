//! What every program of this process is given besides: a process that serves one attempt after the
//! other tells its programs by it to whom they belong.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

static NOW: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Sets the variables of every program that is started from now on. What a program is given itself
/// goes before them.
pub fn set(variables: BTreeMap<String, String>) {
    *now() = variables;
}

pub(super) fn get() -> BTreeMap<String, String> {
    now().clone()
}

fn now() -> MutexGuard<'static, BTreeMap<String, String>> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner)
}
