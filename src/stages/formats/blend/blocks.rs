//! The blocks that matter: a first pass finds the catalogue, which most files have at their end; a
//! second keeps what is wanted and goes past the rest.

use super::bounds;
use super::dna::Dna;
use super::error::BlendError;
use super::header::{BlockHead, Header};
use super::record::Record;
use super::stream::{Compression, Source, Stream};
use std::collections::HashMap;

/// Kinds of data-blocks that are kept, by their code.
const KEPT: [&[u8]; 12] = [
    b"SC\0\0", b"LI\0\0", b"IM\0\0", b"OB\0\0", b"SO\0\0", b"MC\0\0", b"VF\0\0", b"CF\0\0",
    b"VO\0\0", b"ID\0\0", b"SN\0\0", b"SR\0\0",
];

/// What belongs to data-blocks and is kept, by its structure and by what it belongs to (`*`: any).
const KEPT_PARTS: [(&str, &[u8]); 10] = [
    ("IDProperty", b"SC\0\0"),
    ("Sequence", b"SC\0\0"),
    ("Strip", b"SC\0\0"),
    ("StripData", b"SC\0\0"),
    ("StripElem", b"SC\0\0"),
    ("Editing", b"SC\0\0"),
    ("MeshCacheModifierData", b"OB\0\0"),
    ("FluidDomainSettings", b"OB\0\0"),
    ("NodeShaderTexIES", b"*"),
    ("NodeShaderScript", b"*"),
];

/// A block whose bytes are kept.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) head: BlockHead,
    pub(super) bytes: Vec<u8>,
    /// Number of the data-block that this one belongs to or is, counted through the file.
    pub(super) owner: u64,
}

/// What was kept of a file.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) header: Header,
    pub(super) compression: Compression,
    pub(super) dna: Dna,
    pub(super) has_thumbnail: bool,
    /// In the order of the file.
    pub(super) kept: Vec<Block>,
    ids: HashMap<u64, usize>,
    /// By owner and address: such addresses are unique within their owner only.
    parts: HashMap<(u64, u64), usize>,
}

impl Blocks {
    /// Reads a whole file.
    pub(super) fn read(source: &mut dyn Source) -> Result<Self, BlendError> {
        let dna = find_dna(source)?;
        let mut stream = Stream::open(source)?;
        let header = stream.header()?;
        let mut blocks = Self {
            header,
            compression: stream.compression,
            dna,
            has_thumbnail: false,
            kept: Vec::new(),
            ids: HashMap::new(),
            parts: HashMap::new(),
        };
        blocks.gather(&mut stream)?;
        Ok(blocks)
    }

    fn gather(&mut self, stream: &mut Stream<'_>) -> Result<(), BlendError> {
        let mut owner = (0_u64, [0_u8; 4]);
        let mut kept_bytes = 0_u64;
        let header = self.header;
        walk(stream, &header, |head, stream| {
            let is_part = &head.code == b"DATA";
            if !is_part {
                owner = (owner.0 + 1, head.code);
            }
            self.has_thumbnail |= &head.code == b"TEST" && head.length > 8;
            if !self.wants(head, owner.1) {
                return stream.skip(head.length).map(|()| Walk::On);
            }
            kept_bytes += head.length;
            if kept_bytes > bounds::KEPT_BYTES {
                return Err(BlendError::TooLarge {
                    what: "data-blocks",
                    limit: bounds::KEPT_BYTES,
                });
            }
            let bytes = content(head, stream, bounds::KEPT_BLOCK_BYTES)?;
            self.keep(Block { head: *head, bytes, owner: owner.0 }, is_part);
            Ok(Walk::On)
        })
    }

    fn wants(&self, head: &BlockHead, owner: [u8; 4]) -> bool {
        if &head.code != b"DATA" {
            return KEPT.contains(&head.code.as_slice()) || &head.code == b"GLOB";
        }
        let Some(name) = self.dna.name_of(head.structure) else { return false };
        KEPT_PARTS
            .iter()
            .any(|(structure, of)| *structure == name && (*of == b"*" || *of == owner.as_slice()))
    }

    fn keep(&mut self, block: Block, is_part: bool) {
        let index = self.kept.len();
        if is_part {
            self.parts.insert((block.owner, block.head.old), index);
        } else {
            self.ids.insert(block.head.old, index);
        }
        self.kept.push(block);
    }

    /// The structure at the start of a kept block.
    ///
    /// Fails where the block is shorter than its structure.
    pub(super) fn record<'a>(&'a self, block: &'a Block) -> Result<Record<'a>, BlendError> {
        Record::new(&self.dna, block.head.structure, &block.bytes).ok_or_else(|| {
            let name = self.dna.name_of(block.head.structure).unwrap_or("unknown");
            BlendError::corrupt(format!("a block of the structure {name} is too short"))
        })
    }

    /// All structures of a kept block that holds an array.
    pub(super) fn records<'a>(&'a self, block: &'a Block) -> impl Iterator<Item = Record<'a>> {
        let structure = block.head.structure;
        let bytes = self.dna.bytes_of(structure).unwrap_or(0).max(1);
        block
            .bytes
            .chunks_exact(bytes)
            .filter_map(move |one| Record::new(&self.dna, structure, one))
    }

    /// Whether a data-block is linked from this library: its placeholder stands behind the library,
    /// before the next one.
    pub(super) fn has_placeholder(&self, library: &Block) -> bool {
        let behind = self.kept.iter().skip_while(|block| block.owner <= library.owner);
        behind
            .take_while(|block| &block.head.code != b"LI\0\0")
            .any(|block| &block.head.code == b"ID\0\0")
    }

    /// All kept data-blocks of this code.
    pub(super) fn of_code<'a>(&'a self, code: &'a [u8; 4]) -> impl Iterator<Item = &'a Block> {
        self.kept.iter().filter(move |block| &block.head.code == code)
    }

    /// The kept data-block that was at this address.
    pub(super) fn id_at(&self, address: u64) -> Option<&Block> {
        self.ids.get(&address).and_then(|index| self.kept.get(*index))
    }

    /// The kept part at this address that belongs to the same data-block as `owner`.
    pub(super) fn part_at(&self, owner: u64, address: u64) -> Option<&Block> {
        self.parts.get(&(owner, address)).and_then(|index| self.kept.get(*index))
    }
}

fn find_dna(source: &mut dyn Source) -> Result<Dna, BlendError> {
    let mut stream = Stream::open(source)?;
    let header = stream.header()?;
    let mut dna = None;
    walk(&mut stream, &header, |head, stream| {
        if &head.code != b"DNA1" {
            return stream.skip(head.length).map(|()| Walk::On);
        }
        dna = Some(Dna::parse(&content(head, stream, bounds::DNA_BYTES)?, header.layout)?);
        Ok(Walk::Enough)
    })?;
    dna.ok_or_else(|| BlendError::corrupt("it has no catalogue of structures (block DNA1)"))
}

/// The content of the first block of this code, of those before the first data-block.
pub(super) fn first_block(
    stream: &mut Stream<'_>,
    header: &Header,
    code: [u8; 4],
    limit: u64,
) -> Result<Option<Vec<u8>>, BlendError> {
    let mut found = None;
    walk(stream, header, |head, stream| {
        if head.code == code {
            found = Some(content(head, stream, limit)?);
            return Ok(Walk::Enough);
        }
        if &head.code != b"REND" {
            return Ok(Walk::Enough);
        }
        stream.skip(head.length).map(|()| Walk::On)
    })?;
    Ok(found)
}

enum Walk {
    On,
    Enough,
}

/// Calls `visit` for every block to ENDB; it must read or skip the block's content.
fn walk(
    stream: &mut Stream<'_>,
    header: &Header,
    mut visit: impl FnMut(&BlockHead, &mut Stream<'_>) -> Result<Walk, BlendError>,
) -> Result<(), BlendError> {
    const NO_END: &str = "the block ENDB, with which every scene ends, is missing";
    let mut bytes = vec![0; header.head_bytes()];
    for _ in 0..bounds::BLOCKS {
        // The last head may be cut behind its code: some programs write no more of it.
        let (code, rest) = bytes.split_at_mut(4);
        stream.read(code, NO_END)?;
        if code == b"ENDB" {
            return Ok(());
        }
        stream.read(rest, NO_END)?;
        let head = header.block_head(&bytes)?;
        if matches!(visit(&head, stream)?, Walk::Enough) {
            return Ok(());
        }
    }
    Err(BlendError::TooLarge { what: "blocks", limit: bounds::BLOCKS })
}

fn content(head: &BlockHead, stream: &mut Stream<'_>, limit: u64) -> Result<Vec<u8>, BlendError> {
    if head.length > limit {
        return Err(BlendError::TooLarge { what: "bytes in one block", limit });
    }
    let mut bytes = vec![0; usize::try_from(head.length).unwrap_or(0)];
    stream.read(&mut bytes, "a block is longer than what is left")?;
    Ok(bytes)
}
