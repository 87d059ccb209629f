//! The file header and the heads of blocks.
//!
//! Layout 0 (to Blender 4.x): `BLENDER`, `_` or `-` for pointers of 4 or 8 bytes, `v` or `V` for
//! little or big endian, three digits of the version. Layout 1 (from 5.0): `BLENDER17-01v0500`,
//! which is the header's own size, the layout's number and four digits of the version.

use super::error::BlendError;
use serde::Serialize;
use std::fmt;

/// Length of the longest header.
pub(super) const HEADER_BYTES: usize = 17;
const OLD_HEADER_BYTES: usize = 12;

/// The version of Blender that saved a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct BlendVersion {
    /// 3 of 3.4.
    pub major: u16,
    /// 4 of 3.4. Before 3.0 it has two digits: 79 of 2.79.
    pub minor: u16,
}

impl BlendVersion {
    /// From the number inside files: 279 is 2.79, 304 is 3.4, 500 is 5.0.
    pub(super) const fn from_number(number: u16) -> Self {
        Self { major: number / 100, minor: number % 100 }
    }
}

impl fmt::Display for BlendVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// Size of a pointer as the file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointerSize {
    /// 4 bytes: saved by a 32-bit Blender.
    Bits32,
    /// 8 bytes.
    Bits64,
}

impl PointerSize {
    /// Its length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }
}

/// Order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Endian {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

/// How numbers are laid out in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Size of pointers.
    pub pointer_size: PointerSize,
    /// Order of bytes.
    pub endian: Endian,
}

impl Layout {
    /// The unsigned number that all of `bytes` make; at most 8 of them.
    pub(super) fn unsigned(self, bytes: &[u8]) -> Option<u64> {
        if bytes.is_empty() || bytes.len() > 8 {
            return None;
        }
        let joined = |value: u64, byte: &u8| (value << 8) | u64::from(*byte);
        Some(match self.endian {
            Endian::Little => bytes.iter().rev().fold(0, joined),
            Endian::Big => bytes.iter().fold(0, joined),
        })
    }

    /// As [`Self::unsigned`], with a sign.
    pub(super) fn signed(self, bytes: &[u8]) -> Option<i64> {
        let unused_bits = 64 - 8 * u32::try_from(bytes.len()).ok()?.min(8);
        self.unsigned(bytes).map(|value| (value << unused_bits).cast_signed() >> unused_bits)
    }
}

/// The file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: BlendVersion,
    pub(super) layout: Layout,
    pub(super) wide_heads: bool,
    pub(super) bytes: usize,
}

/// Whether these uncompressed bytes begin like a `.blend` file.
pub(super) fn has_magic(head: &[u8]) -> bool {
    head.starts_with(b"BLENDER") && matches!(head.get(7), Some(b'_' | b'-' | b'0'..=b'9'))
}

impl Header {
    /// Reads a header from the first bytes of an uncompressed file.
    pub(super) fn parse(head: &[u8]) -> Result<Self, BlendError> {
        if !has_magic(head) {
            return Err(if b"BLENDER".starts_with(head) && !head.is_empty() {
                BlendError::Truncated { what: "its header is not complete" }
            } else {
                BlendError::NotBlend
            });
        }
        match head.get(7) {
            Some(b'_') => Self::parse_old(head, PointerSize::Bits32),
            Some(b'-') => Self::parse_old(head, PointerSize::Bits64),
            _ => Self::parse_new(head),
        }
    }

    fn parse_old(head: &[u8], pointer_size: PointerSize) -> Result<Self, BlendError> {
        let rest = head
            .get(8..OLD_HEADER_BYTES)
            .ok_or(BlendError::Truncated { what: "its header is not complete" })?;
        let (endian, digits) = rest.split_first().ok_or(BlendError::NotBlend)?;
        let endian = match endian {
            b'v' => Endian::Little,
            b'V' => Endian::Big,
            _ => return Err(BlendError::NotBlend),
        };
        let number = decimal(digits).ok_or(BlendError::NotBlend)?;
        Ok(Self {
            version: BlendVersion::from_number(number),
            layout: Layout { pointer_size, endian },
            wide_heads: false,
            bytes: OLD_HEADER_BYTES,
        })
    }

    fn parse_new(head: &[u8]) -> Result<Self, BlendError> {
        let truncated = BlendError::Truncated { what: "its header is not complete" };
        let head = head.get(..HEADER_BYTES).ok_or(truncated)?;
        let unknown = || BlendError::UnknownLayout {
            layout: String::from_utf8_lossy(head).escape_debug().to_string(),
        };
        let number = |from: usize, to: usize| head.get(from..to).and_then(decimal);
        let marks = (head.get(9), head.get(12));
        let known = number(7, 9) == Some(17) && number(10, 12) == Some(1);
        if !known || marks != (Some(&b'-'), Some(&b'v')) {
            return Err(unknown());
        }
        Ok(Self {
            version: BlendVersion::from_number(number(13, 17).ok_or_else(unknown)?),
            layout: Layout { pointer_size: PointerSize::Bits64, endian: Endian::Little },
            wide_heads: true,
            bytes: HEADER_BYTES,
        })
    }

    /// Length of each block's head.
    pub(super) const fn head_bytes(&self) -> usize {
        match (self.wide_heads, self.layout.pointer_size) {
            (true, _) => 32,
            (false, PointerSize::Bits64) => 24,
            (false, PointerSize::Bits32) => 20,
        }
    }

    /// Reads the head of a block from its bytes, [`Self::head_bytes`] of them.
    pub(super) fn block_head(&self, bytes: &[u8]) -> Result<BlockHead, BlendError> {
        self.parse_block_head(bytes).ok_or_else(|| {
            BlendError::corrupt("where a block should begin there is something else")
        })
    }

    fn parse_block_head(&self, bytes: &[u8]) -> Option<BlockHead> {
        let code: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
        let printable = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, 0 | b'_' | b' ');
        if !code.iter().all(printable) || code == [0; 4] {
            return None;
        }
        // Codes of two letters are numbers of 32 bits: big-endian files have the zeros in front.
        let code = match code {
            [0, 0, first, second] => [first, second, 0, 0],
            code => code,
        };
        let pointer = self.layout.pointer_size.bytes();
        let signed = |from: usize, width: usize| {
            bytes.get(from..from + width).and_then(|field| self.layout.signed(field))
        };
        let old = |from: usize| {
            bytes.get(from..from + pointer).and_then(|field| self.layout.unsigned(field))
        };
        let (length, old, structure, count) = if self.wide_heads {
            (signed(16, 8)?, old(8)?, signed(4, 4)?, signed(24, 8)?)
        } else {
            (signed(4, 4)?, old(8)?, signed(8 + pointer, 4)?, signed(12 + pointer, 4)?)
        };
        Some(BlockHead {
            code,
            length: u64::try_from(length).ok()?,
            old,
            structure: usize::try_from(structure).ok()?,
            count: u64::try_from(count).ok()?,
        })
    }
}

/// The number that all of `digits` write in decimal.
fn decimal(digits: &[u8]) -> Option<u16> {
    let all_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all_digits.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

/// What stands before the bytes of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockHead {
    pub(super) code: [u8; 4],
    /// Bytes of its content.
    pub(super) length: u64,
    /// Its address when it was saved: pointers to it have this value.
    pub(super) old: u64,
    /// Index of its structure in the catalogue.
    pub(super) structure: usize,
    /// How many structures it holds, one after the other.
    pub(super) count: u64,
}
