//! The verdict on two files, and what is shown of them.

use super::*;
use crate::stages::view::tests::write_floats;
use std::path::PathBuf;

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// An EXR of one grey, with one other value.
    fn exr(&self, name: &str, value: f32, at: usize, other: f32) -> PathBuf {
        let path = self.0.path().join(name);
        let mut values = vec![value; 64];
        values[at] = other;
        write_floats(&path, &[("R", &values), ("G", &values), ("B", &values)]);
        path
    }

    /// A PNG of 16 bits, 4 × 4, of one grey with one other word.
    fn deep(&self, name: &str, word: u16) -> PathBuf {
        let mut image = image::ImageBuffer::from_pixel(4, 4, image::Luma([30_000_u16]));
        image.put_pixel(2, 1, image::Luma([word]));
        let path = self.0.path().join(name);
        image::DynamicImage::ImageLuma16(image).save(&path).unwrap();
        path
    }
}

fn report(one: &Path, other: &Path, wish: &CompareWish) -> CompareReport {
    compare(one, other, wish).expect("can be compared").0
}

#[test]
fn light_is_compared_as_it_is_stored() {
    let bench = Bench::new();
    // Both are white when they are developed.
    let one = bench.exr("one.exr", 0.5, 7, 30_000.0);
    let other = bench.exr("other.exr", 0.5, 7, 30_016.0);
    let found = report(&one, &other, &CompareWish::default());
    assert_eq!((found.compared, found.same), (Compared::Light, false));
    assert_eq!((found.differences.changed, found.shown.changed), (1, 0));
    assert!((found.differences.max_error - 16.0).abs() < 1e-6);
    assert_eq!(found.mean_flip, Some(0.0));
    assert!(report(&one, &one, &CompareWish::default()).same);
    let lenient = CompareWish { tolerance: 16.0, ..CompareWish::default() };
    assert!(report(&one, &other, &lenient).same);
}

#[test]
fn wrong_values_that_stay_are_no_difference() {
    let bench = Bench::new();
    let one = bench.exr("one.exr", 0.5, 7, f32::NAN);
    let same = bench.exr("same.exr", 0.5, 7, f32::NAN);
    let other = bench.exr("other.exr", 0.5, 7, 0.0);
    assert!(report(&one, &same, &CompareWish::default()).same);
    let found = report(&one, &other, &CompareWish::default());
    assert_eq!((found.differences.changed, found.differences.not_finite), (1, 1));
}

#[test]
fn both_have_the_exposure_of_the_first() {
    let bench = Bench::new();
    let dark = bench.exr("dark.exr", 0.001, 0, 0.001);
    let darker = bench.exr("darker.exr", 0.000_5, 0, 0.000_5);
    let found = report(&dark, &darker, &CompareWish::default());
    assert!(found.exposure_stops > 6.0 && found.shown.mean_error > 0.1, "{found:?}");
    assert!(found.mean_flip > Some(0.1));
}

#[test]
fn sixteen_bits_are_compared_in_all_their_bits() {
    let bench = Bench::new();
    let (one, other) = (bench.deep("one.png", 30_000), bench.deep("other.png", 30_001));
    let found = report(&one, &other, &CompareWish::default());
    assert_eq!((found.compared, found.differences.changed), (Compared::Bits16, 1));
    assert_eq!(found.shown.changed, 0, "not seen in 8 bits");
    assert!((found.differences.max_error - 1.0 / 65_535.0).abs() < 1e-7);
}

#[test]
fn light_and_a_finished_picture_meet_in_eight_bits() {
    let bench = Bench::new();
    let light = bench.exr("one.exr", 0.54, 0, 0.54);
    let finished = bench.0.path().join("one.png");
    let grey = View::open(&light, &ViewWish::default()).unwrap().shown(64);
    crate::preview::write_png(&grey, &finished).unwrap();
    let found = report(&light, &finished, &CompareWish::default());
    assert_eq!((found.compared, found.same), (Compared::Bits8, true));
}

#[test]
fn the_view_is_made_only_where_it_is_asked_for() {
    let bench = Bench::new();
    let (one, other) = (bench.exr("one.exr", 0.5, 9, 0.5), bench.exr("other.exr", 0.5, 9, 0.9));
    assert!(compare(&one, &other, &CompareWish::default()).unwrap().1.is_none());
    let shown_as = Some(Comparison::Difference { gain: 100.0 });
    let wish = CompareWish { shown_as, ..CompareWish::default() };
    let picture = compare(&one, &other, &wish).unwrap().1.unwrap();
    let lit: Vec<usize> = (0..64).filter(|at| picture.rgba[at * 4] > 0).collect();
    assert_eq!(lit, [9]);
}

#[test]
fn other_sizes_and_unreadable_files_are_named() {
    let bench = Bench::new();
    let one = bench.exr("one.exr", 0.5, 0, 0.5);
    let small = bench.deep("small.png", 1);
    let failure = compare(&one, &small, &CompareWish::default()).unwrap_err();
    let right = ["one.exr", "8 × 8", "small.png", "4 × 4"];
    let message = failure.to_string();
    assert!(right.iter().all(|part| message.contains(part)), "{message}");
    assert!(matches!(failure, CompareError::Sizes { .. }));
    let absent = bench.0.path().join("none.png");
    assert!(compare(&one, &absent, &CompareWish::default()).is_err());
    let layer = Some("beauty".to_owned());
    let view = ViewWish { layer, ..ViewWish::default() };
    let failure = compare(&one, &one, &CompareWish { view, ..CompareWish::default() });
    assert!(failure.unwrap_err().to_string().contains("RGB"));
}
