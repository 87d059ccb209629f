//! Reads PLY: text and binary, with normals, colours and texture coordinates.

use super::mesh::{Budget, complete, linear};
use super::ply_header::{self, Element, Encoding, Header, Number, Property};
use super::strokes::{self, Strokes};
use super::{LoadedScene, bounds, corrupt, polygon, truncated, unsupported};
use crate::preview::Scene;
use crate::preview::scene::{Material, Part};
use crate::protocol::work::Failure;
use crate::stages::Reporter;
use glam::{Vec2, Vec3, Vec4};
use serde_json::json;

/// Decodes a PLY file. Its up axis is not stated and stays as it is.
pub fn read(bytes: &[u8], name: &str, reporter: &dyn Reporter) -> Result<LoadedScene, Failure> {
    let header = ply_header::read(bytes, name)?;
    let is_cloud = is_cloud(&header, name)?;
    let body = bytes.get(header.body_at..).unwrap_or_default();
    let mut body = Body { rest: body, encoding: header.encoding, at: header.body_at, name };
    let mut part = Part { name: "mesh".to_owned(), ..Part::default() };
    let mut budget = Budget::default();
    for element in &header.elements {
        let least = element.least_bytes(header.encoding) as u64;
        // The last number of a text file may lack the space after it.
        if element.count.saturating_mul(least) > body.rest.len() as u64 + 1 {
            return Err(truncated(format!(
                "{name} says it has {} of '{}', but {} bytes are left for them at byte {}. Copy or export it again",
                element.count,
                element.name,
                body.rest.len(),
                body.at
            )));
        }
        match element.name.as_str() {
            "vertex" => {
                budget.take(usize::try_from(element.count).unwrap_or(usize::MAX), 0, name)?;
                read_vertices(&mut body, element, &mut part)?;
            }
            "face" => read_faces(&mut body, element, &mut part, &mut budget)?,
            _ => skip(&mut body, element)?,
        }
        reporter.progress(60.0, &element.name);
    }
    budget.take(if part.normals.is_empty() { part.indices.len() } else { 0 }, 0, name)?;
    let points = if is_cloud { std::mem::take(&mut part) } else { Part::default() };
    let mended = complete(&mut part, name)?;
    let encoding = match header.encoding {
        Encoding::Ascii => "text",
        Encoding::LittleEndian => "binary, little endian",
        Encoding::BigEndian => "binary, big endian",
    };
    let elements: Vec<_> = header
        .elements
        .iter()
        .map(|element| json!({ "name": element.name, "count": element.count }))
        .collect();
    let mut scene =
        Scene { parts: vec![part], materials: vec![Material::default()], textures: Vec::new() };
    let mut warnings = mended.warnings(name);
    if is_cloud {
        let points = Strokes::cloud(points.positions, Some(points.colors));
        warnings.extend(strokes::add(&mut scene, &[points], &mut budget, name)?);
    }
    let facts = json!({ "format": "PLY", "encoding": encoding, "elements": elements });
    Ok(LoadedScene { scene, warnings, facts })
}

/// Whether the file is a cloud of points: it has no faces. Strips and splats are refused.
fn is_cloud(header: &Header, name: &str) -> Result<bool, Failure> {
    let element = |name: &str| header.elements.iter().find(|element| element.name == name);
    if element("face").is_some_and(|faces| faces.count > 0) {
        return Ok(false);
    }
    if element("tristrips").is_some() {
        return Err(unsupported(format!(
            "{name} has triangle strips, which cannot be read. Export it with faces"
        )));
    }
    let splats = element("vertex").filter(|vertices| vertices.find(&["f_dc_0"]).is_some());
    if let Some(splats) = splats {
        return Err(unsupported(format!(
            "{name} has {} Gaussian splats, which cannot be drawn. Export it as a mesh",
            splats.count
        )));
    }
    Ok(true)
}

/// Which property of a vertex is which.
struct Columns {
    position: [usize; 3],
    normal: Option<[usize; 3]>,
    uv: Option<[usize; 2]>,
    color: Option<[usize; 3]>,
    alpha: Option<usize>,
}

impl Columns {
    fn of(element: &Element, name: &str) -> Result<Self, Failure> {
        let three = |names: [&[&str]; 3]| {
            let [x, y, z] = names.map(|names| element.find(names));
            Some([x?, y?, z?])
        };
        let position = three([&["x"], &["y"], &["z"]])
            .ok_or_else(|| corrupt(format!("{name}: its vertices have no x, y and z")))?;
        let two = [&["s", "u", "texture_u"], &["t", "v", "texture_v"]].map(|n| element.find(n));
        let uv = match two {
            [Some(u), Some(v)] => Some([u, v]),
            _ => None,
        };
        let red: [&[&str]; 3] =
            [&["red", "diffuse_red"], &["green", "diffuse_green"], &["blue", "diffuse_blue"]];
        let normal = three([&["nx"], &["ny"], &["nz"]]);
        let alpha = element.find(&["alpha"]);
        Ok(Self { position, normal, uv, color: three(red), alpha })
    }
}

fn read_vertices(body: &mut Body<'_>, element: &Element, part: &mut Part) -> Result<(), Failure> {
    let columns = Columns::of(element, body.name)?;
    let mut row: Vec<f64> = Vec::new();
    for _ in 0..element.count {
        row.clear();
        for property in &element.properties {
            let value = if property.list.is_some() {
                body.list(property, |_| {})?;
                0.0
            } else {
                body.number(property.number)?
            };
            row.push(value);
        }
        let value = |column: usize| row.get(column).copied().unwrap_or(0.0) as f32;
        let scaled = |column: usize| {
            let full = element.properties.get(column).map_or(1.0, |p| p.number.full());
            value(column) / full as f32
        };
        part.positions.push(Vec3::from(columns.position.map(value)));
        if let Some(normal) = columns.normal {
            part.normals.push(Vec3::from(normal.map(value)));
        }
        if let Some([u, v]) = columns.uv {
            part.uvs.push(Vec2::new(value(u), 1.0 - value(v)));
        }
        if let Some(color) = columns.color {
            let [r, g, b] = color.map(|column| linear(scaled(column)));
            part.colors.push(Vec4::new(r, g, b, columns.alpha.map_or(1.0, scaled)));
        }
    }
    Ok(())
}

fn read_faces(
    body: &mut Body<'_>,
    element: &Element,
    part: &mut Part,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let corners_at = element
        .find(&["vertex_indices", "vertex_index"])
        .ok_or_else(|| corrupt(format!("{}: its faces have no vertex_indices", body.name)))?;
    let count = part.positions.len();
    let mut corners: Vec<u32> = Vec::new();
    let mut places: Vec<Vec3> = Vec::new();
    for face in 0..element.count {
        for (column, property) in element.properties.iter().enumerate() {
            if property.list.is_none() {
                body.number(property.number)?;
            } else if column == corners_at {
                corners.clear();
                // A negative corner becomes one that no mesh has.
                body.list(property, |value| {
                    corners.push(if value < 0.0 { u32::MAX } else { value as u32 });
                })?;
            } else {
                body.list(property, |_| {})?;
            }
        }
        places.clear();
        for corner in &corners {
            places.push(*part.positions.get(*corner as usize).ok_or_else(|| {
                corrupt(format!(
                    "{}: face {face} uses corner {corner}, but there are only {count}. Export it again",
                    body.name
                ))
            })?);
        }
        let triangles = polygon::triangulate(&places);
        budget.grow(0, triangles.len() * 3, body.name)?;
        part.indices
            .extend(triangles.iter().flatten().filter_map(|corner| corners.get(*corner).copied()));
    }
    Ok(())
}

fn skip(body: &mut Body<'_>, element: &Element) -> Result<(), Failure> {
    if element.properties.is_empty() {
        return Ok(());
    }
    for _ in 0..element.count {
        for property in &element.properties {
            if property.list.is_some() {
                body.list(property, |_| {})?;
            } else {
                body.number(property.number)?;
            }
        }
    }
    Ok(())
}

/// The numbers after the header.
struct Body<'a> {
    rest: &'a [u8],
    encoding: Encoding,
    at: usize,
    name: &'a str,
}

impl Body<'_> {
    fn number(&mut self, number: Number) -> Result<f64, Failure> {
        if self.encoding == Encoding::Ascii {
            return self.word();
        }
        let size = number.size();
        let Some((field, rest)) = self.rest.split_at_checked(size) else { return Err(self.cut()) };
        self.rest = rest;
        self.at += size;
        let mut bits = [0_u8; 8];
        let big = self.encoding == Encoding::BigEndian;
        for (index, byte) in field.iter().enumerate() {
            let place = if big { size - 1 - index } else { index };
            if let Some(bit) = bits.get_mut(place) {
                *bit = *byte;
            }
        }
        let bits = u64::from_le_bytes(bits);
        Ok(match number {
            Number::I8 => f64::from((bits as u8).cast_signed()),
            Number::U8 => f64::from(bits as u8),
            Number::I16 => f64::from((bits as u16).cast_signed()),
            Number::U16 => f64::from(bits as u16),
            Number::I32 => f64::from((bits as u32).cast_signed()),
            Number::U32 => f64::from(bits as u32),
            Number::F32 => f64::from(f32::from_bits(bits as u32)),
            Number::F64 => f64::from_bits(bits),
        })
    }

    fn word(&mut self) -> Result<f64, Failure> {
        let start = self.rest.iter().position(|byte| !byte.is_ascii_whitespace());
        let Some(start) = start else { return Err(self.cut()) };
        let word = self.rest.get(start..).unwrap_or_default();
        let end = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
        let word = word.get(..end).unwrap_or_default();
        let value = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        let value = value.ok_or_else(|| {
            corrupt(format!(
                "{}, byte {}: '{}' is no number. Export it again",
                self.name,
                self.at + start,
                String::from_utf8_lossy(word).chars().take(40).collect::<String>()
            ))
        })?;
        self.rest = self.rest.get(start + end..).unwrap_or_default();
        self.at += start + end;
        Ok(value)
    }

    fn list(&mut self, property: &Property, mut each: impl FnMut(f64)) -> Result<(), Failure> {
        let count = self.number(property.list.unwrap_or(Number::U8))?;
        if !(0.0..=bounds::POLYGON_CORNERS as f64).contains(&count) {
            return Err(corrupt(format!(
                "{}, byte {}: a list of {count} values is too long",
                self.name, self.at
            )));
        }
        for _ in 0..count as usize {
            each(self.number(property.number)?);
        }
        Ok(())
    }

    fn cut(&self) -> Failure {
        truncated(format!(
            "{} ends at byte {} in the middle of its data. Copy or export it again",
            self.name,
            self.at + self.rest.len()
        ))
    }
}
