//! `AgX`, the tone map of Troy Sobotka, in the form that real-time viewers use.
//!
//! Matrices from the `AgX` configuration that Blender ships since 4.0 (working space Rec. 2020, by
//! Eary Chow), as Google Filament and three.js state them (`ToneMapper.cpp`,
//! `tonemapping_pars_fragment.glsl.js`). The curve is the polynomial of sixth degree that Benjamin
//! Wrensch fitted to the base contrast ("Minimal `AgX` Implementation", 2023; mean squared error
//! 3.7e-6). No look is laid on top ("None" in Blender).

use glam::{Mat3, Vec3};

/// The range of the curve in stops of light: 10 below 18% grey to 6.5 above.
const LEAST_EV: f32 = -12.473_93;
const MOST_EV: f32 = 4.026_069;
/// Light below this counts as this, since zero has no logarithm.
const LEAST_LIGHT: f32 = 1e-10;
/// The curve's result is encoded for a screen of this exponent.
const SCREEN_EXPONENT: f32 = 2.2;

/// From Rec. 709 to Rec. 2020 primaries (ITU-R BT.2087); columns.
const TO_REC_2020: Mat3 = Mat3::from_cols_array(&[
    0.6274, 0.0691, 0.0164, //
    0.3293, 0.9195, 0.0880, //
    0.0433, 0.0113, 0.8956,
]);
const FROM_REC_2020: Mat3 = Mat3::from_cols_array(&[
    1.6605, -0.1246, -0.0182, //
    -0.5876, 1.1329, -0.1006, //
    -0.0728, -0.0083, 1.1187,
]);
/// Draws colours towards white, so that bright ones lose their colour; and part of the way back.
const INSET: Mat3 = Mat3::from_cols_array(&[
    0.856_627_15,
    0.137_318_97,
    0.111_898_21, //
    0.095_121_24,
    0.761_242,
    0.076_799_42, //
    0.048_251_606,
    0.101_439_04,
    0.811_302_4,
]);
const OUTSET: Mat3 = Mat3::from_cols_array(&[
    1.127_100_6,
    -0.141_329_77,
    -0.141_329_77, //
    -0.110_606_64,
    1.157_823_7,
    -0.110_606_64, //
    -0.016_493_94,
    -0.016_493_94,
    1.251_936_4,
]);

/// Linear colours of the screen, not yet cut to 0 to 1.
pub(super) fn agx(light: Vec3) -> Vec3 {
    let light = INSET * (TO_REC_2020 * light);
    let stops = light.max(Vec3::splat(LEAST_LIGHT)).to_array().map(f32::log2);
    let share = stops.map(|stop| ((stop - LEAST_EV) / (MOST_EV - LEAST_EV)).clamp(0.0, 1.0));
    let shown = OUTSET * Vec3::from(share.map(contrast));
    let linear = shown.max(Vec3::ZERO).to_array().map(|value| value.powf(SCREEN_EXPONENT));
    FROM_REC_2020 * Vec3::from(linear)
}

/// The fitted S-curve over 0 to 1.
fn contrast(at: f32) -> f32 {
    let coefficients = [15.5, -40.14, 31.96, -6.868, 0.4298, 0.1191, -0.002_32];
    coefficients.into_iter().fold(0.0, |sum, coefficient| sum * at + coefficient)
}
