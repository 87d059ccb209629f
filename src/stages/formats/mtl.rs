//! Reads MTL, the material libraries of OBJ files.

use super::words::{Lines, numbers};
use crate::protocol::work::Failure;
use glam::{Vec2, Vec3};

/// A material as the file says it.
#[derive(Debug, Clone, PartialEq)]
pub struct MtlMaterial {
    /// Its name; may have spaces.
    pub name: String,
    /// `Kd`, if given.
    pub diffuse: Option<Vec3>,
    /// `Ks`.
    pub specular: Vec3,
    /// `Ns`, if given.
    pub shininess: Option<f32>,
    /// `Ke`.
    pub emissive: Vec3,
    /// `d`, or 1 − `Tr`.
    pub opacity: f32,
    /// `Pr`.
    pub roughness: Option<f32>,
    /// `Pm`.
    pub metallic: Option<f32>,
    /// Its textures.
    pub maps: Vec<Map>,
}

/// What a texture of a material is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapRole {
    /// `map_Kd`.
    BaseColor,
    /// `map_Ke`.
    Emissive,
    /// `norm`, `map_Kn`: tangent-space normals.
    Normal,
    /// `bump`, `map_bump`: heights, but often normals.
    Bump,
    /// Not drawn: `map_Ka`, `map_Ks`, `map_Ns`, `map_d`, `map_Pr`, `map_Pm`, `disp`, `refl` ….
    Other,
}

/// A texture of a material.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// What it is for.
    pub role: MapRole,
    /// The word that named it: `map_Kd`.
    pub word: String,
    /// The file as written, without the options.
    pub file: String,
    /// Everything after the word, for names that look like options.
    pub written: String,
    /// `-s`.
    pub scale: Vec2,
    /// `-o`.
    pub offset: Vec2,
    /// `-clamp on`.
    pub clamp: bool,
    /// `-bm`.
    pub strength: f32,
}

impl MtlMaterial {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            diffuse: None,
            specular: Vec3::ZERO,
            shininess: None,
            emissive: Vec3::ZERO,
            opacity: 1.0,
            roughness: None,
            metallic: None,
            maps: Vec::new(),
        }
    }

    /// The first texture for a role.
    pub fn map(&self, role: MapRole) -> Option<&Map> {
        self.maps.iter().find(|map| map.role == role)
    }
}

/// The materials of a library. Unknown words are skipped; what comes before the first `newmtl`
/// belongs to a material without a name.
pub fn parse(bytes: &[u8], name: &str) -> Result<Vec<MtlMaterial>, Failure> {
    let mut materials: Vec<MtlMaterial> = Vec::new();
    let mut lines = Lines::of(bytes);
    while let Some((_, line)) = lines.next_line(name)? {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if word.is_empty() || word.starts_with('#') {
            continue;
        }
        if word.eq_ignore_ascii_case("newmtl") {
            materials.push(MtlMaterial::new(rest));
            continue;
        }
        if materials.is_empty() {
            materials.push(MtlMaterial::new(""));
        }
        if let Some(material) = materials.last_mut() {
            statement(material, word, rest);
        }
    }
    Ok(materials)
}

fn statement(material: &mut MtlMaterial, word: &str, rest: &str) {
    let lower = word.to_ascii_lowercase();
    if let Some(role) = role_of(&lower) {
        if !rest.is_empty() {
            material.maps.push(map(role, word, rest));
        }
        return;
    }
    let color = || match numbers::<3>(rest.split_whitespace()) {
        Some((values, 3)) => Some(Vec3::from(values)),
        Some(([grey, ..], 1)) => Some(Vec3::splat(grey)),
        _ => None,
    };
    let number = || rest.split_whitespace().next().and_then(|word| word.parse::<f32>().ok());
    let number = || number().filter(|value| value.is_finite());
    match lower.as_str() {
        "kd" => material.diffuse = color().filter(|color| color.is_finite()),
        "ks" => material.specular = color().unwrap_or_default(),
        "ke" => material.emissive = color().filter(|color| color.is_finite()).unwrap_or_default(),
        "ns" => material.shininess = number(),
        "d" => material.opacity = number().unwrap_or(1.0).clamp(0.0, 1.0),
        "tr" => material.opacity = (1.0 - number().unwrap_or(0.0)).clamp(0.0, 1.0),
        "pr" => material.roughness = number(),
        "pm" => material.metallic = number(),
        _ => {}
    }
}

fn role_of(word: &str) -> Option<MapRole> {
    Some(match word {
        "map_kd" => MapRole::BaseColor,
        "map_ke" => MapRole::Emissive,
        "norm" | "map_kn" | "map_norm" => MapRole::Normal,
        "bump" | "map_bump" => MapRole::Bump,
        "disp" | "map_disp" | "decal" | "refl" => MapRole::Other,
        _ if word.starts_with("map_") && word != "map_aat" => MapRole::Other,
        _ => return None,
    })
}

fn map(role: MapRole, word: &str, written: &str) -> Map {
    let mut map = Map {
        role,
        word: word.to_owned(),
        file: String::new(),
        written: written.to_owned(),
        scale: Vec2::ONE,
        offset: Vec2::ZERO,
        clamp: false,
        strength: 1.0,
    };
    let mut rest = written;
    while rest.starts_with('-') {
        let Some(after) = option(&mut map, rest) else { break };
        rest = after;
    }
    map.file = rest.trim().trim_matches('"').to_owned();
    map
}

/// Takes one option off the front; none where it is no known option.
fn option<'a>(map: &mut Map, text: &'a str) -> Option<&'a str> {
    let (word, mut rest) = text.split_once(char::is_whitespace)?;
    let (least, most) = match word {
        "-blendu" | "-blendv" | "-boost" | "-bm" | "-cc" | "-clamp" | "-imfchan" | "-texres"
        | "-type" | "-colorspace" => (1, 1),
        "-mm" => (2, 2),
        "-o" | "-s" | "-t" => (1, 3),
        _ => return None,
    };
    let mut values = Vec::new();
    while values.len() < most {
        let trimmed = rest.trim_start();
        let (value, after) = trimmed.split_once(char::is_whitespace)?;
        if values.len() >= least && value.parse::<f32>().is_err() {
            break;
        }
        values.push(value);
        rest = after;
    }
    let number = |index: usize, other: f32| {
        let value = values.get(index).and_then(|value| value.parse::<f32>().ok());
        value.filter(|value| value.is_finite()).unwrap_or(other)
    };
    match word {
        "-s" => map.scale = Vec2::new(number(0, 1.0), number(1, 1.0)),
        "-o" => map.offset = Vec2::new(number(0, 0.0), number(1, 0.0)),
        "-clamp" => map.clamp = values.first().is_some_and(|value| *value == "on"),
        "-bm" => map.strength = number(0, 1.0),
        _ => {}
    }
    Some(rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_off_and_spaces_and_backslashes_stay() {
        let text = "newmtl old wood\nKd .5 .4 .3\nNs 100\nTr 0.25\nmap_Kd -s 2 3 1 -o 0.5 0 -clamp on tex\\old wood.png\nmap_Bump -bm 0.3 n.png\nmap_Ks -imfchan l 1 2.png\n";
        let materials = parse(text.as_bytes(), "a.mtl").expect("is good");
        let [wood] = materials.as_slice() else { panic!("one material") };
        assert_eq!(wood.name, "old wood");
        assert_eq!(wood.diffuse, Some(Vec3::new(0.5, 0.4, 0.3)));
        assert!((wood.opacity - 0.75).abs() < 1e-6);
        let map = wood.map(MapRole::BaseColor).expect("has a texture");
        assert_eq!(map.file, "tex\\old wood.png");
        assert_eq!((map.scale, map.offset), (Vec2::new(2.0, 3.0), Vec2::new(0.5, 0.0)));
        assert!(map.clamp);
        assert_eq!(wood.map(MapRole::Bump).map(|map| map.strength), Some(0.3));
        assert_eq!(wood.map(MapRole::Other).map(|map| map.file.as_str()), Some("1 2.png"));
    }

    #[test]
    fn nonsense_is_skipped() {
        let text = "Kd 1 x 2\nnewmtl\nmap_Kd\nmap_Kd -s\nNs nan\n\0\u{1}\nmap_Kd -x y.png";
        let materials = parse(text.as_bytes(), "a.mtl").expect("nothing is fatal");
        assert_eq!(materials.len(), 2);
        assert_eq!(materials.last().map(|material| material.maps.len()), Some(2));
    }
}
