"""Other packages' conventions beyond single precision, and their other names, against plain loops written from their definitions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from conftest import assert_bits, fixture_files
from pointmill.compat import bevfusion, mmcv, mmdet3d, pcdet, spconv

SIZE, LIMITS = [0.1, 0.2, 0.3], [-1.0, -2.0, -1.5, 3.0, 2.0, 1.5]


def cells_by_definition(points, size=SIZE, limits=LIMITS):
    """The cell of each point in the points' own type, sizes and limits in single precision; z, y, x, -1 outside."""
    size, limits = np.asarray(size, np.float32), np.asarray(limits, np.float32)
    dims = np.round((limits[3:] - limits[:3]) / size)
    found = np.floor((points[:, :3] - limits[:3].astype(points.dtype)) / size.astype(points.dtype))
    inside = ((found >= 0) & (found < dims)).all(1)
    return np.where(inside[:, None], found[:, ::-1], -1).astype(np.int32)


def voxels_by_definition(points, max_points, max_voxels, **grid):
    rows, coords, voxels = {}, [], []
    for point, cell in zip(points, map(tuple, cells_by_definition(points, **grid).tolist())):
        if cell[0] < 0:
            continue
        if cell not in rows:
            if len(rows) == max_voxels:
                continue
            rows[cell] = len(rows)
            coords.append(cell)
            voxels.append([])
        if len(voxels[rows[cell]]) < max_points:
            voxels[rows[cell]].append(point)
    padded = np.zeros((len(rows), max_points, points.shape[1]), points.dtype)
    for row, kept in zip(padded, voxels):
        row[: len(kept)] = kept
    return padded, np.array(coords, np.int32).reshape(-1, 3), np.array([len(v) for v in voxels], np.int32)


def cloud(dtype, n=4000, seed=0):
    """Points of which a part lies on faces of cells, where types decide differently."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-2.5, 3.5, (n, 4))
    faces = np.asarray(LIMITS[:3]) + rng.integers(0, 20, (n // 2, 3)) * np.asarray(SIZE)
    points[: n // 2, :3] = faces + rng.choice([0, 1e-12, -1e-12], (n // 2, 3))
    return points.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mmcv_voxelization_keeps_the_type(dtype):
    points = cloud(dtype)
    for caps in ((3, 50), (1000, 100_000)):
        want = voxels_by_definition(points, *caps)
        got = mmcv.voxelization(torch.from_numpy(points), SIZE, LIMITS, *caps)
        for array, wanted in zip(got, want):
            assert_bits(array.numpy(), wanted)
    coors = mmcv.voxelization(torch.from_numpy(points), SIZE, torch.tensor(LIMITS), -1, -1)
    assert_bits(coors.numpy(), cells_by_definition(points))
    if dtype == np.float64:
        assert (coors.numpy() != cells_by_definition(points.astype(np.float32))).any(), "no point that types decide on"
    assert mmcv.voxelization(torch.zeros(0, 4, dtype=got[0].dtype), SIZE, LIMITS)[0].shape == (0, 35, 4)


def test_mmcv_voxelization_of_half_precision():
    for dtype in (torch.float16, torch.bfloat16):
        points = torch.from_numpy(cloud(np.float32)).to(dtype)
        got = mmcv.Voxelization(SIZE, LIMITS, 3, 50)(points)
        want = voxels_by_definition(points.float().numpy(), 3, 50)
        assert got[0].dtype == dtype
        for array, wanted in zip((got[0].float(), *got[1:]), want):
            assert_bits(array.numpy(), wanted)


def test_double_precision_points_that_are_nowhere():
    points = torch.tensor([[torch.nan, 0, 0], [torch.inf, 0, 0], [-torch.inf, 0, 0], [1e300, 0, 0], [0, 0, 0]]).double()
    assert mmcv.voxelization(points, SIZE, LIMITS, -1, -1)[:4].tolist() == [[-1] * 3] * 4
    assert mmcv.voxelization(points, SIZE, LIMITS)[2].tolist() == [1]
    for bad, name in (([0.1, 0.2], "voxel_size"), ([1e-9, 1, 1], "point_cloud_range"), ([0, 1, 1], "point_cloud_range")):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            mmcv.voxelization(points, bad, LIMITS)


@pytest.mark.parametrize("most", [[20, 30], (20, 30), np.array([20, 30]), torch.tensor([20, 30])])
def test_mmcv_takes_any_pair(most):
    points = torch.rand(500, 4) * 10
    for module in (
        mmcv.Voxelization([1, 1, 1], [0, 0, 0, 10, 10, 10], 5, most),
        bevfusion.Voxelization([1, 1, 1], [0, 0, 0, 10, 10, 10], 5, most),
        mmdet3d.VoxelizationByGridShape([0, 0, 0, 10, 10, 10], 5, [1, 1, 1], max_voxels=most),
    ):
        assert len(module.train()(points)[0]) == 20 and len(module.eval()(points)[0]) == 30
        assert module.max_voxels == (20, 30)
    with pytest.raises(ValueError, match=r"max_voxels: expected a number or a pair \(training, evaluation\), got \[1, 2, 3\]"):
        mmcv.Voxelization([1, 1, 1], [0, 0, 0, 10, 10, 10], 5, [1, 2, 3])


def test_grid_shape():
    limits = [0.0, -3.14159265359, -4.0, 50.0, 3.14159265359, 2.0]
    module = mmdet3d.VoxelizationByGridShape(limits, -1, grid_shape=[480, 360, 32])
    # The range by one cell less, in single precision.
    single = np.asarray(limits, np.float32)
    size = (single[3:] - single[:3]) / (np.float32([480, 360, 32]) - np.float32(1))
    assert module.voxel_size == size.tolist()
    rng = np.random.default_rng(0)
    points = rng.uniform([-5, -4, -5], [55, 4, 3], (2000, 3)).astype(np.float32)
    want = cells_by_definition(points, size, limits)
    assert_bits(module(torch.from_numpy(points)).numpy(), want)
    assert module.voxel_size[0] * 479 == pytest.approx(50)
    by_size = mmdet3d.VoxelizationByGridShape(LIMITS, 5, voxel_size=SIZE)
    assert by_size.grid_shape == [40, 20, 10] and "grid_shape=[40, 20, 10]" in repr(by_size)
    for more in ({}, {"voxel_size": SIZE, "grid_shape": [1, 2, 3]}):
        with pytest.raises(ValueError, match="voxel_size, grid_shape: expected one of them"):
            mmdet3d.VoxelizationByGridShape(LIMITS, 5, **more)


def test_bevfusion_has_x_y_z():
    points = torch.from_numpy(cloud(np.float32))
    ours, theirs = (package.Voxelization(SIZE, LIMITS, 3, 50) for package in (mmcv, bevfusion))
    for (voxels, coors, counts), (same, flipped, same_counts) in ((ours(points), theirs(points)),):
        assert torch.equal(voxels, same) and torch.equal(counts, same_counts)
        assert torch.equal(coors.flip(1), flipped) and not torch.equal(coors, flipped)
    assert ours.pcd_shape == [1, 20, 40] and theirs.pcd_shape == [40, 20, 1]
    cells = bevfusion.voxelization(points, SIZE, LIMITS, -1, -1)
    assert_bits(cells.numpy(), np.ascontiguousarray(cells_by_definition(points.numpy())[:, ::-1]))


def double(file):
    case = dict(np.load(file))
    single = not case["geometry_type"][0] and not case["feature_type"][0] and "box_splits" not in case
    if not single or "max" not in case or case["points"].shape[1] != 3 or case["margin"][0] or case["origin"][0]:
        pytest.skip("nothing that the package does")
    return case, [torch.from_numpy(case[name]) for name in ("boxes", "points", "features")]


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_pooling_of_double_precision(file):
    """Features of float64 are pooled as they are: those of the fixtures give the fixtures' maxima, and finer ones are not rounded."""
    case, (boxes, points, features) = double(file)
    out, m = tuple(case["out_size"].tolist()), int(case["max_points"][0])
    finite = features.isfinite().all()
    for mode, name in (("max", "max"), ("avg", "mean")):
        module = mmcv.RoIAwarePool3d(out, m, mode)
        got = module(boxes.double(), points.double(), features.double())
        assert got.dtype == torch.float64 and got.shape == case[name].shape
        if mode == "max":
            assert_bits(got.float().numpy(), case[name], name)
        elif finite:
            scale = np.abs(case["features"]).max(initial=1)
            np.testing.assert_allclose(got.numpy(), case[name], rtol=0, atol=float(scale) * 1e-5)
        # Only the features, and only the boxes.
        assert torch.equal(module(boxes, points, features.double()), got) or not finite
        assert_bits(module(boxes.double(), points.double(), features).numpy(), case[name], name)


def pooling(seed=0, n=300, b=6):
    rng = np.random.default_rng(seed)
    boxes = np.concatenate([rng.uniform(-2, 2, (b, 3)), rng.uniform(1, 4, (b, 3)), rng.uniform(-3, 3, (b, 1))], 1)
    return torch.from_numpy(boxes), torch.from_numpy(rng.uniform(-3, 3, (n, 3))), torch.from_numpy(rng.normal(size=(n, 2)))


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_pooling_of_double_precision_adds_in_order(mode):
    """By the lists of the same pooling in single precision, one value after the other."""
    import pointmill

    boxes, points, features = pooling()
    # Values that single precision could not tell apart.
    features = 1.0 + features * 1e-10
    got = mmcv.RoIAwarePool3d(3, 12, mode)(boxes, points, features)
    lists = pointmill.roi_aware_pool3d(
        boxes.float().numpy(), points.float().numpy(), np.zeros((300, 1), np.float32), out_size=3, max_pts_per_voxel=11
    ).point_indices
    want = np.zeros(got.shape)
    for place in np.ndindex(*got.shape[:4]):
        count, kept = lists[place][0], lists[place][1 : lists[place][0] + 1]
        for c in range(2):
            values = features[kept, c].tolist()
            if values:
                total = 0.0
                for value in values:
                    total += value
                want[place][c] = max(values) if mode == "max" else total / count
    assert_bits(got.numpy(), want)
    assert len(np.unique(want)) > 50
    same = pcdet.RoIAwarePool3d(3, 12)(boxes, points, features, pool_method=mode)
    assert same.dtype == torch.float64 and same.shape == got.shape


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_gradient_of_double_precision(mode):
    boxes, points, _ = pooling(n=40, b=4)
    features = torch.from_numpy(np.random.default_rng(3).permutation(80).reshape(40, 2) * 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda f: mmcv.RoIAwarePool3d(2, 6, mode)(boxes, points, f), features)
    # Points of several boxes get the sum, as in single precision.
    single = features.detach().float().requires_grad_()
    grad = torch.randn(4, 2, 2, 2, 2, dtype=torch.float64)
    mmcv.RoIAwarePool3d(2, 6, mode)(boxes, points, features).backward(grad)
    mmcv.RoIAwarePool3d(2, 6, mode)(boxes.float(), points.float(), single).backward(grad.float())
    torch.testing.assert_close(single.grad, features.grad.float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_roi_point_pool(dtype):
    """The first S points of a box, which are repeated from the first on; z of the faces is inside, x and y of the faces are not."""
    boxes, points, features = pooling(n=200, b=5)
    # Exact in every type, and no heading: what is inside can be said by comparisons alone.
    boxes[:, 6] = 0
    boxes, points = (boxes * 4).round() / 4, (points * 4).round() / 4
    boxes[4, :3] = 100
    points, features, boxes = (torch.stack([t, t.flip(0)]).to(dtype) for t in (points, features, boxes))
    for count in (1, 7, 64):
        pooled, empty = mmcv.RoIPointPool3d(count)(points, features, boxes)
        assert pooled.dtype == dtype and pooled.shape == (2, 5, count, 5) and empty.dtype == torch.int32
        for sample in range(2):
            p, f = points[sample].double().numpy(), features[sample].double().numpy()
            for row, box in enumerate(boxes[sample].double().numpy()):
                off = p - box[:3] - [0, 0, box[5] / 2]
                half = box[3:6] / 2
                inside = (np.abs(off[:, :2]) < half[:2]).all(1) & (np.abs(off[:, 2]) <= half[2])
                kept = np.flatnonzero(inside)[:count]
                assert empty[sample, row] == (len(kept) == 0)
                want = np.zeros((count, 5))
                if len(kept):
                    want = np.concatenate([p, f], 1)[kept[np.arange(count) % len(kept)]]
                np.testing.assert_array_equal(pooled[sample, row].double().numpy(), want)
    assert empty.sum() > 0
    none = mmcv.RoIPointPool3d(3)(points[:0], features[:0], boxes[:0])
    assert none[0].shape == (0, 5, 3, 5) and none[1].shape == (0, 5)
    assert mmcv.RoIPointPool3d(3)(points[:, :0], features[:, :0], boxes)[1].all()
    with pytest.raises(ValueError, match=r"point_features: expected an array of shape \[2, 200, C\]"):
        mmcv.RoIPointPool3d(3)(points, features[:1], boxes)
    with pytest.raises(ValueError, match="num_sampled_points: expected 1 or more, got 0"):
        mmcv.RoIPointPool3d(0)


def test_gradient_of_roi_point_pool():
    boxes, points, features = (t[None] for t in pooling(n=30, b=4))
    module = mmcv.RoIPointPool3d(9)
    assert torch.autograd.gradcheck(lambda f: module(points, f, boxes)[0], features.requires_grad_())


class TensorView:
    """What is known of a tensor of tensorview: its way to numpy."""

    def __init__(self, array):
        self.array = array

    def numpy(self):
        return self.array.copy()


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_spconv_generators(file):
    case = dict(np.load(file))
    if int(case["max_points"]) <= 0 or int(case["order"]) or int(case["strict_range"]) or "row_splits" in case:
        pytest.skip("nothing that the package does")
    points, caps = case["points"], (int(case["max_points"]), int(case["max_voxels"]))
    if not np.isfinite(points).all():
        pytest.skip("nothing that the package does")
    names = "voxels", "coords", "num_points"
    generator = spconv.Point2VoxelCPU3d(case["voxel_size"], case["range"], points.shape[1], caps[1], caps[0])
    assert generator.grid_size == case["dims"][::-1].tolist()
    for given in (points, TensorView(points), torch.from_numpy(points)):
        for array, name in zip(generator.point_to_voxel(given), names):
            assert type(array.numpy()) is np.ndarray
            assert_bits(array.numpy(), case[name], name)
    filled, _, counts = generator.point_to_voxel_empty_mean(points)
    first = spconv.VoxelGenerator(case["voxel_size"], case["range"], *caps, full_mean=False)
    for array, name in zip(first.generate(points), names):
        assert_bits(array, case[name], name)
    assert_bits(first.grid_size, case["dims"].astype(np.int64))
    means = spconv.VoxelGenerator(case["voxel_size"], case["range"], *caps).generate(points)[0]
    for row, n in enumerate(case["num_points"]):
        running = np.zeros(points.shape[1], np.float32)
        for k in range(n):
            running = running + (case["voxels"][row, k] - running) / np.float32(k + 1)
        for array, mean in ((filled, case["mean"][row]), (means, running)):
            assert_bits(np.asarray(array[row, :n]), case["voxels"][row, :n])
            assert_bits(np.asarray(array[row, n:]), np.broadcast_to(mean, (caps[0] - n, len(mean))))
    second = spconv.VoxelGeneratorV2(case["voxel_size"], case["range"], *caps).generate(points, max_voxels=min(3, caps[1]))
    rows = min(3, len(case["voxels"]))
    assert second["voxel_num"] == rows
    for key, name in (("voxels", "voxels"), ("coordinates", "coords"), ("num_points_per_voxel", "num_points")):
        assert_bits(second[key], case[name][:rows], key)
    used = np.arange(caps[0]) < second["num_points_per_voxel"][:, None]
    assert_bits(second["voxel_point_mask"], used[..., None].astype(np.float32))


def test_spconv_generators_of_double_precision():
    points = cloud(np.float64)
    want = voxels_by_definition(points, 4, 60)
    for array, wanted in zip(spconv.VoxelGenerator(SIZE, LIMITS, 4, 60, full_mean=False).generate(points), want):
        assert_bits(array, wanted)
    found = spconv.VoxelGenerator(SIZE, LIMITS, 4).generate(points)
    assert found[0].dtype == np.float64 and (found[0][found[2] == 1, 3] == found[0][found[2] == 1, 0]).all()


def test_grids_that_are_no_whole_number_of_cells():
    """Halves are rounded up, as spconv 2 does."""
    assert spconv.Point2VoxelCPU3d([1] * 3, [0, 0, 0, 2.5, 3.45, 3.55], 3, 1, 1).grid_size == [4, 3, 3]


def test_errors_of_generators():
    generator = spconv.Point2VoxelCPU3d(SIZE, LIMITS, 4, 10, 5)
    for kind, message, call in (
        (ValueError, "points: expected an array of shape [N, 4], got shape [2, 3]", lambda: generator.point_to_voxel(np.zeros((2, 3)))),
        (TypeError, "points: expected an array of numpy, tensorview or torch, got list", lambda: generator.point_to_voxel([])),
        (ValueError, "vsize_xyz, coors_range_xyz: expected 3 and 6 numbers", lambda: spconv.Point2VoxelCPU3d([1], LIMITS, 4, 10, 5)),
        (TypeError, "points: expected an array of numpy of type float32 or float64, got int64", lambda: spconv.VoxelGenerator(SIZE, LIMITS, 4).generate(np.zeros((2, 3), int))),
        (ValueError, "block_filtering: expected False, got True", lambda: spconv.VoxelGeneratorV2(SIZE, LIMITS, 4, block_filtering=True)),
    ):
        with pytest.raises(kind) as error:
            call()
        assert message in str(error.value), str(error.value)
