//! Properties that add-ons and Cycles hang on a scene: trees of named values.

use super::blocks::{Block, Blocks};
use super::bounds;
use super::record::Record;

/// A value in the group `group` of a scene's properties, where it is a whole number or a switch.
///
/// Blender writes only what was changed from its default, so that `None` does not mean zero.
pub(super) fn number(blocks: &Blocks, scene: &Block, group: &str, name: &str) -> Option<i64> {
    let record = blocks.record(scene).ok()?;
    // From 5.0 on, those that a program registered stand apart from those that a user made.
    ["id.system_properties", "id.properties"].into_iter().find_map(|path| {
        let top = blocks.part_at(scene.owner, record.pointer(path)?)?;
        let group = child(blocks, top, group)?;
        value(&blocks.record(child(blocks, group, name)?).ok()?)
    })
}

fn child<'a>(blocks: &'a Blocks, group: &Block, name: &str) -> Option<&'a Block> {
    let mut next = blocks.record(group).ok()?.pointer("data.group.first");
    for _ in 0..bounds::PROPERTIES {
        let block = blocks.part_at(group.owner, next?)?;
        let record = blocks.record(block).ok()?;
        if record.text("name").as_deref() == Some(name) {
            return Some(block);
        }
        next = record.pointer("next");
    }
    None
}

fn value(property: &Record<'_>) -> Option<i64> {
    const INT: i64 = 1;
    const BOOLEAN: i64 = 10;
    matches!(property.int("type"), Some(INT | BOOLEAN)).then(|| property.int("data.val")).flatten()
}
