//! The silhouettes of varied models agree with those that f3d and Blender's Workbench draw.
//!
//! The others read the same files by readers of their own and get the same camera, in the units of
//! the file. So a wrong reader, a wrong camera and a wrong rasteriser are all seen.

use super::tests::Quiet;
use super::*;
use crate::preview::{Artist, Camera, DecodedImage, DrawOn, View};
use glam::{DVec3, Vec3};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

const MODELS: &str = "/usr/share/assimp/models";
const INSTALL: &str = "apt install assimp-testmodels f3d xvfb xauth blender python3-numpy";
/// Edge of the pictures in pixels.
const SIZE: u32 = 512;
/// Least overlap: the pixels that both fill, by those that one fills.
const LEAST: f64 = 0.98;
/// Draws the list of models in one run of Blender.
const BLENDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/src/stages/formats/silhouette_blender.py");

/// How a program holds the scene that we hold in metres, +Y up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axes {
    YUp,
    ZUp,
    /// The program's reader keeps centimetres.
    Centimetres,
}

impl Axes {
    fn turn(self, vector: DVec3) -> DVec3 {
        match self {
            Self::YUp | Self::Centimetres => vector,
            Self::ZUp => DVec3::new(vector.x, -vector.z, vector.y),
        }
    }

    fn place(self, point: DVec3) -> DVec3 {
        self.turn(point) * if self == Self::Centimetres { 100.0 } else { 1.0 }
    }
}

/// One model of the shared set, and how the others hold it.
struct Model {
    file: &'static str,
    f3d: Option<Axes>,
    blender: Option<Axes>,
}

const fn model(file: &'static str, f3d: Option<Axes>, blender: Option<Axes>) -> Model {
    Model { file, f3d, blender }
}

const Y: Option<Axes> = Some(Axes::YUp);
const Z: Option<Axes> = Some(Axes::ZUp);
const CM: Option<Axes> = Some(Axes::Centimetres);

const SET: [Model; 16] = [
    // f3d crashes on its textures, whose names have backslashes.
    model("OBJ/spider.obj", None, Z),
    model("OBJ/WusonOBJ.obj", Y, Z),
    // Blender takes a polygon apart that comes to a corner twice, as this ring does.
    model("OBJ/concave_polygon.obj", Y, None),
    model("OBJ/regr01.obj", Y, Z),
    model("PLY/Wuson.ply", Y, Y),
    model("STL/3DSMaxExport.STL", Z, Z),
    model("STL/Spider_binary.stl", Z, Z),
    model("STL/sphereWithHole.stl", Z, Z),
    model("glTF2/2CylinderEngine-glTF-Binary/2CylinderEngine.glb", Y, Z),
    model("glTF2/BoxTextured-glTF-Binary/BoxTextured.glb", Y, Z),
    model("glTF2/glTF-Sample-Models/AnimatedMorphCube-glTF/AnimatedMorphCube.gltf", Y, Z),
    model("glTF2/textureTransform/TextureTransformTest.gltf", Y, Z),
    // One of its tiles is seen through, which Workbench in one colour does not show.
    model("glTF2/ClearCoat-glTF/ClearCoatTest.gltf", Y, None),
    model("FBX/spider.fbx", CM, Z),
    // f3d's reader keeps the unit of the file, and these are not in centimetres.
    model("FBX/huesitos.fbx", None, Z),
    model("FBX/global_settings.fbx", None, Z),
];

/// Which pixels an object fills, rows from the top.
type Mask = Vec<bool>;

/// The prepared scene's unit sphere in the scene: what maps our camera back to the file.
struct Sphere {
    center: DVec3,
    radius: f64,
}

impl Sphere {
    fn around(scene: &Scene) -> Self {
        let bounds = scene.bounds().expect("has corners");
        let center = (bounds.min.as_dvec3() + bounds.max.as_dvec3()) * 0.5;
        let corners = scene
            .parts
            .iter()
            .flat_map(|part| part.indices.iter().map(|at| part.positions[*at as usize]));
        let distances = corners.map(|corner| corner.as_dvec3().distance(center));
        Self { center, radius: distances.fold(0.0, f64::max) }
    }

    fn place(&self, point: Vec3) -> DVec3 {
        self.center + point.as_dvec3() * self.radius
    }
}

/// A model as drawn here.
struct Drawn {
    path: PathBuf,
    camera: Camera,
    sphere: Sphere,
    mask: Mask,
}

fn drawn(file: &str, on: DrawOn) -> Drawn {
    let path = Path::new(MODELS).join(file);
    assert!(path.exists(), "{} is not installed: {INSTALL}", path.display());
    let folder = path.parent().expect("lies in a folder");
    let scene = load_scene(&path, folder, &Quiet).expect(file).scene;
    let mut artist = Artist::open_on(&scene, on).expect(file);
    let view: View = artist.still_view(SIZE, SIZE);
    let (layer, _) = artist.layer(&view).expect(file);
    assert_eq!(artist.notes(), [""; 0], "{file} is drawn on what was asked for");
    let mask = layer.pixels.iter().map(|pixel| pixel[3] >= 0.5).collect();
    Drawn { path, camera: view.camera, sphere: Sphere::around(&scene), mask }
}

fn mask(picture: &Path) -> Mask {
    let Ok(DecodedImage::Display(picture)) = load_image(picture) else {
        panic!("{} is no picture", picture.display())
    };
    assert_eq!((picture.width, picture.height), (SIZE, SIZE));
    picture.rgba.chunks_exact(4).map(|pixel| pixel[3] >= 128).collect()
}

fn overlap(ours: &Mask, others: &Mask) -> f64 {
    let count = |fills: fn(bool, bool) -> bool| {
        ours.iter().zip(others).filter(|(one, other)| fills(**one, **other)).count() as f64
    };
    count(|one, other| one && other) / count(|one, other| one || other)
}

/// Prints every overlap, then fails where one is too small.
fn judge(who: &str, overlaps: &BTreeMap<&str, f64>) {
    for (file, overlap) in overlaps {
        println!("{who}: {file}: {overlap:.4}");
    }
    let few: Vec<_> = overlaps.iter().filter(|(_, overlap)| **overlap < LEAST).collect();
    assert!(few.is_empty(), "{who} draws another shape (at least {LEAST}): {few:?}");
}

/// Runs a program to its end; it must be there and succeed.
fn run(mut command: Command) {
    let name = command.get_program().display().to_string();
    let output = command.output().unwrap_or_else(|error| panic!("{name}: {error}. {INSTALL}"));
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{name} failed ({}); is all there? {INSTALL}\n{}\n{}",
        output.status,
        told(&output.stdout),
        told(&output.stderr)
    );
}

fn f3d_line(drawn: &Drawn, axes: Axes, out: &Path) -> String {
    let list = |vector: DVec3| format!("{},{},{}", vector.x, vector.y, vector.z);
    let Drawn { path, camera, sphere, .. } = drawn;
    let eye = list(axes.place(sphere.place(camera.eye())));
    let target = list(axes.place(sphere.place(camera.target)));
    let up = list(axes.turn(camera.axes().up.as_dvec3()));
    let degrees = camera.fov_y.to_degrees();
    format!(
        "--dry-run --quiet --no-background --resolution={SIZE},{SIZE} --camera-position={eye} \
         --camera-focal-point={target} --camera-view-up={up} --camera-view-angle={degrees} \
         --output=\"{}\" \"{}\"\n",
        out.display(),
        path.display()
    )
}

#[test]
fn silhouettes_agree_with_f3d() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = |at: usize| folder.path().join(format!("{at}.png"));
    let (mut all, mut lines) = (Vec::new(), String::new());
    for (at, model) in SET.iter().enumerate() {
        let Some(axes) = model.f3d else { continue };
        let drawn = drawn(model.file, DrawOn::Cpu);
        write!(lines, "{}", f3d_line(&drawn, axes, &out(at))).expect("text grows");
        all.push((at, model.file, drawn));
    }
    let list = folder.path().join("list");
    std::fs::write(&list, lines).expect("written");
    let mut command = Command::new("xvfb-run");
    // A display of its own, and one run of f3d a line.
    command.args(["-a", "xargs", "-L", "1", "-a"]).arg(&list).arg("f3d");
    run(command);
    let overlaps =
        all.iter().map(|(at, file, drawn)| (*file, overlap(&drawn.mask, &mask(&out(*at)))));
    judge("f3d", &overlaps.collect());
}

fn blender_entry(drawn: &Drawn, axes: Axes, out: &Path) -> Value {
    let Drawn { path, camera, sphere, .. } = drawn;
    let directions = camera.axes();
    let turned = |vector: Vec3| axes.turn(vector.as_dvec3());
    let (right, up, back) =
        (turned(directions.right), turned(directions.up), turned(directions.back));
    let eye = axes.place(sphere.place(camera.eye()));
    let row = |at: usize| [right[at], up[at], back[at], eye[at]];
    let distance = f64::from(camera.distance) * sphere.radius;
    json!({
        "file": path,
        "out": out,
        "degrees": camera.fov_y.to_degrees(),
        "matrix": [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]],
        "near": distance * 0.05,
        "far": distance * 4.0,
    })
}

#[test]
fn silhouettes_agree_with_blenders_workbench() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = |at: usize| folder.path().join(format!("{at}.png"));
    let (mut all, mut entries) = (Vec::new(), Vec::new());
    for (at, model) in SET.iter().enumerate() {
        let Some(axes) = model.blender else { continue };
        let drawn = drawn(model.file, DrawOn::Cpu);
        entries.push(blender_entry(&drawn, axes, &out(at)));
        all.push((at, model.file, drawn));
    }
    let list = folder.path().join("list.json");
    std::fs::write(&list, json!({ "size": SIZE, "models": entries }).to_string()).expect("written");
    let mut command = Command::new("blender");
    command.args(["-b", "--factory-startup", "--python-exit-code", "1", "-P", BLENDER, "--"]);
    command.arg(&list);
    run(command);
    let overlaps =
        all.iter().map(|(at, file, drawn)| (*file, overlap(&drawn.mask, &mask(&out(*at)))));
    judge("Blender", &overlaps.collect());
}

#[test]
#[cfg(feature = "gpu")]
fn the_adapter_fills_the_pixels_that_the_cpu_fills() {
    let file = SET[0].file;
    let same = overlap(&drawn(file, DrawOn::Gpu).mask, &drawn(file, DrawOn::Cpu).mask);
    judge("the adapter", &BTreeMap::from([(file, same)]));
}
