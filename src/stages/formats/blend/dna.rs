//! The catalogue of structures (block DNA1): which fields each structure of this file has, and
//! where. Every version of Blender writes its own, so fields are found by name.
//!
//! `SDNA`, then `NAME`, `TYPE` (texts that end with a zero byte), `TLEN` (2 bytes for each type's
//! size) and `STRC` (for each structure its type, its number of fields, and type and name of
//! each), every part at a multiple of 4 bytes.

use super::bounds;
use super::error::BlendError;
use super::header::Layout;

/// The catalogue of one file.
#[derive(Debug)]
pub(super) struct Dna {
    pub(super) layout: Layout,
    types: Vec<Type>,
    structures: Vec<Structure>,
}

#[derive(Debug)]
struct Type {
    name: String,
    bytes: usize,
    structure: Option<usize>,
}

#[derive(Debug)]
struct Structure {
    type_index: usize,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    type_index: usize,
    offset: usize,
    is_pointer: bool,
    count: usize,
}

/// Where a value lies within a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: usize,
    pub(super) kind: Kind,
    /// Bytes of one element.
    pub(super) bytes: usize,
    /// Elements, where it is an array.
    pub(super) count: usize,
}

/// How the bytes of a value are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pointer,
    Signed,
    Unsigned,
    Float,
    Structure,
}

impl Dna {
    /// Reads the content of the block.
    pub(super) fn parse(bytes: &[u8], layout: Layout) -> Result<Self, BlendError> {
        let mut cursor = Cursor { bytes, at: 0, layout };
        cursor.mark(*b"SDNA")?;
        cursor.mark(*b"NAME")?;
        let names = cursor.texts()?;
        cursor.mark(*b"TYPE")?;
        let type_names = cursor.texts()?;
        cursor.mark(*b"TLEN")?;
        let mut types = Vec::with_capacity(type_names.len());
        for name in type_names {
            types.push(Type { name, bytes: cursor.short()?, structure: None });
        }
        cursor.mark(*b"STRC")?;
        let mut dna = Self { layout, types, structures: Vec::new() };
        let count = cursor.count()?;
        let mut fields_left = bounds::DNA_FIELDS;
        for index in 0..count {
            let structure = dna.structure(&mut cursor, &names, &mut fields_left)?;
            let own = dna.types.get_mut(structure.type_index).ok_or_else(bad_index)?;
            own.structure = Some(index);
            dna.structures.push(structure);
        }
        Ok(dna)
    }

    fn structure(
        &self,
        cursor: &mut Cursor<'_>,
        names: &[String],
        fields_left: &mut usize,
    ) -> Result<Structure, BlendError> {
        let type_index = cursor.short()?;
        let count = cursor.short()?;
        *fields_left = fields_left.checked_sub(count).ok_or(BlendError::TooLarge {
            what: "fields of structures",
            limit: bounds::DNA_FIELDS as u64,
        })?;
        let mut fields = Vec::with_capacity(count);
        let mut offset = 0_usize;
        for _ in 0..count {
            let type_index = cursor.short()?;
            let written = names.get(cursor.short()?).ok_or_else(bad_index)?;
            let own_bytes = self.types.get(type_index).ok_or_else(bad_index)?.bytes;
            let is_pointer = written.starts_with(['*', '(']);
            let bytes = if is_pointer { self.layout.pointer_size.bytes() } else { own_bytes };
            let count = elements(written);
            let name = written.trim_start_matches(['(', '*']);
            let name = name.split([')', '[']).next().unwrap_or_default().to_owned();
            fields.push(Field { name, type_index, offset, is_pointer, count });
            offset = bytes
                .checked_mul(count)
                .and_then(|bytes| offset.checked_add(bytes))
                .ok_or_else(|| BlendError::corrupt("a structure has an impossible size"))?;
        }
        Ok(Structure { type_index, fields })
    }

    /// Name of a structure.
    pub(super) fn name_of(&self, structure: usize) -> Option<&str> {
        let own = self.structures.get(structure)?;
        self.types.get(own.type_index).map(|own| own.name.as_str())
    }

    /// Bytes of one structure.
    pub(super) fn bytes_of(&self, structure: usize) -> Option<usize> {
        let own = self.structures.get(structure)?;
        self.types.get(own.type_index).map(|own| own.bytes)
    }

    /// Where the field `path` lies, as in `r.sfra`: each dot enters a structure held by value.
    pub(super) fn place(&self, structure: usize, path: &str) -> Option<Place> {
        let mut current = structure;
        let mut base = 0_usize;
        let mut parts = path.split('.').peekable();
        for _ in 0..bounds::NESTING {
            let part = parts.next()?;
            let own = self.structures.get(current)?;
            let field = own.fields.iter().find(|field| field.name == part)?;
            base = base.checked_add(field.offset)?;
            if parts.peek().is_none() {
                return self.place_of(field, base);
            }
            if field.is_pointer {
                return None;
            }
            current = self.types.get(field.type_index)?.structure?;
        }
        None
    }

    fn place_of(&self, field: &Field, offset: usize) -> Option<Place> {
        let own = self.types.get(field.type_index)?;
        let (kind, bytes) = if field.is_pointer {
            (Kind::Pointer, self.layout.pointer_size.bytes())
        } else if own.structure.is_some() {
            (Kind::Structure, own.bytes)
        } else {
            (kind_of(&own.name)?, own.bytes)
        };
        Some(Place { offset, kind, bytes, count: field.count })
    }
}

fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "float" | "double" => Kind::Float,
        "uchar" | "ushort" | "uint" | "ulong" | "uint8_t" | "uint16_t" | "uint32_t"
        | "uint64_t" | "bool" => Kind::Unsigned,
        "char" | "short" | "int" | "long" | "int8_t" | "int16_t" | "int32_t" | "int64_t" => {
            Kind::Signed
        }
        _ => return None,
    })
}

/// Elements of an array as its name writes them: 16 of `mat[4][4]`.
fn elements(written: &str) -> usize {
    let dimensions = written.split('[').skip(1);
    dimensions
        .map(|part| part.trim_end_matches(']').parse::<usize>().unwrap_or(1))
        .fold(1, usize::saturating_mul)
}

fn bad_index() -> BlendError {
    BlendError::corrupt("the catalogue of structures (DNA1) points beyond its own lists")
}

/// Reads the block forward.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    layout: Layout,
}

impl Cursor<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], BlendError> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| {
            BlendError::corrupt("the catalogue of structures (DNA1) ends too early")
        })?;
        self.at += count;
        Ok(taken)
    }

    /// The next part begins at a multiple of 4 with its four letters; `SDNA` is not aligned.
    fn mark(&mut self, mark: [u8; 4]) -> Result<(), BlendError> {
        self.take(self.at.next_multiple_of(4) - self.at)?;
        if self.take(4)? == mark.as_slice() {
            return Ok(());
        }
        let mark = String::from_utf8_lossy(&mark);
        Err(BlendError::corrupt(format!("the catalogue of structures (DNA1) has no part {mark}")))
    }

    fn number(&mut self, bytes: usize) -> Result<usize, BlendError> {
        let layout = self.layout;
        let value = layout.unsigned(self.take(bytes)?);
        value.and_then(|value| usize::try_from(value).ok()).ok_or_else(bad_index)
    }

    fn short(&mut self) -> Result<usize, BlendError> {
        self.number(2)
    }

    fn count(&mut self) -> Result<usize, BlendError> {
        let count = self.number(4)?;
        if count > bounds::DNA_ENTRIES {
            return Err(BlendError::TooLarge {
                what: "entries in the catalogue of structures",
                limit: bounds::DNA_ENTRIES as u64,
            });
        }
        Ok(count)
    }

    fn texts(&mut self) -> Result<Vec<String>, BlendError> {
        let count = self.count()?;
        let mut texts = Vec::new();
        for _ in 0..count {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let end = rest.iter().position(|byte| *byte == 0).ok_or_else(bad_index)?;
            texts.push(String::from_utf8_lossy(self.take(end)?).into_owned());
            self.take(1)?;
        }
        Ok(texts)
    }
}
