//! How films are made: codec, transparency, gaps, and the small picture that moves.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// How a film is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilmCodec {
    /// H.264 in MP4: plays everywhere.
    H264,
    /// H.265 in MP4: smaller, plays on newer devices.
    H265,
    /// Apple `ProRes` in MOV, 10 bits: for editing.
    Prores,
    /// VP9 in `WebM`: for browsers.
    Vp9,
    /// FFV1 in Matroska: loses nothing, for archives.
    Ffv1,
}

/// What becomes of transparency in films.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilmAlpha {
    /// What is transparent is black.
    Black,
    /// It stays; only with a codec that has it.
    Keep,
}

/// What a film shows in place of frames that are missing.
///
/// `fail` unless a recipe says otherwise: a film that is delivered must not hide a hole. The
/// shipped `preview` recipe says `hold`: it promises a look at whatever is there, a sequence is
/// often handed in while its last frames still render, and a film that holds keeps its time, which
/// one that skips does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GapPolicy {
    /// Nothing: the stage fails and names them.
    Fail,
    /// The frame before; at the start the first one that is there.
    Hold,
    /// Black.
    Black,
}

/// A small looping picture beside the film.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MovingPicture {
    /// None.
    None,
    /// `preview.gif`: 256 colours, shown everywhere.
    Gif,
    /// `preview.webp`: all colours, smaller.
    Webp,
}

/// All that tells one codec's films from another's. Names and options are FFmpeg's
/// (ffmpeg-codecs and ffmpeg-formats, 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodecFacts {
    /// Suffix of the film's file, without a dot.
    pub suffix: &'static str,
    /// The film's type.
    pub media_type: &'static str,
    /// The container, and its options.
    pub container: &'static [&'static str],
    /// The encoder.
    pub encoder: &'static str,
    /// Its options; they set the quality.
    pub options: &'static [&'static str],
    /// How it stores pixels without alpha.
    pub pixel_format: &'static str,
    /// Whether that is red, green and blue instead of brightness and colour.
    pub is_rgb: bool,
    /// How it stores pixels with alpha; none where it cannot.
    pub alpha: Option<AlphaFacts>,
    /// What stands in, with a warning, where the encoder is not there: name and options.
    pub stand_in: Option<(&'static str, &'static [&'static str])>,
}

/// How a codec keeps alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlphaFacts {
    /// How it stores pixels.
    pub pixel_format: &'static str,
    /// The encoder's options in place of those without alpha.
    pub options: &'static [&'static str],
}

const H264: CodecFacts = CodecFacts {
    suffix: "mp4",
    media_type: "video/mp4",
    container: &["-movflags", "+faststart", "-f", "mp4"],
    encoder: "libx264",
    options: &["-preset", "medium", "-crf", "18"],
    pixel_format: "yuv420p",
    is_rgb: false,
    alpha: None,
    stand_in: Some(("mpeg4", &["-q:v", "2"])),
};
const H265: CodecFacts = CodecFacts {
    encoder: "libx265",
    // Apple's players know the stream by this tag only.
    options: &[
        "-preset",
        "medium",
        "-crf",
        "20",
        "-tag:v",
        "hvc1",
        "-x265-params",
        "log-level=error",
    ],
    stand_in: None,
    ..H264
};
const PRORES: CodecFacts = CodecFacts {
    suffix: "mov",
    media_type: "video/quicktime",
    container: &["-movflags", "+faststart", "-f", "mov"],
    encoder: "prores_ks",
    // Profile 3 is 422 HQ, 4 is 4444.
    options: &["-profile:v", "3", "-vendor", "apl0"],
    pixel_format: "yuv422p10le",
    is_rgb: false,
    alpha: Some(AlphaFacts {
        pixel_format: "yuva444p10le",
        options: &["-profile:v", "4", "-vendor", "apl0", "-alpha_bits", "16"],
    }),
    stand_in: None,
};
const VP9: CodecFacts = CodecFacts {
    suffix: "webm",
    media_type: "video/webm",
    container: &["-f", "webm"],
    encoder: "libvpx-vp9",
    options: &["-crf", "24", "-b:v", "0", "-row-mt", "1", "-cpu-used", "3"],
    pixel_format: "yuv420p",
    is_rgb: false,
    // Frames that are only referred to are not possible with alpha.
    alpha: Some(AlphaFacts {
        pixel_format: "yuva420p",
        options: &[
            "-crf",
            "24",
            "-b:v",
            "0",
            "-row-mt",
            "1",
            "-cpu-used",
            "3",
            "-auto-alt-ref",
            "0",
        ],
    }),
    stand_in: None,
};
const FFV1: CodecFacts = CodecFacts {
    suffix: "mkv",
    media_type: "video/x-matroska",
    container: &["-f", "matroska"],
    encoder: "ffv1",
    options: &["-level", "3", "-slicecrc", "1", "-g", "1"],
    pixel_format: "bgr0",
    is_rgb: true,
    alpha: Some(AlphaFacts {
        pixel_format: "bgra",
        options: &["-level", "3", "-slicecrc", "1", "-g", "1"],
    }),
    stand_in: None,
};

impl FilmCodec {
    /// All codecs.
    pub const ALL: [Self; 5] = [Self::H264, Self::H265, Self::Prores, Self::Vp9, Self::Ffv1];

    /// The name used in recipes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::H265 => "h265",
            Self::Prores => "prores",
            Self::Vp9 => "vp9",
            Self::Ffv1 => "ffv1",
        }
    }

    /// What there is to know about it.
    pub const fn facts(self) -> &'static CodecFacts {
        match self {
            Self::H264 => &H264,
            Self::H265 => &H265,
            Self::Prores => &PRORES,
            Self::Vp9 => &VP9,
            Self::Ffv1 => &FFV1,
        }
    }
}

impl fmt::Display for FilmCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_recipes() {
        for codec in FilmCodec::ALL {
            let text = serde_json::to_string(&codec).unwrap();
            assert_eq!(text, format!("\"{codec}\""));
        }
    }
}
