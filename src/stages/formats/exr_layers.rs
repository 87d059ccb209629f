//! Finds the layers of an EXR file and chooses the one that is the picture itself.
//!
//! Names follow the OpenEXR document "Technical Introduction to OpenEXR", "Channel names": a layer
//! is what stands before the last dot of a channel's name. A part with a name is a layer too.
//!
//! The picture is the first of these that is there, in the order of the file:
//! 1. colours (red, green, blue) without a layer's name, in a part without a name or a sole part;
//! 2. colours of the composite, then of a layer or part called combined, beauty, rgba or alike;
//! 3. colours without a layer's name in any part;
//! 4. colours of any other layer;
//! 5. luminance (`Y`);
//! 6. any channel, shown as grey.
//!
//! Cryptomattes, whose colours are hashes, come last.

use super::exr_header::{ExrHeader, ExrPart};
use std::collections::BTreeMap;

/// Words that a renderer calls its main layer by.
const BEAUTY: [&str; 10] =
    ["combined", "beauty", "rgba", "rgb", "main", "master", "default", "final", "color", "c"];

/// What a layer can be shown as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The names of red, green and blue.
    Colour([String; 3]),
    /// One channel as grey.
    Grey(String),
}

/// A layer of an EXR file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExrLayer {
    /// The part that it is in, from 0.
    pub part: usize,
    /// Its name: `ViewLayer.Combined`; empty for channels without one.
    pub name: String,
    /// Which of its channels are shown.
    pub shown: Shown,
    /// The channel of its alpha.
    pub alpha: Option<String>,
    /// The names of all its channels, without the layer's.
    pub channels: Vec<String>,
}

/// All layers in the order of the file; parts that cannot be read have none.
pub fn layers(header: &ExrHeader) -> Vec<ExrLayer> {
    let readable = |(_, part): &(usize, &ExrPart)| part.refusal.is_none();
    let parts = header.parts.iter().enumerate().filter(readable);
    parts.flat_map(|(index, part)| of_part(index, part)).collect()
}

fn of_part(index: usize, part: &ExrPart) -> Vec<ExrLayer> {
    let mut order: Vec<&str> = Vec::new();
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for channel in &part.channels {
        let (layer, letter) = channel.name.rsplit_once('.').unwrap_or(("", &channel.name));
        let group = groups.entry(layer).or_default();
        if group.is_empty() {
            order.push(layer);
        }
        group.push(letter);
    }
    let mut found = Vec::new();
    for layer in order {
        let letters = groups.remove(layer).unwrap_or_default();
        let full = |letter: &str| {
            if layer.is_empty() { letter.to_owned() } else { format!("{layer}.{letter}") }
        };
        let named = |names: [&str; 3]| {
            let name =
                |wanted: &str| letters.iter().find(|letter| letter.eq_ignore_ascii_case(wanted));
            let [Some(red), Some(green), Some(blue)] = names.map(name) else { return None };
            Some([full(red), full(green), full(blue)])
        };
        let colour = named(["R", "G", "B"]).or_else(|| named(["red", "green", "blue"]));
        let is_alpha =
            |letter: &&&str| ["a", "alpha"].iter().any(|a| letter.eq_ignore_ascii_case(a));
        let alpha = letters.iter().find(is_alpha);
        let grey = || {
            let is_vector = named(["X", "Y", "Z"]).is_some();
            let luminance = letters.iter().find(|letter| **letter == "Y" && !is_vector);
            let first = letters.iter().find(|letter| !is_alpha(letter));
            luminance.or(first).or(alpha).map(|letter| Shown::Grey(full(letter)))
        };
        let Some(shown) = colour.map(Shown::Colour).or_else(grey) else { continue };
        let alpha = alpha.map(|letter| full(letter));
        found.push(ExrLayer {
            part: index,
            name: layer.to_owned(),
            alpha: alpha.filter(|alpha| shown != Shown::Grey(alpha.clone())),
            shown,
            channels: letters.iter().map(|letter| (*letter).to_owned()).collect(),
        });
    }
    found
}

/// The layer that is the picture itself, by the rule of this module.
pub fn beauty<'a>(header: &ExrHeader, layers: &'a [ExrLayer]) -> Option<&'a ExrLayer> {
    layers.iter().min_by_key(|layer| rank(header, layer))
}

/// What people call a layer: its part and its name, `left: ViewLayer.Combined`; the channels where
/// neither has a name, `RGBA` or `Z`.
pub fn title(header: &ExrHeader, layer: &ExrLayer) -> String {
    let part_name = header.parts.get(layer.part).map_or("", |part| part.name.as_str());
    let names = [part_name, layer.name.as_str()];
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    match (&layer.shown, &layer.alpha) {
        _ if !names.is_empty() => names.join(": "),
        (Shown::Colour(_), Some(_)) => "RGBA".to_owned(),
        (Shown::Colour(_), None) => "RGB".to_owned(),
        (Shown::Grey(name), _) => name.clone(),
    }
}

/// The layer that is called `wanted`: by its title, by the name of the layer or the part alone, or
/// by one channel's full name (`ViewLayer.Combined.R`), which is shown as grey. Capitals count only
/// where names differ by nothing else. The first in the file is taken.
///
/// None where there is no such layer: [`title`] of each names those that there are.
pub fn named(header: &ExrHeader, layers: &[ExrLayer], wanted: &str) -> Option<ExrLayer> {
    let same = |name: &str| name == wanted;
    let alike = |name: &str| !name.is_empty() && name.eq_ignore_ascii_case(wanted);
    let part = |layer: &ExrLayer| header.parts.get(layer.part).map_or("", |part| &part.name);
    let find = |fits: &dyn Fn(&str) -> bool| {
        let by = |name: &dyn Fn(&ExrLayer) -> String| {
            layers.iter().find(|layer| fits(&name(layer))).cloned()
        };
        by(&|layer| title(header, layer))
            .or_else(|| by(&|layer| layer.name.clone()))
            .or_else(|| by(&|layer| part(layer).to_owned()))
            .or_else(|| layers.iter().find_map(|layer| channel(layer, fits)))
    };
    if wanted.is_empty() { None } else { find(&same).or_else(|| find(&alike)) }
}

/// One channel of a layer as a layer of its own.
fn channel(layer: &ExrLayer, fits: &dyn Fn(&str) -> bool) -> Option<ExrLayer> {
    let full = |letter: &String| {
        if layer.name.is_empty() { letter.clone() } else { format!("{}.{letter}", layer.name) }
    };
    let name = layer.channels.iter().map(full).find(|name| fits(name))?;
    Some(ExrLayer { shown: Shown::Grey(name), alpha: None, ..layer.clone() })
}

fn rank(header: &ExrHeader, layer: &ExrLayer) -> u8 {
    let part = header.parts.get(layer.part);
    let part_name = part.map_or("", |part| part.name.as_str());
    let words: Vec<String> = [part_name, layer.name.as_str()]
        .iter()
        .flat_map(|name| name.split(|letter: char| !letter.is_alphanumeric()))
        .map(str::to_lowercase)
        .collect();
    let is = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if words.iter().any(|word| word.contains("crypto")) {
        return 7;
    }
    let bare = layer.name.is_empty();
    match &layer.shown {
        Shown::Colour(_) if bare && (part_name.is_empty() || header.parts.len() == 1) => 0,
        Shown::Colour(_) if is(&["composite"]) => 1,
        Shown::Colour(_) if is(&BEAUTY) => 2,
        Shown::Colour(_) if bare => 3,
        Shown::Colour(_) => 4,
        Shown::Grey(name) if name.rsplit('.').next() == Some("Y") => 5,
        Shown::Grey(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::super::exr_header::ExrChannel;
    use super::*;

    /// The name of a part and those of its channels.
    type Part<'a> = (&'a str, &'a [&'a str]);

    fn header(parts: &[Part<'_>]) -> ExrHeader {
        let part = |(name, channels): &Part<'_>| ExrPart {
            name: (*name).to_owned(),
            channels: channels
                .iter()
                .map(|name| ExrChannel {
                    name: (*name).to_owned(),
                    bytes: 2,
                    sample: "half",
                    sampling: [1, 1],
                })
                .collect(),
            ..ExrPart::default()
        };
        ExrHeader::of_parts(parts.iter().map(part).collect())
    }

    #[test]
    fn the_picture_itself_is_chosen_by_the_rule() {
        let cases: [(&[Part<'_>], usize, &str); 12] = [
            (&[("", &["A", "B", "G", "R", "Z"])], 0, "R"),
            (&[("", &["diffuse.R", "diffuse.G", "diffuse.B", "R", "G", "B"])], 0, "R"),
            (
                &[(
                    "",
                    &[
                        "V.Depth.Z",
                        "V.AO.R",
                        "V.AO.G",
                        "V.AO.B",
                        "V.Combined.R",
                        "V.Combined.G",
                        "V.Combined.B",
                    ],
                )],
                0,
                "V.Combined.R",
            ),
            (
                &[(
                    "",
                    &[
                        "V.Combined.R",
                        "V.Combined.G",
                        "V.Combined.B",
                        "Composite.Combined.R",
                        "Composite.Combined.G",
                        "Composite.Combined.B",
                    ],
                )],
                0,
                "Composite.Combined.R",
            ),
            (
                &[
                    ("depth_left", &["Z"]),
                    ("rgba_right", &["R", "G", "B"]),
                    ("rgba_left", &["R", "G", "B"]),
                ],
                1,
                "R",
            ),
            (&[("diffuse", &["R", "G", "B"]), ("beauty", &["R", "G", "B"])], 1, "R"),
            (&[("diffuse", &["R", "G", "B"]), ("spec", &["R", "G", "B"])], 0, "R"),
            (&[("", &["CryptoObject00.r", "CryptoObject00.g", "CryptoObject00.b", "Z"])], 0, "Z"),
            (&[("", &["N.X", "N.Y", "N.Z", "Y"])], 0, "Y"),
            (
                &[("", &["beauty.red", "beauty.green", "beauty.blue", "beauty.alpha"])],
                0,
                "beauty.red",
            ),
            (&[("", &["A"])], 0, "A"),
            (&[("", &["Z", "A"])], 0, "Z"),
        ];
        for (parts, part, channel) in cases {
            let header = header(parts);
            let layers = layers(&header);
            let chosen = beauty(&header, &layers).expect("has one");
            let first = match &chosen.shown {
                Shown::Colour([red, ..]) => red,
                Shown::Grey(grey) => grey,
            };
            assert_eq!((chosen.part, first.as_str()), (part, channel), "{parts:?}");
        }
    }

    #[test]
    fn a_layer_is_found_by_what_people_call_it() {
        let header = header(&[
            ("", &["A", "B", "G", "R", "Z", "V.Depth.Z", "V.Mist.R", "V.Mist.G", "V.Mist.B"]),
            ("left", &["R", "G", "B", "spec.R", "spec.G", "spec.B"]),
            ("Right", &["R", "G", "B"]),
        ]);
        let layers = layers(&header);
        let titles: Vec<String> = layers.iter().map(|layer| title(&header, layer)).collect();
        assert_eq!(titles, ["RGBA", "V.Depth", "V.Mist", "left", "left: spec", "Right"]);
        let shown = |wanted: &str| {
            named(&header, &layers, wanted).map(|layer| match layer.shown {
                Shown::Colour([red, ..]) => (layer.part, red),
                Shown::Grey(grey) => (layer.part, format!("{grey} alone")),
            })
        };
        for (wanted, part, channel) in [
            ("RGBA", 0, "R"),
            ("V.Mist", 0, "V.Mist.R"),
            ("v.mist", 0, "V.Mist.R"),
            ("V.Depth", 0, "V.Depth.Z alone"),
            ("V.Depth.Z", 0, "V.Depth.Z alone"),
            ("V.Mist.G", 0, "V.Mist.G alone"),
            ("Z", 0, "Z alone"),
            ("A", 0, "A alone"),
            ("left", 1, "R"),
            ("left: spec", 1, "spec.R"),
            ("spec", 1, "spec.R"),
            ("right", 2, "R"),
        ] {
            assert_eq!(shown(wanted), Some((part, channel.to_owned())), "{wanted}");
        }
        for wanted in ["", "V", "beauty", "left:spec", "V.Mist.A"] {
            assert_eq!(shown(wanted), None, "{wanted}");
        }
    }

    #[test]
    fn layers_are_listed_with_their_alpha() {
        let header = header(&[("", &["A", "B", "G", "R", "mist.Z", "id.A"])]);
        let layers = layers(&header);
        let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["", "mist", "id"]);
        assert_eq!(layers[0].alpha.as_deref(), Some("A"));
        assert_eq!(layers[2].alpha, None);
        assert_eq!(layers[0].channels, ["A", "B", "G", "R"]);
    }
}
