//! How much the readers take on, by name.

/// Largest main or side file of a mesh, in bytes; it is read into memory.
pub const MESH_FILE_BYTES: u64 = 1 << 30;
/// Largest picture file, in bytes; it is read into memory.
pub const IMAGE_FILE_BYTES: u64 = 1 << 30;
/// Most pixels of one picture (16384 × 8192). At 16 bytes each they take 2 GiB.
pub const IMAGE_PIXELS: u64 = 1 << 27;
/// Longest edge of a picture.
pub const IMAGE_EDGE: u32 = 1 << 16;
/// Most bytes that the channels of one EXR part may take when decoded.
pub const EXR_DECODED_BYTES: u64 = 4 << 30;
/// Most bytes of one block of EXR pixels when decoded.
pub const EXR_BLOCK_BYTES: u64 = 512 << 20;
/// Most attributes of one EXR part that are named.
pub const EXR_ATTRIBUTES: usize = 64;
/// Most parts and channels in an EXR header.
pub const EXR_PARTS: usize = 256;
/// Most layers of an EXR that a message names.
pub const EXR_LAYERS_NAMED: usize = 40;
/// Most channels of one EXR part.
pub const EXR_CHANNELS: usize = 1_024;
/// Most bytes of all textures of one mesh when decoded.
pub const TEXTURE_BYTES: u64 = 1 << 30;
/// Most corners of one mesh asset after instancing.
pub const CORNERS: usize = 20_000_000;
/// Most indices of one mesh asset after instancing.
pub const INDICES: usize = 60_000_000;
/// Most parts of one scene.
pub const PARTS: usize = 100_000;
/// Most points and lines that are drawn of one mesh asset; each takes eight triangles at most.
pub const STROKES: usize = 1_500_000;
/// Most nodes of one glTF.
pub const NODES: usize = 1_000_000;
/// Most corners of one polygon.
pub const POLYGON_CORNERS: usize = 100_000;
/// Above this many corners a polygon becomes a fan: cutting ears takes time with their square.
pub const EAR_CORNERS: usize = 512;
/// Most side files that one asset may name.
pub const REFERENCES: usize = 10_000;
/// Longest line read of a text file, in bytes; a longer one is corrupt.
pub const LINE_BYTES: usize = 1 << 20;
/// Longest JSON part of a glTF, in bytes.
pub const GLTF_JSON_BYTES: usize = 128 << 20;
/// Most parents above a joint that the shown scene does not have.
pub const GLTF_DEPTH: usize = 1_000;
/// Most sets of four joints that one corner of a glTF follows.
pub const GLTF_JOINT_SETS: u32 = 16;
/// Most bytes of all compressed buffer views of one glTF when decompressed.
pub const GLTF_UNPACKED_BYTES: usize = 1 << 30;
/// Most memory that the parser of FBX takes for its work, and again for its result, in bytes.
pub const FBX_MEMORY_BYTES: usize = 2 << 30;
/// Most nodes below each other in one FBX.
pub const FBX_DEPTH: u32 = 1_000;
/// Most bytes of all layers of one USD, each counted as often as it is opened.
pub const USD_LAYER_BYTES: u64 = 2 << 30;
/// Most brackets within brackets in a text USD, and prims below each other in any.
pub const USD_DEPTH: usize = 64;
/// Most entries of a table in a binary USD (tokens, fields, specs, elements of one array).
pub const USD_ENTRIES: u64 = 64 << 20;
/// Most bytes of all names in one binary USD.
pub const USD_TOKEN_BYTES: u64 = 256 << 20;
/// Most dictionaries and samples looked at in one binary USD.
pub const USD_NESTED: usize = 1_000_000;
/// Most connections followed from an input of a material to its value.
pub const USD_CONNECTIONS: usize = 32;
/// Most files in one USDZ.
pub const USDZ_FILES: usize = 10_000;
/// Largest MTL file, in bytes.
pub const MTL_BYTES: u64 = 16 << 20;
/// Entries read of one folder when a name is looked up without regard to case.
pub const FOLDER_ENTRIES: usize = 20_000;
/// How much of a file's head is looked at to say what it is, in bytes.
pub const SNIFF_BYTES: usize = 64 << 10;

/// Light above this, the greatest half, becomes this.
const MOST_LIGHT: f32 = 65_504.0;

/// Not-a-number becomes black, infinity the greatest half: neither may spread when pixels mix.
pub(super) fn finite(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(-MOST_LIGHT, MOST_LIGHT) }
}
