//! Buffer views that are compressed by meshopt, decompressed.

use super::meshopt::Compressed;
use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt, too_large};
use gltf::json::{Buffer, Root};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

/// The names that the extension has had; both mean the same to a reader.
pub(super) const EXTENSIONS: [&str; 2] = ["KHR_meshopt_compression", "EXT_meshopt_compression"];

/// Whether a buffer holds nothing, because its views are compressed elsewhere.
pub(super) fn is_placeholder(buffer: &Buffer) -> bool {
    let extensions = buffer.extensions.as_ref();
    EXTENSIONS.iter().any(|name| {
        let extension = extensions.and_then(|all| all.others.get(*name));
        extension.and_then(|one| one.get("fallback")).and_then(Value::as_bool) == Some(true)
    })
}

/// Decompresses all views that are compressed.
pub(super) fn views(
    root: &Root,
    buffers: &[Cow<'_, [u8]>],
    name: &str,
) -> Result<HashMap<usize, Vec<u8>>, Failure> {
    let mut views = HashMap::new();
    let mut total = 0_usize;
    for (index, view) in root.buffer_views.iter().enumerate() {
        let others = view.extensions.as_ref().map(|all| &all.others);
        let written = EXTENSIONS.iter().find_map(|name| others?.get(*name));
        let Some(written) = written else { continue };
        let bad = |what: String| {
            corrupt(format!("{name}: the compressed buffer view {index} {what}. Export it again"))
        };
        let compressed: Compressed = serde_json::from_value(written.clone())
            .map_err(|error| bad(format!("is described wrongly: {error}")))?;
        let size = compressed
            .decoded_bytes()
            .ok_or_else(|| bad("has a stride or filter that its mode does not have".to_owned()))?;
        total = total.saturating_add(size);
        if total > bounds::GLTF_UNPACKED_BYTES {
            return Err(too_large(format!(
                "{name} would have more than {} bytes when decompressed. Simplify or split it",
                bounds::GLTF_UNPACKED_BYTES
            )));
        }
        if (size as u64) < view.byte_length.0 {
            return Err(bad(format!(
                "has {size} bytes when decompressed, but should have {}",
                view.byte_length.0
            )));
        }
        let end = compressed.byte_offset.checked_add(compressed.byte_length);
        let range = end.map(|end| compressed.byte_offset..end);
        let bytes = buffers.get(compressed.buffer).zip(range).and_then(|(all, at)| all.get(at));
        let bytes = bytes.ok_or_else(|| bad("reaches beyond its buffer".to_owned()))?;
        let bytes =
            compressed.decode(bytes).ok_or_else(|| bad("cannot be decompressed".to_owned()))?;
        views.insert(index, bytes);
    }
    Ok(views)
}
