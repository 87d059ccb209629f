//! Where the textures of a material lie on a part.

use glam::{Vec2, Vec4};

/// Which of a part's texture coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UvSet {
    /// [`super::scene::Part::uvs`].
    #[default]
    First,
    /// [`super::scene::Part::more_uvs`].
    Second,
}

/// How one texture finds its coordinates: a set, scaled, then turned, then moved
/// (`KHR_texture_transform`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mapping {
    /// The coordinates that it starts from.
    pub uv_set: UvSet,
    /// Added at the end.
    pub offset: Vec2,
    /// Turns the coordinates about their origin, in radians: from +u to −v.
    pub rotation: f32,
    /// Multiplied at the beginning.
    pub scale: Vec2,
}

/// The mapping of each texture of a material.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mappings {
    /// Of the base colour.
    pub base_color: Mapping,
    /// Of metalness and roughness.
    pub metallic_roughness: Mapping,
    /// Of the normals.
    pub normal: Mapping,
    /// Of the occlusion.
    pub occlusion: Mapping,
    /// Of the emitted light.
    pub emissive: Mapping,
}

impl Default for Mapping {
    /// The first set as it is.
    fn default() -> Self {
        Self { uv_set: UvSet::First, offset: Vec2::ZERO, rotation: 0.0, scale: Vec2::ONE }
    }
}

impl Mapping {
    /// The coordinates of its set go through as they are.
    pub fn is_plain(&self) -> bool {
        *self == Self { uv_set: self.uv_set, ..Self::default() }
    }

    /// Coordinates of its set as its texture is read.
    pub fn place(&self, uv: Vec2) -> Vec2 {
        let (sin, cos) = self.rotation.sin_cos();
        let scaled = uv * self.scale;
        let turned = Vec2::new(scaled.x * cos + scaled.y * sin, scaled.y * cos - scaled.x * sin);
        turned + self.offset
    }

    /// What u adds to (u, v), then what v adds.
    pub(super) fn turn(&self) -> Vec4 {
        let (sin, cos) = self.rotation.sin_cos();
        let Vec2 { x, y } = self.scale;
        Vec4::new(x * cos, -x * sin, y * sin, y * cos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_says_the_same_as_placing() {
        let mapping = Mapping {
            uv_set: UvSet::Second,
            offset: Vec2::new(0.25, -3.0),
            rotation: 0.7,
            scale: Vec2::new(2.0, -0.5),
        };
        let turn = mapping.turn();
        for uv in [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::new(0.3, -1.7)] {
            let turned = Vec2::new(turn.x, turn.y) * uv.x + Vec2::new(turn.z, turn.w) * uv.y;
            assert!(mapping.place(uv).abs_diff_eq(turned + mapping.offset, 1e-6));
        }
        assert!(!mapping.is_plain() && Mapping::default().is_plain());
    }
}
