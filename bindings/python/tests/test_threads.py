"""Calls of several threads, calls that were interrupted, and short calls."""

import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pointmill
from pointmill import icp, ndt

RNG = np.random.default_rng(0)
SMALL = RNG.uniform(0, 1, (300, 3)).astype(np.float32)
BOXES = RNG.uniform(0, 1, (5, 7)).astype(np.float32)
GRID = dict(voxel_size=[0.1] * 3, point_cloud_range=[0, 0, 0, 1, 1, 1])

LONG = """
import os, sys, threading, time
import numpy as np, pointmill
from pointmill import icp
cloud = np.random.default_rng(0).uniform(-1, 1, (300_000, 3)).astype(np.float32)
pointmill.set_num_threads(int(sys.argv[1]))
def minutes():
    begun.set()
    icp(source=cloud, target=cloud + np.float32(0.5), search="brute", max_iterations=1000)
begun = threading.Event()
thread = threading.Thread(target=minutes, daemon=True)
thread.start()
begun.wait()
time.sleep(0.3)
pointmill.points_in_boxes_part(cloud[:10], np.zeros((1, 7), np.float32))
pointmill.voxelize(cloud, voxel_size=[0.1] * 3, point_cloud_range=[-1, -1, -1, 1, 1, 1])
icp.Searcher(cloud[:20_000]).nearest(cloud[:20_000])
assert thread.is_alive()
print("done", flush=True)
os._exit(0)
"""


class Interrupted(Exception):
    pass


def interrupted(call, after=0.3):
    """Runs a call that is interrupted by a signal; the seconds that the answer took."""

    def answer(*_):
        nonlocal sent
        sent = time.monotonic()
        raise Interrupted

    sent = None
    before = signal.signal(signal.SIGALRM, answer)
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        with pytest.raises(Interrupted):
            call()
        return time.monotonic() - start - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_do_not_wait_for_long_ones(threads):
    """Neither short nor long ones wait for a call of minutes in another thread."""
    code = [sys.executable, "-c", LONG, str(threads)]
    assert subprocess.run(code, capture_output=True, text=True, timeout=60).stdout == "done\n"


WORK = {
    "icp": lambda cloud: icp(source=cloud, target=cloud + np.float32(0.5), search="brute", max_iterations=1000),
    "nearest": lambda cloud: icp.Searcher(cloud, search="brute").nearest(cloud),
    "normals": lambda cloud: icp.Searcher(cloud, search="brute").normals(20),
    "radius": lambda cloud: ndt.Grid(cloud, resolution=0.05).radius_search(np.tile(cloud, (9, 1)), 0.4),
    "boxes": lambda cloud: pointmill.points_in_boxes_count(
        np.tile(cloud, (10, 1)), np.tile(np.array([[0, 0, -1, 2, 2, 2, 0.3]], np.float32), (60_000, 1))
    ),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_interrupted_work_ends(work):
    """Work of minutes is answered, leaves the processor alone after a moment, and leaves later calls as they were."""
    cloud = np.random.default_rng(0).uniform(-1, 1, (300_000, 3)).astype(np.float32)
    want = pointmill.voxelize(SMALL, **GRID).coords
    assert interrupted(lambda: work(cloud), after=1.0) < 5
    for _ in range(50):
        used, start = time.process_time(), time.monotonic()
        time.sleep(0.2)
        if time.process_time() - used < 0.02:
            break
    else:
        raise AssertionError("the work goes on")
    assert (pointmill.voxelize(SMALL, **GRID).coords == want).all()


def test_what_changes_is_not_left_half_changed():
    """A push that was interrupted is done to its end, as if nobody had called."""
    rng = np.random.default_rng(1)
    sweeps = [rng.uniform(-30, 30, (200_000, 3)) * [1, 1, 0.1] for _ in range(2)]
    cut, whole = pointmill.Odometry(voxel_size=0.5), pointmill.Odometry(voxel_size=0.5)
    try:
        interrupted(lambda: [cut.push(sweeps[0]), cut.push(sweeps[1])], after=0.05)
    except BaseException as error:
        if "DID NOT RAISE" not in str(error):
            raise
    done = len(cut)
    for sweep in sweeps[:done]:
        whole.push(sweep)
    assert (cut.map() == whole.map()).all()


CALLS = {
    "part": lambda: pointmill.points_in_boxes_part(SMALL, BOXES),
    "voxelize": lambda: pointmill.voxelize(SMALL, **GRID),
    "pool": lambda: pointmill.roi_aware_pool3d(BOXES, SMALL, SMALL, out_size=2),
    "searcher": lambda: icp.Searcher(SMALL).nearest(SMALL),
    "normals": lambda: icp.normals(SMALL, 8),
    "icp": lambda: icp(source=SMALL, target=SMALL, max_iterations=2),
    "grid": lambda: ndt.Grid(SMALL, resolution=0.2).point_scores(SMALL),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_short_calls_stay_in_their_thread(call):
    """They hand nothing over, which is what would take most of their time."""
    before = pointmill.num_threads()
    try:
        for threads in (1, 2):
            pointmill.set_num_threads(threads)
            call()
            switches = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
            for _ in range(100):
                call()
            assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - switches < 50
    finally:
        pointmill.set_num_threads(before)


def test_numbers_of_threads_that_no_machine_has():
    before = pointmill.num_threads()
    for wrong in (1025, 100_000, 2**31 - 1):
        with pytest.raises(ValueError, match=f"^threads: expected 1 to 1024, such as [0-9]+, .*, got {wrong}$"):
            pointmill.set_num_threads(wrong)
    assert pointmill.num_threads() == before


class Lying:
    """It says that it has more items than it has."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return 10**15

    def __getitem__(self, index):
        return self.items[index]


def test_lengths_are_not_believed():
    wanted = "^row_splits: expected at most 65837 whole numbers, got"
    for splits in (np.broadcast_to(np.int64(0), 10**12), Lying(0, 300)):
        with pytest.raises(ValueError, match=wanted):
            pointmill.voxelize(SMALL, row_splits=splits, **GRID)
    want = pointmill.voxelize(SMALL, row_splits=[0, 100, 300], **GRID).coords
    assert (pointmill.voxelize(SMALL, row_splits=iter([0, 100, 300]), **GRID).coords == want).all()
    with pytest.raises(TypeError, match="^row_splits: expected whole numbers, got"):
        pointmill.voxelize(SMALL, row_splits=[0, 1.5], **GRID)
    found = icp.align_many(Lying(SMALL), Lying(SMALL))
    assert [one.converged for one in found] == [True]
    assert pointmill.find_inputs(Lying()) == []
