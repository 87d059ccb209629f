use super::*;
use std::ffi::OsString;
use std::fs;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot read here";

fn write(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, PNG).expect("write");
    path
}

fn reason_of(planned: &Planned) -> Option<&'static str> {
    planned.plan.as_ref().err().map(|refusal| refusal.reason.code())
}

#[test]
fn bad_input_is_refused_with_a_reason_and_what_to_do() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path();
    let large = write(root, "large.glb");
    fs::create_dir(root.join("empty")).expect("folder");
    let mixed = root.join("mixed");
    fs::create_dir(&mixed).expect("folder");
    for name in ["a_1.png", "a_2.png", "b_1.png", "b_2.png", "cover.jpg"] {
        write(&mixed, name);
    }
    let mut table = vec![
        (root.join("absent.glb"), "input.unreadable", "no such file"),
        (root.join("empty"), "input.not_a_file", "holds no pictures"),
        (mixed, "input.mixed_sequence", "a_[1-2].png, b_[1-2].png, cover.jpg"),
        (large, "input.too_large", "at most 8 are taken"),
    ];
    if Path::new("/dev/null").exists() {
        table.push((PathBuf::from("/dev/null"), "input.not_a_file", "no regular file"));
    }
    for (path, code, part) in table {
        let mut handover = Handover::new(vec![path.clone()]);
        handover.file_limit_bytes = 8;
        let planned = plan(&handover);
        let [one] = planned.as_slice() else { panic!("{path:?} is one item") };
        assert_eq!(reason_of(one), Some(code), "{path:?}");
        let text = one.plan.as_ref().expect_err("refused").to_string();
        assert!(text.contains(part) && text.contains(code), "{text}");
    }
}

#[test]
fn loose_frames_become_a_film_unless_told_otherwise() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path();
    let names = ["rain_0002.png", "rain_0001.png", "gear.stl", "rain_0004.png", "pair_1.png"];
    let paths: Vec<_> = names.iter().map(|name| write(root, name)).collect();
    let planned = plan(&Handover::new([paths.clone(), paths.clone()].concat()));
    let plans: Vec<&Plan> = planned.iter().filter_map(|one| one.plan.as_ref().ok()).collect();
    let [film, gear, pair] = plans.as_slice() else { panic!("{planned:?}") };
    assert_eq!((film.asset.as_str(), film.sequence, film.files.len()), ("rain", true, 3));
    assert_eq!(film.main_file, "rain_0001.png");
    assert!(film.notes[0].contains("3-3"), "{:?}", film.notes);
    assert_eq!((gear.asset.as_str(), pair.asset.as_str()), ("gear", "pair_1"));

    let apart = plan(&Handover { separate: true, ..Handover::new(paths) });
    assert_eq!(apart.len(), 5);
}

#[test]
fn a_folder_is_a_film_and_is_named_by_itself() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().join("beauty");
    fs::create_dir(&root).expect("folder");
    for name in ["f.0001.exr", "f.0002.exr", "notes.txt", ".hidden.png"] {
        write(&root, name);
    }
    let planned = plan(&Handover::new(vec![root.clone()]));
    let plan = planned[0].plan.as_ref().expect("a film");
    assert_eq!((plan.asset.as_str(), plan.files.len()), ("beauty", 2));
    assert!(plan.notes.iter().any(|note| note.starts_with("1 files")), "{:?}", plan.notes);
    assert_eq!(plan.source_ref, root.to_string_lossy());
}

#[test]
fn one_name_names_one_asset_only() {
    let folder = tempfile::tempdir().expect("folder");
    let paths = vec![write(folder.path(), "a.stl"), write(folder.path(), "b.stl")];
    let name = Some(AssetName::from_any("dragon"));
    let one = Handover { name: name.clone(), ..Handover::new(vec![paths[0].clone()]) };
    assert_eq!(plan(&one)[0].plan.as_ref().expect("named").asset.as_str(), "dragon");
    let two = plan(&Handover { name, ..Handover::new(paths) });
    assert!(two.iter().all(|one| reason_of(one) == Some("setting.invalid")));
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_and_very_long_names_work() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("folder");
    let strange = folder.path().join(std::ffi::OsStr::from_bytes(b"dr\xffgon\\\n.stl"));
    let long = folder.path().join(format!("{}.png", "n".repeat(240)));
    for path in [strange, long] {
        if fs::write(&path, PNG).is_err() {
            continue; // This file system has no such names.
        }
        let planned = plan(&Handover::new(vec![path]));
        let plan = planned[0].plan.as_ref().expect("handed in");
        assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
        assert!(plan.main_file.len() <= limits::FILE_NAME_BYTES);
        assert!(!plan.main_file.contains(['\\', '\n', '\u{fffd}']));
    }
}

#[test]
fn a_film_is_found_among_the_names_of_a_folder() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path();
    let names: Vec<OsString> = ["b_1.png", "b_3.png", "b_2.PNG", "a.1.exr", "a.2.exr", "a.3.exr"]
        .iter()
        .chain(&["c_1.png", "c_2.png", "gear.stl", "d_1.txt", "d_2.txt", "d_3.txt"])
        .map(|name| write(root, name).file_name().expect("a name").to_owned())
        .collect();
    let all = plan_series(root, &names, 1 << 20);
    // Suffixes in another case are another series, two frames are not enough.
    let [film] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((film.label.as_str(), film.taken.len()), ("a.[1-3].exr", 3));
    assert_eq!(film.taken[0], "a.1.exr");
    let plan = film.plan.as_ref().expect("a film");
    assert_eq!((plan.asset.as_str(), plan.sequence, plan.files.len()), ("a", true, 3));
    assert_eq!(plan.source_ref, root.join("a.[1-3].exr").to_string_lossy());

    let small = plan_series(root, &names, 4);
    let refusal = small[0].plan.as_ref().expect_err("too large");
    assert_eq!((refusal.reason, small[0].taken.len()), (Reason::InputTooLarge, 3));
}

#[test]
fn usd_is_drawn_by_the_farm_unless_frames_are_asked_for() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("leaf.usda");
    fs::write(&path, "#usda 1.0\n").expect("write");
    let mut handover = Handover::new(Vec::new());
    let mesh = plan_one(&path, &handover).expect("a mesh");
    assert_eq!((mesh.recipe, mesh.main_file.as_str()), (None, "leaf.usda"));
    handover.scene.frames = Some("1-3".parse().expect("frames"));
    let scene = plan_one(&path, &handover).expect("a scene");
    assert_eq!(scene.recipe.as_deref(), Some(crate::recipes::library::SCENE_RECIPE));
    assert_eq!(scene.settings.get("renderer").map(String::as_str), Some("husk"));
}

/// There and back through text, as to a child process.
fn sent<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    serde_json::from_str(&text).expect("it can be read")
}

#[test]
fn plans_and_refusals_travel_whole() {
    let folder = tempfile::tempdir().expect("folder");
    let names: Vec<OsString> = (1..=3).map(|at| format!("rain_{at}.png").into()).collect();
    for name in &names {
        write(folder.path(), name.to_str().expect("text"));
    }
    let all = plan_series(folder.path(), &names, 1 << 20);
    assert_eq!(sent(&all), all);
    let planned = plan(&Handover::new(vec![
        folder.path().join("absent.glb"),
        folder.path().join("rain_1.png"),
    ]));
    assert_eq!(planned.len(), 2);
    assert_eq!(sent(&planned), planned);
    assert_eq!(sent(&FileKind::Side), FileKind::Side);
}

#[cfg(unix)]
#[test]
fn paths_that_are_no_text_travel_whole() {
    use std::os::unix::ffi::OsStringExt as _;
    for bytes in [b"/shots/dr\xffgon\\\n.stl".to_vec(), b"\xc3".to_vec(), "/龍/a.png".into()] {
        let name = OsString::from_vec(bytes);
        let file = LocalFile { name: "a".to_owned(), path: name.clone().into() };
        assert_eq!(sent(&file), file);
        let plan = Err(Refusal::new(Reason::InputChanged, "x"));
        let taken = vec![name.clone()];
        let series = SeriesPlan { label: "a".to_owned(), pattern: name, taken, plan };
        assert_eq!(sent(&series), series);
    }
}
