//! Content that this worker has seen: by checksum, bounded in bytes, least recently used goes.
//!
//! Chunks of one pipeline read the same scene; it crosses the network once. Files are verified
//! when they are stored and checked by size when they are used.

use super::api::Api;
use super::config::WorkerError;
use super::transfer::{self, TransferError};
use crate::model::Checksum;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The content cache of one work folder.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    max_bytes: u64,
    index: Mutex<Index>,
    /// One download of a checksum at a time; the others wait for it.
    flights: Mutex<HashMap<Checksum, Weak<tokio::sync::Mutex<()>>>>,
}

#[derive(Debug, Default)]
struct Index {
    files: HashMap<Checksum, Entry>,
    /// By the tick of the last use: the first one goes first.
    order: BTreeMap<u64, Checksum>,
    next_tick: u64,
    total_bytes: u64,
}

#[derive(Debug)]
struct Entry {
    size_bytes: u64,
    tick: u64,
}

impl Index {
    fn insert(&mut self, checksum: Checksum, size_bytes: u64) {
        self.remove(checksum);
        self.files.insert(checksum, Entry { size_bytes, tick: self.next_tick });
        self.order.insert(self.next_tick, checksum);
        self.next_tick += 1;
        self.total_bytes = self.total_bytes.saturating_add(size_bytes);
    }

    fn remove(&mut self, checksum: Checksum) {
        if let Some(entry) = self.files.remove(&checksum) {
            self.order.remove(&entry.tick);
            self.total_bytes = self.total_bytes.saturating_sub(entry.size_bytes);
        }
    }
}

impl Cache {
    /// Opens `WORK/cache`; what an earlier life stored is used again, half downloads go.
    pub fn open(work: &Path, max_bytes: u64) -> Result<Self, WorkerError> {
        let root = work.join("cache");
        let failed = |error| WorkerError::Folder {
            what: "the content cache cannot be opened",
            error,
            path: root.clone(),
        };
        fs::create_dir_all(&root).map_err(failed)?;
        let cache = Self {
            root: root.clone(),
            max_bytes,
            index: Mutex::default(),
            flights: Mutex::default(),
        };
        for (checksum, size_bytes) in stored(&root).map_err(failed)? {
            cache.index().insert(checksum, size_bytes);
        }
        cache.evict(&mut cache.index());
        Ok(cache)
    }

    /// Puts the artifact at `target`: from the cache, or from the coordinator through it.
    pub async fn fetch(
        self: &Arc<Self>,
        api: &Api,
        checksum: Checksum,
        size_bytes: u64,
        target: &Path,
    ) -> Result<(), TransferError> {
        let flight = self.flight(checksum);
        let _only_one = flight.lock().await;
        if self
            .off_thread(target, move |cache, target| cache.give(checksum, size_bytes, target))
            .await?
        {
            return Ok(());
        }
        let part = self.root.join(format!("{checksum}.part"));
        // People clear caches, also under a running worker.
        drop(fs::create_dir_all(&self.root));
        transfer::download(api, checksum, size_bytes, &part).await?;
        self.off_thread(target, move |cache, target| {
            cache.store(checksum, size_bytes, &part, target)
        })
        .await
    }

    /// Keeps a file whose checksum this worker has just computed. Best effort; blocks on the disk.
    pub fn adopt(&self, checksum: Checksum, size_bytes: u64, file: &Path) {
        if size_bytes > self.max_bytes || self.index().files.contains_key(&checksum) {
            return;
        }
        // A later life trusts what it finds: after a power cut it must not find holes.
        if fs::File::open(file).and_then(|file| file.sync_all()).is_err() {
            return;
        }
        let mut index = self.index();
        let path = self.path(checksum);
        let linked = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            match fs::hard_link(file, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                result => result,
            }
        });
        if linked.and_then(|()| make_read_only(&path)).is_ok() {
            index.insert(checksum, size_bytes);
            self.evict(&mut index);
        }
    }

    /// Bytes that are stored.
    pub fn total_bytes(&self) -> u64 {
        self.index().total_bytes
    }

    /// Links or copies a stored file to `target`; whether it was there.
    fn give(&self, checksum: Checksum, size_bytes: u64, target: &Path) -> io::Result<bool> {
        let mut index = self.index();
        if !index.files.contains_key(&checksum) {
            return Ok(false);
        }
        let path = self.path(checksum);
        if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == size_bytes) {
            // Damaged from outside: fetched again.
            index.remove(checksum);
            remove_if_there(&path)?;
            return Ok(false);
        }
        index.insert(checksum, size_bytes);
        link_or_copy(&path, target)?;
        Ok(true)
    }

    /// Takes a verified download. Under one lock with the hand-over, so that nothing evicts it
    /// in between.
    fn store(
        &self,
        checksum: Checksum,
        size_bytes: u64,
        part: &Path,
        target: &Path,
    ) -> io::Result<()> {
        let mut index = self.index();
        let path = self.path(checksum);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match make_read_only(part).and_then(|()| fs::rename(part, &path)) {
            // A download of the same bytes that was given up stored them after all.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_file() => {}
            result => result?,
        }
        index.insert(checksum, size_bytes);
        let given = link_or_copy(&path, target);
        self.evict(&mut index);
        given
    }

    fn evict(&self, index: &mut Index) {
        while index.total_bytes > self.max_bytes {
            let Some((_, checksum)) = index.order.first_key_value() else { return };
            let checksum = *checksum;
            index.remove(checksum);
            if let Err(error) = remove_if_there(&self.path(checksum)) {
                tracing::warn!(%checksum, %error, "a cached file cannot be removed");
            }
        }
    }

    async fn off_thread<T: Send + 'static>(
        self: &Arc<Self>,
        target: &Path,
        work: impl FnOnce(&Self, &Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, TransferError> {
        let (cache, path) = (Arc::clone(self), target.to_owned());
        tokio::task::spawn_blocking(move || work(&cache, &path))
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|error| TransferError::Disk { error, path: target.to_owned() })
    }

    fn flight(&self, checksum: Checksum) -> Arc<tokio::sync::Mutex<()>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        flights.retain(|_, flight| flight.strong_count() > 0);
        if let Some(flight) = flights.get(&checksum).and_then(Weak::upgrade) {
            return flight;
        }
        let flight = Arc::default();
        flights.insert(checksum, Arc::downgrade(&flight));
        flight
    }

    fn path(&self, checksum: Checksum) -> PathBuf {
        let name = checksum.to_string();
        self.root.join(name.get(..2).unwrap_or_default()).join(name)
    }

    fn index(&self) -> std::sync::MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stored files, least recently written first. Everything else in the folder is removed.
fn stored(root: &Path) -> io::Result<Vec<(Checksum, u64)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
            continue;
        }
        for file in fs::read_dir(entry.path())? {
            let file = file?;
            let found = file.metadata()?;
            let checksum = file.file_name().to_str().and_then(|name| name.parse().ok());
            match checksum {
                Some(checksum) if found.is_file() => {
                    files.push((found.modified()?, checksum, found.len()));
                }
                _ if found.is_dir() => fs::remove_dir_all(file.path())?,
                _ => fs::remove_file(file.path())?,
            }
        }
    }
    files.sort_unstable();
    Ok(files.into_iter().map(|(_, checksum, size_bytes)| (checksum, size_bytes)).collect())
}

fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to).map(drop)
}

/// The file is shared by links: a stage that writes into its input would change the cache.
#[cfg(unix)]
fn make_read_only(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o444))
}

/// A read-only file could not be removed there.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature on every system")]
fn make_read_only(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(cache: &Cache, work: &Path, bytes: &[u8]) -> Checksum {
        let checksum = Checksum::of(bytes);
        let part = work.join("cache/x.part");
        fs::write(&part, bytes).unwrap();
        let target = work.join(checksum.to_string());
        cache.store(checksum, bytes.len() as u64, &part, &target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), bytes);
        fs::remove_file(&target).unwrap();
        checksum
    }

    fn gives(cache: &Cache, work: &Path, checksum: Checksum, size_bytes: u64) -> bool {
        let target = work.join("given");
        let _ = fs::remove_file(&target);
        cache.give(checksum, size_bytes, &target).unwrap()
    }

    #[test]
    fn the_least_recently_used_goes_when_the_bound_is_reached() {
        let work = tempfile::tempdir().unwrap();
        let cache = Cache::open(work.path(), 10).unwrap();
        let one = store(&cache, work.path(), b"1111");
        let two = store(&cache, work.path(), b"2222");
        assert!(gives(&cache, work.path(), one, 4));
        let three = store(&cache, work.path(), b"3333");
        assert_eq!(cache.total_bytes(), 8);
        assert!(gives(&cache, work.path(), one, 4));
        assert!(!gives(&cache, work.path(), two, 4));
        assert!(gives(&cache, work.path(), three, 4));
        let big = store(&cache, work.path(), &[0; 11]);
        assert!(!gives(&cache, work.path(), big, 11));
        assert_eq!(cache.total_bytes(), 0);
    }

    #[test]
    fn a_damaged_file_is_not_given() {
        let work = tempfile::tempdir().unwrap();
        let cache = Cache::open(work.path(), 100).unwrap();
        let one = store(&cache, work.path(), b"1111");
        fs::remove_file(cache.path(one)).unwrap();
        fs::write(cache.path(one), b"11").unwrap();
        assert!(!gives(&cache, work.path(), one, 4));
        assert_eq!(cache.total_bytes(), 0);
    }

    #[test]
    fn a_new_life_finds_what_was_stored_and_drops_half_downloads() {
        let work = tempfile::tempdir().unwrap();
        let cache = Cache::open(work.path(), 100).unwrap();
        let one = store(&cache, work.path(), b"1111");
        fs::write(work.path().join("cache/half.part"), b"1").unwrap();
        fs::write(work.path().join("cache").join(&one.to_string()[..2]).join("junk"), b"1")
            .unwrap();
        drop(cache);
        let cache = Cache::open(work.path(), 100).unwrap();
        assert_eq!(cache.total_bytes(), 4);
        assert!(gives(&cache, work.path(), one, 4));
        assert!(!work.path().join("cache/half.part").exists());
    }

    #[test]
    fn an_output_is_kept_without_copying() {
        let work = tempfile::tempdir().unwrap();
        let cache = Cache::open(work.path(), 100).unwrap();
        fs::write(work.path().join("out.png"), b"picture").unwrap();
        let checksum = Checksum::of(b"picture");
        cache.adopt(checksum, 7, &work.path().join("out.png"));
        fs::remove_file(work.path().join("out.png")).unwrap();
        assert!(gives(&cache, work.path(), checksum, 7));
    }
}
