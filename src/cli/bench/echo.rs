//! What HTTP alone costs: a small JSON body sent back by the same server library.

use super::book::{Book, Unit};
use super::timing::rate;
use super::wire::{Line, Wire};
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use axum::Json;
use axum::routing::post;
use futures_util::future::try_join_all;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpListener;

/// Connections at once.
const CONNECTIONS: [usize; 2] = [1, 64];

pub(super) async fn measure(plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let line = Line { address: listener.local_addr()?, token: "none".to_owned() };
    let app = axum::Router::new().route("/", post(|Json(body): Json<Value>| async { Json(body) }));
    let server = tokio::spawn(axum::serve(listener, app).into_future());
    for connections in CONNECTIONS {
        let watch = Stopwatch::start();
        let callers = (0..connections).map(|_| call(&line, plan.budget));
        let calls: usize = try_join_all(callers.map(tokio::spawn))
            .await
            .map_err(std::io::Error::other)?
            .into_iter()
            .sum::<Result<usize, BenchError>>()?;
        let name = format!("echo on {connections} connections");
        book.add("http", &name, rate(calls, watch.elapsed()), Unit::PerSecond);
    }
    server.abort();
    Ok(())
}

fn call(line: &Line, budget: Duration) -> impl Future<Output = Result<usize, BenchError>> + use<> {
    let line = line.clone();
    async move {
        let mut wire = Wire::open(&line).await?;
        let body = serde_json::json!({"session": "0".repeat(32), "epoch": 1});
        let watch = Stopwatch::start();
        let mut calls = 0;
        while watch.elapsed() < budget {
            let _: Value = wire.call("POST", "/", &body).await?;
            calls += 1;
        }
        Ok(calls)
    }
}
