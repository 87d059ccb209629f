//! The real Blender saves a scene, opens it again and says what is in it; the reader must agree.

use super::*;
use serde_json::{Value, json};
use std::process::Command;

/// Saves a scene three times (as a library, plainly, compressed) and prints what it holds.
const SCRIPT: &str = r#"
import bpy, json, sys
folder = sys.argv[-1]
bpy.ops.wm.read_factory_settings(use_empty=True)
thing = bpy.data.objects.new("LibThing", bpy.data.meshes.new("Mesh"))
bpy.context.scene.collection.objects.link(thing)
bpy.ops.wm.save_as_mainfile(filepath=folder + "/lib.blend", compress=False)

bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.wm.save_as_mainfile(filepath=folder + "/plain.blend", compress=False)
shot = bpy.context.scene
shot.name = "Shot ü"
shot.frame_start, shot.frame_end, shot.frame_step = 5, 17, 3
render = shot.render
render.fps, render.fps_base = 24, 1.001
render.resolution_x, render.resolution_y, render.resolution_percentage = 640, 360, 50
render.engine = "CYCLES"
shot.cycles.samples, shot.cycles.use_denoising = 77, False
for name in ("Cam B", "Cam A"):
    camera = bpy.data.objects.new(name, bpy.data.cameras.new(name))
    shot.collection.objects.link(camera)
    shot.camera = camera
with bpy.data.libraries.load(folder + "/lib.blend", link=True, relative=True) as (there, here):
    here.objects = ["LibThing"]
shot.collection.objects.link(here.objects[0])

def picture(name, source):
    image = bpy.data.images.new(name, 64, 64)
    image.file_format, image.filepath_raw = "PNG", "//" + name
    image.save()
    image.source = source
    image.use_fake_user = True
    return image

picture("wood.png", "FILE")
picture("packed.png", "FILE").pack()
picture("seq_0001.png", "SEQUENCE")
picture("gone.png", "FILE").filepath = "//missing/gone.png"
bpy.data.images.new("generated", 8, 8).use_fake_user = True
other = bpy.data.scenes.new("Other")
other.render.engine = "BLENDER_WORKBENCH"
# Noise: more than the 1 MiB that one frame of a compressed file holds.
noise = bpy.data.meshes.new("Noise")
noise.vertices.add(200000)
values, state = [], 1
for _ in range(600000):
    state = (state * 1103515245 + 12345) % 2147483648
    values.append(state / 2147483648)
noise.vertices.foreach_set("co", values)
noise.use_fake_user = True
bpy.ops.wm.save_as_mainfile(filepath=folder + "/plain.blend", compress=False)
bpy.ops.wm.save_as_mainfile(filepath=folder + "/packed.blend", compress=True, copy=True)

bpy.ops.wm.open_mainfile(filepath=folder + "/plain.blend")
scenes = [
    [scene.name, scene.frame_start, scene.frame_end, scene.frame_step, scene.render.fps,
     scene.render.fps_base, scene.render.resolution_x, scene.render.resolution_y,
     scene.render.resolution_percentage, scene.render.engine,
     scene.camera.name if scene.camera else None, scene == bpy.context.scene]
    for scene in bpy.data.scenes]
images = [
    [image.filepath, bool(image.packed_files), image.source == "SEQUENCE"]
    for image in bpy.data.images if image.source not in ("GENERATED", "VIEWER")]
answer = {
    "version": list(bpy.data.version)[:2],
    "scenes": sorted(scenes),
    "samples": bpy.data.scenes["Shot ü"].cycles.samples,
    "denoising": bpy.data.scenes["Shot ü"].cycles.use_denoising,
    "cameras": sorted(one.name for one in bpy.data.objects if one.type == "CAMERA"),
    "libraries": [library.filepath for library in bpy.data.libraries],
    "images": sorted(images),
}
with open(folder + "/answer.json", "w") as out:
    json.dump(answer, out)
"#;

/// What the reader says, in the form of the script's answer.
fn told(file: &BlendFile) -> Value {
    let mut scenes: Vec<&BlendScene> = file.scenes.iter().collect();
    scenes.sort_by(|one, other| one.name.cmp(&other.name));
    let shot = scenes.iter().find(|scene| scene.is_active).expect("an active scene");
    let mut images: Vec<&Reference> = file.images.iter().collect();
    images.sort_by(|one, other| one.path_written.cmp(&other.path_written));
    let scenes: Vec<Value> = scenes
        .iter()
        .map(|scene| {
            json!([
                scene.name,
                scene.frame_start,
                scene.frame_end,
                scene.frame_step,
                scene.fps.frames,
                scene.fps.seconds,
                scene.width,
                scene.height,
                scene.percent,
                scene.engine,
                scene.active_camera,
                scene.is_active,
            ])
        })
        .collect();
    let images: Vec<Value> = images
        .iter()
        .map(|image| json!([image.path_written, image.packed, image.is_sequence]))
        .collect();
    let libraries: Vec<&str> =
        file.libraries.iter().map(|library| library.path_written.as_str()).collect();
    json!({
        "version": [file.version.major, file.version.minor],
        "scenes": scenes,
        "samples": shot.samples,
        "denoising": shot.uses_denoising,
        "cameras": file.cameras,
        "libraries": libraries,
        "images": images,
    })
}

#[test]
fn blender_and_the_reader_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("save.py");
    std::fs::write(&script, SCRIPT).expect("written");
    let run = Command::new("blender")
        .args(["-b", "-noaudio", "--factory-startup", "--python-exit-code", "7", "--python"])
        .arg(&script)
        .arg("--")
        .arg(folder.path())
        .output()
        .unwrap_or_else(|error| {
            panic!("blender cannot be run ({error}): run 'apt install blender'")
        });
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    let answer = std::fs::read(folder.path().join("answer.json")).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");

    let plain_path = folder.path().join("plain.blend");
    let plain = read(&plain_path).expect("readable");
    assert_eq!(told(&plain), answer);
    assert_eq!(version(&plain_path).expect("readable"), Some(plain.version));

    let packed_path = folder.path().join("packed.blend");
    let packed = read(&packed_path).expect("readable");
    assert_ne!(packed.compression, Compression::None);
    assert_eq!(told(&packed), answer);
    assert_eq!(version(&packed_path).expect("readable"), Some(plain.version));
}
