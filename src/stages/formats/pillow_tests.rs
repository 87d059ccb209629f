//! Every picture of a folder: a picture or a named refusal, no panic, no long wait.

use super::*;
use crate::clock::Stopwatch;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Names the folder, such as `Tests/images` of Pillow's source.
const FOLDER: &str = "SAWAH_PICTURES";
/// The longest that one file may take.
const SECONDS: u64 = 20;

fn pictures(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is readable") {
            let path = entry.expect("has a name").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
#[ignore = "needs a folder of pictures, named by SAWAH_PICTURES"]
fn a_folder_of_pictures_gives_pictures_or_named_refusals() {
    let folder = std::env::var_os(FOLDER).expect("SAWAH_PICTURES names a folder of pictures");
    let mut refusals: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut shown, mut broken, mut slow) = (0, Vec::new(), Vec::new());
    for path in pictures(Path::new(&folder)) {
        let watch = Stopwatch::start();
        asset_facts(&path).err();
        match load_asset(&path) {
            Ok(_) => shown += 1,
            Err(failure) => {
                println!("{}: {}: {}", path.display(), failure.reason.code(), failure.message);
                *refusals.entry(failure.reason.code()).or_default() += 1;
                if failure.message.contains("breaks the program") {
                    broken.push(path.clone());
                }
            }
        }
        if watch.elapsed().as_secs() > SECONDS {
            slow.push(path);
        }
    }
    println!("{shown} pictures, refused {refusals:?}, panics {broken:?}, too slow {slow:?}");
    assert!(broken.is_empty() && slow.is_empty(), "panics {broken:?}, too slow {slow:?}");
    assert!(shown > 0, "no file of the folder is a picture");
}
