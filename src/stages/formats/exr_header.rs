//! Reads the header of an EXR file before the decoder does.
//!
//! The decoder believes the header: 20 KB can ask it for 590 GB, which ends the process. Here
//! sizes are checked against bounds and the table of blocks against the file.

use super::{bounds, corrupt, too_large, truncated, unsupported};
use crate::protocol::work::Failure;

/// The header of an EXR file.
#[derive(Debug, Clone, PartialEq)]
pub struct ExrHeader {
    /// The pictures in it.
    pub parts: Vec<ExrPart>,
    /// Whether it is of the kind that may have several parts.
    pub multipart: bool,
    /// Where the table of blocks begins.
    pub(super) offsets_at: usize,
}

/// One picture of an EXR file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExrPart {
    /// `name`, empty where there is none.
    pub name: String,
    /// `type`: `scanlineimage`, `tiledimage`, `deepscanline` …; empty where there is none.
    pub kind: String,
    /// `view`: `left`.
    pub view: String,
    /// Its channels.
    pub channels: Vec<ExrChannel>,
    /// The number of the compression method.
    pub compression: u8,
    /// Where there are pixels.
    pub data: ExrWindow,
    /// What is to be seen.
    pub display: ExrWindow,
    /// Width of a pixel over its height.
    pub pixel_aspect: f32,
    /// `chromaticities`: x and y of red, green, blue and white.
    pub chromaticities: Option<[f32; 8]>,
    /// `framesPerSecond`.
    pub fps: Option<f32>,
    /// Whether a small preview picture is in the header.
    pub has_preview: bool,
    /// Names of the attributes that this farm knows no use of.
    pub others: Vec<String>,
    /// Why its pixels cannot be read, where the other parts can.
    pub refusal: Option<String>,
    pub(super) tiles: Option<Tiles>,
}

/// One channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExrChannel {
    /// `R`, `diffuse.G`, `Z`.
    pub name: String,
    /// Bytes of a sample.
    pub bytes: u8,
    /// `half`, `float` or `uint`.
    pub sample: &'static str,
    /// Distance of the samples in x and y.
    pub sampling: [i32; 2],
}

/// A rectangle of pixels, both corners included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExrWindow {
    /// Left and top.
    pub min: [i32; 2],
    /// Right and bottom.
    pub max: [i32; 2],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tiles {
    size: [u32; 2],
    levels: u8,
    round_up: bool,
}

impl ExrWindow {
    /// Width and height in pixels; zero or less where the corners are swapped.
    pub fn size(&self) -> [i64; 2] {
        let edge = |axis: usize| {
            let (min, max) = (self.min.get(axis).copied(), self.max.get(axis).copied());
            i64::from(max.unwrap_or(-1)) - i64::from(min.unwrap_or(0)) + 1
        };
        [edge(0), edge(1)]
    }

    fn check(&self, what: &str, name: &str) -> Result<(), Failure> {
        let [width, height] = self.size();
        if width < 1 || height < 1 {
            return Err(corrupt(format!("{name}: the {what} window is {width} × {height} pixels")));
        }
        let pixels = (width as u64).saturating_mul(height as u64);
        let edge = i64::from(bounds::IMAGE_EDGE);
        if pixels > bounds::IMAGE_PIXELS || width > edge || height > edge {
            return Err(too_large(format!(
                "{name}: the {what} window is {width} × {height} pixels; at most {} pixels and {} an edge can be read",
                bounds::IMAGE_PIXELS,
                bounds::IMAGE_EDGE
            )));
        }
        Ok(())
    }
}

/// Names of the compression methods by number.
pub const COMPRESSIONS: [&str; 10] =
    ["none", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A", "DWAA", "DWAB"];
const LINES_PER_BLOCK: [i64; 10] = [1, 1, 1, 16, 32, 16, 32, 32, 32, 256];

impl ExrPart {
    /// The compression's name.
    pub fn compression_name(&self) -> &'static str {
        COMPRESSIONS.get(usize::from(self.compression)).copied().unwrap_or("unknown")
    }

    /// Why its pixels cannot be read, with what to do about it.
    fn unreadable(&self, name: &str) -> Option<String> {
        if self.kind.starts_with("deep") {
            return Some(format!(
                "{name} has deep pixels ({}), which cannot be read. Flatten it",
                self.kind
            ));
        }
        if usize::from(self.compression) >= COMPRESSIONS.len() {
            return Some(format!(
                "{name} is compressed by method {}, which cannot be read. Save it with ZIP or PIZ",
                self.compression
            ));
        }
        let channel = self.channels.iter().find(|channel| channel.sampling != [1, 1])?;
        let [x, y] = channel.sampling;
        Some(format!(
            "{name}: channel {} has one sample for {x} × {y} pixels (chroma subsampling), which cannot be read. Save it as RGB",
            channel.name
        ))
    }

    fn check(&self, name: &str) -> Result<(), Failure> {
        if self.channels.is_empty() {
            return Err(corrupt(format!("{name}: a part has no channels")));
        }
        self.data.check("data", name)?;
        self.display.check("display", name)?;
        let [width, height] = self.data.size();
        let pixel: u64 = self.channels.iter().map(|channel| u64::from(channel.bytes)).sum();
        let bytes = (width as u64).saturating_mul(height as u64).saturating_mul(pixel);
        if bytes > bounds::EXR_DECODED_BYTES {
            return Err(too_large(format!(
                "{name}: {width} × {height} pixels of {} channels take {bytes} bytes; at most {} can be read",
                self.channels.len(),
                bounds::EXR_DECODED_BYTES
            )));
        }
        let [columns, lines] = self.block_size();
        let block = (columns as u64).saturating_mul(lines as u64).saturating_mul(pixel);
        if block > bounds::EXR_BLOCK_BYTES {
            return Err(too_large(format!(
                "{name}: a block of {columns} × {lines} pixels takes {block} bytes; at most {} can be read at once. Save it with ZIP",
                bounds::EXR_BLOCK_BYTES
            )));
        }
        Ok(())
    }

    /// Width and height of the largest block.
    fn block_size(&self) -> [i64; 2] {
        let [width, height] = self.data.size();
        if let Some(Tiles { size: [x, y], .. }) = self.tiles {
            return [width.min(x.into()), height.min(y.into())];
        }
        let lines = LINES_PER_BLOCK.get(usize::from(self.compression)).copied();
        [width, height.min(lines.unwrap_or(1))]
    }

    /// Whether its blocks are tiles.
    pub(super) const fn is_tiled(&self) -> bool {
        self.tiles.is_some()
    }

    /// How many blocks its full size has, smaller levels left out.
    pub(super) fn full_size_blocks(&self) -> u64 {
        let full = Tiles { levels: 0, ..self.tiles.unwrap_or_default() };
        let blocks = match self.tiles {
            Some(_) => Self { tiles: Some(full), data: self.data, ..Self::default() }.blocks(),
            None => self.blocks(),
        };
        blocks.unsigned_abs()
    }

    /// How many blocks it has in all levels.
    pub(super) fn blocks(&self) -> i64 {
        let [width, height] = self.data.size();
        let Some(tiles) = self.tiles else {
            let lines = LINES_PER_BLOCK.get(usize::from(self.compression)).copied().unwrap_or(1);
            return div_up(height, lines);
        };
        let [x, y] = tiles.size.map(|edge| i64::from(edge).max(1));
        let sizes = |edge: i64| levels(edge, tiles.round_up);
        match tiles.levels {
            0 => div_up(width, x) * div_up(height, y),
            1 => {
                let count = sizes(width.max(height)).len();
                let level = |edge: i64, index: usize| scaled(edge, index, tiles.round_up);
                (0..count)
                    .map(|index| div_up(level(width, index), x) * div_up(level(height, index), y))
                    .sum()
            }
            _ => {
                let columns: i64 = sizes(width).into_iter().map(|edge| div_up(edge, x)).sum();
                let rows: i64 = sizes(height).into_iter().map(|edge| div_up(edge, y)).sum();
                columns * rows
            }
        }
    }
}

fn div_up(count: i64, by: i64) -> i64 {
    count.saturating_add(by - 1) / by
}

fn scaled(edge: i64, level: usize, round_up: bool) -> i64 {
    let scale = 1_i64 << level.min(62);
    if round_up { div_up(edge, scale).max(1) } else { (edge / scale).max(1) }
}

fn levels(edge: i64, round_up: bool) -> Vec<i64> {
    let mut sizes = vec![edge];
    while sizes.last().is_some_and(|size| *size > 1) {
        sizes.push(scaled(edge, sizes.len(), round_up));
    }
    sizes
}

/// Reads and checks the header. Nothing is allocated that the header alone asks for.
pub fn read(bytes: &[u8], name: &str) -> Result<ExrHeader, Failure> {
    let mut cursor = Cursor { bytes, at: 4, name };
    let version = cursor.u32()?;
    if version & 0xff != 2 {
        return Err(unsupported(format!(
            "{name} is of EXR version {}; 2 is known",
            version & 0xff
        )));
    }
    let flags = version >> 8;
    let multipart = flags & 0x10 != 0;
    let is_deep = flags & 0x08 != 0 && !multipart;
    let mut parts: Vec<ExrPart> = Vec::new();
    loop {
        let mut part = cursor.part()?;
        if is_deep && !part.kind.starts_with("deep") {
            "deep".clone_into(&mut part.kind);
        }
        part.refusal = part.unreadable(name);
        if part.refusal.is_none() {
            part.check(name)?;
        }
        parts.push(part);
        if !multipart || cursor.bytes.get(cursor.at) == Some(&0) {
            break;
        }
        if parts.len() >= bounds::EXR_PARTS {
            return Err(too_large(format!("{name} has more than {} parts", bounds::EXR_PARTS)));
        }
    }
    if multipart {
        cursor.at += 1;
    }
    match parts.iter().map(|part| part.refusal.as_ref()).collect::<Option<Vec<_>>>() {
        Some(refusals) => {
            Err(unsupported(refusals.first().map_or_else(String::new, ToString::to_string)))
        }
        None => Ok(ExrHeader { parts, multipart, offsets_at: cursor.at }),
    }
}

impl ExrHeader {
    /// Of parts in hand.
    #[cfg(test)]
    pub(super) const fn of_parts(parts: Vec<ExrPart>) -> Self {
        Self { parts, multipart: true, offsets_at: 0 }
    }

    /// Fails with `input.truncated` when a block of pixels was never written or lies beyond the end.
    pub fn check_blocks(&self, bytes: &[u8], name: &str) -> Result<(), Failure> {
        let blocks = self.parts.iter().map(ExrPart::blocks).fold(0_i64, i64::saturating_add);
        let cut = |index: i64, at: u64| {
            truncated(format!(
                "{name} has {} bytes, but block {} of {blocks} lies at byte {at}. Render or copy it again",
                bytes.len(),
                index + 1
            ))
        };
        let table = u64::try_from(blocks).unwrap_or(u64::MAX).saturating_mul(8);
        if table > (bytes.len() as u64).saturating_sub(self.offsets_at as u64) {
            return Err(cut(0, self.offsets_at as u64));
        }
        let mut at = self.offsets_at;
        let mut index = 0_i64;
        for part in &self.parts {
            let place = if part.tiles.is_some() { 16 } else { 4 };
            let head = place + if self.multipart { 4 } else { 0 };
            for _ in 0..part.blocks() {
                let offset = number(bytes, at, 8).unwrap_or(0);
                if offset == 0 {
                    return Err(truncated(format!(
                        "{name}: block {} of {blocks} was never written; the render did not finish. Render it again",
                        index + 1
                    )));
                }
                at += 8;
                index += 1;
                // Blocks of other kinds of pixels have other heads.
                if part.refusal.is_some() {
                    continue;
                }
                let size_at = usize::try_from(offset).ok().and_then(|o| o.checked_add(head));
                let size = size_at.and_then(|size_at| number(bytes, size_at, 4));
                let end = size.map(|size| offset.saturating_add(head as u64 + 4 + size));
                if end.is_none_or(|end| end > bytes.len() as u64) {
                    return Err(cut(index - 1, offset));
                }
            }
        }
        Ok(())
    }
}

/// A little-endian number of up to eight bytes.
pub(super) fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    name: &'a str,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], Failure> {
        let field = self.at.checked_add(size).and_then(|end| self.bytes.get(self.at..end));
        let field = field.ok_or_else(|| {
            truncated(format!(
                "{} has {} bytes and ends inside its header, at byte {}. Copy or render it again",
                self.name,
                self.bytes.len(),
                self.at
            ))
        })?;
        self.at += size;
        Ok(field)
    }

    fn u32(&mut self) -> Result<u32, Failure> {
        Ok(number(self.take(4)?, 0, 4).unwrap_or(0) as u32)
    }

    fn text(&mut self) -> Result<String, Failure> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take(256).position(|byte| *byte == 0);
        let Some(length) = length else {
            self.take(257)?;
            return Err(corrupt(format!(
                "{}: a header name at byte {} does not end",
                self.name, self.at
            )));
        };
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.at += 1;
        Ok(text)
    }

    fn part(&mut self) -> Result<ExrPart, Failure> {
        let mut part = ExrPart { pixel_aspect: 1.0, ..ExrPart::default() };
        let mut seen = 0_u8;
        loop {
            let attribute = self.text()?;
            if attribute.is_empty() {
                break;
            }
            let _kind = self.text()?;
            let size = self.u32()?;
            let value = self.take(size as usize)?;
            seen |= part.attribute(&attribute, value, self.name)?;
        }
        if seen == 0b111 {
            Ok(part)
        } else {
            Err(corrupt(format!(
                "{}: channels, dataWindow or displayWindow lack in the header",
                self.name
            )))
        }
    }
}

impl ExrPart {
    /// Takes in one attribute; gives a bit for each of the three that must be there.
    fn attribute(&mut self, attribute: &str, value: &[u8], name: &str) -> Result<u8, Failure> {
        let bad = || corrupt(format!("{name}: the header's {attribute} cannot be read"));
        let text = || String::from_utf8_lossy(value).into_owned();
        match attribute {
            "channels" => {
                self.channels = channels(value, name)?;
                return Ok(0b001);
            }
            "dataWindow" => {
                self.data = window(value).ok_or_else(bad)?;
                return Ok(0b010);
            }
            "displayWindow" => {
                self.display = window(value).ok_or_else(bad)?;
                return Ok(0b100);
            }
            "compression" => self.compression = *value.first().ok_or_else(bad)?,
            "name" => self.name = text(),
            "type" => self.kind = text(),
            "view" => self.view = text(),
            "pixelAspectRatio" => self.pixel_aspect = float(value, 0).ok_or_else(bad)?,
            "tiles" => {
                let mode = *value.get(8).ok_or_else(bad)?;
                let edge = |at: usize| number(value, at, 4).map(|edge| edge as u32);
                let size = [edge(0).ok_or_else(bad)?, edge(4).ok_or_else(bad)?];
                if size.contains(&0) {
                    return Err(bad());
                }
                self.tiles = Some(Tiles { size, levels: mode & 0xf, round_up: mode >> 4 == 1 });
            }
            "chromaticities" => {
                let mut all = [0.0; 8];
                for (index, one) in all.iter_mut().enumerate() {
                    *one = float(value, index * 4).ok_or_else(bad)?;
                }
                self.chromaticities = Some(all);
            }
            "framesPerSecond" => {
                let part = |at: usize| number(value, at, 4).map(|part| part as u32);
                let (frames, seconds) = (part(0).ok_or_else(bad)?, part(4).ok_or_else(bad)?);
                self.fps = (seconds > 0).then(|| frames as f32 / seconds as f32);
            }
            "preview" => self.has_preview = true,
            "lineOrder" | "screenWindowCenter" | "screenWindowWidth" | "chunkCount" => {}
            other => {
                if self.others.len() < bounds::EXR_ATTRIBUTES {
                    self.others.push(other.to_owned());
                }
            }
        }
        Ok(0)
    }
}

fn float(value: &[u8], at: usize) -> Option<f32> {
    number(value, at, 4).map(|bits| f32::from_bits(bits as u32))
}

fn window(value: &[u8]) -> Option<ExrWindow> {
    let corner = |at: usize| number(value, at, 4).map(|bits| (bits as u32).cast_signed());
    Some(ExrWindow { min: [corner(0)?, corner(4)?], max: [corner(8)?, corner(12)?] })
}

fn channels(value: &[u8], name: &str) -> Result<Vec<ExrChannel>, Failure> {
    let bad = || corrupt(format!("{name}: the header's list of channels cannot be read"));
    let mut channels = Vec::new();
    let mut rest = value;
    while rest.first().is_some_and(|byte| *byte != 0) {
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(bad)?;
        let (text, fields) = rest.split_at(end);
        let field = |at: usize| number(fields, at, 4).map(|value| (value as u32).cast_signed());
        let (bytes, sample) = match field(1).ok_or_else(bad)? {
            0 => (4, "uint"),
            1 => (2, "half"),
            2 => (4, "float"),
            _ => return Err(bad()),
        };
        let sampling = [field(9).ok_or_else(bad)?, field(13).ok_or_else(bad)?];
        let text = String::from_utf8_lossy(text).into_owned();
        channels.push(ExrChannel { name: text, bytes, sample, sampling });
        if channels.len() > bounds::EXR_CHANNELS {
            return Err(too_large(format!(
                "{name} has more than {} channels",
                bounds::EXR_CHANNELS
            )));
        }
        rest = fields.get(17..).ok_or_else(bad)?;
    }
    Ok(channels)
}
