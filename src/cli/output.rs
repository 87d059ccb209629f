//! Writes results to stdout and notes to stderr. A closed pipe is an error value, never a panic.

use serde::Serialize;
use std::io::{self, Write as _};

/// One JSON document on stdout.
pub(super) fn json(document: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::other)?;
    line(&text)
}

/// Text and a line end on stdout.
pub(super) fn line(text: &str) -> io::Result<()> {
    raw(format!("{text}\n").as_bytes())
}

/// Bytes on stdout.
pub(super) fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// A line for people on stderr. Where nobody reads it there is nothing to do about it.
pub(super) fn note(text: &str) {
    let tame: String = text
        .chars()
        .map(|letter| if letter.is_control() && letter != '\n' { '\u{fffd}' } else { letter })
        .collect();
    drop(writeln!(io::stderr().lock(), "{tame}"));
}

/// Which side a column leans to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lean {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A plain text table: columns two spaces apart, no colour, no lines.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, Lean)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Names that begin with `#` lean right and lose the mark.
    pub(super) fn new(names: &[&'static str]) -> Self {
        let columns = names
            .iter()
            .map(|name| match name.strip_prefix('#') {
                Some(name) => (name, Lean::Right),
                None => (*name, Lean::Left),
            })
            .collect();
        Self { columns, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| one_line(&cell)).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table's lines, each indented by `indent` spaces.
    pub(super) fn render(&self, indent: usize) -> String {
        let head: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&head).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                lines.iter().filter_map(|line| line.get(column)).map(|cell| width(cell)).max()
            })
            .map(Option::unwrap_or_default)
            .collect();
        let mut text = String::new();
        for line in lines {
            let mut written = " ".repeat(indent);
            for ((cell, room), (_, lean)) in line.iter().zip(&widths).zip(&self.columns) {
                let space = " ".repeat(room.saturating_sub(width(cell)));
                match lean {
                    Lean::Left => written = format!("{written}{cell}{space}  "),
                    Lean::Right => written = format!("{written}{space}{cell}  "),
                }
            }
            text.push_str(written.trim_end());
            text.push('\n');
        }
        text
    }

    /// Writes it to stdout, or `empty` where it has no rows.
    pub(super) fn print(&self, empty: &str) -> io::Result<()> {
        if self.is_empty() { line(empty) } else { raw(self.render(0).as_bytes()) }
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

/// Foreign text must not break the table nor steer the terminal.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_foreign_text_is_tamed() {
        let mut table = Table::new(&["ASSET", "#SIZE", "NOTE"]);
        table.row(["dragon".to_owned(), "7".to_owned(), String::new()]);
        table.row(["é".to_owned(), "1234".to_owned(), "two\nlines \u{1b}[31m".to_owned()]);
        table.row(["short row".to_owned()]);
        let expected = "\
ASSET      SIZE  NOTE
dragon        7
é          1234  two lines  [31m
short row
";
        assert_eq!(table.render(0), expected);
        assert!(table.render(2).lines().all(|line| line.starts_with("  ")));
    }
}
