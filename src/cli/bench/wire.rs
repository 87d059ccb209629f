//! A lean HTTP/1.1 client for measuring: one connection that stays open, no pool, no redirects.
//! The farm and the echo are called through the same one, so that their ratio is the farm's.

use super::BenchError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest answer read.
const ANSWER_BYTES: usize = 64 << 20;

/// Where and with which token to call.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    headers: String,
    read: Vec<u8>,
}

/// Status and body of an answer.
type Answer = (u16, Vec<u8>);

impl Wire {
    /// Connects.
    pub(super) async fn open(line: &Line) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(line.address).await?;
        stream.set_nodelay(true)?;
        let headers = format!(
            "host: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n",
            line.address, line.token
        );
        Ok(Self { stream, headers, read: Vec::new() })
    }

    /// Sends a JSON body and reads a JSON answer; anything but success is an error.
    pub(super) async fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, BenchError> {
        let body = serde_json::to_vec(body).map_err(|error| wrong(path, &error.to_string()))?;
        let (status, answer) = self.exchange(method, path, &body).await?;
        if !(200..300).contains(&status) {
            let text = String::from_utf8_lossy(&answer).into_owned();
            return Err(wrong(path, &format!("status {status}: {text}")));
        }
        // 204 has no body, which reads as `null` for `()`.
        let answer = if answer.is_empty() { b"null".to_vec() } else { answer };
        serde_json::from_slice(&answer).map_err(|error| wrong(path, &error.to_string()))
    }

    /// Sends bytes and reads the answer, whatever it is.
    pub(super) async fn exchange(
        &mut self,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<Answer, BenchError> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\n{}content-length: {}\r\n\r\n",
            self.headers,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.write_all(&request).await?;
        let (head, status, length) = loop {
            if let Some(found) = head(&self.read) {
                break found;
            }
            self.more(path).await?;
        };
        while self.read.len() < head + length {
            self.more(path).await?;
        }
        let body = self.read.get(head..head + length).unwrap_or_default().to_vec();
        self.read.drain(..head + length);
        Ok((status, body))
    }

    async fn more(&mut self, path: &str) -> Result<(), BenchError> {
        if self.read.len() > ANSWER_BYTES {
            return Err(wrong(path, "the answer is too long"));
        }
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err(wrong(path, "the connection was closed")),
            _ => Ok(()),
        }
    }
}

fn wrong(path: &str, why: &str) -> BenchError {
    BenchError::Answer { path: path.to_owned(), why: why.to_owned() }
}

/// Length of the head, the status and the length of the body, once the head is whole.
fn head(bytes: &[u8]) -> Option<(usize, u16, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.filter_map(|line| line.split_once(':'));
    let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.next().and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0);
    Some((end, status, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";
        assert_eq!(head(whole), Some((whole.len() - 5, 201, 5)));
        assert_eq!(
            head(b"HTTP/1.1 204 No Content\r\n\r\n").map(|head| (head.1, head.2)),
            Some((204, 0))
        );
        assert_eq!(head(b"HTTP/1.1 200 OK\r\ncontent-le"), None);
    }
}
