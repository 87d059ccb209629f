//! Follows the connections of a material from an input to where its value is stated.

use super::values::Reader;
use crate::protocol::work::Failure;
use crate::stages::formats::bounds;
use openusd::sdf::{Path, Value};
use openusd::usd::Prim;

/// Where an input has its value from.
pub(super) enum Origin {
    /// Nothing is stated.
    Nothing,
    /// Stated by somebody.
    Value(Value),
    /// Made by a shader.
    Shader {
        /// The shader.
        shader: Prim,
        /// The name of its output, without `outputs:`.
        output: String,
    },
}

/// The origin of an input or an output, by its whole name: `inputs:roughness`.
pub(super) fn origin(reader: &Reader<'_>, prim: &Prim, name: &str) -> Result<Origin, Failure> {
    let Ok(mut at) = prim.path().append_property(name) else { return Ok(Origin::Nothing) };
    for _ in 0..bounds::USD_CONNECTIONS {
        let Some(next) = reader.connected(&at)? else {
            let Some((prim, name)) = at.split_property() else { break };
            let value = reader.get(&reader.stage.prim(prim), name)?;
            return Ok(value.map_or(Origin::Nothing, Origin::Value));
        };
        if let Some(shader) = shader(reader, &next) {
            return Ok(shader);
        }
        at = next;
    }
    Ok(Origin::Nothing)
}

fn shader(reader: &Reader<'_>, at: &Path) -> Option<Origin> {
    let (prim, name) = at.split_property()?;
    let output = name.strip_prefix("outputs:")?.to_owned();
    let shader = reader.stage.prim(prim);
    let kind = shader.type_name().ok().flatten()?;
    (kind.as_str() == "Shader").then_some(Origin::Shader { shader, output })
}

/// The value of an input; none where a shader makes it.
pub(super) fn value(
    reader: &Reader<'_>,
    prim: &Prim,
    name: &str,
) -> Result<Option<Value>, Failure> {
    Ok(match origin(reader, prim, &format!("inputs:{name}"))? {
        Origin::Value(value) => Some(value),
        Origin::Nothing | Origin::Shader { .. } => None,
    })
}
