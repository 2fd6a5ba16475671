"""Features reduced over points, against plain loops written from the definitions of mmcv and torch_scatter."""

import shutil
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.fx.experimental.proxy_tensor import make_fx

import pointmill
import pointmill.torch as pt
from conftest import assert_bits, fixture_files
from pointmill.compat import mmcv, mmdet3d, torch_scatter

TYPES = [torch.float32, torch.float64]
MODES = ["sum", "mean", "min", "max"]


def reduced_by_loop(features, index, rows, mode):
    """Row by row, point by point; the point of each minimum or maximum, -1 for none."""
    values = np.zeros((rows, features.shape[1]), features.dtype)
    argmax = np.full((rows, features.shape[1]), -1)
    for row in range(rows):
        points = np.flatnonzero(index == row)
        for c in range(features.shape[1]):
            column = features[points, c]
            if mode in ("min", "max"):
                number = ~np.isnan(column)
                sign = 1 if mode == "max" else -1
                if number.any():
                    first = int(np.argmax(np.where(number, sign * column.astype(float), -np.inf)))
                    first = first if number[first] else int(np.flatnonzero(number)[0])
                    values[row, c], argmax[row, c] = column[first], points[first]
                elif len(points):
                    values[row, c] = np.nan
                continue
            for value in column:
                values[row, c] += value
            if mode == "mean" and len(points):
                values[row, c] /= features.dtype.type(len(points))
    return values, argmax


def case(seed=0, points=400, rows=23, channels=5, dtype=torch.float32):
    """Features with ties, and rows with many points, with one and with none; points of no row."""
    rng = np.random.default_rng(seed)
    features = np.round(rng.normal(size=(points, channels)) * 4) / 4 * rng.choice([1.0, 1e3, 1e-3], (points, 1))
    index = np.where(rng.random(points) < 0.2, -1, rng.integers(0, rows, points) * rng.integers(0, 2, points))
    index[index == 7] = 6
    return torch.from_numpy(features).to(dtype), torch.from_numpy(index)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_scatter_is_the_plain_loop(mode, dtype):
    for seed in range(4):
        features, index = case(seed, dtype=dtype)
        if seed == 3:
            features[::7, 1] = torch.nan
            features[index == 5] = -torch.nan
        want, _ = reduced_by_loop(features.numpy(), index.numpy(), 25, mode)
        got = pt.scatter(features, index, 25, reduce=mode)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), want)
        known = ~np.isnan(want)
        assert_bits(got.numpy()[known], want[known], mode)
        assert_bits(pt.scatter(features, index.int(), 25, reduce=mode).numpy(), got.numpy())
        assert len(pt.scatter(features, index, reduce=mode)) == int(index.max()) + 1


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_scatter_of_voxels(file):
    """Means over all points of voxels are those that dynamic voxelization gives."""
    case = dict(np.load(file))
    if "row_splits" in case or int(case["max_points"]) > 0:
        pytest.skip("not one dynamic cloud")
    points = torch.from_numpy(case["points"])
    params = {"voxel_size": case["voxel_size"], "point_cloud_range": case["range"], "max_num_points": None}
    params |= {"max_voxels": int(case["max_voxels"]), "strict_range": bool(case["strict_range"])}
    params["order"] = "sorted" if int(case["order"]) else "first-seen"
    voxels = pointmill.voxelize(points, mean="float32", point_to_voxel=True, **params)
    got = pt.scatter(points, voxels.point_to_voxel, voxels.num_voxels)
    assert_bits(got.numpy(), voxels.mean.numpy())


def test_scatter_of_half_precision_and_of_nothing():
    features, index = case()
    for dtype in (torch.float16, torch.bfloat16):
        half = features.to(dtype)
        for mode in MODES:
            got = pt.scatter(half, index, 23, reduce=mode)
            assert got.dtype == dtype
            assert_bits(got.view(torch.int16), pt.scatter(half.float(), index, 23, reduce=mode).to(dtype).view(torch.int16))
    nothing = torch.zeros(0, 3, requires_grad=True)
    for mode in MODES:
        for rows in (0, 2):
            got = pt.scatter(nothing, torch.zeros(0, dtype=torch.int32), rows, reduce=mode)
            assert torch.equal(got, torch.zeros(rows, 3))
            got.sum().backward()
        outside = torch.ones(4, 3, requires_grad=True)
        got = pt.scatter(outside, torch.full((4,), -1), 2, reduce=mode)
        assert torch.equal(got, torch.zeros(2, 3))
        got.sum().backward()
        assert torch.equal(outside.grad, torch.zeros(4, 3))


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode):
    features, index = case(points=40, rows=9, channels=3, dtype=torch.float64)
    # Without ties, and away from them by more than the check moves.
    distinct = torch.from_numpy(np.random.default_rng(1).permutation(features.numel()).reshape(features.shape) * 0.1)
    assert torch.autograd.gradcheck(lambda f: pt.scatter(f, index, 9, reduce=mode), distinct.requires_grad_())
    # With ties the first of equal points has all of it.
    features = features.float().requires_grad_()
    grad = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
    pt.scatter(features, index, 9, reduce=mode).backward(grad)
    _, argmax = reduced_by_loop(features.detach().numpy(), index.numpy(), 9, mode)
    want = np.zeros(features.shape, np.float32)
    for row in range(9):
        points = np.flatnonzero(index.numpy() == row)
        for c in range(3):
            if mode in ("min", "max"):
                if argmax[row, c] >= 0:
                    want[argmax[row, c], c] = grad[row, c]
            else:
                want[points, c] = grad[row, c] / (len(points) if mode == "mean" else 1)
    assert_bits(features.grad.numpy(), want)


def test_errors_of_scatter():
    features, index = case()
    for kind, message, call in (
        (ValueError, "reduce: expected one of 'sum', 'mean', 'min', 'max', got 'mul'", lambda: pt.scatter(features, index, reduce="mul")),
        (TypeError, "features: expected a torch.Tensor (the functions of pointmill itself take other arrays), got numpy.ndarray", lambda: pt.scatter(features.numpy(), index)),
        (TypeError, "point_to_voxel: expected a torch.Tensor (the functions of pointmill itself take other arrays), got numpy.ndarray", lambda: pt.scatter(features, index.numpy())),
        (ValueError, "num_voxels: expected a number of 0 or more, got -1", lambda: pt.scatter(features, index, -1)),
        (MemoryError, "out of memory", lambda: pt.scatter(features, index, 1 << 60)),
        (TypeError, "row_splits: expected a torch.Tensor", lambda: pt.segment_csr(features, [0, 2])),
        (ValueError, "row_splits: expected ascending numbers from 0 to 400, got ", lambda: pt.segment_csr(features, torch.tensor([0, 2, 1]))),
        (ValueError, "row_splits: expected ascending numbers from 0 to 400, got ", lambda: pt.segment_csr(features, torch.tensor([0, 401]))),
        (ValueError, "row_splits: expected [V + 1] numbers of type int32 or int64, got shape [0] of torch.int64", lambda: pt.segment_csr(features, index[:0])),
        (ValueError, "indptr: expected one axis", lambda: torch_scatter.segment_csr(features, index[None])),
        (ValueError, "features: expected [N, F] values of a floating type, got shape [400]", lambda: pt.scatter(features[:, 0], index)),
        (TypeError, "point_to_voxel: expected values of type int32 or int64, got torch.float32", lambda: pt.scatter(features, index.float())),
        (ValueError, "point_to_voxel: expected shape [400], as features, got [399]", lambda: pt.scatter(features, index[1:])),
        (ValueError, "point_to_voxel: expected numbers of -1 to 2, got 22", lambda: pt.scatter(features, index, 3)),
        (ValueError, "point_to_voxel: expected numbers of -1 or more, got -2", lambda: pt.scatter(features, index - 1)),
        (ValueError, "feats, coors: expected shapes [N, C] and [N, D], got", lambda: mmcv.dynamic_scatter(features, index)),
        (ValueError, "index: expected shape [5] for dim 1, or that of src [400, 5], got [400]", lambda: torch_scatter.scatter_mean(features, index, dim=1)),
        (ValueError, "dim: expected an axis of src, -2 to 1, got 2", lambda: torch_scatter.scatter_mean(features, index, dim=2)),
        (ValueError, "out: expected None for means", lambda: torch_scatter.scatter_mean(features, index, 0, torch.zeros(23, 5))),
        (ValueError, "out: expected shape [23, 5] of torch.float32, got shape [23, 4] of torch.float32", lambda: torch_scatter.scatter_sum(features, index, 0, torch.zeros(23, 4))),
        (ValueError, "src: expected values of a floating or whole type, got torch.bool", lambda: torch_scatter.scatter_sum(features > 0, index, 0)),
        (ValueError, "reduce: expected one of 'sum', 'mean', 'min', 'max', got 'mul'", lambda: torch_scatter.scatter(features, index, 0, reduce="mul")),
        (ValueError, "feats: expected values of a floating type, got torch.int64", lambda: mmcv.dynamic_scatter(index[:, None], index[:, None])),
    ):
        with pytest.raises(kind) as error:
            call()
        assert message in str(error.value), str(error.value)


def cells(seed, points=500, columns=3, most=5):
    rng = np.random.default_rng(seed)
    coors = rng.integers(0, most, (points, columns)).astype(np.int32)
    coors[rng.random(points) < 0.15] = -1
    # Only one coordinate below zero, as mmcv drops too.
    coors[3, 1] = -1
    return torch.from_numpy(coors)


def dynamic_scatter_by_loop(feats, coors, mode):
    """mmcv's definition: unique rows in ascending order, those with a number below zero left out."""
    keep = (coors >= 0).all(1)
    rows = sorted({tuple(row) for row in coors[keep].tolist()})
    place = np.array([rows.index(tuple(row)) if good else -1 for row, good in zip(coors.tolist(), keep)])
    values, argmax = reduced_by_loop(feats, place, len(rows), mode)
    return values, np.array(rows, coors.dtype).reshape(-1, coors.shape[1]), place, argmax


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", TYPES)
def test_dynamic_scatter(mode, dtype):
    for seed, columns in ((0, 3), (1, 4), (2, 2)):
        coors = cells(seed, columns=columns)
        feats = torch.randn(len(coors), 6, dtype=dtype, generator=torch.Generator().manual_seed(seed))
        want, want_coors, place, _ = dynamic_scatter_by_loop(feats.numpy(), coors.numpy(), mode)
        for integer in (torch.int32, torch.int64):
            got, got_coors = mmcv.dynamic_scatter(feats, coors.to(integer), mode)
            assert got_coors.dtype == integer
            assert_bits(got.numpy(), want)
            np.testing.assert_array_equal(got_coors.numpy(), want_coors)
        *same, rows = mmdet3d.dynamic_scatter_3d(feats, coors, mode, True)
        assert rows.dtype == torch.int32 and rows.tolist() == place.tolist() and torch.equal(same[0], got)
    # What all have outside, and no points.
    for coors in (torch.full((4, 3), -1), torch.zeros(0, 3, dtype=torch.int64)):
        got, got_coors = mmcv.dynamic_scatter(torch.ones(len(coors), 2), coors, mode)
        assert got.shape == (0, 2) and got_coors.shape == (0, 3)


def test_dynamic_scatter_of_large_coordinates():
    """Coordinates whose products are past 64 bits keep their order."""
    big = 2**31 - 1
    coors = torch.tensor([[big, big, big, 1], [0, big, 0, big], [big, big, big, 0], [0, big, 0, big], [0, 0, big, big]])
    got, rows = mmcv.dynamic_scatter(torch.arange(5.0)[:, None], coors.int(), "sum")
    assert rows.tolist() == [list(row) for row in sorted({tuple(row) for row in coors.tolist()})]
    assert got.flatten().tolist() == [4.0, 4.0, 2.0, 0.0]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradient_of_dynamic_scatter(mode):
    coors = cells(5, points=60, most=3)
    feats = torch.from_numpy(np.random.default_rng(2).permutation(180).reshape(60, 3) * 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda f: mmcv.dynamic_scatter(f, coors, mode)[0], feats)


def test_dynamic_scatter_module():
    """A batch is its samples one after the other."""
    feats = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    samples = torch.arange(300) // 100
    coors = torch.cat([samples[:, None].int(), cells(1, 300)], 1)
    for average in (True, False):
        module = mmcv.DynamicScatter([1, 1, 1], [0, 0, 0, 5, 5, 5], average)
        got, got_coors = module(feats, coors)
        parts = [module(feats[samples == i], coors[samples == i, 1:]) for i in range(3)]
        assert torch.equal(got, torch.cat([part for part, _ in parts]))
        assert got_coors[:, 0].tolist() == sum(([i] * len(part) for i, (part, _) in enumerate(parts)), [])
        assert torch.equal(got_coors[:, 1:], torch.cat([part for _, part in parts]))
    assert "average_points=False" in repr(module)
    assert isinstance(mmdet3d.DynamicScatter3D([1] * 3, [0] * 6, True), mmcv.DynamicScatter)


def test_torch_scatter_names():
    features, index = case()
    index = index.clamp(min=0)
    for mode, call in (("sum", torch_scatter.scatter_sum), ("mean", torch_scatter.scatter_mean)):
        want, _ = reduced_by_loop(features.numpy(), index.numpy(), int(index.max()) + 1, mode)
        assert_bits(call(features, index, dim=0).numpy(), want)
        assert_bits(torch_scatter.scatter(features, index, 0, reduce=mode).numpy(), want)
        assert_bits(call(features, index[:, None].expand_as(features), dim=0).numpy(), want)
        assert_bits(call(features[:, 2].contiguous(), index).numpy(), want[:, 2])
    want, argmax = reduced_by_loop(features.numpy(), index.numpy(), 30, "max")
    got, places = torch_scatter.scatter_max(features, index, dim=0, dim_size=30)
    assert_bits(got.numpy(), want)
    np.testing.assert_array_equal(places.numpy(), np.where(argmax < 0, len(features), argmax))
    assert torch.equal(torch_scatter.scatter_add(features, index, 0), torch_scatter.scatter_sum(features, index, 0))


def scattered_by_loop(src, index, dim, rows, mode):
    """torch_scatter's definition, value by value: the result and the place of each, ``src.shape[dim]`` for none."""
    src, index = np.moveaxis(src, dim, 0), np.moveaxis(index, dim, 0)
    values = np.zeros((rows, *src.shape[1:]), src.dtype)
    places = np.full(values.shape, len(src))
    for at in np.ndindex(*src.shape[1:]):
        one, where = reduced_by_loop(src[(slice(None), *at)][:, None], index[(slice(None), *at)], rows, mode)
        values[(slice(None), *at)] = one[:, 0]
        places[(slice(None), *at)] = np.where(where[:, 0] < 0, len(src), where[:, 0])
    return np.moveaxis(values, 0, dim), np.moveaxis(places, 0, dim)


@pytest.mark.parametrize("mode", MODES)
def test_torch_scatter_of_any_axis_and_type(mode):
    rng = np.random.default_rng(0)
    for shape, dim, kind in (
        ((6, 40, 3), 1, np.float32),
        ((6, 40, 3), -2, np.float64),
        ((40, 2, 3), 0, np.float32),
        ((5, 40), -1, np.int64),
        ((40, 3), 0, np.int32),
        ((40,), 0, np.uint8),
    ):
        src = rng.integers(0, 9, shape).astype(kind) - (4 if kind is not np.uint8 else 0)
        src = src.astype(kind)
        for index in (rng.integers(0, 7, 40), rng.integers(0, 7, shape)):
            spread = [1] * len(shape)
            spread[dim] = 40
            full = np.broadcast_to(index.reshape(spread) if index.ndim == 1 else index, shape)
            if mode == "mean" and np.issubdtype(kind, np.integer):
                sums, _ = scattered_by_loop(src, full, dim, 8, "sum")
                counts, _ = scattered_by_loop(np.ones_like(src), full, dim, 8, "sum")
                want = sums // np.maximum(counts, 1)
            else:
                want, places = scattered_by_loop(src, full, dim, 8, mode)
            tensors = torch.from_numpy(src), torch.from_numpy(index)
            got = torch_scatter.scatter(*tensors, dim, dim_size=8, reduce=mode)
            assert got.numpy().dtype == kind
            np.testing.assert_array_equal(got.numpy(), want)
            if mode in ("min", "max"):
                call = torch_scatter.scatter_min if mode == "min" else torch_scatter.scatter_max
                got, found = call(*tensors, dim, dim_size=8)
                np.testing.assert_array_equal(got.numpy(), want)
                np.testing.assert_array_equal(found.numpy(), places)
            most = torch_scatter.scatter(*tensors, dim, reduce=mode)
            assert most.shape[dim] == index.max() + 1


def test_torch_scatter_writes_to_out():
    features, index = case(channels=3)
    index = index.clamp(min=0)
    out = torch.full((23, 3), 0.25)
    assert torch_scatter.scatter_sum(features, index, 0, out) is out
    assert torch.equal(out, 0.25 + torch_scatter.scatter_sum(features, index, 0, dim_size=23))
    for call, wins in ((torch_scatter.scatter_max, torch.maximum), (torch_scatter.scatter_min, torch.minimum)):
        out = torch.full((23, 3), 0.25)
        alone, places = call(features, index, 0, dim_size=23)
        got, found = call(features, index, 0, out)
        empty = places == len(features)
        assert got is out and torch.equal(out, torch.where(empty, 0.25, wins(alone, torch.tensor(0.25))))
        assert torch.equal(found, torch.where(empty | (out == 0.25), len(features), places))


@pytest.mark.parametrize("mode", MODES)
def test_segments(mode):
    features, _ = case(channels=6)
    splits = torch.tensor([3, 3, 40, 41, 41, 390])
    index = torch.full((400,), -1)
    for row in range(5):
        index[splits[row] : splits[row + 1]] = row
    want, argmax = reduced_by_loop(features.numpy(), index.numpy(), 5, mode)
    for kind in (torch.int32, torch.int64):
        assert_bits(pt.segment_csr(features, splits.to(kind), reduce=mode).numpy(), want)
        assert_bits(torch_scatter.segment_csr(features, splits.to(kind), reduce=mode).numpy(), want)
    deep = features.view(400, 2, 3)
    assert_bits(pt.segment_csr(deep, splits, reduce=mode).numpy(), want.reshape(5, 2, 3))
    assert_bits(pt.scatter(deep, index, 5, reduce=mode).numpy(), want.reshape(5, 2, 3))
    got = getattr(torch_scatter, f"segment_{mode}_csr")(features, splits)
    if mode in ("min", "max"):
        got, places = got
        np.testing.assert_array_equal(places.numpy(), np.where(argmax < 0, 400, argmax))
    assert_bits(got.numpy(), want)
    out = torch.ones(5, 6)
    assert torch_scatter.segment_csr(features, splits, out, mode) is out and torch.equal(out, got)
    distinct = torch.from_numpy(np.random.default_rng(1).permutation(120).reshape(20, 6) * 0.1).requires_grad_()
    few = torch.tensor([0, 4, 4, 15])
    assert torch.autograd.gradcheck(lambda f: pt.segment_csr(f, few, reduce=mode), distinct)
    assert len(pt.segment_csr(features[:0], torch.tensor([0, 0, 0]), reduce=mode)) == 2


# As an operator

INDEX = torch.tensor([4, 1, -1, 1, 0, 4, 4, 2, 1, 0])
DISTINCT = torch.from_numpy(np.random.default_rng(3).permutation(30).reshape(10, 3) * 0.1)
SPLITS = torch.tensor([1, 4, 4, 9])


def scattered(features, mode="max"):
    return pt.scatter(features, INDEX, 6, reduce=mode)


@pytest.mark.parametrize("mode", MODES)
def test_the_operator(mode):
    features = DISTINCT.clone().requires_grad_()
    torch.library.opcheck(torch.ops.pointmill.scatter.default, (features, INDEX, 6, mode))
    torch.library.opcheck(torch.ops.pointmill.scatter.default, (DISTINCT.float(), INDEX.int(), None, mode))
    places = torch.ops.pointmill.scatter(DISTINCT, INDEX, 6, mode)[1]
    grad = torch.randn(6, 3, dtype=torch.float64).requires_grad_()
    torch.library.opcheck(torch.ops.pointmill.scatter_gradient.default, (grad, INDEX, places, mode))
    torch.library.opcheck(torch.ops.pointmill.scatter.default, (features, SPLITS, None, mode, 10))
    places = torch.ops.pointmill.scatter(DISTINCT, SPLITS, None, mode, 10)[1]
    short = torch.randn(3, 3, dtype=torch.float64).requires_grad_()
    torch.library.opcheck(torch.ops.pointmill.scatter_gradient.default, (short, SPLITS, places, mode, 10))
    operator = lambda f: torch.ops.pointmill.scatter(f, INDEX, 6, mode)[0]
    for function in (operator, lambda f: scattered(f, mode), lambda f: pt.segment_csr(f, SPLITS, reduce=mode)):
        assert torch.autograd.gradcheck(function, features)
        assert torch.autograd.gradgradcheck(function, features)
    # A gradient penalty.
    (first,) = torch.autograd.grad(scattered(features, mode).pow(3).sum(), features, create_graph=True)
    (second,) = torch.autograd.grad(first.pow(2).sum(), features)
    assert second.abs().sum() > 0


@pytest.mark.parametrize("mode", MODES)
def test_compiled(mode):
    def loss(features, index):
        reduced = pt.scatter(features * 2, index, 6, reduce=mode)
        return reduced.square().sum() + pt.segment_csr(features, SPLITS, reduce=mode).sum()

    leaf = DISTINCT.clone().requires_grad_()
    want = torch.autograd.grad(loss(leaf, INDEX), leaf)[0]
    torch._dynamo.reset()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    assert torch.allclose(torch.autograd.grad(compiled(leaf, INDEX), leaf)[0], want)
    # Points of other numbers, and as many voxels as there are.
    torch._dynamo.reset()
    several = torch.compile(lambda f, i: pt.scatter(f, i, reduce=mode), backend="aot_eager", fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for size in (10, 7, 4):
            got = several(DISTINCT[:size], INDEX[:size])
            assert torch.equal(got, pt.scatter(DISTINCT[:size], INDEX[:size], reduce=mode))


def test_compiled_by_inductor():
    if shutil.which("g++") is None:
        pytest.skip("needs a compiler")
    torch._dynamo.reset()
    compiled = torch.compile(lambda f, i: pt.scatter(f * 2, i, 6, reduce="max").relu().sum(1), fullgraph=True)
    assert torch.allclose(compiled(DISTINCT, INDEX), scattered(DISTINCT * 2).relu().sum(1))


@pytest.mark.parametrize("mode", MODES)
def test_transformed(mode):
    loss = lambda f: scattered(f, mode).square().sum()
    leaf = DISTINCT.clone().requires_grad_()
    (want,) = torch.autograd.grad(loss(leaf), leaf)
    assert torch.equal(torch.func.grad(loss)(DISTINCT), want)
    each = torch.vmap(torch.func.grad(loss))(torch.stack([-DISTINCT, DISTINCT]))
    assert torch.equal(each[1], want) and not torch.equal(each[0], want)
    rows, columns = torch.func.jacrev(scattered)(DISTINCT), torch.func.jacfwd(scattered)(DISTINCT)
    assert rows.abs().sum() > 0 and torch.equal(rows, columns)
    step = torch.ones_like(DISTINCT)
    _, tangent = torch.func.jvp(lambda f: scattered(f, mode), (DISTINCT,), (step,))
    assert torch.allclose(tangent, torch.autograd.functional.jvp(lambda f: scattered(f, mode), DISTINCT, step)[1])
    # Features and rows of a batch.
    both = torch.stack([DISTINCT, -DISTINCT]), torch.stack([INDEX, INDEX.flip(0)])
    function = lambda f, i: pt.scatter(f, i, 6, reduce=mode)
    assert torch.equal(torch.vmap(function)(*both), torch.stack([function(*one) for one in zip(*both)]))
    operator = lambda f, i: torch.ops.pointmill.scatter(f, i, 6, mode)[0]
    assert torch.equal(torch.vmap(operator)(*both), torch.vmap(function)(*both))
    splits = torch.stack([SPLITS, SPLITS + 1])
    segments = lambda f, s: pt.segment_csr(f, s, reduce=mode)
    got = torch.vmap(segments)(both[0], splits)
    assert torch.equal(got, torch.stack([segments(*one) for one in zip(both[0], splits)]))
    with pytest.raises(ValueError, match="^num_voxels: expected a number under torch.vmap"):
        torch.vmap(lambda f: pt.scatter(f, INDEX))(both[0])
    # Several gradients at once.
    grads = torch.stack([torch.ones(6, 3, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64)])
    reduced = scattered(leaf, mode)
    (at_once,) = torch.autograd.grad(reduced, leaf, grads, is_grads_batched=True, retain_graph=True)
    for got, grad in zip(at_once, grads):
        assert torch.equal(got, torch.autograd.grad(reduced, leaf, grad, retain_graph=True)[0])


def test_exported_and_traced():
    class Net(torch.nn.Module):
        def forward(self, features, index):
            return pt.scatter(features, index, 6, reduce="max"), pt.segment_csr(features, SPLITS)

    other = DISTINCT.flip(0), INDEX.flip(0)
    for strict in (False, True):
        program = torch.export.export(Net(), (DISTINCT, INDEX), strict=strict)
        assert all(map(torch.equal, program.module()(*other), Net()(*other)))
    traced = torch.jit.trace(Net(), (DISTINCT, INDEX))
    assert all(map(torch.equal, traced(*other), Net()(*other)))
    graph = make_fx(Net())(DISTINCT, INDEX)
    assert all(map(torch.equal, graph(*other), Net()(*other)))


def test_scatter_is_quick():
    """Not slower than torch's own, by a margin that a busy machine keeps."""
    features = torch.randn(60_000, 64)
    index = torch.randint(0, 10_000, (60_000,))

    def least(call):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    own = least(lambda: torch.zeros(10_000, 64).index_reduce(0, index, features, "amax", include_self=False))
    assert least(lambda: pt.scatter(features, index, 10_000, reduce="max")) < 3 * own
