"""Writes a small animated scene to the path that is the last argument."""

import sys

import bpy

scene = bpy.context.scene
scene.render.engine = "CYCLES"
scene.cycles.samples = 16
scene.cycles.use_denoising = False
scene.render.resolution_x = 192
scene.render.resolution_y = 144
scene.render.resolution_percentage = 100
scene.frame_start = 1
scene.frame_end = 40
cube = bpy.data.objects["Cube"]
cube.keyframe_insert("rotation_euler", frame=1)
cube.rotation_euler = (1.0, 2.0, 3.0)
cube.keyframe_insert("rotation_euler", frame=40)
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[-1])
