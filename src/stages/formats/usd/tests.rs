//! Text scenes of our own, for one rule each, and the same ones binary, packed and damaged.

use super::crate_file;
use crate::model::Reason;
use crate::preview::scene::AlphaMode;
use crate::protocol::submit::MissingWhy;
use crate::stages::formats::image_writer::png_bytes;
use crate::stages::formats::tests::{Quiet, load};
use crate::stages::formats::{LoadedScene, load_scene, side_files};
use glam::{Vec2, Vec3};
use openusd::{usda, usdc};
use std::fs;

/// A quad in the plane z = 0 of a scene with +Z up in centimetres. `{HEAD}`, `{PRIM}`, `{MESH}` and
/// `{MORE}` are left to the tests.
const TEXT: &str = r#"#usda 1.0
(
    defaultPrim = "World"
    upAxis = "Z"
    metersPerUnit = 0.01
    {HEAD}
)
def Xform "World"
{
    {PRIM}
    def Mesh "board" (prepend apiSchemas = ["MaterialBindingAPI"])
    {
        uniform token subdivisionScheme = "none"
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        point3f[] points = [(0, 0, 0), (100, 0, 0), (100, 100, 0), (0, 100, 0)]
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (interpolation = "faceVarying")
        {MESH}
    }
    {MORE}
}
"#;

const PAINT: &str = r#"def Material "paint"
    {
        token outputs:surface.connect = </World/paint/surface.outputs:surface>
        color3f inputs:tint = (0.5, 0.25, 1)
        def Shader "surface"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = {COLOR}
            float inputs:metallic = 0.75
            float inputs:roughness = 0.25
            float inputs:opacity = 0.5
            color3f inputs:emissiveColor = (0, 2, 0)
            token outputs:surface
        }
        def Shader "wood"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @./art/wood.png@
            float2 inputs:st.connect = </World/paint/reader.outputs:result>
            token inputs:wrapS = "repeat"
            float3 outputs:rgb
        }
        def Shader "reader"
        {
            uniform token info:id = "UsdPrimvarReader_float2"
            token inputs:varname = "st"
            float2 outputs:result
        }
    }"#;

fn text(head: &str, prim: &str, mesh: &str, more: &str) -> String {
    let filled = TEXT.replace("{HEAD}", head).replace("{PRIM}", prim);
    filled.replace("{MESH}", mesh).replace("{MORE}", more)
}

pub(in crate::stages::formats) fn painted(color: &str) -> String {
    let bound = "rel material:binding = </World/paint>";
    text("", "", bound, &PAINT.replace("{COLOR}", color))
}

pub(in crate::stages::formats) fn binary(text: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("board.usdc");
    let data = usda::parse(text).expect("parses");
    usdc::CrateWriter::write_to_file(&data, &path).expect("written");
    fs::read(path).expect("read")
}

fn plain(text: &str) -> LoadedScene {
    let loaded = load("board.usda", text.as_bytes()).expect("reads");
    assert_eq!(loaded.warnings, []);
    loaded
}

fn reasons(loaded: &LoadedScene) -> Vec<Reason> {
    loaded.warnings.iter().map(|warning| warning.reason).collect()
}

fn near(found: Vec3, expected: Vec3) -> bool {
    found.abs_diff_eq(expected, 1e-5)
}

/// An archive of stored files.
fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let at = bytes.len() as u32;
        let sizes: Vec<u8> = [0, content.len() as u32, content.len() as u32]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        let name_bytes = (name.len() as u16).to_le_bytes();
        bytes.extend(b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0");
        bytes.extend(&sizes);
        bytes.extend(name_bytes);
        bytes.extend([0, 0]);
        bytes.extend(name.as_bytes());
        bytes.extend(*content);
        directory.extend(b"PK\x01\x02\x0a\0\x0a\0\0\0\0\0\0\0\0\0");
        directory.extend(&sizes);
        directory.extend(name_bytes);
        directory.extend([0; 12]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, count) = (bytes.len() as u32, files.len() as u16);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn units_and_axes_become_metres_and_y_up() {
    let loaded = plain(&text("startTimeCode = 1\n    endTimeCode = 24", "", "", ""));
    let bounds = loaded.scene.bounds().expect("has corners");
    assert!(near(bounds.min, Vec3::NEG_Z) && near(bounds.max, Vec3::X), "{bounds:?}");
    assert!(loaded.scene.parts[0].normals.iter().all(|normal| near(*normal, Vec3::Y)));
    assert_eq!(
        (&loaded.facts["up"], &loaded.facts["default_prim"]),
        (&"+Z".into(), &"World".into())
    );
    assert_eq!((&loaded.facts["prims"], &loaded.facts["meshes"]), (&2.into(), &1.into()));
    assert_eq!(loaded.facts["last_frame"], 24.0);
    assert_eq!(loaded.facts["layers"], serde_json::json!(["board.usda"]));
    let corner = loaded.scene.parts[0].positions.iter().position(|at| near(*at, Vec3::ZERO));
    assert_eq!(loaded.scene.parts[0].uvs[corner.expect("is there")], Vec2::Y);
}

#[test]
fn transforms_apply_from_the_last_to_the_first_and_mirrors_keep_the_front() {
    let place = r#"double3 xformOp:translate = (0, 0, 100)
    float3 xformOp:rotateXYZ = (0, 0, 90)
    float3 xformOp:scale = (-1, 1, 1)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]"#;
    let loaded = plain(&text("", place, "", ""));
    // Mirrored to x from -1 to 0, turned about the vertical, and then lifted by a metre.
    let bounds = loaded.scene.bounds().expect("has corners");
    assert!(near(bounds.min, Vec3::new(-1.0, 1.0, 0.0)), "{bounds:?}");
    assert!(near(bounds.max, Vec3::new(0.0, 1.0, 1.0)), "{bounds:?}");
    assert!(loaded.scene.parts[0].normals.iter().all(|normal| near(*normal, Vec3::Y)));
    let left = plain(&text("", "", r#"uniform token orientation = "leftHanded""#, ""));
    assert!(left.scene.parts[0].normals.iter().all(|normal| near(*normal, Vec3::NEG_Y)));
}

#[test]
fn materials_follow_their_connections() {
    let loaded = plain(&painted("</World/paint.inputs:tint>"));
    let material = &loaded.scene.materials[loaded.scene.parts[0].material];
    assert_eq!((material.name.as_str(), material.alpha), ("paint", AlphaMode::Blend));
    assert!(near(material.base_color.truncate(), Vec3::new(0.5, 0.25, 1.0)));
    assert_eq!((material.metallic, material.roughness), (0.75, 0.25));
    assert_eq!((material.base_color.w, material.emissive.y), (0.5, 2.0));
}

#[test]
fn textures_are_found_beside_the_layer_and_named_where_they_lack() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("board.usda");
    let scene = painted("</World/paint/wood.outputs:rgb>");
    fs::write(&path, &scene).expect("written");
    let lacking = load_scene(&path, folder.path(), &Quiet).expect("reads");
    assert_eq!(reasons(&lacking), [Reason::ReferenceMissing], "{:?}", lacking.warnings);
    assert_eq!(side_files(&path).expect("readable").missing[0].name, "./art/wood.png");
    fs::create_dir(folder.path().join("art")).expect("a folder");
    let png = png_bytes(1, 1, &[9, 8, 7, 255]).expect("encoded");
    fs::write(folder.path().join("art/wood.png"), &png).expect("written");
    let loaded = load_scene(&path, folder.path(), &Quiet).expect("reads");
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.scene.textures[0].rgba, [9, 8, 7, 255]);
    fs::write(&path, binary(&scene)).expect("written");
    fs::rename(&path, folder.path().join("board.usdc")).expect("renamed");
    let side = side_files(&folder.path().join("board.usdc")).expect("readable");
    assert_eq!((side.found[0].0.as_str(), side.missing.len()), ("art/wood.png", 0));
    let packed = package(&[("scene.usda", scene.as_bytes()), ("art/wood.png", &png)]);
    let packed = load("board.usdz", &packed).expect("reads");
    assert_eq!((packed.warnings.len(), packed.scene.textures.len()), (0, 1));
}

#[test]
fn binary_text_and_archive_are_one_scene() {
    let scene = painted("</World/paint.inputs:tint>");
    let text = plain(&scene).scene;
    let crate_bytes = binary(&scene);
    for (name, bytes) in [
        ("board.usdc", crate_bytes.clone()),
        ("board.usd", crate_bytes.clone()),
        ("board.usd", scene.clone().into_bytes()),
        ("board.usdz", package(&[("a.usdc", &crate_bytes)])),
    ] {
        let other = load(name, &bytes).expect("reads").scene;
        assert_eq!(other.materials, text.materials, "{name}");
        assert_eq!(other.parts[0].positions, text.parts[0].positions, "{name}");
    }
}

#[test]
fn hidden_prims_and_helpers_are_left_out_and_shapes_are_named() {
    let more = r#"def Mesh "ghost" { token visibility = "invisible" }
    def Xform "rig" { uniform token purpose = "guide" }
    def Sphere "ball" {}
    class Mesh "shape" {}
    def Mesh "smooth"
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        color3f[] primvars:displayColor = [(1, 0, 0)]
    }"#;
    let loaded = load("board.usda", text("", "", "", more).as_bytes()).expect("reads");
    let said: Vec<&str> = loaded.warnings.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(said.len(), 4, "{said:?}");
    for part in ["1 hidden", "1 guides", "1 subdivision", "type Sphere"] {
        assert!(said.iter().any(|message| message.contains(part)), "{part}: {said:?}");
    }
    let smooth = &loaded.scene.parts[1];
    assert_eq!((smooth.name.as_str(), smooth.colors[0].truncate()), ("smooth", Vec3::X));
}

#[test]
fn layers_are_followed_inside_the_folder_and_refused_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("asset");
    fs::create_dir_all(inside.join("parts")).expect("folders");
    fs::write(inside.join("parts/board.usda"), text("", "", "", "")).expect("written");
    fs::write(folder.path().join("secret.usda"), text("", "", "", "")).expect("written");
    let path = inside.join("top.usda");
    let scene = |place: &str| {
        format!(
            "#usda 1.0\n(\n    upAxis = \"Y\"\n    metersPerUnit = 1\n)\n\
             def \"one\" (references = @{place}@\n instanceable = true) {{}}\n\
             def \"two\" (references = @{place}@\n instanceable = true) {{}}\n"
        )
    };
    fs::write(&path, scene("./parts/board.usda")).expect("written");
    let loaded = load_scene(&path, &inside, &Quiet).expect("reads");
    assert_eq!((loaded.scene.parts.len(), &loaded.facts["instances"]), (2, &2.into()));
    let side = side_files(&path).expect("readable");
    assert_eq!((side.found[0].0.as_str(), side.missing.len()), ("parts/board.usda", 0));
    for place in ["../secret.usda", "/etc/passwd.usda", "https://x/y.usda"] {
        fs::write(&path, scene(place)).expect("written");
        let refused = load_scene(&path, &inside, &Quiet).map_err(|failure| failure.reason);
        assert_eq!(refused.err(), Some(Reason::ReferenceOutside), "{place}");
        let side = side_files(&path).expect("readable");
        assert_eq!(side.missing[0].why, MissingWhy::Outside, "{place}");
    }
    fs::write(&path, scene("./gone.usda")).expect("written");
    let refused = load_scene(&path, &inside, &Quiet).map_err(|failure| failure.reason);
    assert_eq!(refused.err(), Some(Reason::ReferenceMissing));
}

#[test]
fn bad_files_have_the_right_reason() {
    let good = text("", "", "", "");
    let deep = format!("#usda 1.0\n{}{}", "def \"a\" {".repeat(99), "}".repeat(99));
    let packed = package(&[("a.usda", good.as_bytes())]);
    let mut squeezed = packed.clone();
    let entry = squeezed.windows(4).position(|four| four == b"PK\x01\x02").expect("is there");
    squeezed[entry + 10] = 8;
    let bits = binary(&good);
    let cases: [(&str, Vec<u8>, Reason); 8] = [
        ("a.usda", good.as_bytes()[..400].to_vec(), Reason::InputTruncated),
        ("a.usda", good.replace("[0, 1, 2, 3]", "[0, 1, 2, 9]").into_bytes(), Reason::InputCorrupt),
        ("a.usda", good.replace("[4]", "[9]").into_bytes(), Reason::InputCorrupt),
        ("a.usda", deep.into_bytes(), Reason::InputCorrupt),
        ("a.usda", b"#usda 1.0\n".to_vec(), Reason::InputNothingToDraw),
        ("a.usdc", bits[..bits.len() - 40].to_vec(), Reason::InputTruncated),
        ("a.usdz", packed[..packed.len() - 9].to_vec(), Reason::InputTruncated),
        ("a.usdz", squeezed, Reason::InputUnsupported),
    ];
    for (name, bytes, reason) in cases {
        let failure = load(name, &bytes).expect_err("is bad");
        assert_eq!(failure.reason, reason, "{name}: {}", failure.message);
    }
}

#[test]
fn counts_that_a_binary_file_cannot_hold_are_refused_before_it_is_parsed() {
    let good = binary(&text("", "", "", ""));
    crate_file::check(&good, "a.usdc").expect("is good");
    let mut refused = 0;
    for at in 24..good.len() - 8 {
        let mut bad = good.clone();
        bad[at..at + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        refused += usize::from(crate_file::check(&bad, "a.usdc").is_err());
    }
    assert!(refused > good.len() / 8, "{refused} of {}", good.len());
}

/// Cut and flipped files of all three kinds, from one seed.
#[test]
fn damaged_files_are_answered_without_a_panic() {
    let scene = painted("</World/paint.inputs:tint>");
    let bits = binary(&scene);
    let packed = package(&[("a.usdc", &bits)]);
    let mut state = 0x5eed_u64;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let kinds = [("a.usda", scene.into_bytes()), ("a.usdc", bits), ("a.usdz", packed)];
    for round in 0..300 {
        let (name, good) = &kinds[round % 3];
        let mut bad = good.clone();
        for _ in 0..=next(4) {
            let at = next(bad.len());
            bad[at] ^= 1 << next(8);
        }
        if next(3) == 0 {
            bad.truncate(next(good.len()));
        }
        if let Err(failure) = load(name, &bad) {
            assert!(!failure.message.contains("breaks the program"), "{name}: {}", failure.message);
        }
    }
}
