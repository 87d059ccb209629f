//! Text FBX files of our own, for one rule each.

use crate::model::Reason;
use crate::preview::scene::AlphaMode;
use crate::stages::formats::image_writer::png_bytes;
use crate::stages::formats::tests::{Quiet, load};
use crate::stages::formats::{LoadedScene, load_scene, side_files};
use glam::{Vec2, Vec3};
use std::fs;

/// A quad of 100 × 100 units in the plane z = 0, with a material and a texture, +Z up, in
/// centimetres. `{NODE}`, `{MORE}` and `{LINKS}` are left to the tests.
const TEXT: &str = r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {
    FBXHeaderVersion: 1003
    FBXVersion: 7400
    Creator: "Sawah's tests"
}
GlobalSettings:  {
    Version: 1000
    Properties70:  {
        P: "UpAxis", "int", "Integer", "",2
        P: "UpAxisSign", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",1
        P: "FrontAxisSign", "int", "Integer", "",-1
        P: "CoordAxis", "int", "Integer", "",0
        P: "CoordAxisSign", "int", "Integer", "",1
        P: "UnitScaleFactor", "double", "Number", "",1
    }
}
Objects:  {
    Geometry: 100, "Geometry::quad", "Mesh" {
        Vertices: *12 {
            a: 0,0,0,100,0,0,100,100,0,0,100,0
        }
        PolygonVertexIndex: *4 {
            a: 0,1,2,-4
        }
        GeometryVersion: 124
        LayerElementUV: 0 {
            Version: 101
            Name: "map1"
            MappingInformationType: "ByPolygonVertex"
            ReferenceInformationType: "Direct"
            UV: *8 {
                a: 0,0,1,0,1,1,0,1
            }
        }
        LayerElementMaterial: 0 {
            Version: 101
            Name: ""
            MappingInformationType: "AllSame"
            ReferenceInformationType: "IndexToDirect"
            Materials: *1 {
                a: 0
            }
        }
        Layer: 0 {
            Version: 100
            LayerElement:  {
                Type: "LayerElementMaterial"
                TypedIndex: 0
            }
            LayerElement:  {
                Type: "LayerElementUV"
                TypedIndex: 0
            }
        }
    }
    Model: 200, "Model::board", "Mesh" {
        Version: 232
        Properties70:  {
            {NODE}
        }
    }
    Material: 300, "Material::paint", "" {
        Version: 102
        ShadingModel: "phong"
        Properties70:  {
            P: "DiffuseColor", "Color", "", "A",0.5,0.25,1
            P: "DiffuseFactor", "Number", "", "A",1
            P: "EmissiveColor", "Color", "", "A",0,0,0
            P: "Opacity", "double", "Number", "",1
        }
    }
    Texture: 400, "Texture::wood", "" {
        Type: "TextureVideoClip"
        Version: 202
        FileName: "C:\Users\somebody\wood.png"
        RelativeFilename: "..\art\wood.png"
    }
    {MORE}
}
Connections:  {
    C: "OO",200,0
    C: "OO",100,200
    C: "OO",300,200
    C: "OP",400,300, "DiffuseColor"
    {LINKS}
}
"#;

pub(in crate::stages::formats) fn text(node: &str, more: &str, links: &str) -> String {
    TEXT.replace("{NODE}", node).replace("{MORE}", more).replace("{LINKS}", links)
}

/// Loads it with the texture beside it, without a warning.
fn whole(text: &str) -> LoadedScene {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("board.fbx");
    fs::write(&path, text).expect("written");
    let png = png_bytes(1, 1, &[9, 8, 7, 255]).expect("encoded");
    fs::write(folder.path().join("wood.png"), png).expect("written");
    let loaded = load_scene(&path, folder.path(), &Quiet).expect("reads");
    assert_eq!(loaded.warnings, []);
    loaded
}

fn near(found: Vec3, expected: Vec3) -> bool {
    found.abs_diff_eq(expected, 1e-5)
}

#[test]
fn units_and_axes_become_metres_and_y_up() {
    let loaded = whole(&text("", "", ""));
    let bounds = loaded.scene.bounds().expect("has corners");
    assert!(near(bounds.min, Vec3::NEG_Z) && near(bounds.max, Vec3::X), "{bounds:?}");
    assert!(loaded.scene.parts[0].normals.iter().all(|normal| near(*normal, Vec3::Y)));
    assert_eq!(loaded.facts["up"], "+Z");
    assert!((loaded.facts["unit_meters"].as_f64().expect("a number") - 0.01).abs() < 1e-9);
    assert_eq!(loaded.facts["version"], 7400);
    let inches = text("", "", "").replace(
        r#""UnitScaleFactor", "double", "Number", "",1"#,
        r#""UnitScaleFactor", "double", "Number", "",2.54"#,
    );
    let bounds = whole(&inches).scene.bounds().expect("has corners");
    assert!(near(bounds.max, Vec3::X * 2.54), "{bounds:?}");
}

#[test]
fn materials_and_textures_are_read_and_v_goes_down() {
    let loaded = whole(&text("", "", ""));
    let part = &loaded.scene.parts[0];
    assert_eq!(part.name, "board");
    let material = &loaded.scene.materials[part.material];
    assert_eq!((material.name.as_str(), material.metallic), ("paint", 0.0));
    assert_eq!(material.base_color_texture, Some(0));
    assert_eq!(material.alpha, AlphaMode::Opaque);
    assert_eq!(loaded.scene.textures[0].rgba, [9, 8, 7, 255]);
    let corner = part.positions.iter().position(|at| near(*at, Vec3::ZERO)).expect("is there");
    assert_eq!(part.uvs[corner], Vec2::Y);
    let half = text("", "", "").replace(
        r#""Opacity", "double", "Number", "",1"#,
        r#""Opacity", "double", "Number", "",0.5"#,
    );
    let material = whole(&half).scene.materials.remove(0);
    assert_eq!((material.alpha, material.base_color.w), (AlphaMode::Blend, 0.5));
}

#[test]
fn a_mirrored_node_keeps_its_front() {
    let mirrored = r#"P: "Lcl Scaling", "Lcl Scaling", "", "A",-1,1,1"#;
    let loaded = whole(&text(mirrored, "", ""));
    assert!(loaded.scene.parts[0].normals.iter().all(|normal| near(*normal, Vec3::Y)));
    assert!(near(loaded.scene.bounds().expect("has corners").min, Vec3::new(-1.0, 0.0, -1.0)));
}

#[test]
fn skins_are_posed_by_their_bones() {
    let identity = "1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1";
    let more = format!(
        r#"Model: 500, "Model::bone", "LimbNode" {{
        Version: 232
        Properties70:  {{
            P: "Lcl Translation", "Lcl Translation", "", "A",0,0,50
        }}
    }}
    Deformer: 600, "Deformer::skin", "Skin" {{
        Version: 101
        Link_DeformAcuracy: 50
    }}
    Deformer: 700, "SubDeformer::bone", "Cluster" {{
        Version: 100
        Indexes: *4 {{
            a: 0,1,2,3
        }}
        Weights: *4 {{
            a: 1,1,1,1
        }}
        Transform: *16 {{
            a: {identity}
        }}
        TransformLink: *16 {{
            a: {identity}
        }}
    }}"#
    );
    let links = r#"C: "OO",500,0
    C: "OO",600,100
    C: "OO",700,600
    C: "OO",500,700"#;
    let loaded = whole(&text("", &more, links));
    // Bound at the origin, the bone stands half a metre higher now, and the corners follow.
    let bounds = loaded.scene.bounds().expect("has corners");
    assert!((bounds.min.y - 0.5).abs() < 1e-5 && (bounds.max.y - 0.5).abs() < 1e-5, "{bounds:?}");
    assert_eq!(loaded.facts["skins"], 1);
}

#[test]
fn a_missing_texture_is_a_warning_and_never_outside() {
    let loaded = load("board.fbx", text("", "", "").as_bytes()).expect("reads");
    let reasons: Vec<Reason> = loaded.warnings.iter().map(|warning| warning.reason).collect();
    assert_eq!(reasons, [Reason::ReferenceMissing], "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].message.contains("wood.png"), "{:?}", loaded.warnings);
}

#[test]
fn side_files_are_found_by_name_without_parsing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("board.fbx");
    fs::write(&path, text("", "", "")).expect("written");
    let side = side_files(&path).expect("readable");
    assert_eq!((side.found.len(), side.missing.len()), (0, 1));
    assert_eq!(side.missing[0].name, "wood.png");
    fs::create_dir(folder.path().join("textures")).expect("a folder");
    fs::write(folder.path().join("textures/Wood.PNG"), "x").expect("written");
    let side = side_files(&path).expect("readable");
    let names: Vec<&str> = side.found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, side.missing.len()), (vec!["textures/Wood.PNG"], 0));
    // In binary files a string has its length before it.
    let mut binary =
        b"Kaydara FBX Binary  \0\x1a\0\x10RelativeFilenameS\x08\0\0\0leaf.png".to_vec();
    fs::write(&path, &binary).expect("written");
    assert_eq!(side_files(&path).expect("readable").missing[0].name, "leaf.png");
    binary.extend(b"\x07ContentR\x02\0\0\0xy");
    fs::write(&path, &binary).expect("written");
    assert_eq!(side_files(&path).expect("readable").missing, [], "it is embedded");
}

#[test]
fn bad_files_have_the_right_reason() {
    let good = text("", "", "");
    let cases: [(Vec<u8>, Reason); 4] = [
        (b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0\xff\xff".to_vec(), Reason::InputTruncated),
        (b"; FBX 7.4.0 project file\n".to_vec(), Reason::InputTruncated),
        (good.replace("a: 0,1,2,-4", "a: 0,1,2,x").into_bytes(), Reason::InputCorrupt),
        (good.replace("C: \"OO\",100,200", "").into_bytes(), Reason::InputNothingToDraw),
    ];
    for (bytes, reason) in cases {
        let failure = load("bad.fbx", &bytes).expect_err("is bad");
        assert_eq!(failure.reason, reason, "{}", failure.message);
    }
}
