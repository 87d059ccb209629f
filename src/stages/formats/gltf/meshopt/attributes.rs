//! Vertex data: blocks of vertices, taken apart into bytes, each stored as its difference to the
//! vertex before.

use super::Bytes;

/// Most bytes and most vertices of one block.
const BLOCK_BYTES: usize = 8_192;
const BLOCK_VERTICES: usize = 256;
/// Values of one group, which share their number of bits.
const GROUP: usize = 16;

/// How the bytes of one group of four channels are joined and added up.
#[derive(Clone, Copy)]
enum Channel {
    /// Four bytes, each a difference.
    Bytes,
    /// Two numbers of 16 bits, each a difference.
    Shorts,
    /// One number of 32 bits, turned by so many bits and exclusive-or'ed.
    Xor(u32),
}

/// What is read before the blocks.
struct Layout<'a> {
    version: u8,
    stride: usize,
    /// One byte for each four bytes of a vertex (version 1).
    channels: &'a [u8],
}

/// Decodes `count` vertices of `stride` bytes.
pub(super) fn decode(bytes: &[u8], count: usize, stride: usize) -> Option<Vec<u8>> {
    let (head, rest) = bytes.split_first()?;
    let version = head & 15;
    if head & 0xf0 != 0xa0 || version > 1 {
        return None;
    }
    let (tail, least) = if version == 0 { (stride, 32) } else { (stride + stride / 4, 24) };
    let data = rest.get(..rest.len().checked_sub(tail.max(least))?)?;
    let tail = rest.get(rest.len().checked_sub(tail)?..)?;
    let (first, channels) = tail.split_at_checked(stride)?;
    let layout = Layout { version, stride, channels };
    let mut data = Bytes { rest: data };
    let mut before = first.to_vec();
    let mut out = vec![0; count.checked_mul(stride)?];
    let block = (BLOCK_BYTES / stride / GROUP * GROUP).min(BLOCK_VERTICES);
    for vertices in out.chunks_mut(block * stride) {
        layout.block(&mut data, vertices, &before)?;
        before.copy_from_slice(vertices.get(vertices.len().checked_sub(stride)?..)?);
    }
    data.rest.is_empty().then_some(out)
}

impl Layout<'_> {
    fn block(&self, data: &mut Bytes<'_>, vertices: &mut [u8], last: &[u8]) -> Option<()> {
        let count = vertices.len() / self.stride;
        let control = if self.version == 0 { &[][..] } else { data.take(self.stride / 4)? };
        let mut planes = [[0_u8; BLOCK_VERTICES]; 4];
        for (word, last) in last.chunks_exact(4).enumerate() {
            let control = control.get(word).copied().unwrap_or(0);
            for (plane, values) in planes.iter_mut().enumerate() {
                let values = values.get_mut(..count.next_multiple_of(GROUP))?;
                self.plane(data, (control >> (plane * 2)) & 3, values, count)?;
            }
            let channel = self.channel(word)?;
            let mut before = u32::from_le_bytes(last.try_into().ok()?);
            for (at, vertex) in vertices.chunks_exact_mut(self.stride).enumerate() {
                let stored = planes.each_ref().map(|plane| plane.get(at).copied().unwrap_or(0));
                before = channel.next(before, stored);
                vertex.get_mut(word * 4..word * 4 + 4)?.copy_from_slice(&before.to_le_bytes());
            }
        }
        Some(())
    }

    /// One byte of each vertex of a block.
    fn plane(&self, data: &mut Bytes<'_>, kind: u8, values: &mut [u8], count: usize) -> Option<()> {
        let bits = match (self.version, kind) {
            (0, _) => [0, 2, 4, 8],
            (_, 0) => [0, 1, 2, 4],
            (_, 1) => [1, 2, 4, 8],
            (_, 2) => {
                values.fill(0);
                return Some(());
            }
            _ => {
                values.get_mut(..count)?.copy_from_slice(data.take(count)?);
                return Some(());
            }
        };
        let heads = data.take((values.len() / GROUP).div_ceil(4))?;
        for (at, group) in values.chunks_exact_mut(GROUP).enumerate() {
            let head = (heads.get(at / 4)? >> (at % 4 * 2)) & 3;
            read_group(data, *bits.get(usize::from(head))?, group)?;
        }
        Some(())
    }

    fn channel(&self, word: usize) -> Option<Channel> {
        let channel = match self.version {
            0 => 0,
            _ => *self.channels.get(word)?,
        };
        match channel & 3 {
            0 => Some(Channel::Bytes),
            1 => Some(Channel::Shorts),
            2 => Some(Channel::Xor((32 - u32::from(channel >> 4)) & 31)),
            _ => None,
        }
    }
}

/// Values of few bits; the greatest one says that a whole byte follows behind the group.
fn read_group(data: &mut Bytes<'_>, bits: usize, group: &mut [u8]) -> Option<()> {
    match bits {
        0 => group.fill(0),
        8 => group.copy_from_slice(data.take(GROUP)?),
        _ => {
            let packed = data.take(GROUP * bits / 8)?;
            let most = u8::MAX >> (8 - bits);
            for (at, value) in group.iter_mut().enumerate() {
                // Single bits begin at the lowest, larger values at the highest.
                let shift = if bits == 1 { at % 8 } else { 8 - bits - at * bits % 8 };
                let small = (packed.get(at * bits / 8)? >> shift) & most;
                *value = if small == most { data.byte()? } else { small };
            }
        }
    }
    Some(())
}

impl Channel {
    fn next(self, before: u32, stored: [u8; 4]) -> u32 {
        match self {
            Self::Bytes => {
                let mut bytes = before.to_le_bytes();
                for (byte, step) in bytes.iter_mut().zip(stored) {
                    *byte = byte.wrapping_add((step >> 1) ^ 0_u8.wrapping_sub(step & 1));
                }
                u32::from_le_bytes(bytes)
            }
            Self::Shorts => {
                let add = |before: u32, step: u32| {
                    let step = step as u16;
                    let step = (step >> 1) ^ 0_u16.wrapping_sub(step & 1);
                    u32::from((before as u16).wrapping_add(step))
                };
                let steps = u32::from_le_bytes(stored);
                add(before, steps) | (add(before >> 16, steps >> 16) << 16)
            }
            Self::Xor(turn) => u32::from_le_bytes(stored).rotate_left(turn) ^ before,
        }
    }
}
