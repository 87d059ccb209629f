//! A fit of the Academy's reference rendering and its output transform for sRGB monitors.
//!
//! By Stephen Hill (`ACES.hlsl` of the sample `BakingLab` by Matt Pettineo, MIT): a matrix into the
//! space of the rendering, a rational curve for rendering and output together, a matrix to sRGB
//! primaries. As there, and unlike three.js, light is not scaled before: 18% grey becomes 10%.

use glam::{Mat3, Vec3};

/// sRGB to XYZ, D65 to D60, AP1, and the desaturation of the rendering; columns.
const INTO: Mat3 = Mat3::from_cols_array(&[
    0.597_19, 0.076_00, 0.028_40, //
    0.354_58, 0.908_34, 0.133_83, //
    0.048_23, 0.015_66, 0.837_77,
]);
/// The desaturation of the output, XYZ, D60 to D65, sRGB.
const OUT: Mat3 = Mat3::from_cols_array(&[
    1.604_75, -0.102_08, -0.003_27, //
    -0.531_08, 1.108_13, -0.072_76, //
    -0.073_67, -0.006_05, 1.076_02,
]);

/// Linear colours of the screen, not yet cut to 0 to 1.
pub(super) fn aces(light: Vec3) -> Vec3 {
    OUT * (INTO * light).map(curve)
}

fn curve(light: f32) -> f32 {
    let over = light * (light + 0.024_578_6) - 0.000_090_537;
    let under = light * (0.983_729 * light + 0.432_951) + 0.238_081;
    over / under
}
