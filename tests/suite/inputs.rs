//! Files that tests hand in: the shipped samples, and small ones made on the spot.

use image::{Rgba, RgbaImage};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The shipped samples.
pub(crate) fn samples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join("samples")
}

/// A shipped sample that is meant to be good, by its suffix.
pub(crate) fn sample(suffix: &str) -> PathBuf {
    let entries = fs::read_dir(samples_folder()).expect("assets/samples is there");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the entry can be read").path()).collect();
    paths.sort();
    let fits = |path: &PathBuf| {
        path.extension().is_some_and(|found| found == suffix)
            && !path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains("broken"))
    };
    paths.into_iter().find(fits).unwrap_or_else(|| panic!("no sample is a good .{suffix}"))
}

/// A picture whose pixels all differ, so that it does not compress to nothing.
pub(crate) fn picture(path: &Path, width: u32, height: u32) -> PathBuf {
    RgbaImage::from_fn(width, height, |x, y| {
        let mixed = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
        let [_, r, g, b] = mixed.wrapping_mul(0x27d4_eb2f).to_le_bytes();
        Rgba([r, g, b, 255])
    })
    .save(path)
    .expect("a picture can be written");
    path.to_owned()
}

/// A linear picture of half floats.
pub(crate) fn exr(path: &Path) -> PathBuf {
    exr::prelude::write_rgb_file(path, 64, 48, |x, y| {
        let of = |value: usize, all: usize| half::f16::from_f32(value as f32 / all as f32 * 2.0);
        (of(x, 64), of(y, 48), of(x + y, 112))
    })
    .expect("a linear picture can be written");
    path.to_owned()
}

/// The corners of a box around the origin, and its twelve triangles.
const CORNERS: [[f32; 3]; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];
const TRIANGLES: [[u16; 3]; 12] = [
    [0, 2, 1],
    [0, 3, 2],
    [4, 5, 6],
    [4, 6, 7],
    [0, 1, 5],
    [0, 5, 4],
    [3, 6, 2],
    [3, 7, 6],
    [1, 2, 6],
    [1, 6, 5],
    [0, 4, 7],
    [0, 7, 3],
];

/// A box as OBJ; `material` is the material file it names.
pub(crate) fn obj(path: &Path, material: Option<&str>) -> PathBuf {
    let mut text = String::from("# a box\n");
    if let Some(material) = material {
        write!(text, "mtllib {material}\nusemtl red\n").expect("a text takes letters");
    }
    for [x, y, z] in CORNERS {
        writeln!(text, "v {x} {y} {z}").expect("a text takes letters");
    }
    for corners in TRIANGLES {
        let [a, b, c] = corners.map(|corner| corner + 1);
        writeln!(text, "f {a} {b} {c}").expect("a text takes letters");
    }
    fs::write(path, text).expect("a mesh can be written");
    path.to_owned()
}

/// The material file of [`obj`].
pub(crate) fn mtl(path: &Path) {
    fs::write(path, "newmtl red\nKd 0.8 0.1 0.1\n").expect("a material can be written");
}

/// A box as binary STL.
pub(crate) fn stl(path: &Path) -> PathBuf {
    let mut bytes = vec![b' '; 80];
    bytes.extend((TRIANGLES.len() as u32).to_le_bytes());
    for corners in TRIANGLES {
        bytes.extend([0; 12]);
        for corner in corners {
            CORNERS[usize::from(corner)].iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    fs::write(path, bytes).expect("a mesh can be written");
    path.to_owned()
}

fn box_buffer() -> Vec<u8> {
    let mut bytes: Vec<u8> =
        CORNERS.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    bytes.extend(TRIANGLES.iter().flatten().flat_map(|corner| corner.to_le_bytes()));
    bytes
}

fn box_json(buffer_uri: Option<&str>) -> String {
    let points = CORNERS.len() * 12;
    let indices = TRIANGLES.len() * 6;
    let mut buffer = serde_json::json!({ "byteLength": points + indices });
    if let Some(uri) = buffer_uri {
        buffer["uri"] = uri.into();
    }
    serde_json::json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1 }] }],
        "buffers": [buffer],
        "bufferViews": [
            { "buffer": 0, "byteOffset": 0, "byteLength": points, "target": 34962 },
            { "buffer": 0, "byteOffset": points, "byteLength": indices, "target": 34963 }
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": CORNERS.len(), "type": "VEC3",
              "min": [-1.0, -1.0, -1.0], "max": [1.0, 1.0, 1.0] },
            { "bufferView": 1, "componentType": 5123, "count": TRIANGLES.len() * 3,
              "type": "SCALAR" }
        ]
    })
    .to_string()
}

/// A box as glTF whose buffer lies in the file that `buffer_uri` names.
pub(crate) fn gltf(path: &Path, buffer_uri: &str) -> PathBuf {
    fs::write(path, box_json(Some(buffer_uri))).expect("a mesh can be written");
    path.to_owned()
}

/// The buffer of [`gltf`].
pub(crate) fn gltf_buffer(path: &Path) {
    fs::write(path, box_buffer()).expect("a buffer can be written");
}

/// A box as GLB.
pub(crate) fn glb(path: &Path) -> PathBuf {
    let mut json = box_json(None).into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut buffer = box_buffer();
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    let size = |bytes: usize| (bytes as u32).to_le_bytes();
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend(size(12 + 8 + json.len() + 8 + buffer.len()));
    bytes.extend(size(json.len()));
    bytes.extend(b"JSON");
    bytes.extend(&json);
    bytes.extend(size(buffer.len()));
    bytes.extend(b"BIN\0");
    bytes.extend(&buffer);
    fs::write(path, bytes).expect("a mesh can be written");
    path.to_owned()
}

/// Cuts a file to a part of its length.
pub(crate) fn truncate(path: &Path, keep_percent: u64) -> PathBuf {
    let file = fs::OpenOptions::new().write(true).open(path).expect("the file is there");
    let length = file.metadata().expect("it has a size").len();
    file.set_len(length * keep_percent / 100).expect("it can be cut");
    path.to_owned()
}

#[test]
fn what_is_made_here_reads_back() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = |name: &str| folder.path().join(name);
    let bytes = fs::read(glb(&at("a.glb"))).expect("it can be read");
    let read = gltf::Gltf::from_slice(&bytes).expect("the GLB is valid");
    assert_eq!(read.blob.map(|blob| blob.len()), Some(box_buffer().len()));
    let bytes = fs::read(gltf(&at("a.gltf"), "a.bin")).expect("it can be read");
    gltf::Gltf::from_slice(&bytes).expect("the glTF is valid");
    let bytes = fs::read(stl(&at("a.stl"))).expect("it can be read");
    assert_eq!(bytes.len(), 84 + 50 * TRIANGLES.len());
    let read = image::open(picture(&at("a.png"), 1024, 1024)).expect("the picture is valid");
    assert_eq!(read.width(), 1024);
    let size = fs::metadata(at("a.png")).expect("it is there").len();
    assert!(size > 1_500_000, "the picture must not compress: {size} bytes");
    exr::prelude::read_first_flat_layer_from_file(exr(&at("a.exr"))).expect("the EXR is valid");
}
