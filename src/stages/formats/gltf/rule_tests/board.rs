//! Scenes that are put together piece by piece.

use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use crate::stages::formats::LoadedScene;
use crate::stages::formats::gltf::tests::{Doc, FLOAT, floats};
use crate::stages::formats::image_writer::png_bytes;
use glam::{Vec2, Vec3, Vec4};
use serde_json::{Value, json};

/// A glTF document that grows.
pub(super) struct Board {
    pub(super) doc: Doc,
}

/// A square that faces +Z, with the whole texture upright on it.
pub(super) fn tile(center: Vec3, half: f32) -> Part {
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    Part {
        positions: corners.map(|(x, y)| center + Vec3::new(x, y, 0.0) * half).to_vec(),
        normals: vec![Vec3::Z; 4],
        uvs: corners.map(|(x, y)| Vec2::new(x * 0.5 + 0.5, 0.5 - y * 0.5)).to_vec(),
        indices: vec![0, 1, 2, 0, 2, 3],
        ..Part::default()
    }
}

/// The middle of a place in a grid of tiles of half size 0.5.
pub(super) fn place(column: u8, row: u8) -> Vec3 {
    Vec3::new(f32::from(column) * 1.1, -f32::from(row) * 1.1, 0.0)
}

/// A material of factors.
pub(super) fn factors(color: [f32; 4], metallic: f32, roughness: f32) -> Value {
    json!({ "pbrMetallicRoughness": {
        "baseColorFactor": color, "metallicFactor": metallic, "roughnessFactor": roughness,
    }})
}

/// The same with more said beside it.
pub(super) fn with(mut material: Value, more: Value) -> Value {
    let (Some(all), Value::Object(more)) = (material.as_object_mut(), more) else {
        panic!("materials are objects")
    };
    all.extend(more);
    material
}

/// A colour that no light changes.
pub(super) fn unlit(color: [f32; 4]) -> Value {
    with(factors(color, 0.0, 1.0), json!({ "extensions": { "KHR_materials_unlit": {} } }))
}

impl Board {
    pub(super) fn new() -> Self {
        Self { doc: Doc::empty() }
    }

    /// Adds to a list of the document; gives the index.
    pub(super) fn push(&mut self, list: &str, value: Value) -> usize {
        let list = &mut self.doc.root[list];
        if list.is_null() {
            *list = json!([]);
        }
        let list = list.as_array_mut().expect("a list");
        list.push(value);
        list.len() - 1
    }

    pub(super) fn material(&mut self, material: Value) -> usize {
        self.push("materials", material)
    }

    /// A texture of these pixels.
    pub(super) fn texture(&mut self, width: u32, rgba: &[[u8; 4]], sampler: Value) -> usize {
        let height = rgba.len() as u32 / width;
        self.encoded(&png_bytes(width, height, rgba.as_flattened()).expect("encoded"), sampler)
    }

    /// A texture of one colour.
    pub(super) fn dye(&mut self, rgba: [u8; 4]) -> usize {
        self.texture(4, &[rgba; 16], json!({}))
    }

    /// A texture of a PNG file's bytes.
    pub(super) fn encoded(&mut self, png: &[u8], sampler: Value) -> usize {
        let view = self.doc.view(png);
        let image = self.push("images", json!({ "bufferView": view, "mimeType": "image/png" }));
        let sampler = self.push("samplers", sampler);
        self.push("textures", json!({ "source": image, "sampler": sampler }))
    }

    /// A mesh of all that the part has.
    pub(super) fn mesh(&mut self, part: &Part, material: Option<usize>) -> usize {
        let mut attributes = json!({});
        let flat =
            |list: &[Vec3]| floats(&list.iter().flat_map(Vec3::to_array).collect::<Vec<_>>());
        let positions = self.doc.add(FLOAT, "VEC3", &flat(&part.positions));
        attributes["POSITION"] = positions.into();
        if !part.normals.is_empty() {
            attributes["NORMAL"] = self.doc.add(FLOAT, "VEC3", &flat(&part.normals)).into();
        }
        for (name, uvs) in [("TEXCOORD_0", &part.uvs), ("TEXCOORD_1", &part.more_uvs)] {
            if !uvs.is_empty() {
                let uvs: Vec<f32> = uvs.iter().flat_map(Vec2::to_array).collect();
                attributes[name] = self.doc.add(FLOAT, "VEC2", &floats(&uvs)).into();
            }
        }
        if !part.tangents.is_empty() {
            let tangents: Vec<f32> = part.tangents.iter().flat_map(Vec4::to_array).collect();
            attributes["TANGENT"] = self.doc.add(FLOAT, "VEC4", &floats(&tangents)).into();
        }
        if !part.colors.is_empty() {
            let colors: Vec<f32> = part.colors.iter().flat_map(Vec4::to_array).collect();
            attributes["COLOR_0"] = self.doc.add(FLOAT, "VEC4", &floats(&colors)).into();
        }
        let indices: Vec<u8> = part.indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        let indices = self.doc.add(5125, "SCALAR", &indices);
        let mut primitive = json!({ "attributes": attributes, "indices": indices });
        if let Some(material) = material {
            primitive["material"] = material.into();
        }
        self.push("meshes", json!({ "primitives": [primitive] }))
    }

    /// A node below another, or below nothing yet.
    pub(super) fn loose(&mut self, node: Value) -> usize {
        self.push("nodes", node)
    }

    /// A node of the scene.
    pub(super) fn node(&mut self, node: Value) -> usize {
        let index = self.loose(node);
        let shown = self.doc.root["scenes"][0]["nodes"].as_array_mut().expect("a list");
        shown.push(index.into());
        index
    }

    /// Shows a part; gives its mesh.
    pub(super) fn show(&mut self, part: &Part, material: Value) -> usize {
        let material = self.material(material);
        let mesh = self.mesh(part, Some(material));
        self.node(json!({ "mesh": mesh }));
        mesh
    }

    /// Shows a tile at a place of the grid; gives its mesh.
    pub(super) fn tile(&mut self, column: u8, row: u8, material: Value) -> usize {
        self.show(&tile(place(column, row), 0.5), material)
    }

    /// Gives the only primitive of a mesh another attribute.
    pub(super) fn attribute(&mut self, mesh: usize, name: &str, accessor: usize) {
        self.doc.root["meshes"][mesh]["primitives"][0]["attributes"][name] = accessor.into();
    }

    pub(super) fn try_read(self) -> Result<LoadedScene, Failure> {
        self.doc.read()
    }

    /// Reads what must read without a warning.
    pub(super) fn read(self) -> LoadedScene {
        let loaded = self.try_read().expect("reads");
        assert_eq!(loaded.warnings, []);
        loaded
    }
}
