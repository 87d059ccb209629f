//! How SQLite finds the rows of every statement in this folder: by an index, never by reading a
//! table that grows with the farm.

use super::Farm;
use crate::store::{StoreError, connection};
use rusqlite::{Connection, StatementStatus};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Statements (by a part of their text) with a step that reads all of something small.
const BOUNDED: &[(&str, &str)] = &[
    // Only exports in trouble are in this index, and the first one ends the read.
    ("SELECT trouble FROM outbox", "SCAN outbox USING INDEX outbox_trouble"),
    // A foreign key's look for orphans, which is skipped as long as there are none.
    ("INSERT INTO asset_version", "SCAN pointer"),
    // An order over many letters looks at those that are open, and at no others.
    ("FROM dead_letter d JOIN job j", "SCAN d USING INDEX dead_letter_open"),
    ("FROM dead_letter d JOIN job j", "SCAN d USING COVERING INDEX dead_letter_open"),
    ("WHERE d.replayed_as IS NULL", "SCAN d"),
    // Only letters without a log are in this index, and the reconciler empties it.
    ("WHERE d.log_tail IS NULL", "SCAN d USING INDEX dead_letter_bare"),
    // Workers in quarantine are few.
    ("FROM quarantine q", "SCAN q"),
    // Counted no further than a limit.
    ("SELECT count(*) FROM (SELECT 1", "SCAN (subquery-1)"),
    // The semaphores' page shows all of them with their holders, which are leased jobs.
    ("FROM (SELECT name FROM semaphore UNION", "SCAN semaphore_holder"),
    ("FROM (SELECT name FROM semaphore UNION", "SCAN n"),
    ("FROM project p ORDER BY p.name", "SCAN p USING INDEX sqlite_autoindex_project_1"),
    // Asked when there are a thousand classes, of jobs that wait for something else than a worker.
    ("AND class = ?2)", "SCAN job USING INDEX job_held"),
    ("AND class = ?2)", "SCAN job USING INDEX job_leased"),
    ("AND class = ?2)", "SCAN job USING INDEX job_due"),
    // Only open sessions are in this index.
    ("session INDEXED BY session_open", "SCAN session USING INDEX session_open"),
    ("session INDEXED BY session_open", "SCAN session USING COVERING INDEX session_open"),
];

/// Tables whose rows operators or recipes name one by one, each with a bound in `model::limits`.
const SMALL: &[&str] =
    &["control", "semaphore", "rate_limit", "project", "fair_share", "watch_folder"];

/// Every string of a source file that is not in its comments or unit tests.
fn strings(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut strings = Vec::new();
    let mut rest = code.as_str();
    while let Some(start) = rest.find('"') {
        let body = &rest[start + 1..];
        let mut end = 0;
        let bytes = body.as_bytes();
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        strings.push(body[..end].replace("\\\"", "\""));
        rest = &body[(end + 1).min(body.len())..];
    }
    strings
}

/// `const NAME: &str = "…"` of a file: parts that other statements are made of.
fn parts(code: &str) -> BTreeMap<String, String> {
    let consts = code.split("const ").skip(1).filter_map(|rest| {
        let (name, body) = rest.split_once(": &str =")?;
        Some((name.to_owned(), strings(body).into_iter().next()?))
    });
    consts.filter(|(name, _)| name.chars().all(|c| c.is_uppercase() || c == '_')).collect()
}

/// Every statement that the files of the store hold, whole.
fn statements() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The yardstick is measured and the verification simulated, not served; the schema and
        // the check run at the start.
        let served =
            !["yardstick.rs", "verify.rs", "schema.rs", "check.rs"].contains(&name.as_str());
        if path.extension().is_some_and(|suffix| suffix == "rs") && served {
            let code = fs::read_to_string(path).unwrap();
            let parts = parts(&code);
            let used = |text: &str| {
                parts
                    .iter()
                    .any(|(name, part)| part == text && code.contains(&format!("{{{name}}}")))
            };
            let whole = strings(&code).into_iter().filter(|text| !used(text));
            found.extend(whole.filter_map(|text| filled(&text, &parts)).filter(|sql| is_sql(sql)));
        }
    }
    found
}

fn is_sql(text: &str) -> bool {
    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "].iter().any(|word| text.starts_with(word))
}

/// The text with its parts; what stands for an optional condition is left out.
fn filled(text: &str, parts: &BTreeMap<String, String>) -> Option<String> {
    let mut sql = text.to_owned();
    for (name, part) in parts {
        sql = sql.replace(&format!("{{{name}}}"), part);
    }
    while let Some((head, rest)) = sql.clone().split_once('{') {
        let (_, tail) = rest.split_once('}')?;
        sql = format!("{head}{tail}");
    }
    Some(sql)
}

fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut query = db
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    // Parameters stay unbound: the plan does not depend on them.
    let mut rows = query.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

/// The steps that read a whole table which may be large.
fn scans(db: &Connection, sql: &str) -> Vec<String> {
    let bounded = |step: &str| {
        let table = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
        step == "SCAN CONSTANT ROW"
            || table.is_some_and(|table| SMALL.contains(&table))
            || BOUNDED.iter().any(|(part, scan)| sql.contains(part) && step == *scan)
    };
    plan(db, sql).into_iter().filter(|step| step.contains("SCAN ") && !bounded(step)).collect()
}

#[test]
fn no_statement_reads_a_table_that_grows_with_the_farm() {
    let folder = tempfile::tempdir().unwrap();
    let db = connection::writer(folder.path()).unwrap();
    let statements = statements();
    assert!(statements.len() > 60, "only {} statements were found", statements.len());
    assert!(statements.iter().any(|sql| sql.contains("j.pipeline >= ?1")), "parts are put in");
    let bad: Vec<_> = statements
        .iter()
        .map(|sql| (sql, scans(&db, sql)))
        .filter(|(_, scans)| !scans.is_empty())
        .map(|(sql, scans)| format!("{scans:?}\n    {sql}"))
        .collect();
    assert!(bad.is_empty(), "{} statements read whole tables:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn a_statement_without_an_index_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let db = connection::writer(folder.path()).unwrap();
    assert!(!scans(&db, "SELECT id FROM job WHERE chunk = ?1").is_empty());
    assert!(
        !scans(&db, "SELECT count(*) FROM job WHERE state = 'queued' OR attempt > 1").is_empty()
    );
}

#[tokio::test]
async fn every_statement_is_planned_once() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    for asset in ["dragon", "gear", "crate"] {
        farm.submit(asset, "v1").await;
        farm.run_all(&worker).await;
    }
    let used = farm.store.writer.run(|tx| {
        let mut used = 0;
        for sql in statements() {
            let statement = tx.db.prepare_cached(&sql)?;
            let again = statement.get_status(StatementStatus::RePrepare);
            assert_eq!(again, 0, "planned anew {again} times: {sql}");
            used += usize::from(statement.get_status(StatementStatus::Run) > 1);
        }
        Ok(used)
    });
    assert!(used.await.unwrap() > 30);
}

#[test]
fn no_statement_sorts_all_jobs_of_a_state() {
    let folder = tempfile::tempdir().unwrap();
    let db = connection::writer(folder.path()).unwrap();
    let is_all = |step: &String| step.contains("INDEX job_state (state=?)");
    assert!(plan(&db, "SELECT attempt FROM job WHERE state = 'queued'").iter().any(is_all));
    for sql in statements() {
        // What runs now is counted when somebody drains a worker; it is few.
        let leased = sql.contains("state IN ('claimed', 'processing')");
        let steps = plan(&db, &sql);
        assert!(leased || !steps.iter().any(is_all), "{steps:?}\n{sql}");
    }
}

/// How many steps of SQLite's machine one claim takes while `jobs` jobs wait.
async fn steps_of_a_claim(jobs: usize) -> i32 {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let names: Vec<_> = (0..jobs).map(|number| format!("a{number}")).collect();
    let all = names.iter().map(|name| farm.submit(name, "v1"));
    futures_util::future::join_all(all).await;
    farm.claim(&worker, 1).await;
    let sum = || {
        farm.store.writer.run(|tx| {
            let steps = statements().into_iter().map(|sql| {
                let statement = tx.db.prepare_cached(&sql)?;
                Ok(statement.reset_status(StatementStatus::VmStep))
            });
            Ok(steps.collect::<Result<Vec<_>, StoreError>>()?.into_iter().sum())
        })
    };
    let _before: i32 = sum().await.unwrap();
    assert_eq!(farm.claim(&worker, 1).await.len(), 1);
    sum().await.unwrap()
}

#[tokio::test]
async fn a_claim_takes_as_many_steps_however_many_jobs_wait() {
    let (few, many) = (steps_of_a_claim(10).await, steps_of_a_claim(2_000).await);
    assert!(few > 100, "{few} steps");
    assert!(many < few + few / 10, "{few} steps with 10 jobs, {many} with 2000");
}
