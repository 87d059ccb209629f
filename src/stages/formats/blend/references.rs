//! The files that a scene needs beside itself.

use super::blocks::{Block, Blocks};
use super::bounds;
use super::error::BlendError;
use super::paths::{Target, is_pattern, relative};
use super::record::Record;
use super::strips;
use serde::Serialize;
use std::collections::HashSet;

/// What kind of file a scene refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    /// Another `.blend` file. What that one needs in turn is only in itself.
    Library,
    /// A picture.
    Image,
    /// A sound.
    Sound,
    /// A film.
    Movie,
    /// A font.
    Font,
    /// Moving shapes: Alembic, USD, MDD, PC2.
    Cache,
    /// A folder into which a simulation writes; made anew where it is missing.
    CacheFolder,
    /// A volume: `OpenVDB`.
    Volume,
    /// The light distribution of a lamp: IES.
    Light,
    /// A shader's source: OSL.
    Script,
}

/// One file that a scene refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Reference {
    /// What it is.
    pub kind: ReferenceKind,
    /// As in the file: `//textures/wood.png`, `C:\x\y.png`, `/abs`. Bytes that are no UTF-8 were
    /// replaced.
    pub path_written: String,
    /// Whether its content lies inside the scene, so that the file is not needed.
    pub packed: bool,
    /// Whether it names the first of numbered files.
    pub is_sequence: bool,
    /// The library (as written) whose folder `//` means here; `None`: the scene's own folder.
    pub of_library: Option<String>,
}

impl Reference {
    /// Whether it stands for more than one file: numbered ones, or a name with `<UDIM>` or `##`.
    pub fn is_pattern(&self) -> bool {
        self.is_sequence || is_pattern(&self.path_written)
    }

    /// Where it leads from the `.blend` file `blend_name`; see [`relative`].
    pub fn target(&self, blend_name: &str) -> Target {
        let library = self.of_library.as_ref().map(|library| relative(library, blend_name));
        let rest = self.path_written.strip_prefix("//");
        let beside = |library: &str, rest: &str| {
            let folder = library.rsplit_once(['/', '\\']).map_or("", |(folder, _)| folder);
            format!("{folder}/{rest}")
        };
        match (library, rest) {
            (Some(Target::Inside(library)), _) => relative(&self.path_written, &library),
            (Some(Target::Outside(library)), Some(rest)) => Target::Outside(beside(&library, rest)),
            (Some(Target::Absolute(library)), Some(rest)) => {
                Target::Absolute(beside(&library, rest))
            }
            (_, None) | (None, _) => relative(&self.path_written, blend_name),
        }
    }
}

/// Everything that a file refers to, each once, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) libraries: Vec<Reference>,
    pub(super) images: Vec<Reference>,
    pub(super) others: Vec<Reference>,
    seen: HashSet<Reference>,
}

impl References {
    pub(super) fn read(blocks: &Blocks) -> Result<Self, BlendError> {
        let mut all = Self::default();
        for block in &blocks.kept {
            for reference in of_block(blocks, block)? {
                all.add(reference)?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, reference: Reference) -> Result<(), BlendError> {
        if reference.path_written.is_empty() || !self.seen.insert(reference.clone()) {
            return Ok(());
        }
        if self.seen.len() > bounds::REFERENCES {
            return Err(BlendError::TooLarge {
                what: "files that it refers to",
                limit: bounds::REFERENCES as u64,
            });
        }
        match reference.kind {
            ReferenceKind::Library => self.libraries.push(reference),
            ReferenceKind::Image => self.images.push(reference),
            _ => self.others.push(reference),
        }
        Ok(())
    }
}

fn of_block(blocks: &Blocks, block: &Block) -> Result<Vec<Reference>, BlendError> {
    let record = blocks.record(block)?;
    let found = match &block.head.code {
        b"LI\0\0" => library(blocks, block, &record),
        b"IM\0\0" => image(&record),
        b"SO\0\0" => named(ReferenceKind::Sound, &record),
        b"MC\0\0" => named(ReferenceKind::Movie, &record)
            .map(|clip| Reference { is_sequence: record.int("source") == Some(1), ..clip }),
        b"VF\0\0" => named(ReferenceKind::Font, &record)
            .filter(|font| !font.path_written.starts_with("<builtin>")),
        b"CF\0\0" => named(ReferenceKind::Cache, &record),
        b"VO\0\0" => named(ReferenceKind::Volume, &record),
        b"DATA" if strips::is_strip(&record) => return Ok(strips::files(blocks, block, &record)),
        b"DATA" => part(&record),
        _ => None,
    };
    let of_library = library_of(blocks, &record);
    Ok(found.map(|found| Reference { of_library, ..found }).into_iter().collect())
}

/// A data-block that came from a library and was packed keeps paths relative to that library.
fn library_of(blocks: &Blocks, record: &Record<'_>) -> Option<String> {
    let library = blocks.id_at(record.pointer("id.lib")?)?;
    blocks.record(library).ok().and_then(|library| path(&library))
}

fn library(blocks: &Blocks, block: &Block, record: &Record<'_>) -> Option<Reference> {
    /// Flag of a library whose data-blocks were packed into the scene (from 5.0).
    const IS_ARCHIVE: i64 = 1;
    let is_archive = |record: &Record<'_>| {
        record.pointer("archive_parent_library").is_some()
            && record.int("flag").is_some_and(|flag| flag & IS_ARCHIVE != 0)
    };
    if is_archive(record) {
        return None;
    }
    let reference = named(ReferenceKind::Library, record)?;
    let has_archive = blocks.of_code(b"LI\0\0").any(|other| {
        blocks.record(other).is_ok_and(|other| {
            is_archive(&other) && other.pointer("archive_parent_library") == Some(block.head.old)
        })
    });
    let is_unused = !blocks.has_placeholder(block);
    Some(Reference { packed: reference.packed || (has_archive && is_unused), ..reference })
}

fn image(record: &Record<'_>) -> Option<Reference> {
    const SEQUENCE: i64 = 2;
    const GENERATED: i64 = 4;
    const VIEWER: i64 = 5;
    let source = record.int("source");
    if matches!(source, Some(GENERATED | VIEWER)) {
        return None;
    }
    let image = named(ReferenceKind::Image, record)?;
    let is_packed = image.packed || record.pointer("packedfiles.first").is_some();
    Some(Reference { packed: is_packed, is_sequence: source == Some(SEQUENCE), ..image })
}

/// A part of a data-block that names a file.
fn part(record: &Record<'_>) -> Option<Reference> {
    const EXTERNAL: i64 = 1;
    let external = || record.int("mode") == Some(EXTERNAL);
    match record.structure_name() {
        "MeshCacheModifierData" => named(ReferenceKind::Cache, record),
        "NodeShaderTexIES" if external() => named(ReferenceKind::Light, record),
        "NodeShaderScript" if external() => named(ReferenceKind::Script, record),
        "FluidDomainSettings" => {
            record.text("cache_directory").map(|path| reference(ReferenceKind::CacheFolder, path))
        }
        _ => None,
    }
}

/// The path that a data-block names: its field was called `name` for long, and `filepath` since;
/// where a library has both, `filepath` is where it was found on the machine that saved the file.
fn path(record: &Record<'_>) -> Option<String> {
    record.text("name").or_else(|| record.text("filepath"))
}

fn named(kind: ReferenceKind, record: &Record<'_>) -> Option<Reference> {
    Some(Reference {
        packed: record.pointer("packedfile").is_some(),
        is_sequence: record.int("is_sequence").is_some_and(|value| value != 0),
        ..reference(kind, path(record)?)
    })
}

pub(super) fn reference(kind: ReferenceKind, path_written: String) -> Reference {
    Reference { kind, path_written, packed: false, is_sequence: false, of_library: None }
}
