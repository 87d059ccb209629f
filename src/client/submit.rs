//! Handing in, so that a lost answer does no harm: every submission has a key of its own, and is
//! repeated under it a few times. The coordinator gives the same key the same answer.

use super::error::ClientError;
use super::http::Client;
use crate::protocol::submit::{IfFull, Submission, Submitted};
use reqwest::Method;
use std::fmt::Write as _;
use std::time::Duration;

/// Calls made for one submission at most.
const TRIES: u32 = 4;
/// The wait before the second call; doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(250);

impl Client {
    /// `POST /v1/pipelines`: the bytes of every file were uploaded before.
    pub async fn submit(&self, submission: &Submission) -> Result<Submitted, ClientError> {
        self.submit_if(submission, IfFull::Refuse).await
    }

    /// The same; says what becomes of it while a later queue is full.
    pub async fn submit_if(
        &self,
        submission: &Submission,
        if_full: IfFull,
    ) -> Result<Submitted, ClientError> {
        let path = match if_full {
            IfFull::Refuse => "/pipelines",
            IfFull::Hold => "/pipelines?if_full=hold",
        };
        let key = new_key();
        let (mut tries, mut wait) = (1, FIRST_WAIT);
        loop {
            let mut request = self.request(Method::POST, path).json(submission);
            if let Some(key) = &key {
                request = request.header("idempotency-key", key);
            }
            match self.answer(request, path).await {
                // Without a key a repeated submission could not be told from a new one.
                Err(error) if tries < TRIES && key.is_some() && is_worth_repeating(&error) => {
                    tracing::debug!(%error, tries, "the submission had no answer, trying on");
                    tokio::time::sleep(wait).await;
                    tries += 1;
                    wait = wait.saturating_mul(2);
                }
                answer => return answer,
            }
        }
    }
}

/// A full queue is not over in a second: that refusal is for people.
fn is_worth_repeating(error: &ClientError) -> bool {
    match error {
        ClientError::Refused { problem, .. } if problem.reason.is_some() => false,
        error => error.is_temporary(),
    }
}

fn new_key() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let mut key = String::with_capacity(32);
    for byte in bytes {
        write!(key, "{byte:02x}").ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Token;
    use crate::model::{AssetName, PipelineId};
    use crate::protocol::submit::SubmitOutcome;
    use std::collections::BTreeMap;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    fn submission() -> Submission {
        Submission {
            asset: AssetName::from_any("dragon"),
            source_ref: "/dragon.obj".into(),
            main_file: "dragon.obj".into(),
            sequence: false,
            files: Vec::new(),
            missing: Vec::new(),
            recipe: None,
            settings: BTreeMap::new(),
            actor: "ana".into(),
            project: None,
            priority: None,
        }
    }

    /// Answers the `lost` first calls by hanging up, and tells the keys of all.
    async fn serve(listener: TcpListener, lost: usize) -> Vec<String> {
        let mut keys = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\"ana\"}") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
            keys.push(key.unwrap().to_owned());
            if keys.len() <= lost {
                continue;
            }
            let answer = serde_json::to_string(&Submitted {
                pipeline: PipelineId(7),
                asset: AssetName::from_any("dragon"),
                asset_version: 1,
                outcome: SubmitOutcome::Created,
            });
            let answer = answer.unwrap();
            let length = answer.len();
            let head =
                format!("HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: {length}");
            stream.write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).await.unwrap();
            return keys;
        }
    }

    #[tokio::test]
    async fn a_lost_answer_is_asked_for_again_under_the_same_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = Client::new(&format!("http://{address}"), Token::new("x")).unwrap();
        let handed_in = submission();
        let (submitted, keys) = tokio::join!(client.submit(&handed_in), serve(listener, 2));
        assert_eq!(submitted.unwrap().pipeline, PipelineId(7));
        assert_eq!(keys.len(), 3);
        assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 32), "{keys:?}");
        assert_ne!(new_key(), new_key(), "each submission has its own");
    }
}
