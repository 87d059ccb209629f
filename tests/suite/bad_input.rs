//! Files that cannot be used: each ends with a reason code and words that help; nothing of it is
//! published, and the farm goes on.

use crate::farm::{Farm, Ran, check_published, publishes};
use crate::inputs::{exr, glb, gltf, gltf_buffer, mtl, obj, picture, stl, truncate};
use sawah::model::{PipelineStatus, Reason, limits};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What should become of a file.
enum Expected {
    /// A refusal or a dead letter with this code, whose message holds these words.
    Refused(&'static str, &'static [&'static str]),
    /// All is well after all.
    Published,
}
use Expected::{Published, Refused};

/// One row: what it is, how it is made in an empty folder, what should become of it.
struct Row {
    name: &'static str,
    make: fn(&Path) -> PathBuf,
    expected: Expected,
}

fn row(name: &'static str, make: fn(&Path) -> PathBuf, expected: Expected) -> Row {
    Row { name, make, expected }
}

fn write(path: PathBuf, bytes: &[u8]) -> PathBuf {
    fs::write(&path, bytes).expect("a file can be written");
    path
}

fn files() -> Vec<Row> {
    vec![
        row("empty", |at| write(at.join("a.png"), b""), Refused("input.empty", &["a.png"])),
        row("cut GLB", |at| truncate(&glb(&at.join("a.glb")), 60), Refused("input.truncated", &[])),
        row(
            "cut PNG",
            |at| truncate(&picture(&at.join("a.png"), 64, 64), 50),
            Refused("input.truncated", &[]),
        ),
        row("cut EXR", |at| truncate(&exr(&at.join("a.exr")), 60), Refused("input.truncated", &[])),
        row("cut STL", |at| truncate(&stl(&at.join("a.stl")), 60), Refused("input.truncated", &[])),
        row(
            "a PNG called JPEG",
            |at| fs_rename(&picture(&at.join("a.png"), 16, 16), at.join("a.jpg")),
            Refused("input.wrong_suffix", &["PNG", "JPEG"]),
        ),
        row(
            "a GLB called OBJ",
            |at| fs_rename(&glb(&at.join("a.glb")), at.join("a.obj")),
            Refused("input.wrong_suffix", &["GLB", "OBJ"]),
        ),
        row(
            "garbage with a known suffix",
            |at| write(at.join("a.glb"), &[0x5a, 0xa5, 0x00, 0xff].repeat(64)),
            Refused("input.corrupt", &["a.glb", "5a a5"]),
        ),
        row(
            "garbage",
            |at| write(at.join("a.dat"), &[0x5a, 0xa5, 0x00, 0xff].repeat(64)),
            Refused("input.unsupported", &["GLB"]),
        ),
        row(
            "another program's format",
            |at| write(at.join("a.psd"), b"8BPS\0\x01 and so on"),
            Refused("input.unsupported", &["Photoshop"]),
        ),
        row(
            "nothing to draw",
            |at| write(at.join("a.obj"), b"v nan 0 0\nv nan 0 0\n"),
            Refused("input.nothing_to_draw", &[]),
        ),
    ]
}

fn file_sets() -> Vec<Row> {
    vec![
        row(
            "a buffer that is not there",
            |at| gltf(&at.join("a.gltf"), "absent.bin"),
            Refused("reference.missing", &["absent.bin"]),
        ),
        row(
            "a material file that is not there",
            |at| obj(&at.join("a.obj"), Some("absent.mtl")),
            Refused("reference.missing", &["absent.mtl"]),
        ),
        row(
            "a buffer outside the folder",
            |at| {
                let inside = at.join("inside");
                fs::create_dir(&inside).expect("a folder can be made");
                gltf_buffer(&at.join("outside.bin"));
                gltf(&inside.join("a.gltf"), "../outside.bin")
            },
            Refused("reference.outside", &["outside.bin"]),
        ),
        row(
            "a material file by its full path",
            |at| obj(&at.join("a.obj"), Some("/etc/hostname")),
            Refused("reference.outside", &["/etc/hostname"]),
        ),
        row(
            "frames of two sizes",
            |at| {
                let folder = at.join("frames");
                fs::create_dir(&folder).expect("a folder can be made");
                picture(&folder.join("f.0001.png"), 32, 32);
                picture(&folder.join("f.0002.png"), 32, 16);
                folder
            },
            Refused("input.mixed_sequence", &[]),
        ),
        row(
            "side files where they should be",
            |at| {
                gltf_buffer(&at.join("box.bin"));
                mtl(&at.join("unused.mtl"));
                gltf(&at.join("whole.gltf"), "box.bin")
            },
            Published,
        ),
    ]
}

fn names_and_sizes() -> Vec<Row> {
    vec![
        row(
            "a file that is not there",
            |at| at.join("absent.png"),
            Refused("input.unreadable", &["absent.png"]),
        ),
        row(
            "too large",
            |at| {
                let path = at.join("a.exr");
                let file = fs::File::create(&path).expect("a file can be made");
                // Sparse: it takes no room on the disk.
                file.set_len(limits::SOURCE_FILE_BYTES + 1).expect("a sparse file can be made");
                path
            },
            Refused("input.too_large", &["a.exr"]),
        ),
        row("a folder without pictures", Path::to_owned, Refused("input.not_a_file", &[])),
        row(
            "a very long name",
            |at| picture(&at.join(format!("{}.png", "n".repeat(240))), 16, 16),
            Published,
        ),
        row(
            "a name in another script",
            |at| picture(&at.join("терраса 稲 🌾.png"), 16, 16),
            Published,
        ),
    ]
}

#[cfg(unix)]
fn unix_only() -> Vec<Row> {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::symlink;
    vec![
        row(
            "a link to nowhere",
            |at| {
                let path = at.join("a.png");
                symlink(at.join("nowhere.png"), &path).expect("a link can be made");
                path
            },
            Refused("input.unreadable", &["a.png"]),
        ),
        row(
            "a name that is not UTF-8",
            |at| {
                let name = OsString::from_vec(b"caf\xe9.png".to_vec());
                fs_rename(&picture(&at.join("cafe.png"), 16, 16), at.join(name))
            },
            Published,
        ),
    ]
}

#[cfg(not(unix))]
fn unix_only() -> Vec<Row> {
    Vec::new()
}

fn fs_rename(from: &Path, to: PathBuf) -> PathBuf {
    fs::rename(from, &to).expect("a file can be renamed");
    to
}

#[tokio::test]
async fn every_bad_file_has_its_code_and_the_farm_goes_on() {
    let mut farm = Farm::new("bad-input");
    let _serve = farm.serve().await;
    let _worker = farm.worker("render-01");
    let rows = [files(), file_sets(), names_and_sizes(), unix_only()];
    let mut wrong = Vec::new();
    for (index, row) in rows.into_iter().flatten().enumerate() {
        let path = (row.make)(&farm.new_folder(&format!("row-{index:02}")));
        let args = ["--wait", "--recipe", "quick", "--set", "still_px=64"];
        let ran = farm.try_submit([&path], &args).await;
        let result = match row.expected {
            Published => check_good(&farm, &ran).await,
            Refused(code, words) => check_refused(&farm, &ran, code, words).await,
        };
        if let Err(why) = result {
            wrong.push(format!("{}: {why}\n{ran:#?}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n\n"));

    let good = glb(&farm.new_folder("good").join("good.glb"));
    let ran = farm.try_submit([good], &["--wait", "--recipe", "quick"]).await.expect_code(0);
    check_good(&farm, &ran).await.expect("a good file goes through");
    assert_no_panic(&farm);
}

async fn check_good(farm: &Farm, ran: &Ran) -> Result<(), String> {
    if ran.code != 0 {
        return Err(format!("exit code {}, should be 0", ran.code));
    }
    let detail = farm.pipeline(ran.pipeline()).await;
    check_published(&detail);
    Ok(())
}

async fn check_refused(farm: &Farm, ran: &Ran, code: &str, words: &[&str]) -> Result<(), String> {
    if ran.code != 1 {
        return Err(format!("exit code {}, should be 1", ran.code));
    }
    let mut said = format!("{}{}", ran.stdout, ran.stderr);
    let mut codes = Vec::new();
    if ran.pipelines().is_empty() {
        codes.extend(ran.texts("code"));
    }
    for pipeline in ran.pipelines() {
        let detail = farm.pipeline(pipeline).await;
        if detail.pipeline.status != PipelineStatus::DeadLettered {
            return Err(format!("pipeline {pipeline} is {}", detail.pipeline.status));
        }
        if !detail.published.is_empty() || detail.export_folder.is_some() {
            return Err(format!("pipeline {pipeline} has published something"));
        }
        if publishes(&farm.history().await, pipeline) != (0, 0) {
            return Err(format!("pipeline {pipeline} has an event of a publish"));
        }
        for letter in farm.dead_letters(pipeline).await {
            if letter.remedy.is_empty() || letter.attempts != 1 {
                return Err(format!("a dead letter of one attempt with a remedy: {letter:?}"));
            }
            said.push_str(&letter.message);
            codes.push(letter.reason.code().to_owned());
        }
    }
    codes.retain(|code| Reason::parse(code).is_some());
    if codes.is_empty() || codes.iter().any(|found| found != code) {
        return Err(format!("the codes are {codes:?}, should be {code}"));
    }
    match words.iter().find(|word| !said.contains(**word)) {
        Some(word) => Err(format!("the message does not say '{word}'")),
        None => Ok(()),
    }
}

fn assert_no_panic(farm: &Farm) {
    for name in ["serve.log", "render-01.log"] {
        let log = fs::read_to_string(farm.root().join("output").join(name)).unwrap_or_default();
        assert!(!log.contains("panicked at"), "{name}: {log}");
    }
}
