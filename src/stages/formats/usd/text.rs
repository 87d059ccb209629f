//! What a text USD (`.usda`) says, as far as that needs no parser.

use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt, truncated};

/// The first bytes of every such file.
pub(in crate::stages::formats) const MAGIC: &[u8] = b"#usda";

/// What stands in a text, apart from its comments and its strings.
enum Piece<'a> {
    Open,
    Close,
    /// Between `@` and `@`.
    Path(&'a [u8]),
}

/// Refuses a text that ends within brackets, or that has too many in each other: the parser
/// descends into each.
pub(super) fn check(bytes: &[u8], name: &str) -> Result<(), Failure> {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let mut below = false;
    let whole = each(bytes, |piece| match piece {
        Piece::Open => {
            depth += 1;
            deepest = deepest.max(depth);
        }
        Piece::Close => {
            below |= depth == 0;
            depth = depth.saturating_sub(1);
        }
        Piece::Path(_) => {}
    });
    if deepest > bounds::USD_DEPTH {
        return Err(corrupt(format!(
            "{name} has more than {} brackets within brackets. Flatten it",
            bounds::USD_DEPTH
        )));
    }
    if below {
        return Err(corrupt(format!(
            "{name} closes a bracket that it has not opened. Export it again"
        )));
    }
    if depth > 0 || !whole {
        return Err(truncated(format!(
            "{name} ends too early: {depth} brackets are open at its end. Copy or export it again"
        )));
    }
    Ok(())
}

/// The paths of other files, as they are written.
pub(super) fn paths(bytes: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    each(bytes, |piece| {
        if let Piece::Path(path) = piece
            && let Ok(path) = std::str::from_utf8(path)
            && paths.len() < bounds::REFERENCES
        {
            paths.push(path.to_owned());
        }
    });
    paths
}

/// Goes through a text; false where a string or a path has no end.
fn each<'a>(bytes: &'a [u8], mut visit: impl FnMut(Piece<'a>)) -> bool {
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'#' => rest = behind(after, b"\n").map_or(&[], |(_, rest)| rest),
            b'{' | b'(' | b'[' => visit(Piece::Open),
            b'}' | b')' | b']' => visit(Piece::Close),
            b'@' => {
                let long = after.strip_prefix(b"@@");
                let found = match long {
                    Some(after) => behind(after, b"@@@"),
                    None => behind(after, b"@"),
                };
                let Some((path, after)) = found else { return false };
                visit(Piece::Path(path));
                rest = after;
            }
            quote @ (b'"' | b'\'') => {
                let Some(after) = string(after, *quote) else { return false };
                rest = after;
            }
            _ => {}
        }
    }
    true
}

/// What follows a string whose first quote was read.
fn string(after: &[u8], quote: u8) -> Option<&[u8]> {
    let three = [quote; 3];
    let (one, two) = three.split_at(1);
    let (mut rest, end): (&[u8], &[u8]) = match after.strip_prefix(two) {
        Some(rest) => (rest, &three),
        None => (after, one),
    };
    loop {
        if rest.starts_with(end) {
            return rest.get(end.len()..);
        }
        match rest.split_first()? {
            (b'\\', after) => rest = after.get(1..)?,
            (_, after) => rest = after,
        }
    }
}

/// What stands before a mark, and what behind it.
fn behind<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    Some((bytes.get(..at)?, bytes.get(at + mark.len()..)?))
}
