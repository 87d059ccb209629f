//! Pictures of every format and kind, each against pixels that are known.
use super::*;
use crate::model::Reason;
use crate::preview::{DecodedImage, Picture};
use image::{DynamicImage, ImageFormat};
use std::fmt::Write as _;
use std::io::Cursor;

fn path_of(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    (folder, path)
}

pub(super) fn shown(name: &str, bytes: &[u8]) -> Picture {
    let (_folder, path) = path_of(name, bytes);
    match load_image(&path) {
        Ok(DecodedImage::Display(picture)) => picture,
        other => panic!("{name}: {other:?}"),
    }
}

fn refused(name: &str, bytes: &[u8]) -> Failure {
    let (_folder, path) = path_of(name, bytes);
    load_image(&path).expect_err(name)
}

fn facts(name: &str, bytes: &[u8]) -> ImageFacts {
    let (_folder, path) = path_of(name, bytes);
    image_facts(&path).expect(name)
}

fn pixel(picture: &Picture, x: u32, y: u32) -> [u8; 4] {
    let at = ((y * picture.width + x) * 4) as usize;
    picture.rgba[at..at + 4].try_into().expect("four bytes")
}

fn pattern() -> image::RgbaImage {
    image::RgbaImage::from_fn(23, 17, |x, y| {
        image::Rgba([(x * 11) as u8, (y * 15) as u8, (x * y) as u8, 255 - (x * 5) as u8])
    })
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

#[test]
fn every_lossless_format_gives_the_pixels_that_were_put_in() {
    let rgba = DynamicImage::ImageRgba8(pattern());
    let rgb = DynamicImage::ImageRgb8(rgba.to_rgb8());
    let wide = DynamicImage::ImageRgba16(rgba.to_rgba16());
    let grey = DynamicImage::ImageLuma8(rgba.to_luma8());
    let cases = [
        ("a.png", &rgba, ImageFormat::Png, 8, "deflate"),
        ("wide.png", &wide, ImageFormat::Png, 16, "deflate"),
        ("grey.png", &grey, ImageFormat::Png, 8, "deflate"),
        ("a.tif", &rgba, ImageFormat::Tiff, 8, "none"),
        ("wide.tif", &wide, ImageFormat::Tiff, 16, "none"),
        ("grey.tif", &grey, ImageFormat::Tiff, 8, "none"),
        ("a.tga", &rgba, ImageFormat::Tga, 8, "RLE"),
        ("rgb.tga", &rgb, ImageFormat::Tga, 8, "RLE"),
        ("grey.tga", &grey, ImageFormat::Tga, 8, "RLE"),
        ("a.bmp", &rgb, ImageFormat::Bmp, 8, "none"),
        ("a.webp", &rgba, ImageFormat::WebP, 8, "lossless"),
    ];
    for (name, image, format, bits, compression) in cases {
        let bytes = encoded(image, format);
        let picture = shown(name, &bytes);
        assert_eq!((picture.width, picture.height), (23, 17), "{name}");
        assert_eq!(picture.rgba, image.to_rgba8().into_raw(), "{name}");
        let facts = facts(name, &bytes);
        assert_eq!((facts.bits, facts.compression.as_str()), (bits, compression), "{name}");
        assert_eq!(facts.alpha, image.color().has_alpha(), "{name}");
        assert_eq!((facts.width, facts.height, facts.frames), (23, 17, 1), "{name}");
    }
}

#[test]
fn a_gif_shows_its_first_frame_and_says_that_it_moves() {
    let mut bytes = Vec::new();
    {
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        for tone in [200, 40] {
            let frame = image::RgbaImage::from_pixel(6, 5, image::Rgba([tone, 10, 10, 255]));
            encoder.encode_frame(image::Frame::new(frame)).expect("encoded");
        }
    }
    assert_eq!(pixel(&shown("a.gif", &bytes), 3, 3), [200, 10, 10, 255]);
    assert_eq!(facts("a.gif", &bytes).frames, 2);
}

/// A JPEG of one block with one colour: four components, each by its DC value alone.
fn four_inks(values: [u8; 4], adobe: Option<u8>) -> Vec<u8> {
    let mut jpeg = vec![0xff, 0xd8];
    if let Some(transform) = adobe {
        jpeg.extend([0xff, 0xee, 0, 14]);
        jpeg.extend(b"Adobe\0\x64\0\0\0\0");
        jpeg.push(transform);
    }
    jpeg.extend([0xff, 0xdb, 0, 67, 0]);
    // Every step is 8, so a DC of 1 moves the whole block by 1.
    jpeg.extend([8; 64]);
    jpeg.extend([0xff, 0xc0, 0, 20, 8, 0, 8, 0, 8, 4]);
    (1..=4).for_each(|id| jpeg.extend([id, 0x11, 0]));
    // DC: twelve codes of four bits, one for each size; AC: the end of the block as `0`.
    jpeg.extend([0xff, 0xc4, 0, 31, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    jpeg.extend(0..12);
    jpeg.extend([0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    jpeg.extend([0xff, 0xda, 0, 14, 4, 1, 0, 2, 0, 3, 0, 4, 0, 0, 63, 0]);
    let mut bits = String::new();
    for value in values {
        let level = i32::from(value) - 128;
        let size = 32 - level.unsigned_abs().leading_zeros();
        let coded = if level < 0 { level + (1 << size) - 1 } else { level };
        write!(bits, "{size:04b}").expect("is text");
        if size > 0 {
            write!(bits, "{coded:0width$b}", width = size as usize).expect("is text");
        }
        bits += "0";
    }
    while !bits.len().is_multiple_of(8) {
        bits.push('1');
    }
    for byte in bits.as_bytes().chunks(8) {
        let text = std::str::from_utf8(byte).expect("digits");
        let byte = u8::from_str_radix(text, 2).expect("bits");
        jpeg.push(byte);
        if byte == 0xff {
            jpeg.push(0);
        }
    }
    jpeg.extend([0xff, 0xd9]);
    jpeg
}

#[test]
fn inks_of_a_jpeg_are_inverted_where_adobe_wrote_them() {
    // Plain: full cyan and no other ink. Inverted: the same, stored the other way round.
    let plain = pixel(&shown("a.jpg", &four_inks([255, 0, 0, 0], None)), 4, 4);
    let inverted = pixel(&shown("b.jpg", &four_inks([0, 255, 255, 255], Some(0))), 4, 4);
    // YCCK of Adobe: the luma of the inverted inks' complement, which is that of white, is 0.
    let ycck = pixel(&shown("c.jpg", &four_inks([0, 128, 128, 255], Some(2))), 4, 4);
    let black = pixel(&shown("d.jpg", &four_inks([0, 128, 128, 0], Some(2))), 4, 4);
    for (found, right) in [
        (plain, [0, 255, 255, 255]),
        (inverted, [0, 255, 255, 255]),
        (ycck, [255, 255, 255, 255]),
        (black, [0, 0, 0, 255]),
    ] {
        let far = found.iter().zip(right).any(|(a, b)| a.abs_diff(b) > 2);
        assert!(!far, "{found:?} instead of {right:?}");
    }
    let facts = facts("a.jpg", &four_inks([255, 0, 0, 0], None));
    assert_eq!(facts.channels, ["c", "m", "y", "k"]);
    assert_eq!(facts.compression, "sequential");
}

/// A tag of shorts.
type Tag<'a> = (u16, &'a [u16]);

/// A classic TIFF of one strip: tags of shorts, and what lies behind the directory.
fn tiff(size: [u16; 2], tags: &[Tag<'_>], pixels: &[u8]) -> Vec<u8> {
    let mut all: Vec<(u16, u16, Vec<u32>)> = vec![
        (256, 3, vec![size[0].into()]),
        (257, 3, vec![size[1].into()]),
        (278, 3, vec![size[1].into()]),
        (279, 4, vec![pixels.len() as u32]),
    ];
    all.extend(
        tags.iter().map(|(tag, values)| (*tag, 3, values.iter().map(|v| u32::from(*v)).collect())),
    );
    all.push((273, 4, vec![0]));
    all.sort_by_key(|(tag, ..)| *tag);
    let lists = 8 + 2 + all.len() * 12 + 4;
    let list_bytes: usize = all
        .iter()
        .filter(|(_, kind, v)| *kind == 3 && v.len() > 2)
        .map(|(.., v)| v.len() * 2)
        .sum();
    let mut file = b"II\x2a\0\x08\0\0\0".to_vec();
    file.extend((all.len() as u16).to_le_bytes());
    let mut behind = Vec::new();
    for (tag, kind, values) in &all {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend((values.len() as u32).to_le_bytes());
        let shorts = || values.iter().flat_map(|value| (*value as u16).to_le_bytes());
        if *tag == 273 {
            file.extend(((lists + list_bytes) as u32).to_le_bytes());
        } else if *kind == 4 {
            file.extend(values[0].to_le_bytes());
        } else if values.len() <= 2 {
            let mut inline: Vec<u8> = shorts().collect();
            inline.resize(4, 0);
            file.extend(inline);
        } else {
            file.extend(((lists + behind.len()) as u32).to_le_bytes());
            behind.extend(shorts());
        }
    }
    file.extend([0; 4]);
    file.extend(behind);
    file.extend(pixels);
    file
}

/// A name, a file and its pixels.
type Case = (&'static str, Vec<u8>, Vec<[u8; 4]>);

#[test]
fn unusual_tiffs_have_the_right_pixels() {
    let palette: Vec<u16> = vec![0, 0xffff, 0, 0x8080, 0, 0, 0xffff, 0, 0, 0, 0, 0xffff];
    let float = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let cases: [Case; 8] = [
        (
            "palette",
            tiff([2, 1], &[(258, &[2]), (262, &[3]), (320, &palette)], &[0b0111_0000]),
            vec![[0xff, 0, 0, 255], [0x80, 0, 255, 255]],
        ),
        (
            "palette and alpha",
            tiff(
                [1, 1],
                &[(258, &[8, 8]), (262, &[3]), (277, &[2]), (320, &palette), (338, &[2])],
                &[1, 77],
            ),
            vec![[255, 0, 0, 77]],
        ),
        (
            "white is zero",
            tiff([2, 1], &[(258, &[1]), (262, &[0])], &[0x80]),
            vec![[0, 0, 0, 255], [255; 4]],
        ),
        (
            "four bits",
            tiff([2, 1], &[(258, &[4]), (262, &[1])], &[0x0f]),
            vec![[0, 0, 0, 255], [255; 4]],
        ),
        (
            "premultiplied",
            tiff(
                [1, 1],
                &[(258, &[8, 8, 8, 8]), (262, &[2]), (277, &[4]), (338, &[1])],
                &[100, 50, 0, 128],
            ),
            vec![[199, 100, 0, 128]],
        ),
        (
            "inks",
            tiff([1, 1], &[(258, &[8, 8, 8, 8]), (262, &[5]), (277, &[4])], &[255, 0, 0, 0]),
            vec![[0, 255, 255, 255]],
        ),
        (
            "luma",
            tiff(
                [1, 1],
                &[(258, &[8, 8, 8]), (262, &[6]), (277, &[3]), (530, &[1, 1])],
                &[76, 85, 255],
            ),
            vec![[254, 0, 0, 255]],
        ),
        (
            "grey and alpha",
            tiff([1, 1], &[(258, &[8, 8]), (262, &[1]), (277, &[2]), (338, &[2])], &[90, 7]),
            vec![[90, 90, 90, 7]],
        ),
    ];
    for (what, bytes, right) in cases {
        let picture = shown("a.tif", &bytes);
        let found: Vec<[u8; 4]> =
            picture.rgba.chunks(4).map(|p| p.try_into().expect("4")).collect();
        assert_eq!(found, right, "{what}");
    }
    let half = tiff([1, 1], &[(258, &[32]), (262, &[1]), (339, &[3])], &float(&[7.5]));
    let (_folder, path) = path_of("a.tif", &half);
    let Ok(DecodedImage::Light(light)) = load_image(&path) else { panic!("is light") };
    assert_eq!(light.pixels, [[7.5, 7.5, 7.5, 1.0]]);
    let signed =
        refused("a.tif", &tiff([1, 1], &[(258, &[16]), (262, &[1]), (339, &[2])], &[1, 2]));
    assert_eq!(signed.reason, Reason::InputUnsupported, "{}", signed.message);
}

#[test]
fn the_orientation_of_a_tiff_is_baked_in() {
    let upright = [10, 20, 30, 40, 50, 60];
    let turn = |orientation: u16| {
        let tags: &[Tag<'_>] = &[(258, &[8]), (262, &[1]), (274, &[orientation])];
        let picture = shown("a.tif", &tiff([3, 2], tags, &upright));
        let grey: Vec<u8> = picture.rgba.chunks(4).map(|pixel| pixel[0]).collect();
        ((picture.width, picture.height), grey)
    };
    assert_eq!(turn(1), ((3, 2), vec![10, 20, 30, 40, 50, 60]));
    assert_eq!(turn(2), ((3, 2), vec![30, 20, 10, 60, 50, 40]));
    assert_eq!(turn(3), ((3, 2), vec![60, 50, 40, 30, 20, 10]));
    assert_eq!(turn(6), ((2, 3), vec![40, 10, 50, 20, 60, 30]));
    assert_eq!(turn(8), ((2, 3), vec![30, 60, 20, 50, 10, 40]));
}

#[test]
fn a_tga_without_bits_of_alpha_is_opaque() {
    let mut file = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 32, 0, 1, 2, 3, 0];
    assert_eq!(pixel(&shown("a.tga", &file), 0, 0), [3, 2, 1, 255]);
    file[17] = 8;
    file[21] = 7;
    assert_eq!(pixel(&shown("a.tga", &file), 0, 0), [3, 2, 1, 7]);
}

#[test]
fn the_orientation_of_a_webp_is_baked_in_with_and_without_the_mark_of_jpeg() {
    let image = DynamicImage::ImageRgb8(image::RgbImage::new(3, 2));
    let plain = encoded(&image, ImageFormat::WebP);
    let exif = b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    for mark in [&b""[..], b"Exif\0\0"] {
        let exif = [mark, exif].concat();
        let mut file = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\x08\0\0\0\x02\0\0\x01\0\0".to_vec();
        file.extend(&plain[12..]);
        file.extend(b"EXIF");
        file.extend((exif.len() as u32).to_le_bytes());
        file.extend(exif);
        let size = file.len() as u32 - 8;
        file[4..8].copy_from_slice(&size.to_le_bytes());
        let picture = shown("a.webp", &file);
        assert_eq!((picture.width, picture.height), (2, 3), "{mark:?}");
    }
}

/// A DDS header with a code of four letters, and pixels behind it.
fn dds(size: [u32; 2], code: [u8; 4], dxgi: Option<u32>, pixels: &[u8]) -> Vec<u8> {
    let mut file = vec![0_u8; 128];
    file[..4].copy_from_slice(b"DDS ");
    for (at, value) in [(4, 124), (12, size[1]), (16, size[0]), (28, 1), (76, 32), (80, 4_u32)] {
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    file[84..88].copy_from_slice(&code);
    if let Some(dxgi) = dxgi {
        for value in [dxgi, 3, 0, 1, 0] {
            file.extend(value.to_le_bytes());
        }
    }
    file.extend(pixels);
    file
}

#[test]
fn textures_of_dds_are_read() {
    // Both colours of the block are red in 5:6:5, and every pixel takes the first one.
    let bc1 = [0, 0xf8, 0, 0xf8, 0, 0, 0, 0];
    let picture = shown("a.dds", &dds([3, 2], *b"DXT1", None, &bc1));
    assert_eq!((picture.width, picture.height), (3, 2));
    assert_eq!(pixel(&picture, 2, 1), [255, 0, 0, 255]);
    let grey = [128, 128, 0, 0, 0, 0, 0, 0];
    let picture = shown("a.dds", &dds([4, 4], *b"ATI1", None, &grey));
    assert_eq!(pixel(&picture, 1, 3), [128, 128, 128, 255]);
    let bgra = shown("a.dds", &dds([1, 1], *b"DX10", Some(87), &[1, 2, 3, 4]));
    assert_eq!(pixel(&bgra, 0, 0), [3, 2, 1, 4]);
    let facts = facts("a.dds", &dds([4, 4], *b"DX10", Some(98), &[0; 16]));
    assert_eq!((facts.compression.as_str(), facts.width), ("BC7", 4));
    let cut = refused("a.dds", &dds([64, 64], *b"DXT1", None, &bc1));
    assert_eq!(cut.reason, Reason::InputTruncated, "{}", cut.message);
    let unknown = refused("a.dds", &dds([1, 1], *b"DX10", Some(130), &[0; 64]));
    assert_eq!(unknown.reason, Reason::InputUnsupported, "{}", unknown.message);
    let huge = refused("a.dds", &dds([60_000, 60_000], *b"DXT1", None, &bc1));
    assert_eq!(huge.reason, Reason::InputTooLarge, "{}", huge.message);
}

#[test]
fn huge_headers_are_refused_before_anything_is_decoded() {
    let rgb = DynamicImage::ImageRgb8(image::RgbImage::new(8, 8));
    let patched = |mut bytes: Vec<u8>, at: usize, value: &[u8]| {
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let mut png = patched(encoded(&rgb, ImageFormat::Png), 16, &[0, 0, 0x80, 0, 0, 0, 0x80, 0]);
    let crc = crc32(&png[12..29]);
    png[29..33].copy_from_slice(&crc.to_be_bytes());
    let big: &[u16] = &[1];
    let cases = [
        ("a.png", png),
        ("a.bmp", patched(encoded(&rgb, ImageFormat::Bmp), 18, &[0, 0x80, 0, 0, 0, 0x80, 0, 0])),
        ("a.tga", patched(encoded(&rgb, ImageFormat::Tga), 12, &[0xff, 0xff, 0xff, 0xff])),
        ("a.gif", patched(encoded(&rgb, ImageFormat::Gif), 6, &[0xff, 0xff, 0xff, 0xff])),
        ("a.hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 60000 +X 60000\n".to_vec()),
        ("a.tif", tiff([60_000, 60_000], &[(258, &[8]), (262, big)], &[0; 4])),
        // Few enough bytes, but too many pixels.
        ("b.tif", tiff([20_000, 20_000], &[(258, &[1]), (262, big)], &[0; 4])),
    ];
    for (name, bytes) in cases {
        let failure = refused(name, &bytes);
        assert_eq!(failure.reason, Reason::InputTooLarge, "{name}: {}", failure.message);
    }
}

/// The checksum of PNG chunks (PNG specification, annex D).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ 0xedb8_8320 }
        })
    })
}
