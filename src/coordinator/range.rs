//! PURE: the `Range` header, for one range.

use crate::artifacts::ByteRange;

/// What a `Range` header asks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    /// All of it: no header, several ranges, or a header that is not understood.
    Whole,
    /// One part.
    Part(ByteRange),
    /// A part that the file does not have.
    Outside,
}

/// Reads `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-SUFFIX` against the file's size.
pub(super) fn parse(header: Option<&str>, size_bytes: u64) -> Requested {
    let range = header
        .and_then(|header| header.trim().split_once('='))
        .filter(|(unit, _)| unit.trim().eq_ignore_ascii_case("bytes"))
        .and_then(|(_, range)| range.trim().split_once('-'));
    let Some((first, last)) = range else { return Requested::Whole };
    let Some(end) = size_bytes.checked_sub(1) else { return Requested::Outside };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Requested::Whole,
        (Some(first), _) if first > end && (last.is_empty() || number(last).is_some()) => {
            Requested::Outside
        }
        (Some(first), Some(last)) => Requested::Part(ByteRange { first, last: last.min(end) }),
        (Some(first), None) if last.is_empty() => Requested::Part(ByteRange { first, last: end }),
        (None, Some(0)) if first.is_empty() => Requested::Outside,
        (None, Some(suffix)) if first.is_empty() => {
            Requested::Part(ByteRange { first: size_bytes.saturating_sub(suffix), last: end })
        }
        _ => Requested::Whole,
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    // More digits than a u64 holds is still a number: one beyond every file.
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: u64, last: u64) -> Requested {
        Requested::Part(ByteRange { first, last })
    }

    #[test]
    fn single_ranges_are_read() {
        for (header, expected) in [
            ("bytes=0-0", part(0, 0)),
            ("bytes=2-5", part(2, 5)),
            ("bytes=2-", part(2, 9)),
            ("bytes=-3", part(7, 9)),
            ("bytes=-99", part(0, 9)),
            ("bytes=5-99999999999999999999999", part(5, 9)),
            ("Bytes=9-9", part(9, 9)),
            ("bytes=10-", Requested::Outside),
            ("bytes=10-12", Requested::Outside),
            ("bytes=-0", Requested::Outside),
        ] {
            assert_eq!(parse(Some(header), 10), expected, "{header}");
        }
    }

    #[test]
    fn what_is_not_understood_gets_the_whole_file() {
        for header in [
            "",
            "bytes",
            "lines=0-1",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=0-1,3-4",
            "bytes=-",
            "bytes=+1-2",
        ] {
            assert_eq!(parse(Some(header), 10), Requested::Whole, "{header}");
        }
        assert_eq!(parse(None, 10), Requested::Whole);
    }

    #[test]
    fn an_empty_file_has_no_part() {
        assert_eq!(parse(Some("bytes=0-"), 0), Requested::Outside);
        assert_eq!(parse(Some("bytes=-1"), 0), Requested::Outside);
    }
}
