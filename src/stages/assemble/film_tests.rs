//! Codecs, gaps and moving pictures with the real ffmpeg.

use super::tests::{frame, probe, programs, turntable};
use super::*;
use crate::model::{Chunk, Stage};
use crate::recipes::{FilmAlpha, FilmCodec, GapPolicy};
use crate::stages::render::{frame_file, turntable_file};
use crate::stages::testing::{Heard, request};
use crate::stages::transform::{FRAMES_FILE, FrameEntry, FrameList};
use std::process::Command;

/// A sequence with these numbers in its source, each frame in a brightness of its own.
fn sequence(folder: &Path, numbers: &[i64], settings: Settings) -> StageRequest {
    let mut request = request(folder, Stage::Assemble, AssetKind::Sequence, Chunk::Whole, settings);
    request.assignment.input.frame_count = Some(numbers.len() as u32);
    std::fs::create_dir_all(request.input_dir.join("render/frames")).unwrap();
    std::fs::create_dir_all(request.input_dir.join("transform")).unwrap();
    let mut list = FrameList { fps: None, frames: Vec::new() };
    for (index, number) in (1_u32..).zip(numbers) {
        let name = frame_file(index);
        let grey = (index * 40) as u8;
        let rgba = [grey, grey, grey, 255].repeat(32 * 32);
        let picture = Picture { width: 32, height: 32, rgba };
        write_png(&picture, &request.input_dir.join("render").join(&name)).unwrap();
        list.frames.push(FrameEntry { index, number: *number, name });
    }
    let text = serde_json::to_vec(&list).unwrap();
    std::fs::write(request.input_dir.join("transform").join(FRAMES_FILE), text).unwrap();
    request
}

/// The pixels of a film as ffmpeg gives them back: one list of RGBA bytes for each frame.
pub(super) fn pixels(film: &Path, decoder: &[&str], size: usize) -> Vec<Vec<u8>> {
    let output = Command::new("ffmpeg")
        .args(["-v", "error"])
        .args(decoder)
        .arg("-i")
        .arg(film)
        .args(["-f", "rawvideo", "-pix_fmt", "rgba", "-"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.chunks(size * 4).map(<[u8]>::to_vec).collect()
}

fn entry(film: &Path, entries: &str) -> String {
    let output = Command::new("ffprobe")
        .args(["-v", "error", "-select_streams", "v:0", "-show_entries", entries])
        .args(["-of", "csv=p=0"])
        .arg(film)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn each_codec_makes_a_film_that_counts_right_and_says_its_colours() {
    for (codec, file, expected) in [
        (FilmCodec::H264, "turntable.mp4", "h264,66,50,yuv420p,24/1,7"),
        (FilmCodec::H265, "turntable.mp4", "hevc,66,50,yuv420p,24/1,7"),
        (FilmCodec::Prores, "turntable.mov", "prores,66,50,yuv422p10le,24/1,7"),
        (FilmCodec::Vp9, "turntable.webm", "vp9,66,50,yuv420p,24/1,7"),
        (FilmCodec::Ffv1, "turntable.mkv", "ffv1,66,50,bgr0,24/1,7"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut request = turntable(folder.path(), 7);
        request.assignment.settings.film_codec = codec;
        let output = run_with(&request, &Heard::default(), &programs()).unwrap();
        assert_eq!(output.report.warnings, [], "{codec}");
        let made = output.files.iter().find(|made| made.name == file).unwrap();
        assert_eq!(made.media_type, codec.facts().media_type);
        let film = request.output_dir.join(file);
        assert_eq!(probe(&film), expected);
        let colours = entry(&film, "stream=color_range,color_space,color_transfer,color_primaries");
        let right =
            if codec == FilmCodec::Ffv1 { "pc,gbr,bt709,bt709" } else { "tv,bt709,bt709,bt709" };
        assert_eq!(colours, right, "{codec}");
        let all = pixels(&film, &[], 66 * 50);
        // The colours come back, and the padding on the right and below is black.
        let first: Vec<u8> = all[0].iter().take(3).copied().collect();
        let near = first.iter().zip([20_u8, 120, 200]).all(|(a, b)| a.abs_diff(b) <= 4);
        assert!(near, "{codec}: {first:?}");
        assert!(all[0][all[0].len() - 4..].iter().take(3).all(|byte| *byte < 40), "{codec}");
    }
}

#[test]
fn transparency_stays_where_it_is_kept_and_is_black_elsewhere() {
    for (codec, keep, decoder) in [
        (FilmCodec::Prores, true, &[][..]),
        // The decoder that ffmpeg prefers for VP9 does not know its alpha.
        (FilmCodec::Vp9, true, &["-c:v", "libvpx-vp9"]),
        (FilmCodec::Ffv1, true, &[]),
        (FilmCodec::Ffv1, false, &[]),
        (FilmCodec::H264, false, &[]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut request = turntable(folder.path(), 2);
        request.assignment.settings.film_codec = codec;
        if keep {
            request.assignment.settings.film_alpha = FilmAlpha::Keep;
        }
        for index in 1..=2 {
            let rgba =
                [[200_u8, 200, 200, 255].repeat(32 * 16), [200, 200, 200, 0].repeat(32 * 16)];
            let picture = Picture { width: 32, height: 32, rgba: rgba.concat() };
            let path = request.input_dir.join("render").join(turntable_file(index));
            write_png(&picture, &path).unwrap();
        }
        run_with(&request, &Heard::default(), &programs()).unwrap();
        let film = request.output_dir.join(format!("turntable.{}", codec.facts().suffix));
        let all = pixels(&film, decoder, 32 * 32);
        let (top, bottom) = (&all[1][..4], &all[1][all[1].len() - 4..]);
        assert!(top[0].abs_diff(200) <= 3 && top[3] >= 253, "{codec}: {top:?}");
        if keep {
            assert!(bottom[3] <= 3, "{codec}: {bottom:?}");
        } else {
            assert!(bottom[0] <= 3 && bottom[3] == 255, "{codec}: {bottom:?}");
        }
    }
}

#[test]
fn gaps_of_a_sequence_are_refused_held_or_black() {
    let numbers = [101, 102, 105, 106];
    let settings = |gaps| Settings { gaps, film_codec: FilmCodec::Ffv1, ..Settings::default() };
    let folder = tempfile::tempdir().unwrap();
    let refused = sequence(folder.path(), &numbers, settings(GapPolicy::Fail));
    let never = Programs { ffmpeg: Some("/nowhere/ffmpeg".into()), ffprobe: None };
    let failure = run_with(&refused, &Heard::default(), &never).unwrap_err();
    assert_eq!(failure.reason, Reason::ReferenceMissing);
    assert!(failure.message.contains("2 frames are missing: 103-104"), "{}", failure.message);
    for (gaps, expected) in [
        (GapPolicy::Hold, [40, 80, 80, 80, 120, 160]),
        (GapPolicy::Black, [40, 80, 0, 0, 120, 160]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let request = sequence(folder.path(), &numbers, settings(gaps));
        let heard = Heard::default();
        let output = run_with(&request, &heard, &programs()).unwrap();
        assert!(output.report.warnings.is_empty(), "inspect has told it");
        assert!(heard.said("103-104"));
        let film = request.output_dir.join("film.mkv");
        let greys: Vec<u8> = pixels(&film, &[], 32 * 32).iter().map(|frame| frame[0]).collect();
        assert_eq!(greys, expected, "{gaps:?}");
    }
}

#[test]
fn gaps_too_wide_to_be_filled_are_told_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { gaps: GapPolicy::Hold, ..Settings::default() };
    let request = sequence(folder.path(), &[-1, 20_240_101, 20_240_102], settings);
    let heard = Heard::default();
    run_with(&request, &heard, &programs()).unwrap();
    assert!(heard.said("it goes on without them"));
    assert_eq!(probe(&request.output_dir.join("film.mp4")), "h264,32,32,yuv420p,24/1,3");
    // Only a film needs the gaps to be filled.
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { film: FilmPolicy::Never, ..Settings::default() };
    let request = sequence(folder.path(), &[1, 3], settings);
    let output = run_with(&request, &Heard::default(), &programs()).unwrap();
    assert_eq!(output.files.len(), 1);
}

#[test]
fn all_bad_frames_are_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let request = turntable(folder.path(), 20);
    let path = |index| request.input_dir.join("render").join(turntable_file(index));
    for index in [2, 3, 4] {
        std::fs::write(path(index), b"").unwrap();
    }
    for index in 9..=15 {
        std::fs::remove_file(path(index)).unwrap();
    }
    write_png(&frame(64, 49, 1), &path(18)).unwrap();
    let failure = run_with(&request, &Heard::default(), &programs()).unwrap_err();
    assert_eq!(failure.reason, Reason::OutputInvalid);
    for words in ["11 of 20 frames", "number 2-4,9-15,18", "frame 9 of 20 is missing", "3 more"] {
        assert!(failure.message.contains(words), "{words}: {}", failure.message);
    }
    // The first frame is the odd one, and not all the others.
    let folder = tempfile::tempdir().unwrap();
    let request = turntable(folder.path(), 5);
    let first = request.input_dir.join("render").join(turntable_file(1));
    write_png(&frame(8, 8, 1), &first).unwrap();
    let failure = run_with(&request, &Heard::default(), &programs()).unwrap_err();
    assert!(failure.message.contains("1 of 5 frames cannot be joined, number 1."));
}

#[test]
fn moving_pictures_decode_to_every_frame() {
    for (moving, file) in
        [(MovingPicture::Gif, "preview.gif"), (MovingPicture::Webp, "preview.webp")]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut request = turntable(folder.path(), 6);
        request.assignment.settings.moving_picture = moving;
        for index in 1..=6 {
            let path = request.input_dir.join("render").join(turntable_file(index));
            write_png(&frame(1_300, 20, index), &path).unwrap();
        }
        let output = run_with(&request, &Heard::default(), &programs()).unwrap();
        let names: Vec<_> = output.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, [file, "turntable.mp4", SHEET_FILE]);
        assert!(!request.output_dir.join(format!("{file}.part")).exists());
        let path = request.output_dir.join(file);
        let frames = match moving {
            MovingPicture::Gif => pixels(&path, &[], 640 * 10),
            _ => webp_frames(&path),
        };
        assert_eq!(frames.len(), 6, "{file}");
        for (index, pixels) in (1_u8..).zip(&frames) {
            let near = pixels[0].abs_diff(index * 20) <= 8 && pixels[1].abs_diff(120) <= 8;
            assert!(near && pixels.len() == 640 * 10 * 4, "{file} {index}: {:?}", &pixels[..4]);
        }
    }
}

/// The frames of an animated WebP, each decoded by ffmpeg as a picture of its own.
fn webp_frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut frames) = (12, Vec::new());
    while at < bytes.len() {
        let size = number(at + 4);
        if &bytes[at..at + 4] == b"ANMF" {
            let picture = &bytes[at + 8 + 16..at + 8 + size];
            let mut still = b"RIFF".to_vec();
            still.extend((picture.len() as u32 + 4).to_le_bytes());
            still.extend(b"WEBP");
            still.extend(picture);
            let one = path.with_extension(format!("{at}.webp"));
            std::fs::write(&one, still).unwrap();
            // By its content: the folder's name looks like a pattern.
            frames.extend(pixels(&one, &["-f", "webp_pipe"], 640 * 10));
        }
        at += 8 + size.next_multiple_of(2);
    }
    frames
}

/// An ffmpeg with a short list of encoders.
#[cfg(unix)]
fn poor_ffmpeg(folder: &Path, encoders: &str) -> Programs {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("ffmpeg");
    let text = format!(
        "#!/bin/sh\nfor last; do :; done\n\
         [ \"$last\" = -encoders ] && {{ echo '{encoders}'; exit; }}\nexec ffmpeg \"$@\"\n"
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    Programs { ffmpeg: Some(script), ..programs() }
}

#[cfg(unix)]
#[test]
fn an_ffmpeg_without_the_encoder_is_told_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let poor = poor_ffmpeg(folder.path(), "mpeg4");
    let mut request = turntable(folder.path(), 3);
    let output = run_with(&request, &Heard::default(), &poor).unwrap();
    assert_eq!(output.report.warnings[0].reason, Reason::ProgramMissing);
    assert!(output.report.warnings[0].message.contains("libx264"));
    assert_eq!(probe(&request.output_dir.join("turntable.mp4")), "mpeg4,66,50,yuv420p,24/1,3");

    request.assignment.settings.film_codec = FilmCodec::Prores;
    request.assignment.settings.moving_picture = MovingPicture::Webp;
    let output = run_with(&request, &Heard::default(), &poor).unwrap();
    let told: Vec<_> = output.report.warnings.iter().map(|told| &told.message).collect();
    assert!(told[0].contains("libwebp_anim") && told[1].contains("prores_ks"), "{told:?}");
    assert_eq!(output.files.len(), 1, "the sheet");

    request.assignment.settings.film = FilmPolicy::Required;
    request.assignment.settings.moving_picture = MovingPicture::None;
    let failure = run_with(&request, &Heard::default(), &poor).unwrap_err();
    assert_eq!(failure.reason, Reason::ProgramMissing);
    assert!(failure.message.contains("prores_ks"), "{}", failure.message);
}

#[cfg(unix)]
#[test]
fn a_film_of_the_wrong_length_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let request = turntable(folder.path(), 6);
    let script = folder.path().join("ffmpeg");
    // All six frames, at half the rate.
    let text = "#!/bin/sh\nfor last; do :; done\n\
         [ \"$last\" = -encoders ] && exec ffmpeg -hide_banner -encoders\n\
         ffmpeg -nostdin -v error -f lavfi -i color=s=64x64:r=12 -frames:v 6 -y -f mp4 \"$last\"\n\
         echo frame=6; echo progress=end\n";
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let slow = Programs { ffmpeg: Some(script), ..programs() };
    let failure = run_with(&request, &Heard::default(), &slow).unwrap_err();
    assert_eq!(failure.reason, Reason::OutputInvalid);
    assert!(failure.message.contains("lasts 0.500 s"), "{}", failure.message);
    assert_eq!(std::fs::read_dir(&request.output_dir).unwrap().count(), 0);
}
