//! Holds the walls of the house: who may know whom, and where the world outside may be touched.
//!
//! The rules read the source as text, without its comments, strings and unit tests. Each rule is
//! also shown a planted violation, so that a rule that sees nothing is noticed.

use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file; a longer one holds more than one idea.
const MAX_LINES: usize = 600;

/// Paths that pure modules may not touch: no IO, no clock, no randomness.
const IMPURE: [&str; 13] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "rusqlite",
    "tokio",
    "reqwest",
    "getrandom",
    "tempfile",
    "sysinfo",
];

/// Paths that the window may not touch: it knows the client's read model only.
const BEHIND_THE_WINDOW: [&str; 6] =
    ["rusqlite", "reqwest", "std::fs", "tokio::fs", "crate::store", "crate::coordinator"];

/// One file under `src`.
struct Source {
    /// Relative to `src`, with `/`.
    path: String,
    text: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The modules from the crate to this file: `store/claim.rs` is `[store, claim]`.
    fn module_path(&self) -> Vec<&str> {
        let path = self.path.trim_end_matches(".rs");
        path.split('/').filter(|part| *part != "mod").collect()
    }

    fn module(&self) -> &str {
        self.module_path().first().copied().unwrap_or_default()
    }

    /// Whether the file holds nothing but tests.
    fn is_test(&self) -> bool {
        self.module_path().iter().any(|part| *part == "tests" || part.ends_with("_tests"))
    }

    /// Every path that the code names, written from its root.
    fn paths(&self) -> Vec<String> {
        let depth = self.module_path().len();
        let tokens = tokens(&without_tests(&without_comments(&self.text)));
        paths(&tokens).into_iter().map(|path| from_the_root(&path, depth)).collect()
    }
}

/// `super::super::model::X` in `store/claim.rs` is `crate::model::X`.
fn from_the_root(path: &str, depth: usize) -> String {
    let parts: Vec<&str> = path.split("::").collect();
    let ups = parts.iter().take_while(|part| **part == "super").count();
    if ups > 0 && ups >= depth {
        format!("crate::{}", parts.get(ups..).unwrap_or_default().join("::"))
    } else {
        path.to_owned()
    }
}

/// The text without comments; strings and characters become empty.
fn without_comments(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or('\0');
    let mut code = String::new();
    let mut index = 0;
    while index < letters.len() {
        match (at(index), at(index + 1)) {
            ('/', '/') => {
                while index < letters.len() && at(index) != '\n' {
                    index += 1;
                }
            }
            ('/', '*') => {
                index += 2;
                while index < letters.len() && (at(index), at(index + 1)) != ('*', '/') {
                    index += 1;
                }
                index += 2;
            }
            ('r', '"' | '#')
                if !is_word(before(&letters, index)) && raw_end(&letters, index).is_some() =>
            {
                code.push_str("\"\"");
                index = raw_end(&letters, index).unwrap_or(letters.len());
            }
            ('"', _) => {
                index += 1;
                while index < letters.len() && at(index) != '"' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                index += 1;
                code.push_str("\"\"");
            }
            ('\'', '\\') => {
                index += 3;
                while index < letters.len() && at(index) != '\'' {
                    index += 1;
                }
                index += 1;
            }
            ('\'', _) if at(index + 2) == '\'' => index += 3,
            (letter, _) => {
                code.push(letter);
                index += 1;
            }
        }
    }
    code
}

fn before(letters: &[char], index: usize) -> char {
    index.checked_sub(1).and_then(|index| letters.get(index)).copied().unwrap_or(' ')
}

/// Where the raw string that begins at `start` ends; `None` if none begins there (`r#type`).
fn raw_end(letters: &[char], start: usize) -> Option<usize> {
    let hashes = letters.iter().skip(start + 1).take_while(|letter| **letter == '#').count();
    let open = start + 1 + hashes;
    if letters.get(open) != Some(&'"') {
        return None;
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = letters.get(open + 1..)?;
    let length = body.windows(closing.len()).position(|window| window == closing)?;
    Some(open + 1 + length + closing.len())
}

/// The code before its unit tests, which stand at the end of a file.
fn without_tests(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let end = lines
        .windows(2)
        .position(|pair| pair[0].trim() == "#[cfg(test)]" && pair[1].trim() == "mod tests {")
        .unwrap_or(lines.len());
    lines[..end].join("\n")
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Words, `::` and single signs.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            continue;
        }
        let mut token = String::from(letter);
        if is_word(letter) {
            while let Some(next) = letters.next_if(|next| is_word(*next)) {
                token.push(next);
            }
        } else if letter == ':' && letters.next_if_eq(&':').is_some() {
            token.push(':');
        }
        tokens.push(token);
    }
    tokens
}

/// Every path of two or more parts; groups are spread out, a plain `use x;` counts as `x::self`.
fn paths(tokens: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let before = index.checked_sub(1).and_then(|index| tokens.get(index)).map(String::as_str);
        let begins = tokens[index].starts_with(is_word) && before != Some("::");
        let leads_on = tokens.get(index + 1).is_some_and(|token| token == "::");
        if begins && leads_on {
            index = path_tree(tokens, index, "", &mut found);
        } else {
            if begins && before == Some("use") {
                found.push(format!("{}::self", tokens[index]));
            }
            index += 1;
        }
    }
    found
}

/// Reads one path with its groups from `index`; returns the index behind it.
fn path_tree(tokens: &[String], mut index: usize, prefix: &str, found: &mut Vec<String>) -> usize {
    let mut path = prefix.to_owned();
    let token = |index: usize| tokens.get(index).map_or("", String::as_str);
    loop {
        if token(index) == "{" {
            index += 1;
            while index < tokens.len() && token(index) != "}" {
                if token(index).starts_with(is_word) && token(index) != "as" {
                    index = path_tree(tokens, index, &path, found);
                } else {
                    index += if token(index) == "as" { 2 } else { 1 };
                }
            }
            return index + 1;
        }
        if !token(index).starts_with(is_word) && token(index) != "*" {
            found.push(path);
            return index;
        }
        path = if path.is_empty() {
            token(index).to_owned()
        } else {
            format!("{path}::{}", token(index))
        };
        index += 1;
        if token(index) != "::" {
            found.push(path);
            return index;
        }
        index += 1;
    }
}

fn is_under(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The modules in the order of `lib.rs`.
fn reading_order(lib: &str) -> Vec<String> {
    lib.lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// Everything in one file that breaks a rule.
fn violations(source: &Source, order: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let lines = source.text.lines().count();
    if lines > MAX_LINES {
        found.push(format!("{}: {lines} lines; at most {MAX_LINES}", source.path));
    }
    if source.is_test() || matches!(source.path.as_str(), "lib.rs" | "main.rs") {
        return found;
    }
    for path in source.paths() {
        for why in broken_rules(source.module(), &path, order) {
            found.push(format!("{}: `{path}`: {why}", source.path));
        }
    }
    found
}

fn broken_rules(module: &str, path: &str, order: &[String]) -> Vec<String> {
    let mut broken = Vec::new();
    let place = |name: &str| order.iter().position(|module| module == name);
    let target = path.strip_prefix("crate::").and_then(|rest| rest.split("::").next());
    if let (Some(own), Some(other)) = (place(module), target.and_then(place))
        && other > own
    {
        broken.push(format!("{module} stands before it in lib.rs and may not know it"));
    }
    if matches!(module, "model" | "policy") && IMPURE.iter().any(|root| is_under(path, root)) {
        broken.push(format!("{module} is pure: time and random numbers are arguments"));
    }
    let knows_little = matches!(target, Some("model" | "clock" | "programs") | None);
    if module == "programs" && !knows_little {
        broken.push("programs knows model and clock only".to_owned());
    }
    if module == "desktop" && BEHIND_THE_WINDOW.iter().any(|root| is_under(path, root)) {
        broken.push("the window knows the client's read model only".to_owned());
    }
    if module != "store" && is_under(path, "rusqlite") {
        broken.push("SQL stays in store".to_owned());
    }
    if module == "intake" && matches!(target, Some("store" | "artifacts" | "coordinator")) {
        broken.push("intake looks at files; who hands in knows the farm".to_owned());
    }
    let reads_clock = ["Instant", "SystemTime", "Timestamp", "Zoned"]
        .iter()
        .any(|clock| path == format!("{clock}::now") || path.ends_with(&format!("::{clock}::now")));
    if reads_clock && !matches!(module, "clock" | "telemetry") {
        broken.push("only clock and telemetry read a clock".to_owned());
    }
    broken
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read_sources(folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("the source folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            let name = path.strip_prefix(source_folder()).expect("it lies under src");
            let name = name.to_string_lossy().replace('\\', "/");
            sources.push(Source::new(&name, &fs::read_to_string(&path).expect("it is UTF-8")));
        }
    }
}

#[test]
fn the_walls_stand() {
    let mut sources = Vec::new();
    read_sources(&source_folder(), &mut sources);
    let lib = sources.iter().find(|source| source.path == "lib.rs").expect("there is a lib.rs");
    let order = reading_order(&lib.text);
    assert!(order.len() >= 15, "lib.rs names its modules by `pub mod` lines: {order:?}");
    for source in &sources {
        let known = matches!(source.path.as_str(), "lib.rs" | "main.rs")
            || order.iter().any(|module| module == source.module());
        assert!(known, "{} belongs to no module of lib.rs", source.path);
    }
    let broken: Vec<String> =
        sources.iter().flat_map(|source| violations(source, &order)).collect();
    assert!(broken.is_empty(), "the walls are broken:\n{}", broken.join("\n"));
}

#[test]
fn every_rule_catches_a_planted_violation() {
    let order: Vec<String> = ["model", "policy", "clock", "store", "coordinator", "desktop", "cli"]
        .map(str::to_owned)
        .into();
    let long = "\n".repeat(MAX_LINES + 1);
    let planted = [
        ("store/claim.rs", "use crate::coordinator::Router;", "may not know"),
        ("store/claim.rs", "use crate::{model::JobId, cli::{self, run}};", "may not know"),
        ("store/claim.rs", "fn f() { super::super::coordinator::start(); }", "may not know"),
        ("clock.rs", "use super::store::Store;", "may not know"),
        ("model/ids.rs", "use std::fs;", "pure"),
        ("model/ids.rs", "use std::{fmt, net::{self, IpAddr}};", "pure"),
        ("policy/retry.rs", "use std::time::{Duration, SystemTime};", "pure"),
        ("policy/retry.rs", "fn f() { getrandom::fill(&mut [0]); }", "pure"),
        ("policy/retry.rs", "use tokio;", "pure"),
        ("programs/run.rs", "use crate::renderers::Profile;", "model and clock only"),
        ("intake/plan.rs", "use crate::artifacts::Artifacts;", "who hands in knows the farm"),
        ("desktop/app.rs", "use std::fs::File;", "read model only"),
        ("desktop/app.rs", "fn f() { crate::store::Store::open(); }", "read model only"),
        ("desktop/app.rs", "use reqwest::Client;", "read model only"),
        ("cli/doctor.rs", "fn f() { rusqlite::version(); }", "SQL stays in store"),
        ("cli/doctor.rs", "fn f<'a>() { let c = '\"'; Instant::now(); }", "read a clock"),
        ("store/time.rs", "fn f() { std::time::SystemTime::now(); }", "read a clock"),
        ("store/time.rs", "fn f() { jiff::Timestamp::now(); }", "read a clock"),
        ("cli/long.rs", long.as_str(), "lines"),
    ];
    for (path, text, expected) in planted {
        let found = violations(&Source::new(path, text), &order);
        assert!(
            found.iter().any(|why| why.contains(expected)),
            "{path} with {:?} passes: {found:?}",
            text.chars().take(60).collect::<String>()
        );
    }
}

#[test]
fn what_is_allowed_passes() {
    let order: Vec<String> =
        ["model", "policy", "clock", "store", "desktop"].map(str::to_owned).into();
    let fine = [
        ("store/claim.rs", "use crate::model::JobId;\nuse rusqlite::params;\nuse super::Store;"),
        ("clock.rs", "fn f() { std::time::Instant::now(); }"),
        (
            "policy/retry.rs",
            "// use std::fs;\n/* tokio::spawn */ const A: &str = \"std::fs::read\";",
        ),
        ("policy/retry.rs", "use std::time::Duration;\nconst A: &str = r#\"use \"tokio::x\"\"#;"),
        ("policy/retry.rs", "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}"),
        ("store/tests.rs", "use crate::desktop::App;"),
        ("desktop/app.rs", "fn f(r#type: u8) -> char { '\\'' }\nuse crate::model::JobId;"),
    ];
    for (path, text) in fine {
        let found = violations(&Source::new(path, text), &order);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}
