//! The README's first command: the samples go through the farm, and every file that it lists opens
//! in an outside program.

use crate::farm::{Farm, bounded};
use sawah::model::{Checksum, Reason};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What `demo --json` says.
#[derive(Debug, Deserialize)]
struct Demo {
    published: Vec<Published>,
    dead_letters: Vec<Dead>,
    drawn_by: Vec<String>,
    ok: bool,
}

#[derive(Debug, Deserialize)]
struct Published {
    asset: String,
    version: u32,
    output: String,
    path: PathBuf,
    checksum: Checksum,
}

#[derive(Debug, Deserialize)]
struct Dead {
    asset: String,
    code: String,
    message: String,
}

/// What every asset has, and what each kind has besides.
const OF_ALL: [&str; 6] = [
    "manifest.json",
    "metadata.json",
    "still.png",
    "thumb-128.png",
    "thumb-256.png",
    "thumb-512.png",
];
const OF_MESHES: [&str; 3] = ["contact-sheet.png", "scene.glb", "turntable.mp4"];
const OF_SEQUENCES: [&str; 2] = ["contact-sheet.png", "film.mp4"];

#[tokio::test]
async fn the_demo_draws_on_the_processor_where_no_adapter_may_be_used() {
    let demo = run_demo(&Farm::new("demo-cpu").with("SAWAH_GPU", "off")).await;
    assert_eq!(demo.drawn_by, ["cpu"]);
}

#[cfg(feature = "gpu")]
#[tokio::test]
async fn the_demo_draws_through_wgpu_and_says_so() {
    let demo = run_demo(&Farm::new("demo-gpu").with("SAWAH_GPU", "software")).await;
    assert!(
        !demo.drawn_by.is_empty() && demo.drawn_by.iter().all(|by| by != "cpu"),
        "no graphics adapter was used: {:?}. Without a card, a software driver does: \
         apt install mesa-vulkan-drivers, or run packaging/test",
        demo.drawn_by
    );
}

async fn run_demo(farm: &Farm) -> Demo {
    let ran = farm.run(["demo", "--headless", "--json"]).await.expect_code(0);
    let demo: Demo = serde_json::from_value(ran.json()).expect("the document is a demo's");
    assert!(demo.ok, "{demo:#?}");
    check_dead_letter(&demo);
    check_published(&demo);
    for file in &demo.published {
        open_outside(&file.path).await;
    }
    demo
}

fn check_dead_letter(demo: &Demo) {
    let [dead] = demo.dead_letters.as_slice() else {
        panic!("exactly one sample is broken: {:#?}", demo.dead_letters)
    };
    assert!(dead.asset.contains("broken"), "{dead:?}");
    let reason = Reason::parse(&dead.code).unwrap_or_else(|| panic!("an unknown code: {dead:?}"));
    assert!(reason.code().starts_with("input."), "{dead:?}");
    assert!(!dead.message.is_empty(), "{dead:?}");
}

fn check_published(demo: &Demo) {
    let mut assets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in &demo.published {
        let bytes =
            fs::read(&file.path).unwrap_or_else(|error| panic!("{}: {error}", file.path.display()));
        assert_eq!(Checksum::of(&bytes), file.checksum, "{}", file.path.display());
        assert_eq!(file.version, 1, "{file:?}");
        let is_new = assets.entry(&file.asset).or_default().insert(&file.output);
        assert!(is_new, "listed twice: {file:?}");
    }
    let mut counts = [0; 3];
    for (asset, outputs) in &assets {
        let with = |more: &[&'static str]| -> BTreeSet<&str> {
            OF_ALL.iter().chain(more).copied().collect()
        };
        let kinds = [with(&OF_MESHES), with(&[]), with(&OF_SEQUENCES)];
        let kind = kinds.iter().position(|kind| kind == outputs);
        counts[kind.unwrap_or_else(|| panic!("{asset} has {outputs:?}"))] += 1;
    }
    assert_eq!(counts, [3, 1, 1], "meshes, images and sequences among {:?}", assets.keys());
}

async fn open_outside(path: &Path) {
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("png") => {
            let said = outside("identify", "imagemagick", &["-format", "%m %w %h"], path).await;
            assert!(said.starts_with("PNG "), "{}: {said}", path.display());
        }
        Some("mp4") => {
            let args = ["-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries"];
            let args: Vec<&str> =
                args.into_iter().chain(["stream=nb_read_frames", "-of", "csv=p=0"]).collect();
            let said = outside("ffprobe", "ffmpeg", &args, path).await;
            let frames = said.trim().trim_end_matches(',').parse();
            assert_eq!(frames, Ok(24), "frames of {}: {said}", path.display());
        }
        Some("glb") => read_glb(path),
        Some("json") => {
            let text = fs::read(path).expect("it can be read");
            let value: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
            assert!(value.is_object(), "{}", path.display());
        }
        _ => panic!("nobody knows how to open {}", path.display()),
    }
}

/// Runs an outside program on a file; its success is required.
async fn outside(program: &str, package: &str, args: &[&str], path: &Path) -> String {
    let mut command = tokio::process::Command::new(program);
    command.args(args).arg(path).kill_on_drop(true);
    let output = match bounded(program, command.output()).await {
        Ok(output) => output,
        Err(error) => panic!(
            "{program} cannot be run ({error}): apt install {package}, or run packaging/test"
        ),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} refuses {}: {said}{errors}", path.display());
    said
}

/// Reads a GLB with a reader that validates, and follows every accessor to its bytes.
fn read_glb(path: &Path) {
    let bytes = fs::read(path).expect("it can be read");
    let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let blob = blob.expect("a GLB carries its buffer");
    for buffer in document.buffers() {
        assert!(matches!(buffer.source(), gltf::buffer::Source::Bin), "{}", path.display());
    }
    let primitives = document.meshes().flat_map(|mesh| mesh.primitives().collect::<Vec<_>>());
    let triangles: usize = primitives
        .map(|primitive| {
            let reader = primitive.reader(|_| Some(&blob));
            let corners = reader.read_positions().expect("a primitive has positions").count();
            match reader.read_indices() {
                Some(indices) => {
                    let indices: Vec<u32> = indices.into_u32().collect();
                    assert!(indices.iter().all(|index| (*index as usize) < corners));
                    indices.len() / 3
                }
                None => corners / 3,
            }
        })
        .sum();
    assert!(triangles > 0, "{} has nothing to draw", path.display());
    for picture in document.images() {
        let gltf::image::Source::View { view, .. } = picture.source() else {
            panic!("{} refers to a picture outside", path.display())
        };
        let bytes = blob.get(view.offset()..view.offset() + view.length());
        let read = image::load_from_memory(bytes.expect("the picture lies in the buffer"));
        assert!(read.is_ok(), "{}: {read:?}", path.display());
    }
}
