//! The live stream: what was committed since, then every commit, with pulses between.

use super::extract::Params;
use super::problem::{Refusal, Refusals};
use super::state::Shared;
use crate::model::limits;
use crate::protocol::event::{Event, Pulse};
use crate::store::StoreError;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::{Stream, stream};
use serde::Deserialize;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio_util::sync::CancellationToken;

/// A comment after this long without an event shows that the line is up.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Where the stream begins.
#[derive(Debug, Deserialize)]
pub(super) struct After {
    after: Option<u64>,
}

/// Changes after `after` (or the header `Last-Event-ID`) as they are committed; without either,
/// from now on.
#[utoipa::path(get, path = "/v1/events", tag = "farm",
    params(("after" = Option<u64>, Query), ("last-event-id" = Option<u64>, Header)),
    responses((status = 200, body = String, content_type = "text/event-stream",
        description = "`event: change` carries an Event, `event: pulse` a Pulse"), Refusals))]
pub(super) async fn follow(
    State(farm): State<Shared>,
    Params(After { after }): Params<After>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, axum::Error>>>, Refusal> {
    let permit = farm
        .streams
        .clone()
        .try_acquire_owned()
        .map_err(|_| Refusal::busy("too many event streams are open"))?;
    let committed = farm.store.committed();
    let mut last = *committed.borrow();
    let after = last_event_id(&headers)?.or(after).unwrap_or(last);
    if after > last {
        // Readers can see a commit a moment before it is announced.
        last = farm.store.last_event().await?;
    }
    if after > last {
        return Err(Refusal::invalid(
            format!("event {after} does not exist: the last one is {last}"),
            "Fetch /v1/snapshot and follow from its seq.",
        ));
    }
    let feed = Feed {
        cursor: after,
        backlog: VecDeque::new(),
        committed,
        pulses: farm.pulses.subscribe(),
        stopping: farm.stopping.clone(),
        _permit: permit,
    };
    let store = farm.store.clone();
    let load = move |seq| {
        let store = store.clone();
        async move { store.events_after(seq, limits::EVENTS_PER_PAGE).await }
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("alive");
    Ok(Sse::new(frames(feed, load)).keep_alive(keep_alive))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let seq = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    seq.map(Some).ok_or_else(|| {
        Refusal::invalid("Last-Event-ID is not the number of an event", "Leave it out.")
    })
}

/// Where one stream is.
struct Feed<P> {
    /// The last event that was sent or is in the backlog.
    cursor: u64,
    backlog: VecDeque<Event>,
    committed: watch::Receiver<u64>,
    pulses: broadcast::Receiver<Pulse>,
    stopping: CancellationToken,
    _permit: P,
}

type EventPermit = OwnedSemaphorePermit;

/// What goes out next.
#[derive(Debug, PartialEq)]
enum Item {
    Change(Box<Event>),
    Pulse(Pulse),
}

fn frames<L, F>(
    feed: Feed<EventPermit>,
    load: L,
) -> impl Stream<Item = Result<sse::Event, axum::Error>>
where
    L: Fn(u64) -> F,
    F: Future<Output = Result<Vec<Event>, StoreError>>,
{
    stream::unfold((feed, load), |(mut feed, load)| async move {
        let item = feed.next(&load).await?;
        Some((frame(&item), (feed, load)))
    })
}

fn frame(item: &Item) -> Result<sse::Event, axum::Error> {
    match item {
        Item::Change(event) => {
            sse::Event::default().id(event.seq.to_string()).event("change").json_data(event)
        }
        Item::Pulse(pulse) => sse::Event::default().event("pulse").json_data(pulse),
    }
}

impl<P> Feed<P> {
    /// The next item; none ends the stream, and the client comes back where it was.
    async fn next<L, F>(&mut self, load: &L) -> Option<Item>
    where
        L: Fn(u64) -> F,
        F: Future<Output = Result<Vec<Event>, StoreError>>,
    {
        loop {
            if self.stopping.is_cancelled() {
                return None;
            }
            if let Some(event) = self.backlog.pop_front() {
                return Some(Item::Change(Box::new(event)));
            }
            // Marked as seen before the load: a commit during the load is not missed.
            if *self.committed.borrow_and_update() > self.cursor {
                let events = load(self.cursor)
                    .await
                    .inspect_err(|error| tracing::warn!(%error, "an event stream ends"))
                    .ok()?;
                if let Some(last) = events.last() {
                    self.cursor = last.seq;
                    self.backlog = events.into();
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return None,
                commit = self.committed.changed() => commit.ok()?,
                pulse = self.pulses.recv() => match pulse {
                    Ok(pulse) => return Some(Item::Pulse(pulse)),
                    // The next beat says it again.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PipelineId, SessionId};
    use crate::protocol::event::Change;
    use axum::response::IntoResponse;
    use futures_util::TryStreamExt;
    use std::future::ready;
    use std::sync::Arc;
    use tokio::sync::Semaphore;

    fn event(seq: u64) -> Event {
        let folder = "published/a\nb".to_owned();
        let change = Change::Exported { pipeline: PipelineId(1), folder };
        Event { seq, at_ms: 0, actor: "coordinator".into(), change }
    }

    fn pulse() -> Pulse {
        let session = SessionId::from_random([1; 16]);
        Pulse::Beat { session, lease_left_ms: 30_000, running: Vec::new() }
    }

    struct Setup {
        feed: Feed<()>,
        commit: watch::Sender<u64>,
        pulses: broadcast::Sender<Pulse>,
    }

    fn setup(cursor: u64, last: u64) -> Setup {
        let (commit, committed) = watch::channel(last);
        let pulses = broadcast::Sender::new(2);
        let feed = Feed {
            cursor,
            backlog: VecDeque::new(),
            committed,
            pulses: pulses.subscribe(),
            stopping: CancellationToken::new(),
            _permit: (),
        };
        Setup { feed, commit, pulses }
    }

    /// A store of two-event pages that ends at event 5.
    fn page(after: u64) -> std::future::Ready<Result<Vec<Event>, StoreError>> {
        ready(Ok((after + 1..=5).take(2).map(event).collect()))
    }

    #[tokio::test]
    async fn the_backlog_comes_page_by_page_without_gaps_then_pulses() {
        let mut setup = setup(1, 5);
        setup.pulses.send(pulse()).unwrap();
        for seq in 2..=5 {
            assert_eq!(setup.feed.next(&page).await, Some(Item::Change(Box::new(event(seq)))));
        }
        assert_eq!(setup.feed.next(&page).await, Some(Item::Pulse(pulse())));
    }

    #[tokio::test]
    async fn a_commit_wakes_the_stream_and_lag_skips_pulses_only() {
        let mut setup = setup(4, 4);
        for _ in 0..5 {
            setup.pulses.send(pulse()).unwrap();
        }
        setup.commit.send_replace(5);
        assert_eq!(setup.feed.next(&page).await, Some(Item::Change(Box::new(event(5)))));
        assert_eq!(setup.feed.next(&page).await, Some(Item::Pulse(pulse())));
        assert_eq!(setup.feed.next(&page).await, Some(Item::Pulse(pulse())));
        setup.feed.stopping.cancel();
        assert_eq!(setup.feed.next(&page).await, None);
    }

    #[tokio::test]
    async fn an_error_of_the_store_ends_the_stream() {
        let mut setup = setup(0, 1);
        let fails = |_| ready(Err(StoreError::Closed));
        assert_eq!(setup.feed.next(&fails).await, None);
    }

    #[tokio::test]
    async fn frames_have_the_form_of_the_protocol() {
        let setup = setup(4, 5);
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let feed = Feed {
            cursor: 4,
            backlog: VecDeque::new(),
            committed: setup.feed.committed,
            pulses: setup.feed.pulses,
            stopping: setup.feed.stopping.clone(),
            _permit: permit,
        };
        setup.pulses.send(pulse()).unwrap();
        // The senders go, so that the stream ends after what is there.
        drop((setup.commit, setup.pulses));
        let body = Sse::new(frames(feed, page)).into_response().into_body();
        let pieces: Vec<_> = body.into_data_stream().try_collect().await.unwrap();
        let text = String::from_utf8(pieces.concat()).unwrap();
        let blocks: Vec<_> = text.split("\n\n").collect();
        let lines: Vec<_> = blocks[0].lines().collect();
        assert!(lines.contains(&"id: 5") && lines.contains(&"event: change"), "{text}");
        let data = lines.iter().find_map(|line| line.strip_prefix("data: ")).unwrap();
        assert_eq!(serde_json::from_str::<Event>(data).unwrap(), event(5));
    }

    #[test]
    fn the_header_of_a_returning_client_is_read() {
        let mut headers = HeaderMap::new();
        assert_eq!(last_event_id(&headers).unwrap(), None);
        headers.insert("last-event-id", "42".parse().unwrap());
        assert_eq!(last_event_id(&headers).unwrap(), Some(42));
        headers.insert("last-event-id", "x".parse().unwrap());
        assert!(last_event_id(&headers).is_err());
    }
}
