//! `sawah preview`: pictures without a farm, one or a thousand.

use crate::farm::Farm;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file of the shipped samples.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples").join(name)
}

/// The rows of a run on `count` files, the samples in turn.
async fn rows(farm: &Farm, count: usize, more: &[&str]) -> Vec<Value> {
    let names = ["terrace.glb", "crate.obj", "broken.glb", "gear.stl", "wood.png", "sunset.exr"];
    let out = farm.new_folder("pictures").display().to_string();
    let files = names.iter().cycle().take(count).map(|name| sample(name).display().to_string());
    let options = ["preview", "--json", "--size", "64", "--out", &out].map(str::to_owned);
    let more = more.iter().map(|text| (*text).to_owned());
    let ran = farm.run(options.into_iter().chain(more).chain(files)).await.expect_code(1);
    let rows = ran.json()["previews"].as_array().expect("a list").clone();
    assert_eq!(rows.len(), count);
    for (row, name) in rows.iter().zip(names.iter().cycle()) {
        if *name == "broken.glb" {
            assert_eq!(row["refused"]["reason"], "input.truncated", "{row}");
        } else {
            assert!(row["picture"].is_string() && row["width"].as_u64() <= Some(64), "{row}");
        }
    }
    rows
}

fn held(row: &Value) -> (u64, u64) {
    let number = |key: &str| row["held"][key].as_u64().expect("a number");
    (number("memory_bytes"), number("open_files"))
}

/// Neither memory nor files grow with the pictures drawn; the first rounds fill what is kept.
fn stays_flat(rows: &[Value]) {
    let (early, late) = rows.split_at(rows.len() / 2);
    let most = |rows: &[Value]| rows.iter().map(held).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
    let (early, late) = (most(early).expect("rows"), most(late).expect("rows"));
    assert!(late.0 <= early.0 + early.0 / 10, "memory grew from {} to {} bytes", early.0, late.0);
    assert_eq!(early.1, late.1, "open files");
}

#[tokio::test]
async fn a_thousand_pictures_in_one_process_leak_nothing() {
    let farm = Farm::new("previews-cpu");
    let rows = rows(&farm, 1_000, &["--cpu"]).await;
    assert!(rows.iter().all(|row| row["drawn_by"].is_null() || row["drawn_by"] == "cpu"));
    stays_flat(&rows);
}

#[tokio::test]
async fn many_pictures_on_one_adapter_leak_nothing() {
    let farm = Farm::new("previews-gpu").with("SAWAH_GPU", "software");
    let rows = rows(&farm, 180, &[]).await;
    let drawn: Vec<&str> = rows.iter().filter_map(|row| row["drawn_by"].as_str()).collect();
    assert!(
        drawn.len() == 90 && drawn.iter().all(|by| by.contains("Vulkan") || by.contains("Metal")),
        "an adapter draws: apt install mesa-vulkan-drivers libvulkan1 gives one that is a program: {drawn:?}"
    );
    // The driver compiles shaders for the first scenes, and keeps them.
    stays_flat(&rows[36..]);
}

#[tokio::test]
async fn pictures_go_where_they_are_wanted_and_a_sheet_holds_them_all() {
    let farm = Farm::new("previews-out");
    let folder = farm.new_folder("here");
    let file = |name: &str| folder.join(name).display().to_string();
    let gear = sample("gear.stl").display().to_string();
    let wood = sample("wood.png").display().to_string();
    let one = farm.run(["preview", &gear, "--size", "96", "--out", &file("gear.png")]).await;
    assert!(one.expect_code(0).stdout.contains("gear.png"));
    let picture = image::open(file("gear.png")).expect("a picture");
    assert_eq!((picture.width(), picture.height()), (96, 96));
    let sheet = file("sheet.png");
    farm.run(["preview", &gear, &wood, "--size", "96", "--sheet", &sheet]).await.expect_code(0);
    let sheet = image::open(sheet).expect("a sheet");
    assert!(sheet.width() > 2 * 96, "{}", sheet.width());
    let none = farm.run(["preview", "/nowhere.glb"]).await.expect_code(1);
    assert!(none.stderr.contains("/nowhere.glb") && none.stdout.is_empty(), "{none:?}");
}
