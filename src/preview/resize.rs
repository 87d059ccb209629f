//! Makes pictures smaller: in linear light, weighted by alpha.

use super::parallel;
use super::picture::Picture;
use super::texels::{srgb_table, to_srgb};
use std::f32::consts::PI;

/// Reduced more than this, the plain mean of the area is as sharp and rings less.
const MEAN_FROM: f32 = 4.0;
/// Half width of the Lanczos window in target pixels.
const LOBES: f32 = 3.0;
/// Rows that one thread takes at a time.
const BAND: usize = 16;

/// Source pixels that make one target pixel, and their weights.
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

/// The picture with no edge longer than `longest_px`. A smaller picture is returned as it is.
pub fn fit(picture: &Picture, longest_px: u32) -> Picture {
    let short = (picture.width as usize * picture.height as usize).saturating_mul(4);
    let (width, height) = fitted(picture.width, picture.height, longest_px);
    if (width, height) == (picture.width, picture.height) || picture.rgba.len() < short {
        return picture.clone();
    }
    resized(picture, width, height)
}

/// The size of a picture of `width` × `height` pixels made smaller until no edge is longer than
/// `longest_px`.
pub(super) fn fitted(width: u32, height: u32, longest_px: u32) -> (u32, u32) {
    let longest = width.max(height);
    if longest <= longest_px {
        return (width, height);
    }
    let scaled = |edge: u32| {
        let rounded =
            (u64::from(edge) * u64::from(longest_px) + u64::from(longest) / 2) / u64::from(longest);
        u32::try_from(rounded).unwrap_or(longest_px).max(1)
    };
    (scaled(width), scaled(height))
}

fn resized(picture: &Picture, width: u32, height: u32) -> Picture {
    let columns = taps(picture.width as usize, width as usize);
    let rows = taps(picture.height as usize, height as usize);
    let bands = parallel::bands(height as usize, BAND, |band| {
        let mut bytes = Vec::with_capacity(band.len() * width as usize * 4);
        // Lines that neighbouring target rows share are narrowed once.
        let mut narrowed: Vec<(usize, Vec<[f32; 4]>)> = Vec::new();
        for taps in rows.get(band).into_iter().flatten() {
            narrowed.retain(|(row, _)| *row >= taps.first);
            let mut sums = vec![[0.0_f32; 4]; width as usize];
            for (offset, weight) in taps.weights.iter().enumerate() {
                let row = taps.first + offset;
                if narrowed.last().is_none_or(|(last, _)| *last < row) {
                    narrowed.push((row, narrow(picture, row, &columns)));
                }
                let Some((_, line)) = narrowed.iter().find(|(known, _)| *known == row) else {
                    continue;
                };
                for (sum, pixel) in sums.iter_mut().zip(line) {
                    for channel in 0..4 {
                        sum[channel] += pixel[channel] * weight;
                    }
                }
            }
            bytes.extend(sums.into_iter().flat_map(straight));
        }
        bytes
    });
    Picture { width, height, rgba: bands.concat() }
}

/// One source line in premultiplied linear light, narrowed to the target's width.
fn narrow(picture: &Picture, row: usize, columns: &[Taps]) -> Vec<[f32; 4]> {
    let table = srgb_table();
    let length = picture.width as usize * 4;
    let bytes = picture.rgba.get(row * length..(row + 1) * length).unwrap_or_default();
    let light: Vec<[f32; 4]> = bytes
        .chunks_exact(4)
        .map(|pixel| {
            let alpha = f32::from(pixel[3]) / 255.0;
            let channel = |at: usize| table[usize::from(pixel[at])] * alpha;
            [channel(0), channel(1), channel(2), alpha]
        })
        .collect();
    let mut line = Vec::with_capacity(columns.len());
    for taps in columns {
        let mut sum = [0.0_f32; 4];
        for (pixel, weight) in light.iter().skip(taps.first).zip(&taps.weights) {
            for channel in 0..4 {
                sum[channel] += pixel[channel] * weight;
            }
        }
        line.push(sum);
    }
    line
}

fn straight([red, green, blue, alpha]: [f32; 4]) -> [u8; 4] {
    if alpha <= 0.5 / 255.0 {
        return [0; 4];
    }
    let [red, green, blue] =
        [red, green, blue].map(|light| (to_srgb(light / alpha) * 255.0 + 0.5) as u8);
    [red, green, blue, (alpha.min(1.0) * 255.0 + 0.5) as u8]
}

fn taps(source: usize, target: usize) -> Vec<Taps> {
    let scale = source as f32 / target.max(1) as f32;
    (0..target)
        .map(|index| {
            if scale >= MEAN_FROM {
                mean(index as f32 * scale, (index + 1) as f32 * scale, source)
            } else {
                lanczos((index as f32 + 0.5) * scale, scale.max(1.0), source)
            }
        })
        .collect()
}

fn mean(from: f32, to: f32, source: usize) -> Taps {
    let first = (from as usize).min(source.saturating_sub(1));
    let end = (to.ceil() as usize).clamp(first + 1, source.max(first + 1));
    let share = |at: usize| (to.min((at + 1) as f32) - from.max(at as f32)).max(0.0);
    normalized(first, (first..end).map(share).collect())
}

fn lanczos(middle: f32, scale: f32, source: usize) -> Taps {
    let reach = LOBES * scale;
    let first = (middle - reach).floor().max(0.0) as usize;
    let end = ((middle + reach).ceil() as usize).min(source).max(first + 1);
    let weight = |at: usize| {
        let away = ((at as f32 + 0.5 - middle) / scale).abs();
        if away < 1e-4 {
            1.0
        } else if away >= LOBES {
            0.0
        } else {
            let angle = PI * away;
            LOBES * angle.sin() * (angle / LOBES).sin() / (angle * angle)
        }
    };
    normalized(first, (first..end).map(weight).collect())
}

fn normalized(first: usize, mut weights: Vec<f32>) -> Taps {
    let sum: f32 = weights.iter().sum();
    if sum.abs() > 1e-6 {
        for weight in &mut weights {
            *weight /= sum;
        }
    }
    Taps { first, weights }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Picture {
        let at = |index| pixel(index % width, index / width);
        Picture { width, height, rgba: (0..width * height).flat_map(at).collect() }
    }

    #[test]
    fn keeps_the_aspect_and_never_enlarges() {
        let picture = filled(300, 100, |_, _| [200, 100, 50, 255]);
        let small = fit(&picture, 64);
        assert_eq!((small.width, small.height), (64, 21));
        assert!(small.rgba.chunks_exact(4).all(|pixel| pixel == [200, 100, 50, 255]));
        assert_eq!(fit(&picture, 300), picture);
        assert_eq!(fit(&picture, 4_000), picture);
        let line = fit(&filled(1_000, 1, |_, _| [9, 9, 9, 255]), 10);
        assert_eq!((line.width, line.height), (10, 1));
    }

    #[test]
    fn averages_light_and_ignores_the_colour_of_nothing() {
        for size in [64, 16] {
            let checker =
                filled(64, 64, |x, y| if (x + y) % 2 == 0 { [255; 4] } else { [0, 0, 0, 255] });
            let small = fit(&checker, 8 * size / 64);
            let inner = small.rgba[(small.width as usize / 2) * 4];
            assert!((186..=190).contains(&inner), "{size}: {inner}");
        }
        let edge = filled(64, 64, |x, _| if x < 32 { [250, 0, 0, 255] } else { [0, 255, 0, 0] });
        let small = fit(&edge, 5);
        assert!(small.rgba.chunks_exact(4).all(|pixel| pixel[1] == 0), "{:?}", small.rgba);
    }

    #[test]
    fn broken_pictures_do_no_harm() {
        let short = Picture { width: 100, height: 100, rgba: vec![1; 5] };
        assert_eq!(fit(&short, 10), short);
        let empty = Picture { width: 0, height: 0, rgba: vec![] };
        assert_eq!(fit(&empty, 10), empty);
    }
}
