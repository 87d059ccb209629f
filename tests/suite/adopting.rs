//! Taking a file into a content store whose disk runs full.
#![cfg(target_os = "linux")]

use crate::farm::files_under;
use crate::small_disk::{Mounts, SmallDisk, mounts};
use sawah::artifacts::{AdoptError, AdoptOptions, Artifacts, Links, Put};
use sawah::model::{Checksum, Reason};
use std::fs;
use std::path::{Path, PathBuf};

/// More than the disk has, and more than one buffer of the copy.
const LARGE_BYTES: usize = 12 << 20;

#[test]
fn a_disk_that_runs_full_during_a_copy_keeps_nothing_of_the_file() {
    let test = "adopting::a_disk_that_runs_full_during_a_copy_keeps_nothing_of_the_file";
    if let Mounts::PassedInside = mounts(test) {
        return;
    }
    let sources = tempfile::tempdir().expect("a folder");
    let farm = tempfile::tempdir().expect("a folder");
    let disk = SmallDisk::mount(farm.path().to_owned(), "8m");
    let artifacts = Artifacts::open(disk.folder()).expect("the store fits");
    let options =
        AdoptOptions { max_bytes: 1 << 30, links: Links::Refuse, is_cancelled: &|| false };
    let bytes: Vec<u8> = (0..LARGE_BYTES).map(|at| ((at * 31) ^ (at >> 11)) as u8).collect();
    let large = sources.path().join("large.glb");
    fs::write(&large, &bytes).expect("it can be written");

    let full = artifacts.adopt(&large, &options);
    assert!(matches!(full, Err(AdoptError::Full { .. })), "{full:?}");
    assert_eq!(full.expect_err("full").reason(), Some(Reason::StorageFull));
    assert_eq!(files_under(disk.folder()), Vec::<PathBuf>::new());

    // A small one does not fit either while nothing at all is left.
    let small = sources.path().join("small.glb");
    fs::write(&small, b"water").expect("it can be written");
    let ballast = disk.fill();
    let full = artifacts.adopt(&small, &options);
    assert!(matches!(full, Err(AdoptError::Full { .. })), "{full:?}");
    assert_eq!(files_under(disk.folder()), [Path::new("ballast")]);

    fs::remove_file(ballast).expect("it can be removed");
    disk.grow("64m");
    for (path, bytes) in [(small, b"water".as_slice()), (large, &bytes)] {
        let adopted = artifacts.adopt(&path, &options).expect("there is room");
        assert_eq!((adopted.checksum, adopted.put), (Checksum::of(bytes), Put::New));
    }
    assert_eq!(files_under(&disk.folder().join("incoming")), Vec::<PathBuf>::new());
}
