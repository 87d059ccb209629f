//! Every glTF of Debian's `assimp-testmodels` gets the verdict of Khronos' validator, or another one
//! for a stated reason.
//!
//! The table is `validator_models.txt`. Its columns: the file; the verdict here; the errors, the
//! warnings and the first codes of the validator; why the verdicts differ.

use super::load_scene;
use super::tests::Quiet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const MODELS: &str = "/usr/share/assimp/models";
const TABLE: &str = include_str!("validator_models.txt");
const INSTALL: &str = "apt install assimp-testmodels";

struct Row {
    ours: &'static str,
    errors: usize,
    reason: &'static str,
}

fn table() -> BTreeMap<&'static str, Row> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|line| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, ours, theirs, reason] = columns[..] else { panic!("four columns: {line}") };
        let errors = theirs.split(' ').next().and_then(|count| count.parse().ok());
        (name, Row { ours, errors: errors.expect("a count of errors"), reason })
    })
    .collect()
}

/// All files of glTF by their name below the folder.
fn models() -> BTreeMap<String, PathBuf> {
    let root = Path::new(MODELS);
    assert!(root.is_dir(), "the models are not installed: {INSTALL}");
    let mut open = vec![root.join("glTF2"), root.join("invalid")];
    let mut found = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = path.read_dir().expect("the folder is readable");
            open.extend(entries.map(|entry| entry.expect("the folder is readable").path()));
        } else if path.extension().is_some_and(|suffix| suffix == "gltf" || suffix == "glb") {
            let name = path.strip_prefix(root).expect("lies below").display().to_string();
            found.insert(name, path);
        }
    }
    found
}

/// `ok`, `warns` with the codes, or `refused` with the code; and what was said.
fn verdict(path: &Path) -> (String, Vec<String>) {
    match load_scene(path, path.parent().expect("lies in a folder"), &Quiet) {
        Err(failure) => (format!("refused {}", failure.reason.code()), vec![failure.message]),
        Ok(loaded) if loaded.warnings.is_empty() => ("ok".to_owned(), Vec::new()),
        Ok(loaded) => {
            let codes: BTreeSet<&str> =
                loaded.warnings.iter().map(|warning| warning.reason.code()).collect();
            let codes: Vec<&str> = codes.into_iter().collect();
            let said = loaded.warnings.into_iter().map(|warning| warning.message).collect();
            (format!("warns {}", codes.join(" ")), said)
        }
    }
}

#[test]
fn every_gltf_has_the_verdict_of_the_table() {
    let (table, models) = (table(), models());
    let mut wrong = Vec::new();
    for (name, path) in &models {
        let (found, said) = verdict(path);
        println!("{name} | {found} | {said:?}");
        match table.get(name.as_str()) {
            Some(row) if row.ours == found => {}
            Some(row) => wrong.push(format!("{name}: '{found}' instead of '{}'", row.ours)),
            None => wrong.push(format!("{name} is not in the table: '{found}'")),
        }
    }
    let gone = table.keys().filter(|name| !models.contains_key(**name));
    wrong.extend(gone.map(|name| format!("{name} is in the table but not installed: {INSTALL}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The verdicts agree where both find fault or both find none. What is only a warning or a hint to
/// the validator may be warned of here or not.
#[test]
fn what_differs_from_the_validator_has_its_reason_and_nothing_else_has() {
    let mut wrong = Vec::new();
    for (name, row) in table() {
        let agrees = (row.errors > 0) == (row.ours != "ok");
        if agrees != row.reason.is_empty() {
            wrong.push(format!("{name}: agrees {agrees}, reason '{}'", row.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
