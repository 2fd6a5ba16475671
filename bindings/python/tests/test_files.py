"""Clouds and poses in files."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import assert_bits

import pointmill

NAMED = ["ply", "pcd", "feather", "arrow", "csv"]


def cloud(n=50, columns=5):
    return np.random.default_rng(0).uniform(-40, 40, (n, columns)).astype(np.float32)


@pytest.mark.parametrize("ending", [*NAMED, "npz", "npy", "xyz"])
def test_clouds_come_back(tmp_path, ending):
    path, points = tmp_path / f"a.{ending}", cloud()
    names = ["x", "y", "z", "intensity", "ring"]
    pointmill.write(path, points, names=names)
    scan = pointmill.read(str(path))
    assert (len(scan), scan.format, scan.times) == (50, ending, None)
    assert_bits(scan.points, points)
    # Decimals of text are float64.
    assert ending in ("csv", "xyz") or (scan.warnings, scan.xyz) == ([], None)
    if ending in NAMED:
        assert scan.names == names
    # What was read is written to the same bytes.
    pointmill.write(tmp_path / "again", scan, format=ending)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_raw_rows_need_their_columns(tmp_path):
    points = cloud(columns=6)
    pointmill.write(tmp_path / "a.bin", points)
    assert_bits(pointmill.read(tmp_path / "a.bin", format="bin", columns=6).points, points)
    scan = pointmill.read(tmp_path / "a.bin", dataset="s3dis")
    assert scan.names == ["x", "y", "z", "r", "g", "b"]
    assert_bits(scan.points, points)
    ahead = np.array([[50.0, 0.0, 0.0, 0.5], [0.0, 0.0, 2.0, 0.5]], np.float32)
    pointmill.write(tmp_path / "ahead.ply", ahead, names=["x", "y", "z", "intensity"])
    angle = np.radians(0.205)
    turned = pointmill.read(tmp_path / "ahead.ply", dataset="kitti-odometry").points
    assert turned.tolist() == np.array([[50 * np.cos(angle), 0, 50 * np.sin(angle), 0.5], ahead[1]], np.float32).tolist()
    with pytest.raises(ValueError, match="^dataset: expected kitti, .*, got \"paris\""):
        pointmill.read(tmp_path / "a.bin", dataset="paris")
    with pytest.raises(ValueError, match="^columns: expected"):
        pointmill.read(tmp_path / "a.bin", columns=2)
    with pytest.raises(FileNotFoundError):
        pointmill.read(tmp_path / "none.ply")


def test_a_file_that_was_cut_is_salvaged(tmp_path):
    points = cloud()
    pointmill.write(tmp_path / "a.ply", points)
    (tmp_path / "b.ply").write_bytes((tmp_path / "a.ply").read_bytes()[:-30])
    with pytest.raises(ValueError, match="--salvage|salvage"):
        pointmill.read(tmp_path / "b.ply")
    scan = pointmill.read(tmp_path / "b.ply", salvage=True)
    assert_bits(scan.points, points[:48])
    assert len(scan.warnings) == 1 and "48" in scan.warnings[0]


def test_coordinates_and_times_keep_their_bits(tmp_path):
    xyz = np.array([[691_764.1, 5_335_880.1, 520.1], [691_765.3, 5_335_880.7, 520.2]])
    rows = np.concatenate([xyz, [[0.5], [0.6]]], 1).astype(np.float32)
    pointmill.write(tmp_path / "a.ply", rows, names=["x", "y", "z", "time"], xyz=xyz)
    scan = pointmill.read(tmp_path / "a.ply", local_origin="none")
    assert_bits(scan.xyz, xyz)
    assert scan.start == np.float32(0.5) and scan.times[0] == 0 and abs(scan.times[1] - 0.1) < 1e-6
    assert any("0.25" in warning or "moved" in warning for warning in scan.warnings), scan.warnings
    with pytest.raises(ValueError, match=r"^xyz: expected shape \[2, 3\], got shape \[1, 3\]"):
        pointmill.write(tmp_path / "b.ply", rows, xyz=xyz[:1])
    with pytest.raises(ValueError, match=r"^points: expected an array of shape \[N, C\]"):
        pointmill.write(tmp_path / "b.ply", rows[0])
    with pytest.raises(ValueError, match="expected a name ending in"):
        pointmill.write(tmp_path / "b.e57", rows)
    assert not (tmp_path / "b.ply").exists()


def test_times_do_not_follow_what_happens_to_points(tmp_path):
    path = tmp_path / "a.ply"
    columns = "".join(f"property {kind}\n" for kind in ("float x", "float y", "float z", "double time"))
    rows = "".join(f"{i} 2 3 {1e9 + i / 1000}\n" for i in range(1000))
    path.write_text(f"ply\nformat ascii 1.0\nelement vertex 1000\n{columns}end_header\n{rows}")
    scan = pointmill.read(path)
    scan.points[:] = 7
    # The first who asks works them out.
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: scan.times, range(64)))
    assert all(times is found[0] for times in found) and scan.start == 1e9
    np.testing.assert_allclose(found[0], np.arange(1000) / 1000, atol=1e-6)


@pytest.mark.parametrize("format", ["kitti", "tum", "matrix", "xyzrpy"])
def test_poses_come_back(tmp_path, format):
    yaw = 0.3
    turned = np.array([[np.cos(yaw), -np.sin(yaw), 0, 1], [np.sin(yaw), np.cos(yaw), 0, 2], [0, 0, 1, 0.5], [0, 0, 0, 1]])
    poses, times = np.stack([np.eye(4), turned]), np.array([0.0, 0.1]) if format == "tum" else None
    pointmill.write_poses(tmp_path / "p.txt", poses, times=times, format=format)
    got, found = pointmill.read_poses(tmp_path / "p.txt")
    np.testing.assert_allclose(got, poses, atol=1e-15)
    if format in ("kitti", "matrix"):
        assert_bits(got, poses)
    if times is None:
        assert found is None
    else:
        assert_bits(found, times)
    with pytest.raises(ValueError, match="^format: expected"):
        pointmill.read_poses(tmp_path / "p.txt", format="euro")
    with pytest.raises(ValueError, match="^poses: expected a"):
        pointmill.write_poses(tmp_path / "q.txt", 2 * np.eye(4)[None])


def test_coordinates_of_maps_are_relative_to_an_origin(tmp_path):
    rng = np.random.default_rng(5)
    xyz = np.round(rng.uniform([515_320, 4_918_340, -3], [515_380, 4_918_390, 6], (4000, 3)), 2)
    origin = 1000 * np.floor(xyz.min(0) / 1000)
    np.save(tmp_path / "a.npy", xyz)
    scan = pointmill.read(tmp_path / "a.npy")
    assert scan.origin == tuple(origin)
    np.testing.assert_array_equal(scan.points, (xyz - origin).astype(np.float32))
    np.testing.assert_array_equal(scan.xyz, xyz)
    whole = pointmill.read(tmp_path / "a.npy", local_origin="none")
    assert whole.origin == (0, 0, 0)
    np.testing.assert_array_equal(whole.points, xyz.astype(np.float32))
    given = pointmill.read(tmp_path / "a.npy", local_origin=[515_300, 4_918_300, 0])
    np.testing.assert_array_equal(given.points, (xyz - [515_300, 4_918_300, 0]).astype(np.float32))
    with pytest.raises(ValueError, match="local_origin"):
        pointmill.read(tmp_path / "a.npy", local_origin=[1, 2])
    pointmill.write(tmp_path / "b.npz", scan)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npz")["origin"], origin)
    np.testing.assert_array_equal(pointmill.read(tmp_path / "b.npz").xyz, xyz)


def test_operators_take_coordinates_of_maps():
    rng = np.random.default_rng(6)
    xyz = np.round(rng.uniform([515_320, 4_918_340, 3], [515_336, 4_918_356, 6], (3000, 3)), 2)
    origin = 1000 * np.floor(xyz.min(0) / 1000)
    local = xyz - origin
    found = pointmill.voxelize(
        xyz, voxel_size=[0.5] * 3, point_cloud_range=[320, 340, 3, 337, 357, 7], max_num_points=None, mean="float32",
        order="sorted", origin="auto",
    )
    assert found.origin == tuple(origin)
    cells = np.floor((local.astype(np.float32) - np.float32([320, 340, 3])) / np.float32(0.5)).astype(int)[:, ::-1]
    unique, index = np.unique(cells, axis=0, return_inverse=True)
    np.testing.assert_array_equal(found.coords, unique)
    sums = np.stack([np.bincount(index.ravel(), local[:, k]) for k in range(3)], 1)
    means = sums / np.bincount(index.ravel())[:, None]
    np.testing.assert_allclose(found.mean, means, atol=5e-4)  # sums of float32

    grid = dict(voxel_size=[0.5] * 3, point_cloud_range=[320, 340, 3, 337, 357, 7])
    for bad in ([np.nan, 0, 0], [0, 0, -np.inf]):
        for call in (
            lambda: pointmill.voxelize(xyz, **grid, origin=bad),
            lambda: pointmill.ndt.Grid(xyz, resolution=2.0, origin=bad),
            lambda: pointmill.ndt.Moments(2.0, origin=bad),
            lambda: pointmill.icp(source=xyz, target=xyz, source_origin=bad),
        ):
            with pytest.raises(ValueError, match="origin: expected three finite numbers, got"):
                call()

    grid = pointmill.ndt.Grid(xyz, resolution=2.0, min_points=6, origin=origin)
    assert grid.origin == tuple(origin)
    cells = np.floor(local / 2.0).astype(int)[:, ::-1]
    unique, index, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(index.ravel(), local[:, k]) for k in range(3)], 1)
    kept = counts >= 6
    np.testing.assert_array_equal(grid.coords[:, ::-1], unique[kept])
    np.testing.assert_allclose(grid.mean, (sums / counts[:, None])[kept], atol=2e-6)

    moved = xyz + [0.02, -0.01, 0.015]
    pose = pointmill.icp(source=moved, target=xyz).target_from_source
    np.testing.assert_allclose(moved @ pose[:3, :3].T + pose[:3, 3], xyz, atol=5e-3)


@pytest.mark.parametrize("ending", ["ply", "pcd", "npz", "feather", "arrow", "csv"])
def test_columns_of_float64_come_back(tmp_path, ending):
    stamps = 1.7e9 + np.arange(200) * 1e-4
    lines = "".join(f"1 2 3 {stamp!r}\n" for stamp in stamps.tolist())
    head = "ply\nformat ascii 1.0\nelement vertex 200\n"
    names = "".join(f"property {t} {n}\n" for t, n in [*(("float", axis) for axis in "xyz"), ("double", "timestamp")])
    source, path = tmp_path / "a.ply", tmp_path / f"b.{ending}"
    source.write_text(f"{head}{names}end_header\n{lines}")
    scan = pointmill.read(source)
    pointmill.write(path, scan)
    back = pointmill.read(path)
    assert back.names == ["x", "y", "z", "timestamp"]
    assert (back.start, back.times.tolist()) == (scan.start, scan.times.tolist())
    assert len(set(back.times.tolist())) == 200
    # Points that were changed since are written as they are.
    scan.points[:, 3] = 0.5
    pointmill.write(path, scan)
    assert set(pointmill.read(path).points[:, 3].tolist()) == {0.5}
