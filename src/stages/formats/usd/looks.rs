//! Materials of `UsdPreviewSurface` and their textures
//! (`https://openusd.org/release/spec_usdpreviewsurface.html`).

use super::network::{self, Origin};
use super::sources::Sources;
use super::values::{self, Reader};
use crate::model::Reason;
use crate::preview::scene::{AlphaMode, Material, Wrap};
use crate::protocol::work::{Failure, Warning};
use crate::stages::formats::textures::{Textures, left_out, without_textures};
use crate::stages::formats::{unsupported, warning};
use glam::{Vec2, Vec3};
use openusd::sdf::{Path, Value};
use openusd::usd::Prim;
use std::collections::HashMap;

/// Connections followed from a texture to the name of its coordinates.
const COORDINATE_STEPS: usize = 8;

/// How the texture coordinates of a part are found.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The primvar that the base colour's texture names.
    pub set: String,
    /// Applied one after the other: degrees, scale, shift.
    changes: Vec<(f32, Vec2, Vec2)>,
}

impl Default for Place {
    fn default() -> Self {
        Self { set: "st".to_owned(), changes: Vec::new() }
    }
}

impl Place {
    /// A coordinate as scenes have it: v goes down.
    pub(super) fn uv(&self, uv: Vec2) -> Vec2 {
        let changed = self.changes.iter().rev().fold(uv, |uv, (degrees, scale, shift)| {
            Vec2::from_angle(degrees.to_radians()).rotate(uv * *scale) + *shift
        });
        Vec2::new(changed.x, 1.0 - changed.y)
    }
}

/// A texture of an input.
struct Map {
    shader: Prim,
    output: String,
}

/// Materials read so far.
pub(super) struct Looks<'a> {
    reader: &'a Reader<'a>,
    sources: &'a Sources,
    /// What the scene gets.
    pub materials: Vec<Material>,
    places: Vec<Place>,
    /// None is for parts without a material.
    at: HashMap<Option<Path>, usize>,
    clear: Option<usize>,
    /// Decoded textures.
    pub textures: Textures,
    texture_at: HashMap<Path, Option<usize>>,
    /// What is not drawn.
    pub warnings: Vec<Warning>,
}

impl<'a> Looks<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, sources: &'a Sources) -> Self {
        Self {
            reader,
            sources,
            materials: Vec::new(),
            places: Vec::new(),
            at: HashMap::new(),
            clear: None,
            textures: Textures::default(),
            texture_at: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The place of a material in the scene.
    pub(super) fn of(&mut self, material: Option<&Path>) -> Result<usize, Failure> {
        if let Some(known) = self.at.get(&material.cloned()) {
            return Ok(*known);
        }
        let (made, place) = match material {
            Some(path) => self.read(path)?,
            None => (Material::default(), Place::default()),
        };
        let look = self.push(made, place);
        self.at.insert(material.cloned(), look);
        Ok(look)
    }

    fn push(&mut self, material: Material, place: Place) -> usize {
        self.materials.push(material);
        self.places.push(place);
        self.materials.len() - 1
    }

    /// How parts with this material find their texture coordinates.
    pub(super) fn place(&self, look: usize) -> Place {
        self.places.get(look).cloned().unwrap_or_default()
    }

    /// Whether this is the look of what has no material: the mesh's own colours count.
    pub(super) fn is_bare(&self, look: usize) -> bool {
        self.at.get(&None) == Some(&look)
    }

    /// As without a material, but seen through.
    pub(super) fn clear(&mut self) -> usize {
        if let Some(known) = self.clear {
            return known;
        }
        let clear = Material { alpha: AlphaMode::Blend, ..Material::default() };
        let look = self.push(clear, Place::default());
        self.clear = Some(look);
        look
    }

    fn read(&mut self, path: &Path) -> Result<(Material, Place), Failure> {
        let reader = self.reader;
        let name = path.name().unwrap_or_default().to_owned();
        let mut material = Material { name, ..Material::default() };
        let prim = reader.stage.prim(path.clone());
        let surface = network::origin(reader, &prim, "outputs:surface")?;
        let surface = match surface {
            Origin::Shader { shader, .. } => shader,
            Origin::Nothing | Origin::Value(_) => {
                self.clay(&material.name, "it has no surface of the universal kind");
                return Ok((material, Place::default()));
            }
        };
        let id = reader.word(&surface, "info:id")?.unwrap_or_default();
        if id != "UsdPreviewSurface" {
            self.clay(&material.name, &format!("its shader is '{id}'"));
            return Ok((material, Place::default()));
        }
        let base = self.colors(&surface, &mut material)?;
        self.numbers(&surface, &mut material)?;
        self.opacity(&surface, base.as_ref(), &mut material)?;
        let place = match &base {
            Some(map) => self.coordinates(map)?,
            None => Place::default(),
        };
        Ok((material, place))
    }

    fn clay(&mut self, material: &str, why: &str) {
        self.warnings.push(warning(
            Reason::InputUnsupported,
            format!(
                "material '{material}' is shown as clay: {why}. Give it a UsdPreviewSurface too"
            ),
        ));
    }

    /// The texture that makes an input.
    fn map(&self, surface: &Prim, input: &str) -> Result<Option<Map>, Failure> {
        let origin = network::origin(self.reader, surface, &format!("inputs:{input}"))?;
        let Origin::Shader { shader, output } = origin else { return Ok(None) };
        let id = self.reader.word(&shader, "info:id")?;
        Ok((id.as_deref() == Some("UsdUVTexture")).then_some(Map { shader, output }))
    }

    fn value(&self, surface: &Prim, input: &str) -> Result<Option<Value>, Failure> {
        network::value(self.reader, surface, input)
    }

    fn factor(&self, surface: &Prim, input: &str, absent: f32) -> Result<f32, Failure> {
        let value = self.value(surface, input)?.as_ref().and_then(values::number);
        let value = value.map_or(absent, |value| value as f32);
        Ok(if value.is_finite() { value } else { absent })
    }

    fn color(&self, surface: &Prim, input: &str, absent: Vec3) -> Result<Vec3, Failure> {
        let value = self.value(surface, input)?.as_ref().and_then(values::vector);
        let color = value.map_or(absent, glam::DVec3::as_vec3);
        Ok(if color.is_finite() { color.max(Vec3::ZERO) } else { absent })
    }

    /// What a texture is multiplied with.
    fn scale(&self, map: &Map) -> Result<Vec3, Failure> {
        self.color(&map.shader, "scale", Vec3::ONE)
    }

    /// Base colour and glow; gives the base colour's texture.
    fn colors(&mut self, surface: &Prim, material: &mut Material) -> Result<Option<Map>, Failure> {
        let base = self.map(surface, "diffuseColor")?;
        let color = match &base {
            Some(map) => self.scale(map)?,
            None => self.color(surface, "diffuseColor", Vec3::splat(0.18))?,
        };
        material.base_color = color.min(Vec3::ONE).extend(1.0);
        material.base_color_texture = self.texture(base.as_ref())?;
        let glow = self.map(surface, "emissiveColor")?;
        material.emissive = match &glow {
            Some(map) => self.scale(map)?,
            None => self.color(surface, "emissiveColor", Vec3::ZERO)?,
        };
        material.emissive_texture = self.texture(glow.as_ref())?;
        let normal = self.map(surface, "normal")?;
        material.normal_texture = self.texture(normal.as_ref())?;
        let occlusion = self.map(surface, "occlusion")?;
        material.occlusion_texture = match occlusion {
            Some(map) if matches!(map.output.as_str(), "r" | "rgb") => self.texture(Some(&map))?,
            Some(_) => {
                self.not_drawn(&material.name, "occlusion");
                None
            }
            None => None,
        };
        without_textures(material, base.is_some(), false, glow.is_some());
        Ok(base)
    }

    /// Metalness and roughness: from one texture's blue and green, or as numbers.
    fn numbers(&mut self, surface: &Prim, material: &mut Material) -> Result<(), Failure> {
        material.metallic = self.factor(surface, "metallic", 0.0)?.clamp(0.0, 1.0);
        material.roughness = self.factor(surface, "roughness", 0.5)?.clamp(0.04, 1.0);
        if self.factor(surface, "useSpecularWorkflow", 0.0)? > 0.0 {
            material.metallic = 0.0;
            self.not_drawn(&material.name, "specular");
        }
        let (metal, rough) = (self.map(surface, "metallic")?, self.map(surface, "roughness")?);
        match (&metal, &rough) {
            (None, None) => {}
            (Some(metal), Some(rough))
                if metal.shader.path() == rough.shader.path()
                    && (metal.output.as_str(), rough.output.as_str()) == ("b", "g") =>
            {
                material.metallic_roughness_texture = self.texture(Some(metal))?;
                (material.metallic, material.roughness) = (1.0, 1.0);
                without_textures(material, false, true, false);
            }
            _ => {
                for (map, what) in [(metal, "metalness"), (rough, "roughness")] {
                    if map.is_some() {
                        self.not_drawn(&material.name, what);
                    }
                }
            }
        }
        if self.map(surface, "displacement")?.is_some() {
            self.not_drawn(&material.name, "displacement");
        }
        Ok(())
    }

    /// The texture of opacity is drawn where it is the alpha of the base colour's.
    fn opacity(
        &mut self,
        surface: &Prim,
        base: Option<&Map>,
        material: &mut Material,
    ) -> Result<(), Failure> {
        let opacity = self.factor(surface, "opacity", 1.0)?.clamp(0.0, 1.0);
        let cutoff = self.factor(surface, "opacityThreshold", 0.0)?;
        material.base_color.w = opacity;
        let mut is_used = opacity < 1.0;
        if let Some(map) = self.map(surface, "opacity")? {
            let file = |map: &Map| self.file(map).ok().flatten();
            if map.output == "a" && base.is_some_and(|base| file(base) == file(&map)) {
                is_used = true;
            } else {
                self.not_drawn(&material.name, "opacity");
            }
        }
        if is_used {
            material.alpha =
                if cutoff > 0.0 { AlphaMode::Mask { cutoff } } else { AlphaMode::Blend };
        }
        Ok(())
    }

    fn not_drawn(&mut self, material: &str, what: &str) {
        self.warnings.push(warning(
            Reason::InputUnsupported,
            format!("material '{material}': its {what} texture is not drawn"),
        ));
    }

    /// The place of a texture's file, or what is written where it has none.
    fn file(&self, map: &Map) -> Result<Option<String>, Failure> {
        let Some(Value::AssetPath(file)) = self.value(&map.shader, "file")? else {
            return Ok(None);
        };
        let place = file.resolved_path().filter(|place| !place.is_empty());
        Ok(Some(place.unwrap_or_else(|| file.as_str()).to_owned()))
    }

    fn texture(&mut self, map: Option<&Map>) -> Result<Option<usize>, Failure> {
        let Some(map) = map else { return Ok(None) };
        if let Some(known) = self.texture_at.get(map.shader.path()) {
            return Ok(*known);
        }
        let known = match self.load(map) {
            Ok(known) => Some(known),
            Err(failure) => {
                let what = format!("{}: a texture", self.reader.name);
                self.warnings.push(left_out(failure, &what)?);
                None
            }
        };
        self.texture_at.insert(map.shader.path().clone(), known);
        Ok(known)
    }

    fn load(&mut self, map: &Map) -> Result<usize, Failure> {
        let shader = map.shader.path();
        let file = self.file(map)?;
        let file = file.ok_or_else(|| unsupported(format!("{shader} names no file")))?;
        if file.contains("<UDIM>") {
            return Err(unsupported(format!(
                "{file} is a set of tiles (UDIM). Join them into one"
            )));
        }
        let mut wrap = [Wrap::Clamp; 2];
        for (wrap, input) in wrap.iter_mut().zip(["wrapS", "wrapT"]) {
            *wrap = match self.value(&map.shader, input)?.and_then(values::word).as_deref() {
                Some("repeat") => Wrap::Repeat,
                Some("mirror") => Wrap::Mirror,
                _ => Wrap::Clamp,
            };
        }
        let bytes = self.sources.read(&file, "the file")?;
        let label = file.rsplit('/').next().unwrap_or(&file);
        self.textures.add(&bytes, label, wrap, false)
    }

    /// Follows a texture's coordinates to the name of their list.
    fn coordinates(&self, map: &Map) -> Result<Place, Failure> {
        let mut place = Place::default();
        let (mut at, mut input) = (map.shader.clone(), "inputs:st");
        for _ in 0..COORDINATE_STEPS {
            let origin = network::origin(self.reader, &at, input)?;
            let Origin::Shader { shader, .. } = origin else { break };
            match self.reader.word(&shader, "info:id")?.as_deref() {
                Some("UsdTransform2d") => {
                    let pair = |input: &str, absent: Vec2| -> Result<Vec2, Failure> {
                        let value = self.value(&shader, input)?;
                        Ok(value.as_ref().and_then(values::pair).unwrap_or(absent))
                    };
                    let degrees = self.factor(&shader, "rotation", 0.0)?;
                    let change =
                        (degrees, pair("scale", Vec2::ONE)?, pair("translation", Vec2::ZERO)?);
                    place.changes.push(change);
                    (at, input) = (shader, "inputs:in");
                }
                Some(reader) if reader.starts_with("UsdPrimvarReader") => {
                    let named = self.value(&shader, "varname")?.and_then(values::word);
                    place.set = named.filter(|set| !set.is_empty()).unwrap_or(place.set);
                    break;
                }
                _ => break,
            }
        }
        Ok(place)
    }
}
