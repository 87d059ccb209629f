//! A look at a film: a frame of it, and what ffprobe says. Both programs are run as children, within
//! bounds of time, memory and output, and may read this one file.

use super::assemble::programs::Programs;
use super::failure::failure_from_io;
use super::formats::load_image;
use super::render::finished_picture;
use crate::clock::Stopwatch;
use crate::model::Reason;
use crate::preview::{Grade, Picture};
use crate::programs::{self, Bounds, EndSignal, EndWhy, Heard, How, Program};
use crate::protocol::work::Failure;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// How long each of the two programs may take.
const TIME: Duration = Duration::from_secs(20);
/// How much memory, in bytes.
const MEMORY_BYTES: u64 = 2 << 30;
/// How long they have to end when asked, in milliseconds.
const GRACE_MS: u64 = 500;
/// Most bytes that are taken of what they say.
const OUTPUT_BYTES: usize = 256 << 10;
/// Most bytes of their words in a message.
const WORDS_BYTES: usize = 400;
/// Where in a film its poster lies: its first frames are often black.
const POSTER_SHARE: f64 = 0.1;
/// The poster's file in the folder of the run.
const POSTER_FILE: &str = "poster.png";

/// A frame of a film, and its facts.
#[derive(Debug)]
pub(super) struct Clip {
    pub(super) picture: Picture,
    pub(super) facts: Value,
}

/// Whether a file is a film, by its first bytes: MP4 and `QuickTime` (ISO/IEC 14496-12 §4.3),
/// Matroska and `WebM` (RFC 8794 §11).
pub(super) fn is_film(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut head));
    read.is_ok() && is_film_head(&head)
}

fn is_film_head(head: &[u8]) -> bool {
    // These brands are single pictures.
    const PICTURES: [&[u8]; 7] = [b"heic", b"heix", b"mif1", b"msf1", b"avif", b"heim", b"heis"];
    let brand = head.get(8..12).unwrap_or_default();
    match head.get(4..8) {
        _ if head.starts_with(b"\x1a\x45\xdf\xa3") => true,
        Some(b"ftyp") => !PICTURES.contains(&brand),
        Some(b"moov" | b"mdat" | b"wide") => true,
        _ => false,
    }
}

/// Draws a frame of the film at `path`, its longest edge at most `size_px`.
pub(super) fn look(path: &Path, size_px: u32, programs: &Programs) -> Result<Clip, Failure> {
    let (Some(ffmpeg), Some(ffprobe)) = (&programs.ffmpeg, &programs.ffprobe) else {
        return Err(Failure::new(
            Reason::ProgramMissing,
            format!(
                "films are shown by ffmpeg and ffprobe, which are not installed. Run 'apt install ffmpeg' (or get it from ffmpeg.org). {}",
                path.display()
            ),
        ));
    };
    let folder = tempfile::tempdir()
        .map_err(|error| failure_from_io(&error, "no folder for a film's frame", path))?;
    let asked = Asked { film: film_argument(path)?, folder: folder.path() };
    let told = asked.run(ffprobe, PROBE.map(str::to_owned).to_vec(), Vec::new())?;
    let told: Value = serde_json::from_str(&told).unwrap_or_default();
    let facts = facts(&told).ok_or_else(|| {
        let why = format!("the film has no pictures. Export it again. {}", path.display());
        Failure::new(Reason::InputNothingToDraw, why)
    })?;
    let at = facts.get("duration_s").and_then(Value::as_f64).unwrap_or(0.0) * POSTER_SHARE;
    asked.poster(ffmpeg, at, size_px)?;
    let poster = folder.path().join(POSTER_FILE);
    if !poster.is_file() && at > 0.0 {
        // A film may state a length that it does not have.
        asked.poster(ffmpeg, 0.0, size_px)?;
    }
    if !poster.is_file() {
        let why = format!("no frame of the film can be read. Export it again. {}", path.display());
        return Err(Failure::new(Reason::InputCorrupt, why));
    }
    Ok(Clip { picture: finished_picture(load_image(&poster)?, Grade::default()), facts })
}

const PROBE: [&str; 8] = [
    "-v",
    "error",
    "-protocol_whitelist",
    "file",
    "-of",
    "json",
    "-show_entries",
    "format=format_name,duration:stream=codec_type,codec_name,profile,pix_fmt,width,height,r_frame_rate,avg_frame_rate,nb_frames,duration",
];

/// A name that is taken for a file and for no other kind of source.
fn film_argument(path: &Path) -> Result<String, Failure> {
    let whole = std::path::absolute(path).ok().and_then(|path| path.to_str().map(str::to_owned));
    whole.map(|path| format!("file:{path}")).ok_or_else(|| {
        let why = format!("ffmpeg cannot be told this name. Rename the film. {}", path.display());
        Failure::new(Reason::InputUnreadable, why)
    })
}

/// A film, and the folder in which programs look at it.
struct Asked<'a> {
    film: String,
    folder: &'a Path,
}

impl Asked<'_> {
    fn poster(&self, ffmpeg: &Path, at_s: f64, size_px: u32) -> Result<(), Failure> {
        let before = ["-v", "error", "-nostdin", "-y", "-protocol_whitelist", "file", "-ss"];
        let mut before: Vec<String> = before.map(str::to_owned).to_vec();
        before.extend([format!("{at_s:.3}"), "-i".to_owned()]);
        let scale = format!(
            "scale=w='min({size_px},iw)':h='min({size_px},ih)':force_original_aspect_ratio=decrease"
        );
        let after = ["-map", "0:v:0", "-frames:v", "1", "-update", "1", "-vf", &scale, POSTER_FILE];
        self.run(ffmpeg, before, after.map(str::to_owned).to_vec()).map(|_| ())
    }

    /// Runs a program with the film between these arguments; gives what it says.
    fn run(
        &self,
        program: &Path,
        before: Vec<String>,
        after: Vec<String>,
    ) -> Result<String, Failure> {
        let arguments = before.into_iter().chain([self.film.clone()]).chain(after).collect();
        let program = Program {
            program: program.to_owned(),
            arguments,
            folder: self.folder.to_owned(),
            ..Program::default()
        };
        let log_bytes = OUTPUT_BYTES as u64;
        let bounds = Bounds { memory_bytes: MEMORY_BYTES, grace_ms: GRACE_MS, log_bytes };
        let (end, watch, mut said) = (EndSignal::new(), Stopwatch::start(), Vec::new());
        let log = self.folder.join("words.log");
        let ended = programs::run(&program, &bounds, &log, &end, &mut |heard| {
            if let Heard::Output(bytes) = heard {
                let left = OUTPUT_BYTES.saturating_sub(said.len());
                said.extend(bytes.iter().take(left));
            }
            if watch.elapsed() > TIME {
                end.end(EndWhy::Time);
            }
        });
        let ended =
            ended.map_err(|error| Failure::new(Reason::ProgramFailed, error.to_string()))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        match ended.how {
            How::Code(0) => Ok(said),
            How::Code(_) => Err(unread(&said, &self.film)),
            How::Told(_) => Err(too_much("more time than 20 seconds", &self.film)),
            How::OverMemory => Err(too_much("more than 2 GiB of memory", &self.film)),
            How::Signal(signal) => Err(unread(&format!("signal {signal}"), &self.film)),
        }
    }
}

fn unread(said: &str, film: &str) -> Failure {
    let words: String = said.chars().take(WORDS_BYTES).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = format!("the film cannot be read: {words}. Copy or export it again. {film}");
    Failure::new(Reason::InputCorrupt, why)
}

fn too_much(what: &str, film: &str) -> Failure {
    let why = format!("reading the film takes {what}. Export it in a lighter form. {film}");
    Failure::new(Reason::InputTooLarge, why)
}

/// What is known of a film with pictures.
fn facts(told: &Value) -> Option<Value> {
    let streams = told.get("streams")?.as_array()?;
    let of_kind = |kind: &str| {
        streams.iter().find(|one| one.get("codec_type").and_then(Value::as_str) == Some(kind))
    };
    let film = of_kind("video")?;
    let text = |from: &Value, name: &str| from.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |from: &Value, name: &str| text(from, name)?.parse::<f64>().ok();
    let format = told.get("format").unwrap_or(&Value::Null);
    let duration = number(film, "duration").or_else(|| number(format, "duration"));
    let rate = rate(&text(film, "avg_frame_rate").unwrap_or_default());
    let counted = number(film, "nb_frames");
    let reckoned = duration.zip(rate).map(|(duration, rate)| (duration * rate).round());
    Some(json!({
        "format": "film",
        "container": text(format, "format_name"),
        "codec": text(film, "codec_name"),
        "profile": text(film, "profile"),
        "pixels": text(film, "pix_fmt"),
        "width": film.get("width"),
        "height": film.get("height"),
        "frames_per_second": rate,
        "frames": counted.or(reckoned),
        "frames_are_stated": counted.is_some(),
        "duration_s": duration,
        "audio": of_kind("audio").and_then(|audio| text(audio, "codec_name")),
    }))
}

/// `24000/1001` as a number.
fn rate(text: &str) -> Option<f64> {
    let (above, below) = text.split_once('/')?;
    let rate = above.parse::<f64>().ok()? / below.parse::<f64>().ok()?;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Two red frames, then eighteen blue ones, ten a second.
    fn film(folder: &Path, name: &str, codec: &str) -> std::path::PathBuf {
        let path = folder.join(name);
        let status = Command::new("ffmpeg")
            .args(["-v", "error", "-f", "lavfi", "-i", "color=red:s=64x32:r=10:d=0.2"])
            .args(["-f", "lavfi", "-i", "color=blue:s=64x32:r=10:d=1.8"])
            .args(["-filter_complex", "concat=n=2", "-c:v", codec])
            .arg(&path)
            .status()
            .expect("this test needs ffmpeg: apt install ffmpeg");
        assert!(status.success(), "{name}");
        path
    }

    #[test]
    fn a_film_is_shown_by_its_frame_at_a_tenth() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, codec) in [("a.mp4", "mpeg4"), ("a.mov", "mjpeg"), ("a.mkv", "ffv1")] {
            let path = film(folder.path(), name, codec);
            assert!(is_film(&path), "{name}");
            let clip = look(&path, 32, &Programs::find()).expect(name);
            assert_eq!((clip.picture.width, clip.picture.height), (32, 16), "{name}");
            let [red, _, blue, _] = clip.picture.rgba[..4] else { panic!("no pixel") };
            assert!(blue > 200 && red < 60, "{name}: {red} {blue}");
            assert_eq!(clip.facts["codec"], codec, "{name}");
            assert_eq!((&clip.facts["width"], &clip.facts["height"]), (&64.into(), &32.into()));
            assert_eq!(clip.facts["frames_per_second"], 10.0, "{name}");
            assert_eq!(clip.facts["frames"], 20.0, "{name}");
        }
    }

    #[test]
    fn a_film_without_ffmpeg_is_refused_with_the_remedy() {
        let failure = look(Path::new("a.mp4"), 32, &Programs::default()).expect_err("no ffmpeg");
        assert_eq!(failure.reason, Reason::ProgramMissing);
        assert!(failure.message.contains("apt install ffmpeg"), "{}", failure.message);
    }

    #[test]
    fn a_damaged_film_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mp4");
        std::fs::write(&path, b"\0\0\0\x10ftypisom\0\0\0\0 and no more").expect("written");
        let failure = look(&path, 32, &Programs::find()).expect_err("is damaged");
        assert_eq!(failure.reason, Reason::InputCorrupt, "{}", failure.message);
    }

    #[test]
    fn pictures_in_the_same_container_are_no_films() {
        assert!(!is_film_head(b"\0\0\0\x18ftypheic") && !is_film_head(b"\0\0\0\x18ftypavif"));
        assert!(!is_film_head(b"\x89PNG\r\n\x1a\n\0\0\0\0"));
        assert!(is_film_head(b"\0\0\0\x14ftypqt  ") && is_film_head(b"\x1a\x45\xdf\xa3"));
    }
}
