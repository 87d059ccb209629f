//! Buffers, views and accessors of a glTF, every range checked.

use super::unpack;
use crate::protocol::work::Failure;
use crate::stages::formats::references::{self, SideRoot};
use crate::stages::formats::{bounds, corrupt, too_large, truncated};
use glam::Vec3;
use gltf::json::accessor::{ComponentType, Type};
use gltf::json::validation::Checked;
use gltf::json::{Accessor, Root};
use std::borrow::Cow;
use std::collections::HashMap;

/// The document with its bytes.
pub(super) struct Data<'a> {
    pub root: &'a Root,
    pub name: &'a str,
    buffers: Vec<Cow<'a, [u8]>>,
    /// Decompressed views, by their index.
    unpacked: HashMap<usize, Vec<u8>>,
}

impl<'a> Data<'a> {
    /// Loads all buffers and decompresses the views that are compressed.
    pub(super) fn load(
        root: &'a Root,
        binary: Option<&'a [u8]>,
        name: &'a str,
        sides: &SideRoot,
    ) -> Result<Self, Failure> {
        let mut buffers = Vec::new();
        for (index, buffer) in root.buffers.iter().enumerate() {
            let bytes = match (&buffer.uri, binary) {
                (Some(uri), _) => Cow::Owned(resource(uri, sides, "the data", name)?),
                // Stands for the decompressed form of others; its views have data of their own.
                (None, _) if unpack::is_placeholder(buffer) => {
                    buffers.push(Cow::Borrowed(&[][..]));
                    continue;
                }
                (None, Some(binary)) if index == 0 => Cow::Borrowed(binary),
                (None, _) => {
                    return Err(corrupt(format!(
                        "{name}: buffer {index} has no data. Export it again"
                    )));
                }
            };
            if (bytes.len() as u64) < buffer.byte_length.0 {
                return Err(truncated(format!(
                    "{name}: buffer {index} should have {} bytes, but {} has {}. Copy or export it again",
                    buffer.byte_length.0,
                    buffer.uri.as_deref().map_or("the GLB", |uri| uri.get(..60).unwrap_or(uri)),
                    bytes.len()
                )));
            }
            buffers.push(bytes);
        }
        let unpacked = unpack::views(root, &buffers, name)?;
        Ok(Self { root, name, buffers, unpacked })
    }

    fn bad(&self, accessor: usize, what: &str) -> Failure {
        corrupt(format!("{}: accessor {accessor} {what}. Export it again", self.name))
    }

    /// The bytes of a buffer view and the distance of its elements, if stated.
    pub(super) fn view(&self, index: usize) -> Result<(&[u8], Option<usize>), Failure> {
        let bad = |what: &str| {
            corrupt(format!("{}: buffer view {index} {what}. Export it again", self.name))
        };
        let view = self.root.buffer_views.get(index).ok_or_else(|| bad("does not exist"))?;
        let stride = view.byte_stride.map(|stride| stride.0);
        if let Some(bytes) = self.unpacked.get(&index) {
            return Ok((bytes, stride));
        }
        let buffer = self.buffers.get(view.buffer.value()).ok_or_else(|| bad("has no buffer"))?;
        let start = view.byte_offset.map_or(0, |offset| offset.0);
        let end = start.checked_add(view.byte_length.0);
        let range = usize::try_from(start).ok().zip(end.and_then(|end| usize::try_from(end).ok()));
        let bytes = range.and_then(|(start, end)| buffer.get(start..end));
        let bytes = bytes.ok_or_else(|| {
            bad(&format!(
                "reaches to byte {} of a buffer of {}",
                end.unwrap_or(u64::MAX),
                buffer.len()
            ))
        })?;
        Ok((bytes, stride))
    }

    /// How many elements an accessor has, bounded by its view, so that it may be allocated.
    pub(super) fn count(&self, index: usize) -> Result<usize, Failure> {
        let accessor = self.accessor(index)?;
        let most = match accessor.buffer_view {
            Some(view) => self.view(view.value())?.0.len().min(bounds::INDICES),
            None => bounds::CORNERS,
        };
        let count = accessor.count.0;
        usize::try_from(count).ok().filter(|count| *count <= most).ok_or_else(|| {
            let message =
                format!("{}: accessor {index} has {count} elements; {most} at most fit", self.name);
            if count > bounds::INDICES as u64 { too_large(message) } else { corrupt(message) }
        })
    }

    /// Whether an accessor has values of its own, and not zeros alone.
    pub(super) fn has_values(&self, index: usize) -> bool {
        let accessor = self.root.accessors.get(index);
        accessor.is_some_and(|one| one.buffer_view.is_some() || one.sparse.is_some())
    }

    /// The least and greatest corner that an accessor of plain floats states; none where it does
    /// not state them as three finite numbers each.
    pub(super) fn stated_bounds(&self, index: usize) -> Option<[Vec3; 2]> {
        let accessor = self.root.accessors.get(index)?;
        let (ComponentType::F32, Type::Vec3) = self.types(index).ok()? else { return None };
        let corner = |stated: &Option<serde_json::Value>| {
            let numbers: [f32; 3] = serde_json::from_value(stated.clone()?).ok()?;
            Some(Vec3::from(numbers)).filter(|corner| corner.is_finite())
        };
        Some([corner(&accessor.min)?, corner(&accessor.max)?])
    }

    fn accessor(&self, index: usize) -> Result<&Accessor, Failure> {
        self.root.accessors.get(index).ok_or_else(|| self.bad(index, "does not exist"))
    }

    fn types(&self, index: usize) -> Result<(ComponentType, Type), Failure> {
        let accessor = self.accessor(index)?;
        match (&accessor.component_type, &accessor.type_) {
            (Checked::Valid(component), Checked::Valid(kind)) => Ok((component.0, *kind)),
            _ => Err(self.bad(index, "has an unknown type")),
        }
    }

    /// Components of one element: 3 for `VEC3`.
    pub(super) fn width(&self, index: usize) -> Result<usize, Failure> {
        Ok(self.types(index)?.1.multiplicity())
    }

    /// All elements as floats, `N` components each; integers are scaled if the accessor says so.
    pub(super) fn floats<const N: usize>(&self, index: usize) -> Result<Vec<[f32; N]>, Failure> {
        let normalized = self.accessor(index)?.normalized;
        self.numbers(index, normalized)
    }

    /// As [`Self::floats`] for what lies in 0 to 1: integers are scaled always, since some
    /// exporters forget to say so.
    pub(super) fn fractions<const N: usize>(&self, index: usize) -> Result<Vec<[f32; N]>, Failure> {
        self.numbers(index, true)
    }

    fn numbers<const N: usize>(
        &self,
        index: usize,
        normalized: bool,
    ) -> Result<Vec<[f32; N]>, Failure> {
        let (component, kind) = self.types(index)?;
        if kind.multiplicity() != N {
            return Err(
                self.bad(index, &format!("has {} components, not {N}", kind.multiplicity()))
            );
        }
        let mut all = vec![[0.0; N]; self.count(index)?];
        self.each(index, component, N, |at, bytes| {
            if let Some(element) = all.get_mut(at) {
                for (value, bytes) in element.iter_mut().zip(bytes.chunks_exact(component.size())) {
                    *value = number(component, normalized, bytes);
                }
            }
        })?;
        Ok(all)
    }

    /// All elements as whole numbers, `N` components each.
    pub(super) fn integers<const N: usize>(&self, index: usize) -> Result<Vec<[u32; N]>, Failure> {
        let (component, kind) = self.types(index)?;
        let whole =
            matches!(component, ComponentType::U8 | ComponentType::U16 | ComponentType::U32);
        if kind.multiplicity() != N || !whole {
            return Err(self.bad(index, "is not of whole numbers"));
        }
        let mut all = vec![[0; N]; self.count(index)?];
        self.each(index, component, N, |at, bytes| {
            if let Some(element) = all.get_mut(at) {
                for (value, bytes) in element.iter_mut().zip(bytes.chunks_exact(component.size())) {
                    *value = whole_number(bytes);
                }
            }
        })?;
        Ok(all)
    }

    /// Hands out the bytes of each element: those of the view, then those that a sparse accessor
    /// puts in their place. An accessor without a view is all zeros.
    fn each(
        &self,
        index: usize,
        component: ComponentType,
        width: usize,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        let accessor = self.accessor(index)?;
        let size = component.size() * width;
        if let Some(view) = accessor.buffer_view {
            let (bytes, stride) = self.view(view.value())?;
            let offset = accessor.byte_offset.map_or(0, |offset| offset.0);
            let elements = elements(bytes, offset, stride.unwrap_or(size).max(size), size);
            let count = self.count(index)?;
            let mut found = 0;
            for (at, element) in elements.take(count).enumerate() {
                take(at, element);
                found = at + 1;
            }
            if found < count {
                return Err(self.bad(
                    index,
                    &format!(
                        "has {count} elements, but its view of {} bytes holds {found}",
                        bytes.len()
                    ),
                ));
            }
        }
        self.sparse(index, size, take)
    }

    /// The elements that a sparse accessor puts in place of others; their places must rise.
    fn sparse(
        &self,
        index: usize,
        size: usize,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        let accessor = self.accessor(index)?;
        let Some(sparse) = &accessor.sparse else { return Ok(()) };
        let Checked::Valid(kind) = sparse.indices.component_type else {
            return Err(self.bad(index, "has sparse indices of an unknown type"));
        };
        let (places, _) = self.view(sparse.indices.buffer_view.value())?;
        let (values, _) = self.view(sparse.values.buffer_view.value())?;
        let places = elements(places, sparse.indices.byte_offset.0, kind.0.size(), kind.0.size());
        let values = elements(values, sparse.values.byte_offset.0, size, size);
        let count = usize::try_from(sparse.count.0).unwrap_or(usize::MAX);
        let (mut found, mut least) = (0, 0);
        for (place, value) in places.zip(values).take(count) {
            let place = whole_number(place) as usize;
            if place < least || place as u64 >= accessor.count.0 {
                return Err(self.bad(
                    index,
                    &format!(
                        "puts a sparse value at {place}: places must rise and be less than {}",
                        accessor.count.0
                    ),
                ));
            }
            least = place + 1;
            take(place, value);
            found += 1;
        }
        if found < count {
            return Err(
                self.bad(index, &format!("has {count} sparse values, but data for {found}"))
            );
        }
        Ok(())
    }
}

fn elements(bytes: &[u8], offset: u64, stride: usize, size: usize) -> impl Iterator<Item = &[u8]> {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    let rest = rest.unwrap_or_default();
    (0..)
        .map_while(move |at: usize| rest.get(at.checked_mul(stride)?..))
        .map_while(move |rest| rest.get(..size))
}

fn whole_number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

fn number(component: ComponentType, normalized: bool, bytes: &[u8]) -> f32 {
    let bits = whole_number(bytes);
    let signed = |value: f32, full: f32| if normalized { (value / full).max(-1.0) } else { value };
    let unsigned = |value: f32, full: f32| if normalized { value / full } else { value };
    match component {
        ComponentType::I8 => signed(f32::from((bits as u8).cast_signed()), 127.0),
        ComponentType::U8 => unsigned(f32::from(bits as u8), 255.0),
        ComponentType::I16 => signed(f32::from((bits as u16).cast_signed()), 32_767.0),
        ComponentType::U16 => unsigned(f32::from(bits as u16), 65_535.0),
        ComponentType::U32 => bits as f32,
        ComponentType::F32 => f32::from_bits(bits),
    }
}

/// The bytes behind a URI: in the URI itself, or in a side file.
pub(super) fn resource(
    uri: &str,
    sides: &SideRoot,
    what: &str,
    name: &str,
) -> Result<Vec<u8>, Failure> {
    match references::uri_path(uri)? {
        Some(path) => sides.read(&path, &format!("{what} of {name}")),
        None => data_uri(uri).ok_or_else(|| {
            corrupt(format!("{name}: {what} in a data: URI cannot be decoded. Export it again"))
        }),
    }
}

fn data_uri(uri: &str) -> Option<Vec<u8>> {
    let (head, data) = uri.get(5..)?.split_once(',')?;
    if head.to_ascii_lowercase().ends_with(";base64") {
        return base64(data.trim().as_bytes());
    }
    Some(percent_encoding::percent_decode_str(data).collect())
}

fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii_end();
    let digits = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_uris_are_decoded() {
        assert_eq!(data_uri("data:;base64,AAEC/w=="), Some(vec![0, 1, 2, 255]));
        assert_eq!(
            data_uri("data:application/octet-stream;base64,c2F3YWg="),
            Some(b"sawah".into())
        );
        assert_eq!(data_uri("data:,a%20b"), Some(b"a b".into()));
        assert_eq!(data_uri("data:;base64,?"), None);
        assert_eq!(data_uri("data:"), None);
    }
}
