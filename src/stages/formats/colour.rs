//! Brings the colours of a picture to sRGB by the profile that it carries.

use moxcms::{ColorProfile, DataColorSpace, Layout, ProfileText, TransformOptions};
use std::borrow::Cow;

/// Pixels that are converted at once: the converter needs a second buffer of that size.
const PIXELS_AT_ONCE: usize = 1 << 16;

/// What to do about a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Management {
    /// Pictures are shown with the colours that they mean.
    ToSrgb,
    /// Textures of meshes are taken as they are stored: glTF 2.0 says that profiles are ignored.
    AsStored,
}

/// A profile that could be read.
pub(super) struct Profile(ColorProfile);

impl Profile {
    /// Of the bytes of an ICC profile; none where they cannot be understood.
    pub(super) fn of(icc: &[u8]) -> Option<Self> {
        ColorProfile::new_from_slice(icc).ok().map(Self)
    }

    /// What the profile calls itself: `Display P3`.
    pub(super) fn name(&self) -> Option<String> {
        let name = match self.0.description.as_ref()? {
            ProfileText::PlainString(text) => Cow::Borrowed(text.as_str()),
            ProfileText::Localizable(texts) => Cow::Borrowed(texts.first()?.value.as_str()),
            ProfileText::Description(text) if !text.ascii_string.is_empty() => {
                Cow::Borrowed(text.ascii_string.as_str())
            }
            ProfileText::Description(text) => Cow::Borrowed(text.unicode_string.as_str()),
        };
        let name: String = name.chars().filter(|letter| !letter.is_control()).take(128).collect();
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// The colours that it is about: `RGB`, `grey`, `CMYK`.
    pub(super) const fn space(&self) -> &'static str {
        match self.0.color_space {
            DataColorSpace::Rgb => "RGB",
            DataColorSpace::Gray => "grey",
            DataColorSpace::Cmyk => "CMYK",
            DataColorSpace::Lab => "Lab",
            _ => "other",
        }
    }

    /// Whether colours change on their way to sRGB.
    fn is_srgb(&self) -> bool {
        self.name().is_some_and(|name| name.contains("sRGB"))
    }

    /// Converts straight RGBA in place. Says whether it did; a profile of sRGB changes nothing.
    pub(super) fn rgba_to_srgb(&self, rgba: &mut [u8]) -> bool {
        if self.0.color_space != DataColorSpace::Rgb || self.is_srgb() {
            return false;
        }
        let srgb = ColorProfile::new_srgb();
        let options = TransformOptions::default();
        let Ok(transform) =
            self.0.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgba, options)
        else {
            return false;
        };
        for part in rgba.chunks_mut(PIXELS_AT_ONCE * 4) {
            let stored = part.to_vec();
            if transform.transform(&stored, part).is_err() {
                part.copy_from_slice(&stored);
                return false;
            }
        }
        true
    }

    /// Converts inks (255 is full) to opaque RGBA; none where the profile is not about inks.
    pub(super) fn cmyk_to_srgb(&self, inks: &[u8]) -> Option<Vec<u8>> {
        if self.0.color_space != DataColorSpace::Cmyk {
            return None;
        }
        let srgb = ColorProfile::new_srgb();
        let options = TransformOptions::default();
        // Four inks have the layout of four channels.
        let transform =
            self.0.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgb, options).ok()?;
        let mut rgba = Vec::with_capacity(inks.len());
        let mut rgb = vec![0; PIXELS_AT_ONCE * 3];
        for part in inks.chunks(PIXELS_AT_ONCE * 4) {
            let rgb = rgb.get_mut(..part.len() / 4 * 3)?;
            transform.transform(part, rgb).ok()?;
            rgba.extend(rgb.chunks_exact(3).flat_map(|pixel| pixel.iter().copied().chain([255])));
        }
        Some(rgba)
    }
}

/// Inks without a profile: each takes its share of white light, and black takes of all.
pub(super) fn inks_to_rgb([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; 3] {
    let light = 255 - u32::from(black);
    [cyan, magenta, yellow].map(|ink| (((255 - u32::from(ink)) * light + 127) / 255) as u8)
}

/// Inks to opaque RGBA, by a profile of inks where there is one.
pub(super) fn inks_to_rgba(inks: &[u8], profile: Option<&Profile>) -> Vec<u8> {
    profile.and_then(|profile| profile.cmyk_to_srgb(inks)).unwrap_or_else(|| {
        inks.as_chunks::<4>()
            .0
            .iter()
            .flat_map(|inks| {
                let [red, green, blue] = inks_to_rgb(*inks);
                [red, green, blue, 255]
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_red_becomes_a_fuller_srgb_red_and_srgb_stays() {
        let p3 = ColorProfile::new_display_p3().encode().expect("encoded");
        let profile = Profile::of(&p3).expect("reads");
        assert_eq!(profile.space(), "RGB");
        let mut pixel = [200, 80, 80, 7];
        assert!(profile.rgba_to_srgb(&mut pixel));
        let [red, green, _, alpha] = pixel;
        assert!(red > 205 && green < 78 && alpha == 7, "{pixel:?}");
        let srgb = ColorProfile::new_srgb().encode().expect("encoded");
        let mut pixel = [200, 80, 80, 7];
        Profile::of(&srgb).expect("reads").rgba_to_srgb(&mut pixel);
        assert_eq!(pixel, [200, 80, 80, 7]);
        assert!(Profile::of(b"no profile").is_none());
    }

    #[test]
    fn inks_take_light_away() {
        assert_eq!(inks_to_rgb([0, 0, 0, 0]), [255, 255, 255]);
        assert_eq!(inks_to_rgb([255, 0, 0, 0]), [0, 255, 255]);
        assert_eq!(inks_to_rgb([9, 9, 9, 255]), [0, 0, 0]);
        assert_eq!(inks_to_rgba(&[0, 255, 255, 0], None), [255, 0, 0, 255]);
    }
}
