//! The files that a scene needs beside itself, looked for below one folder.

use super::super::formats::blend::{self, ReferenceKind, Target};
use super::super::formats::references::{Lookup, SideRoot};
use crate::model::limits;
use crate::protocol::submit::{MissingFile, MissingWhy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the files of a scene are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Storage {
    /// They go along with it.
    #[default]
    Sent,
    /// They stay where they lie, and every worker sees them.
    Shared,
}

/// What a scene needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SceneFiles {
    storage: Storage,
    /// Name relative to the root, with `/`, and where the file lies.
    pub found: BTreeMap<String, PathBuf>,
    /// Named, but not there or outside of the root, with what it is.
    pub missing: Vec<(ReferenceKind, MissingFile)>,
    /// Outside of the root, but there: on shared storage for instance.
    pub elsewhere: Vec<String>,
}

/// The files that the scene `name` needs, and what those need in turn; `name` is relative to `root`.
/// Scenes of programs other than Blender name theirs in ways that only those programs can read.
/// On `shared` storage what lies outside of the root is found too: it stays where it is.
pub fn side_files(root: &Path, name: &str, storage: Storage) -> SceneFiles {
    let mut files = SceneFiles { storage, ..SceneFiles::default() };
    let mut waiting = vec![name.to_owned()];
    let mut seen = vec![name.to_owned()];
    while let Some(scene) = waiting.pop() {
        // What cannot be read is told when the scene itself is inspected.
        let Ok(read) = blend::read(&root.join(&scene)) else { continue };
        for reference in read.libraries.iter().chain(&read.images).chain(&read.others) {
            // What a library needs is read in the library itself.
            let is_needed = !reference.packed && reference.of_library.is_none();
            if !is_needed || reference.kind == ReferenceKind::CacheFolder {
                continue;
            }
            let found = files.add(root, &scene, reference);
            let libraries = found.into_iter().filter(|_| reference.kind == ReferenceKind::Library);
            for library in libraries {
                if seen.len() < limits::FILES_PER_ASSET && !seen.contains(&library) {
                    seen.push(library.clone());
                    waiting.push(library);
                }
            }
        }
    }
    files.found.remove(name);
    files
}

impl SceneFiles {
    /// The names of what was found for a reference.
    fn add(&mut self, root: &Path, scene: &str, reference: &blend::Reference) -> Vec<String> {
        let why = match reference.target(scene) {
            Target::Inside(name) if reference.is_pattern() => {
                let matching = matching(root, &name);
                if !matching.is_empty() {
                    let names = matching.keys().cloned().collect();
                    self.found.extend(matching);
                    return names;
                }
                MissingWhy::NotFound
            }
            Target::Inside(name) => match SideRoot::of(&root.join("x"), root).find(&name) {
                Lookup::File { name, path } => {
                    self.found.insert(name.clone(), path);
                    return vec![name];
                }
                Lookup::NotFound => MissingWhy::NotFound,
                Lookup::Outside => MissingWhy::Outside,
            },
            Target::Outside(path)
                if self.storage == Storage::Shared && root.join(&path).exists() =>
            {
                return Vec::new();
            }
            Target::Absolute(path) if Path::new(&path).exists() => {
                self.elsewhere.push(path);
                return Vec::new();
            }
            Target::Absolute(_) | Target::Outside(_) => MissingWhy::Outside,
        };
        let is_known = |(_, missing): &(_, MissingFile)| missing.name == reference.path_written;
        if !self.missing.iter().any(is_known) {
            let missing = MissingFile { name: reference.path_written.clone(), why };
            self.missing.push((reference.kind, missing));
        }
        Vec::new()
    }
}

/// The files of a folder that a name stands for: tiles, or numbered ones.
fn matching(root: &Path, name: &str) -> BTreeMap<String, PathBuf> {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let (before, after) = around_number(file);
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return BTreeMap::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let fits = |name: &String| {
        let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        number.is_some_and(|number| {
            !number.is_empty()
                && number.bytes().all(|byte| {
                    byte.is_ascii_digit() || byte == b'_' || byte == b'u' || byte == b'v'
                })
        })
    };
    let files = names.filter(fits).take(limits::FILES_PER_ASSET).map(|file| {
        let name = if folder.is_empty() { file } else { format!("{folder}/{file}") };
        let path = root.join(&name);
        (name, path)
    });
    files.filter(|(_, path)| path.is_file()).collect()
}

/// What stands before and after the place of the number.
fn around_number(file: &str) -> (&str, &str) {
    for mark in ["<UDIM>", "<UVTILE>"] {
        if let Some(parts) = file.split_once(mark) {
            return parts;
        }
    }
    if let Some(start) = file.find("##") {
        let (before, rest) = file.split_at(start);
        return (before, rest.trim_start_matches('#'));
    }
    // The first of numbered files: its own number gives way.
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let before = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (before, file.get(stem.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_numbered_files_stand_for_those_of_their_folder() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("tex")).unwrap();
        for name in [
            "wood.1001.png",
            "wood.1002.png",
            "wood.txt",
            "rain_0001.exr",
            "rain_0002.exr",
            "rain.exr",
        ] {
            std::fs::write(root.path().join("tex").join(name), b"x").unwrap();
        }
        let names = |pattern: &str| matching(root.path(), pattern).into_keys().collect::<Vec<_>>();
        assert_eq!(names("tex/wood.<UDIM>.png"), ["tex/wood.1001.png", "tex/wood.1002.png"]);
        assert_eq!(names("tex/rain_####.exr"), ["tex/rain_0001.exr", "tex/rain_0002.exr"]);
        assert_eq!(names("tex/rain_0001.exr"), ["tex/rain_0001.exr", "tex/rain_0002.exr"]);
        assert!(names("tex/none.<UDIM>.png").is_empty() && names("none/a_##.png").is_empty());
    }
}
