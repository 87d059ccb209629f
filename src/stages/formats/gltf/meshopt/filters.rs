//! What turns decoded vertex data into what accessors read.

use super::Filter;

/// Applies a filter in place; the stride has been checked to fit it.
pub(super) fn apply(filter: Filter, stride: usize, bytes: &mut [u8]) {
    match (filter, stride) {
        (Filter::None, _) => {}
        (Filter::Octahedral, 4) => each(bytes, bytes_of, |v| octahedral(v, 127.0)),
        (Filter::Octahedral, _) => each(bytes, shorts_of, |v| octahedral(v, 32_767.0)),
        (Filter::Quaternion, _) => each(bytes, shorts_of, quaternion),
        (Filter::Exponential, _) => {
            for word in bytes.chunks_exact_mut(4) {
                if let Ok(stored) = <[u8; 4]>::try_from(&*word) {
                    word.copy_from_slice(&exponential(stored).to_le_bytes());
                }
            }
        }
        (Filter::Color, 4) => each(bytes, bytes_of, |v| color(v, 8)),
        (Filter::Color, _) => each(bytes, shorts_of, |v| color(v, 16)),
    }
}

/// Four signed numbers from and to the bytes of an element.
type Access = (fn(&[u8]) -> [i32; 4], fn([i32; 4], &mut [u8]), usize);

fn bytes_of() -> Access {
    fn read(bytes: &[u8]) -> [i32; 4] {
        let mut values = [0; 4];
        for (value, byte) in values.iter_mut().zip(bytes) {
            *value = i32::from(byte.cast_signed());
        }
        values
    }
    fn write(values: [i32; 4], bytes: &mut [u8]) {
        for (value, byte) in values.iter().zip(bytes) {
            *byte = *value as u8;
        }
    }
    (read, write, 4)
}

fn shorts_of() -> Access {
    fn read(bytes: &[u8]) -> [i32; 4] {
        let mut values = [0; 4];
        for (value, pair) in values.iter_mut().zip(bytes.chunks_exact(2)) {
            *value = pair.try_into().map_or(0, |pair| i32::from(i16::from_le_bytes(pair)));
        }
        values
    }
    fn write(values: [i32; 4], bytes: &mut [u8]) {
        for (value, pair) in values.iter().zip(bytes.chunks_exact_mut(2)) {
            pair.copy_from_slice(&(*value as u16).to_le_bytes());
        }
    }
    (read, write, 8)
}

fn each(bytes: &mut [u8], access: fn() -> Access, change: impl Fn([i32; 4]) -> [i32; 4]) {
    let (read, write, size) = access();
    for element in bytes.chunks_exact_mut(size) {
        let values = change(read(element));
        write(values, element);
    }
}

/// To the nearest whole number, halves away from zero.
fn whole(value: f32) -> i32 {
    (value + if value >= 0.0 { 0.5 } else { -0.5 }) as i32
}

/// A point of the octahedron |x| + |y| + |z| = 1, unfolded; z holds what 1 is.
fn octahedral([x, y, one, w]: [i32; 4], most: f32) -> [i32; 4] {
    let (x, y) = (x as f32, y as f32);
    let z = one as f32 - x.abs() - y.abs();
    let fold = z.min(0.0);
    let x = x + if x >= 0.0 { fold } else { -fold };
    let y = y + if y >= 0.0 { fold } else { -fold };
    let scale = most / (x * x + y * y + z * z).sqrt();
    [whole(x * scale), whole(y * scale), whole(z * scale), w]
}

/// Three components of a quaternion; the lowest two bits of w say which one is missing.
fn quaternion([x, y, z, w]: [i32; 4]) -> [i32; 4] {
    let one = (w | 3) as f32;
    let scale = 32_767.0 / (2.0_f32.sqrt() * one);
    let [x, y, z] = [x as f32, y as f32, z as f32];
    let rest = (one * one * 2.0 - x * x - y * y - z * z).max(0.0).sqrt();
    let [x, y, z, rest] =
        [whole(x * scale), whole(y * scale), whole(z * scale), whole(rest * scale)];
    match w & 3 {
        0 => [rest, x, y, z],
        1 => [z, rest, x, y],
        2 => [y, z, rest, x],
        _ => [x, y, z, rest],
    }
}

/// Mantissa × 2^exponent.
fn exponential(stored: [u8; 4]) -> f32 {
    let value = i32::from_le_bytes(stored);
    let mantissa = (value << 8) >> 8;
    let exponent = value >> 24;
    f32::from_bits((exponent + 127).cast_unsigned() << 23) * mantissa as f32
}

/// Luma, two chroma values and alpha, whose highest bit says how many bits are used.
fn color([y, co, cg, alpha]: [i32; 4], bits: u32) -> [i32; 4] {
    let all = (1_i32 << bits) - 1;
    let (y, alpha) = (y & all, alpha & all);
    let mut most = alpha;
    for shift in [1, 2, 4, 8] {
        most |= most >> shift;
    }
    let scale = all as f32 / most as f32;
    let alpha = ((alpha << 1) & most) | (alpha & 1);
    [y + co - cg, y + cg, y - co - cg, alpha].map(|value| (value as f32 * scale + 0.5) as i32)
}
