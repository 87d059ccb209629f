import sys
import time

import f3d

engine = f3d.Engine.create(True)
engine.window.size = (512, 512)
picture, models = sys.argv[1], sys.argv[2:]
for lap in range(4):
    for model in models:
        begin = time.perf_counter()
        engine.scene.clear()
        engine.scene.add(model)
        engine.window.render_to_image().save(picture)
        if lap > 0:
            print((time.perf_counter() - begin) * 1000)
