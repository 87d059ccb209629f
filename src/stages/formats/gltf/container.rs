//! The outside of a glTF: the GLB container, the JSON, and the checks before it is typed.

use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt, truncated, unsupported};
use gltf::json::Root;
use serde_json::Value;

/// Extensions that a file may require: they are drawn, or what is not drawn is warned of and the
/// shape stays right.
const KNOWN: [&str; 26] = [
    "EXT_meshopt_compression",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_technique_webgl",
    "KHR_techniques_webgl",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "MSFT_texture_dds",
];

/// Meshes that only a library of its own decodes.
pub(super) const DRACO: &str = "KHR_draco_mesh_compression";

/// The two halves of a GLB, or the JSON of a .gltf.
#[derive(Debug)]
pub(super) struct Container<'a> {
    pub json: &'a [u8],
    pub binary: Option<&'a [u8]>,
    /// Bytes after the end that the header states.
    pub trailing: usize,
}

/// Takes a GLB apart; a .gltf is JSON as a whole.
pub(super) fn split<'a>(bytes: &'a [u8], name: &str) -> Result<Container<'a>, Failure> {
    if !bytes.starts_with(b"glTF") {
        let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        return Ok(Container { json, binary: None, trailing: 0 });
    }
    let number = |at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
        field.map(u32::from_le_bytes)
    };
    let (Some(version), Some(length)) = (number(4), number(8)) else {
        return Err(truncated(format!(
            "{name} has {} bytes and ends inside the 12-byte header of a GLB. Copy or export it again",
            bytes.len()
        )));
    };
    if version != 2 {
        return Err(unsupported(format!("{name} is GLB version {version}; version 2 can be read")));
    }
    let length = length as usize;
    if length > bytes.len() {
        return Err(truncated(format!(
            "{name} says it has {length} bytes, but ends after {}. Copy or export it again",
            bytes.len()
        )));
    }
    let mut container = Container { json: &[], binary: None, trailing: bytes.len() - length };
    let inner = bytes.get(..length).unwrap_or_default();
    let mut at = 12_usize;
    while at < length {
        let size = number(at).filter(|_| at + 8 <= length).map(|size| size as usize);
        let kind = inner.get(at + 4..at + 8);
        let data = size.and_then(|size| inner.get(at + 8..(at + 8).checked_add(size)?));
        let (Some(size), Some(kind), Some(data)) = (size, kind, data) else {
            return Err(corrupt(format!(
                "{name}: the chunk at byte {at} reaches beyond the end at byte {length}. Export it again"
            )));
        };
        match kind {
            b"JSON" if at == 12 => container.json = data,
            b"BIN\0" if container.binary.is_none() => container.binary = Some(data),
            _ => {}
        }
        at = at.saturating_add(8).saturating_add(size);
    }
    if container.json.is_empty() {
        return Err(corrupt(format!("{name} does not begin with a JSON chunk. Export it again")));
    }
    Ok(container)
}

/// Parses and checks what the typed form takes for granted.
pub(super) fn parse(json: &[u8], name: &str) -> Result<Root, Failure> {
    if json.len() > bounds::GLTF_JSON_BYTES {
        return Err(super::super::too_large(format!(
            "{name} has {} bytes of JSON; at most {} can be read",
            json.len(),
            bounds::GLTF_JSON_BYTES
        )));
    }
    let mut value: Value = serde_json::from_slice(json).map_err(|error| {
        let message = format!("{name}: its JSON cannot be read: {error}. Copy or export it again");
        if error.is_eof() { truncated(message) } else { corrupt(message) }
    })?;
    check_version(&value, name)?;
    check_required(&value, name)?;
    // A scene without nodes is allowed, but the typed form wants the list.
    for scene in value.get_mut("scenes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(scene) = scene.as_object_mut() {
            scene.entry("nodes").or_insert_with(|| Value::Array(Vec::new()));
        }
    }
    serde_json::from_value(value).map_err(|error| {
        corrupt(format!("{name} is not the JSON of a glTF 2.0: {error}. Export it again"))
    })
}

fn check_version(value: &Value, name: &str) -> Result<(), Failure> {
    let asset = value.get("asset");
    let version = asset.and_then(|asset| asset.get("version")).and_then(Value::as_str);
    match version {
        Some(version) if version.starts_with("2.") => Ok(()),
        Some(version) => {
            Err(unsupported(format!("{name} is glTF {version}; 2.0 can be read. Convert it")))
        }
        None => Err(corrupt(format!("{name} says no glTF version. Export it again"))),
    }
}

fn check_required(value: &Value, name: &str) -> Result<(), Failure> {
    let required = value.get("extensionsRequired").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let unknown: Vec<&str> = required.filter(|extension| !KNOWN.contains(extension)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    if unknown.contains(&DRACO) {
        return Err(draco(name));
    }
    Err(unsupported(format!(
        "{name} needs {}, which cannot be read. Export it without that",
        unknown.join(", ")
    )))
}

/// The refusal of a mesh that only Draco can decode.
pub(super) fn draco(name: &str) -> Failure {
    unsupported(format!(
        "{name} has meshes compressed by Draco ({DRACO}), which cannot be read. Export it without Draco, or with meshopt compression instead"
    ))
}
