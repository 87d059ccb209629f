//! What a binary USD (`.usdc`, a "crate") states about itself: its tables and its names.
//!
//! The parser takes the counts in such a file at their word, and asks for as much memory. So they
//! are looked at before it runs. Layout: `pxr/usd/usd/crateFile.h` of Pixar's USD.

use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt, too_large, truncated, unsupported};

/// The first bytes of every such file.
pub(in crate::stages::formats) const MAGIC: &[u8] = b"PXR-USDC";

const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;
const PAYLOAD: u64 = (1 << 48) - 1;

/// The file and its table of sections.
struct Crate<'a> {
    bytes: &'a [u8],
    name: &'a str,
    version: [u8; 3],
    /// Name, start, size.
    sections: Vec<(&'a [u8], u64, u64)>,
}

/// Refuses a file that is cut, of an unknown version, or that states counts it cannot hold.
pub(super) fn check(bytes: &[u8], name: &str) -> Result<(), Failure> {
    let file = Crate::open(bytes, name)?;
    file.tokens()?;
    file.counts()?;
    let mut left = bounds::USD_NESTED;
    for value in file.values()? {
        file.value(value, 0, &mut left)?;
    }
    Ok(())
}

/// The names in a file, among them all paths of other files; none where it cannot be understood.
pub(super) fn tokens(bytes: &[u8]) -> Vec<String> {
    let read = || Crate::open(bytes, "").and_then(|file| file.tokens());
    let text = read().unwrap_or_default();
    text.split(|byte| *byte == 0)
        .filter_map(|token| String::from_utf8(token.to_vec()).ok())
        .collect()
}

impl<'a> Crate<'a> {
    fn open(bytes: &'a [u8], name: &'a str) -> Result<Self, Failure> {
        let mut file = Self { bytes, name, version: [0; 3], sections: Vec::new() };
        let version = bytes.get(8..11).and_then(|version| version.try_into().ok());
        file.version = version.ok_or_else(|| file.cut("header"))?;
        if file.version < [0, 4, 0] {
            let [major, minor, patch] = file.version;
            return Err(unsupported(format!(
                "{name} is a binary USD of the version {major}.{minor}.{patch}, which cannot be read. Save it again with a newer program"
            )));
        }
        let table = file.number(16)?;
        let count = file.number(table)?;
        if count == 0 || count >= 64 {
            return Err(file.bad(&format!("it states {count} sections")));
        }
        for index in 0..count {
            let at = table.saturating_add(8 + index * 32);
            let label = file.slice(at, 16)?;
            let label = label.split(|byte| *byte == 0).next().unwrap_or_default();
            let (start, size) = (file.number(at.saturating_add(16))?, file.number(at + 24)?);
            if start.checked_add(size).is_none_or(|end| end > bytes.len() as u64) {
                return Err(file.cut(&format!("section {}", String::from_utf8_lossy(label))));
            }
            file.sections.push((label, start, size));
        }
        Ok(file)
    }

    fn cut(&self, what: &str) -> Failure {
        truncated(format!(
            "{} has {} bytes, and its {what} lies behind them. Copy or export it again",
            self.name,
            self.bytes.len()
        ))
    }

    fn bad(&self, why: &str) -> Failure {
        corrupt(format!("{} is no whole binary USD: {why}. Export it again", self.name))
    }

    fn slice(&self, at: u64, size: u64) -> Result<&'a [u8], Failure> {
        let range = usize::try_from(at).ok().zip(at.checked_add(size));
        let range = range.and_then(|(at, end)| Some(at..usize::try_from(end).ok()?));
        range.and_then(|range| self.bytes.get(range)).ok_or_else(|| self.cut("content"))
    }

    fn number(&self, at: u64) -> Result<u64, Failure> {
        let bytes = self.slice(at, 8)?;
        Ok(bytes.try_into().map_or(0, u64::from_le_bytes))
    }

    fn short(&self, at: u64) -> Result<u64, Failure> {
        let bytes = self.slice(at, 4)?;
        Ok(bytes.try_into().map_or(0, u32::from_le_bytes).into())
    }

    fn section(&self, label: &[u8]) -> Option<(u64, u64)> {
        let found = self.sections.iter().find(|(name, ..)| *name == label);
        found.map(|(_, start, size)| (*start, *size))
    }

    /// Bytes from here to the end of the file.
    fn rest(&self, at: u64) -> u64 {
        (self.bytes.len() as u64).saturating_sub(at)
    }

    fn fits(&self, count: u64, each: u64, at: u64, what: &str) -> Result<(), Failure> {
        if count.checked_mul(each).is_none_or(|bytes| bytes > self.rest(at)) {
            return Err(self.bad(&format!("it states {count} {what} at byte {at}")));
        }
        Ok(())
    }

    fn few(&self, count: u64, what: &str) -> Result<(), Failure> {
        if count <= bounds::USD_ENTRIES {
            return Ok(());
        }
        Err(too_large(format!(
            "{} states {count} {what}; at most {} can be read",
            self.name,
            bounds::USD_ENTRIES
        )))
    }

    /// A size and as many compressed bytes; gives where they end.
    fn block(&self, at: u64) -> Result<u64, Failure> {
        let size = self.number(at)?;
        self.slice(at.saturating_add(8), size)?;
        Ok(at.saturating_add(8).saturating_add(size))
    }

    /// All names, each ended by a zero.
    fn tokens(&self) -> Result<Vec<u8>, Failure> {
        let Some((start, _)) = self.section(b"TOKENS") else { return Ok(Vec::new()) };
        self.few(self.number(start)?, "names")?;
        let size = self.number(start.saturating_add(8))?;
        if size > bounds::USD_TOKEN_BYTES {
            return Err(too_large(format!("{} has names of {size} bytes", self.name)));
        }
        self.unpacked(start.saturating_add(16), size)
    }

    /// The bytes of a compressed block (`TfFastCompression`: a count of chunks, mostly 0 for one
    /// without a size of its own, then LZ4).
    fn unpacked(&self, at: u64, size: u64) -> Result<Vec<u8>, Failure> {
        let end = self.block(at)?;
        let packed = self.slice(at.saturating_add(8), end.saturating_sub(at).saturating_sub(8))?;
        let Some((chunks, mut packed)) = packed.split_first() else { return Ok(Vec::new()) };
        let broken = |_| self.bad("its tables cannot be decompressed");
        let size = usize::try_from(size).unwrap_or(0);
        if *chunks == 0 {
            return lz4_flex::block::decompress(packed, size).map_err(broken);
        }
        let mut whole = Vec::new();
        for _ in 0..*chunks {
            let (length, rest) = packed.split_first_chunk().ok_or_else(|| self.cut("tables"))?;
            let length = u32::from_le_bytes(*length) as usize;
            let chunk = rest.get(..length).ok_or_else(|| self.cut("tables"))?;
            let left = size.saturating_sub(whole.len());
            whole.extend(lz4_flex::block::decompress(chunk, left).map_err(broken)?);
            packed = rest.get(length..).unwrap_or_default();
        }
        Ok(whole)
    }

    /// Counts at the head of each table.
    fn counts(&self) -> Result<(), Failure> {
        for label in [&b"STRINGS"[..], b"FIELDS", b"FIELDSETS", b"PATHS", b"SPECS"] {
            let Some((start, _)) = self.section(label) else { continue };
            let count = self.number(start)?;
            let what = String::from_utf8_lossy(label).to_lowercase();
            self.few(count, &what)?;
            if label == b"STRINGS" {
                self.fits(count, 4, start, "strings")?;
                continue;
            }
            let mut at = start.saturating_add(8);
            if label == b"PATHS" {
                // The count of paths is stated again for the tree of them.
                self.few(self.number(at)?, &what)?;
                at = at.saturating_add(8);
            }
            let blocks = if label == b"FIELDS" { 2 } else { 1 };
            for _ in 0..if matches!(label, b"PATHS" | b"SPECS") { 3 } else { blocks } {
                at = self.block(at)?;
            }
        }
        Ok(())
    }

    /// The values of all fields: type, flags, and where the rest lies.
    fn values(&self) -> Result<Vec<u64>, Failure> {
        let Some((start, _)) = self.section(b"FIELDS") else { return Ok(Vec::new()) };
        let count = self.number(start)?;
        let values = self.block(start.saturating_add(8))?;
        let bytes = self.unpacked(values, count.saturating_mul(8))?;
        Ok(bytes.as_chunks().0.iter().map(|value| u64::from_le_bytes(*value)).collect())
    }

    fn value(&self, value: u64, depth: usize, left: &mut usize) -> Result<(), Failure> {
        let at = value & PAYLOAD;
        if value & INLINED != 0 || at == 0 {
            return Ok(());
        }
        *left = left.checked_sub(1).ok_or_else(|| {
            too_large(format!("{} has more than {} values", self.name, bounds::USD_NESTED))
        })?;
        let kind = (value >> 48) & 0xff;
        if value & ARRAY != 0 {
            return self.array(at, kind, value & COMPRESSED != 0);
        }
        match kind {
            31 => self.dictionary(at, depth, left),
            32..=39 => self.list_edits(at, kind),
            40 | 41 | 45 => self.fits(self.number(at)?, 4, at, "entries"),
            46 => self.samples(at, depth, left),
            _ => Ok(()),
        }
    }

    fn array(&self, at: u64, kind: u64, compressed: bool) -> Result<(), Failure> {
        let at = if self.version < [0, 5, 0] { at.saturating_add(4) } else { at };
        let (count, at) = if self.version < [0, 7, 0] {
            (self.short(at)?, at.saturating_add(4))
        } else {
            (self.number(at)?, at.saturating_add(8))
        };
        self.few(count, "elements of one array")?;
        if !compressed || count < 4 {
            return self.fits(count, element_bytes(kind), at, "elements");
        }
        // Compressed decimals have a letter first: `i` for whole numbers, `t` for a table.
        if !matches!(kind, 7..=9) {
            return self.block(at).map(|_| ());
        }
        let after = at.saturating_add(1);
        if self.slice(at, 1)? == b"t" {
            let entries = self.short(after)?;
            self.fits(entries, element_bytes(kind), after, "entries")?;
            let table = entries.saturating_mul(element_bytes(kind));
            return self.block(after.saturating_add(4).saturating_add(table)).map(|_| ());
        }
        self.block(after).map(|_| ())
    }

    /// Up to six lists, as the bits of the first byte say. Those of references have entries of
    /// unknown length: only their first count is looked at.
    fn list_edits(&self, at: u64, kind: u64) -> Result<(), Failure> {
        let bits = self.slice(at, 1)?.first().copied().unwrap_or(0);
        let each = if matches!(kind, 37 | 39) { 8 } else { 4 };
        let lists = (bits >> 1).count_ones();
        let mut at = at.saturating_add(1);
        for _ in 0..if kind == 35 { lists.min(1) } else { lists } {
            let count = self.number(at)?;
            self.fits(count, each, at, "entries")?;
            at = at.saturating_add(8).saturating_add(count.saturating_mul(each));
        }
        Ok(())
    }

    /// A count, then for each entry its key and how far away its value lies.
    fn dictionary(&self, at: u64, depth: usize, left: &mut usize) -> Result<(), Failure> {
        if depth > bounds::USD_DEPTH {
            return Err(self.bad("its dictionaries lie too deep in each other"));
        }
        let count = self.number(at)?;
        self.fits(count, 12, at, "entries")?;
        let mut at = at.saturating_add(8);
        for _ in 0..count {
            let offset = at.saturating_add(4);
            let place = self.away(offset)?;
            self.value(self.number(place)?, depth + 1, left)?;
            at = place.saturating_add(8);
        }
        Ok(())
    }

    fn samples(&self, at: u64, depth: usize, left: &mut usize) -> Result<(), Failure> {
        if depth > bounds::USD_DEPTH {
            return Err(self.bad("its samples lie too deep in each other"));
        }
        let times = self.away(at)?;
        self.value(self.number(times)?, depth + 1, left)?;
        let values = self.away(times.saturating_add(8))?;
        let count = self.number(values)?;
        self.fits(count, 8, values, "samples")?;
        for index in 1..=count {
            self.value(self.number(values.saturating_add(index * 8))?, depth + 1, left)?;
        }
        Ok(())
    }

    /// Where an offset, counted from itself, leads.
    fn away(&self, at: u64) -> Result<u64, Failure> {
        let offset = self.number(at)?.cast_signed();
        at.checked_add_signed(offset).ok_or_else(|| self.bad("an offset leads out of it"))
    }
}

/// The bytes of one element of an array, by the number of its type.
const fn element_bytes(kind: u64) -> u64 {
    match kind {
        7 => 2,
        5 | 6 | 9 | 18 | 20 | 22 | 29 => 8,
        13 | 16 | 27 => 32,
        14 => 72,
        15 => 128,
        17 | 19 | 28 | 30 => 16,
        21 | 3 | 4 | 8 | 10..=12 => 4,
        23 => 24,
        24 | 26 => 12,
        25 => 6,
        _ => 1,
    }
}
