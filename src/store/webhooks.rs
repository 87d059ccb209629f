//! News for other programs: an outbox that is written with what it tells, and emptied in order.

use super::columns::to_json;
use super::writer::Tx;
use super::{Store, StoreError};
use crate::model::{JobId, PipelineId, limits};
use crate::protocol::webhook::{News, NewsKind};
use rusqlite::params;
use std::collections::BTreeMap;

/// Waits between tries, in milliseconds; the last one repeats.
const WAITS_MS: [i64; 5] = [1_000, 5_000, 30_000, 120_000, 600_000];

/// The oldest news of each pipeline that is due: later news waits for it.
const DUE: &str = "SELECT w.id, w.url, w.body, w.tries FROM webhook_outbox w
     WHERE w.done_ms IS NULL AND w.next_ms <= ?1 AND NOT EXISTS (
        SELECT 1 FROM webhook_outbox e
        WHERE e.done_ms IS NULL AND e.pipeline = w.pipeline AND e.id < w.id)
     ORDER BY w.next_ms, w.id LIMIT ?2";

/// News that waits to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingNews {
    /// Its number, the same with each try.
    pub id: i64,
    /// Where it goes.
    pub url: String,
    /// What is told, as JSON.
    pub body: String,
    /// Tries made.
    pub tries: u32,
}

impl Store {
    /// Where news goes from now on; kinds without an address are not told.
    pub async fn set_webhooks(&self, urls: BTreeMap<NewsKind, String>) -> Result<(), StoreError> {
        self.writer
            .run(move |tx| {
                tx.db.execute("DELETE FROM webhook", [])?;
                for (kind, url) in &urls {
                    tx.db.execute(
                        "INSERT INTO webhook (kind, url) VALUES (?1, ?2)",
                        params![kind.as_str(), url],
                    )?;
                }
                Ok(())
            })
            .await
    }

    /// News that is due, in order for each pipeline, at most `limit`.
    pub async fn pending_news(&self, limit: u32) -> Result<Vec<PendingNews>, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers
            .run(move |db| {
                let mut query = db.prepare_cached(DUE)?;
                let rows = query.query_map(params![now_ms, limit], |row| {
                    Ok(PendingNews {
                        id: row.get(0)?,
                        url: row.get(1)?,
                        body: row.get(2)?,
                        tries: row.get(3)?,
                    })
                })?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// The news was taken. Repeated, it changes nothing.
    pub async fn news_delivered(&self, id: i64) -> Result<(), StoreError> {
        self.writer
            .run(move |tx| {
                tx.db
                    .prepare_cached(
                        "UPDATE webhook_outbox SET done_ms = ?1, trouble = NULL
                         WHERE id = ?2 AND done_ms IS NULL",
                    )?
                    .execute(params![tx.now.wall_ms, id])?;
                Ok(())
            })
            .await
    }

    /// The news was not taken: it is tried again later, but not for ever. Says whether it is
    /// given up.
    pub async fn news_refused(&self, id: i64, why: &str) -> Result<bool, StoreError> {
        let why = why.to_owned();
        self.writer.run(move |tx| refused(tx, id, &why)).await
    }
}

fn refused(tx: &Tx<'_>, id: i64, why: &str) -> Result<bool, StoreError> {
    let tries: u32 = tx
        .db
        .prepare_cached(
            "UPDATE webhook_outbox SET tries = tries + 1, trouble = ?1 WHERE id = ?2
             RETURNING tries",
        )?
        .query_row(params![why, id], |row| row.get(0))?;
    let step = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
    let wait_ms = WAITS_MS.get(step).or(WAITS_MS.last()).copied().unwrap_or_default();
    let is_given_up = tries >= limits::WEBHOOK_TRIES;
    let now_ms = tx.now.wall_ms;
    tx.db
        .prepare_cached("UPDATE webhook_outbox SET next_ms = ?1, done_ms = ?2 WHERE id = ?3")?
        .execute(params![now_ms.saturating_add(wait_ms), is_given_up.then_some(now_ms), id])?;
    Ok(is_given_up)
}

/// Puts news into the outbox, where somebody wants that kind and it was not told before.
pub(super) fn tell(
    tx: &Tx<'_>,
    pipeline: PipelineId,
    job: Option<JobId>,
    news: &News,
) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO webhook_outbox (kind, pipeline, job, url, body, next_ms)
             SELECT kind, ?2, ?3, url, ?4, ?5 FROM webhook WHERE kind = ?1
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            news.kind().as_str(),
            pipeline,
            job.unwrap_or(JobId(0)),
            to_json(news)?,
            tx.now.wall_ms
        ])?;
    Ok(())
}
