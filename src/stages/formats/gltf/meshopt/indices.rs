//! Triangles against a history of edges and corners, and plain lists of indices.

use super::{Bytes, unzigzag};

/// Bytes of the table at the end of a triangle stream.
const TABLE_BYTES: usize = 16;
/// Unused bytes at the end of a list.
const TAIL_BYTES: usize = 4;

/// The last sixteen of something.
struct Recent<T> {
    items: [T; 16],
    at: usize,
}

impl<T: Copy> Recent<T> {
    fn of(nothing: T) -> Self {
        Self { items: [nothing; 16], at: 0 }
    }

    fn push(&mut self, item: T) {
        if let Some(place) = self.items.get_mut(self.at & 15) {
            *place = item;
        }
        self.at = self.at.wrapping_add(1);
    }

    /// The one pushed `count` pushes ago; 1 is the last.
    fn ago(&self, count: u8) -> Option<T> {
        self.items.get(self.at.wrapping_sub(usize::from(count)) & 15).copied()
    }
}

/// The state of a triangle stream.
struct Triangles<'a> {
    data: Bytes<'a>,
    table: &'a [u8],
    edges: Recent<[u32; 2]>,
    corners: Recent<u32>,
    next: u32,
    last: u32,
    /// From this code on a corner is not in the history.
    free_from: u8,
}

/// Decodes the indices of a triangle list, `size` bytes each.
pub(super) fn triangles(bytes: &[u8], count: usize, size: usize) -> Option<Vec<u8>> {
    let (head, rest) = bytes.split_first()?;
    let version = head & 15;
    if head & 0xf0 != 0xe0 || version > 1 {
        return None;
    }
    let (codes, rest) = rest.split_at_checked(count / 3)?;
    let (data, table) = rest.split_at_checked(rest.len().checked_sub(TABLE_BYTES)?)?;
    let mut state = Triangles {
        data: Bytes { rest: data },
        table,
        edges: Recent::of([u32::MAX; 2]),
        corners: Recent::of(u32::MAX),
        next: 0,
        last: 0,
        free_from: if version == 0 { 15 } else { 13 },
    };
    let mut out = Vec::with_capacity(codes.len() * 3 * size);
    for code in codes {
        for index in state.triangle(*code)? {
            write(&mut out, index, size);
        }
    }
    state.data.rest.is_empty().then_some(out)
}

impl Triangles<'_> {
    fn triangle(&mut self, code: u8) -> Option<[u32; 3]> {
        let triangle = if code < 0xf0 { self.at_edge(code)? } else { self.alone(code)? };
        let [a, b, c] = triangle;
        if code >= 0xf0 {
            self.edges.push([b, a]);
        }
        self.edges.push([c, b]);
        self.edges.push([a, c]);
        Some(triangle)
    }

    /// A triangle that shares an edge of the history.
    fn at_edge(&mut self, code: u8) -> Option<[u32; 3]> {
        let [a, b] = self.edges.ago((code >> 4) + 1)?;
        let third = code & 15;
        let c = match third {
            0 => self.fresh(),
            third if third < self.free_from => return Some([a, b, self.corners.ago(third + 1)?]),
            15 => self.free()?,
            third => {
                self.last = self.last.wrapping_add(u32::from(third) * 2).wrapping_sub(27);
                self.last
            }
        };
        self.corners.push(c);
        Some([a, b, c])
    }

    /// A triangle without a known edge.
    fn alone(&mut self, code: u8) -> Option<[u32; 3]> {
        let from_table = code < 0xfe;
        let pair =
            if from_table { *self.table.get(usize::from(code & 15))? } else { self.data.byte()? };
        if !from_table && pair == 0 {
            self.next = 0;
        }
        let codes = [if code == 0xff { 15 } else { 0 }, pair >> 4, pair & 15];
        // A table has no free corners: its 15 looks back like any other number.
        let is_free = |code: u8| code == 15 && !from_table;
        let mut triangle = [0; 3];
        for (corner, code) in triangle.iter_mut().zip(codes) {
            *corner = match code {
                0 => self.fresh(),
                code if is_free(code) => 0,
                code => self.corners.ago(code)?,
            };
        }
        for (corner, code) in triangle.iter_mut().zip(codes) {
            if is_free(code) {
                *corner = self.free()?;
            }
        }
        for (corner, code) in triangle.iter().zip(codes) {
            if code == 0 || is_free(code) {
                self.corners.push(*corner);
            }
        }
        Some(triangle)
    }

    fn fresh(&mut self) -> u32 {
        let index = self.next;
        self.next = self.next.wrapping_add(1);
        index
    }

    fn free(&mut self) -> Option<u32> {
        self.last = self.last.wrapping_add(unzigzag(self.data.varint()?));
        Some(self.last)
    }
}

/// Decodes a list of indices, `size` bytes each: each is a step from one of two others.
pub(super) fn sequence(bytes: &[u8], count: usize, size: usize) -> Option<Vec<u8>> {
    let (head, rest) = bytes.split_first()?;
    if head & 0xf0 != 0xd0 || head & 15 > 1 {
        return None;
    }
    let data = rest.get(..rest.len().checked_sub(TAIL_BYTES)?)?;
    if data.len() < count {
        return None;
    }
    let mut data = Bytes { rest: data };
    let (mut even, mut odd) = (0_u32, 0_u32);
    let mut out = Vec::with_capacity(count * size);
    for _ in 0..count {
        let value = data.varint()?;
        let last = if value & 1 == 0 { &mut even } else { &mut odd };
        *last = last.wrapping_add(unzigzag(value >> 1));
        write(&mut out, *last, size);
    }
    data.rest.is_empty().then_some(out)
}

fn write(out: &mut Vec<u8>, index: u32, size: usize) {
    out.extend(index.to_le_bytes().iter().take(size));
}
