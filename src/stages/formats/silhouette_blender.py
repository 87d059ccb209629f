# Draws each model of a list with Blender's Workbench, the object alone over nothing.
# blender -b --factory-startup -P silhouette_blender.py -- LIST.json
import json
import math
import sys

import bpy
import numpy
from mathutils import Matrix

# Blender's reader of glTF still uses a name that newer releases of this library dropped.
numpy.bool = bool

IMPORT = {
    "obj": lambda file: bpy.ops.wm.obj_import(filepath=file),
    "stl": lambda file: bpy.ops.import_mesh.stl(filepath=file),
    "ply": lambda file: bpy.ops.import_mesh.ply(filepath=file),
    "fbx": lambda file: bpy.ops.import_scene.fbx(filepath=file),
    "gltf": lambda file: bpy.ops.import_scene.gltf(filepath=file),
    "glb": lambda file: bpy.ops.import_scene.gltf(filepath=file),
}


def draw(model, size):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    IMPORT[model["file"].rsplit(".", 1)[1].lower()](model["file"])
    scene = bpy.context.scene
    lens = bpy.data.cameras.new("lens")
    lens.sensor_fit = "VERTICAL"
    lens.angle = math.radians(model["degrees"])
    lens.clip_start, lens.clip_end = model["near"], model["far"]
    camera = bpy.data.objects.new("camera", lens)
    scene.collection.objects.link(camera)
    camera.matrix_world = Matrix(model["matrix"])
    scene.camera = camera
    render = scene.render
    render.engine = "BLENDER_WORKBENCH"
    render.resolution_x = render.resolution_y = size
    render.resolution_percentage = 100
    render.film_transparent = True
    render.image_settings.file_format = "PNG"
    render.image_settings.color_mode = "RGBA"
    render.filepath = model["out"]
    # One colour: the shape counts, not what materials make of it.
    scene.display.shading.color_type = "SINGLE"
    # A pixel is full or empty: the filter thins out what is narrower than itself.
    scene.display.render_aa = "OFF"
    bpy.ops.render.render(write_still=True)


with open(sys.argv[-1]) as file:
    work = json.load(file)
for model in work["models"]:
    draw(model, work["size"])
