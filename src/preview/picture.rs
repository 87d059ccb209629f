//! Pixels in memory.

/// A finished picture: sRGB, 8 bits, straight alpha, rows from the top.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `width × height × 4` bytes: red, green, blue, alpha.
    pub rgba: Vec<u8>,
}

/// Scene light: linear Rec. 709 primaries, premultiplied alpha, rows from the top.
#[derive(Clone, PartialEq)]
pub struct LinearImage {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// One pixel each: red, green, blue, alpha. Values may be above 1.
    pub pixels: Vec<[f32; 4]>,
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({}×{})", self.width, self.height)
    }
}

impl std::fmt::Debug for LinearImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LinearImage({}×{})", self.width, self.height)
    }
}

/// A decoded image file: finished pixels, or scene light that still needs a tone map.
#[derive(Debug, Clone, PartialEq)]
pub enum DecodedImage {
    /// PNG, JPEG, 8- or 16-bit TIFF: shown as it is.
    Display(Picture),
    /// EXR, HDR, float TIFF: tone-mapped before it is shown.
    Light(LinearImage),
}
