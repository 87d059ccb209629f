//! The event stream as a test reads it: server-sent events, one at a time, never waiting for ever.

use crate::farm::bounded;
use sawah::model::{JobId, JobState, PipelineId, PipelineStatus};
use sawah::protocol::event::{Change, Event, Pulse};

/// What the stream says.
#[derive(Debug)]
pub(crate) enum Message {
    /// A committed change.
    Change(Box<Event>),
    /// Progress.
    Pulse(Pulse),
}

/// A live stream.
pub(crate) struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Events {
    /// From the answer to `GET /v1/events`.
    pub(crate) fn new(response: reqwest::Response) -> Self {
        assert!(response.status().is_success(), "events: {}", response.status());
        Self { response, buffer: Vec::new() }
    }

    /// The next message; ends the test when the stream ends.
    async fn next(&mut self) -> Message {
        loop {
            if let Some(message) = self.take_block().as_deref().and_then(read_block) {
                return message;
            }
            let chunk = self.response.chunk().await.expect("the stream goes on");
            self.buffer.extend(chunk.expect("the stream does not end"));
        }
    }

    /// Takes whole blocks from the buffer until one says something.
    fn take_block(&mut self) -> Option<String> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
        let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
        let block = String::from_utf8(block).expect("the stream is UTF-8");
        if block.lines().any(|line| line.starts_with("data:")) {
            Some(block)
        } else {
            self.take_block()
        }
    }

    /// The next committed change.
    pub(crate) async fn next_event(&mut self, what: &str) -> Event {
        self.until(what, |_| true).await
    }

    /// Reads on until a change is the one that is waited for.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        mut is_it: impl FnMut(&Event) -> bool,
    ) -> Event {
        bounded(what, async {
            loop {
                match self.next().await {
                    Message::Change(event) if is_it(&event) => return *event,
                    Message::Change(_) | Message::Pulse(_) => {}
                }
            }
        })
        .await
    }

    /// Reads on until a worker says that this job is under way but not done.
    pub(crate) async fn until_under_way(&mut self, job: JobId) {
        bounded("a beat with progress", async {
            loop {
                if let Message::Pulse(Pulse::Beat { running, .. }) = self.next().await
                    && running.iter().any(|one| {
                        one.job == job && one.progress.percent > 0.0 && one.progress.percent < 100.0
                    })
                {
                    return;
                }
            }
        })
        .await;
    }

    /// Reads on until a job is in a state.
    pub(crate) async fn until_job_is(&mut self, job: JobId, state: JobState) -> Event {
        self.until(&format!("job {job} being {state}"), |event| {
            matches!(event.change, Change::JobChanged { job: of, to, .. } if of == job && to == state)
        })
        .await
    }

    /// Reads on until a pipeline has ended; it must have ended well.
    pub(crate) async fn until_succeeded(&mut self, pipeline: PipelineId) {
        let what = format!("the end of pipeline {pipeline}");
        let end = self.until(&what, |event| {
            matches!(event.change, Change::PipelineChanged { pipeline: of, status, .. }
                if of == pipeline && status != PipelineStatus::Running)
        });
        let Change::PipelineChanged { status, .. } = end.await.change else { unreachable!() };
        assert_eq!(status, PipelineStatus::Succeeded, "pipeline {pipeline}");
    }

    /// Reads on until a worker's session begins.
    pub(crate) async fn until_joined(&mut self, name: &str) {
        self.until(
            &format!("worker {name} joining"),
            |event| matches!(&event.change, Change::WorkerJoined { worker } if worker.name == name),
        )
        .await;
    }
}

fn read_block(block: &str) -> Option<Message> {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let data = field("data")?;
    match field("event") {
        Some("change") => {
            let event: Event = serde_json::from_str(data).expect("a change is an event");
            assert_eq!(field("id"), Some(event.seq.to_string().as_str()), "{block}");
            Some(Message::Change(Box::new(event)))
        }
        Some("pulse") => {
            assert_eq!(field("id"), None, "a pulse has no number: {block}");
            Some(Message::Pulse(serde_json::from_str(data).expect("a pulse reads")))
        }
        other => panic!("an unknown event {other:?}: {block}"),
    }
}
