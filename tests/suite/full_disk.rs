//! The coordinator's own disk is full: what does not fit is refused, the rest goes on, and room
//! heals it.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, check_published, files_under, problem, publishes};
use crate::inputs::picture;
use crate::kill_serve::{check_database, half_written};
use crate::small_disk::{Mounts, SmallDisk, mounts};
use reqwest::{Method, StatusCode};
use sawah::model::{AssetName, Checksum, Reason};
use sawah::protocol::problem::ProblemCode;
use sawah::protocol::submit::{SourceFile, Submission, SubmitOutcome, Submitted};
use sawah::protocol::view::{FarmStatus, Snapshot};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Submissions that fit into what the database has left at most, before one is refused.
const SUBMISSIONS: u32 = 2_000;

/// A submission of a file whose bytes are stored already.
fn submission(file: &Path, still_px: u32) -> Submission {
    let bytes = fs::read(file).expect("it can be read");
    Submission {
        asset: "leaf".parse::<AssetName>().expect("a name"),
        source_ref: file.display().to_string(),
        main_file: "leaf.png".to_owned(),
        sequence: false,
        files: vec![SourceFile {
            name: "leaf.png".to_owned(),
            checksum: Checksum::of(&bytes),
            size_bytes: bytes.len() as u64,
        }],
        missing: Vec::new(),
        recipe: Some("quick".to_owned()),
        settings: BTreeMap::from([("still_px".to_owned(), still_px.to_string())]),
        actor: "test".to_owned(),
        project: None,
        priority: None,
    }
}

/// Submits until the database takes no more; returns the submission that was refused.
async fn submit_until_refused(farm: &Farm, file: &Path) -> (Submission, u64) {
    for number in 0..SUBMISSIONS {
        let before = farm.get::<FarmStatus>("/v1/status").await.seq;
        let submission = submission(file, 64 + number);
        let request = farm.request(Method::POST, "/v1/pipelines").json(&submission);
        let (status, body) = crate::farm::answer(request).await;
        if status.is_success() {
            continue;
        }
        let problem: sawah::protocol::problem::Problem =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{status} {error}: {body}"));
        assert_eq!(status, StatusCode::INSUFFICIENT_STORAGE, "{problem:?}");
        assert_eq!(problem.code, ProblemCode::StorageFull, "{problem:?}");
        assert_eq!(problem.reason, Some(Reason::StorageFull), "{problem:?}");
        return (submission, before);
    }
    panic!("{SUBMISSIONS} submissions fit into a full disk");
}

#[tokio::test]
async fn a_full_disk_of_the_coordinator_refuses_what_does_not_fit_and_heals() {
    let test = "full_disk::a_full_disk_of_the_coordinator_refuses_what_does_not_fit_and_heals";
    if let Mounts::PassedInside = mounts(test) {
        return;
    }
    let mut farm = Farm::new("farm-disk-full");
    let disk = SmallDisk::mount(farm.new_folder("farm"), "6m");
    let serve = farm.serve().await;
    let folder = farm.new_folder("source");
    let leaf = picture(&folder.join("leaf.png"), 48, 32);
    let first = farm.submit([&leaf], &["--recipe", "quick"]).await;

    // Bytes that do not fit: about 12 MB.
    let large = picture(&folder.join("large.png"), 2_048, 2_048);
    let refused = farm.try_submit([&large], &["--recipe", "quick"]).await.expect_code(1);
    assert!(refused.texts("code").contains(&"storage.full".to_owned()), "{refused:#?}");
    let bytes = fs::read(&large).expect("it can be read");
    let put = farm.request(Method::PUT, &format!("/v1/artifacts/{}", Checksum::of(&bytes)));
    let (status, said) = problem(put.body(bytes)).await;
    assert_eq!((status, said.code), (StatusCode::INSUFFICIENT_STORAGE, ProblemCode::StorageFull));
    assert_eq!(files_under(&farm.folder().join("incoming")), Vec::<PathBuf>::new());
    assert_eq!(half_written(farm.folder()), Vec::<PathBuf>::new());

    // No room at all: the database itself refuses, and nothing of the refused is there.
    let ballast = disk.fill();
    let (again, before) = submit_until_refused(&farm, &leaf).await;
    let status: FarmStatus = farm.get("/v1/status").await;
    assert_eq!(status.seq, before, "nothing of what was refused is in the audit");
    let snapshot: Snapshot = farm.get("/v1/snapshot?pipelines=1000").await;
    assert_eq!(snapshot.pipelines_total, snapshot.pipelines.len() as u64);
    let leaf_sum = Checksum::of(&fs::read(&leaf).expect("it can be read"));
    let stored = farm.request(Method::GET, &format!("/v1/artifacts/{leaf_sum}"));
    assert_eq!(crate::farm::answer(stored).await.0, StatusCode::OK, "reads go on");
    farm.run(["ls", "--json"]).await.expect_code(0);

    // There is room again: the very same call is taken, and all of it is worked on.
    fs::remove_file(ballast).expect("the ballast can be removed");
    disk.grow("64m");
    let submitted: Submitted = farm.post("/v1/pipelines", &again).await;
    assert_eq!(submitted.outcome, SubmitOutcome::Created);
    let worker = farm.worker("render-01");
    let large = farm.submit([&large], &["--recipe", "quick"]).await;
    for pipeline in [first, submitted.pipeline, large] {
        farm.events(0).await.until_succeeded(pipeline).await;
        check_published(&farm.pipeline(pipeline).await);
    }
    let history = farm.history().await;
    assert_eq!(publishes(&history, submitted.pipeline), (1, 1));
    assert_eq!(worker.stop().await, Some(0), "a worker ends orderly");
    assert_eq!(serve.stop().await, Some(0), "a coordinator ends orderly");
    check_database(&farm);
    assert_eq!(half_written(farm.folder()), Vec::<PathBuf>::new());
}
