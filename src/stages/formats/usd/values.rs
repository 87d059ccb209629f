//! Values of attributes, whatever precision a file has chosen for them.

use super::corrupt_here;
use crate::protocol::work::Failure;
use glam::{DMat4, DQuat, DVec3, Vec2, Vec3};
use openusd::gf::f16;
use openusd::sdf::{Path, Value};
use openusd::usd::{Prim, Stage, TimeCode};

/// Reads the attributes of a scene at one time.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    pub stage: Stage,
    pub name: &'a str,
    /// The first frame.
    pub time: TimeCode,
}

impl Reader<'_> {
    /// The value of an attribute; none where nothing is stated.
    pub(super) fn get(&self, prim: &Prim, attribute: &str) -> Result<Option<Value>, Failure> {
        let value = prim.attribute(attribute).get_at::<Value>(Some(self.time));
        let value = value.map_err(|error| corrupt_here(self.name, &error))?;
        Ok(value.filter(|value| !matches!(value, Value::None | Value::ValueBlock)))
    }

    /// A word.
    pub(super) fn word(&self, prim: &Prim, attribute: &str) -> Result<Option<String>, Failure> {
        Ok(self.get(prim, attribute)?.and_then(word))
    }

    /// Whole numbers.
    pub(super) fn indices(&self, prim: &Prim, name: &str) -> Result<Option<Vec<i64>>, Failure> {
        Ok(self.get(prim, name)?.and_then(indices))
    }

    /// The interpolation of a list over a mesh.
    pub(super) fn spread(&self, prim: &Prim, attribute: &str) -> Result<Option<String>, Failure> {
        let stated = prim.attribute(attribute).get_metadata::<Value>("interpolation");
        Ok(stated.map_err(|error| corrupt_here(self.name, &error))?.and_then(word))
    }

    /// The places that an attribute takes its value from.
    pub(super) fn connected(&self, attribute: &Path) -> Result<Option<Path>, Failure> {
        let found = self.stage.attribute(attribute.clone()).connections();
        Ok(found.map_err(|error| corrupt_here(self.name, &error))?.into_iter().next())
    }

    /// The first target of a relationship.
    pub(super) fn target(&self, prim: &Prim, name: &str) -> Result<Option<Path>, Failure> {
        let targets = prim.relationship(name).forwarded_targets();
        Ok(targets.map_err(|error| corrupt_here(self.name, &error))?.into_iter().next())
    }
}

/// A token or a text.
pub(super) fn word(value: Value) -> Option<String> {
    match value {
        Value::Token(token) => Some(token.as_str().to_owned()),
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Words in a list.
pub(super) fn words(value: Value) -> Vec<String> {
    match value {
        Value::TokenVec(list) => list.iter().map(|token| token.as_str().to_owned()).collect(),
        Value::StringVec(list) => list,
        _ => Vec::new(),
    }
}

/// Whole numbers.
pub(super) fn indices(value: Value) -> Option<Vec<i64>> {
    Some(match value {
        Value::IntVec(list) => list.into_iter().map(i64::from).collect(),
        Value::UintVec(list) => list.into_iter().map(i64::from).collect(),
        Value::Int64Vec(list) => list,
        _ => return None,
    })
}

/// One number.
pub(super) fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Half(number) => f64::from(number.to_f32()),
        Value::Float(number) => f64::from(*number),
        Value::Double(number) => *number,
        Value::Int(number) => f64::from(*number),
        Value::Uint(number) => f64::from(*number),
        Value::Int64(number) => *number as f64,
        _ => return None,
    })
}

/// Numbers in a list.
pub(super) fn numbers(value: Value) -> Option<Vec<f32>> {
    Some(match value {
        Value::HalfVec(list) => list.into_iter().map(f16::to_f32).collect(),
        Value::FloatVec(list) => list,
        Value::DoubleVec(list) => list.into_iter().map(|number| number as f32).collect(),
        one => vec![number(&one)? as f32],
    })
}

/// Three numbers.
pub(super) fn vector(value: &Value) -> Option<DVec3> {
    Some(match value {
        Value::Vec3h(v) => DVec3::new(v.x.to_f64(), v.y.to_f64(), v.z.to_f64()),
        Value::Vec3f(v) => Vec3::new(v.x, v.y, v.z).as_dvec3(),
        Value::Vec3d(v) => DVec3::new(v.x, v.y, v.z),
        Value::Vec4f(v) => Vec3::new(v.x, v.y, v.z).as_dvec3(),
        _ => return None,
    })
}

/// Points, directions or colours; a single one is a list of one.
pub(super) fn vectors(value: Value) -> Option<Vec<Vec3>> {
    Some(match value {
        Value::Vec3hVec(list) => {
            list.iter().map(|v| Vec3::new(v.x.to_f32(), v.y.to_f32(), v.z.to_f32())).collect()
        }
        Value::Vec3fVec(list) => list.iter().map(|v| Vec3::new(v.x, v.y, v.z)).collect(),
        Value::Vec3dVec(list) => list.iter().map(|v| DVec3::new(v.x, v.y, v.z).as_vec3()).collect(),
        one => vec![vector(&one)?.as_vec3()],
    })
}

/// Two numbers.
pub(super) fn pair(value: &Value) -> Option<Vec2> {
    Some(match value {
        Value::Vec2h(v) => Vec2::new(v.x.to_f32(), v.y.to_f32()),
        Value::Vec2f(v) => Vec2::new(v.x, v.y),
        Value::Vec2d(v) => Vec2::new(v.x as f32, v.y as f32),
        _ => return None,
    })
}

/// Texture coordinates; the third of three is left out.
pub(super) fn pairs(value: Value) -> Option<Vec<Vec2>> {
    Some(match value {
        Value::Vec2hVec(list) => {
            list.iter().map(|v| Vec2::new(v.x.to_f32(), v.y.to_f32())).collect()
        }
        Value::Vec2fVec(list) => list.iter().map(|v| Vec2::new(v.x, v.y)).collect(),
        Value::Vec2dVec(list) => list.iter().map(|v| Vec2::new(v.x as f32, v.y as f32)).collect(),
        Value::Vec3fVec(list) => list.iter().map(|v| Vec2::new(v.x, v.y)).collect(),
        one => vec![pair(&one)?],
    })
}

/// A rotation.
pub(super) fn rotation(value: &Value) -> Option<DQuat> {
    let [w, x, y, z] = match value {
        Value::Quath(turn) => [turn.w, turn.x, turn.y, turn.z].map(f16::to_f64),
        Value::Quatf(turn) => [turn.w, turn.x, turn.y, turn.z].map(f64::from),
        Value::Quatd(turn) => [turn.w, turn.x, turn.y, turn.z],
        _ => return None,
    };
    let rotation = DQuat::from_xyzw(x, y, z, w);
    (rotation.length_squared() > 0.0).then(|| rotation.normalize())
}

/// A matrix. USD writes row after row for points that stand before it, which is column after column
/// for points that stand behind it.
pub(super) fn matrix(value: &Value) -> Option<DMat4> {
    match value {
        Value::Matrix4d(matrix) => Some(DMat4::from_cols_array(&matrix.0)),
        _ => None,
    }
}
