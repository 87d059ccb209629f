//! What is seen of files with layers, wrong values and depths.

use super::*;
use crate::model::Reason;
use exr::prelude::{
    AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, WritableImage,
};

/// Writes an EXR of 32-bit floats, 8 pixels wide: the names of its channels, and their values.
pub(in crate::stages) fn write_floats(path: &Path, channels: &[(&str, &[f32])]) {
    let height = channels.first().map_or(0, |(_, values)| values.len()) / 8;
    let list = channels.iter().map(|(name, values)| {
        assert_eq!(values.len(), 8 * height, "{name}");
        AnyChannel::new(*name, FlatSamples::F32(values.to_vec()))
    });
    let channels = AnyChannels::sort(list.collect());
    let attributes = LayerAttributes::default();
    let layer = Layer::new((8, height), attributes, Encoding::UNCOMPRESSED, channels);
    let mut file = std::fs::File::create(path).unwrap();
    Image::from_layer(layer).write().non_parallel().to_buffered(&mut file).unwrap();
}

fn of(value: f32) -> Vec<f32> {
    vec![value; 64]
}

/// A render with layers, wrong values in one of them, and a depth.
fn render(folder: &Path) -> std::path::PathBuf {
    let mut red = of(0.5);
    red[..4].copy_from_slice(&[f32::NAN, f32::INFINITY, -1.0, f32::NEG_INFINITY]);
    let mut depth: Vec<f32> = (0..64_u8).map(|at| 2.0 + f32::from(at)).collect();
    depth[63] = f32::INFINITY;
    let path = folder.join("render.exr");
    write_floats(
        &path,
        &[
            ("V.Combined.R", &red),
            ("V.Combined.G", &of(0.25)),
            ("V.Combined.B", &of(0.125)),
            ("V.Combined.A", &of(0.5)),
            ("V.Diffuse.R", &of(1.0)),
            ("V.Diffuse.G", &of(0.5)),
            ("V.Diffuse.B", &of(0.0)),
            ("V.Depth.Z", &depth),
            ("V.Mist.Z", &(0..64_u8).map(|at| f32::from(at) / 63.0).collect::<Vec<f32>>()),
        ],
    );
    path
}

fn wish(layer: Option<&str>) -> ViewWish {
    ViewWish { layer: layer.map(str::to_owned), ..ViewWish::default() }
}

fn refused(path: &Path, layer: &str) -> String {
    let failure = View::open(path, &wish(Some(layer))).expect_err(layer);
    assert_eq!(failure.reason, Reason::SettingInvalid, "{}", failure.message);
    failure.message
}

#[test]
fn a_layer_is_chosen_by_its_name_and_a_wrong_name_lists_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = render(folder.path());
    let usual = View::open(&path, &wish(None)).unwrap();
    assert_eq!(usual.record.layer.as_deref(), Some("V.Combined"));
    let linear = ViewWish { tone_map: ToneMap::Linear, ..wish(Some("v.diffuse")) };
    let diffuse = View::open(&path, &linear).unwrap();
    assert_eq!(diffuse.record.layer.as_deref(), Some("V.Diffuse"));
    assert_eq!(diffuse.shown(64).rgba[4 * 20..4 * 20 + 4], [255, 188, 0, 255]);
    let message = refused(&path, "Glossy");
    assert!(message.contains("V.Combined, V.Depth, V.Diffuse, V.Mist"), "{message}");
    let png = folder.path().join("a.png");
    image::save_buffer(&png, &[0; 12], 2, 2, image::ExtendedColorType::Rgb8).unwrap();
    assert!(refused(&png, "V.Combined").contains("only EXR"));
}

#[test]
fn wrong_values_are_counted_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let path = render(folder.path());
    let marked = ViewWish { marks: Marks::Wrong, detail: Detail::Measures, ..wish(None) };
    let view = View::open(&path, &marked).unwrap();
    let shown = view.shown(64);
    let pixel = |at: usize| [shown.rgba[at * 4], shown.rgba[at * 4 + 1], shown.rgba[at * 4 + 2]];
    assert_eq!([pixel(0), pixel(1)], [[255, 0, 255], [0, 255, 255]]);
    assert_eq!([pixel(2), pixel(3)], [[0, 255, 0], [0, 255, 255]]);
    let counts = view.record.wrong_pixels.unwrap();
    assert_eq!((counts.nan, counts.infinite, counts.negative), (1, 2, 2));
    let red = view.record.measures.unwrap().red;
    assert_eq!((red.min, red.max, red.nan, red.infinite), (Some(-1.0), Some(0.5), 1, 2));
    assert!(view.notes().iter().any(|note| note.contains("magenta")));
    // Unless they are asked for, they do no harm, as ever.
    let plain = View::open(&path, &wish(None)).unwrap().shown(64);
    assert!(plain.rgba[..3] != [255, 0, 255] && plain.rgba[4] == 255, "{:?}", &plain.rgba[..8]);
}

#[test]
fn a_depth_is_spread_and_a_mist_is_shown_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = render(folder.path());
    let depth = View::open(&path, &wish(Some("V.Depth"))).unwrap();
    let range = depth.record.range.unwrap();
    assert!((range.low - 3.0).abs() < 1.01 && (range.high - 63.0).abs() < 1.01, "{range:?}");
    assert_eq!(depth.tone_map(), None);
    let shown = depth.shown(64);
    let greys: Vec<u8> = shown.rgba.chunks_exact(4).map(|pixel| pixel[0]).collect();
    assert!(greys.is_sorted() && greys[0] == 0 && greys[63] == 255, "{greys:?}");
    assert!(greys[32].abs_diff(127) < 6, "{}", greys[32]);
    // With an exposure it is taken for light.
    let exposed = ViewWish { exposure_stops: Some(-3.0), ..wish(Some("V.Depth")) };
    assert_eq!(View::open(&path, &exposed).unwrap().record.range, None);
    let mist = View::open(&path, &wish(Some("V.Mist.Z"))).unwrap();
    assert_eq!((mist.record.range, mist.tone_map()), (None, Some("Khronos PBR Neutral")));
}

#[test]
fn the_exposure_is_found_unless_one_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dark.exr");
    write_floats(&path, &[("R", &of(0.001)), ("G", &of(0.001)), ("B", &of(0.001))]);
    let found = View::open(&path, &wish(None)).unwrap();
    assert!(found.look.grade.exposure_stops > 7.0, "{:?}", found.look.grade);
    let none = ViewWish { exposure_stops: Some(0.0), ..wish(None) };
    let none = View::open(&path, &none).unwrap();
    assert!(none.shown(64).rgba[0] < 8 && found.shown(64).rgba[0] > 90);
}

#[test]
fn values_of_a_float_tiff_stay_as_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    let file = std::fs::File::create(&path).unwrap();
    let mut encoder = tiff::encoder::TiffEncoder::new(file).unwrap();
    let values = [f32::NAN, 0.5, 0.5, 0.5, -0.5, 0.5];
    encoder.write_image::<tiff::encoder::colortype::RGB32Float>(2, 1, &values).unwrap();
    let marked = ViewWish { marks: Marks::Wrong, ..wish(None) };
    let shown = View::open(&path, &marked).unwrap().shown(64);
    assert_eq!(shown.rgba, [255, 0, 255, 255, 0, 255, 0, 255]);
}
