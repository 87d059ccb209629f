//! Draws pictures of scenes and images. Knows no file formats and no windows.
//!
//! [`scene`] is what the format readers make; a renderer ([`open`]) turns it into a [`Picture`].

pub mod picture;
pub mod scene;

pub use picture::{DecodedImage, LinearImage, Picture};
pub use scene::Scene;
