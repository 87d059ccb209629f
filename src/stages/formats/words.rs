//! Lines and numbers of text formats.

use super::{bounds, corrupt};
use crate::protocol::work::Failure;
use std::borrow::Cow;

/// The lines of a text file with their numbers from 1; a backslash at the end joins the next one.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    /// Of a whole file; a byte-order mark is skipped.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), number: 0 }
    }

    fn physical(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, rest) = match end {
            None => (self.rest, &[][..]),
            Some(end) => {
                let (line, rest) = self.rest.split_at(end);
                let ending = if rest.starts_with(b"\r\n") { 2 } else { 1 };
                (line, rest.get(ending..).unwrap_or_default())
            }
        };
        self.rest = rest;
        self.number += 1;
        Some(line)
    }

    /// The next line; fails on one that is longer than [`bounds::LINE_BYTES`].
    pub(super) fn next_line(
        &mut self,
        name: &str,
    ) -> Result<Option<(usize, Cow<'a, str>)>, Failure> {
        let Some(first) = self.physical() else { return Ok(None) };
        let number = self.number;
        if first.len() > bounds::LINE_BYTES {
            return Err(too_long(name, number));
        }
        let mut joined = String::from_utf8_lossy(first);
        while joined.ends_with('\\') {
            let Some(next) = self.physical() else { break };
            let text = joined.to_mut();
            text.pop();
            text.push(' ');
            text.push_str(&String::from_utf8_lossy(next));
            if text.len() > bounds::LINE_BYTES {
                return Err(too_long(name, number));
            }
        }
        Ok(Some((number, joined)))
    }
}

fn too_long(name: &str, number: usize) -> Failure {
    corrupt(format!("{name}, line {number}: the line is longer than {} bytes", bounds::LINE_BYTES))
}

/// Up to `N` numbers from words; how many there were.
pub(super) fn numbers<'a, const N: usize>(
    words: impl Iterator<Item = &'a str>,
) -> Option<([f32; N], usize)> {
    let mut values = [0.0; N];
    let mut count = 0;
    for (value, word) in values.iter_mut().zip(words) {
        *value = word.parse().ok()?;
        count += 1;
    }
    Some((values, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_any_way_and_join_at_a_backslash() {
        let mut lines = Lines::of(b"\xef\xbb\xbfa\r\nb\\\nc\rd");
        let mut seen = Vec::new();
        while let Some((number, line)) = lines.next_line("x").expect("short lines") {
            seen.push((number, line.into_owned()));
        }
        assert_eq!(seen, [(1, "a".to_owned()), (2, "b c".to_owned()), (4, "d".to_owned())]);
    }

    #[test]
    fn numbers_with_signs_and_bare_dots_are_read() {
        assert_eq!(numbers::<3>("+1 +2. -.5".split(' ')), Some(([1.0, 2.0, -0.5], 3)));
        assert_eq!(numbers::<3>("1 x".split(' ')), None);
    }
}
