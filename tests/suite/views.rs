//! `sawah preview` with the flags of a look, and `sawah compare`: for people and for scripts.

use crate::farm::Farm;
use crate::inputs::{exr, picture};
use exr::prelude::{
    AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, WritableImage,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// An EXR of 16 × 16 pixels: a picture with one value that is no number, and a depth.
fn layered(path: &Path) -> PathBuf {
    let mut red = vec![0.4_f32; 256];
    red[0] = f32::NAN;
    let depth = (0..=255_u8).map(|at| 5.0 + f32::from(at)).collect();
    let channels = [
        ("V.Combined.R", red),
        ("V.Combined.G", vec![0.2; 256]),
        ("V.Combined.B", vec![0.1; 256]),
        ("V.Combined.A", vec![0.5; 256]),
        ("V.Depth.Z", depth),
    ];
    let list = channels.map(|(name, values)| AnyChannel::new(name, FlatSamples::F32(values)));
    let channels = AnyChannels::sort(list.into_iter().collect());
    let attributes = LayerAttributes::default();
    let layer = Layer::new((16, 16), attributes, Encoding::UNCOMPRESSED, channels);
    let mut file = std::fs::File::create(path).expect("a file can be made");
    Image::from_layer(layer)
        .write()
        .non_parallel()
        .to_buffered(&mut file)
        .expect("a layered picture can be written");
    path.to_owned()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The first pixel of a preview made with these flags, and its row.
async fn shown(farm: &Farm, file: &Path, flags: &[&str]) -> ([u8; 4], Value) {
    let out = farm.new_folder("out").join("one.png");
    let mut arguments = vec!["preview", "--json", "--out"];
    let (out, file) = (text(&out), text(file));
    arguments.extend([out.as_str(), file.as_str()]);
    arguments.extend(flags);
    let ran = farm.run(arguments).await.expect_code(0);
    let pixel = image::open(&out).expect("a picture").to_rgba8().get_pixel(0, 0).0;
    (pixel, ran.json()["previews"][0].clone())
}

#[tokio::test]
async fn each_flag_of_a_look_is_seen_in_the_picture() {
    let farm = Farm::new("views-look");
    let folder = farm.new_folder("source");
    let file = layered(&folder.join("render.exr"));
    let (pixel, row) = shown(&farm, &file, &["--mark"]).await;
    assert_eq!(pixel, [255, 0, 255, 255]);
    assert_eq!(row["wrong_pixels"]["nan"], 1, "{row}");
    assert_eq!((&row["layer"], &row["measures"]["red"]["nan"]), (&"V.Combined".into(), &1.into()));
    let (plain, _) = shown(&farm, &file, &[]).await;
    assert!(plain[0] == 0 && plain[3] == 128, "{plain:?}");
    let (alpha, _) = shown(&farm, &file, &["--channel", "alpha"]).await;
    assert_eq!(alpha, [128, 128, 128, 255]);
    let (checked, _) = shown(&farm, &file, &["--checker"]).await;
    assert_eq!(checked[3], 255);
    let (bare, _) = shown(&farm, &file, &["--alpha", "ignore"]).await;
    assert_eq!(bare[3], 255);
    let green = ["--channel", "green", "--tone-map", "linear", "--exposure"];
    let (dark, _) = shown(&farm, &file, &[&green[..], &["-1"]].concat()).await;
    let (bright, row) = shown(&farm, &file, &[&green[..], &["2"]].concat()).await;
    assert_eq!((dark[0], bright[0]), (89, 231));
    assert_eq!((&row["tone_map"], &row["exposure_stops"]), (&"none (linear)".into(), &2.0.into()));
    let (coded, row) = shown(&farm, &file, &["--false-color", "--channel", "green"]).await;
    assert_eq!(coded, [128, 128, 128, 255], "0.2 is within half a stop of 18% grey");
    assert!(row["notes"][0].as_str().is_some_and(|note| note.contains("+0 #808080")), "{row}");
    let (near, row) = shown(&farm, &file, &["--layer", "v.depth"]).await;
    assert_eq!((near, &row["layer"]), ([0, 0, 0, 255], &"V.Depth".into()));
    assert!(row["range"]["high"].as_f64() > Some(250.0) && row["tone_map"].is_null(), "{row}");
}

#[tokio::test]
async fn a_wrong_layer_lists_the_layers_and_a_mesh_has_no_look() {
    let farm = Farm::new("views-layers");
    let folder = farm.new_folder("source");
    let file = text(&layered(&folder.join("render.exr")));
    let ran = farm.run(["preview", &file, "--layer", "Glossy"]).await.expect_code(1);
    assert!(ran.stderr.contains("V.Combined, V.Depth"), "{ran:#?}");
    let gear = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples/gear.stl"));
    let out = text(&folder.join("gear.png"));
    let arguments = ["preview", "--json", "--cpu", "--size", "32", "--mark", "--out", &out, &gear];
    let row = farm.run(arguments).await.expect_code(0).json()["previews"][0].clone();
    assert!(row["notes"].to_string().contains("no effect"), "{row}");
}

#[tokio::test]
async fn scripts_read_the_verdict_from_the_exit_code() {
    let farm = Farm::new("views-compare");
    let folder = farm.new_folder("source");
    let old = picture(&folder.join("old.png"), 40, 30);
    let mut changed = image::open(&old).expect("a picture").to_rgba8();
    let pixel = changed.get_pixel_mut(7, 11);
    pixel.0[1] = pixel.0[1].wrapping_add(128);
    let new = folder.join("new.png");
    changed.save(&new).expect("a picture can be written");
    let (old, new) = (text(&old), text(&new));
    let same = farm.run(["compare", &old, &old]).await.expect_code(0);
    assert!(same.stdout.contains("the same in 8 bits: 1200 pixels"), "{same:#?}");
    let differ = farm.run(["compare", &old, &new]).await.expect_code(1);
    assert!(differ.stdout.contains("1 of 1200 pixels"), "{differ:#?}");
    assert!(!Path::new("old.png.compare.png").exists(), "nothing is drawn unasked");
    farm.run(["compare", &old, &new, "--tolerance", "0.51"]).await.expect_code(0);
    let json = farm.run(["compare", &old, &new, "--json"]).await.expect_code(1).json();
    assert_eq!((&json["same"], &json["compared"]), (&false.into(), &"bits8".into()));
    assert_eq!(json["differences"]["changed"], 1);
    assert!(json["mean_flip"].as_f64() > Some(0.0), "{json}");
    let small = text(&picture(&folder.join("small.png"), 8, 8));
    let refused = farm.run(["compare", &old, &small]).await.expect_code(1);
    assert!(refused.stderr.contains("40 × 30") && refused.stderr.contains("8 × 8"), "{refused:#?}");
    let absent = farm.run(["compare", &old, "/nowhere.png", "--json"]).await.expect_code(1);
    assert_eq!(absent.json()["error"]["exit"], 1);
    farm.run(["compare", &old]).await.expect_code(2);
}

#[tokio::test]
async fn each_view_of_two_versions_is_drawn_where_it_is_wanted() {
    let farm = Farm::new("views-drawn");
    let folder = farm.new_folder("source");
    let (one, other) = (exr(&folder.join("one.exr")), folder.join("other.exr"));
    exr::prelude::write_rgb_file(&other, 64, 48, |x, y| {
        let value = half::f16::from_f32((x + y) as f32 / 100.0);
        (value, value, value)
    })
    .expect("a linear picture can be written");
    let (one, other) = (text(&one), text(&other));
    for (view, width) in [("difference", 64), ("wipe", 64), ("side", 136), ("flip", 64)] {
        let out = text(&folder.join(view).with_extension("png"));
        let arguments = ["compare", &one, &other, "--as", view, "--out", &out, "--json"];
        let json = farm.run(arguments).await.expect_code(1).json();
        assert_eq!((&json["picture"], &json["compared"]), (&out.as_str().into(), &"light".into()));
        let picture = image::open(&out).expect("a picture");
        assert_eq!((picture.width(), picture.height()), (width, 48), "{view}");
    }
    let gained = text(&folder.join("gained.png"));
    let more = ["compare", &one, &other, "--gain", "4", "--out", &gained];
    farm.run(more).await.expect_code(1);
    let mean = |path: &str| {
        let pixels = image::open(path).expect("a picture").to_luma8().into_raw();
        pixels.iter().map(|byte| u64::from(*byte)).sum::<u64>()
    };
    assert!(mean(&gained) > 2 * mean(&text(&folder.join("difference.png"))));
}

#[tokio::test]
async fn meshes_are_shown_by_pass_without_a_backdrop_and_at_a_time() {
    let farm = Farm::new("views-mesh");
    let crate_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples/terrace.glb");
    let flags = ["--pass", "normal", "--transparent", "--size", "64", "--cpu"];
    let (pixel, row) = shown(&farm, &crate_file, &flags).await;
    assert_eq!((pixel[3], &row["drawn_by"], &row["tone_map"]), (0, &"cpu".into(), &Value::Null));
    let (pixel, _) = shown(&farm, &crate_file, &["--pass", "uv", "--size", "64"]).await;
    assert_eq!(pixel[3], 255);
    let still = text(&crate_file);
    let refused = farm.run(["preview", &still, "--time", "1"]).await.expect_code(1);
    assert!(refused.stderr.contains("no animation"), "{}", refused.stderr);
    let wrong = farm.run(["preview", &still, "--pass", "beautiful"]).await.expect_code(2);
    assert!(wrong.stderr.contains("wireframe"), "{}", wrong.stderr);
}
