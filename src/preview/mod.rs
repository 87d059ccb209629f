//! Draws pictures of scenes and images. Knows no file formats and no windows.
//!
//! [`scene`] is what the format readers make, `tangents` adds the directions that normal textures lie
//! along, and an [`Artist`] turns it into [`Picture`]s: `prepare` checks and measures it, `gpu` or
//! `cpu` draws the object, `develop` lays it over the backdrop. [`tone`], [`resize`] and [`sheet`] are
//! the image pipeline, [`look`] and [`compare`] what an artist asks of a picture.

pub mod picture;
mod mapping;
pub mod scene;
mod mikktspace;
mod tangents;
pub mod camera;
pub mod artist;
pub mod tone;
pub mod flip;
pub mod look;
pub mod compare;
pub mod resize;
pub mod png;
pub mod sheet;
mod parallel;
mod texels;
mod prepare;
mod studio;
mod shadow;
mod shade;
mod pass;
mod ground;
mod develop;
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

pub use artist::{Artist, Backdrop, DrawError, DrawOn, MAX_PICTURE_PX, View, adapters};
pub use camera::Camera;
pub use compare::{
    Comparison, Differences, MAX_GAIN, compared, differences, mean_flip, sample_differences,
};
pub use flip::{FlipError, FlipMap, MAX_FLIP_PIXELS, USUAL_PIXELS_PER_DEGREE, flip};
pub use look::{
    AlphaShown, Channels, FALSE_COLORS, FalseColor, ImageLook, Marks, Measures, ValueRange,
    depth_range, measure,
};
pub use picture::{DecodedImage, LinearImage, Picture};
pub use png::{PngError, read_png, write_png};
pub use resize::fit;
pub use scene::Scene;
pub use sheet::{Cell, contact_sheet, evenly_chosen};
pub use tangents::{TANGENT_TRIANGLES, give_tangents};
pub use tone::{Grade, auto_exposure, tone_map};
