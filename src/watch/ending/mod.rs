//! Whether a file ends where its format says that it does, told from a few reads at its ends.
//!
//! Nothing is decoded: a file that is whole here may still be damaged. Each rule says only what
//! its format promises about its end; the rules and where they come from stand at each function.

mod bytes;
mod exr;
mod models;
mod movies;
mod pictures;
mod tiff;

pub use bytes::Bytes;

use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes read from the beginning of every file.
const HEAD_BYTES: usize = 4 << 10;
/// How far before the end an end mark is searched: programs append things behind it.
const TAIL_BYTES: usize = 64 << 10;
/// A file whose first bytes are all zero has no beginning yet; no format begins with so many.
const ZERO_HEAD_BYTES: usize = 16;
/// But an STL, whose first 80 bytes are anything, with the number of triangles behind them.
const ZERO_STL_BYTES: usize = 84;
/// No file of a format with a magic number is as short.
const SHORTEST_BYTES: u64 = 16;

/// What the ends of a file say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It ends as its format demands.
    Whole,
    /// A part of it is not there yet; the text says how that was seen, in words for artists.
    Unfinished(String),
    /// The format has no end that can be seen cheaply, or is not known.
    Unknown,
}

impl Ending {
    fn unfinished(how: impl Into<String>) -> Self {
        Self::Unfinished(how.into())
    }

    /// The header itself is not whole.
    fn cut_in_header(format: &str) -> Self {
        Self::Unfinished(format!("it breaks off in the first part of the {format}"))
    }

    /// The format says its own length.
    fn by_length(format: &str, needed_bytes: u64, size_bytes: u64) -> Self {
        if size_bytes >= needed_bytes {
            return Self::Whole;
        }
        Self::Unfinished(format!(
            "its end is missing: this {format} should have {needed_bytes} bytes, and {size_bytes} are here"
        ))
    }
}

/// Suffixes of formats whose files begin with a magic number.
const BINARY: [&str; 37] = [
    "abc", "avif", "blend", "bmp", "dds", "dib", "exr", "fbx", "gif", "glb", "hdr", "heic", "heif",
    "jfif", "jpe", "jpeg", "jpg", "ktx", "ktx2", "m4v", "mov", "mp4", "mxr", "ply", "png", "psb",
    "psd", "stl", "sxr", "tga", "tif", "tiff", "usdc", "usdz", "webp", "zip", "qt",
];
/// Suffixes of formats that are text, which never has a zero byte.
const TEXT: [&str; 9] = ["gltf", "inc", "ini", "json", "mtl", "obj", "pov", "usd", "usda"];

/// Looks at the ends of the file at `path`, which has `size_bytes`. Its suffix matters only where
/// its bytes say nothing.
pub fn check(path: &Path, size_bytes: u64) -> io::Result<Ending> {
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
    let mut file = File::open(path)?;
    judge(&mut Bytes::new(&mut file, size_bytes), suffix.as_deref().unwrap_or_default())
}

/// As [`check`], for bytes that lie anywhere; `suffix` is in lower case and has no dot.
pub fn judge(bytes: &mut Bytes<'_>, suffix: &str) -> io::Result<Ending> {
    let head = bytes.at(0, HEAD_BYTES)?;
    let size_bytes = bytes.size_bytes();
    let binary = BINARY.contains(&suffix);
    let text = TEXT.contains(&suffix);
    let first = if suffix == "stl" { ZERO_STL_BYTES } else { ZERO_HEAD_BYTES };
    let first = head.get(..first).unwrap_or(&head);
    if (binary || text) && first.iter().all(|byte| *byte == 0) {
        return Ok(Ending::unfinished("its beginning is not written yet"));
    }
    if binary && size_bytes < SHORTEST_BYTES {
        return Ok(Ending::Unfinished(format!("only {size_bytes} bytes of it are here")));
    }
    if let Some(ending) = by_magic(bytes, &head, suffix)? {
        return Ok(ending);
    }
    match suffix {
        "stl" => models::stl(bytes, &head),
        "gltf" => models::gltf(bytes),
        "tga" => pictures::tga(bytes),
        _ if text => models::text(bytes),
        _ => Ok(Ending::Unknown),
    }
}

fn by_magic(bytes: &mut Bytes<'_>, head: &[u8], suffix: &str) -> io::Result<Option<Ending>> {
    let begins = |magic: &[u8]| head.starts_with(magic);
    let ending = if begins(b"glTF") {
        models::glb(bytes, head)?
    } else if begins(b"\x89PNG\r\n\x1a\n") {
        pictures::png(bytes)?
    } else if begins(b"\xff\xd8\xff") {
        pictures::jpeg(bytes)?
    } else if begins(b"GIF87a") || begins(b"GIF89a") {
        pictures::gif(bytes)?
    } else if begins(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        pictures::webp(bytes, head)
    } else if pictures::is_bmp(head) {
        pictures::bmp(bytes, head)
    } else if begins(b"II\x2a\0")
        || begins(b"MM\0\x2a")
        || begins(b"II\x2b\0")
        || begins(b"MM\0\x2b")
    {
        tiff::tiff(bytes, head)?
    } else if begins(b"\x76\x2f\x31\x01") {
        exr::exr(bytes, head)?
    } else if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") {
        models::zip(bytes)?
    } else if begins(b"Kaydara FBX Binary  \0") {
        models::fbx(bytes, head)?
    } else if begins(b"BLENDER") {
        models::blend(bytes, head)?
    } else if begins(b"\x28\xb5\x2f\xfd") && suffix == "blend" {
        models::blend_zstd(bytes)?
    } else if begins(b"ply\n") || begins(b"ply\r") {
        models::ply(bytes)?
    } else if begins(b"PXR-USDC") {
        models::usdc(bytes, head)?
    } else if begins(b"\xabKTX 20\xbb\r\n\x1a\n") {
        pictures::ktx2(bytes, head)?
    } else if begins(b"Ogawa") {
        models::alembic(head)
    } else if movies::is_movie(head, suffix) {
        movies::movie(bytes)?
    } else {
        return Ok(None);
    };
    Ok(Some(ending))
}

#[cfg(test)]
mod tests;
