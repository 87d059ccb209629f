"""Draws small pictures, or fails as it is told: draw.py FRAMES OUT HOW [PLACE]

HOW is the name of a function below; PLACE is a file or folder outside of the farm.
"""

import os
import shutil
import signal
import struct
import sys
import time
import zlib

FRAMES, OUT, HOW = sys.argv[1:4]
PLACE = sys.argv[4] if len(sys.argv) > 4 else None


def numbers():
    for part in FRAMES.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def png(width, height, red):
    def chunk(kind, body):
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes([red, 120, 40]) * width) * height
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def tell(line):
    print(line, flush=True)


def note(line, name=""):
    """One line in a file outside, whole even where several write."""
    with open(os.path.join(PLACE, name) if name else PLACE, "a") as file:
        file.write(f"{line}\n")


def draw(frame, width=16, height=12):
    path = f"{OUT}{frame:04}.png"
    with open(path, "wb") as file:
        file.write(png(width, height, frame % 256))
    tell(f"@IMAGE@{path}")


def die():
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


# What a healthy program does.


def plain():
    frames = list(numbers())
    for done, frame in enumerate(frames, 1):
        draw(frame)
        tell(f"openjd_status: painted {frame}")
        tell(f"openjd_progress: {100 * done / len(frames):.0f}")


def report():
    """No pictures, but a file."""
    tell("openjd_status: counting")
    with open(f"{OUT}report.txt", "w") as file:
        file.write(f"{FRAMES}\n")


# What a broken one does.


def half():
    for frame in numbers():
        if frame % 2:
            draw(frame)


def empty():
    for frame in numbers():
        if frame == 2:
            open(f"{OUT}{frame:04}.png", "wb").close()
        else:
            draw(frame)


def small():
    for frame in numbers():
        draw(frame, 8, 6)


def crash():
    draw(next(numbers()))
    die()


def hog():
    held = [b"x" * (16 << 20) for _ in range(64)]
    time.sleep(600)
    return held


def says():
    draw(next(numbers()))
    tell("openjd_fail: the cache is cold")
    sys.exit(1)


def broken():
    raise ValueError("no such wood")


def code():
    tell("pump 7 is dry")
    sys.exit(3)


def walled():
    """A file stands where the folder of the pictures should be."""
    folder = os.path.dirname(OUT)
    shutil.rmtree(folder)
    open(folder, "w").close()
    plain()


# What fails at some frames.


def every_tenth(has_failed):
    for frame in numbers():
        if frame % 10 == 5 and has_failed(frame):
            tell(f"cannot draw {frame}")
            die()
        note(frame, "drawn")
        draw(frame)


def once():
    def has_failed(frame):
        try:
            os.close(os.open(os.path.join(PLACE, f"tried-{frame}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    every_tenth(has_failed)


def always():
    every_tenth(lambda _: not os.path.exists(os.path.join(PLACE, "mended")))


def gated():
    """Stops before frame 4 while the gate is there."""
    for frame in numbers():
        gate = os.path.join(PLACE, "gate")
        if frame == 4 and os.path.exists(gate):
            tell("openjd_status: at the gate")
            open(gate).close()
        note(frame, "drawn")
        draw(frame)


# What does not want to end.


def sleeper(alone, twice):
    """A child that ignores being asked, perhaps with a session of its own, perhaps without us."""
    if os.fork():
        return
    if alone:
        os.setsid()
    if twice and os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(f"{os.getpid()} {os.getpgrp()}")
    while True:
        signal.pause()


def tree():
    note(f"{os.getpid()} {os.getpgrp()}")
    for alone, twice in ((False, False), (True, False), (False, True), (True, True)):
        sleeper(alone, twice)
    while len(open(PLACE).readlines()) < 5:
        time.sleep(0.01)
    tell("openjd_progress: 10")


def silent():
    tree()
    time.sleep(600)


def chatter():
    tree()
    for number in range(6000):
        tell(f"openjd_status: {number}")
        time.sleep(0.1)


globals()[HOW]()
