//! The work folder: one worker at a time, one folder an attempt, nothing left behind.
//!
//! `WORK/staging/<pipeline>/<job>/attempt-<epoch>/{in,out,tmp}`; short attempts of one kind lie at
//! `WORK/staging/attempt-<pipeline>-<job>-<epoch>` and take the folders of those before them, emptied:
//! making and removing folders is what such an attempt costs most. The lock proves at the start that
//! nothing of an earlier life can still use the staging, so all of it is removed. The lock file
//! holds the folder's random name, by which the coordinator knows a worker that came back.

use super::bounds;
use super::config::WorkerError;
use crate::model::{Epoch, JobId, PipelineId};
use crate::programs::mark;
use crate::programs::tree::Swept;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LOCK: &str = "worker.lock";
const STAGING: &str = "staging";
const INSTANCE_DIGITS: usize = 32;
/// Another attempt's end may remove an empty folder that this one has just made.
const CREATE_TRIES: u32 = 16;

/// A work folder that belongs to this process until it is dropped.
#[derive(Debug)]
pub struct WorkFolder {
    root: PathBuf,
    instance: String,
    /// Folders of attempts that are over, empty again.
    spares: Mutex<Vec<PathBuf>>,
    _lock: File,
}

/// The folder of a stage host that serves many attempts: `WORK/staging/host-NUMBER`.
#[derive(Debug)]
pub struct HostFolder {
    path: PathBuf,
}

impl HostFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For temporary files of the host itself.
    pub fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Removes it. What is left goes with the next wipe.
    pub async fn remove(self) {
        let removed = tokio::fs::remove_dir_all(&self.path).await;
        if let Err(error) = removed.or_else(none_is_fine) {
            let folder = self.path.display();
            tracing::warn!(%error, %folder, "the folder of a stage host stays until the next start");
        }
    }
}

fn none_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The folders of one attempt.
#[derive(Debug, Clone)]
pub struct AttemptFolder {
    path: PathBuf,
    /// Folders above it that are its own too.
    above: usize,
}

impl WorkFolder {
    /// Takes the folder, creating it, and empties its staging.
    pub fn open(root: &Path) -> Result<Self, WorkerError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |error| WorkerError::Folder { what, error, path }
        };
        fs::create_dir_all(root).map_err(failed("the work folder cannot be made", root))?;
        let root = std::path::absolute(root)
            .map_err(failed("the work folder's path cannot be read", root))?;
        let path = root.join(LOCK);
        let mut lock = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed("the work folder's lock file cannot be made", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WorkerError::InUse(root)),
            Err(TryLockError::Error(error)) => {
                return Err(failed("the work folder cannot be locked", &path)(error));
            }
        }
        let instance = instance(&mut lock)
            .map_err(failed("the work folder's lock file cannot be written", &path))?;
        let folder = Self { root, instance, spares: Mutex::default(), _lock: lock };
        folder.end_orphans();
        let staging = folder.root.join(STAGING);
        folder.wipe().map_err(failed("old staging cannot be removed", &staging))?;
        Ok(folder)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder's random name: the same for every worker that uses it, one after the other.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The lock is ours: what attempts of this folder left running belongs to nobody.
    fn end_orphans(&self) {
        let Swept { found, left } = mark::end_orphans(&self.instance);
        if found > 0 {
            let folder = self.root.display();
            tracing::warn!(found, left, %folder, "processes of an earlier life were ended");
        }
    }

    /// Removes all staging. No attempt may be alive.
    pub fn wipe(&self) -> io::Result<()> {
        self.spares().clear();
        let staging = self.root.join(STAGING);
        if fs::symlink_metadata(&staging).is_ok_and(|found| found.is_symlink()) {
            fs::remove_file(&staging)?;
        }
        match fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(&staging)
    }

    /// Makes the folder of a host that serves many attempts.
    pub fn host(&self, number: u64) -> io::Result<HostFolder> {
        let path = self.root.join(STAGING).join(format!("host-{number}"));
        let folder = HostFolder { path };
        fs::create_dir_all(folder.temporary())?;
        Ok(folder)
    }

    /// Makes the empty folders of an attempt.
    pub fn attempt(
        &self,
        pipeline: PipelineId,
        job: JobId,
        epoch: Epoch,
    ) -> io::Result<AttemptFolder> {
        let path = self
            .root
            .join(STAGING)
            .join(pipeline.to_string())
            .join(job.to_string())
            .join(format!("attempt-{epoch}"));
        Self::make(AttemptFolder { path, above: 2 })
    }

    fn make(folder: AttemptFolder) -> io::Result<AttemptFolder> {
        let mut tries = 0;
        loop {
            match folder.create() {
                Err(error) if error.kind() == ErrorKind::NotFound && tries < CREATE_TRIES => {
                    tries += 1;
                }
                result => return result.map(|()| folder),
            }
        }
    }
}

impl WorkFolder {
    /// The folders of an attempt of a kind that comes often: those of an earlier one where there are
    /// some. Where files lie in `in` and `out`, the folders for them may be there already.
    pub fn attempt_again(
        &self,
        pipeline: PipelineId,
        job: JobId,
        epoch: Epoch,
    ) -> io::Result<AttemptFolder> {
        let name = format!("attempt-{pipeline}-{job}-{epoch}");
        let folder = AttemptFolder { path: self.root.join(STAGING).join(name), above: 0 };
        let spare = self.spares().pop();
        if let Some(spare) = spare
            && fs::rename(&spare, &folder.path).is_ok()
        {
            return Ok(folder);
        }
        Self::make(folder)
    }

    /// Removes what an attempt has left; where `folder` came from [`WorkFolder::attempt_again`], its
    /// empty folders are kept for the next one.
    pub fn put_back(&self, folder: &AttemptFolder) -> io::Result<()> {
        if folder.above > 0 || self.spares().len() >= bounds::SPARE_FOLDERS || !folder.empty() {
            return folder.remove();
        }
        let name = folder.path.file_name().unwrap_or_default().to_string_lossy();
        let spare = self.root.join(STAGING).join(format!("spare-{name}"));
        if fs::rename(&folder.path, &spare).is_err() {
            return folder.remove();
        }
        self.spares().push(spare);
        Ok(())
    }

    fn spares(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the folder's name from its locked lock file, or gives it one.
fn instance(lock: &mut File) -> io::Result<String> {
    let mut text = String::new();
    // What is no text is no name either.
    let read = Read::by_ref(lock).take(INSTANCE_DIGITS as u64 + 1).read_to_string(&mut text);
    if read.is_ok()
        && text.len() == INSTANCE_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return Ok(text);
    }
    let mut random = [0; INSTANCE_DIGITS / 2];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let name = format!("{:032x}", u128::from_be_bytes(random));
    lock.rewind()?;
    lock.set_len(0)?;
    lock.write_all(name.as_bytes())?;
    lock.sync_all()?;
    Ok(name)
}

impl AttemptFolder {
    /// What the stage reads.
    pub fn input(&self) -> PathBuf {
        self.path.join("in")
    }

    /// What the stage makes.
    pub fn output(&self) -> PathBuf {
        self.path.join("out")
    }

    /// For temporary files of the stage and its programs.
    pub fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for folder in [self.input(), self.output(), self.temporary()] {
            fs::create_dir(folder)?;
        }
        Ok(())
    }

    /// Empties its folders, and those that every attempt of its kind has in them; whether all are
    /// empty folders now.
    fn empty(&self) -> bool {
        let folders = [
            (self.input(), Some("source")),
            (self.output(), Some("render")),
            (self.temporary(), None),
        ];
        folders.iter().all(|(folder, inside)| empty(folder, *inside).is_ok())
    }

    /// Removes the attempt, and the folders above it that are empty then.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut above = self.path.parent();
        for _ in 0..self.above {
            let Some(folder) = above else { break };
            // Not empty: another attempt of the job or pipeline is there.
            if fs::remove_dir(folder).is_err() {
                break;
            }
            above = folder.parent();
        }
        Ok(())
    }
}

/// Removes what is in a folder; the folder `inside` stays in it, empty.
fn empty(folder: &Path, inside: Option<&str>) -> io::Result<()> {
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let stays = inside.is_some_and(|inside| entry.file_name() == inside);
        match (entry.file_type()?.is_dir(), stays) {
            (true, true) => empty(&entry.path(), None)?,
            (true, false) => fs::remove_dir_all(entry.path())?,
            (false, _) => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Whether the folder takes [`bounds::ROOM_BYTES`]. Only writing tells: quotas have their say too.
pub fn has_room(folder: &Path) -> bool {
    let write = || {
        let mut probe = tempfile::tempfile_in(folder)?;
        let bytes = io::copy(&mut io::repeat(1).take(bounds::ROOM_BYTES), &mut probe)?;
        io::Result::Ok(bytes == bounds::ROOM_BYTES)
    };
    write().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_worker_is_refused_until_the_first_ends() {
        let work = tempfile::tempdir().unwrap();
        let first = WorkFolder::open(work.path()).unwrap();
        let error = WorkFolder::open(work.path()).unwrap_err();
        assert!(matches!(&error, WorkerError::InUse(path) if path == work.path()), "{error}");
        let name = first.instance().to_owned();
        drop(first);
        let second = WorkFolder::open(work.path()).unwrap();
        assert_eq!((second.instance(), name.len()), (name.as_str(), INSTANCE_DIGITS));
        drop(second);
        fs::write(work.path().join(LOCK), b"\xff broken").unwrap();
        assert_ne!(WorkFolder::open(work.path()).unwrap().instance(), name);
    }

    #[test]
    fn staging_of_an_earlier_life_goes_at_the_start() {
        let work = tempfile::tempdir().unwrap();
        fs::create_dir_all(work.path().join("staging/1/2/attempt-1/out")).unwrap();
        fs::write(work.path().join("staging/1/2/attempt-1/out/half.png"), b"x").unwrap();
        fs::write(work.path().join("other"), b"stays").unwrap();
        let _folder = WorkFolder::open(work.path()).unwrap();
        assert_eq!(fs::read_dir(work.path().join("staging")).unwrap().count(), 0);
        assert!(work.path().join("other").exists());
    }

    #[test]
    fn an_attempt_leaves_nothing_and_touches_no_other() {
        let work = tempfile::tempdir().unwrap();
        let folder = WorkFolder::open(work.path()).unwrap();
        let one = folder.attempt(PipelineId(1), JobId(2), Epoch(1)).unwrap();
        let two = folder.attempt(PipelineId(1), JobId(3), Epoch(1)).unwrap();
        assert!(one.input().is_dir() && one.output().is_dir() && one.temporary().is_dir());
        assert!(folder.attempt(PipelineId(1), JobId(2), Epoch(1)).is_err());
        one.remove().unwrap();
        one.remove().unwrap();
        assert!(two.output().is_dir());
        two.remove().unwrap();
        assert_eq!(fs::read_dir(work.path().join("staging")).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_used_again_is_empty_and_no_link_is_followed() {
        let work = tempfile::tempdir().unwrap();
        let folder = WorkFolder::open(work.path()).unwrap();
        let one = folder.attempt_again(PipelineId(1), JobId(2), Epoch(1)).unwrap();
        fs::create_dir_all(one.output().join("render/deep")).unwrap();
        fs::create_dir_all(one.input().join("source/textures")).unwrap();
        for file in ["out/render/1.png", "out/program.log", "in/source/a.blend", "tmp/x"] {
            fs::write(one.path.join(file), b"x").unwrap();
        }
        folder.put_back(&one).unwrap();
        assert!(!one.path.exists());
        let two = folder.attempt_again(PipelineId(1), JobId(3), Epoch(1)).unwrap();
        let names = |path: &Path| -> Vec<String> {
            let entries = fs::read_dir(path).unwrap().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(
            (names(&two.input()), names(&two.output())),
            (vec!["source".to_owned()], vec!["render".to_owned()])
        );
        let inside = [two.input().join("source"), two.output().join("render"), two.temporary()];
        assert!(inside.iter().all(|path| names(path).is_empty()));
        #[cfg(unix)]
        {
            fs::write(work.path().join("precious"), b"x").unwrap();
            fs::remove_dir(two.output().join("render")).unwrap();
            std::os::unix::fs::symlink(work.path(), two.output().join("render")).unwrap();
            folder.put_back(&two).unwrap();
            assert!(work.path().join("precious").exists());
            fs::remove_dir_all(work.path().join("staging/spare-attempt-1-3-1/tmp")).unwrap();
        }
        // What is not whole any more is not used again either.
        let three = folder.attempt_again(PipelineId(1), JobId(4), Epoch(1)).unwrap();
        folder.put_back(&three).unwrap();
        assert!(folder.spares().is_empty());
        folder.wipe().unwrap();
        assert!(
            folder.attempt_again(PipelineId(1), JobId(5), Epoch(1)).unwrap().temporary().is_dir()
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_of_an_earlier_life_are_ended_at_the_start() {
        use crate::programs::Mark;
        let orphan = |folder: &WorkFolder| {
            std::process::Command::new("setsid")
                .args(["sleep", "1000"])
                .env(mark::VARIABLE, Mark::new(folder.instance(), JobId(1), Epoch(1)).as_str())
                .spawn()
                .unwrap()
        };
        let works = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [mine, others] = works.each_ref().map(|work| WorkFolder::open(work.path()).unwrap());
        let (mut my_orphan, mut stranger) = (orphan(&mine), orphan(&others));
        drop(mine);
        // Until it is another program, a child of another test holds our lock too.
        let open = |_| {
            std::thread::yield_now();
            WorkFolder::open(works[0].path()).ok()
        };
        let _again = (0..1_000_000).find_map(open).unwrap();
        assert!(my_orphan.try_wait().unwrap().is_some_and(|status| !status.success()));
        assert_eq!(stranger.try_wait().unwrap(), None);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_staging_is_removed_and_not_followed() {
        let work = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("precious"), b"x").unwrap();
        std::os::unix::fs::symlink(outside.path(), work.path().join("staging")).unwrap();
        let _folder = WorkFolder::open(work.path()).unwrap();
        assert!(outside.path().join("precious").exists());
    }
}
