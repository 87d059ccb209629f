//! Rice terraces with a hut and palms: the picture that the farm is named after.

use super::paint::{self, Canvas};
use super::shape::Shape;
use glam::{Mat4, Quat, Vec2, Vec3, Vec4};
use sawah::preview::Scene;
use sawah::preview::scene::{AlphaMode, Material, Part};
use sawah::stages::formats::glb_writer::glb_bytes;
use serde_json::{Value, json};
use std::f32::consts::{FRAC_PI_2, TAU};

const LEVELS: usize = 7;
const SEGMENTS: usize = 84;
const STEP: f32 = 0.27;
const BUND: f32 = 0.055;

/// Materials by their place in the scene.
enum Look {
    Earth,
    Water,
    Rice,
    Wood,
    Thatch,
    Bark,
    Leaf,
    Brass,
    Stone,
    Lantern,
}

fn material(name: &str, color: [f32; 3], roughness: f32) -> Material {
    let [r, g, b] = color;
    Material {
        name: name.to_owned(),
        base_color: Vec4::new(r, g, b, 1.0),
        roughness,
        double_sided: false,
        alpha: AlphaMode::Opaque,
        ..Material::default()
    }
}

fn materials() -> Vec<Material> {
    let earth = Material {
        base_color_texture: Some(0),
        normal_texture: Some(1),
        normal_scale: 0.8,
        metallic_roughness_texture: Some(2),
        ..material("earth and grass", [1.0, 1.0, 1.0], 1.0)
    };
    let both_sides = |material: Material| Material { double_sided: true, ..material };
    vec![
        earth,
        material("flooded paddy", [0.09, 0.20, 0.22], 0.07),
        both_sides(material("young rice", [0.34, 0.62, 0.10], 0.6)),
        Material { base_color_texture: Some(3), ..material("planks", [1.0, 1.0, 1.0], 0.7) },
        both_sides(material("thatch", [0.44, 0.29, 0.12], 0.95)),
        material("bark", [0.30, 0.21, 0.13], 0.9),
        both_sides(material("palm leaf", [0.10, 0.34, 0.07], 0.45)),
        Material { metallic: 1.0, ..material("brass", [0.86, 0.62, 0.26], 0.22) },
        material("slate", [0.16, 0.165, 0.18], 0.6),
        Material {
            emissive: Vec3::new(6.0, 2.9, 0.9),
            ..material("lantern", [1.0, 0.8, 0.5], 0.5)
        },
    ]
}

fn height(level: usize) -> f32 {
    level as f32 * STEP
}

/// A point on the outline of a level, `inwards` metres inside it.
fn outline(level: usize, angle: f32, inwards: f32, y: f32) -> Vec3 {
    let k = level as f32;
    let wave = 0.055 * (2.0 * angle + 0.2 * k).sin()
        + 0.032 * (3.0 * angle - 0.3 * k + 1.0).sin()
        + 0.014 * (5.0 * angle + 0.4 * k).sin();
    let radius = (3.42 - 0.43 * k) * (1.0 + wave) - inwards;
    Vec3::new(radius * angle.cos() + 0.03 * k, y, radius * angle.sin() - 0.11 * k)
}

fn ring(point: impl Fn(f32) -> Vec3) -> Vec<Vec3> {
    // Clockwise seen from above, so that sheets from outside inwards face up.
    (0..=SEGMENTS).map(|at| point(-(at as f32) / SEGMENTS as f32 * TAU)).collect()
}

/// Wall, bund and inner slope of each level, and the meadow around them.
fn earth() -> Shape {
    let mut shape = Shape::default();
    let around = |column: usize| column as f32 / SEGMENTS as f32;
    for level in 0..LEVELS {
        let (low, top) = (height(level) - if level == 0 { 0.0 } else { STEP }, height(level));
        let repeat = (14 - level) as f32;
        let lean = if level == 0 { 0.02 } else { 0.07 };
        let wall: Vec<Vec<Vec3>> = [(0.0, 0.0), (0.35, 0.55), (0.75, 0.9), (1.0, 1.0)]
            .map(|(up, inwards)| {
                ring(|angle| {
                    outline(level, angle, lean * (inwards - 1.0), low + (top + BUND - low) * up)
                })
            })
            .to_vec();
        shape.sheet(&wall, |row, column| {
            Vec2::new(around(column) * repeat, 0.98 - 0.62 * row as f32 / 3.0)
        });
        let crest = [(0.0, BUND), (0.035, BUND + 0.018), (0.085, BUND), (0.12, -0.03)]
            .map(|(inwards, y)| ring(|angle| outline(level, angle, inwards, top + y)));
        shape.sheet(&crest, |row, column| {
            Vec2::new(around(column) * repeat, 0.30 - 0.06 * row as f32)
        });
    }
    let meadow = [ring(|angle| rim(3.98, angle, 0.0)), ring(|angle| outline(0, angle, -0.05, 0.0))];
    shape.sheet(&meadow, |row, column| Vec2::new(around(column) * 16.0, 0.02 + 0.22 * row as f32));
    let top = LEVELS - 1;
    let yard: Vec<Vec<Vec3>> = [0.08, 0.5, 0.84]
        .map(|inwards| ring(|angle| outline(top, angle, inwards, height(top) + BUND - 0.01)))
        .to_vec();
    shape.sheet(&yard, |row, column| Vec2::new(around(column) * 5.0, 0.05 + 0.1 * row as f32));
    shape
}

fn rim(radius: f32, angle: f32, y: f32) -> Vec3 {
    Vec3::new(radius * angle.cos(), y, radius * angle.sin() - 0.1)
}

fn water() -> Shape {
    let mut shape = Shape::default();
    for level in 0..LEVELS - 1 {
        let y = height(level) + 0.012;
        let sheet = [
            ring(|angle| outline(level, angle, 0.09, y)),
            ring(|angle| outline(level + 1, angle, -0.06, y)),
        ];
        shape.sheet(&sheet, |_, _| Vec2::ZERO);
    }
    shape
}

/// Tufts of three blades in rows; some fields lie open and mirror the sky.
fn rice() -> Shape {
    let mut shape = Shape::default();
    for level in 0..LEVELS - 1 {
        let count = 96 - 11 * level;
        for row in 0..3_usize {
            for at in 0..count {
                let angle = (at as f32 + 0.5 * (row % 2) as f32) / count as f32 * TAU;
                let field = ((angle * 1.5 + level as f32 * 2.1).sin() * 2.0) as i32;
                let luck = paint::hash(at as i32, row as i32, level as u32 + 60);
                if field == 0 || luck < 0.08 {
                    continue;
                }
                let near = outline(level, angle, 0.15, 0.0);
                let far = outline(level + 1, angle, -0.10, 0.0);
                let mut root = near.lerp(far, (row as f32 + 0.5 + (luck - 0.5) * 0.25) / 3.0);
                root.y = height(level) + 0.005;
                tuft(&mut shape, root, luck);
            }
        }
    }
    shape
}

fn tuft(shape: &mut Shape, root: Vec3, luck: f32) {
    for blade in 0..3 {
        let angle = luck * 40.0 + blade as f32 * 2.2;
        let lean = Vec3::new(angle.cos(), 0.0, angle.sin());
        let side = Vec3::new(-lean.z, 0.0, lean.x) * 0.013;
        let tip = root + lean * 0.035 + Vec3::Y * (0.09 + 0.05 * luck);
        // Lit like the ground they stand on, so that a field is one green.
        let normal = (Vec3::Y * 2.0 + lean).normalize();
        shape.triangle([root - side, root + side, tip], normal);
    }
}

fn plinth() -> (Shape, Shape) {
    let mut slate = Shape::default();
    let side = [(3.9, -0.62), (4.0, -0.55), (4.0, -0.08)].map(|(r, y)| ring(|a| rim(r, a, y)));
    slate.sheet(&side, |_, _| Vec2::ZERO);
    let bottom = [ring(|a| rim(0.01, a, -0.62)), ring(|a| rim(3.9, a, -0.62))];
    slate.sheet(&bottom, |_, _| Vec2::ZERO);
    let mut brass = Shape::default();
    let band =
        [(4.0, -0.10), (4.05, -0.085), (4.06, -0.045), (4.05, 0.005), (4.0, 0.02), (3.96, 0.0)]
            .map(|(r, y)| ring(|a| rim(r, a, y)));
    brass.sheet(&band, |_, _| Vec2::ZERO);
    (slate, brass)
}

/// Steps of slate from the meadow up to the hut.
fn stairs(slate: &mut Shape) {
    let angle = 1.12;
    for level in 0..LEVELS {
        for half in 0..2 {
            let rise = height(level) - STEP * 0.5 * (1 - half) as f32;
            let at = outline(level, angle, 0.11 * half as f32 - 0.12, rise + 0.02);
            let turn = Mat4::from_quat(Quat::from_rotation_y(FRAC_PI_2 - angle));
            slate.cuboid(Vec3::new(0.34, 0.13, 0.19), Mat4::from_translation(at) * turn, 1.0);
        }
    }
}

struct Hut {
    wood: Shape,
    thatch: Shape,
    lantern: Shape,
    brass: Shape,
}

fn hut() -> Hut {
    let mut hut = Hut {
        wood: Shape::default(),
        thatch: Shape::default(),
        lantern: Shape::default(),
        brass: Shape::default(),
    };
    let top = LEVELS - 1;
    let ground = height(top) + BUND;
    let center = Mat4::from_translation(Vec3::new(0.10, ground, -0.74))
        * Mat4::from_quat(Quat::from_rotation_y(0.35));
    let place = |x: f32, y: f32, z: f32| center * Mat4::from_translation(Vec3::new(x, y, z));
    hut.wood.cuboid(Vec3::new(0.92, 0.05, 0.74), place(0.0, 0.12, 0.0), 1.6);
    for (x, z) in [(-0.4, -0.31), (0.4, -0.31), (-0.4, 0.31), (0.4, 0.31)] {
        hut.wood.cuboid(Vec3::new(0.06, 0.72, 0.06), place(x, 0.36, z), 1.6);
    }
    hut.wood.cuboid(Vec3::new(0.74, 0.46, 0.04), place(0.0, 0.37, -0.29), 1.6);
    hut.wood.cuboid(Vec3::new(0.04, 0.46, 0.56), place(-0.38, 0.37, 0.0), 1.6);
    hut.wood.cuboid(Vec3::new(0.04, 0.46, 0.56), place(0.38, 0.37, 0.0), 1.6);
    hut.wood.cuboid(Vec3::new(0.26, 0.46, 0.04), place(-0.25, 0.37, 0.20), 1.6);
    hut.wood.cuboid(Vec3::new(0.26, 0.46, 0.04), place(0.25, 0.37, 0.20), 1.6);
    hut.wood.cuboid(Vec3::new(0.84, 0.04, 0.03), place(0.0, 0.24, 0.33), 1.6);
    roof(&mut hut.thatch, center, [0.66, 0.56], [0.34, 0.24], 0.60, 0.88);
    roof(&mut hut.thatch, center, [0.40, 0.30], [0.20, 0.015], 0.86, 1.24);
    let mut lamp = |y: f32, r: f32| {
        let at = center.transform_point3(Vec3::new(0.52, y, 0.42));
        (at, r)
    };
    let path = [
        lamp(0.44, 0.012),
        lamp(0.45, 0.04),
        lamp(0.50, 0.05),
        lamp(0.55, 0.04),
        lamp(0.56, 0.012),
    ];
    hut.lantern.tube(&path, 10);
    let cap = [lamp(0.555, 0.055), lamp(0.58, 0.02), lamp(0.68, 0.006)];
    hut.brass.tube(&cap, 10);
    hut
}

/// A hipped roof from one rectangle up to a smaller one, curved like thatch, with an underside.
fn roof(shape: &mut Shape, place: Mat4, low: [f32; 2], high: [f32; 2], from: f32, to: f32) {
    let level = |t: f32| {
        let ease = t.powf(0.75);
        let at = |axis: usize| low[axis] + (high[axis] - low[axis]) * ease;
        (at(0), from + (to - from) * t, at(1))
    };
    let corners = |(x, y, z): (f32, f32, f32)| {
        [(-x, z), (x, z), (x, -z), (-x, -z)]
            .map(|(x, z)| place.transform_point3(Vec3::new(x, y, z)))
    };
    let steps = 5;
    for step in 0..steps {
        let below = corners(level(step as f32 / steps as f32));
        let above = corners(level((step + 1) as f32 / steps as f32));
        for side in 0..4 {
            let next = (side + 1) % 4;
            shape.quad([below[side], below[next], above[next], above[side]], [Vec2::ZERO; 4]);
        }
    }
    let [a, b, c, d] = corners(level(1.0));
    shape.quad([a, b, c, d], [Vec2::ZERO; 4]);
}

/// A palm at the origin, three metres in its own measure: trunk and leaves.
fn palm() -> (Shape, Shape) {
    let mut trunk = Shape::default();
    let bend = |t: f32| Vec3::new(0.34 * t * t, 1.65 * t, 0.10 * (t * 3.0).sin() * t);
    let path: Vec<(Vec3, f32)> = (0..=14)
        .map(|at| {
            let t = at as f32 / 14.0;
            let knob = if at % 2 == 0 { 1.0 } else { 0.86 };
            (bend(t), (0.075 - 0.038 * t) * knob)
        })
        .collect();
    trunk.tube(&path, 9);
    let mut leaves = Shape::default();
    let crown = bend(1.0);
    for leaf in 0..11 {
        let angle = leaf as f32 * 2.399_963;
        let reach = 0.74 + 0.16 * paint::hash(leaf, 4, 1);
        let rise = 0.42 - 0.055 * leaf as f32;
        frond(&mut leaves, crown, angle, reach, rise);
    }
    (trunk, leaves)
}

/// A leaf with leaflets on both sides of a bent rib.
fn frond(shape: &mut Shape, crown: Vec3, angle: f32, reach: f32, rise: f32) {
    let out = Vec3::new(angle.cos(), 0.0, angle.sin());
    let side = Vec3::new(-out.z, 0.0, out.x);
    let rib = |t: f32| crown + out * (reach * t) + Vec3::Y * (rise * t - 0.72 * t * t);
    let count = 13;
    for at in 0..count {
        let t = 0.08 + 0.9 * at as f32 / count as f32;
        let length = 0.25 * (1.0 - (2.0 * t - 0.9).powi(2) * 0.75).max(0.12);
        for sign in [1.0_f32, -1.0] {
            let (from, to) = (rib(t), rib(t + 0.085));
            let tip = rib(t + 0.10) + side * (sign * length) - Vec3::Y * (0.42 * length);
            let corners = if sign > 0.0 { [from, tip, to] } else { [from, to, tip] };
            let normal =
                (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or(Vec3::Y);
            let normal = if normal.y < 0.0 { -normal } else { normal };
            shape.triangle(corners, (normal + Vec3::Y).normalize());
        }
    }
}

fn parts() -> Vec<Part> {
    let (mut slate, brass) = plinth();
    stairs(&mut slate);
    let hut = hut();
    let (trunk, leaves) = palm();
    vec![
        earth().part("terraces", Look::Earth as usize, true),
        water().part("water", Look::Water as usize, false),
        rice().part("rice", Look::Rice as usize, false),
        slate.part("plinth and stairs", Look::Stone as usize, false),
        brass.part("brass band", Look::Brass as usize, false),
        hut.wood.part("hut", Look::Wood as usize, true),
        hut.thatch.part("roof", Look::Thatch as usize, false),
        hut.lantern.part("lantern", Look::Lantern as usize, false),
        hut.brass.part("lantern cap", Look::Brass as usize, false),
        trunk.part("palm trunk", Look::Bark as usize, false),
        leaves.part("palm leaves", Look::Leaf as usize, false),
    ]
}

/// The whole sample. Palms are nodes of their own; one of them is mirrored.
pub(super) fn glb(wood: &Canvas) -> Vec<u8> {
    let normals = Canvas::normals(128, 128, 7.0, paint::earth_height);
    let scene = Scene {
        parts: parts(),
        materials: materials(),
        textures: vec![
            paint::earth().texture("earth"),
            normals.texture("earth normals"),
            paint::earth_rough().texture("earth roughness"),
            wood.texture("wood"),
        ],
    };
    edit(&glb_bytes(&scene).expect("is encoded"), |root| {
        let nodes = root["nodes"].as_array_mut().expect("has nodes");
        let leaves = nodes.pop().expect("has leaves");
        let trunk = nodes.pop().expect("has a trunk");
        let ground = height(LEVELS - 1) + BUND;
        let palms = [
            ("palm", Vec3::new(-0.52, ground - 0.04, -0.86), [1.0, 1.0, 1.0], 2.6_f32),
            ("palm, mirrored", Vec3::new(0.78, ground - 0.32, -0.98), [-0.82, 0.82, 0.82], 0.4),
            ("palm on the meadow", Vec3::new(-3.05, 0.0, 1.95), [0.78, 0.70, 0.78], 3.4),
        ];
        let mut roots: Vec<usize> = (0..nodes.len()).collect();
        for (name, place, scale, turn) in palms {
            let first = nodes.len();
            nodes.extend([trunk.clone(), leaves.clone()]);
            let half = f64::from(turn) / 2.0;
            let round = |value: f64| (value * 65_536.0).round() / 65_536.0;
            nodes.push(json!({
                "name": name,
                "translation": place.to_array().map(super::shape::round),
                "rotation": [0.0, round(half.sin()), 0.0, round(half.cos())],
                "scale": scale,
                "children": [first, first + 1],
            }));
            roots.push(first + 2);
        }
        root["scenes"][0]["nodes"] = json!(roots);
        root["scenes"][0]["name"] = json!("Sawah: rice terraces");
        root["asset"]["copyright"] = json!("Made by Sawah");
    })
}

/// A good beginning whose end did not arrive.
pub(super) fn broken() -> Vec<u8> {
    let (trunk, leaves) = palm();
    let scene = Scene {
        parts: vec![trunk.part("palm trunk", 0, false), leaves.part("palm leaves", 1, false)],
        materials: vec![
            material("bark", [0.3, 0.2, 0.1], 0.9),
            material("leaf", [0.1, 0.3, 0.1], 0.5),
        ],
        textures: Vec::new(),
    };
    let mut bytes = glb_bytes(&scene).expect("is encoded");
    bytes.truncate(bytes.len() * 3 / 5);
    bytes
}

/// Changes the JSON of a GLB.
fn edit(glb: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let number = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().expect("four")) as usize;
    let end = 20 + number(12);
    let mut root: Value = serde_json::from_slice(&glb[20..end]).expect("is JSON");
    change(&mut root);
    let mut json = serde_json::to_vec(&root).expect("is JSON");
    json.resize(json.len().div_ceil(4) * 4, b' ');
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend(((20 + json.len() + glb.len() - end) as u32).to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(json);
    bytes.extend(&glb[end..]);
    bytes
}
