"""Grids of normal distributions against the repository's fixtures, for every library of arrays."""

import inspect

import numpy as np
import pytest
from conftest import assert_bits, fixture_files, to_numpy

from pointmill import ndt

MODELS = ["unbiased", "autoware", "population"]


def full(six):
    return six[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)


def grid_of(case, library):
    return ndt.Grid(
        library(case["points"]),
        resolution=float(case["resolution"][0]),
        covariance=MODELS[int(case["covariance_model"][0])],
        min_points=int(case["min_points"][0]),
        eigen_ratio=float(case["eigen_ratio"][0]),
        origin=case["origin"] if "origin" in case else None,
    )


@pytest.mark.parametrize("file", fixture_files("ndt"))
def test_fixtures(file, library):
    case = dict(np.load(file))
    if file.stem.startswith("score") or any(name in case for name in ("splits", "repeat", "minus")):
        pytest.skip("a scan, or a map of several parts")
    if case["error"][0]:
        with pytest.raises(ValueError, match="^points: expected "):
            grid_of(case, library)
        return
    grid = grid_of(case, library)
    get = lambda array: to_numpy(array, library(case["points"]))
    assert len(grid) == len(case["coords"])
    assert_bits(get(grid.coords), case["coords"], "coords")
    assert_bits(get(grid.counts), case["counts"].astype(np.int64), "counts")
    assert grid.report.points == case["accumulated"][0] and grid.report.non_finite == case["accumulated"][1]
    close = dict(rtol=1e-9, atol=1e-9 * max(1.0, float(case["resolution"][0])))
    np.testing.assert_allclose(get(grid.mean), case["mean"], **close)
    np.testing.assert_allclose(get(grid.covariance), full(case["covariance"]), **close)
    np.testing.assert_allclose(get(grid.eigenvalues), case["eigenvalues"], **close)
    inverse = full(case["inverse"])
    scale = np.abs(inverse).max(initial=1.0)
    np.testing.assert_allclose(get(grid.inverse_covariance), inverse, rtol=1e-6, atol=1e-9 * scale)
    valid = case["normal_valid"].astype(bool)
    np.testing.assert_allclose(get(grid.normal)[valid], case["normal"][valid], atol=1e-6)


def room(n=60):
    a, b = (grid.ravel() * 0.1 + 0.05 for grid in np.meshgrid(np.arange(n), np.arange(n)))
    o = np.zeros_like(a)
    return np.concatenate([np.stack(wall, 1) for wall in ((a, b, o), (o, a, b), (a, o, b))])


def matrix(pose):
    """Rx Ry Rz and the translation of a pose."""
    x, y, z, roll, pitch, yaw = pose
    c, s = np.cos, np.sin
    rx = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    ry = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    rz = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = rx @ ry @ rz, [x, y, z]
    return m


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_align(library, dtype):
    points = library(room().astype(dtype))
    grid = ndt.Grid(points, resolution=1.0)
    scan = library(room()[::7].astype(dtype))
    guess = np.array([0.2, -0.15, 0.1, 0.0, 0.0, 0.03])
    found = grid.align(scan, guess)
    assert found.converged and found.status == "step-below" and found.iterations > 0 and found.hits == len(room()[::7])
    pose, transform = to_numpy(found.xyzrpy, scan), to_numpy(found.target_from_source, scan)
    assert np.abs(pose).max() < 0.02
    np.testing.assert_allclose(transform, matrix(pose), atol=1e-12)
    assert to_numpy(found.hessian, scan).shape == (6, 6) == to_numpy(found.covariance, scan).shape
    # The same guess as a transform, and several at once.
    by_matrix = grid.align(scan, matrix(guess))
    np.testing.assert_allclose(to_numpy(by_matrix.xyzrpy), pose, atol=1e-9)
    several = grid.align(scan, np.stack([guess, np.zeros(6)]))
    assert isinstance(several, list) and len(several) == 2
    assert_bits(to_numpy(several[0].xyzrpy), pose)
    assert np.abs(to_numpy(grid.align(scan).xyzrpy)).max() < 0.02
    fit = grid.score(scan, np.stack([guess, pose]))
    nvtl = to_numpy(fit.nvtl, scan)
    assert nvtl[1] > nvtl[0] and nvtl[1] == found.nvtl
    assert to_numpy(fit.score)[1] == found.score and to_numpy(fit.hits)[1] == found.hits
    scores = to_numpy(grid.point_scores(scan, pose), scan)
    assert scores.shape == (len(room()[::7]), 2)
    assert np.isclose(scores[:, 0].sum(), found.score)
    assert np.isclose(scores[:, 1].sum() / found.hits, found.nvtl)


def test_alignments_that_fail_say_so():
    grid = ndt.Grid(room(), resolution=1.0)
    far = grid.align(room() + 1000.0)
    assert not far.converged and far.status == "no-pairs" and far.hits == 0
    assert grid.align(room(), max_iterations=1, epsilon=1e-9).status == "max-iterations"
    empty = ndt.Grid(np.zeros((0, 3)), resolution=1.0)
    assert len(empty) == 0 and empty.align(room()).status == "no-pairs" and empty.mean.shape == (0, 3)


def test_searches(library):
    points = room()
    grid = ndt.Grid(library(points), resolution=1.0)
    queries = library(points[::100])
    splits, rows, squared = (to_numpy(a, queries) for a in grid.radius_search(queries, 1.0))
    mean = to_numpy(grid.mean)
    for k, query in enumerate(points[::100]):
        distances = ((mean - query) ** 2).sum(1)
        near = rows[splits[k] : splits[k + 1]]
        assert sorted(near) == np.flatnonzero(distances < 1.0).tolist()
        np.testing.assert_allclose(squared[splits[k] : splits[k + 1]], distances[near])
    splits, rows = (to_numpy(a, queries) for a in grid.neighbours(queries, 27))
    coords = to_numpy(grid.coords)
    for k, query in enumerate(points[::100]):
        around = np.abs(coords - np.floor(query)).max(1) <= 1
        assert rows[splits[k] : splits[k + 1]].tolist() == np.flatnonzero(around).tolist()


def test_guesses_of_three_digits():
    """A rotation of three digits is taken as the nearest one, alone and among others."""
    points = room()
    grid = ndt.Grid(points, resolution=1.0)
    angle = 0.02
    exact = np.eye(4)
    exact[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    rounded = exact.round(3)
    # The nearest rotation turns by nearly the same angle.
    nearest = np.arctan2(rounded[1, 0], rounded[0, 0])
    assert 1e-6 < abs(rounded[0] @ rounded[0] - 1) < 1e-3
    want = grid.score(points, [0, 0, 0, 0, 0, nearest])
    for got in (grid.score(points, rounded), grid.score(points, np.stack([rounded, exact]))):
        np.testing.assert_allclose(np.atleast_1d(got.score)[0], want.score, rtol=1e-12)


def test_defaults():
    """What the signature says is what the library does, and what the command does without flags."""
    shown = inspect.signature(ndt.Grid).parameters
    shown = {name: shown[name].default for name in ("covariance", "min_points", "eigen_ratio")}
    assert shown == {"covariance": "autoware", "min_points": 6, "eigen_ratio": 0.01}
    points = room()
    grid = ndt.Grid(points, resolution=1.0)
    assert_bits(to_numpy(grid.covariance), to_numpy(ndt.Grid(points, resolution=1.0, **shown).covariance), "covariance")
    unbiased = ndt.Grid(points, resolution=1.0, covariance="unbiased")
    assert not np.array_equal(to_numpy(grid.covariance), to_numpy(unbiased.covariance))


def test_moments_and_files(library, tmp_path):
    """Parts add up to the whole, can be taken away, and come back from files; so do grids."""
    points = room()
    points[5] = np.nan
    whole = ndt.Moments(1.0)
    whole.add(library(points))
    parts = ndt.Moments(1.0)
    for part in np.array_split(points, 3):
        one = ndt.Moments(1.0)
        one.add(library(part.copy()))
        parts.merge(one)
    assert parts == whole and (whole.points, whole.non_finite, whole.resolution) == (len(points), 1, 1.0)
    assert repr(whole) == f"Moments({len(points)} points in {len(whole)} cells of 1 m)"
    grid = ndt.Grid(library(points), resolution=1.0)
    made = whole.grid(like=library(points))
    for name in ("coords", "mean", "covariance", "inverse_covariance", "counts", "eigenvalues", "normal"):
        assert type(getattr(made, name)) is type(getattr(grid, name))
        assert_bits(to_numpy(getattr(made, name), library(points)), to_numpy(getattr(grid, name), library(points)), name)
    assert made.report == grid.report
    whole.save(tmp_path / "map.arrow")
    again = ndt.Moments.load(str(tmp_path / "map.arrow"))
    assert again == whole
    again.subtract(one)
    assert again != whole
    again.merge(one)
    assert again == whole
    with pytest.raises(ValueError, match="part: expected"):
        one.subtract(whole)
    with pytest.raises(ValueError, match="resolution: expected"):
        whole.merge(ndt.Moments(2.0))
    with pytest.raises(ValueError, match="resolution: expected"):
        ndt.Moments(0.0)
    grid.save(tmp_path / "map.npz")
    back = ndt.Grid.load(tmp_path / "map.npz", like=library(points))
    assert back.report == grid.report and back.resolution == grid.resolution
    for name in ("coords", "mean", "covariance", "inverse_covariance"):
        assert_bits(to_numpy(getattr(back, name), library(points)), to_numpy(getattr(grid, name), library(points)), name)
    scan = library(points[::7].copy())
    assert_bits(to_numpy(back.align(scan).xyzrpy, scan), to_numpy(grid.align(scan).xyzrpy, scan), "pose")
    assert isinstance(ndt.Grid.load(tmp_path / "map.npz").mean, np.ndarray)
    with pytest.raises(FileNotFoundError, match="no.npz"):
        ndt.Grid.load(tmp_path / "no.npz")
    with pytest.raises(ValueError, match="map.arrow"):
        ndt.Grid.load(tmp_path / "map.arrow")
    with pytest.raises(ValueError, match="map.npz"):
        ndt.Moments.load(tmp_path / "map.npz")


def test_errors():
    points = room()
    grid = ndt.Grid(points, resolution=1.0)
    for kind, message, call in (
        (TypeError, "points: expected values of type float32 or float64, got bool", lambda: ndt.Grid(points.astype(bool), resolution=1.0)),
        (ValueError, "points: expected an array of shape [N, 3]", lambda: ndt.Grid(points[0], resolution=1.0)),
        (ValueError, "points: expected 3 or more columns", lambda: ndt.Grid(points[:, :2].copy(), resolution=1.0)),
        (ValueError, "resolution: expected", lambda: ndt.Grid(points, resolution=0.0)),
        (ValueError, "min_points: expected a whole number from 1", lambda: ndt.Grid(points, resolution=1.0, min_points=0)),
        (ValueError, "eigen_ratio: expected 0 or more, below 1, got 1", lambda: ndt.Grid(points, resolution=1.0, eigen_ratio=1.0)),
        (ValueError, 'covariance: expected unbiased, autoware or population, got "x"', lambda: ndt.Grid(points, resolution=1.0, covariance="x")),
        (ValueError, "origin: expected 3 numbers", lambda: ndt.Grid(points, resolution=1.0, origin=[0, 0])),
        (ValueError, "guess: expected poses of shape [6] or [P, 6]", lambda: grid.align(points, [1, 2, 3])),
        (TypeError, "guess: expected poses of shape", lambda: grid.align(points, "pose")),
        (ValueError, "guess: expected a rigid transform: a rotation to 0.001", lambda: grid.align(points, 2 * np.eye(4))),
        (ValueError, "got a mirroring", lambda: grid.align(points, np.diag([1.0, 1.0, -1.0, 1.0]))),
        (ValueError, "pose: expected one pose, got 2", lambda: grid.point_scores(points, np.zeros((2, 6)))),
        (ValueError, "poses: expected finite numbers, got NaN as number 0", lambda: grid.score(points, [np.nan] * 6)),
        (ValueError, "step_size: expected a finite number > 0", lambda: grid.align(points, step_size=0.0)),
        (ValueError, "radius: expected a finite radius > 0 m", lambda: grid.radius_search(points, -1.0)),
        (ValueError, "cells: expected 1 or 7 or 27, got 6", lambda: grid.neighbours(points, 6)),
    ):
        with pytest.raises(kind) as error:
            call()
        assert message in str(error.value), str(error.value)
