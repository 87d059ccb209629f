//! Whole logs that are short: they come with the end of their attempt and lie beside it. Longer
//! ones, and those that people watch while they grow, are files.

use super::transition::fenced;
use super::{Store, StoreError};
use crate::model::{Epoch, JobId, limits};
use crate::protocol::work::Fence;
use rusqlite::{OptionalExtension, params};

impl Store {
    /// The whole log of a running attempt. Repeated, it changes nothing.
    pub async fn note_log(
        &self,
        job: JobId,
        fence: &Fence,
        text: String,
    ) -> Result<(), StoreError> {
        let fence = fence.clone();
        self.writer
            .run(move |tx| {
                if text.len() > limits::SHORT_LOG_BYTES {
                    return Err(StoreError::Invalid(format!(
                        "a log that comes with the end of its attempt has at most {} bytes",
                        limits::SHORT_LOG_BYTES
                    )));
                }
                fenced(tx, job, &fence)?;
                tx.db
                    .prepare_cached(
                        "INSERT OR REPLACE INTO short_log (job, epoch, text) VALUES (?1, ?2, ?3)",
                    )?
                    .execute(params![job, fence.epoch, text])?;
                Ok(())
            })
            .await
    }

    /// What [`Store::note_log`] was told of an attempt.
    pub async fn short_log(&self, job: JobId, epoch: Epoch) -> Result<Option<String>, StoreError> {
        self.readers
            .run(move |db| {
                let mut query =
                    db.prepare_cached("SELECT text FROM short_log WHERE job = ?1 AND epoch = ?2")?;
                Ok(query.query_row(params![job, epoch], |row| row.get(0)).optional()?)
            })
            .await
    }
}
