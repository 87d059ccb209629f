//! Writes a scene as glTF 2.0 binary: one self-contained file.

use super::image_writer::png_bytes;
use crate::preview::Scene;
use crate::preview::scene::{AlphaMode, Mapping, Material, Part, Texture, UvSet, Wrap};
use glam::{Vec2, Vec3, Vec4};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34_962;
const ELEMENT_ARRAY_BUFFER: u32 = 34_963;

/// Writes a GLB that holds everything: geometry, materials, and textures as PNG. The same scene
/// gives the same bytes. Fails with `InvalidInput` when it would be larger than 4 GiB.
pub fn write_glb(scene: &Scene, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&glb_bytes(scene)?)?;
    file.flush()
}

/// As [`write_glb`], in memory.
pub fn glb_bytes(scene: &Scene) -> io::Result<Vec<u8>> {
    let mut glb = Glb::default();
    for part in scene.parts.iter().filter(|part| !part.indices.is_empty()) {
        glb.part(part, scene.materials.len())?;
    }
    for texture in &scene.textures {
        glb.texture(texture)?;
    }
    let mut extensions: Vec<&str> = Vec::new();
    let materials: Vec<Value> =
        scene.materials.iter().map(|material| material_json(material, &mut extensions)).collect();
    let mut root = json!({
        "asset": { "version": "2.0", "generator": "Sawah" },
        "scene": 0,
        "scenes": [{ "nodes": (0..glb.nodes.len()).collect::<Vec<_>>() }],
        "nodes": glb.nodes,
        "meshes": glb.meshes,
        "accessors": glb.accessors,
        "bufferViews": glb.views,
        "buffers": [{ "byteLength": glb.binary.len() }],
        "materials": materials,
        "textures": glb.textures,
        "samplers": glb.samplers,
        "images": glb.images,
        "extensionsUsed": extensions,
    });
    // Empty lists are not allowed in a glTF.
    if let Some(root) = root.as_object_mut() {
        root.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        if glb.nodes.is_empty() {
            root.insert("scenes".to_owned(), json!([{}]));
        }
        if glb.binary.is_empty() {
            root.remove("buffers");
        }
    }
    container(&serde_json::to_vec(&root)?, &glb.binary)
}

fn container(json: &[u8], binary: &[u8]) -> io::Result<Vec<u8>> {
    let padded = |length: usize| length.div_ceil(4) * 4;
    let total = 12 + 8 + padded(json.len()) + 8 + padded(binary.len());
    let size = |length: usize| {
        u32::try_from(length).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "a GLB cannot be larger than 4 GiB")
        })
    };
    let mut bytes = Vec::with_capacity(total);
    bytes.extend(b"glTF");
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(size(total)?.to_le_bytes());
    for (kind, data, filler) in [(b"JSON", json, b' '), (b"BIN\0", binary, 0)] {
        bytes.extend(size(padded(data.len()))?.to_le_bytes());
        bytes.extend(kind);
        bytes.extend(data);
        bytes.resize(bytes.len().div_ceil(4) * 4, filler);
    }
    Ok(bytes)
}

#[derive(Default)]
struct Glb {
    binary: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    nodes: Vec<Value>,
    textures: Vec<Value>,
    samplers: Vec<Value>,
    images: Vec<Value>,
}

impl Glb {
    /// Adds bytes at a multiple of four; gives the view.
    fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        self.binary.resize(self.binary.len().div_ceil(4) * 4, 0);
        let mut view =
            json!({ "buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len() });
        if let (Some(target), Some(view)) = (target, view.as_object_mut()) {
            view.insert("target".to_owned(), target.into());
        }
        self.binary.extend(bytes);
        self.views.push(view);
        self.views.len() - 1
    }

    fn accessor(&mut self, values: &[f32], width: usize, kind: &str) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(ARRAY_BUFFER));
        self.accessors.push(json!({
            "bufferView": view,
            "componentType": FLOAT,
            "count": values.len() / width,
            "type": kind,
        }));
        self.accessors.len() - 1
    }

    fn part(&mut self, part: &Part, materials: usize) -> io::Result<()> {
        let count = part.positions.len();
        let same = |length: usize| length == 0 || length == count;
        let wild = part.indices.iter().any(|index| *index as usize >= count);
        let lengths = [
            part.normals.len(),
            part.tangents.len(),
            part.uvs.len(),
            part.more_uvs.len(),
            part.colors.len(),
        ];
        if wild || !lengths.into_iter().all(same) {
            let message = format!("the lists of part '{}' do not fit each other", part.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut attributes = Map::new();
        let positions: Vec<f32> = part.positions.iter().flat_map(Vec3::to_array).collect();
        let accessor = self.accessor(&positions, 3, "VEC3");
        let least = part.positions.iter().copied().fold(Vec3::INFINITY, Vec3::min);
        let most = part.positions.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
        if let Some(accessor) = self.accessors.get_mut(accessor).and_then(Value::as_object_mut) {
            accessor.insert("min".to_owned(), json!(least.to_array()));
            accessor.insert("max".to_owned(), json!(most.to_array()));
        }
        attributes.insert("POSITION".to_owned(), accessor.into());
        let normals: Vec<f32> = part.normals.iter().flat_map(Vec3::to_array).collect();
        let tangents: Vec<f32> = part.tangents.iter().flat_map(Vec4::to_array).collect();
        let uvs: Vec<f32> = part.uvs.iter().flat_map(Vec2::to_array).collect();
        let more_uvs: Vec<f32> = part.more_uvs.iter().flat_map(Vec2::to_array).collect();
        let colors: Vec<f32> = part.colors.iter().flat_map(Vec4::to_array).collect();
        for (name, values, width, kind) in [
            ("NORMAL", normals, 3, "VEC3"),
            ("TANGENT", tangents, 4, "VEC4"),
            ("TEXCOORD_0", uvs, 2, "VEC2"),
            ("TEXCOORD_1", more_uvs, 2, "VEC2"),
            ("COLOR_0", colors, 4, "VEC4"),
        ] {
            if !values.is_empty() {
                let accessor = self.accessor(&values, width, kind);
                attributes.insert(name.to_owned(), accessor.into());
            }
        }
        let mut primitive =
            json!({ "attributes": attributes, "indices": self.indices(&part.indices) });
        if let (true, Some(primitive)) = (part.material < materials, primitive.as_object_mut()) {
            primitive.insert("material".to_owned(), part.material.into());
        }
        self.nodes.push(json!({ "name": part.name, "mesh": self.meshes.len() }));
        self.meshes.push(json!({ "name": part.name, "primitives": [primitive] }));
        Ok(())
    }

    fn indices(&mut self, indices: &[u32]) -> usize {
        let bytes: Vec<u8> = indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(ELEMENT_ARRAY_BUFFER));
        self.accessors.push(json!({
            "bufferView": view,
            "componentType": UNSIGNED_INT,
            "count": indices.len(),
            "type": "SCALAR",
        }));
        self.accessors.len() - 1
    }

    fn texture(&mut self, texture: &Texture) -> io::Result<()> {
        let png = png_bytes(texture.width, texture.height, &texture.rgba)?;
        let view = self.view(&png, None);
        self.images.push(json!({
            "name": texture.name, "bufferView": view, "mimeType": "image/png",
        }));
        let filter = if texture.nearest { (9728, 9728) } else { (9729, 9987) };
        let [u, v] = texture.wrap.map(|wrap| match wrap {
            Wrap::Repeat => 10_497,
            Wrap::Mirror => 33_648,
            Wrap::Clamp => 33_071,
        });
        self.samplers.push(json!({
            "magFilter": filter.0, "minFilter": filter.1, "wrapS": u, "wrapT": v,
        }));
        let index = self.images.len() - 1;
        self.textures.push(json!({ "source": index, "sampler": index }));
        Ok(())
    }
}

/// A use of a texture with its mapping, and what its slot says beside.
fn texture_json(
    texture: Option<usize>,
    mapping: &Mapping,
    beside: Option<(&str, f32)>,
    used: &mut Vec<&str>,
) -> Option<Value> {
    const TRANSFORM: &str = "KHR_texture_transform";
    let mut all = Map::new();
    all.insert("index".to_owned(), texture?.into());
    if mapping.uv_set == UvSet::Second {
        all.insert("texCoord".to_owned(), 1.into());
    }
    if let Some((name, value)) = beside {
        all.insert(name.to_owned(), json!(value));
    }
    if !mapping.is_plain() {
        let transform = json!({
            "offset": mapping.offset.to_array(),
            "rotation": mapping.rotation,
            "scale": mapping.scale.to_array(),
        });
        all.insert("extensions".to_owned(), json!({ TRANSFORM: transform }));
        if !used.contains(&TRANSFORM) {
            used.push(TRANSFORM);
        }
    }
    Some(Value::Object(all))
}

fn material_json(material: &Material, used: &mut Vec<&str>) -> Value {
    let mut pbr = Map::new();
    pbr.insert("baseColorFactor".to_owned(), json!(material.base_color.to_array()));
    pbr.insert("metallicFactor".to_owned(), json!(material.metallic));
    pbr.insert("roughnessFactor".to_owned(), json!(material.roughness));
    let mut all = Map::new();
    let put = |map: &mut Map<String, Value>, key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    };
    let maps = &material.mappings;
    let base = texture_json(material.base_color_texture, &maps.base_color, None, used);
    put(&mut pbr, "baseColorTexture", base);
    let rough = material.metallic_roughness_texture;
    let rough = texture_json(rough, &maps.metallic_roughness, None, used);
    put(&mut pbr, "metallicRoughnessTexture", rough);
    put(&mut all, "name", Some(json!(material.name)));
    put(&mut all, "pbrMetallicRoughness", Some(Value::Object(pbr)));
    let scale = Some(("scale", material.normal_scale));
    let normal = texture_json(material.normal_texture, &maps.normal, scale, used);
    put(&mut all, "normalTexture", normal);
    let strength = Some(("strength", material.occlusion_strength));
    let shade = texture_json(material.occlusion_texture, &maps.occlusion, strength, used);
    put(&mut all, "occlusionTexture", shade);
    let glow = texture_json(material.emissive_texture, &maps.emissive, None, used);
    put(&mut all, "emissiveTexture", glow);
    let strength = material.emissive.max_element().max(1.0);
    let emissive = material.emissive / strength;
    put(&mut all, "emissiveFactor", (emissive != Vec3::ZERO).then(|| json!(emissive.to_array())));
    let mode = match material.alpha {
        AlphaMode::Opaque => None,
        AlphaMode::Mask { cutoff } => {
            put(&mut all, "alphaCutoff", Some(json!(cutoff)));
            Some(json!("MASK"))
        }
        AlphaMode::Blend => Some(json!("BLEND")),
    };
    put(&mut all, "alphaMode", mode);
    put(&mut all, "doubleSided", Some(json!(material.double_sided)));
    let mut extensions = Map::new();
    let mut extend = |name: &'static str, value: Value| {
        extensions.insert(name.to_owned(), value);
        if !used.contains(&name) {
            used.push(name);
        }
    };
    if strength > 1.0 {
        extend("KHR_materials_emissive_strength", json!({ "emissiveStrength": strength }));
    }
    if material.unlit {
        extend("KHR_materials_unlit", json!({}));
    }
    put(&mut all, "extensions", (!extensions.is_empty()).then_some(Value::Object(extensions)));
    Value::Object(all)
}
