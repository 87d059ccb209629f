//! Rules about vertices: colours, poses, topologies and how their numbers are stored.

use super::board::{Board, factors, place, tile, unlit, with};
use super::shot::{Shot, front};
use crate::preview::scene::Part;
use crate::stages::formats::gltf::tests::{FLOAT, UBYTE, USHORT, floats, shorts};
use glam::{Vec3, Vec4};
use serde_json::{Value, json};

#[test]
fn vertex_colours_multiply_the_base_colour() {
    let (left, right) = (Vec3::new(1.0, 0.2, 0.0), Vec3::new(0.2, 0.6, 1.0));
    let order = [left, right, right, left];
    let make = |dyed: bool| {
        let mut board = Board::new();
        let base = unlit([0.8, 0.5, 0.8, 1.0]);
        let bytes = |most: f32| {
            let all = order.iter().flat_map(|color| color.extend(1.0).to_array());
            all.map(|channel| (channel * most).round()).collect::<Vec<f32>>()
        };
        let small: Vec<u8> = bytes(255.0).iter().map(|value| *value as u8).collect();
        let large: Vec<u16> = bytes(65_535.0).iter().map(|value| *value as u16).collect();
        let exact: Vec<f32> = order.iter().flat_map(Vec3::to_array).collect();
        for (column, component, kind, data) in [
            (0, FLOAT, "VEC3", floats(&exact)),
            (1, UBYTE, "VEC4", small),
            (2, USHORT, "VEC4", shorts(&large)),
        ] {
            let mesh = board.tile(column, 0, base.clone());
            let colors = board.doc.add(component, kind, &data);
            board.doc.root["accessors"][colors]["normalized"] = (component != FLOAT).into();
            board.attribute(mesh, "COLOR_0", colors);
        }
        // Lit, all vertices alike: as if the factor said it.
        let mut part = tile(place(1, 1), 0.5);
        let color = if dyed { [0.8; 4] } else { [0.4, 0.2, 0.6, 0.8] };
        if dyed {
            part.colors = vec![Vec4::new(0.5, 0.25, 0.75, 1.0); 4];
        }
        board.show(&part, factors(color, 0.0, 0.5));
        Shot::of(&board.read().scene, front())
    };
    let shot = make(true);
    let base = Vec3::new(0.8, 0.5, 0.8);
    for taken in &shot.taken {
        for column in 0..3 {
            for x in [-0.3_f32, 0.0, 0.3] {
                let expected = base * left.lerp(right, x + 0.5);
                let at = place(column, 0) + Vec3::X * x;
                taken.is(at, expected.extend(1.0).to_array(), 0.01);
            }
        }
    }
    shot.same_as(&make(false), 1);
    shot.holds("rule-07-vertex-colours");
}

/// A bar from y 0 to 4 in eight steps.
fn bar() -> Part {
    let mut part = Part::default();
    for step in 0..=8_u32 {
        let y = step as f32 * 0.5;
        part.positions.extend([Vec3::new(-0.5, y, 0.0), Vec3::new(0.5, y, 0.0)]);
        part.normals.extend([Vec3::Z; 2]);
        if step < 8 {
            let first = step * 2;
            part.indices.extend([0, 1, 3, 0, 3, 2].map(|at| first + at));
        }
    }
    part
}

/// The bar on two joints; the upper one is turned to the left. Weights are not normalised.
fn bent(morph: f32) -> Board {
    let mut board = Board::new();
    let part = bar();
    let material = board
        .material(with(factors([0.25, 0.5, 0.35, 1.0], 0.0, 0.6), json!({ "doubleSided": true })));
    let mesh = board.mesh(&part, Some(material));
    let upper = |corner: &Vec3| ((corner.y - 1.5).clamp(0.0, 1.0)) * 2.0;
    let joints: Vec<u8> = part.positions.iter().flat_map(|_| [0, 1, 0, 0]).collect();
    let weights: Vec<f32> =
        part.positions.iter().flat_map(|at| [2.0 - upper(at), upper(at), 0.0, 0.0]).collect();
    let joints = board.doc.add(UBYTE, "VEC4", &joints);
    let weights = board.doc.add(FLOAT, "VEC4", &floats(&weights));
    board.attribute(mesh, "JOINTS_0", joints);
    board.attribute(mesh, "WEIGHTS_0", weights);
    // The tip moves along x before it is turned.
    let moved: Vec<f32> = part
        .positions
        .iter()
        .flat_map(|at| [if at.y > 3.9 { 1.0 } else { 0.0 }, 0.0, 0.0])
        .collect();
    let target = board.doc.add(FLOAT, "VEC3", &floats(&moved));
    board.doc.root["meshes"][mesh]["primitives"][0]["targets"] = json!([{ "POSITION": target }]);
    board.doc.root["meshes"][mesh]["weights"] = json!([9.0]);
    let mut inverse = glam::Mat4::IDENTITY.to_cols_array().to_vec();
    inverse.extend(glam::Mat4::from_translation(Vec3::Y * -2.0).to_cols_array());
    let inverse = board.doc.add(FLOAT, "MAT4", &floats(&inverse));
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let knee = board.loose(json!({ "translation": [0, 2, 0], "rotation": [0, 0, half, half] }));
    let root = board.node(json!({ "children": [knee] }));
    let skin =
        board.push("skins", json!({ "joints": [root, knee], "inverseBindMatrices": inverse }));
    // The node's own place does not count, its weights do.
    board.node(json!({
        "mesh": mesh, "skin": skin, "weights": [morph], "translation": [100, 0, 0],
        "scale": [1, 3, 1],
    }));
    board
}

#[test]
fn skins_and_morphs_are_posed_and_framed_as_posed() {
    let loaded = bent(0.5).read();
    let bounds = loaded.scene.bounds().expect("has corners");
    // The tip is at y 4, x ±0.5 (moved to 0 … 1), so after the turn at x −2, y 2 … 3.
    assert!(bounds.min.abs_diff_eq(Vec3::new(-2.0, 0.0, 0.0), 1e-4), "{bounds:?}");
    assert!(bounds.max.abs_diff_eq(Vec3::new(0.5, 3.0, 0.0), 1e-4), "{bounds:?}");
    let shot = Shot::of(&loaded.scene, front());
    let at = |x: f32, y: f32| Vec3::new(x, y, 0.0);
    for taken in &shot.taken {
        for (x, y) in [(0.0, 0.2), (0.0, 1.2), (-1.2, 2.0), (-1.92, 2.8), (-1.92, 2.1)] {
            assert!(taken.at(at(x, y)).w == 1.0, "{}: nothing at {x} {y}", taken.by);
        }
        for (x, y) in [(0.0, 3.2), (-1.92, 1.8), (-1.2, 1.2), (0.7, 2.0)] {
            assert!(taken.at(at(x, y)).w == 0.0, "{}: something at {x} {y}", taken.by);
        }
    }
    shot.differs_from(&Shot::of(&bent(0.0).read().scene, front()), 8);
    shot.holds("rule-11-poses");
}

/// Shows corners with a topology at a place of the grid.
fn kind(board: &mut Board, at: Vec3, mode: u8, corners: &[[f32; 2]], order: Option<&[u8]>) {
    let numbers: Vec<f32> =
        corners.iter().flat_map(|[x, y]| [at.x + x * 0.5, at.y + y * 0.5, at.z]).collect();
    let positions = board.doc.add(FLOAT, "VEC3", &floats(&numbers));
    let material = board.material(unlit([0.1, 0.2, 0.6, 1.0]));
    let mut primitive = json!({
        "attributes": { "POSITION": positions }, "mode": mode, "material": material,
    });
    if let Some(order) = order {
        primitive["indices"] = board.doc.add(UBYTE, "SCALAR", order).into();
    }
    let mesh = board.push("meshes", json!({ "primitives": [primitive] }));
    board.node(json!({ "mesh": mesh }));
}

const ROUND: [[f32; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
const ZIGZAG: [[f32; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]];

/// A square whose upper corners a sparse accessor lifts from the middle.
fn lifted(board: &mut Board, at: Vec3, stated: Option<&Value>) {
    let base: Vec<f32> = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.0], [-0.5, 0.0]]
        .iter()
        .flat_map(|[x, y]| [at.x + x, at.y + y, at.z])
        .collect();
    let base = board.doc.view(&floats(&base));
    let places = board.doc.view(&[2, 3]);
    let values = [at.x + 0.5, at.y + 0.5, at.z, at.x - 0.5, at.y + 0.5, at.z];
    let values = board.doc.view(&floats(&values));
    let positions = board.doc.accessor(json!({
        "bufferView": base, "componentType": FLOAT, "type": "VEC3", "count": 4,
        "sparse": {
            "count": 2,
            "indices": { "bufferView": places, "componentType": UBYTE },
            "values": { "bufferView": values },
        },
    }));
    let order = board.doc.add(UBYTE, "SCALAR", &[0, 1, 2, 0, 2, 3]);
    let mut primitive = json!({ "attributes": { "POSITION": positions }, "indices": order });
    if let Some(material) = stated {
        primitive["material"] = board.material(material.clone()).into();
    }
    let mesh = board.push("meshes", json!({ "primitives": [primitive] }));
    board.node(json!({ "mesh": mesh }));
}

/// A square whose positions and colours lie between each other in one view.
fn interleaved(board: &mut Board, at: Vec3) {
    let mut bytes = Vec::new();
    for [x, y] in ROUND {
        bytes.extend(floats(&[at.x + x * 0.5, at.y + y * 0.5, at.z]));
        bytes.extend([255, 128, 0, 255]);
    }
    let view = board.doc.view(&bytes);
    board.doc.root["bufferViews"][view]["byteStride"] = 16.into();
    let positions = board.doc.accessor(json!({
        "bufferView": view, "componentType": FLOAT, "type": "VEC3", "count": 4,
    }));
    let colors = board.doc.accessor(json!({
        "bufferView": view, "byteOffset": 12, "componentType": UBYTE, "type": "VEC4", "count": 4,
        "normalized": true,
    }));
    let order = board.doc.add(UBYTE, "SCALAR", &[0, 1, 2, 0, 2, 3]);
    let material = board.material(unlit([1.0; 4]));
    let mesh = board.push(
        "meshes",
        json!({ "primitives": [{
            "attributes": { "POSITION": positions, "COLOR_0": colors }, "indices": order,
            "material": material,
        }]}),
    );
    board.node(json!({ "mesh": mesh }));
}

#[test]
fn all_topologies_and_ways_to_store_numbers_are_drawn() {
    let make = |stated: Option<&Value>| {
        let mut board = Board::new();
        kind(&mut board, place(0, 0), 0, &ROUND, None);
        kind(&mut board, place(1, 0), 1, &ROUND, None);
        kind(&mut board, place(2, 0), 2, &ROUND, Some(&[0, 1, 2, 3]));
        kind(&mut board, place(0, 1), 3, &ROUND, None);
        kind(&mut board, place(1, 1), 4, &ROUND, Some(&[0, 1, 2, 0, 2, 3]));
        kind(&mut board, place(2, 1), 5, &ZIGZAG, None);
        kind(&mut board, place(0, 2), 6, &ROUND, Some(&[0, 1, 2, 3]));
        lifted(&mut board, place(1, 2), stated);
        interleaved(&mut board, place(2, 2));
        Shot::of(&board.read().scene, front())
    };
    let shot = make(None);
    let beside = |column, row, x, y| place(column, row) + Vec3::new(x, y, 0.0) * 0.5;
    let sides = [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)];
    for taken in &shot.taken {
        for (column, row) in [(1, 1), (2, 1), (0, 2), (1, 2), (2, 2)] {
            for (x, y) in [(-0.7, -0.7), (0.7, -0.7), (0.7, 0.7), (-0.7, 0.7), (0.0, 0.0)] {
                let solid = taken.at(beside(column, row, x, y)).w;
                assert!(solid == 1.0, "{}: a hole in {column} {row}", taken.by);
            }
        }
        // Lines: two, all four, all but the last.
        for (column, row, drawn) in [
            (1, 0, [true, false, true, false]),
            (2, 0, [true; 4]),
            (0, 1, [true, true, true, false]),
        ] {
            for ((x, y), drawn) in sides.into_iter().zip(drawn) {
                let found = taken.at(beside(column, row, x, y)).w;
                assert!((found > 0.1) == drawn, "{}: {found} at {column} {row} {x} {y}", taken.by);
            }
            assert!(taken.at(place(column, row)).w == 0.0, "{}: filled", taken.by);
        }
        for [x, y] in ROUND {
            assert!(taken.at(beside(0, 0, x, y)).w > 0.1, "{}: no point", taken.by);
        }
        assert!(taken.at(beside(0, 0, 0.0, -1.0)).w == 0.0, "{}: a line", taken.by);
        taken.is(place(2, 2), [1.0, 0.502, 0.0, 1.0], 0.005);
    }
    // No material means the defaults of the format, a white rough metal; an empty one says so too.
    shot.same_as(&make(Some(&json!({}))), 0);
    shot.differs_from(&make(Some(&factors([0.3, 0.3, 0.3, 1.0], 0.0, 1.0))), 8);
    shot.holds("rule-12-topologies");
}
