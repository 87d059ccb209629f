//! The readers: a few connections that only read, each used by one caller at a time.

use super::{StoreError, connection};
use rusqlite::Connection;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Reads at the same time.
const READERS: usize = 3;

/// The pool.
#[derive(Clone)]
pub(super) struct Readers {
    inline: bool,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    /// Opens the connections.
    pub(super) fn open(farm: &Path) -> Result<Self, StoreError> {
        Self::with(farm, READERS, false)
    }

    /// One connection, used in the caller's own thread.
    pub(super) fn open_inline(farm: &Path) -> Result<Self, StoreError> {
        Self::with(farm, 1, true)
    }

    fn with(farm: &Path, readers: usize, inline: bool) -> Result<Self, StoreError> {
        let idle: Vec<Connection> =
            (0..readers).map(|_| connection::reader(farm)).collect::<Result<_, _>>()?;
        let permits = Arc::new(Semaphore::new(readers));
        Ok(Self { inline, idle: Arc::new(Mutex::new(idle)), permits })
    }

    /// Runs a query on one snapshot of the database, outside the async threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit =
            Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let idle = Arc::clone(&self.idle);
        let read = move || {
            let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let db = taken.ok_or(StoreError::Closed)?;
            let result = in_snapshot(&db, query);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(permit);
            result
        };
        if self.inline {
            return read();
        }
        let result = tokio::task::spawn_blocking(read);
        result.await.map_err(|error| StoreError::Sqlite(error.to_string()))?
    }

    /// Closes the connections; later reads are refused.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn in_snapshot<T>(
    db: &Connection,
    query: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = db.unchecked_transaction()?;
    let value = query(&tx)?;
    tx.finish()?;
    Ok(value)
}
