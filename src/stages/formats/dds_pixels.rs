//! The pixel formats of DDS textures, and their decoding.

use super::bounds;
use super::dds::DdsHeader;
use super::tiff_image::straight;
use crate::preview::{DecodedImage, LinearImage, Picture};
use half::f16;

/// Edge of a block of pixels.
const BLOCK: usize = 4;

/// How pixels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Blocks of 4 × 4 pixels.
    Block(Block),
    /// Whole numbers of up to 32 bits, and the bits that each channel has in them.
    Masks { bits: u32, masks: [u32; 4], grey: bool },
    /// Floats: bytes of one, and how many a pixel has.
    Floats { bytes: u8, channels: u8 },
    /// Four words of 16 bits.
    Words,
}

/// A block compression; `Signed` ones hold −1 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Bc1,
    Bc2,
    Bc3,
    Bc4,
    Bc4Signed,
    Bc5,
    Bc5Signed,
    Bc6,
    Bc6Signed,
    Bc7,
}

const RGBA_MASKS: [u32; 4] = [0xff, 0xff00, 0xff_0000, 0xff00_0000];
const BGRA_MASKS: [u32; 4] = [0xff_0000, 0xff00, 0xff, 0xff00_0000];

impl Kind {
    /// Of a code of four letters, or of a number that stands in its place (`D3DFORMAT`).
    pub(super) const fn of_code(code: [u8; 4]) -> Option<Self> {
        Some(match &code {
            b"DXT1" => Self::Block(Block::Bc1),
            b"DXT2" | b"DXT3" => Self::Block(Block::Bc2),
            b"DXT4" | b"DXT5" => Self::Block(Block::Bc3),
            b"ATI1" | b"BC4U" => Self::Block(Block::Bc4),
            b"BC4S" => Self::Block(Block::Bc4Signed),
            b"ATI2" | b"BC5U" => Self::Block(Block::Bc5),
            b"BC5S" => Self::Block(Block::Bc5Signed),
            [36, 0, 0, 0] => Self::Words,
            [111, 0, 0, 0] => Self::Floats { bytes: 2, channels: 1 },
            [112, 0, 0, 0] => Self::Floats { bytes: 2, channels: 2 },
            [113, 0, 0, 0] => Self::Floats { bytes: 2, channels: 4 },
            [114, 0, 0, 0] => Self::Floats { bytes: 4, channels: 1 },
            [115, 0, 0, 0] => Self::Floats { bytes: 4, channels: 2 },
            [116, 0, 0, 0] => Self::Floats { bytes: 4, channels: 4 },
            _ => return None,
        })
    }

    /// Of a number of `DXGI_FORMAT`.
    pub(super) const fn of_dxgi(code: u32) -> Option<Self> {
        Some(match code {
            2 => Self::Floats { bytes: 4, channels: 4 },
            6 => Self::Floats { bytes: 4, channels: 3 },
            10 => Self::Floats { bytes: 2, channels: 4 },
            11 => Self::Words,
            16 => Self::Floats { bytes: 4, channels: 2 },
            24 => Self::Masks {
                bits: 32,
                masks: [0x3ff, 0xf_fc00, 0x3ff0_0000, 0xc000_0000],
                grey: false,
            },
            27..=29 => masks_of(32, RGBA_MASKS),
            34 => Self::Floats { bytes: 2, channels: 2 },
            41 => Self::Floats { bytes: 4, channels: 1 },
            49 => masks_of(16, [0xff, 0xff00, 0, 0]),
            54 => Self::Floats { bytes: 2, channels: 1 },
            61 => Self::Masks { bits: 8, masks: [0xff, 0, 0, 0], grey: true },
            70..=72 => Self::Block(Block::Bc1),
            73..=75 => Self::Block(Block::Bc2),
            76..=78 => Self::Block(Block::Bc3),
            79 | 80 => Self::Block(Block::Bc4),
            81 => Self::Block(Block::Bc4Signed),
            82 | 83 => Self::Block(Block::Bc5),
            84 => Self::Block(Block::Bc5Signed),
            85 => masks_of(16, [0xf800, 0x7e0, 0x1f, 0]),
            86 => masks_of(16, [0x7c00, 0x3e0, 0x1f, 0x8000]),
            87 | 90 | 91 => masks_of(32, BGRA_MASKS),
            88 | 92 | 93 => masks_of(32, [0xff_0000, 0xff00, 0xff, 0]),
            94 | 95 => Self::Block(Block::Bc6),
            96 => Self::Block(Block::Bc6Signed),
            97..=99 => Self::Block(Block::Bc7),
            _ => return None,
        })
    }

    /// Of bit masks; none where they cannot be.
    pub(super) fn of_masks(bits: u32, masks: [u32; 4], grey: bool) -> Option<Self> {
        // Some writers state masks outside of the one byte of a grey.
        let masks = if grey && bits == 8 { [0xff, 0, 0, 0] } else { masks };
        let known = matches!(bits, 8 | 16 | 24 | 32) && masks.iter().any(|mask| *mask != 0);
        known.then_some(Self::Masks { bits, masks, grey })
    }

    /// The name people use.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Block(Block::Bc1) => "BC1",
            Self::Block(Block::Bc2) => "BC2",
            Self::Block(Block::Bc3) => "BC3",
            Self::Block(Block::Bc4 | Block::Bc4Signed) => "BC4",
            Self::Block(Block::Bc5 | Block::Bc5Signed) => "BC5",
            Self::Block(Block::Bc6 | Block::Bc6Signed) => "BC6H",
            Self::Block(Block::Bc7) => "BC7",
            Self::Masks { .. } | Self::Words => "none",
            Self::Floats { bytes: 2, .. } => "half float",
            Self::Floats { .. } => "float",
        }
    }

    /// Channels that it stores.
    pub(super) fn channels(self) -> u8 {
        match self {
            Self::Block(Block::Bc4 | Block::Bc4Signed) => 1,
            Self::Block(Block::Bc5 | Block::Bc5Signed) => 2,
            Self::Block(Block::Bc6 | Block::Bc6Signed) => 3,
            Self::Block(_) | Self::Words => 4,
            Self::Masks { masks, .. } => masks.iter().filter(|mask| **mask != 0).count() as u8,
            Self::Floats { channels, .. } => channels,
        }
    }

    /// Bits of one sample before compression.
    pub(super) fn bits(self) -> u16 {
        match self {
            Self::Block(Block::Bc6 | Block::Bc6Signed) | Self::Words => 16,
            Self::Block(_) => 8,
            Self::Masks { masks, .. } => {
                masks.iter().map(|mask| mask.count_ones()).max().unwrap_or(0) as u16
            }
            Self::Floats { bytes, .. } => u16::from(bytes) * 8,
        }
    }

    /// Whether a channel is alpha.
    pub(super) fn has_alpha(self) -> bool {
        match self {
            Self::Block(block) => {
                matches!(block, Block::Bc1 | Block::Bc2 | Block::Bc3 | Block::Bc7)
            }
            Self::Masks { masks: [.., alpha], .. } => alpha != 0,
            Self::Floats { channels, .. } => channels == 4,
            Self::Words => true,
        }
    }

    /// Bytes of a picture of this size.
    pub(super) fn bytes(self, width: u32, height: u32) -> u64 {
        let (width, height) = (u64::from(width), u64::from(height));
        match self {
            Self::Block(block) => width.div_ceil(4) * height.div_ceil(4) * block.bytes() as u64,
            // Rows of pixels begin at a byte.
            Self::Masks { bits, .. } => width * height * u64::from(bits / 8),
            Self::Floats { bytes, channels } => {
                width * height * u64::from(bytes) * u64::from(channels)
            }
            Self::Words => width * height * 8,
        }
    }
}

const fn masks_of(bits: u32, masks: [u32; 4]) -> Kind {
    Kind::Masks { bits, masks, grey: false }
}

impl Block {
    const fn bytes(self) -> usize {
        match self {
            Self::Bc1 | Self::Bc4 | Self::Bc4Signed => 8,
            _ => 16,
        }
    }

    /// The 16 pixels of a block, each of 0 to 1, or light.
    fn pixels(self, block: &[u8]) -> [[f32; 4]; 16] {
        let mut out = [[0.0, 0.0, 0.0, 1.0]; 16];
        let share = |byte: u8| f32::from(byte) / 255.0;
        match self {
            Self::Bc1 | Self::Bc2 | Self::Bc3 | Self::Bc7 => {
                let mut rgba = [0_u8; 64];
                match self {
                    Self::Bc1 => bcdec_rs::bc1(block, &mut rgba, 16),
                    Self::Bc2 => bcdec_rs::bc2(block, &mut rgba, 16),
                    Self::Bc3 => bcdec_rs::bc3(block, &mut rgba, 16),
                    _ => bcdec_rs::bc7(block, &mut rgba, 16),
                }
                for (out, pixel) in out.iter_mut().zip(rgba.as_chunks::<4>().0) {
                    *out = pixel.map(share);
                }
            }
            Self::Bc4 | Self::Bc4Signed => {
                let signed = self == Self::Bc4Signed;
                let mut grey = [0.0_f32; 16];
                bcdec_rs::bc4_float(block, &mut grey, 4, signed);
                for (out, value) in out.iter_mut().zip(grey) {
                    let value = unsigned(value, signed);
                    *out = [value, value, value, 1.0];
                }
            }
            Self::Bc5 | Self::Bc5Signed => {
                let signed = self == Self::Bc5Signed;
                let mut pairs = [0.0_f32; 32];
                bcdec_rs::bc5_float(block, &mut pairs, 8, signed);
                for (out, [red, green]) in out.iter_mut().zip(pairs.as_chunks::<2>().0) {
                    let [red, green, blue] =
                        [*red, *green, 0.0].map(|value| unsigned(value, signed));
                    *out = [red, green, blue, 1.0];
                }
            }
            Self::Bc6 | Self::Bc6Signed => {
                let mut rgb = [0.0_f32; 48];
                bcdec_rs::bc6h_float(block, &mut rgb, 12, self == Self::Bc6Signed);
                for (out, [red, green, blue]) in out.iter_mut().zip(rgb.as_chunks::<3>().0) {
                    *out = [*red, *green, *blue, 1.0];
                }
            }
        }
        out
    }
}

/// −1 to 1 becomes 0 to 1, as normal maps are looked at.
fn unsigned(value: f32, signed: bool) -> f32 {
    if signed { value * 0.5 + 0.5 } else { value }
}

/// Decodes pixels whose bytes are all there.
pub(super) fn decode(header: &DdsHeader, data: &[u8]) -> DecodedImage {
    let is_light =
        matches!(header.kind, Kind::Floats { .. } | Kind::Block(Block::Bc6 | Block::Bc6Signed));
    let pixels = pixels(header, data);
    let (width, height) = (header.width, header.height);
    if is_light {
        let straight = !header.premultiplied;
        let light = |[red, green, blue, alpha]: [f32; 4]| {
            let share = if straight { alpha } else { 1.0 };
            [red * share, green * share, blue * share, alpha].map(bounds::finite)
        };
        let pixels = pixels.into_iter().map(light).collect();
        return DecodedImage::Light(LinearImage { width, height, pixels });
    }
    let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
    let rgba = pixels.into_iter().flat_map(|pixel| {
        let pixel = pixel.map(byte);
        if header.premultiplied { straight(pixel) } else { pixel }
    });
    DecodedImage::Display(Picture { width, height, rgba: rgba.collect() })
}

fn pixels(header: &DdsHeader, data: &[u8]) -> Vec<[f32; 4]> {
    let (width, height) = (header.width as usize, header.height as usize);
    match header.kind {
        Kind::Block(block) => {
            let mut out = vec![[0.0; 4]; width * height];
            let columns = width.div_ceil(BLOCK);
            for (index, bytes) in
                data.chunks_exact(block.bytes()).take(columns * height.div_ceil(BLOCK)).enumerate()
            {
                let (left, top) = (index % columns * BLOCK, index / columns * BLOCK);
                for (at, pixel) in block.pixels(bytes).into_iter().enumerate() {
                    let (x, y) = (left + at % BLOCK, top + at / BLOCK);
                    if x < width
                        && let Some(place) = out.get_mut(y * width + x)
                    {
                        *place = pixel;
                    }
                }
            }
            out
        }
        Kind::Masks { bits, masks, grey } => {
            let bytes = (bits / 8) as usize;
            let pixel = |bytes: &[u8]| {
                masked(
                    bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)),
                    masks,
                    grey,
                )
            };
            data.chunks_exact(bytes.max(1)).take(width * height).map(pixel).collect()
        }
        Kind::Floats { bytes, channels } => {
            let pixel = |pixel: &[u8]| floats(pixel, usize::from(bytes));
            let size = usize::from(bytes) * usize::from(channels);
            data.chunks_exact(size.max(1)).take(width * height).map(pixel).collect()
        }
        Kind::Words => {
            let word = |word: &[u8; 2]| f32::from(u16::from_le_bytes(*word)) / 65_535.0;
            let pixel = |pixel: &[u8; 8]| match pixel.as_chunks::<2>().0 {
                [red, green, blue, alpha] => [word(red), word(green), word(blue), word(alpha)],
                _ => [0.0; 4],
            };
            data.as_chunks::<8>().0.iter().take(width * height).map(pixel).collect()
        }
    }
}

fn masked(value: u32, masks: [u32; 4], grey: bool) -> [f32; 4] {
    let share = |mask: u32| {
        let most = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0);
        let part = (value & mask).checked_shr(mask.trailing_zeros()).unwrap_or(0);
        if most == 0 { None } else { Some(part as f32 / most as f32) }
    };
    let [red, green, blue, alpha] = masks.map(share);
    let alpha = alpha.unwrap_or(1.0);
    if grey {
        let grey = red.unwrap_or(0.0);
        return [grey, grey, grey, alpha];
    }
    [red.unwrap_or(0.0), green.unwrap_or(0.0), blue.unwrap_or(0.0), alpha]
}

fn floats(pixel: &[u8], bytes: usize) -> [f32; 4] {
    let mut values = pixel.chunks_exact(bytes).map(|value| match *value {
        [a, b] => f16::from_le_bytes([a, b]).to_f32(),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
        _ => 0.0,
    });
    let red = values.next().unwrap_or(0.0);
    match (values.next(), values.next(), values.next()) {
        (None, ..) => [red, red, red, 1.0],
        (Some(green), None, _) => [red, green, 0.0, 1.0],
        (Some(green), Some(blue), alpha) => [red, green, blue, alpha.unwrap_or(1.0)],
    }
}
