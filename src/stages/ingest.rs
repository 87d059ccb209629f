//! Ingest: verifies the bytes that arrived and says what the asset is.

use super::failure::failure_from_io;
use super::formats::references;
use super::source::{Source, write_json};
use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{AssetKind, Checksum, Reason};
use crate::protocol::submit::MissingFile;
use crate::protocol::work::{Failure, InputFile, StageReport};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The file that ingest makes.
pub const SOURCE_FILE: &str = "source.json";
const BUFFER_BYTES: usize = 256 << 10;

/// What is frozen of a file set.
#[derive(Debug, Serialize)]
struct SourceRecord<'a> {
    kind: AssetKind,
    format: &'a str,
    main_file: &'a str,
    files: Vec<FileRecord<'a>>,
    missing: Vec<MissingFile>,
}

#[derive(Debug, Serialize)]
struct FileRecord<'a> {
    name: &'a str,
    size_bytes: u64,
    checksum: Checksum,
}

/// Re-hashes every source file, sniffs the main one, and writes `source.json`.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    let source = Source::of(request)?;
    let total: u64 = source.files.iter().map(|file| file.size_bytes).sum();
    let mut done = 0_u64;
    for file in &source.files {
        verify(file, &source.path(&file.name)?)?;
        done = done.saturating_add(file.size_bytes);
        let share = if total == 0 { 1.0 } else { done as f64 / total as f64 };
        reporter.progress((share * 90.0) as f32, &file.name);
    }
    if !source.files.iter().any(|file| file.name == source.main_name) {
        return Err(Failure::new(
            Reason::ReferenceMissing,
            format!("the main file is not among the files. Submit it again. {}", source.main_name),
        ));
    }
    let (kind, format) = if let Some(scene) = &request.assignment.settings.scene {
        (AssetKind::Scene, scene.renderer.as_str())
    } else {
        let format = source.format()?;
        (source.kind(request.assignment.input.kind, format), format.name())
    };
    if kind == AssetKind::Sequence
        && let Some(empty) = source.files.iter().find(|file| file.size_bytes == 0)
    {
        return Err(Failure::new(
            Reason::InputEmpty,
            format!("a frame has 0 bytes. Render it again. {}", empty.name),
        ));
    }
    let sides = if kind == AssetKind::Mesh {
        references::side_files_below(&source.main, &source.root).map_err(|error| {
            failure_from_io(&error, "the main file could not be searched", &source.main)
        })?
    } else {
        references::SideFiles::default()
    };
    for missing in &sides.missing {
        reporter.log(&format!("side file not handed in: {}", missing.name));
    }
    let record = SourceRecord {
        kind,
        format,
        main_file: source.main_name,
        files: source
            .files
            .iter()
            .map(|file| FileRecord {
                name: &file.name,
                size_bytes: file.size_bytes,
                checksum: file.checksum,
            })
            .collect(),
        missing: sides.missing,
    };
    write_json(&record, &request.output_dir.join(SOURCE_FILE))?;
    reporter.progress(100.0, "verified");
    Ok(StageOutput {
        files: vec![Produced {
            name: SOURCE_FILE.to_owned(),
            media_type: "application/json".to_owned(),
        }],
        report: StageReport { kind: Some(kind), ..StageReport::default() },
    })
}

fn verify(file: &InputFile, path: &Path) -> Result<(), Failure> {
    let (size, checksum) = hash(path).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            Failure::new(
                Reason::ArtifactMissing,
                format!("a source file did not arrive. Submit the asset again. {}", file.name),
            )
        } else {
            failure_from_io(&error, "a source file could not be read", path)
        }
    })?;
    if (size, checksum) == (file.size_bytes, file.checksum) {
        return Ok(());
    }
    Err(Failure::new(
        Reason::ArtifactMismatch,
        format!(
            "a source file has {size} bytes with checksum {}, but should have {} with {}. Check network and disk. {}",
            checksum.short(),
            file.size_bytes,
            file.checksum.short(),
            file.name
        ),
    ))
}

fn hash(path: &Path) -> io::Result<(u64, Checksum)> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0_u64;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((size, Checksum::from_bytes(*hasher.finalize().as_bytes())));
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
        size += read as u64;
    }
}
