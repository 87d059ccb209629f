"""Keeps Blender running between chunks of one scene.

Orders come on standard input, one JSON document a line: {"order": 1, "frames": [1, 2], "out": "/x/y_####"}.
Each is answered on standard output by 'Sawah: order 1 begins' and then 'done' or 'failed: WHY'.
The end of standard input ends it.
"""

import json
import sys

import bpy


def say(text):
    print("Sawah: " + text, flush=True)


def draw(scene, frame):
    scene.frame_start = frame
    scene.frame_end = frame
    # Only an animation puts the number into the file's name and takes the scene's own way of saving.
    if "FINISHED" not in bpy.ops.render.render(animation=True):
        raise RuntimeError("frame %d was not finished" % frame)


def serve(order):
    scene = bpy.context.scene
    kept = scene.frame_start, scene.frame_end, scene.frame_step, scene.render.filepath
    scene.frame_step = 1
    scene.render.filepath = order["out"]
    try:
        for frame in order["frames"]:
            draw(scene, frame)
    finally:
        scene.frame_start, scene.frame_end, scene.frame_step, scene.render.filepath = kept


say("ready")
while True:
    line = sys.stdin.readline()
    if not line:
        break
    order = json.loads(line)
    name = "order %d" % order["order"]
    say(name + " begins")
    try:
        serve(order)
    except Exception as error:
        say(name + " failed: " + " ".join(str(error).split()))
    else:
        say(name + " done")
