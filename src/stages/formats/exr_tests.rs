//! EXR files that we write ourselves: windows, layers, parts, every compression, and damage.
#![expect(clippy::float_cmp, reason = "the values are exact in the files")]

use super::exr_image::{self, ExrPixels, Incomplete};
use super::exr_tests_files::{file, layered, multipart, patched, table_at};
use super::*;
use crate::model::Reason;
use exr::prelude::Compression;

fn read(bytes: &[u8]) -> ExrPixels {
    exr_image::decode(bytes, "a.exr", Incomplete::Show).expect("reads")
}

fn refused(bytes: &[u8]) -> Failure {
    exr_image::decode(bytes, "a.exr", Incomplete::Show).expect_err("is bad")
}

fn at(pixels: &ExrPixels, x: u32, y: u32) -> [f32; 4] {
    pixels.image.pixels[(y * pixels.image.width + x) as usize]
}

#[test]
fn every_compression_gives_the_picture_by_lines_and_by_tiles() {
    let methods = [
        Compression::Uncompressed,
        Compression::RLE,
        Compression::ZIP1,
        Compression::ZIP16,
        Compression::PIZ,
        Compression::PXR24,
        Compression::B44,
        Compression::B44A,
    ];
    for method in methods {
        for tiles in [None, Some(16)] {
            let pixels = read(&file(method, tiles));
            assert_eq!((pixels.image.width, pixels.image.height), (40, 24), "{method:?}");
            assert_eq!(pixels.blocks, pixels.expected, "{method:?} {tiles:?}");
            let [red, green, blue, alpha] = at(&pixels, 30, 20);
            let near = |value: f32, right: f32| (value - right).abs() < 0.05 * right.max(0.2);
            let right = near(red, 3.0) && near(green, 2.0) && near(blue, 0.5) && near(alpha, 1.0);
            assert!(right, "{method:?} {tiles:?}: {:?}", at(&pixels, 30, 20));
        }
    }
}

#[test]
fn layers_and_parts_give_the_beauty() {
    let pixels = read(&layered());
    assert_eq!(pixels.layer, "View.Combined");
    assert_eq!(at(&pixels, 1, 1), [1.0, 2.0, 3.0, 0.5]);
    let pixels = read(&multipart());
    assert_eq!(pixels.layer, "beauty");
    assert_eq!(at(&pixels, 1, 1), [4.0, 5.0, 6.0, 1.0]);
}

#[test]
fn a_stopped_render_shows_what_is_there() {
    let whole = file(Compression::ZIP1, None);
    let table = table_at(&whole);
    // The writer never came to the table, and the file ends in the middle of its blocks.
    let mut cut = whole[..whole.len() * 2 / 3].to_vec();
    cut[table..table + 24 * 8].fill(0);
    let pixels = read(&cut);
    assert_eq!(pixels.expected, 24);
    assert!(pixels.blocks > 8 && pixels.blocks < 24, "{}", pixels.blocks);
    assert_eq!(at(&pixels, 0, 0)[3], 1.0);
    assert_eq!(at(&pixels, 0, 23), [0.0; 4]);
    let strict = exr_image::decode(&cut, "a.exr", Incomplete::Refuse).expect_err("is not whole");
    assert_eq!(strict.reason, Reason::InputTruncated, "{}", strict.message);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.exr");
    std::fs::write(&path, &cut).expect("written");
    let asset = load_asset(&path).expect("is shown");
    assert!(asset.warnings[0].message.contains("of its 24 blocks"), "{:?}", asset.warnings);
    let facts = asset_facts(&path).expect("reads");
    assert_eq!(facts.details["blocks"]["there"], pixels.blocks);
    let nothing = refused(&whole[..table + 24 * 8 + 4]);
    assert_eq!(nothing.reason, Reason::InputTruncated, "{}", nothing.message);
}

#[test]
fn the_data_window_is_placed_in_the_display_window() {
    let moved = patched(&file(Compression::ZIP16, None), "displayWindow", &[-10, -5, 99, 49]);
    let pixels = read(&moved);
    assert_eq!((pixels.image.width, pixels.image.height), (110, 55));
    assert_eq!(at(&pixels, 9, 5), [0.0; 4]);
    assert_eq!(at(&pixels, 10, 5)[3], 1.0);
    assert_eq!(at(&pixels, 49, 28)[3], 1.0);
    assert_eq!(at(&pixels, 50, 28), [0.0; 4]);
    let far = patched(&file(Compression::ZIP16, None), "displayWindow", &[900, 900, 909, 909]);
    assert!(!read(&far).is_in_view);
}

#[test]
fn deep_and_subsampled_pixels_are_named_with_their_remedy() {
    let mut deep = file(Compression::ZIP1, None);
    deep[5] |= 0x08;
    let failure = refused(&deep);
    assert_eq!(failure.reason, Reason::InputUnsupported);
    assert!(failure.message.contains("Flatten"), "{}", failure.message);
    let plain = file(Compression::ZIP1, None);
    // The fields of the channel `G` are its name, type, flag, and the distances of its samples.
    let place = plain.windows(2).position(|two| two == b"G\0").expect("has green") + 2 + 4 + 4;
    let mut sampled = plain;
    sampled[place] = 2;
    let failure = refused(&sampled);
    assert_eq!(failure.reason, Reason::InputUnsupported);
    assert!(failure.message.contains("subsampling"), "{}", failure.message);
}

#[test]
fn values_that_are_no_light_are_counted() {
    let (pixels, counts) = {
        let pixels = read(&super::exr_tests_files::wild());
        let counts = pixels.counts;
        (pixels, counts)
    };
    assert_eq!((counts.nan, counts.infinite, counts.negative, counts.not_finite), (2, 1, 3, 3));
    assert!(pixels.image.pixels.iter().flatten().all(|value| value.is_finite()));
}

/// Some hundreds of damaged files from one seed. Each gives a picture or a named reason.
#[test]
fn damaged_files_give_a_picture_or_a_reason() {
    let seeds = [
        file(Compression::PIZ, None),
        file(Compression::ZIP16, Some(16)),
        file(Compression::B44, None),
        file(Compression::PXR24, None),
        file(Compression::RLE, Some(16)),
        layered(),
        multipart(),
    ];
    let mut state = 0x5eed_u64;
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let mut ends = std::collections::BTreeMap::new();
    for seed in &seeds {
        for turn in 0..90 {
            let mut bytes = seed.clone();
            match turn % 3 {
                0 => bytes.truncate(draw(seed.len())),
                1 => (0..=turn / 10).for_each(|_| {
                    let place = draw(seed.len());
                    bytes[place] ^= 1 << draw(8);
                }),
                // An absurd number somewhere in the header.
                _ => {
                    let place = draw(table_at(seed).min(seed.len() - 4));
                    let value = [u32::MAX, i32::MAX as u32, 1 << 31, 70_000, 0][draw(5)];
                    bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
                }
            }
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("a.exr");
            std::fs::write(&path, &bytes).expect("written");
            asset_facts(&path).err();
            let end = match load_asset(&path) {
                Ok(asset) if asset.warnings.is_empty() => "whole",
                Ok(_) => "a warning",
                Err(failure) => {
                    let broke = failure.message.contains("breaks the program");
                    assert!(!broke, "turn {turn}: {}", failure.message);
                    assert!(failure.message.len() > 20, "{}", failure.message);
                    failure.reason.code()
                }
            };
            *ends.entry(end).or_insert(0) += 1;
        }
    }
    // The damage must have met both what is read and what is refused.
    assert!(ends.len() >= 4 && ends["whole"] > 20, "{ends:?}");
}
