//! The window's icon, drawn from the same terraces as the mark in the window.

use super::theme::{Tokens, Tone};
use super::widgets::logo::TERRACES;
use eframe::egui::{IconData, Theme};

const EDGE: u32 = 128;
const MARGIN: f32 = 0.08;

/// The icon.
pub fn icon() -> IconData {
    let tokens = Tokens::of_theme(Theme::Dark);
    let mut rgba = Vec::with_capacity((EDGE * EDGE * 4) as usize);
    for y in 0..EDGE {
        for x in 0..EDGE {
            let at =
                |pixel: u32| ((pixel as f32 + 0.5) / EDGE as f32 - MARGIN) / (1.0 - 2.0 * MARGIN);
            let (x, y) = (at(x), at(y));
            let step = TERRACES.iter().find(|(left, top, width, height, _)| {
                x >= *left && x < left + width && y >= *top && y < top + height
            });
            rgba.extend(step.map_or([0; 4], |(.., water)| {
                tokens.tone(if *water { Tone::Run } else { Tone::Good }).to_array()
            }));
        }
    }
    IconData { rgba, width: EDGE, height: EDGE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_has_its_size_and_both_colours() {
        let icon = icon();
        assert_eq!(icon.rgba.len(), (icon.width * icon.height * 4) as usize);
        let mut colors: Vec<_> = icon.rgba.chunks_exact(4).collect();
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), 3);
    }
}
