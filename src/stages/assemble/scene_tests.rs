//! Scenes: frames as renderers write them become films and pictures.

use super::film_tests::pixels;
use super::gaps::Shown::{Black, Frame};
use super::tests::{probe, programs};
use super::*;
use crate::model::{Checksum, Chunk, FrameList, Stage};
use crate::preview::{LinearImage, read_png};
use crate::protocol::work::InputFile;
use crate::recipes::{FilmAlpha, FilmCodec, GapPolicy, SceneSettings};
use crate::stages::assemble::frames::Wanted;
use crate::stages::formats::write_exr;
use crate::stages::testing::{Heard, request};

/// A scene whose render made these files; `write` gets each one's path and place from 0.
fn scene(folder: &Path, names: &[&str], write: impl Fn(&Path, usize)) -> StageRequest {
    let numbers = names.iter().filter_map(|name| scene::frame_number(&format!("render/{name}")));
    let scene = SceneSettings {
        renderer: "blender".to_owned(),
        frames: FrameList::new(numbers.collect()),
        ..SceneSettings::default()
    };
    let settings = Settings {
        scene: Some(scene),
        still_px: 40,
        thumbnails_px: vec![32, 16],
        film_codec: FilmCodec::Ffv1,
        ..Settings::default()
    };
    let mut request = request(folder, Stage::Assemble, AssetKind::Scene, Chunk::Whole, settings);
    std::fs::create_dir_all(request.input_dir.join("render/render")).unwrap();
    for (place, name) in names.iter().enumerate() {
        let name = format!("render/{name}");
        write(&request.input_dir.join("render").join(&name), place);
        request.assignment.dependencies.push(InputFile {
            made_by: Some(Stage::Render),
            name,
            checksum: Checksum::of(b"frame"),
            size_bytes: 1,
        });
    }
    request
}

fn grey_png(path: &Path, place: usize) {
    let grey = 50 + 50 * place as u8;
    let rgba = [grey, grey, grey, 255].repeat(64 * 36);
    write_png(&Picture { width: 64, height: 36, rgba }, path).unwrap();
}

fn greys(request: &StageRequest, name: &str) -> Vec<u8> {
    let film = request.output_dir.join(name);
    pixels(&film, &[], 64 * 36).iter().map(|frame| frame[0]).collect()
}

#[test]
fn a_scene_becomes_a_film_a_sheet_a_still_and_thumbnails() {
    let folder = tempfile::tempdir().unwrap();
    // By name the negative frame would come last.
    let names = ["hero_0000.png", "hero_0001.png", "hero_-0001.png"];
    let mut request = scene(folder.path(), &names, grey_png);
    let output = run_with(&request, &Heard::default(), &programs()).unwrap();
    let made: Vec<_> = output.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(made, ["film.mkv", SHEET_FILE, "still.png", "thumb-32.png", "thumb-16.png"]);
    assert_eq!(output.report.warnings, []);
    assert_eq!(greys(&request, "film.mkv"), [150, 50, 100]);
    let still = read_png(&request.output_dir.join("still.png")).unwrap();
    assert_eq!((still.width, still.rgba[0]), (40, 50));

    request.assignment.settings.film = FilmPolicy::Never;
    let output = run_with(&request, &Heard::default(), &Programs::default()).unwrap();
    assert_eq!((output.files.len(), output.report.warnings.len()), (4, 0));
}

#[test]
fn frames_of_light_and_of_16_bits_are_joined_as_stills_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let exr = |path: &Path, place: usize| {
        let light = 0.54 - 0.25 * place as f32;
        let pixels = vec![[light, light, light, 1.0]; 64 * 36];
        write_exr(&LinearImage { width: 64, height: 36, pixels }, path).unwrap();
    };
    let request = scene(folder.path(), &["a_0001.exr", "a_0002.exr"], exr);
    run_with(&request, &Heard::default(), &programs()).unwrap();
    // 0.54 − 0.04 and 0.29 − 0.04 in linear light.
    let found = greys(&request, "film.mkv");
    assert!(found[0].abs_diff(188) <= 1 && found[1].abs_diff(137) <= 1, "{found:?}");

    let folder = tempfile::tempdir().unwrap();
    let deep = |path: &Path, place: usize| {
        let value = 257 * (50 + 50 * place as u16);
        let pixels = vec![value; 64 * 36 * 3];
        let image = image::ImageBuffer::<image::Rgb<u16>, _>::from_raw(64, 36, pixels).unwrap();
        image::DynamicImage::ImageRgb16(image).save(path).unwrap();
    };
    let request = scene(folder.path(), &["a_0001.png", "a_0002.png"], deep);
    run_with(&request, &Heard::default(), &programs()).unwrap();
    assert_eq!(greys(&request, "film.mkv"), [50, 100]);
}

#[test]
fn dark_light_has_one_exposure_over_the_film_and_alpha_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let exr = |path: &Path, place: usize| {
        let light = 0.002 * (1 + place) as f32;
        let mut pixels = vec![[light, light, light, 1.0]; 64 * 36];
        pixels[64 * 36 - 1] = [0.0; 4];
        write_exr(&LinearImage { width: 64, height: 36, pixels }, path).unwrap();
    };
    let mut request = scene(folder.path(), &["a_0001.exr", "a_0002.exr"], exr);
    request.assignment.settings.film_alpha = FilmAlpha::Keep;
    let heard = Heard::default();
    run_with(&request, &heard, &programs()).unwrap();
    assert!(heard.said("exposure of +5."));
    let found = greys(&request, "film.mkv");
    assert!(found[0] > 60 && found[1] > found[0] + 20, "{found:?}");
    let all = pixels(&request.output_dir.join("film.mkv"), &[], 64 * 36);
    assert_eq!(all[0].last(), Some(&0));
}

#[test]
fn frames_that_were_asked_and_not_made_follow_the_gap_policy() {
    let folder = tempfile::tempdir().unwrap();
    let request = scene(folder.path(), &["a_0003.png", "a_0009.png"], grey_png);
    // Steps are no gaps: only what was asked for can be missing.
    let whole = Frames::of(&request).unwrap().unwrap();
    assert_eq!(gaps::plan(&whole, GapPolicy::Fail).unwrap().shown.len(), 2);
    let mut wanted = whole.wanted;
    for (at, number) in [(0, 1), (2, 5), (3, 7)] {
        wanted.insert(at, Wanted { number, file: None });
    }
    let frames = Frames { wanted, ..whole };
    let refused = gaps::plan(&frames, GapPolicy::Fail).unwrap_err();
    assert_eq!(refused.reason, Reason::OutputMissing);
    assert!(refused.message.contains("3 frames are missing: 1,5,7"), "{}", refused.message);
    let held = gaps::plan(&frames, GapPolicy::Hold).unwrap();
    assert_eq!(held.shown, [Frame(1), Frame(1), Frame(1), Frame(1), Frame(4)]);
    assert!(held.warning.unwrap().message.contains("repeats the frame before"));
    let black = gaps::plan(&frames, GapPolicy::Black).unwrap();
    assert_eq!(black.shown, [Black, Frame(1), Black, Black, Frame(4)]);
    let none = Frames { wanted: vec![Wanted { number: 1, file: None }], ..frames };
    for policy in [GapPolicy::Fail, GapPolicy::Hold, GapPolicy::Black] {
        assert!(gaps::plan(&none, policy).is_err(), "{policy:?}");
    }
}

#[test]
fn frames_that_cannot_be_read_here_are_told_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = |path: &Path, _: usize| std::fs::write(path, [7_u8; 400]).unwrap();
    let mut request = scene(folder.path(), &["a_0001.iff", "a_0002.iff"], foreign);
    let output = run_with(&request, &Heard::default(), &programs()).unwrap();
    assert_eq!(output.report.warnings[0].reason, Reason::InputUnsupported);
    assert_eq!(output.files, []);
    request.assignment.settings.film = FilmPolicy::Required;
    let failure = run_with(&request, &Heard::default(), &programs()).unwrap_err();
    assert_eq!(failure.reason, Reason::InputUnsupported);
}

#[test]
fn a_film_is_no_larger_than_the_settings_say() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = scene(folder.path(), &["a_0001.png"], grey_png);
    request.assignment.settings.film_px = 33;
    request.assignment.settings.film_codec = FilmCodec::H264;
    run_with(&request, &Heard::default(), &programs()).unwrap();
    assert_eq!(probe(&request.output_dir.join("film.mp4")), "h264,34,20,yuv420p,24/1,1");
}
