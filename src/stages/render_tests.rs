//! Render of what transform makes.

use super::*;
use crate::model::{Pass, Stage, ToneMap};
use crate::preview::{LinearImage, Scene, read_png, scene};
use crate::stages::formats::{write_exr, write_glb};
use crate::stages::testing::{Heard, request};
use crate::stages::transform::FrameEntry;
use glam::Vec3;

fn settings() -> Settings {
    Settings {
        still_px: 64,
        thumbnails_px: vec![32, 16],
        turntable_frames: 4,
        turntable_px: 33,
        film_px: 24,
        ..Settings::default()
    }
}

fn request_of(folder: &Path, kind: AssetKind, chunk: Chunk) -> StageRequest {
    let request = request(folder, Stage::Render, kind, chunk, settings());
    std::fs::create_dir_all(request.input_dir.join("transform/frames")).unwrap();
    request
}

fn names(output: &StageOutput) -> Vec<&str> {
    output.files.iter().map(|file| file.name.as_str()).collect()
}

fn pyramid() -> Scene {
    let corners = [[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 0.0, 1.0], [0.0, 1.5, 0.0]];
    let mut part = scene::Part::default();
    for face in [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]] {
        let [a, b, c] = face.map(|at: usize| Vec3::from(corners[at]));
        let first = part.positions.len() as u32;
        part.positions.extend([a, b, c]);
        part.normals.extend([(b - a).cross(c - a).normalize(); 3]);
        part.indices.extend([first, first + 1, first + 2]);
    }
    Scene { parts: vec![part], materials: vec![scene::Material::default()], textures: vec![] }
}

#[test]
fn a_mesh_gives_a_still_thumbnails_and_the_frames_of_its_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request_of(folder.path(), AssetKind::Mesh, Chunk::Still);
    write_glb(&pyramid(), &request.input_dir.join("transform/scene.glb")).unwrap();
    let heard = Heard::default();
    let output = run(&request, &heard).unwrap();
    assert_eq!(names(&output), ["still.png", "thumb-32.png", "thumb-16.png"]);
    let drawn_by = output.report.drawn_by.unwrap();
    assert!(heard.said(&format!("drawing with {drawn_by}")));
    let still = read_png(&request.output_dir.join("still.png")).unwrap();
    assert_eq!((still.width, still.height), (64, 64));
    assert_eq!(read_png(&request.output_dir.join("thumb-16.png")).unwrap().width, 16);

    request.assignment.chunk = Chunk::Frames { first: 2, last: 3 };
    let heard = Heard::default();
    let output = run(&request, &heard).unwrap();
    assert_eq!(names(&output), ["turntable/0002.png", "turntable/0003.png"]);
    assert!(heard.said("frame 3 of 4"));
    let frame = |index| read_png(&request.output_dir.join(turntable_file(index))).unwrap();
    assert_eq!(frame(2).width, 33);
    assert_ne!(frame(2), frame(3));

    request.assignment.chunk = Chunk::Frames { first: 4, last: 5 };
    let failure = run(&request, &Heard::default()).unwrap_err();
    assert_eq!(failure.reason, Reason::SettingInvalid);
}

#[test]
fn the_passes_of_the_recipe_lie_beside_the_still() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request_of(folder.path(), AssetKind::Mesh, Chunk::Still);
    request.assignment.settings.thumbnails_px.clear();
    request.assignment.settings.passes = vec![Pass::Normal, Pass::Wireframe, Pass::Normal];
    write_glb(&pyramid(), &request.input_dir.join("transform/scene.glb")).unwrap();
    let output = run(&request, &Heard::default()).unwrap();
    assert_eq!(names(&output), ["still.png", "pass-normal.png", "pass-wireframe.png"]);
    let [still, normals, edges] =
        [0, 1, 2].map(|at| read_png(&request.output_dir.join(&output.files[at].name)).unwrap());
    assert!(still != normals && normals != edges && normals.width == 64);
}

#[test]
fn an_image_of_light_is_tone_mapped_and_never_enlarged() {
    let folder = tempfile::tempdir().unwrap();
    let request = request_of(folder.path(), AssetKind::Image, Chunk::Still);
    let light = LinearImage { width: 20, height: 10, pixels: vec![[0.54, 0.54, 0.54, 1.0]; 200] };
    write_exr(&light, &request.input_dir.join("transform/image.exr")).unwrap();
    let heard = Heard::default();
    let output = run(&request, &heard).unwrap();
    assert_eq!(names(&output), ["still.png", "thumb-32.png", "thumb-16.png"]);
    assert!(heard.said("exposure +0.00 EV"));
    let still = read_png(&request.output_dir.join("still.png")).unwrap();
    assert_eq!((still.width, still.height), (20, 10));
    // 0.54 − 0.04 in linear light.
    assert!(still.rgba[0].abs_diff(188) <= 1, "{}", still.rgba[0]);
    assert_eq!(output.report.drawn_by, None);
}

#[test]
fn the_recipe_chooses_the_tone_map_of_stills_and_frames() {
    let folder = tempfile::tempdir().unwrap();
    let light = LinearImage { width: 4, height: 2, pixels: vec![[0.54, 0.54, 0.54, 1.0]; 8] };
    let shown = |kind, tone_map, file: &str| {
        let mut request = request_of(folder.path(), kind, Chunk::Whole);
        request.assignment.settings.tone_map = tone_map;
        let transformed = request.input_dir.join("transform");
        write_exr(&light, &transformed.join("image.exr")).unwrap();
        let frames = vec![FrameEntry { index: 1, number: 1, name: "image.exr".to_owned() }];
        let list = serde_json::to_vec(&FrameList { fps: None, frames }).unwrap();
        std::fs::write(transformed.join(FRAMES_FILE), list).unwrap();
        let heard = Heard::default();
        run(&request, &heard).unwrap();
        assert!(heard.said(tone_map.title()), "{tone_map}");
        read_png(&request.output_dir.join(file)).unwrap().rgba[0]
    };
    for (kind, file) in [(AssetKind::Image, STILL_FILE), (AssetKind::Sequence, "frames/000001.png")]
    {
        let [neutral, agx, aces, linear] = ToneMap::ALL.map(|map| shown(kind, map, file));
        assert!(neutral.abs_diff(188) <= 1 && linear.abs_diff(194) <= 1, "{neutral} {linear}");
        assert!(agx < neutral && aces < neutral && agx != aces, "{agx} {aces}");
    }
}

#[test]
fn a_sequence_gives_its_middle_frame_and_flat_frames_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request_of(folder.path(), AssetKind::Sequence, Chunk::Still);
    let transformed = request.input_dir.join("transform");
    let mut frames = Vec::new();
    for index in 1..=3_u32 {
        let name = format!("frames/{index:06}.png");
        let rgba = [index as u8 * 60, 0, 0, 128].repeat(48 * 20);
        write_png(&Picture { width: 48, height: 20, rgba }, &transformed.join(&name)).unwrap();
        frames.push(FrameEntry { index, number: 1_000 + i64::from(index), name });
    }
    let list = FrameList { fps: None, frames };
    std::fs::write(transformed.join(FRAMES_FILE), serde_json::to_vec(&list).unwrap()).unwrap();
    run(&request, &Heard::default()).unwrap();
    let still = read_png(&request.output_dir.join("still.png")).unwrap();
    assert_eq!(&still.rgba[..4], [120, 0, 0, 128]);

    request.assignment.chunk = Chunk::Frames { first: 1, last: 3 };
    let heard = Heard::default();
    let output = run(&request, &heard).unwrap();
    assert_eq!(names(&output), ["frames/000001.png", "frames/000002.png", "frames/000003.png"]);
    let frame = read_png(&request.output_dir.join("frames/000003.png")).unwrap();
    assert_eq!((frame.width, frame.height), (24, 10));
    assert_eq!(&frame.rgba[..4], [90, 0, 0, 255]);
    assert!(heard.said("frame 2 of 3"));
}

#[test]
fn what_transform_did_not_make_is_an_error_and_no_panic() {
    for kind in AssetKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let request = request_of(folder.path(), kind, Chunk::Still);
        assert!(run(&request, &Heard::default()).is_err(), "{kind:?}");
    }
}
