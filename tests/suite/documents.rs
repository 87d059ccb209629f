//! Holds the documents to what is there: paths they name, and the table of states.

use sawah::model::state::{JobState, TRANSITIONS, Verb};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 2] = ["README.md", "ARCHITECTURE.md"];
const STATES_BEGIN: &str =
    "<!-- states: begin (written by SAWAH_WRITE_DOCS=1 cargo test documents) -->\n";
const STATES_END: &str = "<!-- states: end -->";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("the document is there")
}

/// Paths of this tree that a document names: link targets, and code spans that begin with one of
/// the tree's own folders or name a file at its root. Fenced blocks are pictures, not names.
fn named_paths(text: &str) -> Vec<String> {
    let text: String = text.split("```").step_by(2).collect();
    let folders = ["src/", "tests/", "assets/", "packaging/", "shaders/", ".ci/"];
    let roots = ["Cargo.toml", "Cargo.lock", "deny.toml", "clippy.toml", "rustfmt.toml"];
    let spans = text.split('`').skip(1).step_by(2);
    let spans = spans.filter(|span| {
        let span = span.trim();
        let is_pattern = span.contains([' ', '<', '*', '{', '\n']);
        let is_ours = folders.iter().any(|folder| span.starts_with(folder))
            || roots.contains(&span)
            || span.starts_with("LICENSE-")
            || span.rsplit('.').next() == Some("md");
        is_ours && !is_pattern
    });
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let links = links.filter(|link| !link.starts_with("http") && !link.starts_with('#'));
    spans.chain(links).map(str::to_owned).collect()
}

fn absent_paths(text: &str) -> Vec<String> {
    named_paths(text).into_iter().filter(|path| !root().join(path).exists()).collect()
}

#[test]
fn the_documents_name_only_what_is_there() {
    for name in DOCUMENTS {
        let text = document(name);
        assert!(!named_paths(&text).is_empty(), "{name} names no path at all");
        assert_eq!(absent_paths(&text), Vec::<String>::new(), "{name} names what is not there");
    }
}

#[test]
fn a_path_that_is_not_there_is_noticed() {
    let text = "See `src/nowhere/`, `src/model/`, [this](docs/none.md), `published/<asset>/`.\n\
                ```\nsrc/fenced/\n```\n";
    assert_eq!(absent_paths(text), ["src/nowhere/", "docs/none.md"]);
}

#[test]
fn the_map_names_every_folder_of_the_source() {
    let text = document("ARCHITECTURE.md");
    for entry in fs::read_dir(root().join("src")).expect("src can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.expect("an entry has a name");
        let span = if path.is_dir() { format!("`src/{name}/`") } else { format!("`src/{name}`") };
        assert!(text.contains(&span), "ARCHITECTURE.md does not say what {span} is");
    }
}

/// The table of `model::state` for people: a state a row, a verb a column.
fn state_table() -> String {
    let mut table = String::from("| state |");
    for verb in Verb::ALL {
        write!(table, " {} |", verb.as_str()).expect("a text takes letters");
    }
    table.push_str("\n| --- |");
    table.push_str(&" --- |".repeat(Verb::ALL.len()));
    table.push('\n');
    for from in JobState::ALL {
        write!(table, "| **{from}** |").expect("a text takes letters");
        for verb in Verb::ALL {
            let row = TRANSITIONS.iter().find(|row| row.from == from && row.verb == verb);
            let to = row.map_or("·", |row| row.to.as_str());
            write!(table, " {to} |").expect("a text takes letters");
        }
        table.push('\n');
    }
    table
}

#[test]
fn the_table_of_states_is_the_one_in_the_source() {
    let text = document("ARCHITECTURE.md");
    let (head, rest) = text.split_once(STATES_BEGIN).expect("the table's begin is marked");
    let (written, tail) = rest.split_once(STATES_END).expect("the table's end is marked");
    let table = state_table();
    if std::env::var_os("SAWAH_WRITE_DOCS").is_some() {
        let new = format!("{head}{STATES_BEGIN}{table}{STATES_END}{tail}");
        fs::write(Path::new(&root()).join("ARCHITECTURE.md"), new).expect("it can be written");
        return;
    }
    assert_eq!(
        written, table,
        "the table in ARCHITECTURE.md is old: run SAWAH_WRITE_DOCS=1 cargo test documents"
    );
}
