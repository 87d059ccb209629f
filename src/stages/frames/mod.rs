//! Checks one picture that a renderer made before it counts as made.
//!
//! A renderer's exit code says little: it may end well and leave no file, an empty one, half of
//! one, or a black one. So each picture is read back once and judged by the profile's
//! [`OutputCheck`]. Foreign pictures are decoded here: run it inside a stage host.

mod judge;
mod measure;
mod read;
#[cfg(test)]
mod tests;

use super::render::finished_picture;
use crate::model::ToneMap;
use crate::preview::{DecodedImage, Grade, Picture, fit};
use crate::protocol::work::{Failure, Warning};
use crate::renderers::output::OutputCheck;
use std::path::Path;
use std::time::SystemTime;

/// What is expected of a frame.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// What is looked at, and what a finding means.
    pub check: &'a OutputCheck,
    /// The asked width and height in pixels; none where nobody asked.
    pub size: Option<(u32, u32)>,
    /// When the attempt began, by the clock of the disk that the file lies on. An older file was
    /// there before. Looked at where the check asks for newer files.
    pub made_since: Option<SystemTime>,
    /// The frame before, for sudden changes.
    pub previous: Option<&'a FrameFacts>,
}

/// What a frame is.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameFacts {
    /// Size of its file.
    pub size_bytes: u64,
    /// Its format: `PNG`, or what an unknown one begins with.
    pub format: String,
    /// Whether its pixels were looked at; if not, all that follows from them is 0 or false.
    pub decoded: bool,
    /// Width in pixels, as it is shown; 0 where it is not known.
    pub width: u32,
    /// Height in pixels, as it is shown; 0 where it is not known.
    pub height: u32,
    /// Channels that are shown, alpha among them: 1 to 4; 0 where it is not known.
    pub channels: u8,
    /// Whether every pixel is black or transparent.
    pub black: bool,
    /// Share of pixels in pure magenta, in percent.
    pub magenta_percent: f32,
    /// Share of pixels with a value that is no finite number, in percent.
    pub not_a_number_percent: f32,
    /// Mean brightness, 0 to 1: of bytes as they are stored, of light as a display shows it at
    /// most. To be compared between frames of one format only.
    pub mean: f32,
}

/// A frame that counts as made.
#[derive(Debug)]
pub struct Checked {
    /// What it is.
    pub facts: FrameFacts,
    /// What people should know about it.
    pub findings: Vec<Warning>,
    /// What could not be looked at, for the log.
    pub notes: Vec<String>,
    /// Its pixels, where they were decoded: so that a thumbnail costs no second decode.
    pub image: Option<DecodedImage>,
}

impl Checked {
    /// A small picture of the frame, by the usual tone map; none where it was not decoded.
    /// Uses up the pixels.
    pub fn take_thumbnail(&mut self, longest_px: u32) -> Option<Picture> {
        self.image.take().map(|image| small(image, longest_px))
    }
}

/// Checks the picture at `path`.
///
/// Fails with `output.missing` (no such file, or one from before the attempt), `output.invalid`
/// (empty, cut, broken, of another format or size than it should be), `output.degraded` (black,
/// magenta, without colour or with values that are no numbers, where the check says so) or a
/// reason of the disk.
pub fn check(path: &Path, expected: &Expected<'_>) -> Result<Checked, Failure> {
    let file = read::open(path, expected)?;
    let read = read::pixels(file, expected)?;
    judge::judge(read, expected)
}

/// A small picture of the frame at `path`, by the usual tone map.
pub fn thumbnail(path: &Path, longest_px: u32) -> Result<Picture, Failure> {
    super::formats::load_image(path)
        .map(|image| small(image, longest_px))
        .map_err(|failure| read::of_output(failure, &read::name_of(path)))
}

fn small(image: DecodedImage, longest_px: u32) -> Picture {
    let grade = Grade::of(&image, ToneMap::Neutral);
    fit(&finished_picture(image, grade), longest_px)
}
