//! `sawah compare`: two versions of a picture, for people and for scripts.

use super::deep;
use super::error::{CliError, Exit};
use super::look::{LightArguments, number_within};
use super::output;
use super::words;
use crate::preview::{Comparison, MAX_GAIN, Picture, write_png};
use crate::stages::compare::{self, CompareError, CompareReport, CompareWish, Compared};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  sawah compare old.png new.png
  sawah compare old.exr new.exr --as difference --gain 8 --out apart.png
  sawah compare old.exr new.exr --layer ViewLayer.Combined --tolerance 0.001 --json
  sawah compare old.png new.png --as wipe --at 0.3
  sawah compare old.png new.png --as flip --out heat.png

Exit code 1 if a channel of a pixel is further apart than the tolerance, or a file cannot be read.";

/// Compare two versions of a picture: are they the same, how far apart, and where
///
/// EXR against EXR (and other light) is compared in linear light as it is stored, alpha
/// premultiplied; two PNG of 16 bits in all their bits; everything else as finished pictures of 8
/// bits. What is drawn, and FLIP, go by the finished pictures, light with the exposure of the first.
/// Both must have the same size.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompareArguments {
    /// The first picture
    #[arg(value_name = "A")]
    one: PathBuf,
    /// The second picture
    #[arg(value_name = "B")]
    other: PathBuf,
    /// What to draw [default: the difference, where --out says where to]
    #[arg(long = "as", value_name = "VIEW")]
    shown_as: Option<ShownAs>,
    /// How much louder the difference is drawn
    #[arg(long, default_value_t = 1.0, value_name = "K", value_parser = gain)]
    gain: f32,
    /// Where the wipe goes from A to B, as a share of the width
    #[arg(long, default_value_t = 0.5, value_name = "SHARE", value_parser = share)]
    at: f32,
    /// Where the drawn picture goes [default: here, as A.compare.png, where --as is given]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How far apart channels may be: light in its own unit, others from 0 to 1
    #[arg(long, default_value_t = 0.0, value_name = "T", value_parser = tolerance)]
    tolerance: f32,
    #[command(flatten)]
    light: LightArguments,
}

/// How two pictures are shown as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShownAs {
    /// How far each colour is apart
    Difference,
    /// A on the left, B on the right of one picture
    Wipe,
    /// Both beside each other
    Side,
    /// What a person who flips between them would notice
    Flip,
}

/// What is printed with --json.
#[derive(Serialize)]
struct Document<'a> {
    one: &'a Path,
    other: &'a Path,
    tolerance: f32,
    #[serde(flatten)]
    report: &'a CompareReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a Path>,
}

pub(super) fn run(arguments: &CompareArguments, json: bool) -> Result<Exit, CliError> {
    deep::run(|| draw(arguments, json))
}

fn draw(arguments: &CompareArguments, json: bool) -> Result<Exit, CliError> {
    let CompareArguments { one, other, tolerance, .. } = arguments;
    let wish = CompareWish {
        view: arguments.light.wish(),
        shown_as: arguments.comparison(),
        tolerance: *tolerance,
    };
    let compared = compare::compare(one, other, &wish);
    let (report, picture) = compared.map_err(|error| match error {
        CompareError::File(failure) => CliError::failed(&words::failure(&failure)),
        error => CliError::failed(&error),
    })?;
    let picture = picture.map(|picture| arguments.save(&picture)).transpose()?;
    let document = Document {
        one,
        other,
        tolerance: *tolerance,
        report: &report,
        picture: picture.as_deref(),
    };
    if json {
        output::json(&document)?;
    } else {
        tell(&document)?;
    }
    Ok(if report.same { Exit::Done } else { Exit::Failed })
}

impl CompareArguments {
    fn comparison(&self) -> Option<Comparison> {
        let usual = self.out.as_ref().map(|_| ShownAs::Difference);
        Some(match self.shown_as.or(usual)? {
            ShownAs::Difference => Comparison::Difference { gain: self.gain },
            ShownAs::Wipe => Comparison::Wipe { at: self.at },
            ShownAs::Side => Comparison::Side,
            ShownAs::Flip => Comparison::Flip,
        })
    }

    fn save(&self, picture: &Picture) -> Result<PathBuf, CliError> {
        let name = self.one.file_name().unwrap_or(self.one.as_os_str()).to_string_lossy();
        let usual = || PathBuf::from(format!("{name}.compare.png"));
        let path = self.out.clone().unwrap_or_else(usual);
        write_png(picture, &path).map_err(|error| CliError::failed(&error))?;
        Ok(path)
    }
}

fn tell(document: &Document<'_>) -> Result<(), CliError> {
    let report = document.report;
    for text in report.warnings.iter().map(|warning| &warning.message).chain(&report.notes) {
        output::note(text);
    }
    output::line(&sentence(report))?;
    if let Some(picture) = document.picture {
        output::line(&output::one_line(&picture.display().to_string()))?;
    }
    Ok(())
}

fn sentence(report: &CompareReport) -> String {
    let found = &report.differences;
    let by = match report.compared {
        Compared::Light => "in linear light",
        Compared::Bits16 => "in 16 bits",
        Compared::Bits8 => "in 8 bits",
    };
    if report.same && found.max_error <= 0.0 {
        return format!("the same {by}: {} pixels", found.pixels);
    }
    let verdict = if report.same { "the same within the tolerance" } else { "different" };
    let percent = found.changed_share * 100.0;
    let odd = match found.not_finite {
        0 => String::new(),
        count => format!(", {count} with a value that is not finite in one of them"),
    };
    let flip = report.mean_flip.map_or_else(String::new, |mean| format!(", FLIP {mean:.5}"));
    format!(
        "{verdict} {by}: {} of {} pixels changed ({percent:.3}%){odd}, mean error {:.6}, greatest {:.6}{flip}",
        found.changed, found.pixels, found.mean_error, found.max_error
    )
}

fn gain(text: &str) -> Result<f32, String> {
    number_within(text, 0.0, MAX_GAIN)
}

fn share(text: &str) -> Result<f32, String> {
    number_within(text, 0.0, 1.0)
}

fn tolerance(text: &str) -> Result<f32, String> {
    number_within(text, 0.0, f32::MAX)
}
