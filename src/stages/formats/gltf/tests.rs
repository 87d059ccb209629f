//! One small generated glTF for each rule about shapes.

use crate::model::Reason;
use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use crate::stages::formats::LoadedScene;
use crate::stages::formats::tests::load;
use glam::{Vec3, Vec4};
use serde_json::{Value, json};

/// A document that grows: each list of numbers gets a view and an accessor.
#[derive(Clone)]
pub(super) struct Doc {
    pub root: Value,
    binary: Vec<u8>,
}

pub(super) const FLOAT: u32 = 5126;
pub(super) const UBYTE: u32 = 5121;
const SHORT: u32 = 5122;
pub(super) const USHORT: u32 = 5123;

pub(super) fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(super) fn shorts(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("hex")).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

impl Doc {
    /// A scene of nothing.
    pub(super) fn empty() -> Self {
        let root = json!({
            "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [] }],
            "accessors": [], "bufferViews": [], "buffers": [{}],
        });
        Self { root, binary: Vec::new() }
    }

    /// The bytes of buffer 0 so far.
    pub(super) fn binary(&self) -> &[u8] {
        &self.binary
    }

    /// One triangle (0 0 0, 1 0 0, 0 1 0) as accessor 0, mesh 0 and node 0.
    pub(super) fn triangle() -> Self {
        let mut doc = Self {
            root: json!({
                "asset": { "version": "2.0" },
                "scene": 0,
                "scenes": [{ "nodes": [0] }],
                "nodes": [{ "mesh": 0 }],
                "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
                "accessors": [],
                "bufferViews": [],
                "buffers": [{}],
            }),
            binary: Vec::new(),
        };
        doc.add(FLOAT, "VEC3", &floats(&[0., 0., 0., 1., 0., 0., 0., 1., 0.]));
        doc
    }

    pub(super) fn view(&mut self, bytes: &[u8]) -> usize {
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        let view = json!({
            "buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len(),
        });
        self.binary.extend(bytes);
        let views = self.root["bufferViews"].as_array_mut().expect("a list");
        views.push(view);
        views.len() - 1
    }

    pub(super) fn accessor(&mut self, accessor: Value) -> usize {
        let all = self.root["accessors"].as_array_mut().expect("a list");
        all.push(accessor);
        all.len() - 1
    }

    pub(super) fn add(&mut self, component: u32, kind: &str, bytes: &[u8]) -> usize {
        let size = match component {
            UBYTE => 1,
            SHORT | USHORT => 2,
            _ => 4,
        };
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let view = self.view(bytes);
        self.accessor(json!({
            "bufferView": view, "componentType": component, "type": kind,
            "count": bytes.len() / size / width,
        }))
    }

    /// Gives the primitive an attribute of accessor `at`.
    pub(super) fn attribute(&mut self, name: &str, at: usize) {
        self.root["meshes"][0]["primitives"][0]["attributes"][name] = at.into();
    }

    pub(super) fn bytes(mut self) -> Vec<u8> {
        if self.root["buffers"][0].as_object().is_some_and(|buffer| !buffer.contains_key("uri")) {
            self.root["buffers"][0]["byteLength"] = self.binary.len().into();
        }
        let mut json = serde_json::to_vec(&self.root).expect("is JSON");
        json.resize(json.len().next_multiple_of(4), b' ');
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        let total = 28 + json.len() + self.binary.len();
        let mut glb = b"glTF\x02\0\0\0".to_vec();
        glb.extend((total as u32).to_le_bytes());
        glb.extend((json.len() as u32).to_le_bytes());
        glb.extend(b"JSON");
        glb.extend(json);
        glb.extend((self.binary.len() as u32).to_le_bytes());
        glb.extend(b"BIN\0");
        glb.extend(self.binary);
        glb
    }

    pub(super) fn read(self) -> Result<LoadedScene, Failure> {
        load("a.glb", &self.bytes())
    }

    /// Reads what must read, without a warning; gives its only part.
    pub(super) fn part(self) -> Part {
        let mut loaded = self.read().expect("reads");
        assert_eq!(loaded.warnings, []);
        assert_eq!(loaded.scene.parts.len(), 1);
        loaded.scene.parts.remove(0)
    }

    #[track_caller]
    pub(super) fn refused(self, reason: Reason, part: &str) {
        let failure = self.read().expect_err("is bad");
        assert_eq!(failure.reason, reason, "{}", failure.message);
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}

#[test]
fn quantised_positions_are_scaled_as_their_accessor_says() {
    let mut doc = Doc::triangle();
    doc.root["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    let half = doc.view(&shorts(&[0, 0, 0, 0, 16_384, 0, 0, 0, 0, 32_767, 0x8000, 0]));
    doc.root["bufferViews"][half]["byteStride"] = 8.into();
    let at = doc.accessor(json!({
        "bufferView": half, "componentType": SHORT, "type": "VEC3", "count": 3, "normalized": true,
    }));
    doc.attribute("POSITION", at);
    let part = doc.part();
    assert!((part.positions[1].x - 0.500_015).abs() < 1e-5, "{:?}", part.positions);
    assert_eq!(part.positions[2], Vec3::new(0.0, 1.0, -1.0));
    let mut doc = Doc::triangle();
    let whole = doc.add(UBYTE, "VEC3", &[0, 0, 0, 200, 0, 0, 0, 200, 0]);
    doc.attribute("POSITION", whole);
    doc.root["nodes"][0]["scale"] = json!([0.01, 0.01, 0.01]);
    assert_eq!(doc.part().positions[1], Vec3::X * 2.0);
}

/// Four corners and two triangles, compressed by the encoder of meshoptimizer.
fn compressed(extension: &str) -> Doc {
    let mut doc = Doc::triangle();
    let (corners, indices) = (hex(CORNERS), hex(INDICES));
    let pressed = [(corners, 12, 4, "ATTRIBUTES"), (indices, 2, 6, "TRIANGLES")];
    doc.root["bufferViews"] = json!([]);
    doc.root["accessors"] = json!([
        { "bufferView": 0, "componentType": FLOAT, "type": "VEC3", "count": 4 },
        { "bufferView": 1, "componentType": USHORT, "type": "SCALAR", "count": 6 },
    ]);
    doc.binary.clear();
    for (at, (bytes, stride, count, mode)) in pressed.into_iter().enumerate() {
        doc.view(&bytes);
        let view = &mut doc.root["bufferViews"][at];
        let packed = json!({
            "buffer": 0, "byteOffset": view["byteOffset"], "byteLength": bytes.len(),
            "byteStride": stride, "count": count, "mode": mode,
        });
        *view = json!({
            "buffer": 1, "byteLength": stride * count, "extensions": { extension: packed },
        });
    }
    doc.root["buffers"] =
        json!([{}, { "byteLength": 60, "extensions": { extension: { "fallback": true } } }]);
    doc.root["extensionsRequired"] = json!([extension]);
    doc.root["meshes"][0]["primitives"][0]["indices"] = 1.into();
    doc
}

const CORNERS: &str = "a00000013f000000ffffff013f0000007e7d7e0000010c000000ff010c0000007e000000000000000000000000000000000000000000000000000000000000000000000000";
const INDICES: &str = "e1f010007687566778a9866589689801690000";

#[test]
fn meshes_compressed_by_meshopt_are_read() {
    for extension in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
        let loaded = compressed(extension).read().expect("reads");
        assert_eq!((loaded.scene.triangles(), loaded.warnings.len()), (2, 0));
        let bounds = loaded.scene.bounds().expect("has corners");
        assert_eq!((bounds.min, bounds.max), (Vec3::ZERO, Vec3::new(1.0, 1.0, 0.0)));
        assert_eq!(loaded.scene.parts[0].normals, [Vec3::Z; 6]);
    }
    let mut cut = compressed("EXT_meshopt_compression");
    let pointer = "/bufferViews/0/extensions/EXT_meshopt_compression/byteLength";
    *cut.root.pointer_mut(pointer).expect("is there") = 30.into();
    cut.refused(Reason::InputCorrupt, "view 0");
    let mut bomb = compressed("EXT_meshopt_compression");
    let pointer = "/bufferViews/0/extensions/EXT_meshopt_compression/count";
    *bomb.root.pointer_mut(pointer).expect("is there") = 400_000_000.into();
    bomb.refused(Reason::InputTooLarge, "decompressed");
}

fn sparse(places: [u8; 2], view: bool) -> Doc {
    let mut doc = Doc::triangle();
    let places = doc.view(&places);
    let values = doc.view(&floats(&[2., 0., 0., 0., 3., 0.]));
    let mut accessor = json!({
        "componentType": FLOAT, "type": "VEC3", "count": 3,
        "sparse": {
            "count": 2,
            "indices": { "bufferView": places, "componentType": UBYTE },
            "values": { "bufferView": values },
        },
    });
    if view {
        accessor["bufferView"] = 0.into();
    }
    let at = doc.accessor(accessor);
    doc.attribute("POSITION", at);
    doc
}

#[test]
fn sparse_accessors_stand_on_a_view_or_on_zeros() {
    let expected = [Vec3::ZERO, Vec3::X * 2.0, Vec3::Y * 3.0];
    assert_eq!(sparse([1, 2], false).part().positions, expected);
    assert_eq!(sparse([0, 2], true).part().positions[1], Vec3::X);
    sparse([1, 3], true).refused(Reason::InputCorrupt, "sparse value at 3");
    sparse([1, 1], true).refused(Reason::InputCorrupt, "sparse value at 1");
}

#[test]
fn all_topologies_are_drawn() {
    let quad = floats(&[0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.]);
    // A point is a solid of eight triangles, a line one of six.
    for (mode, triangles) in
        [(0, 4 * 8), (1, 2 * 6), (2, 4 * 6), (3, 3 * 6), (4, 1), (5, 2), (6, 2)]
    {
        for indexed in [false, true] {
            let mut doc = Doc::triangle();
            let at = doc.add(FLOAT, "VEC3", &quad);
            doc.attribute("POSITION", at);
            doc.root["meshes"][0]["primitives"][0]["mode"] = mode.into();
            if indexed {
                let order = doc.add(UBYTE, "SCALAR", &[0, 1, 2, 3]);
                doc.root["meshes"][0]["primitives"][0]["indices"] = order.into();
            }
            let part = doc.part();
            assert_eq!(part.indices.len(), triangles * 3, "mode {mode}");
        }
    }
    // A strip turns every second triangle, a fan none.
    for (mode, normals) in [(5, [Vec3::Z; 6]), (6, [Vec3::Z; 6])] {
        let mut doc = Doc::triangle();
        let round = floats(&[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
        let at = doc.add(FLOAT, "VEC3", if mode == 5 { &quad } else { &round });
        doc.attribute("POSITION", at);
        doc.root["meshes"][0]["primitives"][0]["mode"] = mode.into();
        assert_eq!(doc.part().normals, normals, "mode {mode}");
    }
}

/// A triangle that follows two joints: the first stands still, the second is moved by (0, 0, 5).
fn skinned(places: &[u8], weights: &[f32]) -> Doc {
    let mut doc = Doc::triangle();
    let places = doc.add(UBYTE, "VEC4", places);
    let weights = doc.add(FLOAT, "VEC4", &floats(weights));
    doc.attribute("JOINTS_0", places);
    doc.attribute("WEIGHTS_0", weights);
    doc.root["skins"] = json!([{ "joints": [1, 2] }]);
    doc.root["scenes"] = json!([{ "nodes": [0, 1] }]);
    doc.root["nodes"] = json!([
        { "mesh": 0, "skin": 0, "translation": [100, 0, 0] },
        { "children": [2] },
        { "translation": [0, 0, 5] },
    ]);
    doc
}

const ONLY_SECOND: [u8; 12] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
const FULL: [f32; 12] = [1., 0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0.];

#[test]
fn skins_are_posed_and_their_own_node_does_not_count() {
    let part = skinned(&ONLY_SECOND, &FULL).part();
    assert_eq!(part.positions[1], Vec3::new(1.0, 0.0, 5.0));
    // Half of each joint, in a second set; weights that do not sum to 1 are made to.
    let mut doc = skinned(&ONLY_SECOND, &FULL);
    let places = doc.add(UBYTE, "VEC4", &[0; 12]);
    let weights = doc.add(FLOAT, "VEC4", &floats(&FULL));
    doc.attribute("JOINTS_1", places);
    doc.attribute("WEIGHTS_1", weights);
    assert_eq!(doc.part().positions[1], Vec3::new(1.0, 0.0, 2.5));
    // A joint that the scene does not show stands where its own parents put it.
    let mut doc = skinned(&ONLY_SECOND, &FULL);
    doc.root["scenes"] = json!([{ "nodes": [0] }]);
    assert_eq!(doc.part().positions[1], Vec3::new(1.0, 0.0, 5.0));
    let wild = [9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    skinned(&wild, &FULL).refused(Reason::InputCorrupt, "joint 9");
    skinned(&ONLY_SECOND[..8], &FULL).refused(Reason::InputCorrupt, "2 joints");
}

pub(super) fn morphing() -> Doc {
    let mut doc = Doc::triangle();
    let up = doc.add(FLOAT, "VEC3", &floats(&[0., 0., 8., 0., 0., 8., 0., 0., 8.]));
    doc.root["meshes"][0]["primitives"][0]["targets"] = json!([{ "POSITION": up }]);
    doc
}

#[test]
fn morph_targets_are_posed_by_mesh_node_or_first_frame() {
    let height = |doc: Doc| doc.part().positions[1].z;
    assert!(height(morphing()).abs() < 1e-6);
    let mut doc = morphing();
    doc.root["meshes"][0]["weights"] = json!([0.5]);
    assert!((height(doc) - 4.0).abs() < 1e-6);
    let mut doc = morphing();
    doc.root["meshes"][0]["weights"] = json!([0.5]);
    doc.root["nodes"][0]["weights"] = json!([0.25]);
    assert!((height(doc) - 2.0).abs() < 1e-6);
    for (interpolation, values) in
        [("LINEAR", vec![1.0, 0.0]), ("CUBICSPLINE", vec![9.0, 1.0, 9.0, 9.0, 0.0, 9.0])]
    {
        let mut doc = morphing();
        doc.root["nodes"][0]["weights"] = json!([0.25]);
        let times = doc.add(FLOAT, "SCALAR", &floats(&[0.0, 1.0]));
        let weights = doc.add(FLOAT, "SCALAR", &floats(&values));
        doc.root["animations"] = json!([{
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }],
            "samplers": [
                { "input": times, "output": weights, "interpolation": interpolation },
            ],
        }]);
        assert!((height(doc) - 8.0).abs() < 1e-6, "{interpolation}");
    }
}

#[test]
fn the_whole_chain_of_parents_decides_about_mirroring() {
    for (outer, inner, mirrored) in [(1, 1, false), (-1, 1, true), (1, -1, true), (-1, -1, false)] {
        let mut doc = Doc::triangle();
        let normals = doc.add(FLOAT, "VEC3", &floats(&[0., 0., 1., 0., 0., 1., 0., 0., 1.]));
        doc.attribute("NORMAL", normals);
        doc.root["scenes"] = json!([{ "nodes": [1] }]);
        doc.root["nodes"] = json!([
            { "mesh": 0, "scale": [inner, 1, 1] },
            { "children": [0], "scale": [1, outer, 1] },
        ]);
        let part = doc.part();
        let order = if mirrored { [0, 2, 1] } else { [0, 1, 2] };
        assert_eq!(part.indices, order, "{outer} {inner}");
        assert_eq!(part.normals, [Vec3::Z; 3]);
        let [a, b, c] = order.map(|at| part.positions[at as usize]);
        assert!((b - a).cross(c - a).z > 0.0, "its front shows to +Z still");
    }
}

#[test]
fn vertex_colours_of_all_types_are_linear_factors() {
    let white = Vec4::ONE;
    let half = Vec4::new(1.0, 0.5, 0.0, 1.0);
    let cases = [
        (FLOAT, "VEC3", floats(&[1., 1., 1., 1., 0.5, 0., 1., 1., 1.]), false),
        (UBYTE, "VEC4", vec![255, 255, 255, 255, 255, 128, 0, 255, 255, 255, 255, 255], true),
        (USHORT, "VEC3", shorts(&[65_535, 65_535, 65_535, 65_535, 32_768, 0, 0, 0, 0]), true),
        (UBYTE, "VEC3", vec![255, 255, 255, 255, 128, 0, 0, 0, 0], false),
    ];
    for (component, kind, bytes, normalized) in cases {
        let mut doc = Doc::triangle();
        let at = doc.add(component, kind, &bytes);
        doc.root["accessors"][at]["normalized"] = normalized.into();
        doc.attribute("COLOR_0", at);
        let part = doc.part();
        assert_eq!(part.colors[0], white, "{component} {kind}");
        assert!(part.colors[1].abs_diff_eq(half, 0.003), "{component} {kind}: {}", part.colors[1]);
    }
}

#[test]
fn draco_is_refused_by_name_unless_there_is_a_plain_form() {
    let mut doc = Doc::triangle();
    doc.root["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]);
    doc.refused(Reason::InputUnsupported, "without Draco");
    let compressed = json!({ "KHR_draco_mesh_compression": { "bufferView": 0, "attributes": {} } });
    let mut doc = Doc::triangle();
    doc.root["meshes"][0]["primitives"][0]["extensions"] = compressed.clone();
    assert_eq!(doc.part().positions.len(), 3);
    let mut doc = Doc::triangle();
    doc.root["meshes"][0]["primitives"][0]["extensions"] = compressed;
    doc.root["accessors"][0].as_object_mut().expect("an object").remove("bufferView");
    doc.refused(Reason::InputUnsupported, "without Draco");
}

#[test]
fn numbers_that_are_not_finite_are_named() {
    let mut doc = Doc::triangle();
    let six =
        [0., 0., 0., 1., 0., 0., 0., 1., 0., f32::NAN, 0., 0., 1., f32::INFINITY, 0., 0., 1., 0.];
    let at = doc.add(FLOAT, "VEC3", &floats(&six));
    doc.attribute("POSITION", at);
    let uvs =
        doc.add(FLOAT, "VEC2", &floats(&[0., 0., 1., f32::NAN, 0., 1., 0., 0., 0., 0., 0., 0.]));
    doc.attribute("TEXCOORD_0", uvs);
    let loaded = doc.read().expect("reads");
    assert_eq!(loaded.scene.triangles(), 1);
    let said: Vec<&str> = loaded.warnings.iter().map(|one| one.message.as_str()).collect();
    assert!(said.iter().any(|line| line.contains("1 triangles are left out")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("1 texture coordinates")), "{said:?}");
}

#[test]
fn the_facts_count_topologies_joints_and_animations() {
    let mut doc = skinned(&ONLY_SECOND, &FULL);
    let times = doc.add(FLOAT, "SCALAR", &floats(&[0.0, 2.5]));
    let moves = doc.add(FLOAT, "VEC3", &floats(&[0.0; 6]));
    doc.root["accessors"][times]["max"] = json!([2.5]);
    doc.root["animations"] = json!([{
        "name": "walk",
        "channels": [{ "sampler": 0, "target": { "node": 2, "path": "translation" } }],
        "samplers": [{ "input": times, "output": moves }],
    }]);
    doc.root["extensions"] = json!({
        "KHR_lights_punctual": { "lights": [{ "type": "point" }] },
        "KHR_materials_variants": { "variants": [{ "name": "red" }] },
    });
    let facts = doc.read().expect("reads").facts;
    assert_eq!(facts["primitives"], json!({ "triangles": 1 }));
    assert_eq!((&facts["skins"], &facts["most_joints"]), (&json!(1), &json!(2)));
    let walk = json!({ "name": "walk", "seconds": 2.5, "channels": 1 });
    assert_eq!(facts["animations"], json!([walk]));
    assert_eq!((&facts["lights"], &facts["variants"]), (&json!(1), &json!(["red"])));
}

#[test]
fn what_is_drawn_but_not_right_is_told() {
    let said = |change: fn(&mut Doc)| {
        let mut doc = Doc::triangle();
        doc.root["accessors"][0]["min"] = json!([0.0, 0.0, 0.0]);
        doc.root["accessors"][0]["max"] = json!([1.0, 1.0, 0.0]);
        change(&mut doc);
        let warnings = doc.read().expect("reads").warnings;
        warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
    };
    let tells = |change: fn(&mut Doc), part: &str| {
        let said = said(change);
        assert!(matches!(&said[..], [one] if one.contains(part)), "{part}: {said:?}");
    };
    assert_eq!(said(|_| ()), [""; 0]);
    // As exporters round.
    let rounded: fn(&mut Doc) = |doc| doc.root["accessors"][0]["max"][0] = json!(0.9999);
    assert_eq!(said(rounded), [""; 0]);
    tells(|doc| doc.root["accessors"][0]["max"][0] = json!(0.5), "bounds that the file states");
    tells(
        |doc| {
            let view = doc.view(&[0; 4]);
            doc.root["bufferViews"][view]["byteLength"] = 99.into();
        },
        "1 buffer views reach beyond",
    );
    tells(textured, "no texture coordinates");
    let with_coordinates: fn(&mut Doc) = |doc| {
        textured(doc);
        let uvs = doc.add(FLOAT, "VEC2", &floats(&[0., 0., 1., 0., 0., 1.]));
        doc.attribute("TEXCOORD_0", uvs);
    };
    assert_eq!(said(with_coordinates), [""; 0]);
}

/// Gives the primitive a material with a texture of one pixel.
fn textured(doc: &mut Doc) {
    let png = crate::stages::formats::image_writer::png_bytes(1, 1, &[9, 8, 7, 255]);
    let view = doc.view(&png.expect("encoded"));
    doc.root["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    doc.root["textures"] = json!([{ "source": 0 }]);
    doc.root["materials"] =
        json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }]);
    doc.root["meshes"][0]["primitives"][0]["material"] = 0.into();
}
