//! The sample assets are made by code, so that their bytes are ours and can be made again.
//!
//! `SAWAH_WRITE_SAMPLES=1 cargo test --test suite samples` writes them to `assets/samples`.

mod crate_box;
mod gear;
mod paint;
mod pictures;
mod shape;
mod terrace;

use std::path::{Path, PathBuf};

const ALL_BYTES: usize = 1_500_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples")
}

/// Every sample file by name.
fn all() -> Vec<(String, Vec<u8>)> {
    let wood = paint::wood();
    let mut files = vec![
        ("terrace.glb".to_owned(), terrace::glb(&wood)),
        ("crate.obj".to_owned(), crate_box::obj()),
        ("crate.mtl".to_owned(), crate_box::mtl()),
        ("wood.png".to_owned(), wood.png()),
        ("gear.stl".to_owned(), gear::stl()),
        ("sunset.exr".to_owned(), pictures::sunset()),
        ("broken.glb".to_owned(), terrace::broken()),
    ];
    files
        .extend((1..=24).map(|frame| (format!("rain/rain_{frame:04}.png"), pictures::rain(frame))));
    files
}

#[test]
fn samples_are_what_the_code_makes() {
    let files = all();
    let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(size < ALL_BYTES, "the samples have {size} bytes");
    let write = std::env::var_os("SAWAH_WRITE_SAMPLES").is_some();
    for (name, bytes) in files {
        let path = folder().join(&name);
        if write {
            std::fs::create_dir_all(path.parent().expect("has a folder")).expect("a folder");
            std::fs::write(&path, &bytes).expect("written");
        }
        let there = std::fs::read(&path).unwrap_or_default();
        assert!(there == bytes, "{name} differs: write the samples again (see the module)");
    }
}
