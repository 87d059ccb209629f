//! The colour spaces of the comparison.

use crate::preview::texels::to_linear;

/// sRGB primaries to CIE XYZ, white D65 (IEC 61966-2-1).
const TO_XYZ: [[f32; 3]; 3] = [
    [0.412_456_4, 0.357_576_1, 0.180_437_5],
    [0.212_672_9, 0.715_152_2, 0.072_175],
    [0.019_333_9, 0.119_192, 0.950_304_1],
];
/// The inverse of [`TO_XYZ`].
const FROM_XYZ: [[f32; 3]; 3] = [
    [3.240_454_2, -1.537_138_5, -0.498_531_4],
    [-0.969_266, 1.876_010_8, 0.041_556],
    [0.055_643_4, -0.204_025_9, 1.057_225_2],
];
/// White: the sums of the rows of [`TO_XYZ`].
const WHITE: [f32; 3] = [0.950_47, 1.0, 1.088_83];
/// Where the cube root of CIE Lab gives way to a line (CIE 15: (6/29)³, and its slope).
const LAB_LINE: f32 = 216.0 / 24_389.0;
const LAB_SLOPE: f32 = 841.0 / 108.0;
/// How much less colourful dim colours look (the Hunt effect, equation 6 of the paper).
const HUNT: f32 = 0.01;

fn turned(matrix: [[f32; 3]; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    matrix.map(|[a, b, c]| a * x + b * y + c * z)
}

fn xyz_over_white(linear: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = turned(TO_XYZ, linear);
    [x / WHITE[0], y / WHITE[1], z / WHITE[2]]
}

/// sRGB, 0 to 1, to `YCxCz`: luminance, red to green, blue to yellow, linear in light so that it
/// may be filtered (equation 3 of the paper).
pub(super) fn opponent(srgb: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = xyz_over_white(srgb.map(to_linear));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// `YCxCz` to CIE Lab, by way of the colours that a monitor can show.
pub(super) fn lab([light, red_green, blue_yellow]: [f32; 3]) -> [f32; 3] {
    let y = (light + 16.0) / 116.0;
    let x = (y + red_green / 500.0) * WHITE[0];
    let z = (y - blue_yellow / 200.0) * WHITE[2];
    lab_of_linear(turned(FROM_XYZ, [x, y, z]).map(|value| value.clamp(0.0, 1.0)))
}

/// Linear light with sRGB primaries to CIE Lab.
pub(super) fn lab_of_linear(linear: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = xyz_over_white(linear)
        .map(|value| if value > LAB_LINE { value.cbrt() } else { LAB_SLOPE * value + 4.0 / 29.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIE Lab with dim colours less colourful.
pub(super) fn hunt([light, a, b]: [f32; 3]) -> [f32; 3] {
    [light, HUNT * light * a, HUNT * light * b]
}

/// Distance for large differences: lightness apart from the plane of colours (Abasi, Tehran and
/// Fairchild 2019; equation 7 of the paper).
pub(super) fn hyab(one: [f32; 3], other: [f32; 3]) -> f32 {
    (one[0] - other[0]).abs() + (one[1] - other[1]).hypot(one[2] - other[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: [f32; 3], other: [f32; 3], by: f32) {
        let far = one.iter().zip(other).any(|(a, b)| (a - b).abs() > by);
        assert!(!far, "{one:?} instead of {other:?}");
    }

    #[test]
    fn known_colours_have_known_places() {
        near(opponent([1.0; 3]), [100.0, 0.0, 0.0], 1e-3);
        near(lab_of_linear([1.0; 3]), [100.0, 0.0, 0.0], 1e-3);
        near(lab_of_linear([0.0; 3]), [0.0; 3], 1e-4);
        // Red of sRGB in CIE Lab, as tables give it.
        near(lab_of_linear([1.0, 0.0, 0.0]), [53.24, 80.09, 67.20], 0.02);
        near(hunt([50.0, 40.0, -20.0]), [50.0, 20.0, -10.0], 1e-5);
    }

    #[test]
    fn there_and_back_gives_the_same_colour() {
        for srgb in [[0.2, 0.5, 0.9], [1.0, 0.0, 0.3], [0.5; 3]] {
            near(lab(opponent(srgb)), lab_of_linear(srgb.map(to_linear)), 0.02);
        }
    }
}
