//! Checks the tables against each other: what must hold after every commit, as queries that find
//! the rows that break it.

use super::columns::from_json;
use super::{Store, StoreError};
use crate::model::{JobId, Stage, limits};
use crate::policy::retry::Policy;
use crate::recipes::Recipe;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// A rule, and the query whose rows break it; the first column says which row.
type Rule = (&'static str, &'static str);

/// The rule that needs the recipe.
const BUDGET: &str = "a job has the attempts of its recipe at most";

const RULES: &[Rule] = &[
    ("the audit has no gaps", "SELECT max(seq) FROM audit HAVING max(seq) <> count(*)"),
    (
        "a job has at most one running attempt",
        "SELECT job FROM attempt WHERE outcome = 'running' GROUP BY job HAVING count(*) > 1",
    ),
    (
        "a held job has the running attempt of its session and epoch",
        "SELECT id FROM job j WHERE state IN ('claimed', 'processing') AND NOT EXISTS (
            SELECT 1 FROM attempt a WHERE a.job = j.id AND a.epoch = j.epoch
                AND a.session = j.session AND a.outcome = 'running')",
    ),
    (
        "a running attempt is that of a held job",
        "SELECT a.job FROM attempt a JOIN job j ON j.id = a.job WHERE a.outcome = 'running'
            AND NOT (j.state IN ('claimed', 'processing') AND j.epoch = a.epoch)",
    ),
    (
        "a held job's session is open",
        "SELECT j.id FROM job j JOIN session s ON s.id = j.session WHERE s.closed_ms IS NOT NULL",
    ),
    (
        "a worker has at most one open session",
        "SELECT worker FROM session WHERE closed_ms IS NULL GROUP BY worker HAVING count(*) > 1",
    ),
    (
        "a succeeded job has exactly one accepted attempt or took an alike job's result, others neither",
        "SELECT id FROM job j WHERE (state = 'succeeded') <> (reused_from IS NOT NULL) +
            (SELECT count(*) FROM attempt a WHERE a.job = j.id AND a.outcome = 'succeeded')",
    ),
    (
        "only a succeeded job has a result",
        "SELECT id FROM job j WHERE (state = 'succeeded')
            <> EXISTS (SELECT 1 FROM result r WHERE r.job = j.id)",
    ),
    (
        "only a succeeded job has outputs",
        "SELECT DISTINCT o.job FROM output o JOIN job j ON j.id = o.job
            WHERE j.state <> 'succeeded'",
    ),
    (
        "every job given up is a dead letter, no other",
        "SELECT id FROM job j WHERE (state = 'failed_terminal')
            <> EXISTS (SELECT 1 FROM dead_letter d WHERE d.job = j.id)",
    ),
    (
        "an effect has at most one live job",
        "SELECT idempotency_key FROM job
            WHERE state IN ('queued', 'claimed', 'processing', 'retry_scheduled')
            GROUP BY idempotency_key HAVING count(*) > 1",
    ),
    (
        "a part of a stage is accepted at most once",
        "SELECT pipeline || ' ' || stage || ' ' || chunk FROM job WHERE state = 'succeeded'
            GROUP BY pipeline, stage, chunk HAVING count(*) > 1",
    ),
    (
        "content goes through a profile once",
        "SELECT asset_version || ' ' || profile FROM pipeline
            WHERE status IN ('running', 'succeeded')
            GROUP BY asset_version, profile HAVING count(*) > 1",
    ),
    (
        "a running pipeline has something that moves it on",
        "SELECT id FROM pipeline p WHERE status = 'running' AND NOT EXISTS (
                SELECT 1 FROM job j WHERE j.pipeline = p.id
                    AND j.state IN ('queued', 'claimed', 'processing', 'retry_scheduled'))
            AND NOT EXISTS (
                SELECT 1 FROM outbox o WHERE o.pipeline = p.id AND o.done_ms IS NULL)",
    ),
    (
        "a succeeded pipeline has only stages that ended well",
        "SELECT id FROM pipeline p WHERE status = 'succeeded' AND EXISTS (
            SELECT 1 FROM stage s WHERE s.pipeline = p.id
                AND s.status NOT IN ('succeeded', 'skipped'))",
    ),
    (
        "nothing of a pipeline that was cancelled or has succeeded is live",
        "SELECT j.id FROM job j JOIN pipeline p ON p.id = j.pipeline
            WHERE p.status IN ('cancelled', 'succeeded')
                AND j.state IN ('queued', 'claimed', 'processing', 'retry_scheduled')",
    ),
    (
        "the parts done of a stage are its succeeded jobs and written exports",
        "SELECT s.pipeline || ' ' || s.stage FROM stage s JOIN pipeline p ON p.id = s.pipeline
            WHERE p.status <> 'cancelled' AND s.parts_done <>
            (SELECT count(*) FROM job j WHERE j.pipeline = s.pipeline AND j.stage = s.stage
                AND j.state = 'succeeded')
            + iif(s.stage = 'publish', (SELECT count(*) FROM outbox o
                WHERE o.pipeline = s.pipeline AND o.done_ms IS NOT NULL), 0)",
    ),
    (
        "a pipeline is exported if and only if its publish was accepted, once",
        "SELECT p.id FROM pipeline p WHERE
            (SELECT count(*) FROM outbox o WHERE o.pipeline = p.id AND o.topic = 'export') <>
            (SELECT count(*) FROM job j WHERE j.pipeline = p.id AND j.stage = 'publish'
                AND j.state = 'succeeded')",
    ),
    (
        "the pointers of an asset are those of one pipeline of its published version",
        "SELECT a.name FROM asset a JOIN pointer q ON q.asset = a.id
            JOIN asset_version v ON v.id = q.asset_version
            GROUP BY a.id HAVING count(DISTINCT q.pipeline) > 1
                OR max(v.version) <> a.published_version OR min(v.version) <> a.published_version",
    ),
    (
        "the generation of an asset counts its publishes",
        "SELECT a.name FROM asset a WHERE a.generation <> (
            SELECT count(*) FROM audit e JOIN pipeline p ON p.id = e.pipeline
            JOIN asset_version v ON v.id = p.asset_version
            WHERE v.asset = a.id AND e.cause = 'published')",
    ),
    (
        "the kept numbers of jobs are those counted",
        "WITH states (state) AS (VALUES ('queued'), ('claimed'), ('processing'),
            ('retry_scheduled'), ('succeeded'), ('failed_terminal'), ('cancelled'))
         SELECT state FROM states WHERE
            coalesce((SELECT n FROM counter WHERE name = state), 0) <>
            (SELECT count(*) FROM job WHERE job.state = states.state)",
    ),
    (
        "the kept number of dead letters is that counted",
        "SELECT 1 WHERE coalesce((SELECT n FROM counter WHERE name = 'dead_letters'), 0) <>
            (SELECT count(*) FROM dead_letter WHERE replayed_as IS NULL AND dismissed = 0)",
    ),
    (
        "the kept number of pipelines is that counted",
        "SELECT 1 WHERE coalesce((SELECT n FROM counter WHERE name = 'pipelines'), 0) <>
            (SELECT count(*) FROM pipeline)",
    ),
    (
        "the kept number of waiting exports is that counted",
        "SELECT 1 WHERE coalesce((SELECT n FROM counter WHERE name = 'exports_waiting'), 0) <>
            (SELECT count(*) FROM outbox WHERE done_ms IS NULL)",
    ),
    (
        "the kept number of a queue's running retries is that counted",
        "SELECT c.name FROM counter c WHERE c.name LIKE 'retries in %' AND c.n <>
            (SELECT count(*) FROM job j WHERE j.queue = substr(c.name, 12)
                AND j.state IN ('claimed', 'processing') AND j.failed_on IS NOT NULL)",
    ),
    (
        "a job lies in a lane of retries if and only if it failed before",
        "SELECT id FROM job WHERE is_retry <> (failed_on IS NOT NULL)",
    ),
    (
        "a job waits only for an alike one that a session holds",
        "SELECT j.id FROM job j LEFT JOIN job b ON b.id = j.builder
            AND b.state IN ('claimed', 'processing') AND b.flight = j.flight
         WHERE j.builder IS NOT NULL AND (b.id IS NULL OR j.state <> 'queued')",
    ),
    (
        "a result that stands for others is that of a job that succeeded",
        "SELECT c.job FROM cached_result c JOIN job j ON j.id = c.job
            WHERE j.state <> 'succeeded' OR j.flight <> c.flight",
    ),
    (
        "a job took the result of an alike one that ran",
        "SELECT j.id FROM job j LEFT JOIN job f ON f.id = j.reused_from
            WHERE j.reused_from IS NOT NULL AND (f.id IS NULL OR f.flight <> j.flight
                OR f.state <> 'succeeded' OR f.reused_from IS NOT NULL)",
    ),
    (
        "a semaphore is held by exactly the claims of held jobs that need it",
        "SELECT j.id FROM job j JOIN class_semaphore c ON c.class = j.class
            WHERE j.state IN ('claimed', 'processing') AND NOT EXISTS (
                SELECT 1 FROM semaphore_holder h WHERE h.semaphore = c.semaphore
                    AND h.job = j.id AND h.epoch = j.epoch)
         UNION ALL SELECT h.job FROM semaphore_holder h WHERE NOT EXISTS (
            SELECT 1 FROM job j JOIN class_semaphore c ON c.class = j.class
            WHERE j.id = h.job AND j.epoch = h.epoch AND c.semaphore = h.semaphore
                AND j.state IN ('claimed', 'processing'))",
    ),
    (
        "the kept number of jobs that wait in a queue is that counted",
        "SELECT q.queue FROM (SELECT queue FROM job UNION SELECT substr(name, 8) FROM counter
                WHERE name LIKE 'queued/%') q
            WHERE coalesce((SELECT n FROM counter WHERE name = 'queued/' || q.queue), 0) <>
                (SELECT count(*) FROM job j WHERE j.state = 'queued' AND j.queue = q.queue)",
    ),
    ("every row's relations exist", "SELECT \"table\" FROM pragma_foreign_key_check"),
];

impl Store {
    /// Every rule that the tables break, with the first rows that break it; empty is right.
    pub async fn verify(&self) -> Result<Vec<String>, StoreError> {
        self.readers.run(broken).await
    }

    /// The rules that [`Store::verify`] checks.
    pub fn rules() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|(rule, _)| *rule).chain([BUDGET])
    }

    /// A hash of every row of every table.
    pub async fn digest(&self) -> Result<[u8; 32], StoreError> {
        self.readers.run(digest).await
    }
}

fn broken(db: &Connection) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for (rule, query) in RULES {
        let rows = rows(db, query)?;
        if !rows.is_empty() {
            found.push(format!("{rule}: {}", rows.join(", ")));
        }
    }
    let over = over_budget(db)?;
    if !over.is_empty() {
        found.push(format!("{BUDGET}: {}", over.join(", ")));
    }
    Ok(found)
}

/// Jobs with more attempts than any class of failures allows.
fn over_budget(db: &Connection) -> Result<Vec<String>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT j.id, j.stage, j.attempt, p.recipe FROM job j JOIN pipeline p ON p.id = j.pipeline
         WHERE j.attempt > 1",
    )?;
    let mut rows = query.query([])?;
    let mut over = Vec::new();
    while let Some(row) = rows.next()? {
        let (job, stage, attempt): (JobId, Stage, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let recipe: Recipe = from_json(&row.get::<_, String>(3)?)?;
        let budget = Policy::of(recipe.rule(stage)).most_attempts();
        if attempt > budget && over.len() < limits::BROKEN_ROWS_SHOWN {
            over.push(job.to_string());
        }
    }
    Ok(over)
}

fn rows(db: &Connection, query: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare_cached(query)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() < limits::BROKEN_ROWS_SHOWN {
            found.push(match row.get_ref(0)? {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("{other:?}"),
            });
        }
    }
    Ok(found)
}

fn digest(db: &Connection) -> Result<[u8; 32], StoreError> {
    let mut hasher = blake3::Hasher::new();
    let tables: Vec<String> = db
        .prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for table in tables {
        hasher.update(table.as_bytes());
        let mut statement = db.prepare_cached(&format!("SELECT * FROM \"{table}\""))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => hasher.update(&[0]),
                    ValueRef::Integer(number) => hasher.update(&[1]).update(&number.to_le_bytes()),
                    ValueRef::Real(number) => hasher.update(&[2]).update(&number.to_le_bytes()),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => hasher
                        .update(&[3])
                        .update(&(bytes.len() as u64).to_le_bytes())
                        .update(bytes),
                };
            }
        }
    }
    Ok(*hasher.finalize().as_bytes())
}
