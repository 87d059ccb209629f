//! Where a prim stands in its parent: the list `xformOpOrder`.

use super::values::{self, Reader};
use crate::protocol::work::Failure;
use glam::{DMat4, DQuat, DVec3};
use openusd::sdf::Value;
use openusd::usd::Prim;

const INVERSE: &str = "!invert!";
const RESET: &str = "!resetXformStack!";

/// A prim's own transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub matrix: DMat4,
    /// Whether the parents' transforms do not count.
    pub reset: bool,
}

/// Reads it: the last operation in the list is the first that a point goes through.
pub(super) fn of(reader: &Reader<'_>, prim: &Prim) -> Result<Place, Failure> {
    let mut place = Place { matrix: DMat4::IDENTITY, reset: false };
    let order = reader.get(prim, "xformOpOrder")?.map(values::words).unwrap_or_default();
    for operation in &order {
        if operation == RESET {
            place = Place { matrix: DMat4::IDENTITY, reset: true };
            continue;
        }
        let attribute = operation.strip_prefix(INVERSE).unwrap_or(operation);
        let Some(value) = reader.get(prim, attribute)? else { continue };
        let kind = attribute.split(':').nth(1).unwrap_or_default();
        let Some(matrix) = operation_matrix(kind, &value) else { continue };
        let is_inverse = operation.starts_with(INVERSE);
        let matrix = if is_inverse { matrix.inverse() } else { matrix };
        place.matrix *= matrix;
    }
    if !place.matrix.is_finite() {
        place.matrix = DMat4::IDENTITY;
    }
    Ok(place)
}

/// Angles are degrees. `rotateXYZ` turns about x first.
fn operation_matrix(kind: &str, value: &Value) -> Option<DMat4> {
    let along = |axis: DVec3| values::number(value).map(|number| axis * number);
    let about = |axis: DVec3, degrees: f64| DMat4::from_axis_angle(axis, degrees.to_radians());
    Some(match kind {
        "translate" => DMat4::from_translation(values::vector(value)?),
        "translateX" => DMat4::from_translation(along(DVec3::X)?),
        "translateY" => DMat4::from_translation(along(DVec3::Y)?),
        "translateZ" => DMat4::from_translation(along(DVec3::Z)?),
        "scale" => DMat4::from_scale(values::vector(value)?),
        "orient" => DMat4::from_quat(values::rotation(value).unwrap_or(DQuat::IDENTITY)),
        "transform" => values::matrix(value)?,
        "rotateX" => about(DVec3::X, values::number(value)?),
        "rotateY" => about(DVec3::Y, values::number(value)?),
        "rotateZ" => about(DVec3::Z, values::number(value)?),
        _ => {
            let axes = kind.strip_prefix("rotate").filter(|axes| axes.len() == 3)?;
            let angles = values::vector(value)?;
            let mut matrix = DMat4::IDENTITY;
            for axis in axes.chars() {
                matrix = match axis {
                    'X' => about(DVec3::X, angles.x),
                    'Y' => about(DVec3::Y, angles.y),
                    'Z' => about(DVec3::Z, angles.z),
                    _ => return None,
                } * matrix;
            }
            matrix
        }
    })
}
