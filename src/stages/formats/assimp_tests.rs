//! Every model of Debian's `assimp-testmodels` in the formats of meshes: a scene or a named refusal,
//! in time, and counts that agree with assimp's or differ for a stated reason.
//!
//! The table is `assimp_models.txt`. Its columns: the file; what is read of it, as parts, corners and
//! triangles, or the code of the refusal; what `assimp info` counts as meshes, vertices and faces
//! after its own joining and cutting; the same of the file as it is (`--raw`); why they differ.

use super::load_scene;
use super::tests::Quiet;
use crate::clock::Stopwatch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const MODELS: &str = "/usr/share/assimp/models";
const TABLE: &str = include_str!("assimp_models.txt");
const INSTALL: &str = "apt install assimp-testmodels assimp-utils";
const LONGEST: Duration = Duration::from_secs(20);

/// Meshes, vertices and faces, or why there are none.
type Counts = Result<[usize; 3], String>;

struct Row {
    ours: Counts,
    joined: Counts,
    raw: Counts,
    reason: &'static str,
}

fn counts(text: &str) -> Counts {
    let numbers: Option<Vec<usize>> =
        text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| text.to_owned())
}

fn table() -> BTreeMap<&'static str, Row> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|line| {
        let mut columns = line.split('|').map(str::trim);
        let mut next = || columns.next().expect("a table has five columns");
        let name = next();
        let [ours, joined, raw] = [next(), next(), next()].map(counts);
        (name, Row { ours, joined, raw, reason: next() })
    })
    .collect()
}

/// All models by their name below the folder.
fn models() -> BTreeMap<String, PathBuf> {
    let root = Path::new(MODELS);
    assert!(root.is_dir(), "the models are not installed: {INSTALL}");
    let folders = ["FBX", "OBJ", "PLY", "STL", "glTF2", "invalid"];
    let mut open: Vec<PathBuf> = folders.map(|folder| root.join(folder)).to_vec();
    let mut found = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = path.read_dir().expect("the folder is readable");
            open.extend(entries.map(|entry| entry.expect("the folder is readable").path()));
            continue;
        }
        let suffix = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        let suffix = suffix.as_deref().and_then(|suffix| suffix.to_str());
        if matches!(suffix, Some("fbx" | "obj" | "ply" | "stl" | "gltf" | "glb")) {
            let name = path.strip_prefix(root).expect("lies below").display().to_string();
            found.insert(name, path);
        }
    }
    found
}

fn read(path: &Path) -> Counts {
    let folder = path.parent().expect("lies in a folder");
    let loaded = load_scene(path, folder, &Quiet).map_err(|failure| {
        assert!(!failure.message.contains("breaks the program"), "{}", failure.message);
        failure.reason.code().to_owned()
    })?;
    let parts = &loaded.scene.parts;
    let corners = parts.iter().map(|part| part.positions.len()).sum();
    Ok([parts.len(), corners, loaded.scene.triangles()])
}

#[test]
fn every_model_gives_a_scene_or_a_named_refusal_in_time() {
    let (table, models) = (table(), models());
    let mut wrong = Vec::new();
    for (name, path) in &models {
        let watch = Stopwatch::start();
        let found = read(path);
        let took = watch.elapsed();
        if took > LONGEST {
            wrong.push(format!("{name} took {took:?}"));
        }
        match table.get(name.as_str()) {
            Some(row) if row.ours == found => {}
            Some(row) => wrong.push(format!("{name}: {found:?} instead of {:?}", row.ours)),
            None => wrong.push(format!("{name} is not in the table: {found:?}")),
        }
    }
    wrong.extend(
        table
            .keys()
            .filter(|name| !models.contains_key(**name))
            .map(|name| format!("{name} is in the table but not installed: {INSTALL}")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_differs_from_assimp_has_its_reason_and_nothing_else_has() {
    let mut wrong = Vec::new();
    for (name, row) in table() {
        let agrees = match (&row.ours, &row.joined, &row.raw) {
            (Ok(ours), joined, raw) => ours.iter().enumerate().all(|(at, count)| {
                let is = |other: &Counts| other.as_ref().is_ok_and(|all| all[at] == *count);
                is(joined) || is(raw)
            }),
            (Err(_), joined, _) => joined.is_err(),
        };
        if agrees != row.reason.is_empty() {
            wrong.push(format!("{name}: agrees {agrees}, reason '{}'", row.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn assimp(path: &Path, raw: bool) -> Counts {
    let mut command = Command::new("assimp");
    command.arg("info").arg(path);
    if raw {
        command.arg("--raw");
    }
    let output = command.output().unwrap_or_else(|error| panic!("assimp: {error}. {INSTALL}"));
    let text = String::from_utf8_lossy(&output.stdout);
    let count = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let all = [count("Meshes:"), count("Vertices:"), count("Faces:")];
    match all {
        [Some(meshes), Some(vertices), Some(faces)] => Ok([meshes, vertices, faces]),
        _ => Err("refused".to_owned()),
    }
}

#[test]
fn the_table_holds_what_assimp_says() {
    let table = table();
    let mut wrong = Vec::new();
    for (name, path) in models() {
        let Some(row) = table.get(name.as_str()) else { continue };
        for (stored, raw) in [(&row.joined, false), (&row.raw, true)] {
            let found = assimp(&path, raw);
            if *stored != found {
                wrong.push(format!("{name}, raw {raw}: {found:?} instead of {stored:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
