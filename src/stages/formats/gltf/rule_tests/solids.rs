//! Rules about whole objects: flat shading, axes, framing.

use super::board::{Board, factors, tile, unlit};
use super::shot::{Shot, corner, front};
use crate::model::Reason;
use crate::preview::samples::cuboid;
use crate::preview::scene::Part;
use glam::Vec3;
use serde_json::json;

/// A roof of two slopes that share the corners of their ridge.
fn roof() -> Part {
    let corner = |x: f32, y: f32| Vec3::new(x, y, 0.6 - x.abs() * 0.6);
    Part {
        positions: [-1.0, 0.0, 1.0]
            .iter()
            .flat_map(|x| [corner(*x, -0.8), corner(*x, 0.8)])
            .collect(),
        indices: vec![0, 2, 3, 0, 3, 1, 2, 4, 5, 2, 5, 3],
        ..Part::default()
    }
}

#[test]
fn without_normals_faces_are_flat() {
    let make = |smooth: bool| {
        let mut part = roof();
        if smooth {
            let slope = |x: f32| Vec3::new(x * 0.6, 0.0, 1.0).normalize();
            part.normals = part.positions.iter().map(|corner| slope(corner.x)).collect();
        }
        let mut board = Board::new();
        board.show(&part, factors([0.6, 0.6, 0.6, 1.0], 0.0, 1.0));
        Shot::of(&board.read().scene, front())
    };
    let shot = make(false);
    for taken in &shot.taken {
        let at = |x: f32| taken.at(Vec3::new(x, 0.0, 0.6 - x.abs() * 0.6)).x;
        let (far_left, left, right) = (at(-0.9), at(-0.08), at(0.08));
        // What is left is the gleam, which moves with the eye.
        assert!((far_left - left).abs() < 0.03, "{}: {far_left} {left}", taken.by);
        assert!(left - right > 0.12, "{}: a crease: {left} {right}", taken.by);
    }
    shot.differs_from(&make(true), 8);
    shot.holds("rule-05-flat");
}

/// Red along +X, green along +Y, blue along +Z.
fn axes() -> Board {
    let mut board = Board::new();
    for axis in 0..3 {
        let (mut color, mut along) = ([0.05, 0.05, 0.05, 1.0], Vec3::ZERO);
        (color[axis], along[axis]) = (0.8, 1.0);
        let half = Vec3::splat(0.08) + along * 0.3;
        board.show(&cuboid(along * 0.55, half, 0), unlit(color));
    }
    board
}

#[test]
fn y_is_up_and_z_comes_forward_and_x_goes_right() {
    let loaded = axes().read();
    for taken in &Shot::of(&loaded.scene, front()).taken {
        let [red, green, blue] = [0, 1, 2].map(|channel| taken.middle_of(channel));
        assert!(red[0] > blue[0] + 30.0 && (red[1] - blue[1]).abs() < 20.0, "{red:?} {blue:?}");
        assert!(green[1] < blue[1] - 30.0 && (green[0] - blue[0]).abs() < 20.0, "{green:?}");
    }
    let shot = Shot::of(&loaded.scene, corner());
    for taken in &shot.taken {
        let [red, green, blue] = [0, 1, 2].map(|channel| taken.middle_of(channel));
        // From the right, front and above, +Z points to the lower left.
        assert!(blue[0] < red[0] && blue[0] < green[0] && blue[1] > green[1], "{}", taken.by);
        assert!(red[0] > green[0] && red[1] > green[1], "{}", taken.by);
    }
    shot.holds("rule-13-axes");
}

fn lost(positions: [Vec3; 3]) -> Part {
    Part { positions: positions.to_vec(), indices: vec![0, 1, 2], ..Part::default() }
}

#[test]
fn only_finite_points_are_framed_and_nothing_is_said_to_be_nothing() {
    let paint = factors([0.3, 0.55, 0.5, 1.0], 0.0, 0.5);
    let solid = cuboid(Vec3::new(3.0, 1.0, -2.0), Vec3::new(0.8, 0.5, 0.6), 0);
    let make = |broken: bool| {
        let mut board = Board::new();
        board.show(&solid, paint.clone());
        if broken {
            board.show(&lost([Vec3::X * 900.0, Vec3::NAN, Vec3::Y]), paint.clone());
            board.show(&lost([Vec3::NEG_X, Vec3::splat(f32::INFINITY), Vec3::Y]), paint.clone());
        }
        board.try_read().expect("reads")
    };
    let (broken, sound) = (make(true), make(false));
    assert!(!broken.warnings.is_empty() && sound.warnings.is_empty(), "{:?}", broken.warnings);
    let shot = Shot::of(&broken.scene, corner());
    shot.same_as(&Shot::of(&sound.scene, corner()), 0);
    for taken in &shot.taken {
        taken.is(Vec3::new(3.0, 1.0, -2.0), taken.at(Vec3::new(3.0, 1.0, -2.0)).to_array(), 0.0);
        assert!(taken.at(Vec3::new(3.0, 1.0, -2.0)).w == 1.0, "{}", taken.by);
    }
    shot.holds("rule-15-framing");
    let mut wild = Board::new();
    wild.show(&lost([Vec3::NAN; 3]), paint.clone());
    let mut unused = Board::new();
    unused.loose(json!({ "name": "a node without a mesh" }));
    for nothing in [Board::new(), wild, unused] {
        let failure = nothing.try_read().expect_err("nothing to draw");
        assert_eq!(failure.reason, Reason::InputNothingToDraw, "{}", failure.message);
    }
    // A box without a volume, and one without any size, are drawn or named; never a panic.
    let mut flat = Board::new();
    flat.show(&tile(Vec3::ZERO, 1e-30), paint.clone());
    flat.show(&lost([Vec3::ZERO; 3]), paint);
    match flat.try_read() {
        Ok(loaded) => drop(Shot::of(&loaded.scene, corner())),
        Err(failure) => assert_eq!(failure.reason, Reason::InputNothingToDraw),
    }
}
