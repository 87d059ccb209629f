//! JPEG files of four inks (CMYK, YCCK).
//!
//! Programs of Adobe store inks inverted (255 is no ink) and say so by their APP14 segment; files
//! without it are stored plainly. The common decoder takes all of them for inverted.

use super::colour::{self, Profile};
use super::images::{check_size, turned};
use super::{bounds, corrupt, truncated, unsupported};
use crate::preview::DecodedImage;
use crate::protocol::work::Failure;
use image::metadata::Orientation;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// What the markers before the first scan say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Markers {
    /// Components of a pixel.
    pub components: u8,
    /// Bits of a sample.
    pub bits: u8,
    /// Whether the segment of Adobe's programs is there.
    pub adobe: bool,
    /// Adobe's transform: 2 where the inks are stored as YCCK.
    pub transform: u8,
    /// How the picture is coded.
    pub coding: &'static str,
}

/// Reads the markers up to the frame header (ITU-T T.81, B.1.1.3 and B.2.2).
pub(super) fn markers(bytes: &[u8]) -> Markers {
    let mut found = Markers::default();
    let mut at = 2_usize;
    while let Some(&[0xff, marker]) = bytes.get(at..at + 2).and_then(|two| two.first_chunk()) {
        if marker == 0xff {
            at += 1;
            continue;
        }
        let length = bytes.get(at + 2..at + 4).and_then(|two| two.first_chunk::<2>());
        let Some(length) = length.map(|length| usize::from(u16::from_be_bytes(*length))) else {
            break;
        };
        let body = bytes.get(at + 4..at.saturating_add(2 + length)).unwrap_or_default();
        match marker {
            0xee if body.starts_with(b"Adobe") => {
                found.adobe = true;
                found.transform = body.get(11).copied().unwrap_or(0);
            }
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => {
                found.bits = body.first().copied().unwrap_or(0);
                found.components = body.get(5).copied().unwrap_or(0);
                found.coding = match marker {
                    0xc0 | 0xc1 => "sequential",
                    0xc2 => "progressive",
                    0xc3 | 0xc7 | 0xcb | 0xcf => "lossless",
                    _ => "arithmetic",
                };
            }
            0xda | 0xd9 => break,
            _ => {}
        }
        at = at.saturating_add(2 + length.max(2));
    }
    found
}

/// Decodes inks to sRGB, turned upright.
pub(super) fn decode(
    bytes: &[u8],
    name: &str,
    orientation: Orientation,
    profile: Option<&Profile>,
) -> Result<DecodedImage, Failure> {
    let edge = bounds::IMAGE_EDGE as usize;
    let options =
        DecoderOptions::default().set_strict_mode(false).set_max_width(edge).set_max_height(edge);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| failure(&error, name))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let [width, height] = [width, height].map(|edge| u32::try_from(edge).unwrap_or(u32::MAX));
    check_size(width, height, 4, name)?;
    let stored = decoder.input_colorspace().unwrap_or(ColorSpace::CMYK);
    decoder.set_options(options.jpeg_set_out_colorspace(stored));
    let mut inks = decoder.decode().map_err(|error| failure(&error, name))?;
    if inks.len() as u64 != u64::from(width) * u64::from(height) * 4 {
        return Err(corrupt(format!(
            "{name} has another number of inks than its header says. Export it again"
        )));
    }
    let inverted = markers(bytes).adobe;
    for pixel in inks.as_chunks_mut::<4>().0 {
        if stored == ColorSpace::YCCK {
            *pixel = ycck_to_cmyk(*pixel);
        }
        if inverted {
            *pixel = pixel.map(|ink| 255 - ink);
        }
    }
    Ok(turned(width, height, colour::inks_to_rgba(&inks, profile), orientation))
}

/// The colours of YCCK are those of the inks' complement; black stands as it is.
fn ycck_to_cmyk([luma, blue, red, black]: [u8; 4]) -> [u8; 4] {
    let [luma, blue, red] = [f32::from(luma), f32::from(blue) - 128.0, f32::from(red) - 128.0];
    let rgb = [luma + 1.402 * red, luma - 0.344_136 * blue - 0.714_136 * red, luma + 1.772 * blue];
    let [cyan, magenta, yellow] = rgb.map(|value| 255 - value.round().clamp(0.0, 255.0) as u8);
    [cyan, magenta, yellow, black]
}

fn failure(error: &DecodeErrors, name: &str) -> Failure {
    match error {
        DecodeErrors::Unsupported(_) => unsupported(format!(
            "{name} cannot be read: {error:?}. Save it as a plain JPEG or as PNG"
        )),
        DecodeErrors::ExhaustedData => {
            truncated(format!("{name} ends too early. Copy or export it again"))
        }
        _ => corrupt(format!("{name} cannot be decoded: {error:?}. Export it again")),
    }
}
