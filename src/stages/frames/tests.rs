//! Frames as renderers leave them, good and bad.

use super::*;
use crate::model::Reason;
use crate::preview::{LinearImage, write_png};
use crate::renderers::output::Finding;
use crate::stages::formats::write_exr;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
    check: OutputCheck,
    size: Option<(u32, u32)>,
}

impl Bench {
    fn new() -> Self {
        let check = OutputCheck { magenta: Finding::Warn, ..OutputCheck::default() };
        Self { folder: tempfile::tempdir().unwrap(), check, size: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A picture of 40 × 20 pixels, each by its place.
    fn png(&self, name: &str, pixel: impl Fn(usize) -> [u8; 4]) -> PathBuf {
        let rgba = (0..800).flat_map(pixel).collect();
        write_png(&Picture { width: 40, height: 20, rgba }, &self.path(name)).unwrap();
        self.path(name)
    }

    fn exr(&self, name: &str, pixel: impl Fn(usize) -> [f32; 4]) -> PathBuf {
        let pixels = (0..800).map(pixel).collect();
        write_exr(&LinearImage { width: 40, height: 20, pixels }, &self.path(name)).unwrap();
        self.path(name)
    }

    fn check(&self, path: &Path) -> Result<Checked, Failure> {
        self.check_after(path, None)
    }

    fn check_after(&self, path: &Path, previous: Option<&FrameFacts>) -> Result<Checked, Failure> {
        let expected = Expected { check: &self.check, size: self.size, made_since: None, previous };
        check(path, &expected)
    }

    fn refusal(&self, path: &Path, reason: Reason, words: &str) {
        let failure = self.check(path).unwrap_err();
        assert_eq!(failure.reason, reason, "{}", failure.message);
        assert!(failure.message.contains(words), "{words}: {}", failure.message);
    }
}

/// Colours that cannot be compressed and are far from magenta.
fn noise(at: usize) -> [u8; 4] {
    let byte = |by: u32| {
        let mixed = (at as u32 + by).wrapping_mul(2_654_435_761);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519);
        (mixed >> 24) as u8
    };
    [byte(7), byte(13_000) | 64, byte(290_000), 255]
}

#[test]
fn a_good_frame_tells_its_facts_and_needs_one_decode_for_a_thumbnail() {
    let bench = Bench { size: Some((40, 20)), ..Bench::new() };
    let mut checked = bench.check(&bench.png("hero_0101.png", noise)).unwrap();
    let facts = &checked.facts;
    assert_eq!((facts.width, facts.height, facts.channels), (40, 20, 3));
    assert_eq!(facts.format, "PNG");
    assert!(facts.decoded && !facts.black && facts.mean > 0.3 && facts.mean < 0.7, "{facts:?}");
    assert!(checked.findings.is_empty() && checked.notes.is_empty());
    let small = checked.take_thumbnail(10).unwrap();
    assert_eq!((small.width, small.height), (10, 5));
    assert!(checked.take_thumbnail(10).is_none());
    assert_eq!(thumbnail(&bench.path("hero_0101.png"), 10).unwrap(), small);
    let exr = bench.exr("hero_0101.exr", |at| [at as f32 / 800.0, 0.2, 0.3, 1.0]);
    let mut checked = bench.check(&exr).unwrap();
    assert_eq!((checked.facts.channels, checked.facts.format.as_str()), (4, "OpenEXR"));
    assert_eq!(checked.take_thumbnail(16).unwrap().width, 16);
}

#[test]
fn missing_old_and_empty_frames_have_their_codes() {
    let mut bench = Bench::new();
    bench.refusal(
        &bench.path("hero_0001.png"),
        Reason::OutputMissing,
        "hero_0001.png is not there",
    );
    for bytes in [0, 1, 63] {
        let path = bench.path("hero_0002.png");
        std::fs::write(&path, vec![b'x'; bytes]).unwrap();
        bench.refusal(&path, Reason::OutputInvalid, &format!("hero_0002.png has {bytes} bytes"));
    }
    // Whatever a profile says, nothing is no picture.
    bench.check.least_bytes = 0;
    let path = bench.path("hero_0003.png");
    std::fs::write(&path, b"").unwrap();
    bench.refusal(&path, Reason::OutputInvalid, "0 bytes");
    std::fs::write(&path, [0; 5_000]).unwrap();
    bench.refusal(&path, Reason::OutputInvalid, "only zero bytes");
    std::fs::create_dir(bench.path("hero_0004.png")).unwrap();
    bench.refusal(&bench.path("hero_0004.png"), Reason::OutputInvalid, "no regular file");

    let path = bench.png("hero_0005.png", noise);
    let made = std::fs::metadata(&path).unwrap().modified().unwrap();
    let check_since = |check: &OutputCheck, since| {
        let expected = Expected { check, size: None, made_since: Some(since), previous: None };
        check_reason(&path, &expected)
    };
    assert_eq!(check_since(&bench.check, made), None);
    let later = made + Duration::from_secs(5);
    assert_eq!(check_since(&bench.check, later), Some(Reason::OutputMissing));
    bench.check.newer = false;
    assert_eq!(check_since(&bench.check, later), None);
}

fn check_reason(path: &Path, expected: &Expected<'_>) -> Option<Reason> {
    check(path, expected).err().map(|failure| failure.reason)
}

#[test]
fn cut_and_wrong_frames_are_invalid() {
    let mut bench = Bench::new();
    let png = bench.png("hero_0001.png", noise);
    let exr = bench.exr("hero_0001.exr", |at| [at as f32, 1.0, 0.5, 1.0]);
    for path in [&png, &exr] {
        let bytes = std::fs::read(path).unwrap();
        for keep in [bytes.len() / 2, bytes.len() - 1] {
            let cut = bench.path(&format!("cut.{}", path.extension().unwrap().display()));
            std::fs::write(&cut, &bytes[..keep]).unwrap();
            bench.refusal(&cut, Reason::OutputInvalid, "cut.");
        }
        // The same bytes under another format's name.
        let other = bench.path(if path == &png { "hero.exr" } else { "hero.png" });
        std::fs::copy(path, &other).unwrap();
        bench.refusal(&other, Reason::OutputInvalid, "hero.");
    }
    let text = bench.path("text.png");
    std::fs::write(&text, "could not render: ".repeat(20)).unwrap();
    bench.refusal(&text, Reason::OutputInvalid, "text.png");
    bench.size = Some((40, 21));
    bench.refusal(&png, Reason::OutputInvalid, "40 × 20 pixels, but 40 × 21");
    bench.check.decode = false;
    bench.refusal(&png, Reason::OutputInvalid, "40 × 21");
    bench.check.size = false;
    let checked = bench.check(&png).unwrap();
    assert!(!checked.facts.decoded && checked.image.is_none() && checked.facts.width == 40);
}

#[test]
fn a_jpeg_a_tiff_and_an_hdr_are_read_and_their_cut_ends_are_seen() {
    let bench = Bench { size: Some((40, 20)), ..Bench::new() };
    let bytes: Vec<u8> = (0..800).flat_map(|at| noise(at)[..3].to_vec()).collect();
    let rgb = image::RgbImage::from_raw(40, 20, bytes).unwrap();
    let rgb = image::DynamicImage::ImageRgb8(rgb);
    for (name, image) in [
        ("a.jpg", rgb.clone()),
        ("a.tif", rgb.clone()),
        ("a.hdr", rgb.to_rgb32f().into()),
        ("deep.tif", rgb.to_rgb16().into()),
        ("deep.png", rgb.to_rgba16().into()),
    ] {
        let path = bench.path(name);
        image.save(&path).unwrap();
        let checked = bench.check(&path).unwrap();
        assert!(checked.facts.decoded && checked.findings.is_empty(), "{name}: {checked:?}");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        bench.refusal(&path, Reason::OutputInvalid, name);
    }
}

#[test]
fn black_magenta_grey_and_broken_numbers_are_warned_of_failed_or_ignored() {
    type Set = fn(&mut OutputCheck, Finding);
    let bench = Bench::new();
    let grey = bench.path("grey.png");
    image::GrayImage::from_fn(40, 20, |x, y| image::Luma([(x * 3 + y) as u8])).save(&grey).unwrap();
    let nan = |at: usize| [if at < 8 { f32::NAN } else { 0.5 }, 0.5, f32::INFINITY, 1.0];
    let cases: [(PathBuf, Set, &str); 5] = [
        (bench.png("black.png", |_| [0, 0, 0, 255]), |check, to| check.black = to, "black all"),
        (bench.exr("clear.exr", |_| [0.0; 4]), |check, to| check.black = to, "black all"),
        (
            bench.png("magenta.png", |at| if at < 40 { [255, 0, 255, 255] } else { noise(at) }),
            |check, to| check.magenta = to,
            "pure magenta",
        ),
        (grey, |check, to| check.grey = to, "no colour"),
        (raw_exr(&bench.path("nan.exr"), nan), |check, to| check.not_a_number = to, "100.00 %"),
    ];
    for (path, set, words) in cases {
        let mut bench = Bench { folder: tempfile::tempdir().unwrap(), ..Bench::new() };
        set(&mut bench.check, Finding::Fail);
        bench.refusal(&path, Reason::OutputDegraded, words);
        set(&mut bench.check, Finding::Warn);
        let findings = bench.check(&path).unwrap().findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].reason, Reason::OutputDegraded);
        assert!(findings[0].message.contains(words), "{}", findings[0].message);
        set(&mut bench.check, Finding::Ignore);
        assert_eq!(bench.check(&path).unwrap().findings, []);
    }
    let few = bench.png("few.png", |at| if at < 10 { [255, 0, 255, 255] } else { noise(at) });
    let checked = bench.check(&few).unwrap();
    assert!(checked.findings.is_empty() && checked.facts.magenta_percent > 1.0);
}

/// An EXR of full floats, whatever they are.
fn raw_exr(path: &Path, pixel: impl Fn(usize) -> [f32; 4] + Sync) -> PathBuf {
    exr::prelude::write_rgb_file(path, 40, 20, |x, y| {
        let [red, green, blue, _] = pixel(y * 40 + x);
        (red, green, blue)
    })
    .unwrap();
    path.to_owned()
}

#[test]
fn an_exr_of_many_layers_and_without_alpha_is_read() {
    use exr::prelude::*;
    let bench = Bench { size: Some((40, 20)), ..Bench::new() };
    let path = raw_exr(&bench.path("plain.exr"), |at| [at as f32 / 800.0, 0.5, 0.1, 1.0]);
    let plain = bench.check(&path).unwrap();
    assert_eq!((plain.facts.channels, plain.findings.len()), (3, 0));
    let path = bench.path("layers.exr");
    let channels = ["ViewLayer.Combined.R", "ViewLayer.Combined.G", "ViewLayer.Combined.B", "Z"];
    let list = channels
        .map(|name| AnyChannel::new(name, FlatSamples::F16(vec![f16::from_f32(0.25); 800])));
    let layer = Layer::new(
        (40, 20),
        LayerAttributes::named("all"),
        Encoding::SMALL_LOSSLESS,
        AnyChannels::sort(list.into_iter().collect()),
    );
    Image::from_layer(layer).write().to_file(&path).unwrap();
    let layers = bench.check(&path).unwrap();
    assert_eq!((layers.facts.channels, layers.findings.len()), (3, 0), "{layers:?}");
    assert!((layers.facts.mean - 0.25).abs() < 0.01);
}

#[test]
fn what_cannot_be_decoded_here_is_noted_and_counts_as_made() {
    let bench = Bench { size: Some((40, 20)), ..Bench::new() };
    for (name, bytes, format) in [
        ("a.iff", vec![3; 400], "unknown"),
        ("a.dpx", [b"SDPX".to_vec(), vec![1; 400]].concat(), "unknown"),
        ("a.jp2", [b"\0\0\0\x0cjP  ".to_vec(), vec![1; 400]].concat(), "JPEG 2000"),
    ] {
        let path = bench.path(name);
        std::fs::write(&path, bytes).unwrap();
        let checked = bench.check(&path).unwrap();
        assert!(!checked.facts.decoded && checked.facts.format.contains(format), "{checked:?}");
        assert_eq!((checked.facts.size_bytes > 400, checked.notes.len()), (name != "a.iff", 1));
        assert!(checked.findings.is_empty());
    }
}

#[test]
fn a_sudden_change_is_a_warning_and_never_more() {
    let mut bench = Bench::new();
    // Large enough that what a file has beside its pixels counts for nothing.
    let large = |name: &str, pixel: fn(usize) -> [u8; 4]| {
        let rgba = (0..20_000).flat_map(pixel).collect();
        write_png(&Picture { width: 200, height: 100, rgba }, &bench.path(name)).unwrap();
        bench.path(name)
    };
    let rich = large("rich.png", noise);
    let flat = large("flat.png", |_| [200, 200, 200, 255]);
    let black = large("black.png", |_| [0, 0, 0, 255]);
    let facts = |path: &Path| bench.check(path).unwrap().facts;
    let (of_rich, of_flat) = (facts(&rich), facts(&flat));
    assert!(of_rich.size_bytes > 20 * of_flat.size_bytes, "{of_rich:?} {of_flat:?}");
    let told = |bench: &Bench, path: &Path, before: &FrameFacts| {
        let findings = bench.check_after(path, Some(before)).unwrap().findings;
        findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert!(told(&bench, &flat, &of_rich)[0].contains("one of the two may lack something"));
    assert!(told(&bench, &rich, &of_flat)[0].contains("one of the two"));
    assert_eq!(told(&bench, &rich, &of_rich), [""; 0]);
    let larger = FrameFacts { width: 80, ..of_rich.clone() };
    assert_eq!(told(&bench, &flat, &larger), [""; 0], "another size is another picture");
    // Told once: as black, or where that is ignored as a change.
    assert_eq!(told(&bench, &black, &of_rich).len(), 1);
    bench.check.black = Finding::Ignore;
    assert!(told(&bench, &black, &of_rich)[0].contains("is black, and the frame before is not"));
}
