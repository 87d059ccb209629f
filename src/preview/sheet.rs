//! Contact sheets: small pictures of the frames with their numbers.

use super::picture::Picture;
use super::resize::fit;

/// Widest sheet in pixels.
pub const MAX_SHEET_PX: u32 = 2_048;
/// Widest cell in pixels.
const MAX_CELL_PX: u32 = 384;
/// Space around the cells in pixels.
const GAP: u32 = 16;
/// Height of a digit's pixel block, and of the line under a cell.
const DOT: u32 = 2;
const LINE: u32 = 5 * DOT + 10;
/// The sheet, and the numbers on it.
const PAPER: [u8; 4] = [30, 32, 36, 255];
const INK: [u8; 4] = [168, 173, 182, 255];
/// Digits of three columns and five rows, the top row in the highest three bits; a minus last.
const DIGITS: [u16; 11] = [
    0b111_101_101_101_111,
    0b010_110_010_010_111,
    0b111_001_111_100_111,
    0b111_001_111_001_111,
    0b101_101_111_001_001,
    0b111_100_111_001_111,
    0b111_100_111_101_111,
    0b111_001_001_010_010,
    0b111_101_111_101_111,
    0b111_101_111_001_111,
    0b000_000_111_000_000,
];
const MINUS: usize = 10;

/// One frame on a sheet.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The picture.
    pub picture: Picture,
    /// The number under it.
    pub number: i64,
}

/// A sheet of `columns` columns, at most [`MAX_SHEET_PX`] wide. Pictures are made smaller to fit,
/// never larger, and stand in the middle of their cells.
pub fn contact_sheet(cells: &[Cell], columns: u32) -> Picture {
    let columns = columns.clamp(1, 64).min(u32::try_from(cells.len()).unwrap_or(64).max(1));
    let room = (MAX_SHEET_PX - GAP * (columns + 1)) / columns;
    let longest = room.clamp(1, MAX_CELL_PX);
    let small: Vec<(Picture, i64)> =
        cells.iter().map(|cell| (fit(&cell.picture, longest), cell.number)).collect();
    let cell_width = small.iter().map(|(picture, _)| picture.width).max().unwrap_or(1);
    let cell_height = small.iter().map(|(picture, _)| picture.height).max().unwrap_or(1);
    let rows = u32::try_from(small.len()).unwrap_or(u32::MAX).div_ceil(columns).max(1);
    let width = GAP + columns * (cell_width + GAP);
    let height = GAP + rows * (cell_height + LINE + GAP);
    let mut sheet = Picture { width, height, rgba: PAPER.repeat((width * height) as usize) };
    for ((picture, number), index) in small.iter().zip(0_u32..) {
        let left = GAP + index % columns * (cell_width + GAP);
        let top = GAP + index / columns * (cell_height + LINE + GAP);
        let across = left + (cell_width - picture.width.min(cell_width)) / 2;
        let down = top + (cell_height - picture.height.min(cell_height)) / 2;
        lay(&mut sheet, picture, across, down);
        write_number(&mut sheet, *number, left + cell_width / 2, top + cell_height + 8);
    }
    sheet
}

/// `count` numbers from 1 to `last`, evenly spread, both ends among them; all where fewer exist.
pub fn evenly_chosen(last: u32, count: u32) -> Vec<u32> {
    if last <= count || count < 2 {
        return (1..=last.min(count.max(1))).collect();
    }
    let place = |index: u32| {
        let share = u64::from(index) * u64::from(last - 1) + u64::from(count - 1) / 2;
        1 + u32::try_from(share / u64::from(count - 1)).unwrap_or(last - 1)
    };
    (0..count).map(place).collect()
}

fn lay(sheet: &mut Picture, picture: &Picture, left: u32, top: u32) {
    for (row, line) in picture.rgba.chunks_exact((picture.width as usize * 4).max(4)).enumerate() {
        for (column, pixel) in line.chunks_exact(4).enumerate() {
            let behind = PAPER;
            let alpha = u32::from(pixel[3]);
            let mix = |at: usize| {
                let sum = u32::from(pixel[at]) * alpha + u32::from(behind[at]) * (255 - alpha);
                ((sum + 127) / 255) as u8
            };
            put(sheet, left + column as u32, top + row as u32, [mix(0), mix(1), mix(2), 255]);
        }
    }
}

fn write_number(sheet: &mut Picture, number: i64, middle: u32, top: u32) {
    let text = number.to_string();
    let width = text.len() as u32 * 4 * DOT - DOT;
    let mut left = middle.saturating_sub(width / 2);
    for digit in text.bytes() {
        let at = digit.checked_sub(b'0').map_or(MINUS, usize::from);
        let shape = DIGITS.get(at).copied().unwrap_or_default();
        for dot in (0..15_u32).filter(|dot| shape >> (14 - dot) & 1 == 1) {
            for at in 0..DOT * DOT {
                let x = left + dot % 3 * DOT + at % DOT;
                put(sheet, x, top + dot / 3 * DOT + at / DOT, INK);
            }
        }
        left += 4 * DOT;
    }
}

fn put(sheet: &mut Picture, x: u32, y: u32, pixel: [u8; 4]) {
    if x >= sheet.width {
        return;
    }
    let at = (y as usize * sheet.width as usize + x as usize) * 4;
    if let Some(slot) = sheet.rgba.get_mut(at..at + 4) {
        slot.copy_from_slice(&pixel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(width: u32, height: u32, number: i64) -> Cell {
        let rgba = [200, 90, 40, 255].repeat((width * height) as usize);
        Cell { picture: Picture { width, height, rgba }, number }
    }

    #[test]
    fn cells_stand_in_even_gaps_with_numbers_under_them() {
        let cells: Vec<_> = (1..=7).map(|number| cell(100, 60, number)).collect();
        let sheet = contact_sheet(&cells, 3);
        assert_eq!((sheet.width, sheet.height), (16 + 3 * 116, 16 + 3 * (60 + LINE + 16)));
        let at = |x: u32, y: u32| {
            let start = ((y * sheet.width + x) * 4) as usize;
            sheet.rgba[start..start + 3].to_vec()
        };
        assert_eq!(at(15, 15), PAPER[..3]);
        assert_eq!(at(16, 16), [200, 90, 40]);
        assert_eq!(at(16 + 232, 16 + 2 * (60 + LINE + 16)), PAPER[..3]);
        assert!(sheet.rgba.chunks_exact(4).any(|pixel| pixel == INK));
    }

    #[test]
    fn the_sheet_is_never_too_wide() {
        let cells: Vec<_> = (1..=24).map(|number| cell(1_920, 1_080, number)).collect();
        for columns in [1, 6, 24, 1_000] {
            let sheet = contact_sheet(&cells, columns);
            assert!(sheet.width <= MAX_SHEET_PX, "{columns}: {}", sheet.width);
        }
        assert!(contact_sheet(&[], 4).width > 0);
    }

    #[test]
    fn chosen_frames_hold_both_ends() {
        assert_eq!(evenly_chosen(5, 24), [1, 2, 3, 4, 5]);
        assert_eq!(evenly_chosen(100, 5), [1, 26, 51, 75, 100]);
        assert_eq!(evenly_chosen(0, 5), [] as [u32; 0]);
        let many = evenly_chosen(10_000, 24);
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]) && many.len() == 24);
    }
}
