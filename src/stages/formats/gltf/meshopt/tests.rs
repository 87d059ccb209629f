//! Streams written by the encoder of meshoptimizer 1.0, and damaged ones.

use super::{Compressed, Filter, Mode};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("hex")).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn decode(mode: Mode, filter: Filter, count: usize, stride: usize, text: &str) -> Option<Vec<u8>> {
    let compressed = Compressed {
        buffer: 0,
        byte_offset: 0,
        byte_length: 0,
        byte_stride: stride,
        count,
        mode,
        filter,
    };
    compressed.decode(&hex(text))
}

const TRIANGLES: [&str; 2] =
    ["e0f010f030007687566778a9866589689801690000", "e1f010f030007687566778a9866589689801690000"];
const SEQUENCES: [&str; 2] =
    ["d00004040002080404040e041000000000", "d10004040002080404040e041000000000"];
/// A strip of squares, four rows of three, as the encoder of each version writes it.
const GRIDS: [&str; 2] = [
    "e0fe1f100f100f8f1f140f130f8f1f130f130f8f1f130f130f0f08020202020202020202020202020202007687566778a9866589689801690000",
    "e1fe1e100e100e8e1e140e130e8e1e130e130e8e1e130e130e0f08007687566778a9866589689801690000",
];
const INDICES: [u8; 12] = [0, 1, 2, 2, 1, 3, 4, 5, 6, 2, 3, 7];
const VERTICES: [&str; 3] = [
    "a00700c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8ff000000c8c8c8c8050208822088000000070002060a0e12161a1e22262a2e32363aff0000003e42464a04800000000a0555555555555555555500000000000000000000000000000000000000000000000000000000000000000000000000ffff0700",
    "a155a90300c8c8c8c8c8c8c8c8c8c8c8c8c8c8c80f00c8c8c8c8050208822088000000030002060a0e12161a1e22262a2e32363a0f003e42464a0000000100020205555555555555550f0005050505000000000000000000000000000000000000ffff07000000",
    "a1bba900c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8c80002060a0e12161a1e22262a2e32363a3e42464a0205555555555555550f0005050505000000000000000000000000000000000000ffff07000100",
];

/// Twenty vertices of four 16-bit numbers.
fn vertices() -> Vec<u8> {
    (0..20_u16)
        .flat_map(|at| [at * 100, at * at, 65_535 - at * 3, 7])
        .flat_map(u16::to_le_bytes)
        .collect()
}

#[test]
fn indices_of_both_kinds_and_versions_are_decoded() {
    for size in [2, 4] {
        let expected: Vec<u8> = INDICES
            .iter()
            .flat_map(|index| u32::from(*index).to_le_bytes()[..size].to_vec())
            .collect();
        for (triangles, sequence) in TRIANGLES.into_iter().zip(SEQUENCES) {
            let found = decode(Mode::Triangles, Filter::None, 12, size, triangles);
            assert_eq!(found.as_ref(), Some(&expected), "{triangles}");
            let found = decode(Mode::Indices, Filter::None, 12, size, sequence);
            assert_eq!(found.as_ref(), Some(&expected), "{sequence}");
        }
    }
}

#[test]
fn triangles_that_look_far_back_are_decoded() {
    let square = |at: u8| {
        let corner = at / 3 * 4 + at % 3;
        [corner, corner + 1, corner + 4, corner + 1, corner + 5, corner + 4]
    };
    let expected: Vec<u8> = (0..12).flat_map(square).collect();
    for grid in GRIDS {
        let found = decode(Mode::Triangles, Filter::None, 72, 2, grid).expect("decodes");
        // The encoder turns triangles: here each begins with its least corner.
        let mut indices: Vec<u8> = found.chunks_exact(2).map(|pair| pair[0]).collect();
        for triangle in indices.chunks_exact_mut(3) {
            let least = (0..3).min_by_key(|at| triangle[*at]).expect("three");
            triangle.rotate_left(least);
        }
        assert_eq!(indices, expected, "{grid}");
    }
}

#[test]
fn vertices_of_both_versions_and_all_channels_are_decoded() {
    for text in VERTICES {
        let found = decode(Mode::Attributes, Filter::None, 20, 8, text);
        assert_eq!(found, Some(vertices()), "{text}");
    }
}

#[test]
fn filters_give_back_what_was_put_in() {
    let near = |found: Option<Vec<u8>>, most: f32, expected: &[f32]| {
        let bytes = found.expect("decodes");
        let values: Vec<f32> = if bytes.len() == expected.len() {
            bytes.iter().map(|byte| f32::from(byte.cast_signed()) / most).collect()
        } else {
            bytes
                .chunks_exact(2)
                .map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])) / most)
                .collect()
        };
        for (found, expected) in values.iter().zip(expected) {
            assert!((found - expected).abs() < 1.5 / most, "{values:?} {expected:?}");
        }
    };
    let unit = [0.0, 0.0, 1.0, 0.0, 0.6, 0.0, -0.8, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, -0.6, 0.8, 0.0];
    let attributes = Mode::Attributes;
    let found = decode(
        attributes,
        Filter::Octahedral,
        4,
        4,
        "a0013f000000fe04fe013f00000092916b00000000000000000000000000000000000000000000000000000000000000007f00",
    );
    near(found, 127.0, &unit);
    let found = decode(
        attributes,
        Filter::Octahedral,
        4,
        8,
        "a0011d00000004013b000000feff013f00000048474a013f00000092916d0000000000000000000000000000000000000000000000000000000000000000ff7f0000",
    );
    near(found, 32_767.0, &unit);
    let turns = [0.0, 0.0, 0.0, 1.0, 0.5, 0.5, -0.5, 0.5, 0.6, 0.0, 0.8, 0.0, 0.0, -0.6, 0.0, 0.8];
    let found = decode(
        attributes,
        Filter::Quaternion,
        4,
        8,
        "a0013c000000fbfc013c000000b4b3013f000000fc3c6f013f000000b5714e013c000000fbfc013c000000b4b3013e000000050400000000000000000000000000000000000000000000000000000000000000ff7f",
    );
    near(found, 32_767.0, &turns);
    let found = decode(
        attributes,
        Filter::Exponential,
        2,
        16,
        "a000000130000000080130000000030130000000da0130000000310130000000110130000000130000013000000016000130000000ff01300000003401300000000401300000000c00000000000000000000000000000000000000ed000004ee0000fbef000004f8",
    );
    let floats: Vec<f32> = found
        .expect("decodes")
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let written = [0.0, 1.0, -2.5, 1_024.0, 0.125, -0.001, 3.0, 100_000.0_f32];
    for (found, expected) in floats.iter().zip(written) {
        assert!((found - expected).abs() <= expected.abs() * 1e-4, "{floats:?}");
    }
    let found = decode(
        attributes,
        Filter::Color,
        4,
        4,
        "a1ff007e02fe00fd7d7e0083fd00007d7e0000000000000000000000000000000000000000407fc1ff00",
    );
    let colors = [255, 0, 0, 255, 0, 255, 0, 128, 64, 128, 191, 255, 255, 255, 255, 255_u8];
    for (found, expected) in found.expect("decodes").iter().zip(colors) {
        assert!(found.abs_diff(expected) <= 3, "{found} {expected}");
    }
}

#[test]
fn a_cut_or_doubled_stream_is_refused_and_a_changed_one_does_no_harm() {
    let all = TRIANGLES
        .iter()
        .map(|text| (Mode::Triangles, 12, 4, *text))
        .chain(SEQUENCES.iter().map(|text| (Mode::Indices, 12, 4, *text)))
        .chain(VERTICES.iter().map(|text| (Mode::Attributes, 20, 8, *text)));
    for (mode, count, stride, text) in all {
        for cut in 0..text.len() / 2 {
            let cut = &text[..cut * 2];
            assert_eq!(decode(mode, Filter::None, count, stride, cut), None, "{cut}");
        }
        let doubled = text.repeat(2);
        assert_eq!(decode(mode, Filter::None, count, stride, &doubled), None, "{text}");
        for at in 0..text.len() / 2 {
            for value in [0_u8, 0x7f, 0x80, 0xff] {
                let mut changed = text.to_owned();
                changed.replace_range(at * 2..at * 2 + 2, &format!("{value:02x}"));
                let size = decode(mode, Filter::None, count, stride, &changed).map(|all| all.len());
                assert!(size.is_none_or(|size| size == count * stride), "{changed}");
            }
        }
    }
}

#[test]
fn strides_that_a_mode_does_not_have_are_refused() {
    for (mode, filter, count, stride) in [
        (Mode::Attributes, Filter::None, 4, 6),
        (Mode::Attributes, Filter::None, 4, 260),
        (Mode::Attributes, Filter::None, 4, 0),
        (Mode::Attributes, Filter::Octahedral, 4, 12),
        (Mode::Attributes, Filter::Quaternion, 4, 4),
        (Mode::Triangles, Filter::None, 12, 3),
        (Mode::Triangles, Filter::None, 11, 4),
        (Mode::Indices, Filter::Exponential, 12, 4),
        (Mode::Attributes, Filter::None, usize::MAX, 8),
    ] {
        assert_eq!(decode(mode, filter, count, stride, VERTICES[0]), None, "{mode:?} {stride}");
    }
}
