//! The tables, as steps that each bring a database one version further.

use super::StoreError;
use rusqlite::Connection;

/// `SAWA` in ASCII: says that a file is a farm's database.
pub(super) const APPLICATION_ID: i64 = 0x5341_5741;

/// Each step is run once, in order; `user_version` counts the steps done. A step that has shipped
/// is never edited.
pub(super) const STEPS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
    include_str!("schema_8.sql"),
    include_str!("schema_9.sql"),
    include_str!("schema_10.sql"),
];

/// Brings the database to the newest version, each step in a transaction with its number.
pub(super) fn migrate(db: &mut Connection) -> Result<(), StoreError> {
    let application: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let newest = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if version > newest {
        return Err(StoreError::Unusable(format!(
            "the farm was written by a newer Sawah (schema {version}, this one knows {newest}): install that version"
        )));
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(StoreError::Unusable(
            "sawah.db in the farm's folder is another program's database: choose another folder"
                .into(),
        ));
    }
    for (number, step) in (1..).zip(STEPS) {
        if number > version {
            let tx = db.transaction()?;
            tx.execute_batch(step)?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
            tx.pragma_update(None, "user_version", number)?;
            tx.commit()?;
        }
    }
    Ok(())
}
