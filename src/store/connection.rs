//! Opens the database: the farm's lock, the pragmas, the version of SQLite.

use super::{StoreError, check, schema};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

/// Older versions can lose a write-ahead log (the "WAL reset" fault, fixed in 3.51.3).
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long one statement waits for a lock. Only our own connections compete.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// What a reader keeps of the database in memory, in KiB, as SQLite counts it.
const READER_CACHE: i64 = -8_192;

/// More statements than this folder has, so that each is planned once.
const STATEMENTS: usize = 512;

/// Name of the database in the farm's folder.
pub(super) const DATABASE: &str = "sawah.db";

/// Takes the farm for this process; given back when the file is closed, also by a crash.
pub(super) fn lock(farm: &Path) -> Result<File, StoreError> {
    std::fs::create_dir_all(farm).map_err(|error| unusable(farm, &error))?;
    refuse_network(farm)?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(farm.join("lock"))
        .map_err(|error| unusable(farm, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Unusable(format!(
            "another Sawah serves this farm: stop it, or name another farm with --farm. Farm: {}",
            farm.display()
        ))),
        Err(TryLockError::Error(error)) => Err(unusable(farm, &error)),
    }
}

fn unusable(farm: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unusable(format!(
        "the farm's folder cannot be used: {error}. Check its rights and its disk: {}",
        farm.display()
    ))
}

/// SQLite's locks and shared memory do not work over a network.
#[cfg(target_os = "linux")]
fn refuse_network(farm: &Path) -> Result<(), StoreError> {
    const NETWORK: [(u32, &str); 5] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB"),
        (0x0102_1997, "9P"),
    ];
    let stat = rustix::fs::statfs(farm).map_err(|error| unusable(farm, &error.into()))?;
    let kind = stat.f_type as u32;
    match NETWORK.iter().find(|(magic, _)| *magic == kind) {
        None => Ok(()),
        Some((_, name)) => Err(StoreError::Unusable(format!(
            "the farm's folder lies on a network file system ({name}), where a database is not safe: choose a folder on a local disk. Farm: {}",
            farm.display()
        ))),
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_network(_farm: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// The one connection that writes.
pub(super) fn writer(farm: &Path) -> Result<Connection, StoreError> {
    writer_with(farm, "FULL")
}

/// The one connection that writes in a simulation, where no power is ever lost.
pub(super) fn unflushed_writer(farm: &Path) -> Result<Connection, StoreError> {
    writer_with(farm, "OFF")
}

fn writer_with(farm: &Path, synchronous: &str) -> Result<Connection, StoreError> {
    prepared(Connection::open(farm.join(DATABASE))?, farm, synchronous)
}

/// Makes an opened database one that is written to: pragmas, checks, the newest schema.
pub(super) fn prepared(
    mut db: Connection,
    farm: &Path,
    synchronous: &str,
) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreError::Unusable(format!(
            "SQLite {} can lose data: Sawah needs 3.51.3 or newer",
            rusqlite::version()
        )));
    }
    common(&db)?;
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Unusable(format!(
            "the disk allows no write-ahead log (journal mode is {mode}): choose a local disk. Farm: {}",
            farm.display()
        )));
    }
    db.pragma_update(None, "synchronous", synchronous)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    #[cfg(target_os = "macos")]
    db.pragma_update(None, "fullfsync", 1)?;
    check::at_open(&db, farm)?;
    schema::migrate(&mut db)?;
    Ok(db)
}

/// A connection that only reads.
pub(super) fn reader(farm: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(farm.join(DATABASE), flags)?;
    common(&db)?;
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "cache_size", READER_CACHE)?;
    Ok(db)
}

fn common(db: &Connection) -> Result<(), StoreError> {
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.pragma_update(None, "cache_size", -65_536)?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    // Plans do not depend on the values of parameters: otherwise each use of most statements would
    // plan them anew.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_is_durable_and_strict() {
        let farm = tempfile::tempdir().unwrap();
        let db = writer(farm.path()).unwrap();
        let number = |db: &Connection, pragma: &str| -> i64 {
            db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
        };
        assert_eq!(number(&db, "synchronous"), 2, "FULL");
        for db in [&db, &reader(farm.path()).unwrap()] {
            assert_eq!(number(db, "foreign_keys"), 1);
            assert_eq!(number(db, "mmap_size"), 0);
        }
        let written = reader(farm.path()).unwrap().execute("DELETE FROM job", []);
        assert!(written.is_err(), "a reader must not write");
    }

    #[test]
    fn a_second_process_is_refused() {
        let farm = tempfile::tempdir().unwrap();
        let held = lock(farm.path()).unwrap();
        assert!(matches!(lock(farm.path()), Err(StoreError::Unusable(_))));
        drop(held);
        assert!(lock(farm.path()).is_ok());
    }

    #[test]
    fn a_newer_schema_and_a_foreign_database_are_refused() {
        let farm = tempfile::tempdir().unwrap();
        writer(farm.path()).unwrap().pragma_update(None, "user_version", 999).unwrap();
        assert!(matches!(writer(farm.path()), Err(StoreError::Unusable(_))));

        let other = tempfile::tempdir().unwrap();
        let db = Connection::open(other.path().join(DATABASE)).unwrap();
        db.execute_batch("CREATE TABLE theirs (x)").unwrap();
        drop(db);
        assert!(matches!(writer(other.path()), Err(StoreError::Unusable(_))));
    }
}
