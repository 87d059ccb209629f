//! The look: every colour of the window, dark and light, and how egui wears them.
//!
//! Sawah is the terraced rice field: paddy green for what is good and what can be pressed, water
//! blue for what runs. Colours are named by use; nothing outside this file makes one.

use eframe::egui::{
    self, Color32, CornerRadius, FontFamily, FontId, Margin, Shadow, Stroke, TextStyle, Theme, Ui,
    Visuals, vec2,
};

/// What a colour says about work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to look at.
    Calm,
    /// It runs.
    Run,
    /// It waits for a time or for somebody.
    Wait,
    /// It went well.
    Good,
    /// It was given up.
    Dead,
}

impl Tone {
    /// All tones.
    pub const ALL: [Self; 5] = [Self::Calm, Self::Run, Self::Wait, Self::Good, Self::Dead];
}

/// The colours of one theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Behind tables.
    pub surface: Color32,
    /// Bars, the inspector, dialogs.
    pub raised: Color32,
    /// Fields, logs, the backdrop of pictures.
    pub sunken: Color32,
    /// Behind every other row.
    pub stripe: Color32,
    /// A row or control under the pointer.
    pub hover: Color32,
    /// The selected row.
    pub selected: Color32,
    /// Hairlines.
    pub outline: Color32,
    /// Edges of controls, empty segments.
    pub outline_strong: Color32,
    /// Text.
    pub text: Color32,
    /// Text that only explains.
    pub muted: Color32,
    /// The one thing to press, focus.
    pub accent: Color32,
    /// Text on `accent`.
    pub on_accent: Color32,
    /// Over the window while a dialog is open.
    pub veil: Color32,
    tones: [Color32; 5],
    fills: [Color32; 5],
    softs: [Color32; 5],
}

const DARK: Tokens = Tokens {
    surface: Color32::from_rgb(0x12, 0x17, 0x17),
    raised: Color32::from_rgb(0x1a, 0x20, 0x20),
    sunken: Color32::from_rgb(0x0c, 0x10, 0x10),
    stripe: Color32::from_rgb(0x15, 0x1b, 0x1b),
    hover: Color32::from_rgb(0x1e, 0x27, 0x27),
    selected: Color32::from_rgb(0x1b, 0x37, 0x31),
    outline: Color32::from_rgb(0x2a, 0x34, 0x34),
    outline_strong: Color32::from_rgb(0x46, 0x54, 0x53),
    text: Color32::from_rgb(0xe4, 0xeb, 0xe8),
    muted: Color32::from_rgb(0x9f, 0xae, 0xaa),
    accent: Color32::from_rgb(0x63, 0xc9, 0x90),
    on_accent: Color32::from_rgb(0x07, 0x17, 0x0e),
    veil: Color32::from_rgba_premultiplied(0, 0, 0, 0x8c),
    tones: [
        Color32::from_rgb(0x9f, 0xae, 0xaa),
        Color32::from_rgb(0x5f, 0xb8, 0xe8),
        Color32::from_rgb(0xe6, 0xb4, 0x50),
        Color32::from_rgb(0x63, 0xc9, 0x90),
        Color32::from_rgb(0xf5, 0x84, 0x7b),
    ],
    fills: [
        Color32::from_rgb(0x7f, 0x8e, 0x8a),
        Color32::from_rgb(0x4d, 0xa6, 0xd8),
        Color32::from_rgb(0xd8, 0xa6, 0x42),
        Color32::from_rgb(0x4f, 0xb0, 0x7c),
        Color32::from_rgb(0xea, 0x76, 0x6d),
    ],
    softs: [
        Color32::from_rgb(0x24, 0x2c, 0x2c),
        Color32::from_rgb(0x14, 0x2c, 0x3a),
        Color32::from_rgb(0x33, 0x2a, 0x14),
        Color32::from_rgb(0x16, 0x30, 0x22),
        Color32::from_rgb(0x3a, 0x1e, 0x1c),
    ],
};

const LIGHT: Tokens = Tokens {
    surface: Color32::from_rgb(0xfc, 0xfd, 0xfc),
    raised: Color32::from_rgb(0xf2, 0xf5, 0xf2),
    sunken: Color32::from_rgb(0xe8, 0xed, 0xe9),
    stripe: Color32::from_rgb(0xf6, 0xf9, 0xf7),
    hover: Color32::from_rgb(0xec, 0xf2, 0xee),
    selected: Color32::from_rgb(0xd6, 0xec, 0xe0),
    outline: Color32::from_rgb(0xd5, 0xdd, 0xd7),
    outline_strong: Color32::from_rgb(0xa3, 0xb1, 0xa9),
    text: Color32::from_rgb(0x16, 0x20, 0x1d),
    muted: Color32::from_rgb(0x4a, 0x58, 0x53),
    accent: Color32::from_rgb(0x1c, 0x74, 0x46),
    on_accent: Color32::from_rgb(0xff, 0xff, 0xff),
    veil: Color32::from_rgba_premultiplied(0, 0, 0, 0x59),
    tones: [
        Color32::from_rgb(0x4a, 0x58, 0x53),
        Color32::from_rgb(0x0a, 0x62, 0x90),
        Color32::from_rgb(0x74, 0x50, 0x00),
        Color32::from_rgb(0x1c, 0x6b, 0x42),
        Color32::from_rgb(0xad, 0x24, 0x1c),
    ],
    fills: [
        Color32::from_rgb(0x76, 0x84, 0x7e),
        Color32::from_rgb(0x1f, 0x8a, 0xc4),
        Color32::from_rgb(0xa6, 0x72, 0x00),
        Color32::from_rgb(0x2e, 0x8a, 0x5a),
        Color32::from_rgb(0xd1, 0x40, 0x37),
    ],
    softs: [
        Color32::from_rgb(0xe4, 0xe9, 0xe5),
        Color32::from_rgb(0xda, 0xec, 0xf6),
        Color32::from_rgb(0xf7, 0xec, 0xd0),
        Color32::from_rgb(0xd9, 0xee, 0xe1),
        Color32::from_rgb(0xfa, 0xe3, 0xe0),
    ],
};

impl Tokens {
    /// Of the theme that the window wears now.
    pub fn of(ui: &Ui) -> &'static Self {
        Self::of_theme(if ui.visuals().dark_mode { Theme::Dark } else { Theme::Light })
    }

    /// Of one theme.
    pub const fn of_theme(theme: Theme) -> &'static Self {
        match theme {
            Theme::Dark => &DARK,
            Theme::Light => &LIGHT,
        }
    }

    /// For text and marks that say this.
    pub const fn tone(&self, tone: Tone) -> Color32 {
        self.tones[tone as usize]
    }

    /// For bars and segments, where no letter has to be read.
    pub const fn fill(&self, tone: Tone) -> Color32 {
        self.fills[tone as usize]
    }

    /// Behind text of the same tone.
    pub const fn soft(&self, tone: Tone) -> Color32 {
        self.softs[tone as usize]
    }

    /// Every pair of a filled mark and its ground, for the contrast check.
    pub fn mark_pairs(&self) -> Vec<(Color32, Color32)> {
        let grounds = [self.surface, self.raised, self.stripe, self.selected];
        let marks = Tone::ALL.map(|tone| self.fill(tone));
        marks.iter().flat_map(|mark| grounds.map(|ground| (*mark, ground))).collect()
    }

    /// Every pair of text and ground that the window uses, for the contrast check.
    pub fn text_pairs(&self) -> Vec<(Color32, Color32)> {
        let grounds =
            [self.surface, self.raised, self.sunken, self.stripe, self.hover, self.selected];
        let mut pairs = vec![(self.on_accent, self.accent), (self.accent, self.selected)];
        for ground in grounds {
            pairs.push((self.text, ground));
            pairs.push((self.muted, ground));
            pairs.extend(Tone::ALL.map(|tone| (self.tone(tone), ground)));
        }
        for tone in Tone::ALL {
            pairs.push((self.tone(tone), self.soft(tone)));
            pairs.push((self.text, self.soft(tone)));
            pairs.push((self.muted, self.soft(tone)));
        }
        pairs
    }
}

/// Pictures are drawn as they are.
pub const UNTINTED: Color32 = Color32::WHITE;

/// One step of the spacing scale, in points.
pub const GAP: f32 = 8.0;
/// Corners of controls and cards, in points.
pub const ROUND: CornerRadius = CornerRadius::same(5);
/// Height of a table row with a picture, in points.
pub const ROW_TALL: f32 = 40.0;
/// Height of a table row, in points.
pub const ROW: f32 = 30.0;
/// Height of a table's header, in points.
pub const ROW_HEADER: f32 = 28.0;

/// Dresses the window in both themes; the system chooses which one is worn.
pub fn install(ctx: &egui::Context) {
    for theme in [Theme::Dark, Theme::Light] {
        ctx.set_visuals_of(theme, visuals(theme));
    }
    ctx.all_styles_mut(|style| {
        style.text_styles = [
            (TextStyle::Small, FontId::new(11.5, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(13.5, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(13.5, FontFamily::Proportional)),
            (TextStyle::Heading, FontId::new(18.0, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
        ]
        .into();
        style.spacing.item_spacing = vec2(GAP, 6.0);
        style.spacing.button_padding = vec2(10.0, 4.0);
        style.spacing.interact_size = vec2(28.0, 26.0);
        style.spacing.window_margin = Margin::same(16);
        style.spacing.tooltip_width = 360.0;
        style.spacing.scroll.bar_width = 8.0;
        style.interaction.tooltip_delay = 0.35;
        #[cfg(debug_assertions)]
        {
            style.debug.show_unaligned = false;
        }
    });
}

fn visuals(theme: Theme) -> Visuals {
    let tokens = Tokens::of_theme(theme);
    let mut visuals = match theme {
        Theme::Dark => Visuals::dark(),
        Theme::Light => Visuals::light(),
    };
    visuals.panel_fill = tokens.surface;
    visuals.window_fill = tokens.raised;
    visuals.window_stroke = Stroke::new(1.0, tokens.outline);
    visuals.window_corner_radius = CornerRadius::same(8);
    visuals.menu_corner_radius = ROUND;
    visuals.extreme_bg_color = tokens.sunken;
    visuals.faint_bg_color = tokens.stripe;
    visuals.code_bg_color = tokens.sunken;
    visuals.hyperlink_color = tokens.accent;
    visuals.warn_fg_color = tokens.tone(Tone::Wait);
    visuals.error_fg_color = tokens.tone(Tone::Dead);
    visuals.weak_text_color = Some(tokens.muted);
    visuals.selection.bg_fill = tokens.selected;
    visuals.selection.stroke = Stroke::new(1.0, tokens.accent);
    visuals.popup_shadow = Shadow { offset: [0, 4], blur: 12, spread: 0, color: tokens.veil };
    visuals.window_shadow = Shadow { offset: [0, 8], blur: 24, spread: 0, color: tokens.veil };
    let widgets = &mut visuals.widgets;
    let states = [
        (&mut widgets.noninteractive, tokens.raised, tokens.outline, tokens.text),
        (&mut widgets.inactive, tokens.raised, tokens.outline_strong, tokens.text),
        (&mut widgets.hovered, tokens.hover, tokens.muted, tokens.text),
        (&mut widgets.active, tokens.selected, tokens.accent, tokens.text),
        (&mut widgets.open, tokens.hover, tokens.outline_strong, tokens.text),
    ];
    for (state, fill, edge, text) in states {
        state.bg_fill = fill;
        state.weak_bg_fill = fill;
        state.bg_stroke = Stroke::new(1.0, edge);
        state.fg_stroke = Stroke::new(1.0, text);
        state.corner_radius = ROUND;
        state.expansion = 0.0;
    }
    visuals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(color: Color32) -> f64 {
        let channel = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(color.r()) + 0.7152 * channel(color.g()) + 0.0722 * channel(color.b())
    }

    fn contrast(one: Color32, other: Color32) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn all_text_can_be_read_on_its_ground() {
        for theme in [Theme::Dark, Theme::Light] {
            for (text, ground) in Tokens::of_theme(theme).text_pairs() {
                let ratio = contrast(text, ground);
                assert!(ratio >= 4.5, "{theme:?}: {text:?} on {ground:?} has {ratio:.2}");
            }
        }
    }

    #[test]
    fn all_marks_stand_out_from_their_ground() {
        for theme in [Theme::Dark, Theme::Light] {
            for (mark, ground) in Tokens::of_theme(theme).mark_pairs() {
                let ratio = contrast(mark, ground);
                assert!(ratio >= 3.0, "{theme:?}: {mark:?} on {ground:?} has {ratio:.2}");
            }
        }
    }

    #[test]
    fn the_check_itself_knows_black_on_white() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 0.01);
    }
}
