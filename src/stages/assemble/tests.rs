//! Assemble with real pictures and the real ffmpeg.

use super::*;
use crate::model::{Chunk, Stage};
use crate::preview::read_png;
use crate::stages::render::{frame_file, turntable_file};
use crate::stages::testing::{Heard, request};
use std::process::Command;

const TURNTABLE_FILM: &str = "turntable.mp4";
const SEQUENCE_FILM: &str = "film.mp4";

pub(super) fn programs() -> Programs {
    let programs = Programs::find();
    assert!(
        programs.ffmpeg.is_some() && programs.ffprobe.is_some(),
        "ffmpeg is missing: run 'apt install ffmpeg'"
    );
    programs
}

pub(super) fn frame(width: u32, height: u32, index: u32) -> Picture {
    let rgba = [(index * 20) as u8, 120, 200, 255].repeat((width * height) as usize);
    Picture { width, height, rgba }
}

/// A turntable of `count` frames of odd size, in a folder with a name that patterns could misread.
pub(super) fn turntable(folder: &Path, count: u32) -> StageRequest {
    let settings = Settings { turntable_frames: count, ..Settings::default() };
    let folder = folder.join("100 %04d");
    let request = request(&folder, Stage::Assemble, AssetKind::Mesh, Chunk::Whole, settings);
    let frames = request.input_dir.join("render/turntable");
    std::fs::create_dir_all(&frames).unwrap();
    for index in 1..=count {
        let path = request.input_dir.join("render").join(turntable_file(index));
        write_png(&frame(65, 49, index), &path).unwrap();
    }
    request
}

pub(super) fn probe(path: &Path) -> String {
    let entries = "stream=codec_name,width,height,pix_fmt,r_frame_rate,nb_read_frames";
    let output = Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-show_entries", entries, "-of", "csv=p=0"])
        .arg(path)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_turntable_becomes_a_film_and_a_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let request = turntable(folder.path(), 7);
    let heard = Heard::default();
    let output = run_with(&request, &heard, &programs()).unwrap();
    let names: Vec<_> = output.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [TURNTABLE_FILM, SHEET_FILE]);
    assert!(output.report.warnings.is_empty(), "{:?}", output.report.warnings);
    let probed = probe(&request.output_dir.join(TURNTABLE_FILM));
    assert_eq!(probed, "h264,66,50,yuv420p,24/1,7");
    assert!(!request.output_dir.join("turntable.mp4.part").exists());
    let sheet = read_png(&request.output_dir.join(SHEET_FILE)).unwrap();
    assert_eq!(sheet.width, 16 + 6 * (65 + 16));
    assert!(heard.said("frame 7 of 7 checked") && heard.said("frame 7 of 7 joined"));
}

#[test]
fn a_sequence_becomes_a_film_with_its_own_frame_count() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { fps: 30, ..Settings::default() };
    let mut request =
        request(folder.path(), Stage::Assemble, AssetKind::Sequence, Chunk::Whole, settings);
    request.assignment.input.frame_count = Some(4);
    std::fs::create_dir_all(request.input_dir.join("render/frames")).unwrap();
    for index in 1..=4 {
        let path = request.input_dir.join("render").join(frame_file(index));
        write_png(&frame(32, 32, index), &path).unwrap();
    }
    run_with(&request, &Heard::default(), &programs()).unwrap();
    let probed = probe(&request.output_dir.join(SEQUENCE_FILM));
    assert_eq!(probed, "h264,32,32,yuv420p,30/1,4");
}

#[test]
fn missing_short_and_odd_frames_are_refused_before_ffmpeg_starts() {
    type Harm = fn(&Path);
    let cases: [(Harm, Reason, &str); 4] = [
        (|path| std::fs::remove_file(path).unwrap(), Reason::OutputMissing, "frame 3 of 5"),
        (|path| std::fs::write(path, b"").unwrap(), Reason::OutputInvalid, "0003.png"),
        (
            |path| {
                let bytes = std::fs::read(path).unwrap();
                std::fs::write(path, &bytes[..bytes.len() - 20]).unwrap();
            },
            Reason::OutputInvalid,
            "0003.png",
        ),
        (
            |path| write_png(&frame(64, 49, 1), path).unwrap(),
            Reason::OutputInvalid,
            "64 × 49 pixels",
        ),
    ];
    for (harm, reason, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let request = turntable(folder.path(), 5);
        harm(&request.input_dir.join("render").join(turntable_file(3)));
        // A program that cannot be started: reaching it would be another reason.
        let never = Programs { ffmpeg: Some("/nowhere/ffmpeg".into()), ffprobe: None };
        let failure = run_with(&request, &Heard::default(), &never).unwrap_err();
        assert_eq!(failure.reason, reason, "{}", failure.message);
        assert!(failure.message.contains(words), "{}", failure.message);
        assert_eq!(std::fs::read_dir(&request.output_dir).unwrap().count(), 0);
    }
}

#[test]
fn without_ffmpeg_the_policy_decides() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = turntable(folder.path(), 3);
    let none = Programs::default();
    let output = run_with(&request, &Heard::default(), &none).unwrap();
    assert_eq!(output.files.len(), 1);
    assert_eq!(output.report.warnings[0].reason, Reason::ProgramMissing);
    assert!(output.report.warnings[0].message.contains("apt install ffmpeg"));
    request.assignment.settings.film = FilmPolicy::Required;
    let failure = run_with(&request, &Heard::default(), &none).unwrap_err();
    assert_eq!(failure.reason, Reason::ProgramMissing);
    request.assignment.settings.film = FilmPolicy::Never;
    let output = run_with(&request, &Heard::default(), &programs()).unwrap();
    assert_eq!(output.files.len(), 1);
    assert!(output.report.warnings.is_empty());
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_is_quoted_and_one_that_drops_frames_is_caught() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let request = turntable(folder.path(), 3);
    let script = folder.path().join("ffmpeg");
    let as_program = |text: &str| {
        std::fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        Programs { ffmpeg: Some(script.clone()), ..programs() }
    };
    let broken = as_program("echo 'moov atom not found' >&2; exit 1");
    let heard = Heard::default();
    let failure = run_with(&request, &heard, &broken).unwrap_err();
    assert_eq!(failure.reason, Reason::ProgramFailed);
    assert!(failure.message.contains("moov atom"), "{}", failure.message);
    assert!(heard.said("ffmpeg: moov atom"));
    let full = as_program("echo 'av: No space left on device' >&2; exit 1");
    let failure = run_with(&request, &Heard::default(), &full).unwrap_err();
    assert_eq!(failure.reason, Reason::DiskFull);
    // Makes two frames of three, and says that all went well.
    let short = as_program(
        "for last; do :; done\n\
         [ \"$last\" = -encoders ] && exec ffmpeg -hide_banner -encoders\n\
         ffmpeg -v error -f lavfi -i color=s=64x64:d=0.08:r=24 -frames:v 2 -f mp4 \"$last\"\n\
         echo frame=3; echo progress=end",
    );
    let failure = run_with(&request, &Heard::default(), &short).unwrap_err();
    assert_eq!(failure.reason, Reason::OutputInvalid, "{}", failure.message);
    assert!(failure.message.contains("2 frames, but 3"), "{}", failure.message);
    assert!(!request.output_dir.join(TURNTABLE_FILM).exists());
}
