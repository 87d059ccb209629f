//! What the demo ends with: a table for people, one JSON document for scripts.

use super::super::output::{self, Table};
use crate::model::{Checksum, Reason, Stage};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;

/// How the demo ended.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) farm: String,
    pub(super) published: Vec<PublishedRow>,
    pub(super) dead_letters: Vec<DeadRow>,
    pub(super) drawn_by: BTreeSet<String>,
    /// What to know about results that are right all the same.
    pub(super) warnings: Vec<WarningRow>,
    /// What should not be; empty where everything is as it must be.
    pub(super) problems: Vec<String>,
    pub(super) ok: bool,
}

/// One published file.
#[derive(Debug, Serialize)]
pub(super) struct PublishedRow {
    pub(super) asset: String,
    pub(super) version: u32,
    pub(super) output: String,
    pub(super) path: String,
    pub(super) checksum: Checksum,
}

/// One dead letter.
#[derive(Debug, Serialize)]
pub(super) struct DeadRow {
    pub(super) asset: String,
    pub(super) stage: Stage,
    pub(super) code: Reason,
    pub(super) message: String,
}

/// Something to know about a good result.
#[derive(Debug, Serialize)]
pub(super) struct WarningRow {
    pub(super) asset: String,
    pub(super) stage: Stage,
    pub(super) code: Reason,
    pub(super) message: String,
}

impl Report {
    pub(super) fn new(farm: String) -> Self {
        Self {
            farm,
            published: Vec::new(),
            dead_letters: Vec::new(),
            drawn_by: BTreeSet::new(),
            warnings: Vec::new(),
            problems: Vec::new(),
            ok: false,
        }
    }

    /// Writes the report to stdout, what went wrong to stderr as well.
    pub(super) fn print(&self, json: bool) -> io::Result<()> {
        for problem in &self.problems {
            output::note(&format!("sawah: {problem}"));
        }
        if json { output::json(self) } else { output::raw(self.describe().as_bytes()) }
    }

    fn describe(&self) -> String {
        let mut published = Table::new(&["ASSET", "OUTPUT", "CHECKSUM", "PATH"]);
        for row in &self.published {
            published.row([
                format!("{} v{}", row.asset, row.version),
                row.output.clone(),
                row.checksum.short(),
                row.path.clone(),
            ]);
        }
        let mut dead = Table::new(&["ASSET", "STAGE", "REASON", "WHY", "WHAT TO DO"]);
        for row in &self.dead_letters {
            dead.row([
                row.asset.clone(),
                row.stage.to_string(),
                row.code.to_string(),
                row.message.clone(),
                row.code.remedy().to_owned(),
            ]);
        }
        let mut text = format!("\nPublished\n{}", published.render(2));
        if !dead.is_empty() {
            text = format!("{text}\nDead letters\n{}", dead.render(2));
        }
        let mut warnings = Table::new(&["ASSET", "STAGE", "REASON", "WHAT TO KNOW"]);
        for row in &self.warnings {
            warnings.row([
                row.asset.clone(),
                row.stage.to_string(),
                row.code.to_string(),
                row.message.clone(),
            ]);
        }
        if !warnings.is_empty() {
            text = format!("{text}\nWarnings\n{}", warnings.render(2));
        }
        let drawn: Vec<&str> = self.drawn_by.iter().map(String::as_str).collect();
        if !drawn.is_empty() {
            text = format!("{text}\nPictures drawn by {}\n", output::one_line(&drawn.join(", ")));
        }
        let verdict = if self.ok {
            "Every good sample is published and read back, the broken one is a dead letter"
        } else {
            "The demo did not end as it must"
        };
        format!("{text}\n{verdict}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            published: vec![PublishedRow {
                asset: "gear".to_owned(),
                version: 1,
                output: "still.png".to_owned(),
                path: "/farm/published/gear/v0001/still.png".to_owned(),
                checksum: Checksum::of(b"still"),
            }],
            dead_letters: vec![DeadRow {
                asset: "broken".to_owned(),
                stage: Stage::Inspect,
                code: Reason::InputTruncated,
                message: "the file ends in its buffer".to_owned(),
            }],
            drawn_by: BTreeSet::from(["cpu".to_owned()]),
            warnings: vec![WarningRow {
                asset: "gear".to_owned(),
                stage: Stage::Assemble,
                code: Reason::ProgramMissing,
                message: "ffmpeg is not installed".to_owned(),
            }],
            ok: true,
            ..Report::new("/farm".to_owned())
        }
    }

    #[test]
    fn the_table_names_asset_output_path_and_reason() {
        let text = report().describe();
        for part in [
            "gear v1  still.png",
            "/farm/published/gear/v0001/still.png",
            "broken  inspect  input.truncated",
            "gear   assemble  program.missing  ffmpeg is not installed",
            "drawn by cpu",
        ] {
            assert!(text.contains(part), "{part} in:\n{text}");
        }
    }

    #[test]
    fn the_document_has_the_agreed_keys() {
        let document = serde_json::to_value(report()).expect("json");
        for key in ["farm", "published", "dead_letters", "drawn_by", "warnings", "ok"] {
            assert!(document.get(key).is_some(), "{key}");
        }
        assert_eq!(document["dead_letters"][0]["code"], "input.truncated");
        assert_eq!(document["dead_letters"][0]["stage"], "inspect");
        let checksum = Checksum::of(b"still").to_string();
        assert_eq!(document["published"][0]["checksum"], checksum);
    }
}
