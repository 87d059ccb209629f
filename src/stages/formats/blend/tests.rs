//! What is read of files of every layout, and the right reason for those that cannot be read.

use super::testing::{Value, Writer, film};
use super::*;
use crate::model::Reason;
use Value::{At, Int, Text};

const LAYOUTS: [&str; 5] =
    ["BLENDER_v279", "BLENDER_V248", "BLENDER-v304", "BLENDER-V293", "BLENDER17-01v0500"];

fn read_bytes(bytes: &[u8]) -> Result<BlendFile, BlendError> {
    read_source(&mut Cursor::new(bytes))
}

fn good(bytes: &[u8]) -> BlendFile {
    read_bytes(bytes).expect("readable")
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn skippable(length: u32) -> Vec<u8> {
    let mut frame = vec![0x5e, 0x2a, 0x4d, 0x18];
    frame.extend(length.to_le_bytes());
    frame.resize(8 + length as usize, 0x28);
    frame
}

fn refused(bytes: &[u8], reason: Reason, part: &str) {
    let error = read_bytes(bytes).map(|file| file.version).expect_err(part);
    assert_eq!(error.reason(), reason, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn every_layout_reads_the_same() {
    let versions = [(2, 79), (2, 48), (3, 4), (2, 93), (5, 0)];
    let model = good(&film("BLENDER-v304"));
    for (header, (major, minor)) in LAYOUTS.into_iter().zip(versions) {
        let read = good(&film(header));
        assert_eq!(read.version, BlendVersion { major, minor }, "{header}");
        let big = header.contains('V');
        assert_eq!(read.layout.endian == Endian::Big, big, "{header}");
        let small = header.contains('_');
        assert_eq!(read.layout.pointer_size == PointerSize::Bits32, small, "{header}");
        let same = BlendFile { version: model.version, layout: model.layout, ..read };
        assert_eq!(same, model, "{header}");
    }
}

#[test]
fn scenes_and_cameras_are_read() {
    let file = good(&film("BLENDER-v304"));
    let [other, shot] = file.scenes.as_slice() else { panic!("{:?}", file.scenes) };
    assert!(!other.is_active && other.samples.is_none() && other.frame_step == 1);
    assert_eq!(other.active_camera.as_deref(), Some("LibCam"), "a linked one");
    let wanted = BlendScene {
        name: "Shot ü".into(),
        frame_start: -5,
        frame_end: 17,
        frame_step: 3,
        fps: FrameRate { frames: 24, seconds: f64::from(1.001_f32) },
        width: 640,
        height: 360,
        percent: 50,
        engine: "CYCLES".into(),
        active_camera: Some("Cam B".into()),
        samples: Some(77),
        uses_denoising: Some(false),
        is_active: true,
    };
    assert_eq!(*shot, wanted);
    assert!(shot.fps.per_second().is_some_and(|rate| (rate - 23.976).abs() < 0.001));
    assert_eq!(file.cameras, ["Cam A", "Cam B", "LibCam"]);
    assert_eq!(file.minimum_version, Some(BlendVersion { major: 2, minor: 45 }));
    assert!(file.thumbnail);
}

#[test]
fn needed_files_are_read_each_once() {
    let file = good(&film("BLENDER17-01v0500"));
    let short = |reference: &Reference| {
        let path = reference.path_written.clone();
        (path, reference.packed, reference.is_sequence, reference.is_pattern())
    };
    let is = |path: &str, packed, sequence, pattern| (path.to_owned(), packed, sequence, pattern);
    let libraries: Vec<_> = file.libraries.iter().map(short).collect();
    assert_eq!(libraries, [is("//lib.blend", false, false, false)]);
    let images: Vec<_> = file.images.iter().map(short).collect();
    let wanted = [
        is("//plates/a.png", false, false, false),
        is("//plates/b.png", false, false, false),
        is("//tex/wood.png", false, false, false),
        is("//tex/packed.png", true, false, false),
        is("//tex/seq.0001.png", false, true, true),
        is("//tex/tile.<UDIM>.exr", false, false, true),
        is("C:\\x\\y.png", false, false, false),
    ];
    assert_eq!(images, wanted);
    let others: Vec<_> = file.others.iter().map(|other| (other.kind, short(other))).collect();
    let wanted = [
        (ReferenceKind::Sound, is("//snd.wav", true, false, false)),
        (ReferenceKind::Movie, is("//clip_001.jpg", false, true, true)),
        (ReferenceKind::Font, is("//font.ttf", false, false, false)),
        (ReferenceKind::Volume, is("//smoke_0001.vdb", false, true, true)),
    ];
    assert_eq!(others, wanted);
}

#[test]
fn a_screen_names_the_active_scene_where_nothing_else_does() {
    let mut file = Writer::new("BLENDER_v245");
    file.add("GLOB", "FileGlobal", 1, &[("curscreen", At(0x90))]);
    file.add("SR", "bScreen", 0x90, &[("id.name", Text("SRDefault")), ("scene", At(0x11))]);
    file.add("SC", "Scene", 0x10, &[("id.name", Text("SCa"))]);
    file.add("SC", "Scene", 0x11, &[("id.name", Text("SCb"))]);
    let active: Vec<bool> =
        good(&file.finish()).scenes.iter().map(|scene| scene.is_active).collect();
    assert_eq!(active, [false, true]);
}

#[test]
fn libraries_whose_content_is_inside_are_not_needed() {
    let packed_parent = |linked_too: bool| {
        let mut file = Writer::new("BLENDER17-01v0500");
        file.add("LI", "Library", 0x80, &[("name", Text("//sub/lib.blend"))]);
        if linked_too {
            file.add("ID", "ID", 0x82, &[("name", Text("OBx"))]);
        }
        let archive = [
            ("name", Text("//sub/lib.blend")),
            ("flag", Int(1)),
            ("archive_parent_library", At(0x80)),
        ];
        file.add("LI", "Library", 0x81, &archive);
        let image = [("id.lib", At(0x81)), ("filepath", Text("//wood.png")), ("source", Int(1))];
        file.add("IM", "Image", 0x40, &image);
        let file = good(&file.finish());
        assert_eq!(file.images[0].of_library.as_deref(), Some("//sub/lib.blend"));
        let [library] = file.libraries.as_slice() else { panic!("{:?}", file.libraries) };
        library.packed
    };
    assert!(packed_parent(false));
    assert!(!packed_parent(true));
}

#[test]
fn parts_are_those_of_their_own_data_block() {
    let mut file = Writer::new("BLENDER-v304");
    for (address, name, samples) in [(0x10, "SCa", 5), (0x11, "SCb", 6)] {
        let scene =
            [("id.name", Text(name)), ("id.properties", At(1)), ("r.engine", Text("CYCLES"))];
        file.add("SC", "Scene", address, &scene);
        // Addresses of parts come again in the next data-block.
        file.add("DATA", "IDProperty", 1, &[("data.group.first", At(2))]);
        let group = [("name", Text("cycles")), ("data.group.first", At(3))];
        file.add("DATA", "IDProperty", 2, &group);
        let value = [("name", Text("samples")), ("type", Int(1)), ("data.val", Int(samples))];
        file.add("DATA", "IDProperty", 3, &value);
    }
    let samples: Vec<_> = good(&file.finish()).scenes.iter().map(|scene| scene.samples).collect();
    assert_eq!(samples, [Some(5), Some(6)]);
}

#[test]
fn packed_data_counts_paths_from_its_library() {
    let target = |library: Option<&str>, path: &str| {
        let mut reference = references::reference(ReferenceKind::Image, path.into());
        reference.of_library = library.map(str::to_owned);
        reference.target("shots/a.blend")
    };
    let inside = |path: &str| Target::Inside(path.to_owned());
    assert_eq!(target(None, "//t.png"), inside("shots/t.png"));
    assert_eq!(target(Some("//../lib/l.blend"), "//t.png"), inside("lib/t.png"));
    assert_eq!(target(Some("//../lib/l.blend"), "/t.png"), Target::Absolute("/t.png".into()));
    let outside = Target::Outside("../lib/t.png".into());
    assert_eq!(target(Some("//../../lib/l.blend"), "//t.png"), outside);
    let absolute = Target::Absolute("P:\\lib/t.png".into());
    assert_eq!(target(Some("P:\\lib\\l.blend"), "//t.png"), absolute);
}

#[test]
fn compressed_files_read_the_same() {
    let plain = film("BLENDER-v304");
    let (first, second) = plain.split_at(3_000);
    let frames = [skippable(0), zstd(first), skippable(9), zstd(second), skippable(24)].concat();
    let members = [gzip(first), gzip(second)].concat();
    let cases = [
        (Compression::Gzip, gzip(&plain)),
        (Compression::Gzip, members),
        (Compression::Zstd, zstd(&plain)),
        (Compression::Zstd, frames),
    ];
    let model = good(&plain);
    for (compression, bytes) in cases {
        let read = good(&bytes);
        assert_eq!(read, BlendFile { compression, ..model.clone() });
    }
}

#[test]
fn the_first_bytes_give_the_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.blend");
    for header in LAYOUTS {
        let plain = film(header);
        let wanted = Some(good(&plain).version);
        for bytes in [gzip(&plain), zstd(&plain), plain] {
            std::fs::write(&path, &bytes).expect("written");
            assert_eq!(version(&path).expect("readable"), wanted, "{header}");
            assert!(is_blend(&bytes), "{header}");
        }
    }
    for other in [&b"\x89PNG\r\n\x1a\n"[..], b"", b"BLENDER", b"BLENDER-v3", b"BLENDERS ARE"] {
        std::fs::write(&path, other).expect("written");
        assert_eq!(version(&path).expect("readable"), None, "{other:?}");
        assert!(!is_blend(&gzip(other)) && !is_blend(&zstd(other)), "{other:?}");
    }
    assert!(version(&folder.path().join("absent.blend")).is_err());
}

#[test]
fn cut_files_are_called_cut() {
    for header in ["BLENDER_v248", "BLENDER17-01v0500"] {
        let plain = film(header);
        // Of the last block only the code is read, and of an archive's end nothing.
        let end = plain.len() - if header.contains('_') { 20 } else { 32 };
        let packed = [gzip(&plain), zstd(&plain)];
        for (bytes, end) in [
            (&plain, end + 3),
            (&packed[0], packed[0].len() - 80),
            (&packed[1], packed[1].len() - 80),
        ] {
            for cut in (4..=end).rev().step_by(61) {
                let error = read_bytes(&bytes[..cut]).map(|file| file.version).expect_err("cut");
                assert_eq!(error.reason(), Reason::InputTruncated, "{header} at {cut}: {error}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_has_its_reason() {
    refused(b"", Reason::InputUnsupported, "no Blender file");
    refused(&gzip(b"dear diary"), Reason::InputUnsupported, "no Blender file");
    refused(b"BLENDER-x304", Reason::InputUnsupported, "no Blender file");
    refused(b"BLENDER17-02v0600xxxx", Reason::InputUnsupported, "BLENDER17-02v0600");
    refused(
        b"BLENDER-v304 \x01 garbage of more than 24 bytes",
        Reason::SceneCorrupt,
        "something else",
    );
    refused(b"BLENDER-v304ENDB", Reason::SceneCorrupt, "DNA1");
    let mut file = Writer::new("BLENDER-v304");
    file.head("DNA1", -1, 0, 0, 1);
    refused(&file.bytes, Reason::SceneCorrupt, "something else");
    let mut file = Writer::new("BLENDER-v304");
    file.block("DNA1", "", 0, 1, b"SDNANAME\xff\xff\xff\x7f");
    refused(&file.bytes, Reason::InputTooLarge, "catalogue");
    let mut file = Writer::new("BLENDER-v304");
    file.block("DNA1", "", 0, 1, b"SDNANAME\x01\0\0\0x");
    refused(&file.bytes, Reason::SceneCorrupt, "DNA1");
    let mut file = Writer::new("BLENDER-v304");
    file.head("DNA1", 17 << 20, 0, 0, 1);
    refused(&file.bytes, Reason::InputTooLarge, "one block");
    let mut file = Writer::new("BLENDER17-01v0500");
    file.head("IM", i64::MAX, 0, 0, 1);
    refused(&file.bytes, Reason::InputTruncated, "longer than what is left");
    let mut file = Writer::new("BLENDER-v304");
    file.block("SC", "Scene", 1, 1, &[0; 30]);
    refused(&file.finish(), Reason::SceneCorrupt, "Scene is too short");
    let missing = read(Path::new("/nonexistent/a.blend")).expect_err("missing");
    assert_eq!(missing.reason(), Reason::InputUnreadable);
}

#[test]
fn nothing_is_read_without_end() {
    let mut file = Writer::new("BLENDER17-01v0500");
    file.add("SC", "Scene", 1, &[("id.name", Text("SCa"))]);
    file.add("DATA", "Sequence", 2, &[("strip", At(3))]);
    file.add("DATA", "Strip", 3, &[("stripdata", At(4))]);
    let elements: Vec<u8> = (0..=bounds::REFERENCES)
        .flat_map(|number| {
            let name = format!("{number}");
            file.structure("StripElem", &[("name", Text(&name))])
        })
        .collect();
    file.block("DATA", "StripElem", 4, 1, &elements);
    refused(&file.finish(), Reason::InputTooLarge, "files that it refers to");

    let mut file = Writer::new("BLENDER17-01v0500");
    let half = i64::try_from(bounds::KEPT_BLOCK_BYTES).expect("small") + 1;
    file.dna();
    file.head("IM", half, 0, 0, 1);
    refused(&file.bytes, Reason::InputTooLarge, "one block");

    let bytes = gzip(&film("BLENDER-v304"));
    let mut source = Cursor::new(bytes.as_slice());
    let mut stream = Stream::open(&mut source).expect("gzip");
    stream.left = 100;
    stream.header().expect("a header");
    let error = stream.skip(89).expect_err("over the bound");
    assert_eq!(error.reason(), Reason::InputTooLarge, "{error}");

    let mut file = Writer::new("BLENDER-v304");
    file.add(
        "SC",
        "Scene",
        1,
        &[("id.name", Text("SCa")), ("id.properties", At(2)), ("r.engine", Text("CYCLES"))],
    );
    file.add("DATA", "IDProperty", 2, &[("data.group.first", At(3))]);
    file.add("DATA", "IDProperty", 3, &[("next", At(3))]);
    assert_eq!(good(&file.finish()).scenes[0].samples, None, "a ring of properties");
}
