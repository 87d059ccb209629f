//! News for other programs: written with what it tells, once, in order, and not tried for ever.

use super::Farm;
use crate::model::{Reason, limits};
use crate::protocol::webhook::{News, NewsKind};
use crate::protocol::work::Failure;
use crate::store::Page;
use std::collections::BTreeMap;

impl Farm {
    async fn wanted(&self) {
        let url = || "http://127.0.0.1:9/x".to_owned();
        let urls = BTreeMap::from([(NewsKind::DeadLetter, url()), (NewsKind::Published, url())]);
        self.store.set_webhooks(urls).await.unwrap();
    }

    async fn news(&self) -> Vec<News> {
        let pending = self.store.pending_news(99).await.unwrap();
        pending.iter().map(|one| serde_json::from_str(&one.body).unwrap()).collect()
    }
}

#[tokio::test]
async fn a_dead_letter_and_a_publish_are_told_once_and_a_replay_tells_nothing_again() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.wanted().await;
    farm.submit("dragon", "x").await;
    farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "no end")).await;
    let dead = farm.store.dead_letters(false, Page { before: None, limit: 9 }).await.unwrap();
    let told = farm.news().await;
    assert!(matches!(&told[..], [News::DeadLetter { job, .. }] if *job == dead[0].job), "{told:?}");
    // The same number until it is taken.
    let first = farm.store.pending_news(9).await.unwrap().remove(0);
    assert!(!farm.store.news_refused(first.id, "503").await.unwrap());
    assert!(farm.news().await.is_empty(), "not due yet");
    farm.pass_ms(1_000);
    let again = farm.store.pending_news(9).await.unwrap().remove(0);
    assert_eq!((again.id, again.tries), (first.id, 1));
    farm.store.news_delivered(first.id).await.unwrap();
    farm.store.replay(dead[0].job, "ana", "copied again").await.unwrap();
    assert!(farm.news().await.is_empty());
    farm.run_all(&worker).await;
    let told = farm.news().await;
    let [News::Published { folder, asset_version: 1, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(folder, "/published/here");
    farm.check().await;
}

#[tokio::test]
async fn later_news_of_a_pipeline_waits_for_the_earlier_and_tries_have_an_end() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.wanted().await;
    farm.submit("dragon", "x").await;
    farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "no end")).await;
    let dead = farm.store.dead_letters(false, Page { before: None, limit: 9 }).await.unwrap();
    farm.store.replay(dead[0].job, "ana", "copied again").await.unwrap();
    farm.run_all(&worker).await;
    let first = farm.store.pending_news(9).await.unwrap();
    assert_eq!(first.len(), 1, "the publish waits for the dead letter");
    for number in 1..=limits::WEBHOOK_TRIES {
        let given_up = farm.store.news_refused(first[0].id, "no answer").await.unwrap();
        assert_eq!(given_up, number == limits::WEBHOOK_TRIES, "{number}");
    }
    assert!(matches!(farm.news().await[..], [News::Published { .. }]));
}

#[tokio::test]
async fn what_nobody_wants_is_not_kept() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "x").await;
    farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "no end")).await;
    farm.wanted().await;
    assert!(farm.news().await.is_empty());
}
