//! Readers on good and bad files.

use super::*;
use crate::preview::scene::{AlphaMode, Mapping, Mappings, Material, Part, Texture, UvSet, Wrap};
use crate::preview::{DecodedImage, LinearImage, Picture};
use glam::{Vec2, Vec3, Vec4};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub(super) struct Quiet;

impl Reporter for Quiet {
    fn progress(&self, _percent: f32, _message: &str) {}
    fn log(&self, _line: &str) {}
}

pub(super) fn load(name: &str, bytes: &[u8]) -> Result<LoadedScene, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(&folder, name, bytes);
    load_scene(&path, folder.path(), &Quiet)
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("written");
    path
}

fn picture(name: &str, bytes: &[u8]) -> Result<DecodedImage, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    load_image(&put(&folder, name, bytes))
}

/// A scene with everything that the writer can write.
pub(super) fn rich_scene() -> Scene {
    let texture = Texture {
        name: "checker".to_owned(),
        width: 2,
        height: 1,
        rgba: vec![255, 0, 0, 255, 0, 255, 0, 128],
        wrap: [Wrap::Mirror, Wrap::Clamp],
        nearest: true,
    };
    let material = Material {
        name: "glow".to_owned(),
        base_color: Vec4::new(0.5, 0.25, 1.0, 0.5),
        base_color_texture: Some(0),
        metallic_roughness_texture: Some(0),
        normal_texture: Some(0),
        normal_scale: 0.5,
        occlusion_texture: Some(0),
        occlusion_strength: 0.5,
        emissive: Vec3::new(4.0, 1.0, 0.0),
        emissive_texture: Some(0),
        mappings: Mappings {
            normal: Mapping { uv_set: UvSet::Second, ..Mapping::default() },
            emissive: Mapping {
                uv_set: UvSet::Second,
                offset: Vec2::new(0.25, -1.0),
                rotation: 0.5,
                scale: Vec2::new(2.0, -3.0),
            },
            ..Mappings::default()
        },
        alpha: AlphaMode::Mask { cutoff: 0.25 },
        unlit: true,
        ..Material::default()
    };
    let part = Part {
        name: "triangle".to_owned(),
        positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
        normals: vec![Vec3::Z; 3],
        uvs: vec![Vec2::ZERO, Vec2::X, Vec2::Y],
        more_uvs: vec![Vec2::ONE, Vec2::X, Vec2::new(0.5, -4.0)],
        tangents: vec![Vec4::new(0.0, 1.0, 0.0, -1.0), Vec4::X + Vec4::W, -Vec4::X - Vec4::W],
        colors: vec![Vec4::ONE, Vec4::splat(0.5), Vec4::W],
        indices: vec![0, 1, 2],
        material: 0,
    };
    Scene { parts: vec![part], materials: vec![material], textures: vec![texture] }
}

#[test]
fn a_written_scene_reads_back_the_same() {
    let scene = rich_scene();
    let bytes = glb_writer::glb_bytes(&scene).expect("written");
    ::gltf::Gltf::from_slice(&bytes).expect("the strict parser agrees");
    let loaded = load("a.glb", &bytes).expect("reads");
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.scene.materials, scene.materials);
    let ([read], [written]) = (loaded.scene.parts.as_slice(), scene.parts.as_slice()) else {
        panic!("one part")
    };
    assert_eq!(read.positions, written.positions);
    assert_eq!((&read.normals, &read.uvs), (&written.normals, &written.uvs));
    assert_eq!((&read.more_uvs, &read.tangents), (&written.more_uvs, &written.tangents));
    assert_eq!((&read.colors, &read.indices), (&written.colors, &written.indices));
    let [texture] = loaded.scene.textures.as_slice() else { panic!("one texture") };
    assert_eq!(texture.rgba, [255, 0, 0, 255, 0, 255, 0, 128]);
    assert_eq!((texture.wrap, texture.nearest), ([Wrap::Mirror, Wrap::Clamp], true));
    assert_eq!(loaded.facts.get("triangles"), Some(&1.into()));
}

/// A .gltf with three corners in a data: URI, and a part of its JSON replaced.
fn gltf(from: &str, to: &str) -> Vec<u8> {
    const TEXT: &str = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
        "nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0},"mode":4}]}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}],
        "bufferViews":[{"buffer":0,"byteLength":36}],
        "buffers":[{"byteLength":36,"uri":"data:;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]}"#;
    assert!(from.is_empty() || TEXT.contains(from), "{from}");
    TEXT.replacen(from, to, 1).into_bytes()
}

#[test]
fn a_mirrored_node_keeps_its_front_and_a_strip_its_winding() {
    let plain = load("a.gltf", &gltf("", "")).expect("reads");
    assert_eq!(plain.scene.parts[0].normals, [Vec3::Z; 3]);
    let mirrored = gltf(r#"{"mesh":0}"#, r#"{"mesh":0,"scale":[-1,1,1],"translation":[5,0,0]}"#);
    let mirrored = load("a.gltf", &mirrored).expect("reads");
    assert_eq!(mirrored.scene.parts[0].normals, [Vec3::Z; 3]);
    assert!(mirrored.scene.parts[0].positions.contains(&Vec3::new(4.0, 0.0, 0.0)));
    let strip = load("a.gltf", &gltf(r#""mode":4"#, r#""mode":5"#)).expect("reads");
    assert_eq!(strip.scene.triangles(), 1);
}

#[test]
fn bad_gltf_files_have_the_right_reason() {
    use Reason::{
        InputCorrupt, InputNothingToDraw, InputTruncated, InputUnsupported, ReferenceMissing,
        ReferenceOutside,
    };
    let uri = r#""uri":"data:;base64,AAAA"#;
    let cases: [(&str, &str, Reason, &str); 17] = [
        (
            r#""nodes":[{"mesh":0}]"#,
            r#""nodes":[{"mesh":0,"children":[0]}]"#,
            InputCorrupt,
            "ancestor",
        ),
        (r#"[{"nodes":[0]}]"#, r#"[{"nodes":[7]}]"#, InputCorrupt, "node 7"),
        (r#"{"mesh":0}"#, r#"{"mesh":3}"#, InputCorrupt, "mesh 3"),
        (r#""POSITION":0"#, r#""POSITION":9"#, InputCorrupt, "accessor 9"),
        (r#""count":3"#, r#""count":4"#, InputCorrupt, "accessor 0"),
        (r#""count":3"#, r#""count":99999999999"#, Reason::InputTooLarge, "accessor 0"),
        (r#""byteLength":36}]"#, r#""byteLength":99}]"#, InputCorrupt, "view 0"),
        (r#""byteLength":36,"#, r#""byteLength":99,"#, InputTruncated, "99"),
        (r#""buffer":0"#, r#""buffer":1"#, InputCorrupt, "no buffer"),
        (r#""mesh":0"#, r#""mesh":null"#, InputNothingToDraw, "nothing to draw"),
        (r#""mode":4"#, r#""mode":4,"indices":0"#, InputCorrupt, "whole numbers"),
        (r#""mode":4"#, r#""mode":4,"material":0"#, InputCorrupt, "material 0"),
        (r#""version":"2.0""#, r#""version":"1.0""#, InputUnsupported, "1.0"),
        (
            r#""scene":0"#,
            r#""scene":0,"extensionsRequired":["KHR_draco_mesh_compression"]"#,
            InputUnsupported,
            "KHR_draco_mesh_compression",
        ),
        (uri, r#""uri":"gone.bin","x":"#, ReferenceMissing, "gone.bin"),
        (uri, r#""uri":"../up.bin","x":"#, ReferenceOutside, "../up.bin"),
        (r#""scene":0"#, r#""scene":}"#, InputCorrupt, "line 1"),
    ];
    for (from, to, reason, part) in cases {
        let bytes = gltf(from, to);
        let bytes = if to.contains(r#""x":"#) {
            let text = String::from_utf8(bytes).expect("is text");
            let end = text.find(r#","x":"#).expect("is there");
            format!("{}}}]}}", &text[..end]).into_bytes()
        } else {
            bytes
        };
        let failure = load("a.gltf", &bytes).expect_err(to);
        assert_eq!(failure.reason, reason, "{to}: {}", failure.message);
        assert!(failure.message.contains(part), "{to}: {}", failure.message);
    }
}

#[test]
fn bad_glb_files_have_the_right_reason() {
    let good = glb_writer::glb_bytes(&rich_scene()).expect("written");
    let changed = |at: usize, bytes: &[u8]| {
        let mut glb = good.clone();
        glb[at..at + bytes.len()].copy_from_slice(bytes);
        glb
    };
    let cases = [
        (good[..good.len() / 2].to_vec(), Reason::InputTruncated),
        (good[..10].to_vec(), Reason::InputTruncated),
        (changed(4, &[1]), Reason::InputUnsupported),
        (changed(12, &[0xff, 0xff, 0xff, 0x7f]), Reason::InputCorrupt),
        (changed(16, b"NOPE"), Reason::InputCorrupt),
        (changed(20, b"garbage"), Reason::InputCorrupt),
    ];
    for (at, (bytes, reason)) in cases.into_iter().enumerate() {
        let failure = load("a.glb", &bytes).expect_err("is bad");
        assert_eq!(failure.reason, reason, "case {at}: {}", failure.message);
    }
}

#[test]
fn a_sparse_accessor_moves_a_corner() {
    // Corner 2 of three zeros and one sparse value: the view's own bytes serve as both.
    let text = gltf(
        r#""count":3,"#,
        r#""count":3,"sparse":{"count":1,"indices":{"bufferView":1,"componentType":5121},"values":{"bufferView":2}},"#,
    );
    let text = String::from_utf8(text).expect("is text").replace(
        r#""byteLength":36}]"#,
        r#""byteLength":36},{"buffer":0,"byteLength":1},{"buffer":0,"byteOffset":12,"byteLength":12}]"#,
    );
    let loaded = load("a.gltf", text.as_bytes()).expect("reads");
    assert_eq!(loaded.scene.parts[0].positions, [Vec3::X, Vec3::X, Vec3::Y]);
}

fn stl(triangles: u32) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend(triangles.to_le_bytes());
    for _ in 0..triangles {
        for value in [0.0_f32, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([0, 0]);
    }
    bytes
}

#[test]
fn stl_is_turned_up_and_all_solids_are_read() {
    let loaded = load("a.stl", &stl(1)).expect("reads");
    assert_eq!(loaded.scene.parts[0].positions, [Vec3::ZERO, Vec3::X, Vec3::NEG_Z]);
    assert_eq!(loaded.scene.parts[0].normals, [Vec3::Y; 3]);
    let solid = "solid\ta\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e0 0\nendloop\nendfacet\nendsolid\n";
    let loaded = load("a.stl", solid.repeat(2).as_bytes()).expect("reads");
    assert_eq!((loaded.scene.parts.len(), loaded.scene.triangles()), (2, 2));
}

#[test]
fn obj_reads_what_exporters_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let png = image_writer::png_bytes(1, 1, &[9, 8, 7, 255]).expect("encoded");
    put(&folder, "wood.png", &png);
    put(&folder, "two words.mtl", b"newmtl old wood\nKd 0 0 0\nd 0.5\nmap_Kd -s 2 2 WOOD.png\n");
    let text = "mtllib two words.mtl\r\nv +0 0. 0\nv 1 0 0\nv 1 1 0\nv 0 1 0 \nvt 0.25 0.25\nusemtl old wood\no a\nf -4/1 -3/1 -2/1 \\\n -1/1\nl 1 2\n";
    let path = put(&folder, "a.obj", text.as_bytes());
    let loaded = load_scene(&path, folder.path(), &Quiet).expect("reads");
    let part = &loaded.scene.parts[0];
    assert_eq!(part.indices.len(), 2 * 3);
    assert_eq!(part.normals, [Vec3::Z; 6]);
    assert_eq!(part.uvs[0], Vec2::new(0.5, 0.5));
    let material = &loaded.scene.materials[part.material];
    assert_eq!(material.base_color, Vec4::new(1.0, 1.0, 1.0, 0.5));
    assert_eq!(material.alpha, AlphaMode::Blend);
    assert_eq!(loaded.scene.textures[0].rgba, [9, 8, 7, 255]);
    assert_eq!(loaded.warnings, []);
    // Two triangles, and the line as a bar of six.
    assert_eq!(loaded.scene.parts[1].indices.len(), 6 * 3);
}

#[test]
fn ply_reads_every_encoding() {
    let head = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment x\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        )
    };
    let corners = [[0.0_f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut text = head("ascii").into_bytes();
    let mut little = head("binary_little_endian").into_bytes();
    let mut big = head("binary_big_endian").into_bytes();
    for [x, y, z] in corners {
        text.extend(format!("{x} {y} {z} 255 0 0\n").bytes());
        for value in [x, y, z] {
            little.extend(value.to_le_bytes());
            big.extend(value.to_be_bytes());
        }
        little.extend([255, 0, 0]);
        big.extend([255, 0, 0]);
    }
    text.extend(b"4 0 1 2 3");
    little.push(4);
    big.push(4);
    for index in 0..4_i32 {
        little.extend(index.to_le_bytes());
        big.extend(index.to_be_bytes());
    }
    for bytes in [text, little, big] {
        let part = load("a.ply", &bytes).expect("reads").scene.parts.remove(0);
        assert_eq!(part.indices.len(), 6);
        assert_eq!(part.normals, [Vec3::Z; 6]);
        assert_eq!(part.colors[0], Vec4::new(1.0, 0.0, 0.0, 1.0));
        let cut = &bytes[..bytes.len() - 3];
        assert_eq!(load("a.ply", cut).map_err(|f| f.reason).err(), Some(Reason::InputTruncated));
    }
}

#[test]
fn points_and_lines_are_drawn_in_every_format() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n0 0 0 255 0 0\n1 0 0 0 0 255\n";
    let cases = [
        ("cloud.ply", ply, 2 * 8),
        ("cloud.obj", "v 0 0 0 1 0 0\nv 1 0 0 0 0 1\n", 2 * 8),
        ("points.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\np 1 2\n", 2 * 8),
        ("line.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1/1 2/1 -1\n", 2 * 6),
    ];
    for (name, text, triangles) in cases {
        let loaded = load(name, text.as_bytes()).expect(name);
        assert_eq!(loaded.scene.triangles(), triangles, "{name}");
        assert_eq!(loaded.warnings, [], "{name}");
        if name.starts_with("cloud") {
            assert_eq!(loaded.scene.parts[0].colors[0], Vec4::new(1.0, 0.0, 0.0, 1.0), "{name}");
        }
    }
}

#[test]
fn bad_meshes_have_the_right_reason() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
    let faces =
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n";
    let cases: [(&str, Vec<u8>, Reason); 14] = [
        ("cut.stl", stl(4)[..200].to_vec(), Reason::InputTruncated),
        (
            "cut.stl",
            b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n".to_vec(),
            Reason::InputTruncated,
        ),
        ("bad.stl", b"solid a\nvertex 0 x 0\n".to_vec(), Reason::InputCorrupt),
        ("empty.stl", stl(0), Reason::InputNothingToDraw),
        ("nan.obj", b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec(), Reason::InputNothingToDraw),
        (
            "material.obj",
            b"# made by hand\n\nusemtl x\nv nan 0 0\n".to_vec(),
            Reason::InputNothingToDraw,
        ),
        ("wild.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n".to_vec(), Reason::InputCorrupt),
        ("zero.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n".to_vec(), Reason::InputCorrupt),
        ("word.obj", b"v 0 0 0\nv 1 0 zero\n".to_vec(), Reason::InputCorrupt),
        ("lib.obj", b"mtllib gone.mtl\nv 0 0 0\n".to_vec(), Reason::ReferenceMissing),
        ("up.obj", b"mtllib ../up.mtl\nv 0 0 0\n".to_vec(), Reason::ReferenceOutside),
        (
            "splats.ply",
            format!("{ply}property float f_dc_0\nend_header\n0 0 0 1\n1 0 0 1\n0 1 0 1\n")
                .into_bytes(),
            Reason::InputUnsupported,
        ),
        ("wild.ply", format!("{ply}{faces}3 0 1 -1\n").into_bytes(), Reason::InputCorrupt),
        (
            "bomb.ply",
            format!("{ply}{faces}3 0 1 2").replace("vertex 3", "vertex 4000000000").into_bytes(),
            Reason::InputTruncated,
        ),
    ];
    for (name, bytes, reason) in cases {
        let failure = load(name, &bytes).expect_err(name);
        assert_eq!(failure.reason, reason, "{name}: {}", failure.message);
        assert!(!failure.message.is_empty());
    }
}

pub(super) fn exr() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.exr");
    let pixels = (0..64 * 40).map(|at| [at as f32, 2.0, 0.5, 1.0]).collect();
    write_exr(&LinearImage { width: 64, height: 40, pixels }, &path).expect("written");
    fs::read(path).expect("readable")
}

pub(super) fn png() -> Vec<u8> {
    let rgba: Vec<u8> = (0..64 * 64 * 4_usize).map(|at| (at * 7 % 251) as u8).collect();
    image_writer::png_bytes(64, 64, &rgba).expect("encoded")
}

#[test]
fn exr_keeps_its_light_and_composes_the_data_window() {
    let DecodedImage::Light(light) = picture("a.exr", &exr()).expect("reads") else {
        panic!("is light")
    };
    assert_eq!((light.width, light.height), (64, 40));
    assert_eq!(Vec4::from(light.pixels[1_000]), Vec4::new(1_000.0, 2.0, 0.5, 1.0));
    // The display window moves by two pixels: two columns are cut and two stay clear.
    let moved = with_window(&exr(), "displayWindow", [2, 0, 65, 39]);
    let DecodedImage::Light(light) = picture("a.exr", &moved).expect("reads") else {
        panic!("is light")
    };
    assert_eq!(Vec4::from(light.pixels[0]), Vec4::new(2.0, 2.0, 0.5, 1.0));
    assert_eq!(Vec4::from(light.pixels[63]), Vec4::ZERO);
}

/// Replaces a window in the header of an EXR.
fn with_window(exr: &[u8], name: &str, window: [i32; 4]) -> Vec<u8> {
    let mut exr = exr.to_vec();
    let mut mark = name.as_bytes().to_vec();
    mark.extend(b"\0box2i\0\x10\0\0\0");
    let at = exr.windows(mark.len()).position(|part| part == mark).expect("is there");
    let start = at + mark.len();
    for (index, value) in window.into_iter().enumerate() {
        exr[start + index * 4..start + index * 4 + 4].copy_from_slice(&value.to_le_bytes());
    }
    exr
}

#[test]
fn an_exr_bomb_is_refused_by_its_header() {
    let cases = [
        (with_window(&exr(), "dataWindow", [0, 0, i32::MAX, i32::MAX]), Reason::InputTooLarge),
        (with_window(&exr(), "displayWindow", [0, 0, 99_999, 99_999]), Reason::InputTooLarge),
        (with_window(&exr(), "dataWindow", [5, 5, 0, 0]), Reason::InputCorrupt),
        (with_window(&exr(), "dataWindow", [0, 0, 8_191, 8_191]), Reason::InputTruncated),
        (exr()[..exr().len() - 40].to_vec(), Reason::InputTruncated),
        (exr()[..60].to_vec(), Reason::InputTruncated),
    ];
    for (at, (bytes, reason)) in cases.into_iter().enumerate() {
        let failure = picture("a.exr", &bytes).expect_err("is bad");
        assert_eq!(failure.reason, reason, "case {at}: {}", failure.message);
    }
}

fn encoded(format: image::ImageFormat, image: &image::DynamicImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

#[test]
fn cut_pictures_are_told_from_whole_ones() {
    let image = image::DynamicImage::ImageRgb8(image::RgbImage::from_fn(60, 40, |x, y| {
        image::Rgb([(x * 4) as u8, (y * 6) as u8, (x * y) as u8])
    }));
    let light = image::DynamicImage::ImageRgb32F(image.to_rgb32f());
    let cases = [
        ("a.png", encoded(image::ImageFormat::Png, &image)),
        ("a.jpg", encoded(image::ImageFormat::Jpeg, &image)),
        ("a.tif", encoded(image::ImageFormat::Tiff, &image)),
        ("a.hdr", encoded(image::ImageFormat::Hdr, &light)),
    ];
    for (name, bytes) in cases {
        let whole = picture(name, &bytes).expect(name);
        let size = match &whole {
            DecodedImage::Display(picture) => (picture.width, picture.height),
            DecodedImage::Light(light) => (light.width, light.height),
        };
        assert_eq!(size, (60, 40), "{name}");
        for cut in [bytes.len() - 2, bytes.len() / 2] {
            let failure = picture(name, &bytes[..cut]).expect_err(name);
            assert_eq!(failure.reason, Reason::InputTruncated, "{name} {cut}: {}", failure.message);
        }
    }
}

#[test]
fn exif_orientation_is_baked_in() {
    let image = image::DynamicImage::ImageRgb8(image::RgbImage::new(30, 20));
    let jpeg = encoded(image::ImageFormat::Jpeg, &image);
    let mut exif =
        b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    let mut segment = vec![0xff, 0xe1, 0, exif.len() as u8 + 2];
    segment.append(&mut exif);
    let mut turned = jpeg[..2].to_vec();
    turned.extend(segment);
    turned.extend(&jpeg[2..]);
    let DecodedImage::Display(Picture { width, height, .. }) =
        picture("a.jpg", &turned).expect("reads")
    else {
        panic!("is shown as it is")
    };
    assert_eq!((width, height), (20, 30));
    let folder = tempfile::tempdir().expect("a folder");
    let facts = image_facts(&put(&folder, "a.jpg", &turned)).expect("reads");
    assert_eq!((facts.width, facts.height, facts.orientation), (20, 30, 6));
}

#[test]
fn a_corrupt_picture_is_told_from_a_cut_one() {
    let mut bytes = png();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let failure = picture("a.png", &bytes).expect_err("is bad");
    assert_eq!(failure.reason, Reason::InputCorrupt, "{}", failure.message);
}
