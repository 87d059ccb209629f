//! What a stage made, verified before anybody hears of it.

use super::bounds;
use super::names::relative_path;
use super::transfer::disk_reason;
use crate::model::{Checksum, Reason, limits};
use crate::protocol::work::{Failure, OutputFile, StageReport};
use crate::stages::message::cut;
use crate::stages::{Produced, StageOutput};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is there, regular, inside the output folder, and hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Where it is.
    pub path: PathBuf,
    /// As the coordinator hears of it.
    pub file: OutputFile,
}

/// Verifies and hashes every output. Blocks on the disk.
pub fn verify(folder: &Path, output: &StageOutput) -> Result<Vec<Verified>, Failure> {
    if output.files.len() > limits::OUTPUTS_PER_JOB {
        let message = format!(
            "the stage made {} files, more than {}",
            output.files.len(),
            limits::OUTPUTS_PER_JOB
        );
        return Err(Failure::new(Reason::OutputInvalid, message));
    }
    let mut names = BTreeSet::new();
    output
        .files
        .iter()
        .map(|produced| {
            if !names.insert(&produced.name) {
                return Err(invalid("is named twice", &produced.name));
            }
            verify_one(folder, produced)
        })
        .collect()
}

fn verify_one(folder: &Path, produced: &Produced) -> Result<Verified, Failure> {
    let name = &produced.name;
    let relative =
        relative_path(name).ok_or_else(|| invalid("has a name that is not allowed", name))?;
    if produced.media_type.len() > bounds::MEDIA_TYPE_BYTES {
        return Err(invalid("has a media type that is too long", name));
    }
    let mut path = folder.to_owned();
    let mut parts = relative.iter().peekable();
    let mut size_bytes = 0;
    while let Some(part) = parts.next() {
        path.push(part);
        let found = fs::symlink_metadata(&path).map_err(|error| unreadable(&error, name))?;
        let right = if parts.peek().is_some() { found.is_dir() } else { found.is_file() };
        if !right {
            return Err(invalid("is no regular file in the output folder", name));
        }
        size_bytes = found.len();
    }
    if size_bytes == 0 {
        return Err(invalid("is empty", name));
    }
    if size_bytes > limits::SOURCE_FILE_BYTES {
        return Err(invalid("is larger than a file may be", name));
    }
    let mut hasher = blake3::Hasher::new();
    let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hasher));
    if read.map_err(|error| unreadable(&error, name))? != size_bytes {
        return Err(invalid("still changes after the stage's end", name));
    }
    let file = OutputFile {
        name: name.clone(),
        checksum: Checksum::from_bytes(*hasher.finalize().as_bytes()),
        size_bytes,
        media_type: produced.media_type.clone(),
    };
    Ok(Verified { path, file })
}

/// The report within its bounds.
pub fn bounded(mut report: StageReport) -> StageReport {
    report.warnings.truncate(limits::WARNINGS_PER_JOB);
    for warning in &mut report.warnings {
        warning.message = cut(&warning.message, limits::MESSAGE_BYTES).to_owned();
    }
    report.drawn_by = report.drawn_by.map(|text| cut(&text, limits::FILE_NAME_BYTES).to_owned());
    report
}

fn invalid(why: &str, name: &str) -> Failure {
    let name = cut(name, limits::FILE_NAME_BYTES);
    Failure::new(Reason::OutputInvalid, format!("an output of the stage {why}: {name}"))
}

fn unreadable(error: &io::Error, name: &str) -> Failure {
    if error.kind() == io::ErrorKind::NotFound {
        let message = format!("the stage said that it made a file, but there is none: {name}");
        return Failure::new(Reason::OutputMissing, message);
    }
    Failure::new(
        disk_reason(error),
        format!("an output of the stage cannot be read: {error}: {name}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(names: &[&str]) -> StageOutput {
        let file =
            |name: &&str| Produced { name: (*name).to_owned(), media_type: "image/png".to_owned() };
        StageOutput { files: names.iter().map(file).collect(), ..StageOutput::default() }
    }

    #[test]
    fn good_files_are_hashed() {
        let out = tempfile::tempdir().unwrap();
        fs::create_dir(out.path().join("frames")).unwrap();
        fs::write(out.path().join("frames/1.png"), b"picture").unwrap();
        let verified = verify(out.path(), &made(&["frames/1.png"])).unwrap();
        assert_eq!(verified[0].file.checksum, Checksum::of(b"picture"));
        assert_eq!(verified[0].file.size_bytes, 7);
        assert_eq!(verified[0].path, out.path().join("frames/1.png"));
    }

    #[test]
    fn what_is_not_a_whole_file_inside_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let out = work.path().join("out");
        fs::create_dir_all(out.join("folder")).unwrap();
        fs::write(work.path().join("outside"), b"x").unwrap();
        fs::write(out.join("empty"), b"").unwrap();
        fs::write(out.join("good"), b"x").unwrap();
        let mut cases = vec![
            (vec!["none"], Reason::OutputMissing),
            (vec!["../outside"], Reason::OutputInvalid),
            (vec!["folder"], Reason::OutputInvalid),
            (vec!["empty"], Reason::OutputInvalid),
            (vec!["good", "good"], Reason::OutputInvalid),
        ];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(work.path().join("outside"), out.join("link")).unwrap();
            std::os::unix::fs::symlink(work.path(), out.join("up")).unwrap();
            cases.push((vec!["link"], Reason::OutputInvalid));
            cases.push((vec!["up/outside"], Reason::OutputInvalid));
        }
        for (names, reason) in cases.drain(..) {
            let failure = verify(&out, &made(&names)).unwrap_err();
            assert_eq!(failure.reason, reason, "{names:?}: {failure:?}");
        }
    }
}
