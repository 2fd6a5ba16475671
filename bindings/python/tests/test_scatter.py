"""Features reduced over points, against plain loops written from the definitions of mmcv and torch_scatter."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pointmill
import pointmill.torch as pt
from conftest import assert_bits, fixture_files
from pointmill.compat import mmcv, mmdet3d, torch_scatter

TYPES = [torch.float32, torch.float64]


def reduced_by_loop(features, index, rows, mode):
    """Row by row, point by point; the point of each maximum, -1 for none."""
    values = np.zeros((rows, features.shape[1]), features.dtype)
    argmax = np.full((rows, features.shape[1]), -1)
    for row in range(rows):
        points = np.flatnonzero(index == row)
        for c in range(features.shape[1]):
            column = features[points, c]
            if mode == "max":
                number = ~np.isnan(column)
                if number.any():
                    first = int(np.argmax(np.where(number, column, -np.inf)))
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


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
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
        for mode in ("sum", "mean", "max"):
            got = pt.scatter(half, index, 23, reduce=mode)
            assert got.dtype == dtype
            assert_bits(got.view(torch.int16), pt.scatter(half.float(), index, 23, reduce=mode).to(dtype).view(torch.int16))
    nothing = torch.zeros(0, 3, requires_grad=True)
    for mode in ("sum", "mean", "max"):
        for rows in (0, 2):
            got = pt.scatter(nothing, torch.zeros(0, dtype=torch.int32), rows, reduce=mode)
            assert torch.equal(got, torch.zeros(rows, 3))
            got.sum().backward()
        outside = torch.ones(4, 3, requires_grad=True)
        got = pt.scatter(outside, torch.full((4,), -1), 2, reduce=mode)
        assert torch.equal(got, torch.zeros(2, 3))
        got.sum().backward()
        assert torch.equal(outside.grad, torch.zeros(4, 3))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
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
            if mode == "max":
                if argmax[row, c] >= 0:
                    want[argmax[row, c], c] = grad[row, c]
            else:
                want[points, c] = grad[row, c] / (len(points) if mode == "mean" else 1)
    assert_bits(features.grad.numpy(), want)


def test_errors_of_scatter():
    features, index = case()
    for kind, message, call in (
        (ValueError, "reduce: expected one of 'sum', 'mean', 'max', got 'min'", lambda: pt.scatter(features, index, reduce="min")),
        (ValueError, "features: expected [N, F] values of a floating type, got shape [400]", lambda: pt.scatter(features[:, 0], index)),
        (TypeError, "point_to_voxel: expected values of type int32 or int64, got torch.float32", lambda: pt.scatter(features, index.float())),
        (ValueError, "point_to_voxel: expected shape [400], as features, got [399]", lambda: pt.scatter(features, index[1:])),
        (ValueError, "point_to_voxel: expected numbers of -1 to 2, got 22", lambda: pt.scatter(features, index, 3)),
        (ValueError, "point_to_voxel: expected numbers of -1 or more, got -2", lambda: pt.scatter(features, index - 1)),
        (ValueError, "feats, coors: expected shapes [N, C] and [N, D], got", lambda: mmcv.dynamic_scatter(features, index)),
        (ValueError, "dim: expected 0", lambda: torch_scatter.scatter_mean(features, index, dim=1)),
        (ValueError, "out: expected None", lambda: torch_scatter.scatter_mean(features, index, 0, features)),
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
