//! Ingest, inspect and transform on the sample assets and on bad ones.

use super::formats::{blend, image_writer, load_scene};
use super::transform::FrameList;
use super::{Reporter, StageOutput, StageRequest, ingest, inspect, transform};
use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, JobId, PipelineId, Reason, Stage, TraceId,
};
use crate::protocol::work::{Assignment, Failure, InputFile, JobInput, JobLimits};
use crate::recipes::{GapPolicy, SceneSettings, Settings};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Quiet;

impl Reporter for Quiet {
    fn progress(&self, percent: f32, _message: &str) {
        assert!((0.0..=100.0).contains(&percent), "{percent}");
    }
    fn log(&self, _line: &str) {}
}

/// An asset in a folder of its own, ready for the first three stages.
struct Bench {
    _folder: TempDir,
    request: StageRequest,
}

impl Bench {
    /// With these files; the first one is the main file.
    fn of(files: &[(&str, Vec<u8>)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let input = folder.path().join("in");
        let output = folder.path().join("out");
        fs::create_dir_all(&output).expect("a folder");
        let mut dependencies = Vec::new();
        for (name, bytes) in files {
            let path = input.join("source").join(name);
            fs::create_dir_all(path.parent().expect("has a folder")).expect("a folder");
            fs::write(path, bytes).expect("written");
            dependencies.push(InputFile {
                made_by: None,
                name: (*name).to_owned(),
                checksum: Checksum::of(bytes),
                size_bytes: bytes.len() as u64,
            });
        }
        let main_file = files.first().map_or(String::new(), |(name, _)| (*name).to_owned());
        let assignment = assignment(main_file, dependencies);
        let request = StageRequest {
            assignment,
            input_dir: input,
            output_dir: output,
            workshop: crate::stages::Workshop::default(),
            stay: None,
        };
        Self { _folder: folder, request }
    }

    fn samples(names: &[&str]) -> Self {
        let files: Vec<_> = names
            .iter()
            .map(|name| (*name, fs::read(sample(name)).expect("the sample is there")))
            .collect();
        Self::of(&files)
    }

    /// All three stages; the kind that ingest finds goes on to the others.
    fn run(mut self) -> Result<(Self, [StageOutput; 3]), Failure> {
        let ingested = ingest::run(&self.request, &Quiet)?;
        self.request.assignment.input.kind = ingested.report.kind;
        let inspected = inspect::run(&self.request, &Quiet)?;
        let transformed = transform::run(&self.request, &Quiet)?;
        Ok((self, [ingested, inspected, transformed]))
    }

    fn json(&self, name: &str) -> serde_json::Value {
        let bytes = fs::read(self.request.output_dir.join(name)).expect("is there");
        serde_json::from_slice(&bytes).expect("is JSON")
    }
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples").join(name)
}

fn assignment(main_file: String, dependencies: Vec<InputFile>) -> Assignment {
    Assignment {
        job_id: JobId(1),
        pipeline_id: PipelineId(1),
        asset: AssetName::from_any("asset"),
        asset_version: 1,
        stage: Stage::Ingest,
        chunk: Chunk::Whole,
        idempotency_key: "key".to_owned(),
        input: JobInput {
            source_ref: main_file.clone(),
            checksum: Checksum::of(b"set"),
            profile: "preview-00000000".to_owned(),
            options_ref: "preview".to_owned(),
            kind: None,
            main_file,
            frame_count: None,
        },
        dependencies,
        kept: Vec::new(),
        settings: Settings::default(),
        limits: JobLimits { timeout_ms: 0, stall_ms: 0, memory_bytes: 0 },
        attempt: 1,
        max_attempts: 3,
        epoch: Epoch(1),
        trace_id: TraceId::from_random([0; 16]),
        enqueued_at_ms: 0,
        pointer_generation: 0,
    }
}

fn names(output: &StageOutput) -> Vec<&str> {
    output.files.iter().map(|file| file.name.as_str()).collect()
}

fn png(width: u32, height: u32, tone: u8) -> Vec<u8> {
    let rgba = [tone, 90, 200, 255].repeat((width * height) as usize);
    image_writer::png_bytes(width, height, &rgba).expect("encoded")
}

fn refused(files: &[(&str, Vec<u8>)]) -> Failure {
    match Bench::of(files).run() {
        Ok(_) => panic!("{:?} went through", files.first().map(|(name, _)| name)),
        Err(failure) => failure,
    }
}

#[test]
fn sample_meshes_become_scenes() {
    for files in [&["terrace.glb"][..], &["crate.obj", "crate.mtl", "wood.png"], &["gear.stl"]] {
        let (bench, [ingested, inspected, transformed]) =
            Bench::samples(files).run().expect("goes through");
        assert_eq!(ingested.report.kind, Some(AssetKind::Mesh));
        assert_eq!(inspected.report.warnings, []);
        assert_eq!(names(&transformed), ["scene.glb"]);
        let metadata = bench.json("metadata.json");
        assert_eq!(metadata["verdict"], "ok");
        let out = &bench.request.output_dir;
        let scene = load_scene(&out.join("scene.glb"), out, &Quiet).expect("reads back");
        assert_eq!(metadata["facts"]["triangles"], scene.scene.triangles());
        for part in &scene.scene.parts {
            let bumpy = scene.scene.materials[part.material].normal_texture.is_some();
            assert_eq!(part.tangents.is_empty(), !bumpy, "{}", part.name);
        }
        assert_eq!(metadata["references"].as_array().map(Vec::len), Some(files.len() - 1));
    }
}

#[test]
fn the_sample_sunset_stays_light() {
    let (bench, [ingested, _, transformed]) =
        Bench::samples(&["sunset.exr"]).run().expect("goes through");
    assert_eq!(ingested.report.kind, Some(AssetKind::Image));
    assert_eq!(names(&transformed), ["image.exr"]);
    let brightest = &bench.json("metadata.json")["facts"]["pixels"]["greatest"][0];
    assert!(brightest.as_f64().is_some_and(|value| value > 10.0), "{brightest}");
}

#[test]
fn the_sample_rain_becomes_a_list_of_frames() {
    let rain: Vec<String> = (1..=24).map(|frame| format!("rain/rain_{frame:04}.png")).collect();
    let rain: Vec<&str> = rain.iter().map(String::as_str).collect();
    let (bench, [ingested, _, transformed]) = Bench::samples(&rain).run().expect("goes through");
    assert_eq!(ingested.report.kind, Some(AssetKind::Sequence));
    assert_eq!(transformed.report.frame_count, Some(24));
    assert_eq!(names(&transformed).len(), 25);
    let entries: FrameList =
        serde_json::from_value(bench.json("frames.json")).expect("is a list of frames");
    let last = entries.frames.last().expect("has frames");
    assert_eq!((last.index, last.number, last.name.as_str()), (24, 24, "frames/000024.png"));
    let copied = fs::read(bench.request.output_dir.join(&last.name)).expect("is there");
    assert_eq!(copied, fs::read(sample(rain[23])).expect("is there"));
}

#[test]
fn a_picture_becomes_png_and_a_gap_is_a_warning() {
    let (_, [.., transformed]) = Bench::of(&[("a.png", png(5, 3, 9))]).run().expect("goes");
    assert_eq!(names(&transformed), ["image.png"]);
    let frames = [("f.1.png", png(4, 4, 1)), ("f.2.png", png(4, 4, 2)), ("f.5.png", png(4, 4, 3))];
    let (_, [_, inspected, _]) = Bench::of(&frames).run().expect("goes through");
    assert!(inspected.report.warnings[0].message.contains("3–4"));
}

#[test]
fn the_warning_of_a_gap_says_what_the_film_does() {
    for (gaps, words) in [
        (GapPolicy::Fail, "No film can be made"),
        (GapPolicy::Hold, "repeats the frame before"),
        (GapPolicy::Black, "is black in their place"),
    ] {
        let mut bench = Bench::of(&[("a.1.png", png(4, 4, 9)), ("a.3.png", png(4, 4, 9))]);
        bench.request.assignment.settings.gaps = gaps;
        let (_, [_, inspected, _]) = bench.run().expect("usable");
        let warnings = &inspected.report.warnings;
        assert!(warnings[0].message.contains(words), "{gaps:?}: {warnings:?}");
    }
}

#[test]
fn bad_assets_are_refused_with_their_reason() {
    let obj = |text: &str| {
        vec![("a.obj", format!("{text}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").into_bytes())]
    };
    let broken = fs::read(sample("broken.glb")).expect("the sample is there");
    let frames = |second: (&'static str, Vec<u8>)| vec![("f.1.png", png(4, 4, 1)), second];
    let mut textured = obj("mtllib a.mtl");
    textured.push(("a.mtl", b"newmtl x\nmap_Kd ../gone.png\n".to_vec()));
    let cases = [
        (vec![("broken.glb", broken)], Reason::InputTruncated, "32492 bytes"),
        (vec![("a.png", Vec::new())], Reason::InputEmpty, "a.png"),
        (vec![("a.glb", png(4, 4, 1))], Reason::InputWrongSuffix, ".png"),
        (vec![("a.blend", b"BLENDER-v304".to_vec())], Reason::InputUnsupported, "Blender"),
        (obj("mtllib gone.mtl"), Reason::ReferenceMissing, "gone.mtl"),
        (obj("mtllib ../../etc/x.mtl"), Reason::ReferenceOutside, "../../etc/x.mtl"),
        (textured, Reason::ReferenceOutside, "../gone.png"),
        (frames(("f.2.png", png(4, 6, 1))), Reason::InputMixedSequence, "4 × 6"),
        (frames(("f.2.png", Vec::new())), Reason::InputEmpty, "f.2.png"),
        (frames(("g.png", png(4, 4, 1))), Reason::InputMixedSequence, "g.png"),
        (frames(("f.2.png", png(4, 4, 1)[..40].to_vec())), Reason::InputTruncated, "f.2.png"),
        (vec![("../up.png", png(4, 4, 1))], Reason::ReferenceOutside, "../up.png"),
    ];
    for (files, reason, part) in cases {
        let failure = refused(&files);
        assert_eq!(failure.reason, reason, "{}", failure.message);
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}

#[test]
fn a_missing_texture_is_a_warning_and_named_in_the_facts() {
    let text = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl x\nf 1 2 3\n";
    let mtl = b"newmtl x\nmap_Kd gone.png\n".to_vec();
    let bench = Bench::of(&[("a.obj", text.into()), ("a.mtl", mtl)]);
    let (bench, [_, inspected, _]) = bench.run().expect("usable");
    let warnings = &inspected.report.warnings;
    assert_eq!(warnings[0].reason, Reason::ReferenceMissing, "{warnings:?}");
    assert!(warnings[0].message.contains("gone.png"), "{warnings:?}");
    let metadata = bench.json("metadata.json");
    assert_eq!(metadata["facts"]["missing_files"], serde_json::json!(["gone.png"]));
    assert_eq!(metadata["verdict"], "warnings");
}

#[test]
fn bytes_that_changed_on_the_way_are_noticed() {
    let mut bench = Bench::of(&[("a.png", png(4, 4, 1))]);
    bench.request.assignment.dependencies[0].checksum = Checksum::of(b"other");
    let failure = ingest::run(&bench.request, &Quiet).expect_err("is noticed");
    assert_eq!(failure.reason, Reason::ArtifactMismatch);
    fs::remove_file(bench.request.input_dir.join("source/a.png")).expect("removed");
    let failure = ingest::run(&bench.request, &Quiet).expect_err("is noticed");
    assert_eq!(failure.reason, Reason::ArtifactMissing);
}

#[test]
fn a_scene_shows_its_own_picture_before_its_first_frame() {
    let pixels = [1, 1, 1, 255, 2, 2, 2, 255];
    for (pixels, made) in [(&pixels[..], 2), (&[][..], 1)] {
        let scene = blend::testing::pictured("BLENDER-v304", [1, 2], pixels);
        let mut bench = Bench::of(&[("a.blend", scene)]);
        let settings = SceneSettings { renderer: "blender".to_owned(), ..Default::default() };
        bench.request.assignment.settings.scene = Some(settings);
        let inspected = inspect::run(&bench.request, &Quiet).expect("usable");
        assert_eq!(inspected.files.len(), made, "{:?}", inspected.files);
        let still = bench.request.output_dir.join("still.png");
        assert_eq!(still.is_file(), made == 2);
        if made == 2 {
            let picture = image::open(still).expect("reads").to_rgb8();
            assert_eq!((picture.dimensions(), picture.get_pixel(0, 0).0), ((1, 2), [2, 2, 2]));
        }
    }
}

#[test]
fn the_facts_of_a_usd_say_its_space_and_its_layers() {
    let text = "#usda 1.0\n(\n    upAxis = \"Z\"\n    metersPerUnit = 0.01\n    subLayers = [@./b.usda@]\n)\n";
    let mesh = "#usda 1.0\ndef Mesh \"m\" {\n    uniform token subdivisionScheme = \"none\"\n    int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 2]\n    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n}\n";
    let bench = Bench::of(&[("a.usda", text.into()), ("b.usda", mesh.into())]);
    let (bench, [ingested, ..]) = bench.run().expect("usable");
    assert_eq!(ingested.report.kind, Some(AssetKind::Mesh));
    let metadata = bench.json("metadata.json");
    assert_eq!(metadata["references"], serde_json::json!(["b.usda"]));
    assert_eq!(metadata["facts"]["layers"], serde_json::json!(["a.usda", "b.usda"]));
    assert_eq!((&metadata["facts"]["up"], &metadata["format"]), (&"+Z".into(), &"text USD".into()));
}
