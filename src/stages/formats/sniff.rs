//! Says what a file is by its first bytes, not by its name.

use super::{bounds, corrupt, file_name, tga, unsupported, usd};
use crate::model::{AssetKind, Reason};
use crate::protocol::work::Failure;
use crate::stages::failure::failure_from_io;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A format that the farm reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// glTF 2.0 in one binary file.
    Glb,
    /// glTF 2.0 as JSON with side files.
    Gltf,
    /// Wavefront OBJ.
    Obj,
    /// STL, binary.
    StlBinary,
    /// STL, text.
    StlAscii,
    /// Stanford PLY.
    Ply,
    /// FBX, binary or text.
    Fbx,
    /// USD as text.
    Usda,
    /// USD, binary.
    Usdc,
    /// USD and its textures in one archive.
    Usdz,
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// TIFF.
    Tiff,
    /// `OpenEXR`.
    Exr,
    /// Radiance HDR.
    Hdr,
    /// Truevision TGA.
    Tga,
    /// Windows bitmap.
    Bmp,
    /// WebP.
    Webp,
    /// GIF; its first frame.
    Gif,
    /// `DirectDraw` surface.
    Dds,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 20] = [
        Self::Glb,
        Self::Gltf,
        Self::Obj,
        Self::StlBinary,
        Self::StlAscii,
        Self::Ply,
        Self::Fbx,
        Self::Usda,
        Self::Usdc,
        Self::Usdz,
        Self::Png,
        Self::Jpeg,
        Self::Tiff,
        Self::Exr,
        Self::Hdr,
        Self::Tga,
        Self::Bmp,
        Self::Webp,
        Self::Gif,
        Self::Dds,
    ];

    /// What an asset of this format is; a set of numbered pictures is a sequence instead.
    pub const fn kind(self) -> AssetKind {
        match self {
            Self::Glb
            | Self::Gltf
            | Self::Obj
            | Self::StlBinary
            | Self::StlAscii
            | Self::Ply
            | Self::Fbx
            | Self::Usda
            | Self::Usdc
            | Self::Usdz => AssetKind::Mesh,
            Self::Png
            | Self::Jpeg
            | Self::Tiff
            | Self::Exr
            | Self::Hdr
            | Self::Tga
            | Self::Bmp
            | Self::Webp
            | Self::Gif
            | Self::Dds => AssetKind::Image,
        }
    }

    /// The name people use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Glb => "GLB",
            Self::Gltf => "glTF",
            Self::Obj => "OBJ",
            Self::StlBinary => "binary STL",
            Self::StlAscii => "text STL",
            Self::Ply => "PLY",
            Self::Fbx => "FBX",
            Self::Usda => "text USD",
            Self::Usdc => "binary USD",
            Self::Usdz => "USDZ",
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Tiff => "TIFF",
            Self::Exr => "OpenEXR",
            Self::Hdr => "Radiance HDR",
            Self::Tga => "TGA",
            Self::Bmp => "BMP",
            Self::Webp => "WebP",
            Self::Gif => "GIF",
            Self::Dds => "DDS",
        }
    }

    /// The suffixes its files have, without a dot, in lower case; the usual one first.
    pub const fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Glb => &["glb"],
            Self::Gltf => &["gltf"],
            Self::Obj => &["obj"],
            Self::StlBinary | Self::StlAscii => &["stl"],
            Self::Ply => &["ply"],
            Self::Fbx => &["fbx"],
            Self::Usda => &["usda", "usd"],
            Self::Usdc => &["usdc", "usd"],
            Self::Usdz => &["usdz"],
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg", "jpe", "jfif"],
            Self::Tiff => &["tif", "tiff"],
            Self::Exr => &["exr", "sxr", "mxr"],
            Self::Hdr => &["hdr", "rgbe", "pic"],
            Self::Tga => &["tga", "targa", "icb", "vda", "vst"],
            Self::Bmp => &["bmp", "dib"],
            Self::Webp => &["webp"],
            Self::Gif => &["gif"],
            Self::Dds => &["dds"],
        }
    }

    /// The usual suffix, without a dot.
    pub fn suffix(self) -> &'static str {
        self.suffixes().first().copied().unwrap_or("bin")
    }

    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Glb => "model/gltf-binary",
            Self::Gltf => "model/gltf+json",
            Self::Obj => "model/obj",
            Self::StlBinary | Self::StlAscii => "model/stl",
            Self::Ply => "model/ply",
            Self::Usda => "model/vnd.usda",
            Self::Usdz => "model/vnd.usdz+zip",
            // The owners of these formats have registered no type.
            Self::Fbx | Self::Usdc => "application/octet-stream",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Tiff => "image/tiff",
            Self::Exr => "image/x-exr",
            Self::Hdr => "image/vnd.radiance",
            Self::Tga => "image/x-tga",
            Self::Bmp => "image/bmp",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Dds => "image/vnd-ms.dds",
        }
    }

    /// The format whose files have this suffix (any case, no dot). STL counts as binary.
    pub fn by_suffix(suffix: &str) -> Option<Self> {
        let suffix = suffix.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.suffixes().contains(&suffix.as_str()))
    }
}

/// What the file at `path` is.
///
/// Fails with `input.empty`, `input.corrupt` (a known suffix, but no such content),
/// `input.unsupported` or `input.wrong_suffix` (content of another format than the suffix says).
pub fn sniff_file(path: &Path) -> Result<Format, Failure> {
    let (head, size) = read_head(path)?;
    let name = file_name(path);
    let found = sniff_named(&head, size, &name);
    // Where the head says nothing, the mark at the end of a TGA may.
    if found.is_err() && tga::is_header(&head) && tga::ends_with_footer(path) {
        return named_as(Format::Tga, &name);
    }
    found
}

/// As [`sniff_file`], for bytes in hand: the first ones, the size of all, and the file's name.
pub fn sniff_named(head: &[u8], size_bytes: u64, name: &str) -> Result<Format, Failure> {
    if size_bytes == 0 {
        return Err(Failure::new(
            Reason::InputEmpty,
            format!("{name} is empty: it has 0 bytes. Export it again"),
        ));
    }
    let suffix = Path::new(name).extension().map(|suffix| suffix.to_string_lossy().into_owned());
    let named = suffix.as_deref().and_then(Format::by_suffix);
    match (sniff(head, size_bytes, named), named) {
        (Some(found), _) => named_as(found, name),
        (None, named) => Err(unknown(head, name, named)),
    }
}

/// The format that was found, unless the name says another one.
fn named_as(found: Format, name: &str) -> Result<Format, Failure> {
    let suffix = Path::new(name).extension().map(|suffix| suffix.to_string_lossy().into_owned());
    let suffix = suffix.map(|suffix| suffix.to_ascii_lowercase());
    let fits = suffix.as_deref().is_some_and(|suffix| found.suffixes().contains(&suffix));
    match suffix.as_deref().and_then(Format::by_suffix) {
        Some(named) if !fits => Err(Failure::new(
            Reason::InputWrongSuffix,
            format!(
                "{name} is a {} file by its content, but its name says {}. Rename it to end in .{}, or export it again",
                found.name(),
                named.name(),
                found.suffix()
            ),
        )),
        _ => Ok(found),
    }
}

fn unknown(head: &[u8], name: &str, named: Option<Format>) -> Failure {
    if let Some(foreign) = foreign_name(head) {
        return unsupported(format!(
            "{name} is {foreign}, which cannot be read. Convert it to GLB, OBJ, PNG or EXR"
        ));
    }
    let start: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    match named {
        Some(named) => corrupt(format!(
            "{name} is no {} file: it begins with the bytes {}. Export it again",
            named.name(),
            start.join(" ")
        )),
        None => unsupported(format!(
            "{name} is of no format that can be read: it begins with the bytes {}. Convert it to GLB, OBJ, PNG or EXR",
            start.join(" ")
        )),
    }
}

fn read_head(path: &Path) -> Result<(Vec<u8>, u64), Failure> {
    let failure =
        |error: &std::io::Error| failure_from_io(error, "a source file could not be read", path);
    let file = File::open(path).map_err(|error| failure(&error))?;
    let size = file.metadata().map_err(|error| failure(&error))?.len();
    let mut head = Vec::new();
    file.take(bounds::SNIFF_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| failure(&error))?;
    Ok((head, size))
}

/// What these first bytes belong to. `size_bytes` is of the whole file; `named` is what the name
/// says, which decides only where the bytes themselves say nothing (binary STL, bare OBJ).
pub fn sniff(head: &[u8], size_bytes: u64, named: Option<Format>) -> Option<Format> {
    let whole = head.len() as u64 == size_bytes;
    let is_tga =
        || tga::is_header(head) && (named == Some(Format::Tga) || (whole && tga::has_footer(head)));
    by_magic(head)
        .or_else(|| by_stl_size(head, size_bytes))
        .or_else(|| by_text(head, named))
        .or_else(|| is_tga().then_some(Format::Tga))
        .or(
            // A binary STL has no magic number; a cut one no longer fits its count of triangles.
            match named {
                Some(Format::StlBinary)
                    if size_bytes >= 84 && !is_text(head) && !all_equal(head) =>
                {
                    foreign_name(head).is_none().then_some(Format::StlBinary)
                }
                _ => None,
            },
        )
}

fn by_magic(head: &[u8]) -> Option<Format> {
    const MAGIC: [(&[u8], Format); 19] = [
        (b"glTF", Format::Glb),
        (b"\x89PNG\r\n\x1a\n", Format::Png),
        (&[0xff, 0xd8, 0xff], Format::Jpeg),
        (b"II\x2a\x00", Format::Tiff),
        (b"MM\x00\x2a", Format::Tiff),
        (b"II\x2b\x00", Format::Tiff),
        (b"MM\x00\x2b", Format::Tiff),
        (&[0x76, 0x2f, 0x31, 0x01], Format::Exr),
        (b"#?RADIANCE", Format::Hdr),
        (b"#?RGBE", Format::Hdr),
        (b"ply\n", Format::Ply),
        (b"ply\r", Format::Ply),
        (b"Kaydara FBX Binary", Format::Fbx),
        (b"; FBX", Format::Fbx),
        (usd::TEXT_MAGIC, Format::Usda),
        (usd::BINARY_MAGIC, Format::Usdc),
        (b"GIF87a", Format::Gif),
        (b"GIF89a", Format::Gif),
        (b"DDS \x7c\0\0\0", Format::Dds),
    ];
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(Format::Webp);
    }
    if usd::package::first_name(head).is_some_and(usd::is_layer) {
        return Some(Format::Usdz);
    }
    if is_bmp(head) {
        return Some(Format::Bmp);
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, format)| *format)
}

/// `BM`, and a header of one of the sizes that exist (12 to 124 bytes): two letters alone are
/// too little.
fn is_bmp(head: &[u8]) -> bool {
    let size: Option<[u8; 4]> = head.get(14..18).and_then(|size| size.try_into().ok());
    let known = [12, 16, 40, 52, 56, 64, 108, 124];
    head.starts_with(b"BM") && size.is_some_and(|size| known.contains(&u32::from_le_bytes(size)))
}

fn by_stl_size(head: &[u8], size_bytes: u64) -> Option<Format> {
    let count: [u8; 4] = head.get(80..84)?.try_into().ok()?;
    let triangles = u64::from(u32::from_le_bytes(count));
    (84 + 50 * triangles == size_bytes && (triangles > 0 || !is_text(head)))
        .then_some(Format::StlBinary)
}

fn by_text(head: &[u8], named: Option<Format>) -> Option<Format> {
    if !is_text(head) {
        return None;
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('{') {
        let is_gltf = text.contains("\"asset\"") || named == Some(Format::Gltf);
        return is_gltf.then_some(Format::Gltf);
    }
    if text.lines().take(64).any(|line| line.starts_with("FBXHeaderExtension:")) {
        return Some(Format::Fbx);
    }
    let solid = text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("solid"));
    if solid && text.chars().nth(5).is_none_or(char::is_whitespace) {
        return Some(Format::StlAscii);
    }
    looks_like_obj(text, named).then_some(Format::Obj)
}

/// Whether the known words of OBJ outnumber other first words, and one of them makes geometry.
fn looks_like_obj(text: &str, named: Option<Format>) -> bool {
    const WORDS: [&str; 14] =
        ["v", "vt", "vn", "vp", "f", "l", "p", "o", "g", "s", "usemtl", "mtllib", "usemap", "lod"];
    let mut known = 0_usize;
    let mut other = 0_usize;
    let mut corners = 0_usize;
    let mut comments = 0_usize;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            None => {}
            Some(word) if word.starts_with('#') => comments += 1,
            Some("v") if words.clone().take(3).filter(|word| is_number(word)).count() == 3 => {
                known += 1;
                corners += 1;
            }
            Some("mtllib") => {
                known += 1;
                corners += 1;
            }
            Some(word) if WORDS.contains(&word) => known += 1,
            Some(_) => other += 1,
        }
    }
    let only_comments = known + other == 0 && comments > 0 && named == Some(Format::Obj);
    (corners > 0 && known > other) || only_comments
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

fn all_equal(head: &[u8]) -> bool {
    head.windows(2).all(|pair| matches!(pair, [a, b] if a == b))
}

/// Text has no zero byte and few control characters.
fn is_text(head: &[u8]) -> bool {
    let control = |byte: &&u8| **byte < 9 || (**byte > 13 && **byte < 32);
    !head.is_empty() && !head.contains(&0) && head.iter().filter(control).count() * 100 < head.len()
}

/// The name of a well-known format that cannot be read.
pub fn foreign_name(head: &[u8]) -> Option<&'static str> {
    const FOREIGN: [(usize, &[u8], &str); 15] = [
        (0, b"\xff\xfe", "text in UTF-16 (save it as UTF-8)"),
        (0, b"\xfe\xff", "text in UTF-16 (save it as UTF-8)"),
        (0, b"BLENDER", "a Blender file"),
        (0, b"8BPS", "a Photoshop file"),
        (1, b"KTX ", "a KTX texture"),
        (0, b"PK\x03\x04", "a ZIP archive (or 3MF)"),
        (0, b"Ogawa", "an Alembic file"),
        (0, b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
        (0, b"\x1f\x8b", "a file compressed with gzip"),
        (4, b"ftyp", "a film or HEIF/AVIF picture"),
        (0, b"%PDF", "a PDF"),
        (0, b"ISO-10303-21", "a STEP file"),
        (0, b"\xff\x4f\xff\x51", "a JPEG 2000 picture"),
        (0, b"\x00\x00\x00\x0cjP", "a JPEG 2000 picture"),
        (0, b"<?xml", "an XML file (COLLADA, X3D, SVG)"),
    ];
    FOREIGN
        .iter()
        .find(|(at, magic, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)))
        .map(|(_, _, name)| *name)
}
