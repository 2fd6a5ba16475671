"""Downsampling, for every library of arrays, against voxelization."""

import pickle
import struct

import numpy as np
import pytest
from conftest import assert_bits, to_numpy

import pointmill


def cloud(columns=4):
    return np.random.default_rng(5).uniform(-8, 8, (3000, columns)).astype(np.float32)


def test_means_are_those_of_voxelize(library):
    points = cloud()
    thin = to_numpy(pointmill.downsample(library(points), 2.0), library(points))
    wanted = pointmill.voxelize(
        points, voxel_size=[2] * 3, point_cloud_range=[-8, -8, -8, 8, 8, 8], max_num_points=None, mean="float32"
    )
    assert_bits(thin, wanted.mean, "points")


def test_points_that_are_kept_are_points(library):
    points = cloud(3)
    points[7, 1] = np.nan
    rows = {row.tobytes(): i for i, row in enumerate(points)}
    cells = np.floor(points / np.float32([2, 4, 2]))
    for keep in ["first", "centre", "random"]:
        given = library(points)
        thin = to_numpy(pointmill.downsample(given, [2, 4, 2], keep=keep, seed=3), given)
        kept = [rows[row.tobytes()] for row in np.ascontiguousarray(thin)]
        finite = np.delete(cells, 7, 0)
        assert len(kept) == len(np.unique(finite, axis=0)) == len(np.unique(cells[kept], axis=0)), keep
        if keep == "first":
            firsts = np.unique(finite, axis=0, return_index=True)[1]
            assert kept == sorted(i + (i >= 7) for i in firsts)
    draws = [pointmill.downsample(points, 4, "random", seed).tobytes() for seed in (0, 0, 1, 2**64 - 1)]
    assert draws[0] == draws[1] and len(set(draws)) == 3


def test_scans_and_float64_are_about_an_origin():
    points = np.array([[691_764.25, 5_335_880.25, 0.5], [691_764.75, 5_335_880.75, 0.5]])
    scan = pointmill.Scan(points)
    thin = pointmill.downsample(scan, 1.0)
    assert isinstance(thin, pointmill.Scan) and thin.origin == scan.origin
    assert (np.asarray(thin) + scan.origin).tolist() == [[691_764.5, 5_335_880.5, 0.5]]
    assert pointmill.downsample(points, 1.0, origin=scan.origin).tolist() == np.asarray(thin).tolist()
    assert pointmill.downsample(np.zeros((0, 3), np.float32), 1.0).shape == (0, 3)


def survey_file(path, points=200):
    """A LAS file of version 1.4 with steps of 0.01 m, classes, and a record about its system."""
    wkt = b'PROJCS["UTM 32N"]\0'
    head = bytearray(375 + 54 + len(wkt))

    def put(at, layout, *values):
        struct.pack_into("<" + layout, head, at, *values)

    put(0, "4s2xH", b"LASF", 0x10)
    put(24, "BB", 1, 4)
    put(94, "HIIBH", 375, len(head), 1, 6, 30)
    put(131, "6d", 0.01, 0.01, 0.01, 600_000.0, 5_300_000.0, 0.0)
    put(247, "Q", points)
    put(377, "16sHH", b"LASF_Projection", 2112, len(wkt))
    head[429:] = wkt
    for i in range(points):
        xyz = [100 * (i % 20), 100 * (i // 20), i]
        head += struct.pack("<3iHBBBBhHd", *xyz, i, 0x11, 0, [2, 9][i % 2], 0, 0, 7, 0.5 * i)
    path.write_bytes(head)


def test_scans_keep_names_classes_times_and_system(tmp_path):
    survey, again = tmp_path / "survey.las", tmp_path / "again.las"
    survey_file(survey)
    scan = pointmill.read(survey)
    assert scan.crs == "UTM 32N"
    pointmill.write(again, pickle.loads(pickle.dumps(scan)))
    back = pointmill.read(again)
    assert back.crs == scan.crs and back.names == scan.names
    assert survey.read_bytes()[131:179] == again.read_bytes()[131:179], "scale and offset"
    with pytest.warns(UserWarning, match="the coordinate reference system UTM 32N"):
        pointmill.write(tmp_path / "a.pcd", scan)
    pointmill.write(tmp_path / "a.ply", scan)
    assert (tmp_path / "a.prj").read_text().startswith("PROJCS[") and pointmill.read(tmp_path / "a.ply").crs == "UTM 32N"
    for keep in ["mean", "first"]:
        thin = pointmill.downsample(scan, 5.0, keep=keep)
        assert (thin.names, thin.crs, thin.origin, thin.format) == (scan.names, scan.crs, scan.origin, scan.format)
        assert 0 < len(thin) < len(scan)
        assert set(thin["classification"].tolist()) <= set(scan["classification"].tolist())
    made = pointmill.Scan(np.zeros((4, 3)), times=[0.0, 1.0, 2.0, 5.0], start=7.0, stamp_ns=5)
    thin = pointmill.downsample(made, 1.0)
    assert (thin.times.tolist(), thin.start, thin.stamp_ns) == ([2.0], 7.0, 5)


def test_what_a_format_does_not_keep_is_a_warning(tmp_path):
    ids = np.array([2**63 + 5, 7, 2**64 - 1], np.uint64)
    header = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z id\nSIZE 4 4 4 8\nTYPE F F F U\nCOUNT 1 1 1 1\n"
        "WIDTH 3\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA ascii\n"
    )
    (tmp_path / "a.pcd").write_text(header + "".join(f"{i} 0 0 {v}\n" for i, v in enumerate(ids)))
    scan = pointmill.read(tmp_path / "a.pcd")
    assert scan["id"].dtype == np.uint64 and scan["id"].tolist() == ids.tolist()
    pointmill.write(tmp_path / "b.feather", scan)
    assert pointmill.read(tmp_path / "b.feather")["id"].tolist() == ids.tolist()
    with pytest.warns(UserWarning, match="`id` is rounded to float64"):
        pointmill.write(tmp_path / "b.ply", scan)


def test_arguments_that_are_none():
    points = cloud()
    for error, match, call in [
        (ValueError, "^voxel_size", lambda: pointmill.downsample(points, 0)),
        (ValueError, "^voxel_size", lambda: pointmill.downsample(points, [1, 2])),
        (ValueError, "^voxel_size: expected .* or more", lambda: pointmill.downsample(points, 1e-9)),
        (ValueError, "^keep", lambda: pointmill.downsample(points, 1, keep="middle")),
        (ValueError, "^seed: expected a whole number", lambda: pointmill.downsample(points, 1, seed=-1)),
        (ValueError, "^points: expected 3 to 64 columns", lambda: pointmill.downsample(points[:, :2], 1)),
        (ValueError, "^points.*origin='auto'", lambda: pointmill.downsample(points.astype(np.float64) + 7e6 + 0.3, 1)),
    ]:
        with pytest.raises(error, match=match):
            call()
