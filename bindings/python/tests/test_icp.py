"""Iterative closest point against the repository's fixtures, for every library of arrays; and an answer to Ctrl-C."""

import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import assert_bits, fixture_files, to_numpy

import pointmill

METRICS = ["point-to-point", "point-to-plane", "gicp"]
KERNELS = [None, "huber", "cauchy", "geman-mcclure", "tukey"]


@pytest.mark.parametrize("file", fixture_files("icp"))
def test_fixtures(file, library):
    case = dict(np.load(file))
    limit = float(case["max_distance"][0])
    kernel = KERNELS[int(case["kernel"][0])]
    source = library(case["source"])
    found = pointmill.icp(
        source=source,
        target=library(case["target"]),
        metric=METRICS[int(case["metric"][0])],
        max_distance=None if np.isinf(limit) else limit,
        robust=None if kernel is None else (kernel, float(case["width"][0])),
        max_iterations=500,
        step_tolerance=1e-12,
    )
    assert found.converged and found.status in ("fixed", "step-below")
    np.testing.assert_allclose(to_numpy(found.target_from_source, source), case["pose"], atol=2e-7)
    assert found.num_inliers == case["pairs"][0] and abs(found.inlier_rmse - case["rmse"][0]) < 1e-7
    assert len(found.trace) >= found.iterations and found.trace[-1].pairs == found.num_inliers
    assert found.observable == [True] * 6 and to_numpy(found.covariance).shape == (6, 6)


def sheet(n=50):
    x, y = (g.ravel() * 0.04 for g in np.meshgrid(np.arange(n), np.arange(n)))
    return np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)


def test_guesses_origins_and_schedules():
    far = np.array([80_000.0, 42_000.0, 5.0])
    moved = sheet() + [0.015, -0.01, 0.005]
    found = pointmill.icp(source=moved, target=sheet(), metric="point-to-point")
    assert found.status == "fixed" and found.fitness == 1.0
    np.testing.assert_allclose(found.target_from_source[:3, 3], [-0.015, 0.01, -0.005], atol=1e-6)
    again = pointmill.icp(
        source=moved.astype(np.float32),
        target=sheet().astype(np.float32),
        source_origin=far,
        target_origin=far,
        metric="gicp",
        guess=np.eye(4),
        schedule=[(0.2, 1.0), (0, None)],
    )
    assert again.converged and {one.stage for one in again.trace} == {0, 1}
    centre = np.append(far + 1.0, 1.0)
    np.testing.assert_allclose((again.target_from_source @ centre - centre)[:3], [-0.015, 0.01, -0.005], atol=1e-3)


TUTORIAL = np.array(
    [[0.862, 0.011, -0.507, 0.5], [-0.139, 0.967, -0.215, 0.7], [0.487, 0.255, 0.835, -1.4], [0, 0, 0, 1]]
)


def test_guesses_of_three_digits():
    """A rotation of three digits is taken as the nearest one; the error of a matrix that is farther off says how far."""
    u, _, v = np.linalg.svd(TUTORIAL[:3, :3])
    exact = TUTORIAL.copy()
    exact[:3, :3] = u @ v
    assert 1e-4 < np.abs(exact - TUTORIAL).max() < 1e-3
    source = (sheet() - exact[:3, 3]) @ exact[:3, :3]
    for guess in (TUTORIAL, TUTORIAL.astype(np.float32), exact, TUTORIAL.tolist()):
        found = pointmill.icp(source=source, target=sheet(), metric="point-to-point", guess=guess)
        assert found.converged
        np.testing.assert_allclose(found.target_from_source, exact, atol=2e-6)
    # A thousand poses of single precision, one after the other.
    step, chain = exact[:3, :3].astype(np.float32), np.eye(4, dtype=np.float32)
    for _ in range(1000):
        chain[:3, :3] = chain[:3, :3] @ step
    assert pointmill.icp(source=source, target=sheet(), guess=chain, max_iterations=0).trace
    far = TUTORIAL.copy()
    far[0, 0] += 0.02
    with pytest.raises(ValueError, match=r"guess: expected a rigid transform: a rotation to 0.001, .* got an entry that is 1\.\d\de-2 off") as error:
        pointmill.icp(source=source, target=sheet(), guess=far)
    assert "remove scale and shear" in str(error.value)


def test_normals_of_the_caller(library):
    x, y = (g.ravel() * 0.04 for g in np.meshgrid(np.arange(50), np.arange(50)))
    normals = np.stack([-0.6 * np.cos(3 * x) * np.cos(2 * y), 0.4 * np.sin(3 * x) * np.sin(2 * y), np.ones_like(x)], 1)
    source, target = library(sheet() + [0.015, -0.01, 0.005]), library(sheet())
    for metric in ("point-to-plane", "gicp"):
        call = lambda rows: pointmill.icp(source=source, target=target, metric=metric, target_normals=rows)
        found = call(library(normals))
        assert found.converged
        moved = to_numpy(found.target_from_source, source)
        # As good as with normals that are made, or better: those at the rim of the sheet lean.
        np.testing.assert_allclose(moved[:3, 3], [-0.015, 0.01, -0.005], atol=1e-4)
        for other in (-3 * normals.astype(np.float32), normals.tolist()):
            np.testing.assert_allclose(to_numpy(call(other).target_from_source, source), moved, atol=1e-6)
        flat = call(np.tile([0.0, 0.0, 1.0], (2500, 1)))
        assert not np.array_equal(to_numpy(flat.target_from_source, source), moved)
    flat = pointmill.icp(source=source, target=target, target_normals=np.tile([0.0, 0.0, 1.0], (2500, 1)))
    assert flat.status == "degenerate" and sum(flat.observable) == 3
    for message, rows in (
        ("target_normals: expected 2500 rows, as the target, got 2499", normals[1:]),
        ("target_normals: expected an array of shape [N, 3], got shape [2500, 2]", normals[:, :2]),
    ):
        with pytest.raises(ValueError) as error:
            pointmill.icp(source=source, target=target, target_normals=rows)
        assert message in str(error.value)
    with pytest.raises(ValueError, match="target_normals: expected none: point-to-point does not use normals"):
        pointmill.icp(source=source, target=target, metric="point-to-point", target_normals=normals)


def test_alignments_that_fail_say_so():
    plane = np.concatenate([sheet()[:, :2], np.zeros((2500, 1))], 1)
    found = pointmill.icp(source=plane + [0.01, 0, 0.1], target=plane)
    assert found.status == "degenerate" and not found.converged and found.covariance is None
    assert sum(found.observable) == 3
    found = pointmill.icp(source=np.zeros((0, 3)), target=plane)
    assert found.status == "no-pairs" and np.isfinite(found.target_from_source).all()
    nan = plane.copy()
    nan[:10] = np.nan
    assert pointmill.icp(source=nan, target=plane).source_dropped == (10, 0)


def test_errors():
    cloud = sheet()
    call = lambda **more: pointmill.icp(**{"source": cloud, "target": cloud, **more})
    for kind, message, more in (
        (TypeError, "source: expected values of type float32 or float64, got bool", {"source": cloud.astype(bool)}),
        (ValueError, "target: expected an array of shape [N, 3]", {"target": cloud[0]}),
        (ValueError, "target: expected 3 or more columns", {"target": cloud[:, :2].copy()}),
        (ValueError, 'metric: expected point-to-point, point-to-plane or gicp, got "plane"', {"metric": "plane"}),
        (ValueError, 'search: expected auto, brute, kdtree or lbvh', {"search": "octree"}),
        (TypeError, 'robust: expected None or a pair of "huber"', {"robust": 1.0}),
        (ValueError, 'robust: expected None or a pair of "huber"', {"robust": ("l1", 1.0)}),
        (ValueError, "robust: expected a finite width > 0 m, got 0", {"robust": ("huber", 0.0)}),
        (TypeError, "schedule: expected pairs", {"schedule": 3}),
        (ValueError, "voxel_size: expected a finite size >= 0 m", {"schedule": [(-1.0, None)]}),
        (ValueError, "neighbours: expected 3 to 32, got 2", {"neighbours": 2}),
        (ValueError, "guess: expected a rigid transform of shape [4, 4]", {"guess": np.eye(3)}),
        (ValueError, "guess: expected a rigid transform", {"guess": 2 * np.eye(4)}),
        (ValueError, "source_origin: expected 3 numbers", {"source_origin": [1]}),
        (ValueError, "max_iterations: expected a whole number", {"max_iterations": -1}),
    ):
        with pytest.raises(kind) as error:
            call(**more)
        assert message in str(error.value), str(error.value)


def test_targets(library):
    """A target that is kept aligns each source as a call does, from the guess of the call."""
    target = library(sheet())
    for metric in METRICS:
        kept = pointmill.icp.Target(target, metric=metric, max_distance=0.5)
        assert len(kept) == 2500 and metric in repr(kept)
        pose = np.eye(4)
        for step in range(3):
            source = library(sheet() + [0.01 * step, -0.01, 0.005])
            found = kept.align(source, pose)
            want = pointmill.icp(source=source, target=target, metric=metric, max_distance=0.5, guess=pose)
            for name in ("target_from_source", "hessian", "covariance", "eigenvalues", "pivot"):
                assert_bits(to_numpy(getattr(found, name), source), to_numpy(getattr(want, name), source), name)
            assert (found.status, found.iterations, found.fitness) == (want.status, want.iterations, want.fitness)
            pose = to_numpy(found.target_from_source, source)
            np.testing.assert_allclose(pose[:3, 3], [-0.01 * step, 0.01, -0.005], atol=1e-4)
    up = np.tile([0.0, 0.0, 1.0], (2500, 1))
    assert pointmill.icp.Target(target, normals=up).align(target).status == "degenerate"
    for message, call in (
        ("points: expected 3 or more columns", lambda: pointmill.icp.Target(sheet()[:, :2].copy())),
        ("normals: expected 2500 rows", lambda: pointmill.icp.Target(target, normals=up[1:])),
        ("neighbours: expected 3 to 32, got 2", lambda: pointmill.icp.Target(target, neighbours=2)),
        ("guess: expected a rigid transform", lambda: pointmill.icp.Target(target).align(target, np.eye(3))),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert message in str(error.value), str(error.value)


def test_searchers(library):
    rng = np.random.default_rng(3)
    points, queries = rng.uniform(-1, 1, (400, 4)).astype(np.float32), rng.uniform(-1, 1, (50, 3)).astype(np.float32)
    squared = ((queries[:, None].astype(np.float64) - points[None, :, :3]) ** 2).sum(2)
    order = squared.argsort(1)
    for search in ("auto", "brute", "kdtree", "lbvh"):
        searcher = pointmill.icp.Searcher(library(points), search=search)
        assert len(searcher) == 400 and searcher.search == (search if search != "auto" else "kdtree")
        rows, distances = (to_numpy(a, library(points)) for a in searcher.nearest(library(queries)))
        assert rows.dtype == np.int64 and distances.dtype == np.float32
        np.testing.assert_array_equal(rows, order[:, 0])
        np.testing.assert_allclose(distances, squared.min(1), rtol=1e-4)
        rows, distances = (to_numpy(a, library(points)) for a in searcher.neighbours(queries, 5))
        np.testing.assert_array_equal(rows, order[:, :5])
        # Within a radius there are fewer.
        rows, distances = (to_numpy(a, library(points)) for a in searcher.neighbours(queries, 32, 0.2))
        np.testing.assert_array_equal((rows >= 0).sum(1), (squared <= 0.04).sum(1))
        assert (np.isinf(distances) == (rows < 0)).all()
        rows, distances = (to_numpy(a) for a in searcher.nearest([[9.0, 9.0, 9.0]], 1.0))
        assert rows.tolist() == [-1] and np.isinf(distances).all()
    flat = library(np.stack([*(g.ravel() for g in np.meshgrid(np.arange(9.0), np.arange(9.0))), np.zeros(81)], 1).astype(np.float32))
    for found in (pointmill.icp.normals(flat, 9), pointmill.icp.Searcher(flat).normals(9)):
        np.testing.assert_array_equal(np.abs(to_numpy(found, flat)), np.tile(np.float32([0, 0, 1]), (81, 1)))
    for kind, message, call in (
        (ValueError, "k: expected 1 to 65536, got 0", lambda: searcher.neighbours(queries, 0)),
        (ValueError, "k: expected 1 to 32, got 33", lambda: searcher.normals(33)),
        (ValueError, "radius: expected 0 m or more, got -1", lambda: searcher.radius_search(queries, -1.0)),
        (ValueError, "max_results: expected a whole number from 1", lambda: searcher.radius_search(queries, 1.0, 0)),
        (ValueError, "max_distance: expected 0 m or more", lambda: searcher.nearest(queries, -1.0)),
        (ValueError, "queries: expected an array of shape [N, 3]", lambda: searcher.nearest(queries[0])),
        (TypeError, "points: expected values of type float32 or float64, got bool; pass points.astype(numpy.float32)", lambda: pointmill.icp.Searcher(sheet().astype(bool))),
        (ValueError, 'search: expected auto, brute, kdtree or lbvh', lambda: pointmill.icp.Searcher(points, search="octree")),
    ):
        with pytest.raises(kind) as error:
            call()
        assert message in str(error.value), str(error.value)


def brute_lists(points, queries, radius, most=None):
    """Within a radius as numpy finds them, in the arithmetic of the search: float32, each operation rounded once."""
    splits, rows, squares = [0], [], []
    limit = np.float32(np.float64(radius) * radius)
    with np.errstate(all="ignore"):
        for query in queries:
            d = query - points
            square = (d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1]) + d[:, 2] * d[:, 2]
            found = np.flatnonzero(square <= limit)
            found = found[np.lexsort((found, square[found]))][:most]
            rows.extend(found)
            squares.extend(square[found])
            splits.append(len(rows))
    return np.array(splits, np.int64), np.array(rows, np.int64), np.array(squares, np.float32)


def test_radius_searches(library):
    rng = np.random.default_rng(8)
    lattice = np.stack(np.meshgrid(*[np.arange(6) * 0.5] * 3), -1).reshape(-1, 3)
    points = np.concatenate([rng.uniform(-1, 3, (600, 3)), lattice, lattice, [[np.nan, 0, 0], [np.inf] * 3]]).astype(np.float32)
    queries = np.concatenate([points[::23], [[np.nan] * 3, [50, 0, 0]]]).astype(np.float32)
    for search in ("brute", "kdtree", "lbvh"):
        searcher = pointmill.icp.Searcher(library(points), search=search)
        # The lattice has many pairs at exactly the radius.
        for radius, most in ((0.5, None), (0.0, None), (1.2, 7), (1.2, 100), (1e9, None)):
            found = [to_numpy(a, library(points)) for a in searcher.radius_search(library(queries), radius, most)]
            for got, want in zip(found, brute_lists(points, queries, radius, most)):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
    none = pointmill.icp.Searcher(points[:0]).radius_search(queries, 1.0)
    assert none[0].tolist() == [0] * (len(queries) + 1) and len(none[1]) == len(none[2]) == 0
    assert [len(to_numpy(a)) for a in searcher.radius_search(queries[:0], 1.0)] == [1, 0, 0]


def test_many_neighbours():
    rng = np.random.default_rng(9)
    points = rng.uniform(-1, 1, (3000, 3)).astype(np.float32)
    searcher = pointmill.icp.Searcher(points)
    for k in (33, 1024, 4000):
        rows, squared = searcher.neighbours(points[:20], k)
        splits, want, squares = brute_lists(points, points[:20], 1e9, k)
        there = min(k, len(points))
        np.testing.assert_array_equal(rows[:, :there].ravel(), want)
        np.testing.assert_array_equal(squared[:, :there].ravel(), squares)
        assert (rows[:, there:] == -1).all() and np.isinf(squared[:, there:]).all()


def test_searches_of_float64(library):
    """Far from zero float64 keeps its bits: neighbours and normals are those near zero, and those that a target would see."""
    rng = np.random.default_rng(10)
    local = rng.uniform(-20, 20, (500, 3)).astype(np.float32)
    origin = np.array([4_500_000.0, 600_000.0, 100.0])
    far = local.astype(np.float64) + origin
    near, exact = pointmill.icp.Searcher(local), pointmill.icp.Searcher(library(far))
    rows, squared = (to_numpy(a) for a in exact.neighbours(far, 10))
    want, squares = near.neighbours(local, 10)
    assert (rows == want).mean() > 0.99
    np.testing.assert_allclose(squared, squares, rtol=1e-4, atol=1e-9)
    # Float32 about an origin is searched about that; of queries the last bits are those of float64 far from zero.
    rows, squared = pointmill.icp.Searcher(local, origin=origin).neighbours(far, 10)
    np.testing.assert_array_equal(rows, want)
    np.testing.assert_allclose(squared, squares, rtol=1e-6, atol=1e-12)
    # In float32 the points lie on a lattice of half a metre.
    coarse, _ = pointmill.icp.Searcher(far.astype(np.float32)).neighbours(far, 10)
    assert (coarse == want).mean() < 0.9
    bowl = np.stack([local[:, 0], local[:, 1], 0.01 * local[:, 0] ** 2], 1).astype(np.float64)
    normals, there = pointmill.icp.normals(bowl.astype(np.float32), 12), to_numpy(pointmill.icp.normals(library(bowl + origin), 12))
    assert (np.abs((normals * there).sum(1)) > 0.99).mean() > 0.98
    again = pickle.loads(pickle.dumps(exact)) if library(local) is not None and isinstance(library(local), np.ndarray) else exact
    for got, wanted in zip(again.neighbours(far, 10), exact.neighbours(far, 10)):
        np.testing.assert_array_equal(to_numpy(got), to_numpy(wanted))


def test_module_is_a_function():
    """``pointmill.icp`` is a module that can be called, under both ways to import it."""
    import inspect

    from pointmill.icp import Target

    assert Target is pointmill.icp.Target and callable(pointmill.icp)
    assert list(inspect.signature(pointmill.icp).parameters)[:3] == ["source", "target", "guess"]
    assert pointmill.icp(sheet(), sheet()).converged
    with pytest.raises(TypeError, match="3 positional arguments|from 0 to 2|2 positional"):
        pointmill.icp(sheet(), sheet(), np.eye(4))


SCRIPT = """
import numpy as np, pointmill, signal, time
# Shells start what runs in the background with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
a, b = rng.uniform(-1, 1, (150_000, 3)), rng.uniform(-1, 1, (150_000, 3))
print("ready", flush=True)
try:
    pointmill.icp(source=a, target=b, search="brute", max_iterations=1000)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
    import os
    os._exit(0)
"""


def test_interrupt():
    """Ctrl-C during a call that would take minutes is answered within a second."""
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(60.0, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        answer = process.stdout.readline().split()
        assert answer and answer[0] == "interrupted", "no answer within a minute"
        assert float(answer[1]) - sent < 1.0
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
