//! A file system of SQLite's that remembers every write, cut and flush beside doing it.
//!
//! It is the system's own file system: each opened file only gets another table of functions.

#![expect(unsafe_code, reason = "SQLite calls a file system through tables of C functions")]

use super::disk::{Disk, Op};
use rusqlite::ffi;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

/// Its name for SQLite.
pub(super) const NAME: &str = "crash-disk";
const C_NAME: &CStr = c"crash-disk";

/// A file that is open. SQLite reads the table through a pointer, so it lies in a box.
struct Opened {
    disk: Arc<Disk>,
    name: String,
    base: &'static ffi::sqlite3_io_methods,
    own: Box<ffi::sqlite3_io_methods>,
}

/// Folders whose files are watched, and the open files by the addresses of SQLite's handles.
#[derive(Default)]
struct Watched {
    folders: BTreeMap<PathBuf, Arc<Disk>>,
    files: BTreeMap<usize, Opened>,
}

static WATCHED: Mutex<Watched> =
    Mutex::new(Watched { folders: BTreeMap::new(), files: BTreeMap::new() });

fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches the files of a folder from now on.
pub(super) fn watch(folder: &Path) -> Arc<Disk> {
    static ONCE: Once = Once::new();
    ONCE.call_once(register);
    let disk = Arc::new(Disk::default());
    watched().folders.insert(folder.to_owned(), Arc::clone(&disk));
    disk
}

/// The system's own file system.
fn base() -> *mut ffi::sqlite3_vfs {
    // SAFETY: a null name asks for the default, which lives as long as the process.
    unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) }
}

fn register() {
    // SAFETY: the default file system is a valid table; the copy is never freed, as SQLite asks.
    unsafe {
        let own = Box::leak(Box::new(*base()));
        own.zName = C_NAME.as_ptr();
        own.pNext = std::ptr::null_mut();
        own.xOpen = Some(open);
        own.xDelete = Some(delete);
        assert_eq!(ffi::sqlite3_vfs_register(own, 0), ffi::SQLITE_OK);
    }
}

/// The watched folder and the name of a file in it.
///
/// # Safety
/// `name` is null or a C string.
unsafe fn place(name: *const c_char) -> Option<(Arc<Disk>, String)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    let path = Path::new(OsStr::from_bytes(bytes));
    let disk = watched().folders.get(path.parent()?)?.clone();
    Some((disk, path.file_name()?.to_string_lossy().into_owned()))
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite's own arguments go to the file system that made this table; a file that it
    // opened has a valid table of functions that is never freed.
    unsafe {
        let Some(base_open) = (*base()).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = base_open(base(), name, file, flags, out);
        if code == ffi::SQLITE_OK
            && let Some((disk, name)) = place(name)
            && let Some(base) = (*file).pMethods.as_ref()
        {
            let mut own = Box::new(*base);
            own.xWrite = Some(write);
            own.xTruncate = Some(truncate);
            own.xSync = Some(sync);
            own.xClose = Some(close);
            (*file).pMethods = &raw const *own;
            watched().files.insert(file as usize, Opened { disk, name, base, own });
        }
        code
    }
}

unsafe extern "C" fn delete(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: as in `open`.
    unsafe {
        if let Some((disk, file)) = place(name) {
            disk.record(Op::Delete { file });
        }
        (*base()).xDelete.map_or(ffi::SQLITE_IOERR, |delete| delete(base(), name, sync_folder))
    }
}

/// Remembers what happens to an open file; says how the file really does it.
fn record(
    file: *mut ffi::sqlite3_file,
    op: impl FnOnce(String) -> Op,
) -> Option<&'static ffi::sqlite3_io_methods> {
    let watched = watched();
    let opened = watched.files.get(&(file as usize))?;
    opened.disk.record(op(opened.name.clone()));
    Some(opened.base)
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite gives `amount` bytes at `from`.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), amount as usize) };
    let base = record(file, |file| Op::Write { file, at: at as usize, bytes: bytes.to_vec() });
    // SAFETY: the file's own function with SQLite's own arguments.
    base.and_then(|base| base.xWrite)
        .map_or(ffi::SQLITE_IOERR, |write| unsafe { write(file, from, amount, at) })
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let base = record(file, |file| Op::Truncate { file, size: size as usize });
    // SAFETY: as in `write`.
    base.and_then(|base| base.xTruncate)
        .map_or(ffi::SQLITE_IOERR, |truncate| unsafe { truncate(file, size) })
}

/// The real disk need not flush: what survives is reckoned from what was remembered.
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    record(file, |file| Op::Sync { file }).map_or(ffi::SQLITE_IOERR, |_| ffi::SQLITE_OK)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let Some(opened) = watched().files.remove(&(file as usize)) else { return ffi::SQLITE_IOERR };
    // SAFETY: the file gets its own table back before the box with ours is freed.
    unsafe {
        (*file).pMethods = opened.base;
        drop(opened.own);
        opened.base.xClose.map_or(ffi::SQLITE_IOERR, |close| close(file))
    }
}
