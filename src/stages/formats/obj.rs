//! Reads OBJ with its material libraries.

use super::mesh::{Budget, Mended, complete, linear};
use super::mtl::{self, Map, MapRole, MtlMaterial};
use super::references::{self, Lookup, SideRoot};
use super::strokes::{self, Strokes};
use super::textures::{Textures, left_out, without_textures};
use super::words::{Lines, numbers};
use super::{LoadedScene, bounds, corrupt, file_name, polygon, read_bounded, warning};
use crate::model::Reason;
use crate::preview::Scene;
use crate::preview::scene::{AlphaMode, Material, Part, Wrap};
use crate::protocol::work::{Failure, Warning};
use crate::stages::Reporter;
use glam::{Vec2, Vec3, Vec4};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Objects beyond this many share the parts of their material.
const NAMED_OBJECTS: usize = 1_000;

/// Decodes an OBJ file. Its up axis is not stated and stays as it is.
pub fn read(
    bytes: &[u8],
    name: &str,
    sides: &SideRoot,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    let mut reader = Reader::new(name, sides);
    let mut lines = Lines::of(bytes);
    while let Some((number, line)) = lines.next_line(name)? {
        reader.line(&line, number)?;
        if number % 100_000 == 0 {
            reporter.progress(30.0, &format!("line {number}"));
        }
    }
    reporter.progress(60.0, "lines read");
    reader.finish()
}

/// A part that is being read, and which corner of it stands for which triple of the file.
#[derive(Default)]
struct Open {
    part: Part,
    corners: HashMap<[Option<u32>; 3], u32>,
    has_uvs: bool,
    has_colors: bool,
    flat: bool,
}

struct Reader<'a> {
    name: &'a str,
    sides: &'a SideRoot,
    positions: Vec<Vec3>,
    colors: Vec<Option<Vec3>>,
    uvs: Vec<Vec2>,
    normals: Vec<Vec3>,
    open: Vec<Open>,
    keys: HashMap<(String, usize, bool), usize>,
    object: String,
    objects: BTreeSet<String>,
    material: usize,
    /// By name in [`Self::scene_materials`].
    materials: HashMap<String, usize>,
    scene_materials: Vec<Material>,
    uv_changes: Vec<(Vec2, Vec2)>,
    textures: Textures,
    /// By name and clamping; none for one that cannot be drawn.
    texture_at: HashMap<(String, bool), Option<usize>>,
    warnings: Vec<Warning>,
    budget: Budget,
    libraries: Vec<String>,
    faces: usize,
    /// Points and lines, by their material.
    strokes: HashMap<usize, Strokes>,
    others: usize,
}

impl<'a> Reader<'a> {
    fn new(name: &'a str, sides: &'a SideRoot) -> Self {
        Self {
            name,
            sides,
            positions: Vec::new(),
            colors: Vec::new(),
            uvs: Vec::new(),
            normals: Vec::new(),
            open: Vec::new(),
            keys: HashMap::new(),
            object: String::new(),
            objects: BTreeSet::new(),
            material: 0,
            materials: HashMap::new(),
            scene_materials: vec![Material::default()],
            uv_changes: vec![(Vec2::ONE, Vec2::ZERO)],
            textures: Textures::default(),
            texture_at: HashMap::new(),
            warnings: Vec::new(),
            budget: Budget::default(),
            libraries: Vec::new(),
            faces: 0,
            strokes: HashMap::new(),
            others: 0,
        }
    }

    fn line(&mut self, line: &str, number: usize) -> Result<(), Failure> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let bad = || {
            let start: String = line.chars().take(80).collect();
            corrupt(format!(
                "{}, line {number}: '{start}' cannot be read. Export it again",
                self.name
            ))
        };
        match word {
            "v" => {
                let (values, count) = numbers::<7>(rest.split_whitespace()).ok_or_else(bad)?;
                let [x, y, z, more @ ..] = values;
                let color = match (count, more) {
                    (0..=2, _) => return Err(bad()),
                    (6, [red, green, blue, _]) | (7.., [_, red, green, blue]) => {
                        Some(Vec3::new(red, green, blue))
                    }
                    _ => None,
                };
                self.positions.push(Vec3::new(x, y, z));
                self.colors.push(color);
            }
            "vt" => {
                let ([u, v, _], _) = numbers::<3>(rest.split_whitespace()).ok_or_else(bad)?;
                self.uvs.push(Vec2::new(u, v));
            }
            "vn" => {
                let (normal, _) = numbers::<3>(rest.split_whitespace()).ok_or_else(bad)?;
                self.normals.push(Vec3::from(normal));
            }
            "f" | "fo" => return self.face(rest, number),
            "o" | "g" => {
                rest.clone_into(&mut self.object);
                if self.objects.len() < NAMED_OBJECTS {
                    self.objects.insert(rest.to_owned());
                }
            }
            "usemtl" => self.use_material(rest),
            "l" | "p" => return self.strokes(word == "l", rest, number),
            "curv" | "surf" => self.others += 1,
            _ => {
                if let Some(names) = references::library_names(line) {
                    return self.library(&names);
                }
            }
        }
        Ok(())
    }

    fn use_material(&mut self, name: &str) {
        if let Some(material) = self.materials.get(name) {
            self.material = *material;
            return;
        }
        self.warnings.push(warning(
            Reason::ReferenceMissing,
            format!("{}: no library has the material '{name}'; it is drawn grey", self.name),
        ));
        let material = Material { name: name.to_owned(), ..Material::default() };
        self.material = self.add_material(material, (Vec2::ONE, Vec2::ZERO));
    }

    fn add_material(&mut self, material: Material, uv_change: (Vec2, Vec2)) -> usize {
        let index = self.scene_materials.len();
        self.materials.insert(material.name.clone(), index);
        self.scene_materials.push(material);
        self.uv_changes.push(uv_change);
        index
    }

    fn library(&mut self, names: &str) -> Result<(), Failure> {
        for (written, lookup) in references::find_libraries(self.sides, names) {
            let what = format!("the material library of {}", self.name);
            let (library, path) = match lookup {
                Lookup::File { name, path } => (name, path),
                Lookup::NotFound => return Err(references::missing(&what, &written)),
                Lookup::Outside => return Err(references::outside(&what, &written)),
            };
            if self.libraries.contains(&library) || self.libraries.len() >= bounds::REFERENCES {
                continue;
            }
            let bytes = read_bounded(&path, bounds::MTL_BYTES)?;
            self.libraries.push(library.clone());
            for material in mtl::parse(&bytes, &written)? {
                let (material, uv_change) = self.material(&material, &library)?;
                self.add_material(material, uv_change);
            }
        }
        Ok(())
    }

    /// Translates a material; its second part are scale and offset of the base colour's texture.
    fn material(
        &mut self,
        from: &MtlMaterial,
        library: &str,
    ) -> Result<(Material, (Vec2, Vec2)), Failure> {
        let mut material = Material { name: from.name.clone(), ..Material::default() };
        let base = from.map(MapRole::BaseColor);
        if let Some(map) = base {
            material.base_color_texture = self.texture(map, library)?;
        }
        // Some programs write black beside a texture and mean the texture alone.
        let black = from.diffuse.is_none_or(|color| color == Vec3::ZERO);
        let diffuse = if base.is_some() && black {
            Vec3::ONE
        } else {
            from.diffuse.unwrap_or(Vec3::splat(0.8))
        };
        material.base_color = diffuse.clamp(Vec3::ZERO, Vec3::ONE).extend(from.opacity);
        if from.opacity < 1.0 {
            material.alpha = AlphaMode::Blend;
        }
        material.emissive = from.emissive.max(Vec3::ZERO);
        if let Some(map) = from.map(MapRole::Emissive) {
            material.emissive_texture = self.texture(map, library)?;
            if material.emissive == Vec3::ZERO {
                material.emissive = Vec3::ONE;
            }
        }
        // A Phong highlight of exponent n is about as wide as a lobe of this roughness.
        let shine =
            from.shininess.map(|shininess| (2.0 / (shininess.max(0.0) + 2.0)).sqrt().sqrt());
        material.roughness = from.roughness.or(shine).unwrap_or(0.8).clamp(0.04, 1.0);
        if from.roughness.is_none() && from.specular.max_element() <= 0.0 {
            material.roughness = material.roughness.max(0.9);
        }
        material.metallic = from.metallic.unwrap_or(0.0).clamp(0.0, 1.0);
        self.normal_map(from, library, &mut material)?;
        self.other_maps(from, library)?;
        let glows = from.map(MapRole::Emissive).is_some();
        without_textures(&mut material, base.is_some(), false, glows);
        let uv_change = base.map_or((Vec2::ONE, Vec2::ZERO), |map| (map.scale, map.offset));
        Ok((material, uv_change))
    }

    /// `bump` is meant for heights, but is often given normals; those are mostly blue.
    fn normal_map(
        &mut self,
        from: &MtlMaterial,
        library: &str,
        material: &mut Material,
    ) -> Result<(), Failure> {
        if let Some(map) = from.map(MapRole::Normal) {
            material.normal_texture = self.texture(map, library)?;
            return Ok(());
        }
        let Some(map) = from.map(MapRole::Bump) else { return Ok(()) };
        let Some(index) = self.texture(map, library)? else { return Ok(()) };
        let pixels = self.textures.list.get(index).map(|texture| texture.rgba.chunks_exact(4));
        let mut sums = [0_u64; 4];
        for pixel in pixels.into_iter().flatten() {
            for (sum, value) in sums.iter_mut().zip(pixel) {
                *sum += u64::from(*value);
            }
        }
        let [red, green, blue, _] = sums;
        if blue * 2 > (red + green) * 3 / 2 && blue > red {
            material.normal_texture = Some(index);
            material.normal_scale = map.strength;
        } else {
            self.not_drawn(map, &from.name);
        }
        Ok(())
    }

    fn other_maps(&mut self, from: &MtlMaterial, library: &str) -> Result<(), Failure> {
        for map in from.maps.iter().filter(|map| map.role == MapRole::Other) {
            // A file that is not drawn anyway need not be there, but must not lie elsewhere.
            if let Err(failure) = self.found(map, library) {
                left_out(failure, &map.word)?;
            }
            self.not_drawn(map, &from.name);
        }
        Ok(())
    }

    fn not_drawn(&mut self, map: &Map, material: &str) {
        self.warnings.push(warning(
            Reason::InputUnsupported,
            format!("material '{material}': {} is not drawn ({})", map.word, map.file),
        ));
    }

    fn found(&self, map: &Map, library: &str) -> Result<(String, std::path::PathBuf), Failure> {
        let what = format!("the texture for {} in {library}", map.word);
        match references::find_map(self.sides, library, map) {
            Lookup::File { name, path } => Ok((name, path)),
            Lookup::NotFound => Err(references::missing(&what, &map.file)),
            Lookup::Outside => Err(references::outside(&what, &map.file)),
        }
    }

    /// The texture of a map; none where it cannot be drawn, with a warning.
    fn texture(&mut self, map: &Map, library: &str) -> Result<Option<usize>, Failure> {
        let found = self.found(map, library);
        let name = found.as_ref().map_or_else(|_| map.file.clone(), |(name, _)| name.clone());
        let key = (name, map.clamp);
        if let Some(index) = self.texture_at.get(&key) {
            return Ok(*index);
        }
        let loaded = found.and_then(|(_, path)| self.load_texture(map, &path));
        let index = match loaded {
            Ok(index) => Some(index),
            Err(failure) => {
                let what = format!("{}: {} {}", self.name, map.word, map.file);
                self.warnings.push(left_out(failure, &what)?);
                None
            }
        };
        self.texture_at.insert(key, index);
        Ok(index)
    }

    fn load_texture(&mut self, map: &Map, path: &Path) -> Result<usize, Failure> {
        let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
        let wrap = if map.clamp { Wrap::Clamp } else { Wrap::Repeat };
        self.textures.add(&bytes, &file_name(path), [wrap; 2], false)
    }

    fn wild(&self, word: &str, number: usize) -> Failure {
        corrupt(format!(
            "{}, line {number}: the corner '{word}' points to nothing ({} corners, {} texture coordinates, {} normals so far). Export it again",
            self.name,
            self.positions.len(),
            self.uvs.len(),
            self.normals.len()
        ))
    }

    /// Points, or a line through points.
    fn strokes(&mut self, is_line: bool, rest: &str, number: usize) -> Result<(), Failure> {
        let mut corners: Vec<u32> = Vec::new();
        for word in rest.split_whitespace().take_while(|word| !word.starts_with('#')) {
            let position = index(word.split('/').next(), self.positions.len()).flatten();
            corners.push(position.ok_or_else(|| self.wild(word, number))?);
        }
        self.budget.grow(corners.len(), 0, self.name)?;
        let (material, positions) = (self.material, &self.positions);
        let strokes = self.strokes.entry(material).or_default();
        strokes.material = material;
        let first = strokes.positions.len() as u32;
        strokes.positions.extend(corners.iter().map(|corner| at(positions, Some(*corner))));
        let last = strokes.positions.len() as u32;
        if is_line {
            strokes.lines.extend((first + 1..last).map(|end| [end - 1, end]));
        } else {
            strokes.points.extend(first..last);
        }
        Ok(())
    }

    fn face(&mut self, rest: &str, number: usize) -> Result<(), Failure> {
        let mut corners: Vec<[Option<u32>; 3]> = Vec::new();
        for word in rest.split_whitespace().take_while(|word| !word.starts_with('#')) {
            let mut parts = word.split('/');
            let mut next = |count: usize| index(parts.next(), count);
            let position = next(self.positions.len()).ok_or_else(|| self.wild(word, number))?;
            let uv = next(self.uvs.len()).ok_or_else(|| self.wild(word, number))?;
            let normal = next(self.normals.len()).ok_or_else(|| self.wild(word, number))?;
            if position.is_none() || corners.len() >= bounds::POLYGON_CORNERS {
                return Err(self.wild(word, number));
            }
            corners.push([position, uv, normal]);
        }
        self.faces += 1;
        let places: Vec<Vec3> =
            corners.iter().map(|[position, ..]| at(&self.positions, *position)).collect();
        let triangles = polygon::triangulate(&places);
        self.budget.grow(triangles.len() * 3, triangles.len() * 3, self.name)?;
        let flat = corners.iter().any(|[.., normal]| normal.is_none());
        let open = self.open_part(flat)?;
        for corner in triangles.iter().flatten().filter_map(|at| corners.get(*at)) {
            self.corner(open, *corner);
        }
        Ok(())
    }

    /// The part for the object and material in use; faces without normals have parts of their own.
    fn open_part(&mut self, flat: bool) -> Result<usize, Failure> {
        let named = self.objects.len() < NAMED_OBJECTS;
        let object = if named { self.object.clone() } else { String::new() };
        let key = (object, self.material, flat);
        if let Some(open) = self.keys.get(&key) {
            return Ok(*open);
        }
        self.budget.take(0, 0, self.name)?;
        let material = self.scene_materials.get(self.material);
        let name = if key.0.is_empty() {
            material.map_or_else(String::new, |material| material.name.clone())
        } else {
            key.0.clone()
        };
        let part = Part { name, material: self.material, ..Part::default() };
        self.open.push(Open { part, flat, ..Open::default() });
        self.keys.insert(key, self.open.len() - 1);
        Ok(self.open.len() - 1)
    }

    fn corner(&mut self, open: usize, corner: [Option<u32>; 3]) {
        let (scale, offset) =
            self.uv_changes.get(self.material).copied().unwrap_or((Vec2::ONE, Vec2::ZERO));
        let Some(open) = self.open.get_mut(open) else { return };
        if let Some(index) = open.corners.get(&corner) {
            open.part.indices.push(*index);
            return;
        }
        let [position, uv, normal] = corner;
        let index = open.part.positions.len() as u32;
        open.corners.insert(corner, index);
        open.part.indices.push(index);
        open.part.positions.push(at(&self.positions, position));
        if !open.flat {
            open.part.normals.push(at(&self.normals, normal));
        }
        let place = at(&self.uvs, uv) * scale + offset;
        open.has_uvs |= uv.is_some();
        open.part.uvs.push(Vec2::new(place.x, 1.0 - place.y));
        let color = position.and_then(|position| self.colors.get(position as usize).copied());
        let color = color.flatten();
        open.has_colors |= color.is_some();
        let [r, g, b] = color.unwrap_or(Vec3::ONE).to_array().map(linear);
        open.part.colors.push(Vec4::new(r, g, b, 1.0));
    }

    fn finish(mut self) -> Result<LoadedScene, Failure> {
        let mut mended = Mended::default();
        let mut parts = Vec::new();
        for mut open in std::mem::take(&mut self.open) {
            if !open.has_uvs {
                open.part.uvs.clear();
            }
            if !open.has_colors {
                open.part.colors.clear();
            }
            mended.add(complete(&mut open.part, self.name)?);
            parts.push(open.part);
        }
        if self.others > 0 {
            self.warnings.push(warning(
                Reason::InputUnsupported,
                format!("{}: {} curves or surfaces are not drawn", self.name, self.others),
            ));
        }
        self.warnings.extend(mended.warnings(self.name));
        let facts = json!({
            "format": "OBJ",
            "vertices": self.positions.len(),
            "faces": self.faces,
            "objects": self.objects.iter().take(64).collect::<Vec<_>>(),
            "material_libraries": self.libraries,
        });
        let mut scene =
            Scene { parts, materials: self.scene_materials, textures: self.textures.list };
        let mut strokes: Vec<Strokes> = self.strokes.into_values().collect();
        strokes.sort_by_key(|one| one.material);
        // A file of nothing but corners is a cloud.
        if scene.parts.is_empty() && strokes.is_empty() {
            let linear = |color: Vec3| Vec3::from(color.to_array().map(linear)).extend(1.0);
            let colors = self.colors.iter().map(|color| color.map(linear)).collect();
            strokes.push(Strokes::cloud(self.positions, colors));
        }
        let drawn = strokes::add(&mut scene, &strokes, &mut self.budget, self.name)?;
        self.warnings.extend(drawn);
        Ok(LoadedScene { scene, warnings: self.warnings, facts })
    }
}

fn at<T: Copy + Default>(list: &[T], index: Option<u32>) -> T {
    index.and_then(|index| list.get(index as usize).copied()).unwrap_or_default()
}

/// An index as OBJ writes it (from 1, or backwards from −1) from 0. The inner none is an absent
/// one, the outer none a wild one.
#[expect(clippy::option_option, reason = "absent and wrong are two things here")]
fn index(word: Option<&str>, count: usize) -> Option<Option<u32>> {
    let Some(word) = word.filter(|word| !word.is_empty()) else { return Some(None) };
    let number: i64 = word.parse().ok()?;
    let count = i64::try_from(count).ok()?;
    let index = if number < 0 { count.checked_add(number)? } else { number.checked_sub(1)? };
    ((0..count).contains(&index)).then(|| u32::try_from(index).ok()).flatten().map(Some)
}
