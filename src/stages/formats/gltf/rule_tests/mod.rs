//! One small scene of our own for each rule of glTF 2.0 that a picture shows.
//!
//! Each is drawn by an adapter and by the processor. The rule itself is held by numbers read from
//! both pictures; a stored picture of 256 × 256 pixels, drawn by Mesa's software adapter (lavapipe),
//! holds everything else. `SAWAH_WRITE_REFERENCES=1 cargo test --lib rule_tests` writes the stored
//! pictures anew: look at them before they are kept.
#![expect(
    clippy::float_cmp,
    reason = "alpha is 1 and no other number where a surface covers a pixel"
)]

mod board;
mod light;
mod mappings;
mod shapes;
mod shot;
mod solids;
mod surfaces;
mod tangents;
mod textures;
