//! Few file descriptors: a flood of connections takes them all, and the farm outlives it.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, answer, bounded, check_published, publishes};
use crate::inputs::picture;
use reqwest::{Method, StatusCode};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs;
use std::time::Duration;
use tokio::net::TcpStream;

/// What a process has left beyond what it holds when it has started.
const SPARE: u64 = 24;
/// Connections that say nothing: more than descriptors.
const FLOOD: usize = 48;

fn open_files(process: u32) -> u64 {
    let files = fs::read_dir(format!("/proc/{process}/fd")).expect("the process is there");
    files.count() as u64
}

/// Allows a process no more than [`SPARE`] files beyond those that it has open.
fn limit_files(process: u32) -> u64 {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let most = open_files(process) + SPARE;
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    prlimit(pid, Resource::Nofile, limit).expect("the limit can be lowered");
    most
}

/// Looks until it is so: nothing tells of it.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    bounded(what, async {
        while !is_so() {
            looks.tick().await;
        }
    })
    .await;
}

async fn flood(farm: &Farm) -> Vec<TcpStream> {
    let address = farm.url().strip_prefix("http://").expect("a plain address");
    let mut open = Vec::new();
    for _ in 0..FLOOD {
        open.push(TcpStream::connect(address).await.expect("the system's queue takes it"));
    }
    open
}

#[tokio::test]
async fn a_flood_that_takes_every_file_descriptor_is_outlived() {
    let mut farm = Farm::new("few-files");
    let serve = farm.serve().await;
    let worker = farm.worker("render-01");
    farm.events(0).await.until_joined("render-01").await;
    let most = limit_files(serve.pid());
    limit_files(worker.pid());

    // Work is under way while strangers take all there is.
    let folder = farm.new_folder("source");
    let before = farm.submit([picture(&folder.join("one.png"), 64, 64)], &[]).await;
    let open = flood(&farm).await;
    until("the flood taking every file", || open_files(serve.pid()) >= most).await;
    let status = farm.bare_request(Method::GET, "/v1/status");
    let asked = tokio::spawn(answer(status));
    drop(open);

    // Who asked in the flood is answered after it, and the work that ran goes on.
    assert_eq!(asked.await.expect("it waits").0, StatusCode::UNAUTHORIZED);
    farm.events(0).await.until_succeeded(before).await;
    let after = picture(&folder.join("two.png"), 64, 64);
    let after = farm.try_submit([after], &["--wait"]).await.expect_code(0).pipeline();
    let history = farm.history().await;
    for pipeline in [before, after] {
        check_published(&farm.pipeline(pipeline).await);
        assert_eq!(publishes(&history, pipeline), (1, 1));
    }
    assert!(open_files(serve.pid()) < most, "the connections are gone");

    // Strangers that stay are cut off: nobody has to wait for them to go.
    let stay = flood(&farm).await;
    until("the flood taking every file", || open_files(serve.pid()) >= most).await;
    let status = farm.request(Method::GET, "/v1/status");
    assert_eq!(answer(status).await.0, StatusCode::OK);
    drop(stay);
    for process in [worker, serve] {
        assert_eq!(process.stop().await, Some(0), "it ends orderly");
    }
}
