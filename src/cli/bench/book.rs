//! What was measured: figures with their unit and, where it tells more, the ratio to another one
//! of the same run.

use crate::cli::output::Table;
use serde::Serialize;
use std::io;

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    /// How often in a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Billions of bytes in a second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// Mebibytes.
    #[serde(rename = "MiB")]
    Mebibytes,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Percent of one processor core.
    #[serde(rename = "% of a core")]
    PercentOfCore,
}

impl Unit {
    const fn as_str(self) -> &'static str {
        match self {
            Self::PerSecond => "/s",
            Self::Milliseconds => "ms",
            Self::GigabytesPerSecond => "GB/s",
            Self::Mebibytes => "MiB",
            Self::Bytes => "bytes",
            Self::PercentOfCore => "% of a core",
        }
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figure {
    area: &'static str,
    name: String,
    value: f64,
    unit: Unit,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<Ratio>,
}

/// How a figure stands to another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Ratio {
    value: f64,
    to: String,
}

/// All figures of a run, in their order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Book {
    figures: Vec<Figure>,
}

impl Book {
    /// Keeps a figure.
    pub(super) fn add(&mut self, area: &'static str, name: &str, value: f64, unit: Unit) {
        self.figures.push(Figure { area, name: name.to_owned(), value, unit, ratio: None });
    }

    /// Keeps a figure with its ratio to an earlier one, where that was measured.
    pub(super) fn compare(
        &mut self,
        area: &'static str,
        name: &str,
        value: f64,
        unit: Unit,
        to: (&str, &str),
    ) {
        let ratio = self
            .value(to)
            .filter(|base| *base > 0.0)
            .map(|base| Ratio { value: value / base, to: format!("{}: {}", to.0, to.1) });
        self.figures.push(Figure { area, name: name.to_owned(), value, unit, ratio });
    }

    /// The value of a figure kept before.
    pub(super) fn value(&self, (area, name): (&str, &str)) -> Option<f64> {
        let found = self.figures.iter().find(|kept| kept.area == area && kept.name == name);
        found.map(|figure| figure.value)
    }

    /// The figures as a table on stdout.
    pub(super) fn print(&self) -> io::Result<()> {
        let mut table = Table::new(&["AREA", "WHAT", "#VALUE", "UNIT", "#RATIO", "TO"]);
        for figure in &self.figures {
            let (ratio, to) = match &figure.ratio {
                Some(ratio) => (format!("{:.2}", ratio.value), ratio.to.clone()),
                None => (String::new(), String::new()),
            };
            table.row([
                figure.area.to_owned(),
                figure.name.clone(),
                number(figure.value),
                figure.unit.as_str().to_owned(),
                ratio,
                to,
            ]);
        }
        table.print("nothing was measured")
    }
}

/// Three digits that tell something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_names_what_it_stands_to() {
        let mut book = Book::default();
        book.add("disk", "write", 200.0, Unit::PerSecond);
        book.compare("store", "submit", 50.0, Unit::PerSecond, ("disk", "write"));
        book.compare("store", "claim", 50.0, Unit::PerSecond, ("disk", "nothing"));
        let text = serde_json::to_value(&book).unwrap();
        assert_eq!(text["figures"][1]["ratio"]["value"], 0.25);
        assert_eq!(text["figures"][1]["ratio"]["to"], "disk: write");
        assert_eq!(text["figures"][1]["unit"], "1/s");
        assert!(text["figures"][2].get("ratio").is_none());
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown = [1234.5, 12.345, 1.2345, 0.1234].map(number);
        assert_eq!(shown, ["1234", "12.3", "1.23", "0.123"]);
    }
}
