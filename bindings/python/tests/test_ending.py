"""The end of the interpreter while other threads are in calls."""

import subprocess
import sys

import pytest

START = """
import os, sys, tempfile, threading, time
import numpy as np
import pointmill
from pointmill import icp, ndt
P = np.random.default_rng(0).uniform(0, 1, (20_000, 3)).astype(np.float32)
B = np.random.default_rng(1).uniform(0, 1, (20, 7)).astype(np.float32)
GRID = dict(voxel_size=[0.02] * 3, point_cloud_range=[0, 0, 0, 1, 1, 1])
begun = threading.Event()
def forever(call):
    def loop():
        while True:
            call()
            begun.set()
    threading.Thread(target=loop, daemon=True).start()
"""
CALLS = {
    "voxelize": "lambda: pointmill.voxelize(P, **GRID)",
    "short": "lambda: pointmill.voxelize(P[:10], **GRID)",
    "inside": "lambda: pointmill.points_in_boxes_part(P, B)",
    "normals": "lambda: icp.normals(P, 8)",
    "icp": "lambda: icp(source=P[:300], target=P[:300])",
    "grid": "lambda: ndt.Grid(P, resolution=0.1)",
    "read": "lambda: pointmill.read(PATH)",
}
FILE = """
PATH = os.path.join(tempfile.mkdtemp(), "a.ply")
pointmill.write(PATH, P)
"""


def ends(code, *, seconds=60, returns=0):
    ended = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True, timeout=seconds)
    assert ended.returncode == returns, ended.stderr
    return ended


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_daemon_threads_in_calls(call):
    """The process ends well whatever they do; three threads, so that one of them waits for the lock."""
    ends(f"{FILE}\nfor _ in range(3): forever({call})\nbegun.wait()\ntime.sleep(0.2)")


def test_the_exit_code_is_the_programs():
    ends(f"forever({CALLS['voxelize']})\nbegun.wait()\nsys.exit(7)", returns=7)


def test_what_is_called_at_the_end_works():
    """Callbacks of the end may call pointmill, and wait for a thread that does."""
    code = """
stop, calls = threading.Event(), []
def work():
    while not stop.is_set():
        calls.append(pointmill.voxelize(P, **GRID).num_voxels)
        begun.set()
thread = threading.Thread(target=work, daemon=True)
def last():
    stop.set()
    thread.join()
    print(pointmill.voxelize(P, **GRID).num_voxels == calls[0])
thread.start()
begun.wait()
"""
    # Registered before pointmill is imported, so that it is called after pointmill has heard of the end.
    before = "import atexit\natexit.register(lambda: last())\n"
    ended = subprocess.run(
        [sys.executable, "-c", before + START + code], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended.stderr
