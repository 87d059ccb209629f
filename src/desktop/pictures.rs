//! Textures of fetched pictures, made smaller to what is drawn, a bounded number of them.

use super::view::FarmView;
use crate::client::live::{Fetched, Pixels};
use crate::model::Checksum;
use eframe::egui::{ColorImage, Context, TextureHandle, TextureOptions};
use std::cell::RefCell;
use std::collections::HashMap;

/// Most textures kept.
const TEXTURES: usize = 160;
/// Largest edge of a texture in pixels.
const EDGE_MAX: u32 = 2_048;
/// Sizes are rounded up to these steps, so that dragging an edge does not make a texture a frame.
const EDGE_STEP: u32 = 128;

/// A picture that can be drawn, or why it cannot.
#[derive(Clone)]
pub enum Picture {
    /// On its way.
    Pending,
    /// Here.
    Ready(TextureHandle),
    /// Could not be had.
    Failed(String),
}

/// The textures.
#[derive(Default)]
pub struct Pictures {
    kept: RefCell<Kept>,
}

#[derive(Default)]
struct Kept {
    textures: HashMap<(Checksum, u32), (TextureHandle, u64)>,
    uses: u64,
}

impl Pictures {
    /// The picture, sharp for an edge of this many pixels.
    pub fn get(
        &self,
        ctx: &Context,
        farm: &dyn FarmView,
        checksum: Checksum,
        edge_px: u32,
    ) -> Picture {
        let edge_px = edge_px.clamp(1, EDGE_MAX).next_multiple_of(EDGE_STEP).min(EDGE_MAX);
        let mut kept = self.kept.borrow_mut();
        kept.uses += 1;
        let now = kept.uses;
        if let Some((texture, used)) = kept.textures.get_mut(&(checksum, edge_px)) {
            *used = now;
            return Picture::Ready(texture.clone());
        }
        let pixels = match farm.picture(checksum) {
            Fetched::Pending => return Picture::Pending,
            Fetched::Failed(why) => return Picture::Failed(why),
            Fetched::Ready(pixels) => pixels,
        };
        let Some(image) = shrink(&pixels, edge_px) else {
            return Picture::Failed("The picture's size and its bytes do not agree".to_owned());
        };
        let texture = ctx.load_texture(checksum.to_string(), image, TextureOptions::LINEAR);
        kept.make_room();
        kept.textures.insert((checksum, edge_px), (texture.clone(), now));
        Picture::Ready(texture)
    }
}

impl Kept {
    fn make_room(&mut self) {
        while self.textures.len() >= TEXTURES {
            let oldest = self.textures.iter().min_by_key(|(_, (_, used))| *used);
            let Some(key) = oldest.map(|(key, _)| *key) else { return };
            self.textures.remove(&key);
        }
    }
}

/// Averages whole blocks of pixels until the longer edge is under twice `edge_px`, and never above
/// [`EDGE_MAX`]; the GPU does the rest. `None` where the bytes do not fit the size.
fn shrink(pixels: &Pixels, edge_px: u32) -> Option<ColorImage> {
    let (width, height) = (pixels.width as usize, pixels.height as usize);
    let bytes = width.checked_mul(height)?.checked_mul(4)?;
    if bytes == 0 || bytes != pixels.rgba.len() {
        return None;
    }
    let longest = pixels.width.max(pixels.height);
    let step = (longest / edge_px).max(longest.div_ceil(EDGE_MAX)).max(1) as usize;
    if step == 1 {
        return Some(ColorImage::from_rgba_unmultiplied([width, height], &pixels.rgba));
    }
    let (small_width, small_height) = (width.div_ceil(step), height.div_ceil(step));
    let mut small = Vec::with_capacity(small_width * small_height * 4);
    for y in 0..small_height {
        for x in 0..small_width {
            small.extend(average(pixels, x * step, y * step, step));
        }
    }
    Some(ColorImage::from_rgba_unmultiplied([small_width, small_height], &small))
}

/// The mean of a block, each pixel by its alpha, so that hidden colours do not bleed.
fn average(pixels: &Pixels, left: usize, top: usize, step: usize) -> [u8; 4] {
    let (width, height) = (pixels.width as usize, pixels.height as usize);
    let (right, bottom) = ((left + step).min(width), (top + step).min(height));
    let mut sums = [0_u64; 4];
    let mut number = 0;
    for y in top..bottom {
        let row = pixels.rgba.get((y * width + left) * 4..(y * width + right) * 4);
        for pixel in row.unwrap_or_default().chunks_exact(4) {
            let &[red, green, blue, alpha] = pixel else { continue };
            for (sum, value) in sums.iter_mut().zip([red, green, blue]) {
                *sum += u64::from(value) * u64::from(alpha);
            }
            sums[3] += u64::from(alpha);
            number += 1;
        }
    }
    let alpha = sums[3];
    let mean = |sum: u64| sum.checked_div(alpha).unwrap_or_default() as u8;
    [
        mean(sums[0]),
        mean(sums[1]),
        mean(sums[2]),
        alpha.checked_div(number).unwrap_or_default() as u8,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_keeps_the_shape_and_ignores_hidden_colours() {
        let mut rgba = Vec::new();
        for _ in 0..4 * 8 {
            rgba.extend([200, 100, 50, 255, 0, 255, 0, 0]);
        }
        let image = shrink(&Pixels { width: 16, height: 4, rgba }, 8).unwrap();
        assert_eq!(image.size, [8, 2]);
        let [red, green, blue, alpha] = image.pixels[0].to_srgba_unmultiplied();
        assert!(red.abs_diff(200) < 3 && green.abs_diff(100) < 3 && blue.abs_diff(50) < 3);
        assert_eq!(alpha, 127);
    }

    #[test]
    fn a_picture_that_lies_about_its_size_is_refused() {
        let bad = |width, height| Pixels { width, height, rgba: vec![0; 16] };
        assert!(shrink(&bad(4, 4), 8).is_none());
        assert!(shrink(&bad(0, 0), 8).is_none());
        assert!(shrink(&bad(u32::MAX, u32::MAX), 8).is_none());
        assert!(shrink(&bad(2, 2), 8).is_some());
    }
}
