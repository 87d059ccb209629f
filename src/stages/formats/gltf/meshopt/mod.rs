//! Decodes `EXT_meshopt_compression` and `KHR_meshopt_compression`.
//!
//! The bit streams are as the two extensions state them: triangles and index lists, vertex data of
//! version 0 and 1 (the second with `KHR` only), and the filters that follow. Every length is
//! checked; a stream that does not fit its stated count is refused as a whole.

mod attributes;
mod filters;
mod indices;
#[cfg(test)]
mod tests;

use serde::Deserialize;

/// The extension object of a buffer view.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compressed {
    /// The buffer with the compressed bytes.
    pub buffer: usize,
    /// Where they begin.
    #[serde(default)]
    pub byte_offset: usize,
    /// How many there are.
    pub byte_length: usize,
    /// Bytes of one element when decoded.
    pub byte_stride: usize,
    /// Elements.
    pub count: usize,
    /// What the bytes are.
    pub mode: Mode,
    /// What is done after decoding.
    #[serde(default)]
    pub filter: Filter,
}

/// What a compressed view holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Mode {
    /// Vertex data.
    Attributes,
    /// Indices of a triangle list.
    Triangles,
    /// Any other indices.
    Indices,
}

/// What is done to vertex data after decoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Filter {
    /// Nothing.
    #[default]
    None,
    /// Unit vectors on an octahedron.
    Octahedral,
    /// Unit quaternions without their largest component.
    Quaternion,
    /// Floats of an 8-bit exponent and a 24-bit mantissa.
    Exponential,
    /// Colours as luma and chroma (`KHR` only).
    Color,
}

impl Compressed {
    /// Bytes when decoded; none where the numbers do not go together.
    pub(super) fn decoded_bytes(&self) -> Option<usize> {
        let fits = match self.mode {
            Mode::Attributes => {
                self.byte_stride.is_multiple_of(4) && (4..=256).contains(&self.byte_stride)
            }
            Mode::Triangles => matches!(self.byte_stride, 2 | 4) && self.count.is_multiple_of(3),
            Mode::Indices => matches!(self.byte_stride, 2 | 4),
        };
        let filter = match self.filter {
            Filter::Octahedral | Filter::Color => matches!(self.byte_stride, 4 | 8),
            Filter::Quaternion => self.byte_stride == 8,
            Filter::None | Filter::Exponential => true,
        };
        let only_attributes = self.mode == Mode::Attributes || self.filter == Filter::None;
        (fits && filter && only_attributes).then(|| self.count.checked_mul(self.byte_stride))?
    }

    /// Decodes `bytes`; none where they are no such stream.
    pub(super) fn decode(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let size = self.decoded_bytes()?;
        let mut decoded = match self.mode {
            Mode::Attributes => attributes::decode(bytes, self.count, self.byte_stride)?,
            Mode::Triangles => indices::triangles(bytes, self.count, self.byte_stride)?,
            Mode::Indices => indices::sequence(bytes, self.count, self.byte_stride)?,
        };
        filters::apply(self.filter, self.byte_stride, &mut decoded);
        (decoded.len() == size).then_some(decoded)
    }
}

/// Bytes that are taken from the front.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// A number in groups of seven bits, the lowest first; at most five groups.
    fn varint(&mut self) -> Option<u32> {
        let mut value = 0_u32;
        for group in 0..5 {
            let byte = self.byte()?;
            value |= u32::from(byte & 127) << (7 * group);
            if byte < 128 {
                break;
            }
        }
        Some(value)
    }
}

/// Signed numbers are stored with their sign in the lowest bit.
const fn unzigzag(value: u32) -> u32 {
    (value >> 1) ^ 0_u32.wrapping_sub(value & 1)
}
