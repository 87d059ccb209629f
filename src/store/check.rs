//! Looks for damage in the database: a small one before it is used, a large one beside the work,
//! since reading it whole would keep a farm waiting after each start.

use super::{StoreError, connection};
use rusqlite::{Connection, InterruptHandle};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A larger database is checked in the background.
const SMALL_BYTES: u64 = 32 << 20;

fn is_small(farm: &Path) -> bool {
    let path = farm.join(connection::DATABASE);
    std::fs::metadata(path).map_or(0, |file| file.len()) <= SMALL_BYTES
}

/// Refuses a small database that is damaged.
pub(super) fn at_open(db: &Connection, farm: &Path) -> Result<(), StoreError> {
    if !is_small(farm) {
        return Ok(());
    }
    let check: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if check == "ok" { Ok(()) } else { Err(StoreError::Unusable(damaged(farm, &check))) }
}

fn damaged(farm: &Path, check: &str) -> String {
    let path = farm.join(connection::DATABASE);
    format!("the database is damaged ({check}): restore a copy of {}", path.display())
}

/// The check of a large database, which runs beside the work. Clones share it.
#[derive(Clone)]
pub(super) struct Background {
    stopped: Arc<AtomicBool>,
    running: Option<Arc<InterruptHandle>>,
}

impl Background {
    /// Begins it where the database is large.
    pub(super) fn start(farm: &Path) -> Result<Self, StoreError> {
        let stopped = Arc::new(AtomicBool::new(false));
        if is_small(farm) {
            return Ok(Self { stopped, running: None });
        }
        let db = connection::reader(farm)?;
        let running = Some(Arc::new(db.get_interrupt_handle()));
        let (farm, until) = (farm.to_owned(), Arc::clone(&stopped));
        std::thread::Builder::new()
            .name("store-check".into())
            .spawn(move || match tables(&db, &until) {
                Ok(None) => tracing::debug!("the database was checked"),
                Ok(Some(check)) => tracing::error!("{}", damaged(&farm, &check)),
                Err(_) if until.load(Ordering::Relaxed) => {}
                Err(error) => tracing::error!(%error, "the database cannot be checked"),
            })
            .map_err(|error| StoreError::Unusable(format!("no thread for the check: {error}")))?;
        Ok(Self { stopped, running })
    }

    /// Ends it early.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(running) = &self.running {
            running.interrupt();
        }
    }
}

/// Table by table, so that no read holds the write-ahead log for long.
fn tables(db: &Connection, stopped: &AtomicBool) -> Result<Option<String>, StoreError> {
    let names: Vec<String> = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for name in names {
        if stopped.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let sql = format!("PRAGMA quick_check('{name}')");
        let check: String = db.query_row(&sql, [], |row| row.get(0))?;
        if check != "ok" {
            return Ok(Some(format!("table {name}: {check}")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_database_passes_table_by_table_and_a_stop_ends_the_check() {
        let farm = tempfile::tempdir().unwrap();
        let db = connection::writer(farm.path()).unwrap();
        assert_eq!(tables(&db, &AtomicBool::new(false)).unwrap(), None);
        assert!(is_small(farm.path()));
        let background = Background::start(farm.path()).unwrap();
        assert!(background.running.is_none(), "a small one was checked at its opening");
        background.stop();
    }
}
