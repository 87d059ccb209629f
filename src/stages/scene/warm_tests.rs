//! With the real Blender: a picture that is read anew for each frame tells whether files are there.

use super::*;
use crate::model::{AssetKind, Chunk, Stage};
use crate::recipes::{SceneSettings, Settings};
use crate::stages::scene::draw;
use crate::stages::testing::request;
use crate::stages::{FoundProgram, Reporter, StageOutput, StageRequest};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// One program is kept by a process: tests that keep one take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Makes a plane that shines with the picture of its frame.
const MAKE: &str = r#"
import bpy, os, sys
folder = sys.argv[-1]
for frame in range(1, 7):
    image = bpy.data.images.new("seq", 8, 8)
    image.pixels = [frame / 7, 0.5, 1 - frame / 7, 1.0] * 64
    image.filepath_raw = os.path.join(folder, "seq_%04d.png" % frame)
    image.file_format = "PNG"
    image.save()
scene = bpy.context.scene
scene.render.engine = "CYCLES"
scene.cycles.samples = 1
scene.cycles.use_denoising = False
scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 32, 24, 100
scene.frame_start, scene.frame_end = 1, 6
bpy.ops.mesh.primitive_plane_add(size=40)
material = bpy.data.materials.new("film")
material.use_nodes = True
nodes = material.node_tree.nodes
nodes.clear()
texture, shine, out = (nodes.new("ShaderNode" + kind) for kind in ("TexImage", "Emission", "OutputMaterial"))
texture.image = bpy.data.images.load(os.path.join(folder, "seq_0001.png"))
texture.image.source = "SEQUENCE"
texture.image_user.frame_duration = 6
texture.image_user.use_auto_refresh = True
material.node_tree.links.new(texture.outputs[0], shine.inputs[0])
material.node_tree.links.new(shine.outputs[0], out.inputs[0])
bpy.context.object.data.materials.append(material)
bpy.ops.wm.save_as_mainfile(filepath=os.path.join(folder, "scene.blend"))
bpy.ops.file.make_paths_relative()
bpy.ops.wm.save_mainfile()
"#;

fn blender() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|at| at.join("blender")).find(|at| at.is_file());
    found.expect("this test needs Blender: apt install blender")
}

/// The scene and its pictures, made once.
fn scene() -> &'static Path {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("make.py");
        std::fs::write(&script, MAKE).unwrap();
        let mut command = Command::new(blender());
        command.args(["-b", "--factory-startup", "--python-exit-code", "7", "--python"]);
        let made = command.arg(&script).arg("--").arg(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        std::fs::remove_file(script).unwrap();
        folder
    });
    made.path()
}

/// Says what it hears, and may act when a frame is done.
struct Ear<'a> {
    lines: Mutex<Vec<String>>,
    on_frame: &'a (dyn Fn(i32) + Sync),
}

impl Reporter for Ear<'_> {
    fn progress(&self, _percent: f32, _message: &str) {}

    fn frame(&self, frame: i32, _percent: f32, _message: &str) {
        (self.on_frame)(frame);
    }

    fn log(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }
}

/// A host's folder and the attempts in it.
struct Farm {
    folder: TempDir,
    samples: &'static str,
}

impl Farm {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("host/tmp")).unwrap();
        Self { folder, samples: "1" }
    }

    /// An attempt of the frames from `first` to `last`, in a folder that is gone after it. Names and
    /// pixels of the pictures, and the log.
    fn attempt(
        &self,
        (first, last): (u32, u32),
        stays: bool,
        on_frame: &(dyn Fn(i32) + Sync),
    ) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        let request = self.request(folder.path(), first, last, stays);
        let ear = Ear { lines: Mutex::default(), on_frame };
        let settings = request.assignment.settings.scene.clone().unwrap();
        let drawn = draw::run(&request, &settings, &ear);
        let log = ear.lines.into_inner().unwrap();
        let StageOutput { files, report } = drawn.unwrap_or_else(|why| panic!("{why:?}: {log:#?}"));
        if stays {
            assert!(report.peak_memory_bytes.is_some_and(|bytes| bytes > 1 << 20), "{report:?}");
        }
        let read = |file: &crate::stages::Produced| {
            let picture = image::open(request.output_dir.join(&file.name)).unwrap();
            (file.name.clone(), picture.into_rgba8().into_raw())
        };
        (files.iter().map(read).collect(), log)
    }

    fn request(&self, folder: &Path, first: u32, last: u32, stays: bool) -> StageRequest {
        let values = [("samples".to_owned(), self.samples.to_owned())].into();
        let scene_settings = SceneSettings {
            renderer: "blender".to_owned(),
            frames: Some("1-6".parse().unwrap()),
            values,
            ..SceneSettings::default()
        };
        let settings = Settings { scene: Some(scene_settings), ..Settings::default() };
        let chunk = Chunk::Frames { first, last };
        let mut request = request(folder, Stage::Render, AssetKind::Scene, chunk, settings);
        copy(scene(), &request.input_dir.join("source")).unwrap();
        request.assignment.input.main_file = "scene.blend".to_owned();
        let path = blender();
        let profile = "blender".to_owned();
        request.workshop.programs = vec![FoundProgram { profile, path, version: None }];
        request.stay = stays.then(|| Stay {
            folder: self.folder.path().join("host"),
            temporary: folder.to_owned(),
            mark: "warm-test.1.1".to_owned(),
        });
        request
    }

    /// Processes of this farm's warm program.
    fn programs(&self) -> Vec<i32> {
        let place = self.folder.path().join("host").to_string_lossy().into_owned();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let is_of = |entry: &std::fs::DirEntry| {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains(&place)
        };
        entries.filter(is_of).filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }
}

fn nothing(_frame: i32) {}

fn said(log: &[String], text: &str) -> bool {
    log.iter().any(|line| line.contains(text))
}

#[test]
fn a_program_that_stays_makes_the_same_pictures_when_the_first_attempt_is_long_gone() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let farm = Farm::new();
    let (plain, log) = farm.attempt((1, 6), false, &nothing);
    assert!(said(&log, "-f 1..6") && plain.len() == 6, "{log:#?}");
    let mut warm = Vec::new();
    let mut programs = Vec::new();
    for chunk in [(1, 2), (3, 4), (5, 6)] {
        let (pictures, log) = farm.attempt(chunk, true, &nothing);
        assert_eq!(said(&log, "runs already"), chunk.0 > 1, "{log:#?}");
        assert!(said(&log, "Saved: '"), "{log:#?}");
        warm.extend(pictures);
        programs.push(farm.programs());
    }
    assert_eq!(warm, plain);
    assert_ne!(plain[0].1, plain[5].1, "the frames differ");
    assert!(programs[0].len() == 1 && programs.iter().all(|pids| *pids == programs[0]));
    end();
    assert_eq!(farm.programs(), Vec::<i32>::new());
}

#[test]
fn other_settings_do_not_reuse_it() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut farm = Farm::new();
    farm.attempt((1, 2), true, &nothing);
    let first = farm.programs();
    farm.samples = "2";
    let (_, log) = farm.attempt((3, 4), true, &nothing);
    assert!(!said(&log, "runs already"), "{log:#?}");
    let second = farm.programs();
    assert!(first.len() == 1 && second.len() == 1 && first != second, "{first:?} {second:?}");
    // The whole job in one chunk has no use for it, and needs its memory.
    farm.attempt((1, 6), true, &nothing);
    assert_eq!(farm.programs(), Vec::<i32>::new());
}

#[test]
fn one_that_is_killed_in_mid_chunk_costs_the_chunk_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let farm = Farm::new();
    let kill = |frame: i32| {
        if frame == 3 {
            for pid in farm.programs() {
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    };
    farm.attempt((1, 2), true, &nothing);
    let (pictures, log) = farm.attempt((3, 5), true, &kill);
    assert_eq!(pictures.len(), 3, "{log:#?}");
    assert!(said(&log, "started anew"), "{log:#?}");
    assert_eq!(farm.programs(), Vec::<i32>::new());
    // The next chunk begins with a fresh one.
    let (pictures, _) = farm.attempt((6, 6), true, &nothing);
    assert_eq!((pictures.len(), farm.programs().len()), (1, 1));
    end();
}

#[test]
fn its_arguments_are_those_of_the_usual_run_up_to_the_frames() {
    let profile = super::super::profiles::profile(None, "blender").unwrap();
    let words = |list: &[crate::renderers::template::Argument]| -> Vec<String> {
        list.iter().map(|one| format!("{one:?}")).collect()
    };
    let usual = words(&profile.command.arguments);
    let warm = words(&profile.warm.as_ref().unwrap().arguments);
    let end = usual.iter().position(|word| word.contains("\"-o\"")).unwrap();
    assert_eq!(usual[..end], warm[..end]);
    let rest: Vec<&String> =
        usual[end + 2..].iter().take_while(|word| !word.contains("\"-f\"")).collect();
    assert_eq!(rest, warm[end..warm.len() - 1].iter().collect::<Vec<_>>());
}
