//! Recent submissions: a client that repeats one under its key gets the answer of the first time.

use super::columns::{from_json, to_json};
use super::submit::{self, Prepared};
use super::writer::Tx;
use super::{Store, StoreError};
use crate::model::{Checksum, limits};
use crate::protocol::submit::{Submission, Submitted};
use crate::recipes::Recipe;
use rusqlite::{Connection, OptionalExtension, params};

/// Old keys forgotten with each new one: more than come in, so that they never pile up.
const FORGOTTEN_AT_ONCE: u32 = 16;

/// The key that a client chose for a submission, and what it submitted under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionKey {
    /// Chosen by the client; new for each submission.
    pub key: String,
    /// Of the submission as it came.
    pub body: Checksum,
}

impl Store {
    /// The answer given before to this very submission; refused where the key came with another.
    pub async fn remembered(&self, key: SubmissionKey) -> Result<Option<Submitted>, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers.run(move |db| remembered(db, &key, now_ms)).await
    }

    /// [`Store::submit`], remembered under the key for a day.
    pub async fn submit_once(
        &self,
        key: SubmissionKey,
        submission: Submission,
        recipe: Recipe,
        trace: [u8; 16],
    ) -> Result<Submitted, StoreError> {
        let prepared = Prepared::new(submission, recipe, trace)?;
        self.writer.run(move |tx| once(tx, &key, |tx| submit::submit(tx, &prepared))).await
    }
}

/// The answer of the first time, or that of `submit`, remembered.
pub(super) fn once(
    tx: &Tx<'_>,
    key: &SubmissionKey,
    submit: impl FnOnce(&Tx<'_>) -> Result<Submitted, StoreError>,
) -> Result<Submitted, StoreError> {
    if let Some(answer) = remembered(tx.db, key, tx.now.wall_ms)? {
        return Ok(answer);
    }
    let answer = submit(tx)?;
    remember(tx, key, &answer)?;
    Ok(answer)
}

fn remembered(
    db: &Connection,
    key: &SubmissionKey,
    now_ms: i64,
) -> Result<Option<Submitted>, StoreError> {
    let found: Option<(Checksum, String)> = db
        .prepare_cached("SELECT body, answer FROM submission_key WHERE key = ?1 AND at_ms > ?2")?
        .query_row(params![key.key, now_ms.saturating_sub(limits::SUBMISSION_KEY_MS)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    match found {
        None => Ok(None),
        Some((body, answer)) if body == key.body => from_json(&answer).map(Some),
        Some(_) => Err(StoreError::Invalid(
            "this key was used for another submission: choose a new key for each".into(),
        )),
    }
}

fn remember(tx: &Tx<'_>, key: &SubmissionKey, answer: &Submitted) -> Result<(), StoreError> {
    let oldest_ms = tx.now.wall_ms.saturating_sub(limits::SUBMISSION_KEY_MS);
    tx.db
        .prepare_cached(
            "DELETE FROM submission_key WHERE key IN (SELECT key FROM submission_key
                WHERE at_ms <= ?1 ORDER BY at_ms LIMIT ?2)",
        )?
        .execute(params![oldest_ms, FORGOTTEN_AT_ONCE])?;
    tx.db
        .prepare_cached(
            "INSERT OR REPLACE INTO submission_key (key, body, answer, at_ms)
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![key.key, key.body, to_json(answer)?, tx.now.wall_ms])?;
    Ok(())
}
