//! How far two versions of a picture are apart, and a picture of it.
//!
//! The verdict goes by what is stored: light against light is compared in linear light (of the shown
//! layer), two PNG of 16 bits in all their bits, everything else as finished pictures of 8 bits. What
//! is shown, and FLIP, go by the finished pictures: light is developed with the exposure of the first
//! one, so that a difference of brightness stays one.

use super::formats::images::{DeepSamples, deep_samples};
use super::view::{View, ViewWish};
use crate::preview::{
    Comparison, DecodedImage, Differences, FlipError, Picture, compared, differences, mean_flip,
    sample_differences,
};
use crate::protocol::work::{Failure, Warning};
use serde::Serialize;
use std::path::Path;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompareWish {
    /// How both are looked at.
    pub view: ViewWish,
    /// The picture that is made; none where numbers are enough.
    pub shown_as: Option<Comparison>,
    /// Channels may be this far apart: light in its own unit, others as a share of their range.
    pub tolerance: f32,
}

/// What was compared for the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// Linear light as it is stored, alpha premultiplied.
    Light,
    /// Samples of 16 bits.
    Bits16,
    /// Finished pictures of 8 bits; light was developed before.
    Bits8,
}

/// How far two pictures are apart.
#[derive(Debug, Clone, Serialize)]
pub struct CompareReport {
    /// Whether no channel of any pixel is further apart than the tolerance.
    pub same: bool,
    /// What the verdict goes by.
    pub compared: Compared,
    /// The distances that the verdict goes by.
    pub differences: Differences,
    /// The distances of the finished pictures, as shares of the range of a byte.
    pub shown: Differences,
    /// How different they look: 0 is the same. None for more pixels than FLIP takes.
    pub mean_flip: Option<f32>,
    /// Width and height of each in pixels.
    pub size: (u32, u32),
    /// The layers of EXR pictures that were compared.
    pub layers: [Option<String>; 2],
    /// Stops that both were made brighter by to be shown.
    pub exposure_stops: f32,
    /// What has to be known to read the numbers.
    pub notes: Vec<String>,
    /// What lacks in one of them.
    pub warnings: Vec<Warning>,
}

/// Two files were not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// One of them could not be read, or has no such layer.
    #[error("{}", .0.message)]
    File(Failure),
    /// They have different sizes.
    #[error(
        "{one} is {} × {} pixels and {other} is {} × {}: only pictures of one size can be compared. Render or scale one of them anew",
        .sizes[0].0, .sizes[0].1, .sizes[1].0, .sizes[1].1
    )]
    Sizes {
        /// The first file.
        one: String,
        /// The second file.
        other: String,
        /// Width and height of each.
        sizes: [(u32, u32); 2],
    },
    /// They are too large for FLIP to be drawn, or were cut.
    #[error(transparent)]
    Pictures(FlipError),
}

impl From<Failure> for CompareError {
    fn from(failure: Failure) -> Self {
        Self::File(failure)
    }
}

/// Compares two picture files.
pub fn compare(
    one: &Path,
    other: &Path,
    wish: &CompareWish,
) -> Result<(CompareReport, Option<Picture>), CompareError> {
    let first = View::open(one, &wish.view)?;
    let stops = Some(first.look.grade.exposure_stops);
    let mut second = View::open(other, &ViewWish { exposure_stops: stops, ..wish.view.clone() })?;
    // Depths are spread alike too, or a shift of all of them would not be seen.
    second.look.range = first.look.range;
    let [shown_one, shown_other] = [first.shown(u32::MAX), second.shown(u32::MAX)];
    let failed = |error: FlipError| refused(&error, one, other);
    let shown = differences(&shown_one, &shown_other, wish.tolerance).map_err(failed)?;
    let (differences, compared_by) =
        stored([&first, &second], [one, other], wish.tolerance, shown)?;
    let mut notes = first.notes();
    let mean_flip = match mean_flip(&shown_one, &shown_other) {
        Ok(mean) => Some(mean),
        Err(error @ FlipError::Bounds { .. }) => {
            notes.push(format!("FLIP is left out: {error}"));
            None
        }
        Err(error) => return Err(failed(error)),
    };
    let picture = wish.shown_as.map(|how| compared(&shown_one, &shown_other, how)).transpose();
    let report = CompareReport {
        same: differences.changed == 0,
        compared: compared_by,
        differences,
        shown,
        mean_flip,
        size: (shown_one.width, shown_one.height),
        layers: [first.record.layer, second.record.layer],
        exposure_stops: first.look.grade.exposure_stops,
        notes,
        warnings: [first.warnings, second.warnings].concat(),
    };
    Ok((report, picture.map_err(failed)?))
}

/// The distances of what is stored, or those of the finished pictures.
fn stored(
    views: [&View; 2],
    paths: [&Path; 2],
    tolerance: f32,
    shown: Differences,
) -> Result<(Differences, Compared), CompareError> {
    let [one, other] = paths;
    let failed = |error: FlipError| refused(&error, one, other);
    match views.map(|view| &view.image) {
        [DecodedImage::Light(a), DecodedImage::Light(b)] => {
            let [a, b] = [a, b].map(|light| ((light.width, light.height), &light.pixels[..]));
            Ok((sample_differences(a, b, tolerance).map_err(failed)?, Compared::Light))
        }
        [DecodedImage::Display(_), DecodedImage::Display(_)] => {
            let Some(a) = deep_samples(one)? else { return Ok((shown, Compared::Bits8)) };
            let Some(b) = deep_samples(other)? else { return Ok((shown, Compared::Bits8)) };
            let [a, b] = [&a, &b].map(|DeepSamples { size, pixels }| (*size, &pixels[..]));
            Ok((sample_differences(a, b, tolerance).map_err(failed)?, Compared::Bits16))
        }
        _ => Ok((shown, Compared::Bits8)),
    }
}

fn refused(error: &FlipError, one: &Path, other: &Path) -> CompareError {
    match error {
        FlipError::Sizes { one: size, other: other_size } => CompareError::Sizes {
            one: one.display().to_string(),
            other: other.display().to_string(),
            sizes: [*size, *other_size],
        },
        error => CompareError::Pictures(error.clone()),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
