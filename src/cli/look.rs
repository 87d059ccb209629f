//! Flags that say how a picture is looked at.

use crate::model::ToneMap;
use crate::preview::{AlphaShown, Channels, FalseColor, Marks};
use crate::stages::view::{Detail, ViewWish};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};

/// Most stops of an exposure, up or down.
const MAX_EXPOSURE: f32 = 40.0;

/// How light becomes colours.
#[derive(Debug, Clone, Args)]
pub(super) struct LightArguments {
    /// Make pictures brighter by so many stops [default: light is left alone unless it would be nearly black or white]
    #[arg(long, value_name = "EV", allow_negative_numbers = true, value_parser = stops)]
    exposure: Option<f32>,
    /// How the light of EXR, HDR and float TIFF becomes colours
    #[arg(long, value_name = "NAME", default_value = "neutral", value_parser = tone_maps())]
    tone_map: ToneMap,
    /// The layer of an EXR, or one channel of it as LAYER.CHANNEL; a wrong name lists the layers
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
}

/// How a picture is looked at.
#[derive(Debug, Clone, Args)]
pub(super) struct LookArguments {
    #[command(flatten)]
    light: LightArguments,
    /// Show one channel as grey
    #[arg(long, value_name = "NAME", default_value = "color", value_parser = channels())]
    channel: Channels,
    /// Show each stop of light around 18% grey as a colour, six down and six up; --json has the scale
    #[arg(long)]
    false_color: bool,
    /// Paint wrong values over: magenta no number, cyan infinite, green below zero
    #[arg(long)]
    mark: bool,
    /// What becomes of transparency
    #[arg(long, value_name = "HOW", default_value = "keep")]
    alpha: Alpha,
    /// The same as --alpha checker
    #[arg(long, conflicts_with = "alpha")]
    checker: bool,
}

/// What becomes of transparency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Alpha {
    /// It stays in the picture
    Keep,
    /// The picture lies on a grey checker
    Checker,
    /// It is left out: light as it arrives, finished pictures with the colours that it hid
    Ignore,
}

impl LightArguments {
    pub(super) fn wish(&self) -> ViewWish {
        ViewWish {
            exposure_stops: self.exposure,
            tone_map: self.tone_map,
            layer: self.layer.clone(),
            ..ViewWish::default()
        }
    }
}

impl LookArguments {
    pub(super) fn wish(&self, detail: Detail) -> ViewWish {
        ViewWish {
            channels: self.channel,
            false_color: if self.false_color { FalseColor::Stops } else { FalseColor::Off },
            marks: if self.mark { Marks::Wrong } else { Marks::Off },
            alpha: match self.alpha {
                _ if self.checker => AlphaShown::Checker,
                Alpha::Keep => AlphaShown::Keep,
                Alpha::Checker => AlphaShown::Checker,
                Alpha::Ignore => AlphaShown::Ignore,
            },
            detail,
            ..self.light.wish()
        }
    }
}

fn stops(text: &str) -> Result<f32, String> {
    number_within(text, -MAX_EXPOSURE, MAX_EXPOSURE)
}

/// A number of the command line between two bounds.
pub(super) fn number_within(text: &str, least: f32, most: f32) -> Result<f32, String> {
    let wrong = || format!("must be a number from {least} to {most}");
    let number: f32 = text.parse().map_err(|_| wrong())?;
    // Not-a-number is in no range.
    if (least..=most).contains(&number) { Ok(number) } else { Err(wrong()) }
}

fn tone_maps() -> impl clap::builder::TypedValueParser<Value = ToneMap> {
    one_of(ToneMap::ALL, ToneMap::as_str)
}

fn channels() -> impl clap::builder::TypedValueParser<Value = Channels> {
    one_of(Channels::ALL, Channels::as_str)
}

/// One of these, by its name; others are refused with the list.
pub(super) fn one_of<T, const N: usize>(
    all: [T; N],
    name_of: fn(T) -> &'static str,
) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: Copy + Default + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.map(name_of))
        .map(move |name| all.into_iter().find(|one| name_of(*one) == name).unwrap_or_default())
}
