"""The conventions of other packages, against the repository's fixtures, which hold their semantics."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from conftest import assert_bits, fixture_files
from pointmill.compat import mmcv, pcdet, spconv


def hard(file):
    """A case that the packages can do: one cloud, caps, rows first-seen, no strict range, finite points."""
    case = dict(np.load(file))
    finite = np.isfinite(case["points"]).all()
    if int(case["max_points"]) <= 0 or int(case["order"]) or int(case["strict_range"]) or "row_splits" in case or not finite:
        pytest.skip("nothing that the package does")
    return case


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_mmcv_voxelization(file):
    case = hard(file)
    points = torch.from_numpy(case["points"])
    size, limits = case["voxel_size"].tolist(), case["range"].tolist()
    caps = int(case["max_points"]), int(case["max_voxels"])
    for deterministic in (True, False):
        module = mmcv.Voxelization(size, limits, *caps, deterministic).train()
        for got in (mmcv.voxelization(points, size, limits, *caps, deterministic), module(points)):
            for array, name in zip(got, ("voxels", "coords", "num_points")):
                assert_bits(array.numpy(), case[name], name)
    assert module.grid_size.dtype == torch.int64


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_mmcv_dynamic_voxelization(file):
    case = dict(np.load(file))
    if int(case["strict_range"]) or "row_splits" in case:
        pytest.skip("nothing that mmcv does")
    coors = mmcv.voxelization(torch.from_numpy(case["points"]), case["voxel_size"], case["range"], -1, -1).numpy()
    low, size, dims = case["range"][:3], case["voxel_size"], case["dims"].astype(np.float32)
    with np.errstate(all="ignore"):
        q = np.floor((case["points"][:, :3] - low) / size)
        inside = ((q >= 0) & (q < dims)).all(1)
    want = np.where(inside[:, None], np.where(inside[:, None], q, 0).astype(np.int64)[:, ::-1], -1).astype(np.int32)
    assert_bits(coors, want)


def test_mmcv_modes_and_pairs():
    points = torch.rand(500, 4) * 10
    module = mmcv.Voxelization([1, 1, 1], [0, 0, 0, 10, 10, 10], 5, (20, 30))
    assert len(module.train()(points)[0]) == 20 and len(module.eval()(points)[0]) == 30
    assert module.pcd_shape == [1, 10, 10]
    with pytest.raises(ValueError, match="mode: expected 'max' or 'avg'"):
        mmcv.RoIAwarePool3d(3, mode="mean")


def pooling(file):
    case = dict(np.load(file))
    single = not case["geometry_type"][0] and not case["feature_type"][0] and "box_splits" not in case
    finite = all(np.isfinite(case[name]).all() for name in ("boxes", "points"))
    if not single or not finite or "max" not in case or case["points"].shape[1] != 3 or case["margin"][0]:
        pytest.skip("nothing that the package does")
    return case, [torch.from_numpy(case[name]) for name in ("boxes", "points", "features")]


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_mmcv_pooling(file):
    case, (boxes, points, features) = pooling(file)
    if case["origin"][0]:
        pytest.skip("boxes with cz at their centre")
    out, m = tuple(case["out_size"].tolist()), int(case["max_points"][0])
    for mode, name in (("max", "max"), ("avg", "mean")):
        pooled = mmcv.RoIAwarePool3d(out, m, mode)(boxes, points, features)
        assert_bits(pooled.numpy(), case[name], name)
    batch = points[None].repeat(2, 1, 1), boxes[None].repeat(2, 1, 1)
    assert_bits(mmcv.points_in_boxes_part(*batch).numpy(), np.stack([case["part"]] * 2), "part")
    every = np.stack([case["all"].astype(np.int32)] * 2)
    assert_bits(mmcv.points_in_boxes_all(*batch).numpy(), every, "all")
    assert_bits(mmcv.points_in_boxes_cpu(*batch).numpy(), every, "all")


@pytest.mark.parametrize("number", [0, 1, 8, 31, 32, 33, 77])
def test_all_boxes_of_a_point(number):
    """Bits become int32 for any number of boxes, in one write of the batch."""
    random = torch.Generator().manual_seed(number)
    points = torch.rand(2, 50, 3, generator=random) * 6
    boxes = torch.cat([torch.rand(2, number, 3, generator=random) * 6, torch.full((2, number, 3), 3.0), torch.zeros(2, number, 1)], 2)
    got = mmcv.points_in_boxes_all(points, boxes)
    assert got.dtype == torch.int32 and got.is_contiguous() and got.shape == (2, 50, number)
    local = points[:, :, None] - boxes[:, None, :, :3]
    want = (local[..., :2].abs() < 1.5).all(-1) & (local[..., 2] > 0) & (local[..., 2] < 3)
    assert torch.equal(got, want.int()) and (number < 8 or got.sum() > 0)
    assert mmcv.points_in_boxes_all(points[:0], boxes[:0]).shape == (0, 50, number)
    assert mmcv.points_in_boxes_all(points[:, :0], boxes).shape == (2, 0, number)


def test_pcdet_margins():
    """A box of 4 x 2 m, and points on its face, just beyond it, and a centimetre beyond."""
    boxes = torch.tensor([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    points = torch.tensor([[2.0, 0.0, 0.0], [2.000005, 0.0, 0.0], [2.005, 0.0, 0.0], [2.02, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.001]])
    assert pcdet.points_in_boxes_gpu(points[None], boxes[None]).tolist() == [[0, 0, -1, -1, 0, -1]]
    found = pcdet.points_in_boxes_cpu(points, boxes)
    assert found.dtype == torch.int32 and found.tolist() == [[1, 1, 1, 0, 1, 0]]
    as_numpy = pcdet.points_in_boxes_cpu(points.double().numpy(), boxes.numpy())
    assert isinstance(as_numpy, np.ndarray) and as_numpy.tolist() == found.tolist()
    assert pcdet.points_in_boxes_cpu(points, boxes[:0]).shape == (0, 6)


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_pcdet_pooling(file):
    """OpenPCDet's margin moves points on faces only; away from those its answers are those of the fixtures."""
    case, (boxes, points, features) = pooling(file)
    if not case["origin"][0]:
        boxes[:, 2] += boxes[:, 5] / 2
    import pointmill

    out, m = tuple(case["out_size"].tolist()), int(case["max_points"][0])
    module = pcdet.RoIAwarePool3d(out, m)
    for method, mode in (("max", "max"), ("avg", "mean")):
        want = pointmill.roi_aware_pool3d(
            boxes, points, features, out_size=out, max_pts_per_voxel=m - 1, mode=mode, origin="center", margin=1e-5
        )
        assert_bits(module(boxes, points, features, pool_method=method).numpy(), want.pooled.numpy())
    with pytest.raises(ValueError, match="pool_method: expected 'max' or 'avg', got 'mean'"):
        module(boxes, points, features, "mean")


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_pcdet_voxel_generator(file):
    case = hard(file)
    columns = case["points"].shape[1]
    generator = pcdet.VoxelGeneratorWrapper(
        case["voxel_size"], case["range"], columns, int(case["max_points"]), int(case["max_voxels"])
    )
    for array, name in zip(generator.generate(case["points"]), ("voxels", "coords", "num_points")):
        assert_bits(array, case[name], name)


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_spconv(file):
    case = hard(file)
    points = torch.from_numpy(case["points"])
    generator = spconv.PointToVoxel(
        case["voxel_size"], case["range"], points.shape[1], int(case["max_voxels"]), int(case["max_points"])
    )
    assert generator.grid_size == case["dims"][::-1].tolist()
    voxels, indices, num_per_voxel, pc_voxel_id = generator.generate_voxel_with_id(points)
    for array, name in ((voxels, "voxels"), (indices, "coords"), (num_per_voxel, "num_points")):
        assert_bits(array.numpy(), case[name], name)
    assert_bits(pc_voxel_id.numpy(), case["point_to_voxel"].astype(np.int64), "pc_voxel_id")
    filled, _, _ = generator(points, empty_mean=True)
    for row in range(len(voxels)):
        n = num_per_voxel[row]
        assert torch.equal(filled[row, :n], voxels[row, :n])
        mean = torch.from_numpy(case["mean"][row])
        assert torch.equal(filled[row, n:], mean.expand(len(filled[row]) - n, -1))


def test_spconv_features_of_points():
    features = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    got = spconv.gather_features_by_pc_voxel_id(features, torch.tensor([1, -1, 0]), -5)
    assert got.tolist() == [[3, 4], [-5, -5], [1, 2]]
    with pytest.raises(ValueError, match=r"pc: expected an array of shape \[N, 4\], got shape \[2, 3\]"):
        spconv.PointToVoxel([1] * 3, [0, 0, 0, 4, 4, 4], 4, 10, 5)(torch.zeros(2, 3))


def test_arrays_that_are_no_tensors():
    """Where tensors are asked for, other arrays are refused by name."""
    points, boxes = np.zeros((1, 5, 3), np.float32), np.zeros((1, 2, 7), np.float32)
    tensors = torch.from_numpy(points), torch.from_numpy(boxes)
    scene = [boxes[0], points[0], points[0]]
    calls = [
        ("points", lambda: mmcv.voxelization(points[0], [1, 1, 1], [0, 0, 0, 4, 4, 1])),
        ("points", lambda: mmcv.voxelization(points=points[0], voxel_size=[1] * 3, coors_range=[0, 0, 0, 4, 4, 1])),
        ("points", lambda: mmcv.Voxelization([1, 1, 1], [0, 0, 0, 4, 4, 1], 5)(points[0])),
        ("points", lambda: mmcv.points_in_boxes_part(points, tensors[1])),
        ("boxes", lambda: mmcv.points_in_boxes_all(tensors[0], boxes)),
        ("boxes", lambda: mmcv.points_in_boxes_cpu(tensors[0], boxes=boxes)),
        ("rois", lambda: mmcv.RoIAwarePool3d(2)(*scene)),
        ("pts", lambda: pcdet.RoIAwarePool3d(2)(tensors[1][0], *scene[1:])),
        ("points", lambda: pcdet.points_in_boxes_gpu(points, tensors[1])),
        ("pc", lambda: spconv.PointToVoxel([1] * 3, [0, 0, 0, 4, 4, 1], 3, 9, 5)(points[0])),
        ("pc", lambda: spconv.PointToVoxel([1] * 3, [0, 0, 0, 4, 4, 1], 3, 9, 5).generate_voxel_with_id(points[0])),
    ]
    for name, refused in calls:
        with pytest.raises(TypeError, match=f"^{name}: expected a torch.Tensor .*, got numpy.ndarray$"):
            refused()
