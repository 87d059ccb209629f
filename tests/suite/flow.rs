//! Flow control as people use it: pause, drain, limits and why, through the real program.

use crate::farm::Farm;
use crate::inputs::picture;
use crate::zombie::open_session;
use sawah::protocol::work::{ClaimReply, ClaimRequest, Heartbeat, HeartbeatReply, SessionOpened};

async fn told(farm: &Farm, opened: &SessionOpened) -> HeartbeatReply {
    let path = format!("/v1/sessions/{}/heartbeat", opened.session);
    farm.post(&path, &Heartbeat { running: Vec::new() }).await
}

async fn claimed(farm: &Farm, opened: &SessionOpened, wait_ms: u64) -> usize {
    let path = format!("/v1/sessions/{}/claim", opened.session);
    let reply: ClaimReply = farm.post(&path, &ClaimRequest { max_jobs: 1, wait_ms }).await;
    reply.jobs.len()
}

#[tokio::test]
async fn a_paused_farm_says_why_and_a_resume_wakes_the_waiting_claim() {
    let mut farm = Farm::new("pause");
    let _serve = farm.serve().await;
    let opened = open_session(&farm, "w1").await;
    let paused = farm.run(["pause", "--json"]).await.expect_code(0);
    assert_eq!(paused.texts("mode"), ["paused"]);
    let file = picture(&farm.new_folder("source").join("leaf.png"), 16, 16);
    let pipeline = farm.submit([file], &["--priority", "8", "--project", "film"]).await;
    let job = farm.pipeline(pipeline).await.jobs[0].job.id.to_string();
    assert_eq!(claimed(&farm, &opened, 0).await, 0);
    let why = farm.run(["why", &job, "--json"]).await.expect_code(0);
    assert_eq!(why.texts("code"), ["farm_paused"]);
    assert_eq!(
        (why.texts("project"), why.json()["priority"].as_i64()),
        (vec!["film".into()], Some(8))
    );
    let text = farm.run(["why", &job]).await.expect_code(0).stdout;
    assert!(text.contains("the farm is paused") && text.contains("sawah resume"), "{text}");
    let resume = async { farm.run(["resume"]).await.expect_code(0) };
    let (got, _) = tokio::join!(claimed(&farm, &opened, 20_000), resume);
    assert_eq!(got, 1);
    let why = farm.run(["why", &job, "--json"]).await.expect_code(0);
    assert_eq!(why.texts("code"), ["runs"]);
}

#[tokio::test]
async fn a_draining_worker_is_told_by_its_heartbeat_also_after_a_restart() {
    let mut farm = Farm::new("drain");
    let serve = farm.serve().await;
    let opened = open_session(&farm, "w1").await;
    assert!(!told(&farm, &opened).await.drain);
    let said = farm.run(["drain", "--worker", "w1"]).await.expect_code(0).stdout;
    assert!(said.contains("Worker w1 is drained"), "{said}");
    assert!(told(&farm, &opened).await.drain);
    serve.kill_hard().await;
    let _serve = farm.serve_again().await;
    assert!(told(&farm, &opened).await.drain);
    farm.run(["resume", "--worker", "w1"]).await.expect_code(0);
    assert!(!told(&farm, &opened).await.drain);
    farm.run(["pause", "--queue", "no-such-queue"]).await.expect_code(1);
    farm.run(["pause", "--queue", "ingest", "--worker", "w1"]).await.expect_code(2);
}

#[tokio::test]
async fn limits_are_set_listed_and_a_full_queue_refuses_with_its_reason() {
    let mut farm = Farm::new("limits");
    let _serve = farm.serve().await;
    for line in [
        "limits semaphore licence.ffmpeg --capacity 2",
        "limits rate storage --per-minute 60 --burst 10",
        "limits project film --weight 3 --quota 12",
        "limits queue ingest --queued 1",
    ] {
        farm.run(line.split(' ')).await.expect_code(0);
    }
    let text = farm.run(["limits"]).await.expect_code(0).stdout;
    for word in ["licence.ffmpeg", "storage", "film", "render.preview"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let folder = farm.new_folder("source");
    farm.submit([picture(&folder.join("one.png"), 16, 16)], &[]).await;
    let refused = farm.try_submit([picture(&folder.join("two.png"), 17, 16)], &[]).await;
    let refused = refused.expect_code(1);
    assert!(refused.stderr.contains("queue ingest is full"), "{refused:#?}");
    farm.run(["limits", "queue", "ingest", "--none"]).await.expect_code(0);
    farm.submit([folder.join("two.png")], &[]).await;
    farm.run(["limits", "rate", "storage", "--per-minute", "1", "--burst", "0"])
        .await
        .expect_code(2);
}
