//! Reads a server-sent event stream: bytes in, messages out. Every buffer is bounded.

/// Longest line, in bytes.
pub const LINE_BYTES: usize = 4 << 20;
/// Most bytes of data in one message.
pub const MESSAGE_BYTES: usize = 8 << 20;

/// One message of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Its kind; `message` where the stream names none.
    pub event: String,
    /// Its number, where it has one.
    pub id: Option<String>,
    /// Its data; several data lines are joined by a newline.
    pub data: String,
}

/// The stream breaks a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line does not end.
    #[error("a line of the event stream is longer than {LINE_BYTES} bytes")]
    LongLine,
    /// A message does not end.
    #[error("a message of the event stream is larger than {MESSAGE_BYTES} bytes")]
    LargeMessage,
}

/// The reader's state between two pieces of the stream.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    after_return: bool,
    begun: bool,
    message: Message,
    has_data: bool,
}

impl Parser {
    /// Reads one piece; complete messages are added to `out`.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<Message>) -> Result<(), SseError> {
        for byte in piece {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => self.end_of_line(out)?,
                _ if self.line.len() >= LINE_BYTES => return Err(SseError::LongLine),
                _ => self.line.push(*byte),
            }
        }
        Ok(())
    }

    fn end_of_line(&mut self, out: &mut Vec<Message>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let text = if self.begun { &*text } else { text.trim_start_matches('\u{feff}') };
        self.begun = true;
        if text.is_empty() {
            let mut message = std::mem::take(&mut self.message);
            if std::mem::take(&mut self.has_data) {
                if message.event.is_empty() {
                    "message".clone_into(&mut message.event);
                }
                out.push(message);
            }
            return Ok(());
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.message.event),
            "id" => self.message.id = Some(value.to_owned()),
            "data" => {
                if self.message.data.len() + value.len() > MESSAGE_BYTES {
                    return Err(SseError::LargeMessage);
                }
                if self.has_data {
                    self.message.data.push('\n');
                }
                self.has_data = true;
                self.message.data.push_str(value);
            }
            // Comments (an empty field name), retry and unknown fields.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, piece: usize) -> Vec<Message> {
        let mut parser = Parser::default();
        let mut out = Vec::new();
        for bytes in text.as_bytes().chunks(piece) {
            parser.feed(bytes, &mut out).expect("within bounds");
        }
        out
    }

    #[test]
    fn messages_read_the_same_in_any_pieces_and_line_ends() {
        let text = "\u{feff}: hello\n\nid: 7\nevent: change\ndata: {\"a\":\ndata: 1}\n\nevent: pulse\ndata:x\n\ndata\n\nid: 9\nevent: none\n\ndata: unfinished";
        let expected =
            [("change", Some("7"), "{\"a\":\n1}"), ("pulse", None, "x"), ("message", None, "")];
        for piece in [1, 2, 3, 7, 1000] {
            for ends in ["\n", "\r\n", "\r"] {
                let found = parse(&text.replace('\n', ends), piece);
                let found: Vec<_> = found
                    .iter()
                    .map(|one| (one.event.as_str(), one.id.as_deref(), one.data.as_str()))
                    .collect();
                assert_eq!(found, expected, "pieces of {piece}, line end {ends:?}");
            }
        }
    }

    #[test]
    fn endless_lines_and_messages_are_refused() {
        let mut parser = Parser::default();
        let mut out = Vec::new();
        let line = vec![b'a'; LINE_BYTES];
        assert_eq!(parser.feed(&line, &mut out), Ok(()));
        assert_eq!(parser.feed(b"a", &mut out), Err(SseError::LongLine));

        let mut parser = Parser::default();
        let data = format!("data:{}\n", "a".repeat(MESSAGE_BYTES / 3));
        for _ in 0..3 {
            assert_eq!(parser.feed(data.as_bytes(), &mut out), Ok(()));
        }
        assert_eq!(parser.feed(data.as_bytes(), &mut out), Err(SseError::LargeMessage));
    }
}
