//! The small looping picture beside a film.

use super::feed::Feed;
use super::film::{finish, input, part_of};
use super::programs::{Encoders, run};
use crate::model::Reason;
use crate::protocol::work::Failure;
use crate::recipes::MovingPicture;
use crate::stages::Reporter;
use crate::stages::failure::failure_from_io;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Longest edge in pixels.
pub(super) const LONGEST_PX: u32 = 640;
/// Most pictures: ffmpeg holds all of them in memory to choose a palette.
const MOST_PICTURES: usize = 120;
/// Most pictures a second; players of GIF slow down what is faster.
const MOST_FPS: u32 = 25;
/// Fewest pictures a second; a film too long for them runs faster here than in truth.
const LEAST_FPS: u32 = 12;
/// One palette for all pictures.
const GIF_FILTER: &str = "split[all][seen];[seen]palettegen=stats_mode=full[palette];\
    [all][palette]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle";

/// How one kind is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) file: &'static str,
    pub(super) media_type: &'static str,
    encoder: &'static str,
    options: &'static [&'static str],
}

/// How a moving picture is made; none where none is wanted.
pub(super) const fn kind(moving: MovingPicture) -> Option<Kind> {
    match moving {
        MovingPicture::None => None,
        MovingPicture::Gif => Some(Kind {
            file: "preview.gif",
            media_type: "image/gif",
            encoder: "gif",
            options: &["-filter_complex", GIF_FILTER, "-loop", "0", "-f", "gif"],
        }),
        MovingPicture::Webp => Some(Kind {
            file: "preview.webp",
            media_type: "image/webp",
            encoder: "libwebp_anim",
            options: &["-quality", "75", "-loop", "0", "-f", "webp"],
        }),
    }
}

/// Why a moving picture cannot be made by this ffmpeg.
pub(super) fn lack(kind: Kind, known: &Encoders) -> Option<String> {
    (!known.has(kind.encoder)).then(|| {
        format!(
            "this ffmpeg lacks the encoder {}: there is no {}. Install an ffmpeg with it on the worker",
            kind.encoder, kind.file
        )
    })
}

/// Makes it in `folder` of some of the film's frames.
pub(super) fn make(
    kind: Kind,
    film: &Feed<'_>,
    fps: u32,
    ffmpeg: &Path,
    folder: &Path,
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    let step = step(film.shown.len(), fps);
    let shown: Vec<_> = film.shown.iter().step_by(step).copied().take(MOST_PICTURES).collect();
    let feed = Feed {
        frames: film.frames,
        shown: Cow::Owned(shown),
        grade: film.grade,
        longest_px: film.longest_px.min(LONGEST_PX),
        alpha: film.alpha,
    };
    let size = feed.size()?;
    let (target, count) = (folder.join(kind.file), feed.count());
    let part = part_of(&target);
    let mut command = input(ffmpeg, size, &rate(fps, step));
    command.args(["-frames:v", &count.to_string(), "-c:v", kind.encoder]).args(kind.options);
    command.arg(&part);
    run(&mut command, reporter, |pipe| feed.send(size, pipe), |_| {})
        .and_then(|()| check(kind, &part))
        .inspect_err(|_| drop(std::fs::remove_file(&part)))?;
    finish(&part, &target)
}

/// Every how many frames one is taken.
fn step(frames: usize, fps: u32) -> usize {
    let for_rate = fps.div_ceil(MOST_FPS) as usize;
    let for_count = frames.div_ceil(MOST_PICTURES);
    for_rate.max(for_count).max(1)
}

/// Pictures a second, as ffmpeg reads them.
fn rate(fps: u32, step: usize) -> String {
    let slowest = u64::from(LEAST_FPS.min(fps)) * step as u64;
    if u64::from(fps) < slowest { LEAST_FPS.min(fps).to_string() } else { format!("{fps}/{step}") }
}

/// Whether the file is whole: ffmpeg cannot read the moving pictures of WebP back.
fn check(kind: Kind, path: &Path) -> Result<(), Failure> {
    let whole = match kind.encoder {
        "gif" => is_whole_gif(path),
        _ => is_whole_webp(path),
    };
    match whole {
        Ok(true) => Ok(()),
        Ok(false) => {
            let why = format!("ffmpeg made a {} that is not whole. Replay the job", kind.file);
            Err(Failure::new(Reason::OutputInvalid, why))
        }
        Err(error) => Err(failure_from_io(&error, "a moving picture could not be read", path)),
    }
}

/// Begins with the mark of GIF 89a and ends with its trailer (GIF 89a §17, §27).
fn is_whole_gif(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut mark = [0; 6];
    file.read_exact(&mut mark)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(mark == *b"GIF89a" && last == [0x3b])
}

/// The size in the RIFF header is that of the file (WebP container specification, "File Header").
fn is_whole_webp(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut head = [0; 12];
    file.read_exact(&mut head)?;
    let [r, i, f1, f2, s0, s1, s2, s3, kind @ ..] = head;
    let size = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
    Ok([r, i, f1, f2] == *b"RIFF" && kind == *b"WEBP" && size + 8 == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_films_lose_frames_first_and_then_their_time() {
        for (frames, fps, expected) in [
            (48, 24, (1, "24/1")),
            (48, 60, (3, "60/3")),
            (240, 24, (2, "24/2")),
            (1_000, 24, (9, "12")),
            (10, 5, (1, "5/1")),
            (1_000, 5, (9, "5")),
        ] {
            let step = step(frames, fps);
            assert_eq!((step, rate(fps, step).as_str()), expected, "{frames} at {fps}");
            assert!(frames.div_ceil(step) <= MOST_PICTURES);
        }
    }
}
