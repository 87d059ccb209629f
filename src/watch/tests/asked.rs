//! What is asked about a folder before it is watched, and by whom foreign files are read.

use super::bench::{MTL, OBJ, png};
use crate::model::Reason;
use crate::protocol::watch::WatchRules;
use crate::recipes::Library;
use crate::watch::dry_run::{DryRun, Fate, dry_run};
use crate::watch::looker::Looker;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program that behaves like one who looks, but ends or says nonsense.
fn broken(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("looker");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

#[test]
fn one_who_looks_and_ends_is_an_answer_and_the_next_look_gets_another() {
    for script in [
        "kill -SEGV $$",
        "read line; exit 0",
        "read line; echo nonsense",
        "read line; echo \\\"half",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let looker = Looker::child(broken(folder.path(), script), PathBuf::new());
        for _ in 0..2 {
            let refusal = looker.look(Path::new("/a.obj"), &BTreeMap::new()).unwrap_err();
            assert_eq!(refusal.reason, Reason::ProcessCrashed, "{script}: {refusal}");
            assert!(refusal.message.contains("/a.obj"), "{refusal}");
        }
    }
    let missing = Looker::child(PathBuf::from("/nowhere/sawah"), PathBuf::new());
    assert!(missing.look(Path::new("/a.obj"), &BTreeMap::new()).is_err());
}

#[test]
fn a_dry_run_says_what_would_become_of_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    write("crate.obj", OBJ);
    write("wood.mtl", MTL);
    write("hero.png", &png(1));
    write("HERO.png", &png(2));
    for number in 1..4 {
        write(&format!("rain/rain_{number:04}.png"), &png(number));
    }
    write("scene.max", b"x");
    write("half.png", &png(1)[..20]);
    write("copy.part", b"x");
    write("loose.bin", b"x");
    let looker = broken(folder.path(), "true");
    std::fs::rename(looker, folder.path().join(".looker")).unwrap();
    let rules = WatchRules::default();
    let renderers = crate::renderers::Library::load(None).unwrap();
    let with = DryRun {
        rules: &rules,
        recipes: &Library::load(None).unwrap(),
        renderers: &renderers,
        looker: Looker::Here(std::sync::Arc::new(renderers.clone())),
    };
    let all = dry_run(folder.path(), &with).unwrap();
    let word = |path: &str| {
        let one = all.iter().find(|one| one.path == path);
        match &one.unwrap_or_else(|| panic!("{path}: {all:#?}")).fate {
            Fate::Taken { asset, recipe, files, missing, .. } => {
                format!("{asset} by {recipe}, {files} files, without {}", missing.join(", "))
            }
            Fate::GoesAlong { with } => format!("with {with}"),
            Fate::Waits { .. } => "waits".to_owned(),
            Fate::Refused { code, .. } => (*code).to_owned(),
            Fate::Ignored { .. } => "ignored".to_owned(),
        }
    };
    assert_eq!(word("crate.obj"), "crate by preview, 2 files, without wood.png");
    assert_eq!(word("wood.mtl"), "with crate.obj");
    assert_eq!(word("HERO.png"), "HERO by preview, 1 files, without ");
    assert_eq!(word("hero.png"), "input.name_conflict");
    assert_eq!(word("rain/rain_####.png"), "rain by preview, 3 files, without ");
    assert_eq!(word("scene.max"), "input.unsupported");
    assert_eq!(word("half.png"), "waits");
    assert_eq!(word("loose.bin"), "waits");
    assert_eq!(word("copy.part"), "ignored");
    assert!(!folder.path().join("scene.max.sawah.txt").exists(), "nothing is done");
}
