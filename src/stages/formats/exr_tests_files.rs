//! Writes EXR files for tests.

use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression, Encoding, FlatSamples, Image, Layer,
    LayerAttributes, LineOrder, SpecificChannels, Text, Vec2, WritableImage, f16,
};
use std::io::Cursor;

fn bytes_of(write: impl FnOnce(&mut Cursor<Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    write(&mut bytes);
    bytes.into_inner()
}

/// 40 × 24 pixels of one colour but for a pattern in the upper half, as half floats.
pub(super) fn file(compression: Compression, tile: Option<usize>) -> Vec<u8> {
    let blocks = tile.map_or(Blocks::ScanLines, |edge| Blocks::Tiles(Vec2(edge, edge)));
    let encoding = Encoding { compression, blocks, line_order: LineOrder::Increasing };
    let pixel = |at: Vec2<usize>| {
        let bright = if at.y() < 12 { (at.x() % 7) as f32 } else { 3.0 };
        (f16::from_f32(bright), f16::from_f32(2.0), f16::from_f32(0.5), f16::from_f32(1.0))
    };
    let channels = SpecificChannels::rgba(pixel);
    let layer = Layer::new((40, 24), LayerAttributes::default(), encoding, channels);
    bytes_of(|out| {
        Image::from_layer(layer).write().non_parallel().to_buffered(out).expect("written");
    })
}

fn channels(names: &[(&str, f32)], pixels: usize) -> AnyChannels<FlatSamples> {
    let channel = |(name, value): &(&str, f32)| {
        AnyChannel::new(*name, FlatSamples::F32(vec![*value; pixels]))
    };
    AnyChannels::sort(names.iter().map(channel).collect())
}

/// One part with the layers of a render: depth, occlusion, and the picture itself.
pub(super) fn layered() -> Vec<u8> {
    let channels = channels(
        &[
            ("View.AO.R", 9.0),
            ("View.AO.G", 9.0),
            ("View.AO.B", 9.0),
            ("View.Combined.R", 1.0),
            ("View.Combined.G", 2.0),
            ("View.Combined.B", 3.0),
            ("View.Combined.A", 0.5),
            ("View.Depth.Z", 70.0),
        ],
        64,
    );
    let layer = Layer::new((8, 8), LayerAttributes::default(), Encoding::SMALL_LOSSLESS, channels);
    bytes_of(|out| {
        Image::from_layer(layer).write().non_parallel().to_buffered(out).expect("written");
    })
}

/// Three parts, of which the second one is the picture itself.
pub(super) fn multipart() -> Vec<u8> {
    let part = |name: &str, values: &[(&str, f32)]| {
        let attributes = LayerAttributes::named(Text::from(name));
        Layer::new((8, 8), attributes, Encoding::SMALL_LOSSLESS, channels(values, 64))
    };
    let layers = vec![
        part("diffuse", &[("R", 1.0), ("G", 1.0), ("B", 1.0)]),
        part("beauty", &[("R", 4.0), ("G", 5.0), ("B", 6.0)]),
        part("depth", &[("Z", 30.0)]),
    ];
    let attributes =
        exr::prelude::ImageAttributes::new(exr::prelude::IntegerBounds::from_dimensions((8, 8)));
    bytes_of(|out| {
        Image::from_layers(attributes, layers)
            .write()
            .non_parallel()
            .to_buffered(out)
            .expect("written");
    })
}

/// Pixels with two values that are no numbers, one that is infinite, and three below zero.
pub(super) fn wild() -> Vec<u8> {
    let mut red = vec![0.5_f32; 64];
    red[..6].copy_from_slice(&[f32::NAN, f32::NAN, f32::INFINITY, -1.0, -2.0, -3.0]);
    let mut list = channels(&[("G", 1.0), ("B", 1.0)], 64).list;
    list.push(AnyChannel::new("R", FlatSamples::F32(red)));
    let channels = AnyChannels::sort(list);
    let layer = Layer::new((8, 8), LayerAttributes::default(), Encoding::UNCOMPRESSED, channels);
    bytes_of(|out| {
        Image::from_layer(layer).write().non_parallel().to_buffered(out).expect("written");
    })
}

/// Replaces the four numbers of a window in the header.
pub(super) fn patched(exr: &[u8], name: &str, window: &[i32; 4]) -> Vec<u8> {
    let mut exr = exr.to_vec();
    let mut mark = name.as_bytes().to_vec();
    mark.extend(b"\0box2i\0\x10\0\0\0");
    let at = exr.windows(mark.len()).position(|part| part == mark).expect("is there");
    for (value, place) in window.iter().zip((at + mark.len()..).step_by(4)) {
        exr[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
    exr
}

/// Where the table of blocks begins.
pub(super) fn table_at(exr: &[u8]) -> usize {
    super::exr_header::read(exr, "a.exr").expect("is whole").offsets_at
}
