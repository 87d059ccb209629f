//! Reads STL, binary and text. STL is +Z up; scenes are +Y up.

use super::mesh::{Budget, Mended, complete};
use super::words::{Lines, numbers};
use super::{LoadedScene, corrupt, truncated};
use crate::preview::Scene;
use crate::preview::scene::{Material, Part};
use crate::protocol::work::Failure;
use crate::stages::Reporter;
use glam::Vec3;
use serde_json::json;

const HEAD_BYTES: usize = 84;
const TRIANGLE_BYTES: usize = 50;

/// Decodes an STL file. It is binary exactly when its size fits its count of triangles, or when
/// it is no text.
pub fn read(bytes: &[u8], name: &str, reporter: &dyn Reporter) -> Result<LoadedScene, Failure> {
    let declared = declared(bytes);
    let fits = declared.is_some_and(|count| bytes.len() as u64 == size_of(count));
    let is_text =
        bytes.trim_ascii_start().get(..5).is_some_and(|w| w.eq_ignore_ascii_case(b"solid"))
            && !bytes.iter().take(1_000).any(|byte| *byte == 0);
    let binary = fits || !is_text;
    let parts = if binary { vec![read_binary(bytes, name)?] } else { read_text(bytes, name)? };
    let solids = parts.len();
    reporter.progress(60.0, "triangles read");
    let mut budget = Budget::default();
    let mut mended = Mended::default();
    let mut scene = Scene { materials: vec![Material::default()], ..Scene::default() };
    for mut part in parts {
        budget.take(part.positions.len(), part.indices.len(), name)?;
        mended.add(complete(&mut part, name)?);
        scene.parts.push(part);
    }
    let facts = json!({ "format": if binary { "binary STL" } else { "text STL" }, "solids": solids, "up": "+Z" });
    Ok(LoadedScene { scene, warnings: mended.warnings(name), facts })
}

fn declared(bytes: &[u8]) -> Option<u32> {
    bytes.get(80..HEAD_BYTES)?.try_into().ok().map(u32::from_le_bytes)
}

fn size_of(triangles: u32) -> u64 {
    HEAD_BYTES as u64 + TRIANGLE_BYTES as u64 * u64::from(triangles)
}

fn read_binary(bytes: &[u8], name: &str) -> Result<Part, Failure> {
    let count = declared(bytes).ok_or_else(|| {
        truncated(format!("{name} has {} bytes; an STL has at least {HEAD_BYTES}", bytes.len()))
    })?;
    let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
    let whole = body.len() / TRIANGLE_BYTES;
    if (whole as u64) < u64::from(count) {
        return Err(truncated(format!(
            "{name} says it has {count} triangles ({} bytes), but ends after {whole} ({} bytes). Copy or export it again",
            size_of(count),
            bytes.len()
        )));
    }
    let mut part = Part { name: "solid".to_owned(), ..Part::default() };
    for triangle in body.chunks_exact(TRIANGLE_BYTES).take(count as usize) {
        for corner in triangle.get(12..48).unwrap_or_default().chunks_exact(12) {
            part.positions.push(z_up(corner_of(corner)));
        }
    }
    part.indices = (0..part.positions.len() as u32).collect();
    Ok(part)
}

fn corner_of(bytes: &[u8]) -> Vec3 {
    let float = |at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
        field.map_or(f32::NAN, f32::from_le_bytes)
    };
    Vec3::new(float(0), float(4), float(8))
}

fn z_up(corner: Vec3) -> Vec3 {
    Vec3::new(corner.x, corner.z, -corner.y)
}

fn read_text(bytes: &[u8], name: &str) -> Result<Vec<Part>, Failure> {
    let mut parts: Vec<Part> = Vec::new();
    let mut facet: Vec<Vec3> = Vec::new();
    let mut lines = Lines::of(bytes);
    let mut open = false;
    while let Some((number, line)) = lines.next_line(name)? {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "solid" => {
                let solid = words.collect::<Vec<_>>().join(" ");
                parts.push(Part { name: solid, ..Part::default() });
                open = true;
            }
            "vertex" => match numbers::<3>(words) {
                Some((corner, 3)) => facet.push(z_up(Vec3::from(corner))),
                _ => {
                    return Err(corrupt(format!(
                        "{name}, line {number}: '{}' is no corner. Export it again",
                        line.trim().chars().take(80).collect::<String>()
                    )));
                }
            },
            "endfacet" => {
                if let Some(part) = parts.last_mut() {
                    fan(part, &facet);
                }
                facet.clear();
            }
            "endsolid" => open = false,
            _ => {}
        }
    }
    if open {
        return Err(truncated(format!("{name} ends without 'endsolid'. Copy or export it again")));
    }
    Ok(parts)
}

fn fan(part: &mut Part, facet: &[Vec3]) {
    let Some((first, rest)) = facet.split_first() else { return };
    for pair in rest.windows(2) {
        let start = part.positions.len() as u32;
        part.positions.push(*first);
        part.positions.extend(pair);
        part.indices.extend([start, start + 1, start + 2]);
    }
}
