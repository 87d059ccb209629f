//! The checker under transparent pictures.

use crate::preview::picture::Picture;
use crate::preview::texels::{srgb_table, to_srgb};
use crate::preview::tone::to_byte;

/// Edge of a cell in pixels, and the two greys of the cells.
const CELL_PX: usize = 8;
const GREYS: [u8; 2] = [96, 160];

/// Lays the picture on a checker; mixed in linear light, so that soft edges are as bright as the
/// renderer meant them.
pub(super) fn lay_over(picture: &mut Picture) {
    let table = srgb_table();
    let light = |byte: u8| table.get(usize::from(byte)).copied().unwrap_or(0.0);
    let behind = GREYS.map(light);
    let width = (picture.width as usize).max(1);
    for (at, pixel) in picture.rgba.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let [red, green, blue, alpha] = pixel;
        if *alpha == 255 {
            continue;
        }
        let cell = (at % width / CELL_PX + at / width / CELL_PX) % 2;
        let behind = if cell == 0 { behind[0] } else { behind[1] };
        let share = f32::from(*alpha) / 255.0;
        for channel in [red, green, blue] {
            let mixed = light(*channel) * share + behind * (1.0 - share);
            *channel = to_byte(to_srgb(mixed));
        }
        *alpha = 255;
    }
}
