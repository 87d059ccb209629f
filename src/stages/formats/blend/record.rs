//! One structure of a file, its fields read by name.

use super::bounds;
use super::dna::{Dna, Kind, Place};

/// The bytes of one structure, with the catalogue that explains them.
///
/// A field that this version of Blender does not have is `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    dna: &'a Dna,
    structure: usize,
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// None where the bytes are shorter than the structure.
    pub(super) fn new(dna: &'a Dna, structure: usize, bytes: &'a [u8]) -> Option<Self> {
        let bytes = bytes.get(..dna.bytes_of(structure)?)?;
        Some(Self { dna, structure, bytes })
    }

    /// Name of the structure.
    pub(super) fn structure_name(&self) -> &'a str {
        self.dna.name_of(self.structure).unwrap_or_default()
    }

    fn value(&self, path: &str) -> Option<(Place, &'a [u8])> {
        let place = self.dna.place(self.structure, path)?;
        let bytes = place.bytes.checked_mul(place.count)?;
        let end = place.offset.checked_add(bytes)?;
        Some((place, self.bytes.get(place.offset..end)?))
    }

    /// A whole number; of an array the first.
    pub(super) fn int(&self, path: &str) -> Option<i64> {
        let (place, bytes) = self.value(path)?;
        let bytes = bytes.get(..place.bytes)?;
        match place.kind {
            Kind::Signed => self.dna.layout.signed(bytes),
            Kind::Unsigned => self.dna.layout.unsigned(bytes)?.try_into().ok(),
            Kind::Pointer | Kind::Float | Kind::Structure => None,
        }
    }

    /// A whole number of 32 bits without a sign.
    pub(super) fn count(&self, path: &str) -> Option<u32> {
        self.int(path)?.try_into().ok()
    }

    /// A number with a point.
    pub(super) fn float(&self, path: &str) -> Option<f64> {
        let (place, bytes) = self.value(path)?;
        let bits = self.dna.layout.unsigned(bytes.get(..place.bytes)?)?;
        match (place.kind, place.bytes) {
            (Kind::Float, 4) => Some(f64::from(f32::from_bits(u32::try_from(bits).ok()?))),
            (Kind::Float, 8) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// An address; `None` also where it points nowhere.
    pub(super) fn pointer(&self, path: &str) -> Option<u64> {
        let (place, bytes) = self.value(path)?;
        let is_pointer = place.kind == Kind::Pointer;
        let address = self.dna.layout.unsigned(bytes.get(..place.bytes)?)?;
        (is_pointer && address != 0).then_some(address)
    }

    /// A text, which ends at its first zero byte.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let (place, bytes) = self.value(path)?;
        if place.bytes != 1 {
            return None;
        }
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let bytes = bytes.get(..end.min(bounds::TEXT_BYTES))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Name of a data-block, without the two letters of its kind.
    pub(super) fn id_name(&self) -> Option<String> {
        let text = self.text("id.name").or_else(|| self.text("name"))?;
        text.get(2..).map(str::to_owned)
    }
}
