"""Scans as operators take them, and as arrays."""

import pickle

import numpy as np
import pytest

import pointmill
from pointmill import ndt

GRID = dict(voxel_size=[1, 1, 1], point_cloud_range=[-8, -8, -8, 8, 8, 8])
NAMES = ["x", "y", "z", "intensity"]


def room(seed=0):
    """Points of a floor and two walls, with an intensity."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 6, (2, 900))
    o = np.zeros(900)
    xyz = np.concatenate([np.stack(wall, 1) for wall in ((a, b, o), (o, a, b), (a, o, b))])
    return np.concatenate([xyz, rng.uniform(0, 1, (2700, 1))], 1).astype(np.float32)


def read_of(folder, points, **more):
    path = folder / "a.ply"
    pointmill.write(path, points, names=NAMES, **more)
    return pointmill.read(path)


def same(got, want, fields):
    for name in fields.split():
        a, b = getattr(got, name), getattr(want, name)
        np.testing.assert_array_equal(a, b, err_msg=name)


def test_operators_take_a_scan(tmp_path):
    points = room()
    xyz = points[:, :3].copy()
    scan = read_of(tmp_path, points)
    same(pointmill.voxelize(scan, **GRID), pointmill.voxelize(points, **GRID), "coords num_points voxels origin")
    moved = read_of(tmp_path, points - np.float32([0.02, 0.01, 0.0, 0.0]))
    found, want = pointmill.icp(source=moved, target=scan), pointmill.icp(source=moved.points, target=points)
    same(found, want, "target_from_source status")
    same(pointmill.icp.Target(scan).align(moved), want, "target_from_source")
    assert len(pickle.loads(pickle.dumps(pointmill.icp.Target(scan)))) == len(points)
    (many,) = pointmill.icp.align_many([moved], [scan])
    same(many, want, "target_from_source")
    np.testing.assert_array_equal(pointmill.icp.normals(scan), pointmill.icp.normals(points))
    for got, wanted in zip(pointmill.icp.Searcher(scan).nearest(moved), pointmill.icp.Searcher(xyz).nearest(moved.points[:, :3])):
        np.testing.assert_array_equal(got, wanted)
    grid, plain = ndt.Grid(scan, resolution=2.0), ndt.Grid(points, resolution=2.0)
    same(grid, plain, "coords counts mean")
    same(grid.align(moved), plain.align(moved.points), "target_from_source score")
    same(grid.score(moved, [0.0] * 6), plain.score(moved.points, [0.0] * 6), "nvtl")
    one, other = ndt.Moments(2.0), ndt.Moments(2.0)
    one.add(scan)
    other.add(points)
    assert one == other
    boxes = np.array([[2, 2, 0, 4, 4, 3, 0.3], [5, 5, 0, 2, 2, 2, 0]], np.float32)
    np.testing.assert_array_equal(pointmill.points_in_boxes_part(scan, boxes), pointmill.points_in_boxes_part(points, boxes))
    features = points[:, 3:].copy()
    same(pointmill.roi_aware_pool3d(boxes, scan, features, out_size=3), pointmill.roi_aware_pool3d(boxes, points, features, out_size=3), "pooled argmax")
    fixes = [pointmill.Localizer(grid, min_range=0.0).push(sweep) for sweep in (moved, moved.points)]
    same(*fixes, "status map_from_sensor")


def test_scans_have_an_origin(tmp_path):
    """Large coordinates: what an operator takes of a scan is exact, and about the scan's origin."""
    corner = np.array([515_000.0, 4_918_000.0, 100.0])
    points = room()
    exact = points[:, :3].astype(np.float64) + corner + 0.001
    scan = read_of(tmp_path, points, xyz=exact)
    assert scan.xyz is not None and scan.origin != (0.0, 0.0, 0.0)
    origin = np.array(scan.origin)
    low = exact.min(0) - origin
    limits = [*np.floor(low), *np.floor(low) + 8]
    voxels = pointmill.voxelize(scan, voxel_size=[1, 1, 1], point_cloud_range=limits)
    same(voxels, pointmill.voxelize(scan.points, voxel_size=[1, 1, 1], point_cloud_range=limits), "coords voxels")
    assert voxels.origin == scan.origin
    # Another origin is that of the call.
    given = pointmill.voxelize(scan, origin=list(corner), **GRID)
    want = pointmill.voxelize(exact, origin=list(corner), **GRID)
    same(given, want, "coords num_points origin")
    np.testing.assert_array_equal(given.voxels[..., :3], want.voxels)
    grid = ndt.Grid(scan, resolution=2.0)
    same(grid, ndt.Grid(exact, resolution=2.0, origin=list(origin)), "coords mean origin")
    found = pointmill.icp(source=scan, target=scan)
    same(found, pointmill.icp(source=exact, target=exact), "target_from_source")
    rows, squared = pointmill.icp.Searcher(scan).nearest(scan)
    assert (squared == 0).all()
    same_rows, _ = pointmill.icp.Searcher(exact).nearest(exact)
    np.testing.assert_array_equal(rows, same_rows)
    boxes = np.array([[*(exact[0]), 2, 2, 2, 0]])
    inside = pointmill.points_in_boxes_part(scan, boxes)
    np.testing.assert_array_equal(inside, pointmill.points_in_boxes_part(exact, boxes, local_origin=list(origin)))
    assert inside[0] == 0


def test_odometry_takes_times_and_stamps():
    points = room()
    times = np.linspace(0.0, 0.1, len(points))
    start = 1.7e9
    sweep = pointmill.Scan(points, NAMES, times=times, start=start, stamp_ns=1_700_000_000_000_000_000)
    steps = [pointmill.Odometry(min_range=0.0).push(*a, **k) for a, k in (((sweep,), {}), ((points, start + times), dict(stamp_ns=sweep.stamp_ns)))]
    assert steps[0].times == steps[1].times != "none" and steps[0].time == steps[1].time == pytest.approx(start + 0.05)
    assert steps[0].stamp_ns == steps[1].stamp_ns != sweep.stamp_ns
    deskewed = pointmill.Scan(points, NAMES, times=times, start=start, stamp_ns=sweep.stamp_ns, deskewed=True)
    step = pointmill.Odometry(min_range=0.0).push(deskewed)
    assert step.times == "none" and step.stamp_ns == sweep.stamp_ns
    given = pointmill.Odometry(min_range=0.0).push(sweep, times + 7.0, stamp_ns=5)
    assert given.time == pytest.approx(7.05) and given.stamp_ns != sweep.stamp_ns


def test_scans_are_arrays(tmp_path):
    points = room()
    scan = read_of(tmp_path, points)
    assert np.asarray(scan) is scan.points and np.array(scan) is not scan.points and len(scan) == len(points)
    assert np.asarray(scan, np.float64).dtype == np.float64 and scan.__array__(copy=True) is not scan.points
    assert scan.__array__(np.float32, copy=False) is scan.points
    with pytest.raises(ValueError, match="float64 needs a copy"):
        scan.__array__(np.float64, copy=False)
    np.testing.assert_array_equal(scan["intensity"], points[:, 3])
    np.testing.assert_array_equal(scan["y"], points[:, 1])
    assert "intensity" in scan and "ring" not in scan
    with pytest.raises(KeyError, match="ring.*expected one of x, y, z, intensity"):
        scan["ring"]
    with pytest.raises(TypeError):
        scan[0]


def test_columns_are_exact(tmp_path):
    """A column that float32 does not hold is float64, in a scan of a file, of arrays and of a pickle."""
    rows = np.array([[515_000.123, 2, 3, 1_700_000_000.123], [515_001.5, 5, 6, 1_700_000_000.25]])
    made = pointmill.Scan(rows, ["x", "y", "z", "stamp"])
    pointmill.write(tmp_path / "a.ply", made)
    for scan in (made, pointmill.read(tmp_path / "a.ply"), pickle.loads(pickle.dumps(made))):
        for i, name in enumerate(scan.names):
            np.testing.assert_array_equal(scan[name], rows[:, i])
        assert scan["stamp"].dtype == scan["x"].dtype == np.float64
        np.testing.assert_array_equal(scan.xyz, rows[:, :3])
        # A column that somebody has changed is that of the points.
        scan.points[:, 3] = 7.0
        assert scan["stamp"].tolist() == [7.0, 7.0]


def test_scans_of_arrays():
    points = room()
    scan = pointmill.Scan(points)
    assert scan.names == ["x", "y", "z", "column3"] and scan.xyz is None and scan.origin == (0.0, 0.0, 0.0)
    assert scan.times is None and scan.start is None and repr(scan) == "Scan(2700 points of x, y, z, column3, array)"
    np.testing.assert_array_equal(scan.points, points)
    timed = pointmill.Scan(points, NAMES, times=np.zeros(len(points)), start=3.0)
    assert timed.start == 3.0 and len(timed.times) == len(points)
    for kind, message, call in (
        (ValueError, "points: expected an array of shape [N, C], x, y, z first, got shape [2700]", lambda: pointmill.Scan(points[:, 0])),
        (ValueError, "names: expected 4, one for each column, got 3", lambda: pointmill.Scan(points, NAMES[:3])),
        (ValueError, "times: expected 2700, one for each point, got 1", lambda: pointmill.Scan(points, times=[0.0])),
    ):
        with pytest.raises(kind) as error:
            call()
        assert message in str(error.value), str(error.value)
    empty = pointmill.Scan(points[:0], NAMES)
    assert len(empty) == 0 and pointmill.voxelize(empty, **GRID).num_voxels == 0 and empty["intensity"].shape == (0,)


def test_devices():
    cpu, *gpus = pointmill.devices()
    assert (cpu.device, cpu.kind, cpu.name, cpu.memory_bytes) == ("cpu", "cpu", None, None) and cpu.threads >= 1
    for i, gpu in enumerate(gpus):
        assert (gpu.device, gpu.kind, gpu.threads) == (f"cuda:{i}", "cuda", None)
        assert gpu.name and 0 < gpu.free_bytes <= gpu.memory_bytes
