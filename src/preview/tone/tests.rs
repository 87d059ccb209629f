//! Tone maps: known points, and what holds for all of them.

use super::*;

fn one(pixel: [f32; 4]) -> Vec<u8> {
    tone_map(&LinearImage { width: 1, height: 1, pixels: vec![pixel] }, Grade::default()).rgba
}

#[test]
fn neutral_keeps_base_colours_under_white_light() {
    // A dielectric's mirror adds 0.04 to its base colour; the tone map takes it away again.
    for base in [0.08_f32, 0.2, 0.5, 0.7, 0.75] {
        let shown = neutral(Vec3::splat(base + 0.04));
        assert!((shown.x - base).abs() < 1e-6, "{base}: {shown}");
    }
    let red = neutral(Vec3::new(0.7, 0.2, 0.1) + 0.04);
    assert!((red - Vec3::new(0.7, 0.2, 0.1)).abs().max_element() < 1e-6, "{red}");
}

#[test]
fn neutral_rises_smoothly_and_stays_below_one() {
    let mut before = 0.0;
    for step in 0_u16..4_000 {
        let shown = neutral(Vec3::splat(f32::from(step) * 0.01)).x;
        assert!(shown >= before && shown <= 1.0, "{step}: {shown}");
        before = shown;
    }
}

#[test]
fn unusual_numbers_do_no_harm() {
    assert_eq!(one([f32::NAN, -1.0, 0.0, 1.0]), [0, 0, 0, 255]);
    let bright = one([f32::INFINITY, f32::INFINITY, f32::INFINITY, f32::NAN]);
    assert!(bright.iter().all(|byte| *byte >= 254), "{bright:?}");
}

#[test]
fn light_without_alpha_stays_visible() {
    let flame = one([0.5, 0.25, 0.1, 0.0]);
    assert!(flame[3] > 80 && flame[0] > 200, "{flame:?}");
    assert_eq!(one([0.0, 0.0, 0.0, 0.0]), [0; 4]);
}

#[test]
fn exposure_changes_only_for_unusual_pictures() {
    let image = |value: f32| LinearImage {
        width: 2,
        height: 1,
        pixels: vec![[value, value, value, 1.0]; 2],
    };
    assert!(auto_exposure(&image(0.2)).abs() < 1e-6);
    assert!((auto_exposure(&image(0.0018)) - 100.0_f32.log2()).abs() < 0.01);
    assert!(auto_exposure(&image(180.0)) < -9.0);
    assert!(auto_exposure(&image(f32::NAN)).abs() < 1e-6);
    let dark = tone_map(&image(0.0018), Grade::automatic(&image(0.0018), ToneMap::Neutral));
    assert!(dark.rgba[0] > 90, "{:?}", dark.rgba);
}

fn close(shown: Vec3, right: [f32; 3], by: f32) {
    let far = (shown - Vec3::from(right)).abs().max_element();
    assert!(far <= by, "{shown} instead of {right:?}");
}

// The points below were computed from the published formulas in double precision, apart from this
// code.

#[test]
fn agx_has_the_points_of_its_formula() {
    // 18% grey lies 0.606061 along the curve, where the polynomial gives 0.49673.
    close(toned(ToneMap::Agx, Vec3::splat(0.18)), [0.214_5; 3], 3e-4);
    // White of 1 lies 0.755996 along it: 0.78686.
    close(toned(ToneMap::Agx, Vec3::ONE), [0.590_2; 3], 3e-4);
    // The ends: nothing, and more light than the curve knows.
    close(toned(ToneMap::Agx, Vec3::ZERO), [0.0; 3], 1e-6);
    close(toned(ToneMap::Agx, Vec3::splat(1e6)), [0.996_9; 3], 3e-4);
    close(toned(ToneMap::Agx, Vec3::X), [0.723_28, 0.105_85, 0.066_74], 1e-4);
    close(toned(ToneMap::Agx, Vec3::new(0.8, 0.4, 0.1)), [0.556_99, 0.368_66, 0.187_15], 1e-4);
    // Bright blue loses its colour, and is cut at 1.
    close(toned(ToneMap::Agx, Vec3::new(0.0, 0.0, 4.0)), [0.227_83, 0.392_81, 1.0], 1e-4);
}

#[test]
fn aces_has_the_points_of_its_formula() {
    // A tenth, as the Academy's own transform gives for 18% grey.
    close(toned(ToneMap::AcesFit, Vec3::splat(0.18)), [0.105_59; 3], 1e-5);
    close(toned(ToneMap::AcesFit, Vec3::ONE), [0.619_11; 3], 2e-5);
    close(toned(ToneMap::AcesFit, Vec3::ZERO), [0.0; 3], 1e-6);
    // Red leaves the screen's colours on the green side, and is cut there.
    close(toned(ToneMap::AcesFit, Vec3::X), [0.688_03, 0.0, 0.002_64], 1e-5);
    close(toned(ToneMap::AcesFit, Vec3::new(0.8, 0.4, 0.1)), [0.552_98, 0.306_56, 0.070_6], 1e-5);
}

#[test]
fn linear_only_cuts() {
    close(toned(ToneMap::Linear, Vec3::new(0.25, 1.0, 7.0)), [0.25, 1.0, 1.0], 0.0);
}

#[test]
fn every_map_rises_with_grey_keeps_it_grey_and_stays_in_range() {
    for map in ToneMap::ALL {
        let mut before = 0.0;
        for step in 0_u16..6_000 {
            let light = (f32::from(step) * 0.005 - 15.0).exp2();
            let shown = toned(map, Vec3::splat(light));
            let spread = shown.max_element() - shown.min_element();
            assert!(spread < 2e-3, "{map}: grey of {light} is {shown}");
            assert!(shown.y >= before - 1e-6, "{map}: {light} is darker than less light");
            before = shown.y;
        }
        assert!(before > 0.95 && before <= 1.0, "{map}: {before}");
    }
}

#[test]
fn every_map_gives_colours_in_range_for_any_light() {
    let values = [0.0, 1e-30, 1e-4, 0.02, 0.18, 0.7, 1.0, 3.0, 100.0, 1e6];
    for map in ToneMap::ALL {
        for red in values {
            for green in values {
                for blue in values {
                    let shown = toned(map, Vec3::new(red, green, blue));
                    let right = shown.cmpge(Vec3::ZERO).all() && shown.cmple(Vec3::ONE).all();
                    assert!(right, "{map}: {red} {green} {blue} is {shown}");
                }
            }
        }
    }
}

#[test]
fn colours_of_moderate_light_keep_their_order() {
    for map in ToneMap::ALL {
        let shown = toned(map, Vec3::new(0.6, 0.3, 0.1));
        assert!(shown.x > shown.y && shown.y > shown.z, "{map}: {shown}");
    }
}

#[test]
fn the_choice_is_seen_in_the_picture() {
    let image = LinearImage { width: 1, height: 1, pixels: vec![[0.5, 0.5, 0.5, 1.0]] };
    let shown = |tone_map| tone_map_of(&image, tone_map);
    let bytes = ToneMap::ALL.map(shown);
    let distinct: std::collections::BTreeSet<u8> = bytes.into_iter().collect();
    assert_eq!(distinct.len(), bytes.len(), "{bytes:?}");
    assert_eq!(shown(ToneMap::Linear), 188);
}

fn tone_map_of(image: &LinearImage, map: ToneMap) -> u8 {
    tone_map(image, Grade { exposure_stops: 0.0, tone_map: map }).rgba[0]
}
