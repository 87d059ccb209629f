//! The audit in pages: every row once, in order, of one pipeline or job where asked.

use super::Farm;
use crate::model::{JobId, Reason};
use crate::protocol::audit::AuditRow;
use crate::protocol::work::Failure;
use crate::store::{AuditFilter, audit_export, connection};

async fn all(farm: &Farm, mut filter: AuditFilter) -> Vec<AuditRow> {
    let mut rows = Vec::new();
    loop {
        let page = farm.store.audit_page(filter).await.unwrap();
        assert!(page.rows.len() <= filter.limit as usize);
        rows.extend(page.rows);
        if page.after >= page.last {
            return rows;
        }
        assert!(page.after > filter.after, "each page gets on");
        filter.after = page.after;
    }
}

#[tokio::test]
async fn the_export_has_every_row_once_with_states_cause_actor_and_code() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "x").await;
    let other = farm.submit("gear", "x").await.pipeline;
    let dead = farm.store.pipeline(other).await.unwrap().jobs[0].job.id;
    farm.finish_one(&worker).await.unwrap();
    farm.run_all(&worker).await;
    farm.submit("broken", "x").await;
    farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "no end")).await;
    let few = AuditFilter { limit: 7, ..AuditFilter::default() };
    let rows = all(&farm, few).await;
    let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    let last = farm.store.status().await.unwrap().seq;
    assert_eq!(seqs, (1..=last).collect::<Vec<_>>());
    let failed = rows.iter().find(|row| row.to.as_deref() == Some("failed_terminal")).unwrap();
    assert_eq!(failed.from.as_deref(), Some("processing"));
    assert_eq!((failed.cause.as_str(), failed.actor.as_str()), ("give_up", "worker w1"));
    assert_eq!((failed.class.as_deref(), failed.epoch.unwrap().0), (Some("permanent"), 1));
    assert_eq!(failed.reason.as_deref(), Some("input.corrupt"));
    let of_pipeline = all(&farm, AuditFilter { pipeline: Some(other), ..few }).await;
    assert!(of_pipeline.iter().all(|row| row.pipeline == Some(other)) && of_pipeline.len() > 20);
    let of_job = all(&farm, AuditFilter { job: Some(dead), ..few }).await;
    let causes: Vec<_> = of_job.iter().map(|row| row.cause.as_str()).collect();
    assert_eq!(causes, ["created", "claim", "start", "complete"]);
    let none = farm.store.audit_page(AuditFilter { after: u64::MAX, ..few }).await.unwrap();
    assert!(none.rows.is_empty());
    let nothing = AuditFilter { job: Some(JobId(999)), ..few };
    assert!(all(&farm, nothing).await.is_empty());
}

#[tokio::test]
async fn no_page_of_the_audit_scans_a_table() {
    let farm = Farm::open();
    let db = connection::writer(farm.folder.path()).unwrap();
    for sql in [audit_export::OF_JOB, audit_export::OF_STRETCH] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT seq FROM audit {sql}");
        let mut query = db.prepare(&sql).unwrap();
        let count = query.parameter_count();
        let values = vec![rusqlite::types::Value::Integer(1); count];
        let plan: Vec<String> = query
            .query_map(rusqlite::params_from_iter(values), |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(plan.iter().all(|step| !step.starts_with("SCAN")), "{plan:?}");
        assert!(plan.iter().all(|step| !step.contains("TEMP B-TREE")), "{plan:?}");
    }
}
