//! Tells other programs the news in the outbox, at least once and in order for each pipeline.

use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use crate::protocol::webhook::WEBHOOK_ID;
use crate::store::PendingNews;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(2);
const SPACING: Duration = Duration::from_millis(100);
/// News taken up in one pass.
const NEWS_PER_PASS: u32 = 16;
/// How long a receiver may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn run(farm: Shared) {
    let commits = Some(farm.store.committed());
    let rhythm = Rhythm { name: "webhooks", period: PERIOD, commits, spacing: SPACING };
    // A redirect would carry the news elsewhere than the settings say.
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(CALL_TIMEOUT)
        .user_agent(concat!("sawah/", env!("CARGO_PKG_VERSION")))
        .build();
    match http {
        Ok(http) => drive(rhythm, farm.stopping.clone(), || pass(&farm, &http)).await,
        Err(error) => tracing::error!(%error, "no webhooks are sent"),
    }
}

async fn pass(farm: &Shared, http: &reqwest::Client) -> Result<(), String> {
    let waiting =
        farm.store.pending_news(NEWS_PER_PASS).await.map_err(|error| error.to_string())?;
    for news in waiting {
        if farm.stopping.is_cancelled() {
            break;
        }
        one(farm, http, news).await?;
    }
    Ok(())
}

async fn one(farm: &Shared, http: &reqwest::Client, news: PendingNews) -> Result<(), String> {
    let PendingNews { id, url, body, .. } = news;
    let call = http.post(&url).header(WEBHOOK_ID, id).header("content-type", "application/json");
    let answer = match call.body(body).send().await {
        Ok(answer) if answer.status().is_success() => farm.store.news_delivered(id).await,
        Ok(answer) => not_taken(farm, id, &format!("it answered {}", answer.status())).await,
        Err(error) => not_taken(farm, id, &error.to_string()).await,
    };
    answer.map_err(|error| error.to_string())
}

async fn not_taken(farm: &Shared, id: i64, why: &str) -> Result<(), crate::store::StoreError> {
    let is_given_up = farm.store.news_refused(id, why).await?;
    tracing::warn!(delivery = id, why, is_given_up, "a webhook was not taken");
    Ok(())
}
