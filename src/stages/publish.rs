//! Verifies what will be published and lists it in the manifest.
//!
//! The pointers themselves move in the coordinator, in the transaction that accepts this stage's
//! result. What they point to are the files of the stages before; this stage adds the manifest.

use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{Checksum, PipelineId, Reason, Stage};
use crate::policy::flow::is_published;
use crate::protocol::work::{Failure, InputFile, StageReport};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;

const MANIFEST: &str = "manifest.json";
/// Largest picture that is read back, in bytes of memory.
const PICTURE_BYTES: u64 = 2 << 30;

#[derive(Debug, Serialize)]
struct Manifest<'a> {
    asset: &'a str,
    version: u32,
    pipeline: PipelineId,
    profile: &'a str,
    source: Checksum,
    files: Vec<ManifestFile<'a>>,
}

#[derive(Debug, Serialize)]
struct ManifestFile<'a> {
    output: &'a str,
    checksum: Checksum,
    size_bytes: u64,
    media_type: &'static str,
    made_by: Stage,
}

/// Re-hashes every file, reads every picture back, writes the manifest.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    let job = &request.assignment;
    let chosen: Vec<(Stage, &InputFile)> = job
        .dependencies
        .iter()
        .filter_map(|file| file.made_by.map(|stage| (stage, file)))
        .filter(|(stage, file)| is_published(*stage, &file.name))
        .collect();
    if chosen.is_empty() {
        let message = "none of the stages before made a file that can be published";
        return Err(Failure::new(Reason::OutputMissing, message));
    }
    let mut names = BTreeSet::from([MANIFEST]);
    let mut files = Vec::new();
    for (index, (made_by, file)) in chosen.iter().enumerate() {
        let percent = 95.0 * index as f32 / chosen.len() as f32;
        reporter.progress(percent, &format!("verify {}", file.name));
        if !names.insert(&file.name) {
            let message = format!("two stages made an output with one name: {}", file.name);
            return Err(Failure::new(Reason::OutputInvalid, message));
        }
        let source = request.input_dir.join(made_by.as_str()).join(&file.name);
        verify(file, &source)?;
        files.push(ManifestFile {
            output: &file.name,
            checksum: file.checksum,
            size_bytes: file.size_bytes,
            media_type: media_type(&file.name),
            made_by: *made_by,
        });
    }
    let manifest = Manifest {
        asset: job.asset.as_str(),
        version: job.asset_version,
        pipeline: job.pipeline_id,
        profile: &job.input.profile,
        source: job.input.checksum,
        files,
    };
    write_manifest(&manifest, &request.output_dir)?;
    reporter.progress(100.0, "verified");
    let manifest =
        Produced { name: MANIFEST.to_owned(), media_type: media_type(MANIFEST).to_owned() };
    Ok(StageOutput { files: vec![manifest], report: StageReport::default() })
}

fn write_manifest(manifest: &Manifest<'_>, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(MANIFEST);
    let text = serde_json::to_vec_pretty(manifest).map_err(|error| {
        Failure::new(Reason::Unexpected, format!("the manifest cannot be written: {error}"))
    })?;
    fs::write(&path, text).map_err(|error| disk("the manifest cannot be written", &error, &path))
}

fn verify(file: &InputFile, path: &Path) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| disk("a result cannot be read", &error, path);
    let mut hasher = blake3::Hasher::new();
    let mut reader = File::open(path).map_err(unreadable)?;
    let size = std::io::copy(&mut reader, &mut hasher).map_err(unreadable)?;
    if Checksum::from_bytes(*hasher.finalize().as_bytes()) != file.checksum
        || size != file.size_bytes
    {
        let message = format!("the bytes differ from their checksum: {}", file.name);
        return Err(Failure::new(Reason::ArtifactMismatch, message));
    }
    if size == 0 {
        return Err(invalid(&file.name, "is empty"));
    }
    if has_suffix(&file.name, "png") || has_suffix(&file.name, "jpg") {
        verify_picture(&file.name, path)
    } else if has_suffix(&file.name, "glb") {
        verify_glb(&file.name, path, size)
    } else if has_suffix(&file.name, "json") {
        verify_json(&file.name, path)
    } else {
        Ok(())
    }
}

fn verify_picture(name: &str, path: &Path) -> Result<(), Failure> {
    let mut reader = image::ImageReader::open(path)
        .map_err(|error| disk("a picture cannot be opened", &error, path))?;
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(PICTURE_BYTES);
    reader.limits(limits);
    let picture =
        reader.decode().map_err(|error| invalid(name, &format!("cannot be read back: {error}")))?;
    if picture.width() == 0 || picture.height() == 0 {
        return Err(invalid(name, "has no pixels"));
    }
    Ok(())
}

/// The 12-byte header of a binary glTF 2.0 file (§4.4.2) and its first chunk's kind.
fn verify_glb(name: &str, path: &Path, size_bytes: u64) -> Result<(), Failure> {
    let mut head = [0; 20];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .map_err(|_| invalid(name, "has no GLB header"))?;
    let [m0, m1, m2, m3, v0, v1, v2, v3, l0, l1, l2, l3, _, _, _, _, chunk @ ..] = head;
    let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    let right = [m0, m1, m2, m3] == *b"glTF"
        && u32::from_le_bytes([v0, v1, v2, v3]) == 2
        && length == size_bytes
        && chunk == *b"JSON";
    if right { Ok(()) } else { Err(invalid(name, "has a wrong GLB header")) }
}

fn verify_json(name: &str, path: &Path) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| disk("a result cannot be opened", &error, path))?;
    serde_json::from_reader::<_, serde::de::IgnoredAny>(BufReader::new(file))
        .map(drop)
        .map_err(|error| invalid(name, &format!("is no JSON document: {error}")))
}

fn has_suffix(name: &str, suffix: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(suffix))
}

fn media_type(name: &str) -> &'static str {
    const TYPES: [(&str, &str); 12] = [
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("exr", "image/x-exr"),
        ("glb", "model/gltf-binary"),
        ("mp4", "video/mp4"),
        ("mov", "video/quicktime"),
        ("webm", "video/webm"),
        ("mkv", "video/x-matroska"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("json", "application/json"),
        ("txt", "text/plain"),
    ];
    TYPES
        .iter()
        .find(|(suffix, _)| has_suffix(name, suffix))
        .map_or("application/octet-stream", |(_, media)| media)
}

fn invalid(name: &str, why: &str) -> Failure {
    Failure::new(Reason::OutputInvalid, format!("an output that should be published {why}: {name}"))
}

fn disk(what: &str, error: &std::io::Error, path: &Path) -> Failure {
    let reason = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Reason::DiskFull,
        _ => Reason::DiskError,
    };
    Failure::new(reason, format!("{what}: {error}: {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::fixture::{Silent, request};
    use tempfile::TempDir;

    struct Bench {
        folder: TempDir,
        request: StageRequest,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (input, output) = (folder.path().join("in"), folder.path().join("out"));
            fs::create_dir_all(&output).unwrap();
            let request = request(Stage::Publish, &input, &output);
            Self { folder, request }
        }

        fn input(&mut self, stage: Stage, name: &str, bytes: &[u8]) {
            let path = self.request.input_dir.join(stage.as_str()).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
            self.request.assignment.dependencies.push(InputFile {
                made_by: Some(stage),
                name: name.to_owned(),
                checksum: Checksum::of(bytes),
                size_bytes: bytes.len() as u64,
            });
        }

        fn run(&self) -> StageResult {
            run(&self.request, &Silent)
        }
    }

    fn png() -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbaImage::new(2, 2).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    fn glb(length: u32) -> Vec<u8> {
        let mut bytes = b"glTF\x02\0\0\0".to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(b"\x04\0\0\0JSON{}  ");
        bytes
    }

    #[test]
    fn chosen_files_are_verified_and_listed() {
        let mut bench = Bench::new();
        bench.input(Stage::Inspect, "metadata.json", b"{}");
        bench.input(Stage::Transform, "scene.glb", &glb(24));
        bench.input(Stage::Transform, "image.exr", b"not published");
        bench.input(Stage::Render, "still.png", &png());
        bench.input(Stage::Render, "turntable/0001.png", b"not even read");
        bench.input(Stage::Assemble, "turntable.mp4", b"film");
        let output = bench.run().unwrap();
        assert_eq!(output.files.len(), 1);
        let text = fs::read(bench.folder.path().join("out").join(&output.files[0].name)).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let files = manifest["files"].as_array().unwrap();
        let names: Vec<_> = files.iter().map(|file| file["output"].as_str().unwrap()).collect();
        assert_eq!(names, ["metadata.json", "scene.glb", "still.png", "turntable.mp4"]);
        assert_eq!(manifest["files"][2]["output"], "still.png");
        assert_eq!(manifest["files"][2]["made_by"], "render");
        assert_eq!(manifest["files"][2]["checksum"], Checksum::of(&png()).to_string());
        assert_eq!(manifest["version"], 1);
    }

    #[test]
    fn broken_results_are_not_published() {
        let cut_png = png()[..40].to_vec();
        let cases: [(Stage, &str, &[u8]); 5] = [
            (Stage::Render, "still.png", &cut_png),
            (Stage::Transform, "scene.glb", &glb(25)),
            (Stage::Transform, "scene.glb", b"glTF"),
            (Stage::Assemble, "film.mp4", b""),
            (Stage::Inspect, "metadata.json", b"{\"a\":"),
        ];
        for (stage, name, bytes) in cases {
            let mut bench = Bench::new();
            bench.input(stage, name, bytes);
            let failure = bench.run().unwrap_err();
            assert_eq!(failure.reason, Reason::OutputInvalid, "{name}: {failure:?}");
        }
    }

    #[test]
    fn changed_bytes_and_an_empty_choice_are_refused() {
        let mut bench = Bench::new();
        bench.input(Stage::Inspect, "metadata.json", b"{}");
        fs::write(bench.request.input_dir.join("inspect/metadata.json"), b"[]").unwrap();
        assert_eq!(bench.run().unwrap_err().reason, Reason::ArtifactMismatch);
        let mut bench = Bench::new();
        bench.input(Stage::Transform, "image.exr", b"x");
        assert_eq!(bench.run().unwrap_err().reason, Reason::OutputMissing);
    }

    #[test]
    fn one_name_from_two_stages_is_refused() {
        let mut bench = Bench::new();
        bench.input(Stage::Inspect, "contact-sheet.png", &png());
        bench.input(Stage::Assemble, "contact-sheet.png", &png());
        assert_eq!(bench.run().unwrap_err().reason, Reason::OutputInvalid);
    }
}
