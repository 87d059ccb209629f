//! Which side files go along with which unit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Side files of units that were looked into: each goes along with one unit.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_file: BTreeMap<PathBuf, PathBuf>,
    by_unit: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

impl Claims {
    /// A file goes along with this unit from now on, and with no other.
    pub(super) fn claim(&mut self, file: &Path, unit: &Path) {
        let before = self.by_file.insert(file.to_owned(), unit.to_owned());
        if let Some(before) = before.filter(|before| before != unit) {
            self.forget(&before, file);
        }
        self.by_unit.entry(unit.to_owned()).or_default().insert(file.to_owned());
    }

    /// The unit that a file goes along with.
    pub(super) fn of(&self, file: &Path) -> Option<&PathBuf> {
        self.by_file.get(file)
    }

    /// The files that go along with a unit.
    pub(super) fn along(&self, unit: &Path) -> impl Iterator<Item = &PathBuf> {
        self.by_unit.get(unit).into_iter().flatten()
    }

    /// The files of a unit are free again; gives them.
    pub(super) fn release(&mut self, unit: &Path) -> BTreeSet<PathBuf> {
        let files = self.by_unit.remove(unit).unwrap_or_default();
        for file in &files {
            self.by_file.remove(file);
        }
        files
    }

    fn forget(&mut self, unit: &Path, file: &Path) {
        if let Some(files) = self.by_unit.get_mut(unit) {
            files.remove(file);
            if files.is_empty() {
                self.by_unit.remove(unit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_along_with_the_last_unit_that_claimed_it() {
        let (one, two, file) = (Path::new("1.obj"), Path::new("2.obj"), Path::new("wood.mtl"));
        let mut claims = Claims::default();
        claims.claim(file, one);
        claims.claim(file, two);
        assert_eq!(claims.of(file).map(PathBuf::as_path), Some(two));
        assert_eq!((claims.along(one).count(), claims.along(two).count()), (0, 1));
        assert!(claims.release(one).is_empty(), "it is not that one's any more");
        assert_eq!(claims.of(file).map(PathBuf::as_path), Some(two));
        assert_eq!(claims.release(two).len(), 1);
        assert_eq!(claims.of(file), None);
    }
}
