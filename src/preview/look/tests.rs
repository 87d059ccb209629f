//! What each way of looking at a picture shows.

use super::*;
use crate::model::ToneMap;

fn light(width: u32, pixels: &[[f32; 4]]) -> DecodedImage {
    let height = pixels.len() as u32 / width;
    DecodedImage::Light(LinearImage { width, height, pixels: pixels.to_vec() })
}

fn display(width: u32, pixels: &[[u8; 4]]) -> DecodedImage {
    let height = pixels.len() as u32 / width;
    DecodedImage::Display(Picture { width, height, rgba: pixels.concat() })
}

fn linear() -> ImageLook {
    let grade = Grade { exposure_stops: 0.0, tone_map: ToneMap::Linear };
    ImageLook { grade, ..ImageLook::default() }
}

/// The first pixel as it is looked at.
fn first(look: ImageLook, image: &DecodedImage) -> [u8; 4] {
    look.shown(image, 8_192).rgba[..4].try_into().unwrap()
}

fn bytes(values: [f32; 3]) -> [u8; 3] {
    values.map(|value| to_byte(to_srgb(value)))
}

#[test]
fn the_usual_look_is_what_previews_always_were() {
    let scene = light(2, &[[0.5, 0.2, 0.1, 1.0], [4.0, 1.0, 0.0, 0.5]]);
    let DecodedImage::Light(inner) = &scene else { panic!("is light") };
    assert_eq!(ImageLook::default().shown(&scene, 64), tone_map(inner, Grade::default()));
    let finished = display(1, &[[1, 2, 3, 4]]);
    assert_eq!(first(ImageLook::default(), &finished), [1, 2, 3, 4]);
}

#[test]
fn a_stop_doubles_the_light_and_leaves_alpha() {
    let look = |stops| ImageLook {
        grade: Grade { exposure_stops: stops, tone_map: ToneMap::Linear },
        ..ImageLook::default()
    };
    let scene = light(1, &[[0.1, 0.2, 0.3, 1.0]]);
    for (stops, factor) in [(0.0, 1.0), (1.0, 2.0), (-2.0, 0.25)] {
        let [red, green, blue] = bytes([0.1, 0.2, 0.3].map(|value| value * factor));
        assert_eq!(first(look(stops), &scene), [red, green, blue, 255], "{stops}");
    }
    // A finished picture is made brighter in light too: 188 is half of white's light.
    let [red, green, blue, alpha] = first(look(1.0), &display(1, &[[188, 99, 0, 77]]));
    assert!(red >= 254 && green.abs_diff(137) <= 1 && blue == 0 && alpha == 77, "{red} {green}");
}

#[test]
fn one_channel_is_an_opaque_grey() {
    let scene = light(1, &[[0.1, 0.2, 0.4, 0.5]]);
    let luminance = 0.2126 * 0.1 + 0.7152 * 0.2 + 0.0722 * 0.4;
    let cases = [
        (Channels::Red, bytes([0.1; 3])),
        (Channels::Green, bytes([0.2; 3])),
        (Channels::Blue, bytes([0.4; 3])),
        (Channels::Luminance, bytes([luminance; 3])),
        (Channels::Alpha, [128; 3]),
    ];
    for (channels, [red, green, blue]) in cases {
        let shown = first(ImageLook { channels, ..linear() }, &scene);
        assert_eq!(shown, [red, green, blue, 255], "{channels:?}");
    }
    let finished = display(1, &[[10, 20, 30, 40]]);
    let cases =
        [(Channels::Red, 10), (Channels::Green, 20), (Channels::Blue, 30), (Channels::Alpha, 40)];
    for (channels, byte) in cases {
        let shown = first(ImageLook { channels, ..linear() }, &finished);
        assert_eq!(shown, [byte, byte, byte, 255], "{channels:?}");
    }
    let [grey, ..] = first(ImageLook { channels: Channels::Luminance, ..linear() }, &finished);
    assert!((10..=30).contains(&grey), "{grey}");
}

#[test]
fn each_stop_around_middle_grey_has_its_colour() {
    let look = ImageLook { false_color: FalseColor::Stops, ..linear() };
    for (ev, color) in FALSE_COLORS {
        for within in [-0.45_f32, 0.0, 0.45] {
            let value = 0.18 * (f32::from(ev) + within).exp2();
            let [red, green, blue] = color;
            let shown = first(look, &light(1, &[[value, value, value, 1.0]]));
            assert_eq!(shown, [red, green, blue, 255], "{ev} {within}");
        }
    }
    let dark = first(look, &light(1, &[[0.001, 0.001, 0.001, 1.0]]));
    let bright = first(look, &light(1, &[[50.0, 50.0, 50.0, 1.0]]));
    let none = first(look, &light(1, &[[0.0, 0.0, 0.0, 0.0]]));
    assert_eq!((dark, bright, none), ([0, 0, 0, 255], [255; 4], [0, 0, 0, 255]));
    // The exposure moves the scale; 188 of a finished picture is half a unit of light.
    let up = Grade { exposure_stops: 1.0, tone_map: ToneMap::Neutral };
    let moved = first(ImageLook { grade: up, ..look }, &light(1, &[[0.18, 0.18, 0.18, 1.0]]));
    assert_eq!(moved[..3], FALSE_COLORS[7].1);
    assert_eq!(first(look, &display(1, &[[188, 188, 188, 255]]))[..3], FALSE_COLORS[7].1);
}

#[test]
fn false_colours_are_not_mixed_when_the_picture_is_made_smaller() {
    let pixels: Vec<[f32; 4]> = (0..64 * 64)
        .map(|at| {
            let value = if at % 64 < 33 { 0.18 } else { 2.88 };
            [value, value, value, 1.0]
        })
        .collect();
    let look = ImageLook { false_color: FalseColor::Stops, ..linear() };
    let shown = look.shown(&light(64, &pixels), 20);
    assert_eq!((shown.width, shown.height), (20, 20));
    for pixel in shown.rgba.chunks_exact(4) {
        assert!(FALSE_COLORS.iter().any(|(_, color)| color[..] == pixel[..3]), "{pixel:?}");
    }
}

#[test]
fn wrong_values_are_painted_over_in_the_shown_channels_only() {
    let wild = light(
        5,
        &[
            [f32::NAN, -1.0, f32::INFINITY, 1.0],
            [0.5, f32::NEG_INFINITY, -1.0, 1.0],
            [0.5, 0.5, -0.001, 1.0],
            [0.5, 0.5, 0.5, 1.0],
            [0.5, 0.5, 0.5, f32::NAN],
        ],
    );
    let shown = |channels, marks| ImageLook { channels, marks, ..linear() }.shown(&wild, 64);
    let pixel = |picture: &Picture, at: usize| -> [u8; 3] {
        picture.rgba[at * 4..at * 4 + 3].try_into().unwrap()
    };
    let all = shown(Channels::Color, Marks::Wrong);
    let wanted = [NOT_A_NUMBER, INFINITE, NEGATIVE, bytes([0.5; 3]), NOT_A_NUMBER];
    for (at, color) in wanted.into_iter().enumerate() {
        assert_eq!(pixel(&all, at), color, "{at}");
    }
    let red = shown(Channels::Red, Marks::Wrong);
    assert_eq!((pixel(&red, 0), pixel(&red, 1)), (NOT_A_NUMBER, bytes([0.5; 3])));
    assert_eq!(pixel(&shown(Channels::Alpha, Marks::Wrong), 4), NOT_A_NUMBER);
    assert_eq!(pixel(&shown(Channels::Luminance, Marks::Wrong), 4), bytes([0.5; 3]));
    let off = shown(Channels::Color, Marks::Off);
    assert_eq!((pixel(&off, 0), pixel(&off, 3)), ([0, 0, 255], bytes([0.5; 3])));
}

#[test]
fn one_wrong_pixel_in_a_large_picture_is_still_seen_in_a_small_one() {
    let mut pixels = vec![[0.3, 0.3, 0.3, 1.0]; 400 * 200];
    pixels[137 * 400 + 251] = [0.3, f32::NAN, 0.3, 1.0];
    let look = ImageLook { marks: Marks::Wrong, ..linear() };
    let shown = look.shown(&light(400, &pixels), 40);
    let magenta: Vec<usize> = (0..shown.rgba.len() / 4)
        .filter(|at| shown.rgba[at * 4..at * 4 + 3] == NOT_A_NUMBER)
        .collect();
    let block = |row: usize| (row * 40 + 24..=row * 40 + 26).collect::<Vec<usize>>();
    assert_eq!(magenta, [block(12), block(13), block(14)].concat());
    let corner = |at: usize| {
        let mut pixels = vec![[0.3, 0.3, 0.3, 1.0]; 20 * 20];
        pixels[at] = [f32::NAN; 4];
        let shown = look.shown(&light(20, &pixels), 10);
        shown.rgba.chunks_exact(4).filter(|pixel| pixel[..3] == NOT_A_NUMBER).count()
    };
    assert_eq!([corner(0), corner(19), corner(399), corner(210)], [4, 4, 4, 9]);
    let whole = look.shown(&light(400, &pixels), 400);
    let count = whole.rgba.chunks_exact(4).filter(|pixel| pixel[..3] == NOT_A_NUMBER).count();
    assert_eq!(count, 1, "as many as there are where every pixel is shown");
    // Of several that become one pixel the gravest is seen, wherever it stands.
    for order in [[f32::NAN, -1.0], [-1.0, f32::NAN]] {
        let pixels = order.map(|value| [value, 0.3, 0.3, 1.0]);
        assert_eq!(look.shown(&light(2, &pixels), 1).rgba[..3], NOT_A_NUMBER, "{order:?}");
    }
}

#[test]
fn alpha_is_kept_laid_on_a_checker_or_left_out() {
    let scene = light(2, &[[0.25, 0.0, 0.0, 0.5], [0.0; 4]]);
    let shown = |alpha| ImageLook { alpha, ..linear() }.shown(&scene, 64).rgba;
    let [half, _, _] = bytes([0.5, 0.0, 0.0]);
    assert_eq!(shown(AlphaShown::Keep)[..], [half, 0, 0, 128, 0, 0, 0, 0]);
    let [quarter, _, _] = bytes([0.25, 0.0, 0.0]);
    assert_eq!(shown(AlphaShown::Ignore)[..], [quarter, 0, 0, 255, 0, 0, 0, 255]);
    let checked = shown(AlphaShown::Checker);
    // 96 is 0.117 of light: 0.25 + half of it.
    let [red, ..] = bytes([0.25 + 0.1170 * 0.498, 0.0, 0.0]);
    assert!(checked[0].abs_diff(red) <= 1 && checked[3] == 255, "{checked:?} {red}");
    assert_eq!(checked[4..], [96, 96, 96, 255]);

    let hidden = display(1, &[[9, 8, 7, 0]]);
    let look = |alpha| ImageLook { alpha, ..linear() };
    assert_eq!(first(look(AlphaShown::Ignore), &hidden), [9, 8, 7, 255]);
    assert_eq!(first(look(AlphaShown::Checker), &hidden), [96, 96, 96, 255]);
}

#[test]
fn the_checker_keeps_its_cells_whatever_the_size() {
    let clear = display(128, &vec![[0; 4]; 128 * 32]);
    let look = ImageLook { alpha: AlphaShown::Checker, ..linear() };
    for px in [128, 40] {
        let shown = look.shown(&clear, px);
        let grey = |x: usize| shown.rgba[x * 4];
        assert_eq!([grey(0), grey(7), grey(8), grey(15), grey(16)], [96, 96, 160, 160, 96]);
        let below = 8 * shown.width as usize;
        assert_eq!([grey(below), grey(below + 8)], [160, 96]);
    }
}

#[test]
fn a_depth_is_spread_between_its_percentiles() {
    // 3 to 103, two outliers, and a background that says "nothing there".
    let mut pixels: Vec<[f32; 4]> = (0..10_000_u16)
        .map(|at| [3.0 + f32::from(at) * 0.01; 3])
        .map(|[v, ..]| [v, v, v, 1.0])
        .collect();
    pixels[5] = [9_000.0, 9_000.0, 9_000.0, 1.0];
    pixels[6] = [f32::NAN; 4];
    pixels[7] = [1e10, 1e10, 1e10, 1.0];
    pixels.resize(15_000, [65_504.0, 65_504.0, 65_504.0, 1.0]);
    let image = LinearImage { width: 100, height: 150, pixels };
    let range = depth_range(&image).unwrap();
    assert!((range.low - 4.0).abs() < 0.1 && (range.high - 102.0).abs() < 0.1, "{range:?}");
    let look = ImageLook { range: Some(range), ..ImageLook::default() };
    let shown = look.shown(&DecodedImage::Light(image), 150);
    let grey = |at: usize| shown.rgba[at * 4];
    assert!(grey(0) == 0 && grey(5) == 255 && grey(6) == 0 && grey(9_999) == 255);
    assert!(grey(5_000).abs_diff(127) <= 2, "{}", grey(5_000));
    let coded = ImageLook { false_color: FalseColor::Stops, ..look };
    let ends = [4.0, 102.0].map(|value| first(coded, &light(1, &[[value, value, value, 1.0]])));
    assert!(ends[0][2] > ends[0][1] && ends[1][0] > 240 && ends[1][2] < 60, "{ends:?}");
}

#[test]
fn masks_and_plain_values_are_not_spread() {
    let with = |value: f32| LinearImage {
        width: 8,
        height: 8,
        pixels: (0..64_u8).map(|at| [f32::from(at) / 63.0 * value; 4]).collect(),
    };
    assert_eq!(depth_range(&with(1.0)), None);
    assert!(depth_range(&with(7.0)).is_some());
    let flat = LinearImage { width: 8, height: 8, pixels: vec![[5.0; 4]; 64] };
    assert_eq!(depth_range(&flat), None);
    let nothing = LinearImage { width: 1, height: 1, pixels: vec![[f32::NAN; 4]] };
    assert_eq!(depth_range(&nothing), None);
}

#[test]
fn every_value_is_measured() {
    let mut pixels = vec![[1.0, 0.0, 4.0, 1.0]; 64 * 300];
    pixels[0] = [f32::NAN, -2.0, f32::INFINITY, 1.0];
    pixels[64 * 299] = [3.0, 0.0, f32::NEG_INFINITY, 0.5];
    let measures = measure(&light(64, &pixels));
    assert_eq!((measures.red.min, measures.red.max, measures.red.nan), (Some(1.0), Some(3.0), 1));
    let mean = measures.red.mean.unwrap();
    assert!((mean - (1.0 + 2.0 / 19_199.0)).abs() < 1e-9, "{mean}");
    assert_eq!((measures.green.min, measures.green.negative), (Some(-2.0), 1));
    assert_eq!((measures.blue.infinite, measures.blue.negative), (2, 0));
    assert_eq!((measures.blue.min, measures.blue.max), (Some(4.0), Some(4.0)));
    assert_eq!(measures.alpha.min, Some(0.5));
    let finished = measure(&display(1, &[[0, 51, 255, 255], [255, 51, 255, 255]]));
    assert_eq!((finished.red.min, finished.red.max), (Some(0.0), Some(1.0)));
    assert!((finished.green.mean.unwrap() - 0.2).abs() < 1e-6);
    let none = measure(&light(1, &[[f32::NAN; 4]]));
    assert_eq!((none.red.min, none.red.mean), (None, None));
}

#[test]
fn pixels_that_are_missing_do_no_harm() {
    let short = DecodedImage::Light(LinearImage { width: 9, height: 9, pixels: vec![[1.0; 4]; 5] });
    let cut = DecodedImage::Display(Picture { width: 9, height: 9, rgba: vec![1; 7] });
    for image in [short, cut] {
        for channels in Channels::ALL {
            for false_color in [FalseColor::Off, FalseColor::Stops] {
                let marks = Marks::Wrong;
                let alpha = AlphaShown::Checker;
                let look = ImageLook { channels, false_color, marks, alpha, ..linear() };
                let shown = look.shown(&image, 4);
                assert!(shown.rgba.len() <= 9 * 9 * 4, "{channels:?}");
            }
        }
        measure(&image);
    }
}
