//! Brings the samples of a TIFF to one order and to few types.

use tiff::decoder::DecodingResult;

/// How the samples of a page lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Samples of a pixel.
    pub(super) samples: usize,
    /// Bits of a sample.
    pub(super) bits: u8,
    /// More than one where each sample has a plane of its own.
    pub(super) planes: usize,
    /// Whether samples are indices, whose value must stay.
    pub(super) is_index: bool,
}

/// Samples, those of a pixel side by side.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Samples {
    /// 0 to 255; indices as they are.
    Bytes(Vec<u8>),
    /// 0 to 65 535; indices as they are.
    Words(Vec<u16>),
    /// Light.
    Floats(Vec<f32>),
}

impl Samples {
    /// Of what the decoder gave. The error says what cannot be read.
    pub(super) fn of(stored: DecodingResult, layout: &Layout) -> Result<Self, String> {
        let samples = match stored {
            DecodingResult::U8(bytes) if matches!(layout.bits, 1 | 2 | 4) => {
                if layout.planes > 1 {
                    return Err(format!("planes of {} bits", layout.bits));
                }
                return Ok(Self::Bytes(unpacked(&bytes, layout)));
            }
            DecodingResult::U8(bytes) if layout.bits == 8 => Self::Bytes(bytes),
            DecodingResult::U16(words) if layout.bits == 16 => Self::Words(words),
            DecodingResult::U32(values) if layout.bits == 32 => {
                Self::Words(values.into_iter().map(|value| (value >> 16) as u16).collect())
            }
            DecodingResult::F16(values) => {
                Self::Floats(values.into_iter().map(half::f16::to_f32).collect())
            }
            DecodingResult::F32(values) => Self::Floats(values),
            DecodingResult::F64(values) => {
                Self::Floats(values.into_iter().map(|value| value as f32).collect())
            }
            DecodingResult::I8(_)
            | DecodingResult::I16(_)
            | DecodingResult::I32(_)
            | DecodingResult::I64(_) => return Err("signed samples".to_owned()),
            _ => return Err(format!("samples of {} bits", layout.bits)),
        };
        Ok(if layout.planes > 1 { samples.interleaved(layout) } else { samples })
    }

    fn interleaved(self, layout: &Layout) -> Self {
        match self {
            Self::Bytes(planes) => Self::Bytes(interleaved(&planes, layout)),
            Self::Words(planes) => Self::Words(interleaved(&planes, layout)),
            Self::Floats(planes) => Self::Floats(interleaved(&planes, layout)),
        }
    }

    /// Bytes of 0 to 255; none of light.
    pub(super) fn bytes(&self) -> std::borrow::Cow<'_, [u8]> {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::Words(words) => {
                let byte = |word: &u16| ((u32::from(*word) * 255 + 32_767) / 65_535) as u8;
                words.iter().map(byte).collect::<Vec<u8>>().into()
            }
            Self::Floats(_) => Vec::new().into(),
        }
    }

    /// Samples as indices.
    pub(super) fn indices(&self) -> Vec<usize> {
        match self {
            Self::Bytes(bytes) => bytes.iter().map(|index| usize::from(*index)).collect(),
            Self::Words(words) => words.iter().map(|index| usize::from(*index)).collect(),
            Self::Floats(_) => Vec::new(),
        }
    }
}

fn interleaved<T: Copy + Default>(planes: &[T], layout: &Layout) -> Vec<T> {
    let pixels = layout.width * layout.height;
    let mut out = Vec::with_capacity(pixels * layout.samples);
    for pixel in 0..pixels {
        for plane in 0..layout.samples {
            out.push(planes.get(plane * pixels + pixel).copied().unwrap_or_default());
        }
    }
    out
}

/// Samples of 1, 2 or 4 bits; each row begins with a byte of its own.
fn unpacked(rows: &[u8], layout: &Layout) -> Vec<u8> {
    let bits = usize::from(layout.bits);
    let row_samples = layout.width * layout.samples;
    let row_bytes = (row_samples * bits).div_ceil(8).max(1);
    let most = (1_u16 << layout.bits) - 1;
    let scale = if layout.is_index { 1 } else { (255 / most) as u8 };
    let mut out = Vec::with_capacity(row_samples * layout.height);
    for row in rows.chunks(row_bytes).take(layout.height) {
        for at in 0..row_samples {
            let byte = row.get(at * bits / 8).copied().unwrap_or(0);
            let shift = 8 - bits - (at * bits) % 8;
            out.push(((byte >> shift) & most as u8) * scale);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bits: u8, samples: usize, planes: usize) -> Layout {
        Layout { width: 3, height: 2, samples, bits, planes, is_index: false }
    }

    #[test]
    fn small_samples_unpack_row_by_row() {
        let stored = DecodingResult::U8(vec![0b1010_0000, 0b0100_0000]);
        let bytes = Samples::of(stored, &layout(1, 1, 1)).expect("reads");
        assert_eq!(bytes, Samples::Bytes(vec![255, 0, 255, 0, 255, 0]));
        let stored = DecodingResult::U8(vec![0x1f, 0x20, 0x30, 0x40]);
        let index = Layout { is_index: true, ..layout(4, 1, 1) };
        assert_eq!(Samples::of(stored, &index), Ok(Samples::Bytes(vec![1, 15, 2, 3, 0, 4])));
    }

    #[test]
    fn planes_are_woven_and_signs_refused() {
        let stored = DecodingResult::U16((0..12).collect());
        let words = Samples::of(stored, &layout(16, 2, 2)).expect("reads");
        assert_eq!(words, Samples::Words(vec![0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]));
        let signed = Samples::of(DecodingResult::I16(vec![0; 6]), &layout(16, 1, 1));
        assert!(signed.is_err_and(|what| what.contains("signed")));
    }
}
