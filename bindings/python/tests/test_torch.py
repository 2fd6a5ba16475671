"""pointmill.torch on the CPU: modules, operators, gradients and compilation."""

import gc
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pointmill
import pointmill.torch as pt
from conftest import assert_bits, fixture_files
from network import Small, both

RANGE = [-10.0, -10.0, -2.0, 10.0, 10.0, 2.0]
SIZE = [1.0, 1.0, 1.0]


def cloud(n=300, columns=4, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.uniform(-10, 10, (n, columns)).astype(np.float32))


def scene(n=200, boxes=5, channels=3, seed=0, dtype=torch.float32):
    rng = np.random.default_rng(seed)
    pts = rng.uniform(-3, 3, (n, 3)).astype(np.float32)
    rois = np.concatenate(
        [rng.uniform(-2, 2, (boxes, 3)), rng.uniform(1, 4, (boxes, 3)), rng.uniform(-3, 3, (boxes, 1))], 1
    )
    features = rng.permutation(n * channels).reshape(n, channels).astype(np.float32)
    make = lambda a: torch.from_numpy(a.astype(np.float32))
    return make(rois), make(pts), make(features).to(dtype)


def test_voxelization_module():
    module = pt.Voxelization(SIZE, RANGE, max_num_points=3, max_voxels=(10, 20))
    points = cloud()
    voxels, coords, num_points = module(points)
    assert voxels.shape == (10, 3, 4) and coords.shape == (10, 3) and num_points.shape == (10,)
    assert voxels.dtype == torch.float32 and coords.dtype == num_points.dtype == torch.int32
    assert module.eval()(points)[0].shape == (20, 3, 4)
    want = pointmill.voxelize(
        points.numpy(), voxel_size=SIZE, point_cloud_range=RANGE, max_num_points=3, max_voxels=20
    )
    assert_bits(module(points)[0].numpy(), want.voxels)
    assert "max_num_points=3" in repr(module)
    how = {"max_num_points": 1, "pick": "random", "seed": 5}
    want = pointmill.voxelize(points.numpy(), voxel_size=SIZE, point_cloud_range=RANGE, **how)
    assert_bits(pt.Voxelization(SIZE, RANGE, **how)(points)[0].numpy(), want.voxels)
    exported = torch.compile(lambda p: pt.voxelize(p, SIZE, RANGE, padded=True, **how)[0][: len(want.voxels)], backend="eager")
    assert_bits(exported(points).numpy(), want.voxels)
    with pytest.raises(ValueError, match="max_voxels: expected a number or a pair"):
        pt.Voxelization(SIZE, RANGE, max_voxels=(1, 2, 3))


def test_batches_and_means():
    points = cloud()
    module = pt.Voxelization(SIZE, RANGE, mean=True)
    mean, coords, _ = module(points, [0, 100, 300])
    parts = [module(points[:100])[0], module(points[100:].contiguous())[0]]
    assert coords.shape[1] == 4 and coords[:, 0].tolist() == [0] * len(parts[0]) + [1] * len(parts[1])
    assert torch.equal(mean, torch.cat(parts))


def test_parameters_and_subclasses_are_tensors():
    points = torch.nn.Parameter(cloud(), requires_grad=False)
    assert torch.equal(pt.voxelize(points, SIZE, RANGE)[1], pt.voxelize(points.data, SIZE, RANGE)[1])


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("splits", [None, [0, 100, 300]])
def test_opcheck_voxelize(padded, mean, splits):
    args = (cloud(), SIZE, RANGE, 3, 50, "first-seen", mean, padded, splits)
    for how in [(), ("random", 7), ("round-robin", 0, 3)]:
        torch.library.opcheck(torch.ops.pointmill.voxelize.default, args + how)


@pytest.mark.parametrize("mode", ["max", "mean"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_opcheck_pooling(mode, dtype):
    rois, pts, features = scene(dtype=dtype)
    features.requires_grad_()
    args = (rois, pts, features, [2, 3, 2], 8, mode, "bottom", 0.0)
    torch.library.opcheck(torch.ops.pointmill.roi_aware_pool3d.default, args)
    pooled, argmax = torch.ops.pointmill.roi_aware_pool3d(*args)
    args = (rois, pts, argmax, torch.ones_like(pooled.detach()), [2, 3, 2], 8, mode, "bottom", 0.0)
    torch.library.opcheck(torch.ops.pointmill.roi_aware_pool3d_backward.default, args)


def test_opcheck_points_in_boxes():
    rois, pts, _ = scene()
    torch.library.opcheck(torch.ops.pointmill.points_in_boxes_part.default, (pts, rois, "bottom", 0.0))


@pytest.mark.parametrize("mode", ["max", "mean"])
@pytest.mark.parametrize("path", ["eager", "operator"])
def test_gradcheck(mode, path):
    """Features are whole numbers apart, so that a step of a quarter moves no maximum; pooling is linear in between, and single precision is enough."""
    rois, pts, features = scene(n=60, boxes=3, channels=2)
    features.requires_grad_()
    if path == "eager":
        pool = lambda f: pt.roi_aware_pool3d(rois, pts, f, 2, 8, mode)
    else:
        pool = lambda f: torch.ops.pointmill.roi_aware_pool3d(rois, pts, f, [2, 2, 2], 8, mode, "bottom", 0.0)[0]
    assert pool(features).abs().sum() > 0
    assert torch.autograd.gradcheck(pool, (features,), eps=0.25, atol=1e-3, rtol=1e-3, nondet_tol=0.0)


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_gradients_of_fixtures(file):
    case = dict(np.load(file))
    if "grad_pooled" not in case or "box_splits" in case or case["geometry_type"][0] or case["feature_type"][0]:
        pytest.skip("no gradient of single precision in it")
    if case["out_size"].astype(np.int64).prod() * len(case["boxes"]) * case["features"].shape[1] > 1 << 24:
        pytest.skip("too large when dense")
    tensors = [torch.from_numpy(case[name]) for name in ("boxes", "points")]
    at = [torch.from_numpy(case["coords"][:, k].astype(np.int64)) for k in range(4)]
    for mode in ("max", "mean"):
        features = torch.from_numpy(case["features"]).requires_grad_()
        pooled = pt.roi_aware_pool3d(
            *tensors,
            features,
            case["out_size"].tolist(),
            int(case["max_points"][0]) - 1,
            mode,
            origin=["bottom", "center"][int(case["origin"][0])],
            margin=float(case["margin"][0]),
        )
        grad = torch.zeros_like(pooled)
        grad[tuple(at)] = torch.from_numpy(case["grad_pooled"])
        pooled.backward(grad)
        assert_bits(features.grad.numpy(), case[f"grad_{mode}"], mode)


@pytest.mark.parametrize("mode", ["max", "mean"])
def test_gradients_come_late(mode):
    """Several poolings before their gradients, as loops over samples do it: each gradient is that of its own boxes."""
    scenes = [scene(seed=s, boxes=4 + s) for s in range(3)]
    want = []
    for rois, pts, features in scenes:
        f = features.clone().requires_grad_()
        pt.roi_aware_pool3d(rois, pts, f, 3, 8, mode).square().sum().backward()
        want.append(f.grad)
    leaves = [features.clone().requires_grad_() for _, _, features in scenes]
    pooled = [pt.roi_aware_pool3d(rois, pts, f, 3, 8, mode) for (rois, pts, _), f in zip(scenes, leaves)]
    sum(p.square().sum() for p in pooled).backward()
    for leaf, grad in zip(leaves, want):
        assert torch.equal(leaf.grad, grad)


def test_strided_gradients():
    rois, pts, features = scene()
    features.requires_grad_()
    pooled = pt.roi_aware_pool3d(rois, pts, features, 2)
    pooled.sum().backward()
    want = features.grad.clone()
    features.grad = None
    pt.roi_aware_pool3d(rois, pts, features, 2).permute(4, 0, 1, 2, 3).sum().backward()
    assert torch.equal(features.grad, want)


def test_changed_in_place_is_noticed():
    rois, pts, features = scene()
    features.requires_grad_()
    pooled = pt.roi_aware_pool3d(rois, pts, features, 2)
    pts.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pooled.sum().backward()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("padded", [True, False])
def test_compile(backend, padded):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles C++")
    torch.manual_seed(0)
    torch._dynamo.reset()
    module, (rois, _, _) = Small(SIZE, RANGE, max_voxels=64, padded=padded), scene()
    compiled = torch.compile(module, backend=backend, fullgraph=padded, dynamic=False)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for points in (cloud(), cloud(seed=1)):
            for got, want in both(module, compiled, points, rois):
                assert torch.allclose(got, want)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    rois, pts, features = scene()
    with FakeTensorMode() as mode:
        fake = [mode.from_tensor(t) for t in (rois, pts, features)]
        assert pt.roi_aware_pool3d(*fake, 3).shape == (5, 3, 3, 3, 3)
        assert pt.points_in_boxes_part(fake[1], fake[0]).shape == (200,)
        assert pt.voxelize(fake[1], SIZE, RANGE, padded=True, max_voxels=9)[0].shape == (9, 10, 3)


def test_coordinates_want_no_gradient():
    rois, pts, features = scene()
    message = "expected a tensor that does not require grad .*, got requires_grad=True"
    for k, name in enumerate(["rois", "pts"]):
        args = [rois, pts, features]
        args[k] = args[k].clone().requires_grad_()
        with pytest.raises(ValueError, match=f"^{name}: {message}"):
            pt.roi_aware_pool3d(*args, 2)
        with torch.no_grad():
            pt.roi_aware_pool3d(*args, 2)
    with pytest.raises(ValueError, match=f"^points: {message}"):
        pt.voxelize(cloud().requires_grad_(), SIZE, RANGE)
    with pytest.raises(ValueError, match=f"^points: {message}"):
        pointmill.voxelize(cloud().requires_grad_(), voxel_size=SIZE, point_cloud_range=RANGE)
    with pytest.raises(ValueError, match=f"^pts_feature: {message}"):
        pointmill.roi_aware_pool3d(rois, pts, features.requires_grad_(), out_size=2)


def test_what_is_no_dense_tensor():
    with pytest.raises(TypeError, match="^points: expected a dense tensor, got one of layout torch.sparse_coo"):
        pt.voxelize(cloud().to_sparse(), SIZE, RANGE)
    with pytest.raises(ValueError, match="^points: expected a tensor on the CPU or an NVIDIA GPU, got one on meta"):
        pt.voxelize(cloud().to("meta"), SIZE, RANGE)
    imaginary = torch.view_as_complex(torch.zeros(9, 3, 2)).conj().imag
    with pytest.raises(ValueError, match="^points: expected a tensor without its negative bit"):
        pt.voxelize(imaginary, SIZE, RANGE)


def test_results_share_nothing_with_the_operator():
    gc.collect()
    results = [pt.voxelize(cloud(seed=s), SIZE, RANGE)[0] for s in range(10)]
    assert len({r.data_ptr() for r in results}) == 10
