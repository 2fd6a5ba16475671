"""Localization from Python: fixes, rejections, arguments."""

import copy
import pickle

import numpy as np
import pytest

import pointmill
from pointmill import _pointmill, ndt


def wall(x0, y0, x1, y1):
    t, z = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 150), np.arange(0, 4, 0.2)))
    return np.stack([x0 + t * (x1 - x0), y0 + t * (y1 - y0), z], 1)


@pytest.fixture(scope="module")
def yard():
    x, y = (grid.ravel() * 0.2 for grid in np.meshgrid(np.arange(150), np.arange(100)))
    ends = [(0, 0, 30, 0), (30, 0, 30, 20), (30, 20, 0, 20), (0, 20, 0, 0), (8, 5, 8, 11), (20, 14, 25, 14)]
    return np.concatenate([np.stack([x, y, 0 * x], 1)] + [wall(*four) for four in ends])


@pytest.fixture(scope="module")
def grid(yard):
    return ndt.Grid(yard, resolution=2.0)


def pose(x, y, yaw):
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    matrix[:3, 3] = [x, y, 1.7]
    return matrix


def seen(yard, truth):
    return (yard[::3] - truth[:3, 3]) @ truth[:3, :3]


def test_a_search_and_what_follows(yard, grid):
    truth = pose(12.3, 7.9, 0.7)
    localizer = pointmill.Localizer(grid)
    fix = localizer.push(seen(yard, truth))
    assert (fix.status, fix.rejection, fix.predicted, fix.index) == ("found", None, None, 0)
    assert np.abs(fix.map_from_sensor - truth).max() < 0.05
    assert fix.candidates.shape == (len(fix.scores), 4, 4) and (np.diff(fix.scores) <= 0).all()
    assert (fix.candidates[0] == fix.map_from_sensor).all() and 0.05 < fix.margin <= 1
    assert fix.covariance.shape == (6, 6) and fix.explained > 0.5 and fix.confirmed > 0.7 and fix.nvtl > 2.3
    near = localizer.push(seen(yard, truth).astype(np.float32), 1.0)
    assert (near.status, near.margin, near.candidates.shape) == ("tracked", None, (0, 4, 4))
    assert near.distance < 0.05 and (near.predicted == fix.map_from_sensor).all()
    assert repr(near).startswith('Fix(index=1, status="tracked", rejection=None, map_from_sensor=[')
    assert len(localizer) == 2 and repr(localizer) == "Localizer(2 scans, lost=False, on the CPU)"
    for again in (pickle.loads(pickle.dumps(fix)), copy.copy(fix)):
        assert again.status == fix.status and (again.candidates == fix.candidates).all()


def test_a_start_and_a_base(yard, grid):
    truth = pose(12.3, 7.9, 0.7)
    localizer = pointmill.Localizer(grid, covariance="multi-ndt")
    localizer.start(pose(12.9, 7.5, 0.73))
    localizer.set_base(pose(12.4, 7.9, 0.7))
    fix = localizer.push(seen(yard, truth))
    assert fix.status == "tracked" and abs(fix.distance - 0.72) < 0.1
    localizer.set_base(None)
    localizer.start(pose(400.0, 0.0, 0.0))
    lost = localizer.push(seen(yard, truth))
    assert (lost.status, lost.rejection) == ("rejected", "outside-map")
    assert (lost.map_from_sensor == pose(400.0, 0.0, 0.0)).all()


def test_of_a_map_by_blocks_what_is_near_is_loaded(yard, tmp_path):
    blocks = pointmill.ndt.BlockMap(tmp_path / "f32", resolution=2.0, block=16.0)
    blocks.add("here", yard)
    blocks.add("far", yard, pose=pose(2000.0, 0.0, 0.0))
    for block in blocks.blocks:
        blocks.merge(block)
    whole, truth = blocks.grid(), pose(12.3, 7.9, 0.7)
    assert "125_0" in blocks.blocks
    (tmp_path / "f32" / "125_0.arrow").write_text("no sums")
    for start, options in ((pose(12.9, 7.5, 0.73), {}), (None, {"region": (8.0, 4.0, 16.0, 12.0)})):
        localizers = [pointmill.Localizer(map, **options) for map in (whole, blocks)]
        for localizer in localizers if start is not None else ():
            localizer.start(start)
        fixes = [localizer.push(seen(yard, truth)) for localizer in localizers]
        assert fixes[0].status == fixes[1].status == ("found" if start is None else "tracked")
        assert (fixes[0].map_from_sensor == fixes[1].map_from_sensor).all()
    assert repr(localizers[1]) == "Localizer(1 scans, lost=False, on the CPU)"
    with pytest.raises(ValueError, match="region: expected"):
        pointmill.Localizer(blocks).push(seen(yard, truth))
    far = pointmill.Localizer(blocks)
    far.start(pose(2010.0, 8.0, 0.7))
    with pytest.raises(ValueError, match="^map: expected the sums of tile 125_0, got .*/f32/125_0.arrow: "):
        far.push(seen(yard, truth))


def test_scans_that_say_nothing(grid):
    localizer = pointmill.Localizer(grid, max_rejections=2)
    localizer.start(pose(12.0, 8.0, 0.0))
    fixes = [localizer.push(points) for points in (np.zeros((0, 3)), np.full((500, 3), np.nan))]
    assert [(fix.status, fix.rejection) for fix in fixes] == [("rejected", "too-few-points"), ("lost", "too-few-points")]
    assert fixes[1].rejections == 2 and fixes[1].nvtl is None and fixes[1].covariance is None


def test_what_is_refused(grid):
    with pytest.raises(ValueError, match="voxel_size"):
        pointmill.Localizer(grid, voxel_size=0.0)
    with pytest.raises(ValueError, match="covariance"):
        pointmill.Localizer(grid, covariance="fixed")
    with pytest.raises(ValueError, match="region"):
        pointmill.Localizer(grid, region=(1.0, 0.0, 0.0, 1.0))
    with pytest.raises(TypeError):
        pointmill.Localizer(np.zeros((5, 3)))
    localizer = pointmill.Localizer(grid)
    with pytest.raises(ValueError, match="seconds"):
        localizer.push(np.zeros((60, 3)), float("nan"))
    with pytest.raises(ValueError, match="map_from_sensor"):
        localizer.start(np.zeros((4, 4)))
    assert len(localizer) == 0


@pytest.mark.parametrize("read", [{"bounds": [0.0, 0.0, 1.0, 1.0]}, {"drop_zeros": True}])
def test_whole_scans_alone(grid, read, tmp_path):
    """A job localizes whole scans: what leaves points out is refused."""
    localizer = pointmill.Localizer(grid)
    with pytest.raises(TypeError, match=f'read: expected arguments of pointmill.read, got "{next(iter(read))}"'):
        localizer._push_inputs(tmp_path, _pointmill._InputReader(**read))
