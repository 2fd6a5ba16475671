"""Work for other processes: every operator on inputs that take several threads, and what it must answer."""

import hashlib
import os
import signal
import time
import traceback

import numpy as np

import pointmill


def _cloud(n, columns, seed):
    return np.random.default_rng(seed).uniform(-8, 8, (n, columns)).astype(np.float32)


def _boxes(n):
    rng = np.random.default_rng(3)
    parts = [rng.uniform(-6, 6, (n, 3)), rng.uniform(1, 6, (n, 3)), rng.uniform(-3, 3, (n, 1))]
    return np.concatenate(parts, 1).astype(np.float32)


def _sheet():
    x, y = (grid.ravel() * 0.04 for grid in np.meshgrid(np.arange(50), np.arange(50)))
    return np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)


def _voxelize(**more):
    grid = dict(voxel_size=[0.5] * 3, point_cloud_range=[-8] * 3 + [8] * 3, max_num_points=5)
    result = pointmill.voxelize(_cloud(40_000, 4, 0), **{**grid, **more})
    return [result.coords, result.num_points, result.mean if result.voxels is None else result.voxels]


def _pool(mode):
    scene = _boxes(40), _cloud(4000, 3, 1), _cloud(4000, 5, 2)
    result = pointmill.roi_aware_pool3d(*scene, out_size=5, mode=mode, for_gradient=True)
    gradient = result.gradient(*scene[:2], result.argmax, np.ones_like(result.pooled))
    return [result.pooled, result.point_indices, gradient]


def _grid():
    sheet = _sheet()
    room = np.concatenate([sheet + [0, 0, k * 3] for k in range(16)])
    grid = pointmill.ndt.Grid(room, resolution=0.5)
    scan = sheet[::5] + [0.02, 0.01, 0.0]
    found = grid.align(scan)
    searches = [*grid.radius_search(sheet, 0.5), *grid.neighbours(sheet, 27)]
    fit = grid.score(sheet, [0.0] * 6)
    return [grid.mean, grid.counts, found.xyzrpy, fit.nvtl, grid.point_scores(sheet), *searches]


def _icp(metric, search="auto"):
    sheet = _sheet()
    schedule = [(0.1, 1.0), (0.0, 0.5)]
    found = pointmill.icp(
        source=sheet + [0.015, -0.01, 0.005], target=sheet, metric=metric, search=search, schedule=schedule
    )
    return [found.target_from_source, found.hessian]


OPERATORS = {
    "voxelize": _voxelize,
    "voxelize_sorted": lambda: _voxelize(order="sorted", mean="float32", voxels=False),
    "voxelize_padded": lambda: _voxelize(padded=True, max_voxels=60_000),
    "pool_max": lambda: _pool("max"),
    "pool_mean": lambda: _pool("mean"),
    "part": lambda: [pointmill.points_in_boxes_part(_cloud(4000, 3, 1), _boxes(40))],
    "count": lambda: [pointmill.points_in_boxes_count(_cloud(4000, 3, 1), _boxes(40))],
    "all": lambda: pointmill.points_in_boxes_all(_cloud(4000, 3, 1), _boxes(40)),
    "crop": lambda: pointmill.points_in_boxes_crop(_cloud(4000, 3, 1), _boxes(40)),
    "two_boxes": lambda: [pointmill.points_in_boxes_part(_cloud(200, 3, 1), _boxes(2))],
    "ndt": _grid,
    "icp_small": lambda: [pointmill.icp(source=_sheet()[:10], target=_sheet()[:10]).hessian],
    "icp_point": lambda: _icp("point-to-point", "lbvh"),
    "icp_plane": lambda: _icp("point-to-plane"),
    "icp_gicp": lambda: _icp("gicp"),
}


def answer(name):
    """A digest of what one operator answers."""
    digest = hashlib.sha256()
    for array in OPERATORS[name]():
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def answers(_=None):
    """A digest of what each operator answers."""
    return {name: answer(name) for name in OPERATORS}


def answers_twice(_):
    return answers() == answers() and answers()


def threads(_=None):
    return pointmill.num_threads()


class Sweeps:
    """A data set whose items are made by pointmill."""

    def __init__(self, n=8):
        # Results in what is sent to the workers, too.
        self.first = pointmill.voxelize(_cloud(10, 4, 0), voxel_size=[1] * 3, point_cloud_range=[-8] * 3 + [8] * 3)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        assert self.first.num_voxels == len(self.first.coords)
        return {**answers(), "threads": pointmill.num_threads()}


def forked(work, seconds=120):
    """Runs work in a child by fork; an assertion if it fails there, or is not done in time. Then the child is killed, with its children."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"the child ended with status {status}"
            return
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"the child did not end in {seconds} s")
