"""Makes the small scenes of the tests: blender -b --factory-startup --python make.py -- FOLDER"""

import math
import os
import sys

import bpy

FOLDER = sys.argv[sys.argv.index("--") + 1]


def path(name):
    return os.path.join(FOLDER, name)


def save(name):
    bpy.ops.wm.save_as_mainfile(filepath=path(name), compress=False, relative_remap=False)


def fresh(engine, last):
    """The cube, the lamp and the camera of the factory; the cube turns."""
    bpy.ops.wm.read_factory_settings()
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.resolution_x, scene.render.resolution_y = 64, 48
    scene.render.resolution_percentage = 100
    scene.frame_start, scene.frame_end, scene.render.fps = 1, last, 12
    scene.cycles.samples = 4
    scene.cycles.use_denoising = False
    cube = bpy.data.objects["Cube"]
    for frame, angle in ((1, 0.0), (last, math.pi / 2)):
        cube.rotation_euler.z = angle
        cube.keyframe_insert("rotation_euler", frame=frame)
    return scene


def paint(picture):
    """The cube shows a picture that lies beside the scene."""
    image = bpy.data.images.load(picture)
    material = bpy.data.materials["Material"]
    texture = material.node_tree.nodes.new("ShaderNodeTexImage")
    texture.image = image
    output = material.node_tree.nodes["Material Output"]
    material.node_tree.links.new(texture.outputs["Color"], output.inputs["Surface"])
    bpy.context.scene.view_settings.view_transform = "Standard"
    image.filepath = "//" + os.path.basename(picture)


def wood(name):
    image = bpy.data.images.new("wood", 8, 8)
    image.pixels = [0.5, 0.3, 0.1, 1.0] * 64
    image.filepath_raw, image.file_format = path(name), "PNG"
    image.save()


fresh("CYCLES", 3)
save("cycles.blend")

fresh("BLENDER_WORKBENCH", 6)
save("workbench.blend")

fresh("CYCLES", 3).cycles.use_denoising = True
save("denoised.blend")

scene = fresh("CYCLES", 3)
bpy.data.objects.remove(bpy.data.objects["Camera"])
save("blind.blend")

fresh("CYCLES", 2)
wood("wood.png")
paint(path("wood.png"))
save("painted.blend")

fresh("CYCLES", 2)
bpy.data.objects["Cube"].name = "Crate"
save("crate.blend")
fresh("CYCLES", 2)
bpy.data.objects.remove(bpy.data.objects["Cube"])
with bpy.data.libraries.load(path("crate.blend"), link=True) as (source, target):
    target.objects = ["Crate"]
bpy.context.scene.collection.objects.link(target.objects[0])
bpy.data.libraries[0].filepath = "//crate.blend"
save("linked.blend")
