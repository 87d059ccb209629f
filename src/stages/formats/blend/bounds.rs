//! How much of a `.blend` file the reader takes on, by name.

/// How many of a file's first bytes settle whether it is a `.blend` file, also a compressed one:
/// the header lies in the first zstd block, which has at most 128 KiB when compressed.
pub const HEAD_BYTES: usize = (128 << 10) + 64;
/// Most blocks of one file. A film scene has some hundred thousand.
pub const BLOCKS: u64 = 20_000_000;
/// Most bytes read of one file once it is decompressed; a small archive can hold far more.
pub const DECOMPRESSED_BYTES: u64 = 64 << 30;
/// Most memory that one zstd frame may ask for; Blender's ask for 1 MiB.
pub const ZSTD_WINDOW_BYTES: u64 = 64 << 20;
/// Largest structure catalogue (DNA1). Blender 5.0 writes about 150 KiB.
pub const DNA_BYTES: u64 = 16 << 20;
/// Most names, types or structures in the catalogue.
pub const DNA_ENTRIES: usize = 200_000;
/// Most fields of all structures in the catalogue.
pub const DNA_FIELDS: usize = 2_000_000;
/// Deepest structure within a structure that is looked into.
pub const NESTING: usize = 8;
/// Largest single block that is kept for reading: a strip of 200 000 pictures.
pub const KEPT_BLOCK_BYTES: u64 = 64 << 20;
/// Most bytes of all blocks kept for reading: some 200 000 objects.
pub const KEPT_BYTES: u64 = 512 << 20;
/// Longest edge of the picture in a scene, in pixels; Blender's is 128.
pub const THUMBNAIL_EDGE: u64 = 1_024;
/// Most bytes of its block.
pub const THUMBNAIL_BYTES: u64 = 8 + 4 * THUMBNAIL_EDGE * THUMBNAIL_EDGE;
/// Longest text read out of a field.
pub const TEXT_BYTES: usize = 4 << 10;
/// Most properties looked at in one group.
pub const PROPERTIES: usize = 10_000;
/// Most files that one scene may refer to.
pub const REFERENCES: usize = 100_000;
