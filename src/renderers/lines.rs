//! Bytes in any pieces become lines: split on `\n` and `\r`, bounded, readable.

use crate::model::limits;

/// What is kept between two pieces: the line that has no end yet.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
}

impl Lines {
    /// Reads a piece; `each` gets every line that has come to its end.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, is_end) = match part.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (part, false),
            };
            let room = limits::LOG_LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend(text.iter().take(room));
            if is_end {
                self.end(&mut each);
            }
        }
    }

    /// The last line, which has no end.
    pub fn finish(&mut self, mut each: impl FnMut(&str)) {
        self.end(&mut each);
    }

    fn end(&mut self, each: &mut impl FnMut(&str)) {
        let text = String::from_utf8_lossy(&self.line);
        let plain = without_colours(&text);
        let plain = plain.trim_end();
        if !plain.is_empty() {
            each(plain);
        }
        self.line.clear();
    }
}

/// The text without the sequences that colour it on a terminal.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            while letters.next_if(|next| matches!(next, '0'..='9' | ';')).is_some() {}
            letters.next_if(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}
