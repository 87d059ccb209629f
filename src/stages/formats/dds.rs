//! Reads the first picture of a DDS texture: block-compressed (BC1 to BC7), plain or float.
//!
//! The fields are those of Microsoft's "Programming guide for DDS".

use super::dds_pixels::{self, Kind};
use super::images::check_size;
use super::{corrupt, truncated, unsupported};
use crate::preview::DecodedImage;
use crate::protocol::work::Failure;

const HEADER_BYTES: usize = 128;
const DX10_BYTES: usize = 20;
/// `DDPF_FOURCC`: the format is a code of four letters.
const HAS_CODE: u32 = 0x4;
/// `DDPF_ALPHAPIXELS` and `DDPF_ALPHA`.
const HAS_ALPHA: u32 = 0x1 | 0x2;
/// `DDPF_PALETTEINDEXED` of 4 and 8 bits.
const IS_INDEX: u32 = 0x8 | 0x20;
/// `DDPF_LUMINANCE`.
const IS_GREY: u32 = 0x2_0000;
/// `DDSCAPS2_CUBEMAP` and `DDSCAPS2_VOLUME`.
const IS_CUBE: u32 = 0x200;
const IS_VOLUME: u32 = 0x20_0000;

/// What the header says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DdsHeader {
    pub(super) width: u32,
    pub(super) height: u32,
    /// How the pixels are stored.
    pub(super) kind: Kind,
    /// Its name: `BC7`.
    pub(super) name: String,
    /// Whether colours are multiplied by their alpha.
    pub(super) premultiplied: bool,
    /// Levels, the first included.
    pub(super) mip_levels: u32,
    /// `cube`, `volume` or `array`; empty for a plain texture.
    pub(super) shape: &'static str,
    data_at: usize,
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..at + 4).and_then(|field| field.first_chunk::<4>());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

/// Reads the header and checks that the first picture's bytes are there.
pub(super) fn header(bytes: &[u8], name: &str) -> Result<DdsHeader, Failure> {
    let is_dx10 = bytes.get(84..88) == Some(b"DX10");
    let data_at = HEADER_BYTES + if is_dx10 { DX10_BYTES } else { 0 };
    if bytes.len() < data_at {
        return Err(truncated(format!(
            "{name} has {} bytes and ends inside its header. Copy or export it again",
            bytes.len()
        )));
    }
    let (width, height) = (number(bytes, 16), number(bytes, 12));
    if number(bytes, 76) != 32 {
        return Err(corrupt(format!("{name}: the header's pixel format cannot be read")));
    }
    let (kind, said) = if is_dx10 {
        let code = number(bytes, HEADER_BYTES);
        (Kind::of_dxgi(code), format!("DXGI {code}"))
    } else if number(bytes, 80) & HAS_CODE != 0 {
        let code: [u8; 4] = number(bytes, 84).to_le_bytes();
        (Kind::of_code(code), String::from_utf8_lossy(&code).escape_debug().to_string())
    } else {
        let flags = number(bytes, 80);
        let mut masks = [92, 96, 100, 104].map(|at| number(bytes, at));
        if flags & HAS_ALPHA == 0
            && let [.., alpha] = &mut masks
        {
            *alpha = 0;
        }
        let bits = number(bytes, 88);
        let kind = Kind::of_masks(bits, masks, flags & IS_GREY != 0);
        (kind.filter(|_| flags & IS_INDEX == 0), format!("{bits} bits"))
    };
    let kind = kind.ok_or_else(|| {
        unsupported(format!(
            "{name} is a DDS of the pixel format {said}, which cannot be read. Save it as BC7 or as PNG"
        ))
    })?;
    check_size(width, height, 16, name)?;
    let needed = kind.bytes(width, height);
    let there = (bytes.len() - data_at) as u64;
    if needed > there {
        return Err(truncated(format!(
            "{name} has {there} bytes of pixels, but {width} × {height} of {} take {needed}. Copy or export it again",
            kind.name()
        )));
    }
    let code = bytes.get(84..88).unwrap_or_default();
    let misc = if is_dx10 { number(bytes, 144) & 7 } else { 0 };
    let caps = number(bytes, 112);
    let is_array = is_dx10 && number(bytes, 140) > 1;
    Ok(DdsHeader {
        width,
        height,
        name: kind.name().to_owned(),
        kind,
        premultiplied: misc == 2 || matches!(code, b"DXT2" | b"DXT4"),
        mip_levels: number(bytes, 28).max(1),
        shape: match (caps & IS_CUBE != 0, caps & IS_VOLUME != 0, is_array) {
            (true, ..) => "cube",
            (_, true, _) => "volume",
            (.., true) => "array",
            _ => "",
        },
        data_at,
    })
}

/// Decodes the first level of the first picture.
pub(super) fn decode(bytes: &[u8], name: &str) -> Result<(DecodedImage, u8), Failure> {
    let header = header(bytes, name)?;
    let data = bytes.get(header.data_at..).unwrap_or_default();
    let image = dds_pixels::decode(&header, data);
    Ok((image, header.kind.channels()))
}
