//! Where a program puts the frame number into a file name, and the name that comes of it.

use serde::{Deserialize, Serialize};

/// How a program is told the place of the frame number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PadStyle {
    /// `####`
    Hashes,
    /// `[####]`
    Brackets,
    /// `%04d`
    Printf,
    /// `$F4`
    Dollar,
    /// The program puts it behind the name by itself.
    Appended,
    /// The same, as wide as the last frame of the whole job.
    LastWidth,
    /// The number itself stands in the arguments.
    Given,
    /// There is none: one file holds all frames.
    None,
}

/// The frame number in a file name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Padding {
    /// How the program is told.
    pub style: PadStyle,
    /// Least digits.
    #[serde(default = "four")]
    pub digits: u8,
    /// What stands between the name and the number, where the program puts it there itself.
    #[serde(default)]
    pub separator: String,
}

fn four() -> u8 {
    4
}

impl Padding {
    /// What the program is given in the place of the number.
    pub fn field(&self, frame: Option<i32>) -> Option<String> {
        let digits = usize::from(self.digits);
        Some(match self.style {
            PadStyle::Hashes => "#".repeat(digits),
            PadStyle::Brackets => format!("[{}]", "#".repeat(digits)),
            PadStyle::Printf => format!("%0{digits}d"),
            PadStyle::Dollar => format!("$F{digits}"),
            PadStyle::Appended | PadStyle::LastWidth | PadStyle::None => String::new(),
            PadStyle::Given => number(frame?, digits),
        })
    }

    /// The file that holds `frame` of a job that ends with `last`.
    pub fn file_name(&self, out: &str, frame: i32, last: i32, suffix: &str) -> String {
        let digits = usize::from(self.digits);
        let text = match self.style {
            PadStyle::None => String::new(),
            PadStyle::LastWidth => number(frame, last.unsigned_abs().to_string().len()),
            // printf counts the sign as one of the digits.
            PadStyle::Printf => format!("{frame:0digits$}"),
            _ => number(frame, digits),
        };
        format!("{out}{}{text}{suffix}", self.separator)
    }
}

fn number(frame: i32, digits: usize) -> String {
    let sign = if frame < 0 { "-" } else { "" };
    format!("{sign}{:0digits$}", frame.unsigned_abs())
}
