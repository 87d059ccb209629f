//! Films: one codec's encoder, its colours and rate said explicitly, the result counted.

use super::feed::Feed;
use super::probe;
use super::programs::{Encoders, Programs, run};
use crate::model::Reason;
use crate::protocol::work::{Failure, Warning};
use crate::recipes::film::CodecFacts;
use crate::recipes::{FilmAlpha, FilmCodec, FilmPolicy};
use crate::stages::Reporter;
use crate::stages::failure::failure_from_io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Even edges: the colours of most codecs are stored for two or four pixels together.
const EVEN: &str = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=black";
const EVEN_CLEAR: &str = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=black@0";
/// From full-range pixels to the brightness and colours that players expect of a film.
const TO_VIDEO: &str = "scale=in_range=pc:out_range=tv:out_color_matrix=bt709";

/// A film to be made.
#[derive(Debug)]
pub(super) struct Film<'a> {
    pub(super) codec: FilmCodec,
    pub(super) alpha: FilmAlpha,
    pub(super) fps: u32,
    pub(super) feed: Feed<'a>,
    pub(super) target: PathBuf,
}

/// An encoder of the ffmpeg at hand.
#[derive(Debug)]
pub(super) struct Encoder {
    name: &'static str,
    options: &'static [&'static str],
    pixel_format: &'static str,
}

/// The encoder for a codec, and a warning where it is a stand-in. Without any, the policy decides:
/// the failure, or a warning and no encoder.
pub(super) fn encoder(
    codec: FilmCodec,
    alpha: FilmAlpha,
    policy: FilmPolicy,
    known: &Encoders,
) -> Result<(Option<Encoder>, Option<Warning>), Failure> {
    let facts = codec.facts();
    let kept = facts.alpha.filter(|_| alpha == FilmAlpha::Keep);
    let (options, pixel_format) = match kept {
        Some(kept) => (kept.options, kept.pixel_format),
        None => (facts.options, facts.pixel_format),
    };
    if known.has(facts.encoder) {
        return Ok((Some(Encoder { name: facts.encoder, options, pixel_format }), None));
    }
    let lack = format!("this ffmpeg lacks the encoder {} for {codec}", facts.encoder);
    let remedy = format!("Install an ffmpeg with {} on the worker", facts.encoder);
    if policy == FilmPolicy::Required {
        let why = format!("{lack}, so no film can be made. {remedy} and replay the job");
        return Err(Failure::new(Reason::ProgramMissing, why));
    }
    let stand_in = facts.stand_in.filter(|(name, _)| known.has(name));
    let warning = match stand_in {
        Some((name, _)) => format!(
            "{lack}: the film is compressed by {name} instead, which some players cannot show. {remedy}"
        ),
        None => format!("{lack}: there is no film. {remedy}"),
    };
    let encoder = stand_in.map(|(name, options)| Encoder { name, options, pixel_format });
    Ok((encoder, Some(Warning { reason: Reason::ProgramMissing, message: warning })))
}

/// Encodes a film beside its target, counts it and renames it. `tell` gets the frames done.
pub(super) fn encode(
    film: &Film<'_>,
    encoder: &Encoder,
    ffmpeg: &Path,
    programs: &Programs,
    reporter: &dyn Reporter,
    mut tell: impl FnMut(u32),
) -> Result<(), Failure> {
    let size = film.feed.size()?;
    let frames = film.feed.count();
    let part = part_of(&film.target);
    let mut command = input(ffmpeg, size, &film.fps.to_string());
    command.args(["-frames:v", &frames.to_string(), "-vf", &filters(film, encoder)]);
    command.args(["-c:v", encoder.name]).args(encoder.options);
    command.args(["-pix_fmt", encoder.pixel_format]).args(colours(film.codec.facts()));
    command.args(film.codec.facts().container).arg(&part);
    let made = run(
        &mut command,
        reporter,
        |pipe| film.feed.send(size, pipe),
        |frame| tell(frame.min(frames)),
    );
    made.and_then(|()| {
        if let Some(ffprobe) = &programs.ffprobe {
            return probe::check(ffprobe, &part, frames, f64::from(film.fps));
        }
        reporter.log("ffprobe is not installed: the film's frames are not counted");
        Ok(())
    })
    .inspect_err(|_| drop(std::fs::remove_file(&part)))?;
    finish(&part, &film.target)
}

/// Where a film is made: beside its target.
pub(super) fn part_of(target: &Path) -> PathBuf {
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    PathBuf::from(part)
}

/// Gives a film its name.
pub(super) fn finish(part: &Path, target: &Path) -> Result<(), Failure> {
    std::fs::rename(part, target)
        .map_err(|error| failure_from_io(&error, "the film could not be renamed", target))
}

/// ffmpeg, told to read raw pixels; `rate` is a whole number or a fraction.
pub(super) fn input(ffmpeg: &Path, size: (u32, u32), rate: &str) -> Command {
    let mut command = Command::new(ffmpeg);
    command
        .args(["-hide_banner", "-nostdin", "-y", "-loglevel", "warning"])
        .args(["-progress", "pipe:1", "-nostats"])
        .args(["-f", "rawvideo", "-pixel_format", "rgba"])
        .args(["-video_size", &format!("{}x{}", size.0, size.1)])
        .args(["-framerate", rate, "-i", "pipe:0"]);
    command
}

fn filters(film: &Film<'_>, encoder: &Encoder) -> String {
    let even = match film.alpha {
        FilmAlpha::Black => EVEN,
        FilmAlpha::Keep => EVEN_CLEAR,
    };
    let (format, is_rgb) = (encoder.pixel_format, film.codec.facts().is_rgb);
    let (convert, matrix, range) =
        if is_rgb { ("null", "gbr", "pc") } else { (TO_VIDEO, "bt709", "tv") };
    // Some encoders write what each frame says and not what the options say.
    format!(
        "{even},{convert},format={format},setparams=range={range}:colorspace={matrix}:color_primaries=bt709:color_trc=bt709"
    )
}

/// What the numbers of the pixels mean, for players that would guess.
const fn colours(codec: &CodecFacts) -> [&'static str; 8] {
    let (matrix, range) = if codec.is_rgb { ("rgb", "pc") } else { ("bt709", "tv") };
    [
        "-color_primaries",
        "bt709",
        "-color_trc",
        "bt709",
        "-colorspace",
        matrix,
        "-color_range",
        range,
    ]
}
