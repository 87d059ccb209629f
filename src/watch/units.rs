//! Which files become one asset: a file with what it names, a picture, or a series of pictures.

use super::tracked::{Stage, Tracked};
use crate::intake::{self, FileKind, Plan, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Pictures of one pattern that make a series.
const SERIES_FILES: usize = 3;

/// Files that are to become one asset.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// What it is.
    pub(super) shape: Shape,
    /// The files that are still, by path; for a series its frames.
    pub(super) members: Vec<PathBuf>,
    /// When the last of them became still, on the monotonic clock.
    pub(super) still_since_ms: u64,
    /// What is known of it.
    pub(super) look: Look,
}

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A mesh or a scene: it may name side files.
    Whole,
    /// One picture.
    Picture {
        /// Whether it may be a frame of a series whose others have not come.
        numbered: bool,
    },
    /// Numbered pictures.
    Series {
        /// Whether a frame of it is not still yet.
        growing: bool,
    },
}

/// Whether it was looked at what a unit consists of.
#[derive(Debug, Clone)]
pub(super) enum Look {
    /// Not yet.
    Wanted,
    /// Somebody looks now.
    Running,
    /// Here it is.
    Done(Box<Result<Plan, Refusal>>),
}

/// The units of one folder. `goes_along` tells of a file whether it goes along with another.
pub(super) fn of_folder<'a>(
    folder: &Path,
    files: impl Iterator<Item = (&'a PathBuf, &'a Tracked)>,
    goes_along: impl Fn(&Path) -> bool,
    separate: bool,
) -> BTreeMap<PathBuf, Unit> {
    let mut units = BTreeMap::new();
    let mut pictures: BTreeMap<OsString, (&PathBuf, &Tracked)> = BTreeMap::new();
    for (path, file) in files.filter(|(path, _)| !goes_along(path)) {
        match (file.kind, &file.stage) {
            (Some(FileKind::Image), _) if !separate => {
                let usable = file.is_open() || file.is_taken();
                if let Some(name) = path.file_name().filter(|_| usable) {
                    pictures.insert(name.to_owned(), (path, file));
                }
            }
            (Some(kind), Stage::Still { since_ms }) if kind != FileKind::Side => {
                units.insert(path.clone(), single(path, kind, *since_ms, false));
            }
            _ => {}
        }
    }
    let names: Vec<OsString> = pictures.keys().cloned().collect();
    let (series, others) = intake::series_of(&names);
    for (path, file) in others.iter().filter_map(|name| pictures.get(name)) {
        if let Stage::Still { since_ms } = file.stage {
            units.insert((*path).clone(), single(path, FileKind::Image, since_ms, false));
        }
    }
    for intake::Alike { pattern, names } in series {
        let usable: Vec<_> = names.iter().filter_map(|name| pictures.get(name)).collect();
        let still: BTreeSet<_> =
            usable.iter().filter_map(|(path, file)| since(path, file)).collect();
        if still.is_empty() {
            continue;
        }
        if usable.len() < SERIES_FILES {
            for (since_ms, path) in still {
                units.insert(path.clone(), single(path, FileKind::Image, since_ms, true));
            }
            continue;
        }
        let growing = usable
            .iter()
            .any(|(_, file)| matches!(file.stage, Stage::Settling { .. } | Stage::Taking(_)));
        let unit = Unit {
            shape: Shape::Series { growing },
            members: usable.iter().map(|(path, _)| (*path).clone()).collect(),
            still_since_ms: still.iter().map(|(since_ms, _)| *since_ms).max().unwrap_or(0),
            look: Look::Wanted,
        };
        units.insert(folder.join(pattern), unit);
    }
    units
}

fn since<'a>(path: &'a PathBuf, file: &Tracked) -> Option<(u64, &'a PathBuf)> {
    match file.stage {
        Stage::Still { since_ms } => Some((since_ms, path)),
        _ => None,
    }
}

fn single(path: &Path, kind: FileKind, since_ms: u64, numbered: bool) -> Unit {
    Unit {
        shape: match kind {
            FileKind::Image => Shape::Picture { numbered },
            FileKind::Mesh | FileKind::Scene | FileKind::Side => Shape::Whole,
        },
        members: vec![path.to_owned()],
        still_since_ms: since_ms,
        look: Look::Wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sight;
    use crate::protocol::watch::WatchFileState;

    const SIGHT: Sight =
        Sight { device: 1, inode: 2, size_bytes: 3, modified_ns: 4, changed_ns: 5 };

    fn file(kind: FileKind, stage: Stage) -> Tracked {
        Tracked {
            sight: SIGHT,
            kind: Some(kind),
            stage,
            noted: super::super::tracked::Noted::default(),
        }
    }

    fn still(since_ms: u64) -> Stage {
        Stage::Still { since_ms }
    }

    fn shapes(files: &[(&str, Tracked)], separate: bool) -> Vec<(String, Shape, usize)> {
        let files: Vec<(PathBuf, &Tracked)> =
            files.iter().map(|(name, file)| (PathBuf::from(name), file)).collect();
        let given = files.iter().map(|(path, file)| (path, *file));
        let units = of_folder(Path::new("s"), given, |_| false, separate);
        let shown = |(key, unit): (PathBuf, Unit)| {
            (key.display().to_string(), unit.shape, unit.members.len())
        };
        units.into_iter().map(shown).collect()
    }

    #[test]
    fn numbered_pictures_are_a_series_from_three_on_also_with_frames_that_were_taken_before() {
        let image = |stage| file(FileKind::Image, stage);
        let accepted = || Stage::Ended(WatchFileState::Accepted);
        let files = [
            ("s/a_0001.png", image(accepted())),
            ("s/a_0002.png", image(still(5))),
            ("s/a_0003.png", image(still(9))),
            ("s/a_0003_v2.png", image(still(9))),
            ("s/b_0001.png", image(still(9))),
            ("s/c_0001.png", image(accepted())),
            ("s/c_0002.png", image(accepted())),
            ("s/c_0003.png", image(accepted())),
            ("s/hero_v7.png", image(still(1))),
            ("s/wood.mtl", file(FileKind::Side, still(1))),
        ];
        let series = Shape::Series { growing: false };
        let picture = |numbered| Shape::Picture { numbered };
        let expected = vec![
            ("s/a_####.png".to_owned(), series, 3),
            ("s/b_0001.png".to_owned(), picture(true), 1),
            ("s/hero_v7.png".to_owned(), picture(false), 1),
        ];
        let mut found = shapes(&files, false);
        found.retain(|(name, ..)| !name.contains("_v2"));
        assert_eq!(found, expected);
        assert_eq!(shapes(&files, true).len(), 5, "each for itself");
    }

    #[test]
    fn a_series_with_a_frame_that_is_written_grows() {
        let settling = Stage::Taking(SIGHT);
        let files = [
            ("s/a_1.png", file(FileKind::Image, still(1))),
            ("s/a_2.png", file(FileKind::Image, still(2))),
            ("s/a_3.png", file(FileKind::Image, settling)),
        ];
        assert_eq!(shapes(&files, false)[0].1, Shape::Series { growing: true });
    }
}
