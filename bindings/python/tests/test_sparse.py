"""The front end of sparse detectors, against the numpy programs in fixtures/."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from pointmill import sparse

FIXTURES = Path(__file__).parents[3] / "fixtures"
KINDS = ["submanifold", "strided", "inverse", "transposed"]
STAGE = ["cluster", "indptr", "indices", "head", "grid_coord", "batch", "codes", "order", "inverse"]


def libraries():
    """What makes an array of each library that is here."""
    yield np.asarray
    try:
        import torch
    except ImportError:
        return
    yield torch.from_numpy


@pytest.mark.parametrize("of", list(libraries()))
@pytest.mark.parametrize("name", ["few", "deep", "shallow"])
def test_orders_and_larger_cells_are_those_of_numpy(name, of):
    case = np.load(FIXTURES / f"sparse/{name}.npz")
    coords, batch, depth = of(case["coords"]), of(case["batch"]), int(case["depth"])
    cells, stages = sparse.pool_hierarchy(coords, batch, strides=case["strides"], items=int(case["items"]), depth=depth)
    alone = sparse.serialize(coords, batch, items=int(case["items"]), depth=depth)
    assert type(cells.codes) is type(coords) and len(stages) == len(case["strides"])
    for key in ("codes", "order", "inverse"):
        assert np.array_equal(np.asarray(getattr(cells, key)), case[key].astype(np.int64))
        assert np.array_equal(np.asarray(getattr(alone, key)), case[key].astype(np.int64))
    for i, stage in enumerate(stages):
        for key in STAGE:
            assert np.array_equal(np.asarray(getattr(stage, key)), case[f"{key}_{i}"].astype(np.int64)), key


@pytest.mark.parametrize("of", list(libraries()))
@pytest.mark.parametrize("path", sorted((FIXTURES / "sparse_pairs").glob("*.npz")), ids=lambda path: path.stem)
def test_pairs_are_those_of_numpy(path, of):
    case = np.load(path)
    params = {key: case[key].tolist() for key in ("kernel", "stride", "padding", "dilation")}
    if "fine" in case:
        params |= {"outputs": of(case["fine"]), "output_shape": case["fine_shape"]}
    kind, coords = KINDS[case["kind"].item()], of(case["coords"])
    for given in (coords, of(case["coords"].astype(np.int64))):
        pairs = sparse.index_pairs(given, case["shape"], case["batch"].item(), kind=kind, masks=True, **params)
        assert pairs.shape == tuple(case["out_shape"])
        for key, want in [("coords", "cells"), ("table", "table"), ("counts", "counts")]:
            assert np.array_equal(np.asarray(getattr(pairs, key)), case[want]), key
        bits = np.asarray(pairs.masks).view(np.uint32)
        for k, row in enumerate(case["table"]):
            assert np.array_equal(bits[:, k // 32] >> (k % 32) & 1, row >= 0)
    if kind in ("strided", "transposed"):
        few = sparse.index_pairs(coords, case["shape"], case["batch"].item(), kind=kind, capacity=7, **params)
        assert few.cells == 7 and few.dropped == len(case["cells"]) - 7
        assert np.array_equal(np.asarray(few.table), case["table"][:, :7])


@pytest.mark.parametrize("of", list(libraries()))
def test_cells_of_points(of):
    rng = np.random.default_rng(3)
    points = rng.uniform(-3, 3, (3000, 4)).astype(np.float32)
    cells = np.floor((points[:, :3] - points[:, :3].min(0)) / np.float32(0.5)).astype(int)
    unique, first, counts = np.unique(cells, axis=0, return_index=True, return_counts=True)
    by_first = np.argsort(first)
    sampled = sparse.grid_sample(of(points), 0.5)
    assert type(sampled.rows) is type(of(points)) and sampled.cells == len(unique) and sampled.points == 3000
    assert np.array_equal(np.asarray(sampled.grid_coord), unique[by_first])
    assert np.array_equal(np.asarray(sampled.rows), first[by_first])
    assert np.array_equal(np.asarray(sampled.num_points), counts[by_first])
    assert np.array_equal(np.asarray(sampled.grid_coord)[np.asarray(sampled.inverse)], cells)
    for params in ({"pick": "random", "seed": 5}, {"pick": "nearest"}, {"pick": "nth", "number": 2}):
        other = sparse.grid_sample(of(points), 0.5, **params)
        rows = np.asarray(other.rows)
        assert np.array_equal(np.asarray(other.inverse)[rows], np.arange(len(rows)))
        assert (rows != np.asarray(sampled.rows)).any()
    few = sparse.grid_sample(of(points), 0.5, capacity=9, row_splits=[0, 1000, 3000])
    assert few.cells == 9 and few.cells_dropped > 0 and len(few.batch) == 9
    inside = sparse.grid_sample(of(points), 1, point_cloud_range=[0, 0, 0, 3, 3, 3])
    assert inside.outside == (~((points[:, :3] >= 0).all(1) & (points[:, :3] < 3).all(1))).sum()
    again = pickle.loads(pickle.dumps(sparse.grid_sample(points, 0.5)))
    assert np.array_equal(again.inverse, np.asarray(sampled.inverse))


@pytest.mark.parametrize("of", list(libraries()))
def test_sweeps(of):
    rng = np.random.default_rng(4)
    sweeps = [rng.uniform(-9, 9, (n, 4)).astype(np.float32) for n in (5, 0, 7)]
    back = np.eye(4)
    back[:3, 3] = 1, 2, 3
    points = sparse.densify([of(sweep) for sweep in sweeps], [np.eye(4), back, back], [0, 0.05, 0.1])
    assert points.shape == (12, 5) and type(points) is type(of(sweeps[0]))
    moved = (sweeps[2][:, :3].astype(np.float64) + (1, 2, 3)).astype(np.float32)
    assert np.array_equal(np.asarray(points)[5:, :3], moved)
    assert np.array_equal(np.asarray(points)[:, 4], np.repeat(np.array([0, 0.1], np.float32), (5, 7)))


@pytest.mark.parametrize("of", list(libraries()))
@pytest.mark.parametrize(("columns", "features"), [(4, 9), (4, 10), (5, 10), (5, 11), (3, 8), (7, 13)])
def test_features_of_pillars(of, columns, features):
    rng = np.random.default_rng(5)
    voxels, num_points = rng.uniform(-9, 9, (6, 3, columns)).astype(np.float32), np.array([3, 1, 2, 3, 3, 0])
    coords, origin = rng.integers(0, 9, (6, 4)), np.float32([-1.5, -2.5, -3.5])
    made = sparse.pillar_features(
        of(voxels), of(num_points), of(coords), voxel_size=(0.5, 0.25, 4), origin=origin, features=features
    )
    assert made.shape == (6, 3, features) and type(made) is type(of(voxels))
    wide = voxels.astype(np.float64)
    for i, n in enumerate(num_points):
        mean = wide[i, :n, :3].sum(0) / max(n, 1)
        center = (coords[i, :0:-1] + 0.5) * [0.5, 0.25, 4] + origin
        want = np.concatenate([wide[i, :n], wide[i, :n, :3] - mean, wide[i, :n, :3] - center], 1)[:, :features]
        np.testing.assert_allclose(np.asarray(made)[i, :n], want, rtol=1e-6, atol=1e-6)
        assert not np.asarray(made)[i, n:].any()


@pytest.mark.parametrize("of", list(libraries()))
def test_patches_beside_an_array(of):
    made = sparse.patches(np.array([5]), 2, like=of(np.zeros(1, np.float32)))
    assert type(made.pad) is type(of(np.zeros(1)))
    assert made.pad.tolist() == [0, 1, 2, 3, 4, 3] and made.cu_seqlens.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sparse.serialize([[0, -1, 0]]), "grid_coord: expected coordinates of 0 to "),
        (lambda: sparse.serialize([[0, 9, 0]], depth=3), "grid_coord: expected coordinates of 0 to 7 at depth 3"),
        (lambda: sparse.serialize([[0, 0, 1 << 40]]), "grid_coord: expected numbers of 32 bits, got 1099511627776 in row 0"),
        (lambda: sparse.serialize([[0, 0, 0]], [-1]), "batch: expected items of 0 to 0, got -1 in row 0"),
        (lambda: sparse.serialize([[0, 0, 0]], depth=17), "depth: expected 1 to 16"),
        (lambda: sparse.serialize([[0, 0, 0]], orders=["peano"]), "orders: "),
        (lambda: sparse.serialize([[0, 0, 0]], orders=[]), "orders: expected 1 to 4 orders, got 0"),
        (lambda: sparse.pool_hierarchy([[0, 0, 0]], strides=[3]), "strides: expected powers of two, got 3"),
        (lambda: sparse.pool_hierarchy([[0, 0, 0]], capacities=[1]), "capacities: expected 4 numbers"),
        (lambda: sparse.patches([3, 1], 2), "offsets: expected ascending ends of items"),
        (lambda: sparse.patches([3], 0), "patch_size: expected a whole number from 1"),
        (lambda: sparse.index_pairs([[0, 0, 0, 1]] * 2, (2, 2, 2)), "coords: expected each cell once, got .* row 1"),
        (lambda: sparse.index_pairs([[0, 0, 0, 2]], (2, 2, 2)), "coords: expected item, z, y, x of 0 or more and below"),
        (lambda: sparse.index_pairs([[0, 0, 0, 1]], (2, 2, 2), kernel=2), "kernel: expected odd sizes"),
        (lambda: sparse.index_pairs([[0, 0, 0, 1]], (2, 2)), "shape: expected 3 whole numbers along z, y, x"),
        (lambda: sparse.index_pairs([[0, 0, 0, 1]], 2, outputs=[[0, 0, 0, 1]]), "output_shape: expected"),
        (lambda: sparse.grid_sample(np.zeros((2, 2), np.float32)), "points: expected at least 3 columns"),
        (lambda: sparse.grid_sample(np.zeros((2, 3), np.float32), 0), "grid_size: expected finite sizes above 0 m"),
        (lambda: sparse.grid_sample(np.zeros((2, 3), np.float32), pick="last"), "pick: expected "),
        (lambda: sparse.densify([], [], []), "sweeps: expected at least 1 sweep, got 0"),
        (lambda: sparse.densify([np.zeros((2, 3), np.float32)], [], [0]), "transforms: expected 1"),
        (lambda: sparse.pillar_features(np.zeros((1, 2, 5), np.float32), [1], [[0, 0, 0]]), "voxels: expected 3 or 4 columns for 9 features, got 5"),
        (lambda: sparse.pillar_features(np.zeros((1, 2, 4), np.float32), [1], [[0, 0, 0]], features=64), "features: expected 8 to 63"),
        (lambda: sparse.pillar_features(np.zeros((1, 2, 4), np.float32), [1], [[0, 0, 0]], features=1 << 31), "features: expected a whole"),
        (lambda: sparse.pillar_features(np.zeros((1, 2, 4), np.float32), [1], [[0, 0]]), "coords: expected "),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_nothing_is_no_error():
    none = np.zeros((0, 3), np.int32)
    cells, stages = sparse.pool_hierarchy(none, none[:, 0])
    assert cells.codes.shape == (4, 0) and all(stage.grid_coord.shape == (0, 3) for stage in stages)
    pairs = sparse.index_pairs(np.zeros((0, 4), np.int32), (4, 4, 4))
    assert pairs.table.shape == (27, 0)
    assert sparse.grid_sample(np.zeros((0, 3), np.float32)).cells == 0


def test_a_stray_point_is_no_silence():
    points = np.random.default_rng(0).uniform(0, 200, (1000, 3)).astype("f4")
    points[77] = [-3e6, 0, 0]
    with pytest.raises(ValueError, match="grid_size: .*999 points beyond all cells"):
        sparse.grid_sample(points, 1.0)
    assert (sparse.grid_sample(points, 1.0, point_cloud_range=[0, 0, 0, 200, 200, 200]).inverse < 0).sum() == 1


@pytest.mark.parametrize("call", [sparse.serialize, sparse.pool_hierarchy])
@pytest.mark.parametrize("items", [[0], [0, 1, 2, 3, 7]])
def test_a_batch_has_an_item_for_each_cell(call, items):
    cells = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2]], np.int32)
    with pytest.raises(ValueError, match=f"batch: expected 3 items, one for each cell, got {len(items)}"):
        call(cells, np.array(items, np.int32))
