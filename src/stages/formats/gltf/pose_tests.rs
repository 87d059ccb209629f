//! Animations at their moments.

use super::tests::{Doc, FLOAT, floats, morphing};
use crate::model::Reason;
use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use crate::stages::formats::tests::Quiet;
use crate::stages::formats::{LoadedScene, Moment, load_scene_at};
use glam::Vec3;
use serde_json::json;

fn read_at(doc: &Doc, moment: Moment) -> Result<LoadedScene, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.glb");
    std::fs::write(&path, doc.clone().bytes()).expect("written");
    load_scene_at(&path, folder.path(), moment, &Quiet)
}

fn part_at(doc: &Doc, moment: Moment) -> Part {
    read_at(doc, moment).expect("reads").scene.parts.remove(0)
}

#[track_caller]
fn refused_at(doc: &Doc, moment: Moment, reason: Reason, part: &str) {
    let failure = read_at(doc, moment).expect_err("is bad");
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
}

/// A triangle whose node an animation of two seconds moves, turns or scales.
fn animated(path: &str, kind: &str, values: &[f32], interpolation: &str) -> Doc {
    let mut doc = Doc::triangle();
    let times = doc.add(FLOAT, "SCALAR", &floats(&[1.0, 3.0]));
    let output = doc.add(FLOAT, kind, &floats(values));
    doc.root["animations"] = json!([{
        "name": "walk",
        "channels": [{ "sampler": 0, "target": { "node": 0, "path": path } }],
        "samplers": [{ "input": times, "output": output, "interpolation": interpolation }],
    }]);
    doc
}

#[test]
fn an_animation_is_shown_at_any_of_its_moments() {
    let first = |doc: &Doc, time_s| part_at(doc, Moment::At { animation: 0, time_s }).positions[1];
    let near = |seen: Vec3, wanted: [f32; 3]| {
        assert!(seen.abs_diff_eq(Vec3::from(wanted), 1e-4), "{seen} {wanted:?}");
    };
    // The corner lies at (1, 0, 0).
    let moved = animated("translation", "VEC3", &[0., 0., 0., 0., 8., 0.], "LINEAR");
    for (time_s, y) in [(0.0, 0.0), (1.0, 0.0), (1.5, 2.0), (2.5, 6.0), (3.0, 8.0), (9.0, 8.0)] {
        near(first(&moved, time_s), [1.0, y, 0.0]);
    }
    assert_eq!(part_at(&moved, Moment::Rest).positions[1], Vec3::X);
    let jumps = animated("translation", "VEC3", &[0., 0., 0., 0., 8., 0.], "STEP");
    near(first(&jumps, 2.9), [1.0, 0.0, 0.0]);
    near(first(&jumps, 3.0), [1.0, 8.0, 0.0]);
    // A quarter turn about +Z, by the shorter way: the second is the same turn with other signs.
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let turned = animated("rotation", "VEC4", &[0., 0., 0., 1., 0., 0., -half, -half], "LINEAR");
    near(first(&turned, 2.0), [half, half, 0.0]);
    near(first(&turned, 3.0), [0.0, 1.0, 0.0]);
    // Flat slopes at both ends ease in and out; a slope of 4 a second on leaving adds its part of
    // an eighth of the two seconds at the middle.
    let values = [0., 0., 0., 0., 0., 0., 0., 4., 0., 0., 0., 0., 0., 8., 0., 0., 0., 0.];
    let eased = animated("translation", "VEC3", &values, "CUBICSPLINE");
    near(first(&eased, 2.0), [1.0, 4.0 + 4.0 * 2.0 / 8.0, 0.0]);
    near(first(&eased, 3.0), [1.0, 8.0, 0.0]);
    let scaled = animated("scale", "VEC3", &[1., 1., 1., 3., 1., 1.], "LINEAR");
    near(first(&scaled, 2.0), [2.0, 0.0, 0.0]);
    let mut doc = morphing();
    let times = doc.add(FLOAT, "SCALAR", &floats(&[0.0, 1.0]));
    let weights = doc.add(FLOAT, "SCALAR", &floats(&[0.0, 1.0]));
    doc.root["animations"] = json!([{
        "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }],
        "samplers": [{ "input": times, "output": weights }],
    }]);
    near(first(&doc, 0.25), [1.0, 0.0, 2.0]);
}

#[test]
fn animations_that_cannot_be_played_are_named() {
    let at = |animation| Moment::At { animation, time_s: 1.5 };
    refused_at(&Doc::triangle(), at(0), Reason::SettingInvalid, "no animation");
    let good = animated("translation", "VEC3", &[0., 0., 0., 0., 8., 0.], "LINEAR");
    refused_at(&good, at(1), Reason::SettingInvalid, "1 animations");
    let short = animated("translation", "VEC3", &[0., 0., 0.], "LINEAR");
    refused_at(&short, at(0), Reason::InputCorrupt, "fewer values");
    let wild = animated("translation", "VEC3", &[0., f32::NAN, 0., 0., 0., 0.], "LINEAR");
    refused_at(&wild, at(0), Reason::InputCorrupt, "infinite");
    let mut lost = animated("translation", "VEC3", &[0.; 6], "LINEAR");
    lost.root["animations"][0]["channels"][0]["target"]["node"] = json!(7);
    refused_at(&lost, at(0), Reason::InputCorrupt, "does not exist");
}
