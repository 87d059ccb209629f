//! Groups failures that are alike: one fingerprint for each reason, stage and kind of message.

use crate::model::{Checksum, Reason, Stage};

/// Shortest run of hexadecimal digits that is taken for a hash.
const HASH_DIGITS: usize = 8;
/// Longest ending of a file's name.
const SUFFIX_LETTERS: usize = 5;

/// The fingerprint of a failure: the same for messages that differ only in numbers, paths and
/// hashes.
pub fn fingerprint(reason: Reason, stage: Stage, message: &str) -> String {
    let text = format!("{}\n{stage}\n{}", reason.code(), masked(message));
    Checksum::of(text.as_bytes()).short()
}

/// The message with what differs from case to case replaced.
pub fn masked(message: &str) -> String {
    let words: Vec<String> = message.split_whitespace().map(mask_word).collect();
    words.join(" ")
}

/// One word: its punctuation stays, its middle is masked.
fn mask_word(word: &str) -> String {
    let is_middle = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '/' | '\\' | '_' | '-' | '~' | '.')
    };
    let start = word.find(is_middle).unwrap_or(word.len());
    let rest = word.get(start..).unwrap_or_default();
    let core = rest.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '/');
    let before = word.get(..start).unwrap_or_default();
    let after = rest.get(core.len()..).unwrap_or_default();
    format!("{before}{}{after}", mask_core(core))
}

fn mask_core(core: &str) -> String {
    if is_path(core) {
        return "<path>".to_owned();
    }
    let mut masked = String::new();
    let mut run = String::new();
    for letter in core.chars().chain(std::iter::once('\0')) {
        if letter.is_ascii_alphanumeric() {
            run.push(letter);
            continue;
        }
        masked.push_str(&mask_run(&run));
        run.clear();
        if letter != '\0' {
            masked.push(letter);
        }
    }
    masked
}

/// Letters and digits without a sign between: a hash, or each number in it masked.
fn mask_run(run: &str) -> String {
    let is_hash = run.len() >= HASH_DIGITS
        && run.chars().all(|letter| letter.is_ascii_hexdigit())
        && run.contains(|letter: char| letter.is_ascii_digit());
    if is_hash {
        return "<hash>".to_owned();
    }
    let mut masked = String::new();
    let mut in_number = false;
    for letter in run.chars() {
        if letter.is_ascii_digit() {
            if !in_number {
                masked.push_str("<n>");
            }
            in_number = true;
        } else {
            in_number = false;
            masked.push(letter);
        }
    }
    masked
}

/// A path, or a file's name: `still.png`.
fn is_path(core: &str) -> bool {
    if core.contains(['/', '\\']) {
        return core.chars().any(char::is_alphanumeric);
    }
    let Some((stem, suffix)) = core.rsplit_once('.') else { return false };
    let starts_with_letter = suffix.starts_with(|letter: char| letter.is_ascii_alphabetic());
    !stem.is_empty()
        && starts_with_letter
        && suffix.len() <= SUFFIX_LETTERS
        && suffix.chars().all(|letter| letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_paths_and_hashes_are_masked_and_the_rest_stays() {
        for (message, wanted) in [
            ("chunk 2 ends at byte 40", "chunk <n> ends at byte <n>"),
            ("cannot read /farm/a b/x.png: refused", "cannot read <path> b/x.png: refused"),
            ("'dragon.glb' has no end", "'<path>' has no end"),
            ("C:\\farm\\x.exr, line 3.", "<path>, line <n>."),
            ("blake3:0f3a9b12cc aborted (signal 11)", "blake<n>:<hash> aborted (signal <n>)"),
            ("frame0012 took 1.5 s", "frame<n> took <n>.<n> s"),
            ("deadbeef is a word", "deadbeef is a word"),
            ("  two\n lines ", "two lines"),
            ("", ""),
            ("ä 龍 …", "ä 龍 …"),
        ] {
            let wanted = wanted.replace("<path> b/x.png:", "<path> <path>:");
            assert_eq!(masked(message), wanted, "{message}");
        }
    }

    #[test]
    fn alike_failures_share_a_fingerprint_and_others_do_not() {
        let of = |reason, stage, message| fingerprint(reason, stage, message);
        let one = of(Reason::DiskFull, Stage::Render, "/farm/1 is full: 12 bytes left");
        assert_eq!(one, of(Reason::DiskFull, Stage::Render, "/other/7 is full: 9 bytes left"));
        assert_ne!(one, of(Reason::DiskError, Stage::Render, "/farm/1 is full: 12 bytes left"));
        assert_ne!(one, of(Reason::DiskFull, Stage::Ingest, "/farm/1 is full: 12 bytes left"));
        assert_ne!(one, of(Reason::DiskFull, Stage::Render, "/farm/1 is gone: 12 bytes left"));
    }
}
