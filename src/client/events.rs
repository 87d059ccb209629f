//! The live stream, and a follower that survives its breaks.

use super::error::ClientError;
use super::http::Client;
use super::sse::{Message, Parser};
use crate::protocol::event::{Event, Pulse};
use crate::protocol::view::Snapshot;
use reqwest::{Method, Response};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;

/// The coordinator says something at least every 10 s; silence for this long means it is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long the head of the stream may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// First wait before a new connection.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Longest wait before a new connection.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Steps that wait for a slow reader; then the stream waits.
const STEPS: usize = 256;
const CALL: &str = "/events";

/// What the stream says.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// A committed change.
    Event(Box<Event>),
    /// A sign of life of a worker.
    Pulse(Pulse),
}

/// An open event stream. Ends with the first error; opening it again is the caller's job.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    url: String,
    parser: Parser,
    ready: VecDeque<Message>,
}

impl Client {
    /// `GET /v1/events`: every event after `after`, then each one as it happens.
    pub async fn events(&self, after: u64) -> Result<EventStream, ClientError> {
        let path = format!("{CALL}?after={after}");
        let request = self.request(Method::GET, &path).header("accept", "text/event-stream");
        let opened = tokio::time::timeout(OPEN_TIMEOUT, self.send(request, CALL)).await;
        let response = opened.unwrap_or_else(|_| Err(silent(self.url())))?;
        Ok(EventStream {
            response,
            url: self.url().to_owned(),
            parser: Parser::default(),
            ready: VecDeque::new(),
        })
    }
}

fn silent(url: &str) -> ClientError {
    ClientError::Unreachable { url: url.to_owned(), why: "it fell silent".to_owned() }
}

impl EventStream {
    /// The next item; waits for it.
    pub async fn next(&mut self) -> Result<StreamItem, ClientError> {
        loop {
            while let Some(message) = self.ready.pop_front() {
                if let Some(item) = read(&message)? {
                    return Ok(item);
                }
            }
            let piece = tokio::time::timeout(SILENCE, self.response.chunk())
                .await
                .map_err(|_| silent(&self.url))?
                .map_err(|error| ClientError::unreachable(&self.url, &error))?;
            let Some(piece) = piece else {
                let why = "it closed the event stream".to_owned();
                return Err(ClientError::Unreachable { url: self.url.clone(), why });
            };
            let mut messages = Vec::new();
            self.parser
                .feed(&piece, &mut messages)
                .map_err(|error| ClientError::bad_answer(CALL, &error))?;
            self.ready.extend(messages);
        }
    }
}

fn read(message: &Message) -> Result<Option<StreamItem>, ClientError> {
    let bad = |error: serde_json::Error| ClientError::bad_answer(CALL, &error);
    match message.event.as_str() {
        "change" => serde_json::from_str(&message.data)
            .map(|event| Some(StreamItem::Event(Box::new(event))))
            .map_err(bad),
        "pulse" => serde_json::from_str(&message.data)
            .map(|pulse| Some(StreamItem::Pulse(pulse)))
            .map_err(bad),
        // A newer coordinator may say more than we understand.
        _ => Ok(None),
    }
}

/// One step of following a farm.
#[derive(Debug)]
pub enum Step {
    /// Start from this: everything before is out of date.
    Snapshot(Box<Snapshot>),
    /// Follows the last one without a gap.
    Event(Box<Event>),
    /// A sign of life of a worker.
    Pulse(Pulse),
    /// Cut off; the next call waits a little and tries again.
    Lost(ClientError),
}

/// Follows a farm for as long as it is asked: snapshot, events, and after a break or a gap a new
/// snapshot.
#[derive(Debug)]
pub struct Follower {
    client: Client,
    pipelines: u32,
    stream: Option<EventStream>,
    seq: u64,
    wait: Duration,
    lost: bool,
}

impl Follower {
    /// Follows the newest `pipelines` of the client's farm.
    pub fn new(client: Client, pipelines: u32) -> Self {
        Self { client, pipelines, stream: None, seq: 0, wait: FIRST_WAIT, lost: false }
    }

    /// The next step is a new snapshot.
    pub fn start_over(&mut self) {
        self.stream = None;
    }

    /// The next step. Dropping the wait may begin it anew: see [`Follower::spawn`].
    pub async fn next(&mut self) -> Step {
        loop {
            if std::mem::take(&mut self.lost) {
                tokio::time::sleep(self.wait).await;
                self.wait = (self.wait * 2).min(LONGEST_WAIT);
            }
            let Some(stream) = &mut self.stream else {
                return match self.open().await {
                    Ok(snapshot) => Step::Snapshot(Box::new(snapshot)),
                    Err(error) => self.lose(error),
                };
            };
            match stream.next().await {
                Ok(StreamItem::Pulse(pulse)) => return Step::Pulse(pulse),
                Ok(StreamItem::Event(event)) if event.seq <= self.seq => {}
                Ok(StreamItem::Event(event)) if event.seq == self.seq + 1 => {
                    self.seq = event.seq;
                    return Step::Event(event);
                }
                Ok(StreamItem::Event(_)) => self.stream = None,
                Err(error) => return self.lose(error),
            }
        }
    }

    /// Follows in a task of its own, for callers that wait for other things too. The task ends when
    /// the receiver is dropped.
    pub fn spawn(mut self) -> mpsc::Receiver<Step> {
        let (sender, receiver) = mpsc::channel(STEPS);
        tokio::spawn(async move {
            loop {
                let step = tokio::select! {
                    step = self.next() => step,
                    () = sender.closed() => return,
                };
                if sender.send(step).await.is_err() {
                    return;
                }
            }
        });
        receiver
    }

    async fn open(&mut self) -> Result<Snapshot, ClientError> {
        let snapshot = self.client.snapshot(self.pipelines).await?;
        self.stream = Some(self.client.events(snapshot.seq).await?);
        self.seq = snapshot.seq;
        self.wait = FIRST_WAIT;
        Ok(snapshot)
    }

    fn lose(&mut self, error: ClientError) -> Step {
        self.stream = None;
        self.lost = true;
        Step::Lost(error)
    }
}
