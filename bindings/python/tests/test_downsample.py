"""Downsampling, for every library of arrays, against voxelization."""

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
    assert (thin + scan.origin).tolist() == [[691_764.5, 5_335_880.5, 0.5]]
    assert pointmill.downsample(points, 1.0, origin=scan.origin).tolist() == thin.tolist()
    assert pointmill.downsample(np.zeros((0, 3), np.float32), 1.0).shape == (0, 3)


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
