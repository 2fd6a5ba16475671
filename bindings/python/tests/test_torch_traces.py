"""Where torch traces, transforms or wraps tensors, the results are those of eager mode; or a sentence says what does not work."""

import copy
import io
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import pointmill
import pointmill.torch as pt
from network import Small, both
from test_torch import RANGE, SIZE, cloud, scene

ROIS, PTS, FEATURES = scene()
OTHER = -FEATURES


def pool(features, mode="max"):
    return pt.roi_aware_pool3d(ROIS, PTS, features, 3, 8, mode)


def voxels(points):
    return pt.voxelize(points, SIZE, RANGE, 3, 64, padded=True)


def part(points):
    return pt.points_in_boxes_part(points, ROIS)


# What is called, what it is traced with, and what it is called with then.
CALLS = {
    "pool": (lambda f: pool(f), FEATURES, OTHER),
    "pool_mean": (lambda f: pool(f, "mean"), FEATURES, OTHER),
    "voxelize": (voxels, cloud(), cloud(seed=1)),
    "part": (part, PTS, PTS + 0.25),
}


def assert_equal(got, want):
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    assert len(got) == len(want) and all(map(torch.equal, got, want))


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


def test_jit_trace(call):
    function, first, then = call
    traced = torch.jit.trace(function, (first,))
    assert_equal(traced(then), function(then))
    # As a file too.
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    assert_equal(torch.jit.load(file)(then), function(then))


@pytest.mark.parametrize("before", [False, True], ids=["", "pre_dispatch"])
def test_make_fx_of_real_tensors(call, before):
    function, first, then = call
    graph = make_fx(function, tracing_mode="real", pre_dispatch=before)(first)
    assert_equal(graph(then), function(then))
    assert any("pointmill" in str(node.target) for node in graph.graph.nodes)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_make_fx_of_fake_tensors(mode):
    pooling = lambda rois, pts, features: pt.roi_aware_pool3d(rois, pts, features, 3, 8)
    graph = make_fx(pooling, tracing_mode=mode)(ROIS, PTS, FEATURES)
    assert_equal(graph(ROIS, PTS, OTHER), pool(OTHER))


def test_functionalize(call):
    function, first, _ = call
    assert_equal(torch.func.functionalize(function)(first), function(first))


def test_export():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.small = Small(SIZE, RANGE, max_voxels=64, padded=True)

        def forward(self, points, rois):
            return self.small(points, rois)

    net = Net().eval()
    for strict in (False, True):
        program = torch.export.export(net, (cloud(), ROIS), strict=strict)
        assert torch.allclose(program.module()(cloud(seed=1), ROIS), net(cloud(seed=1), ROIS))


@pytest.mark.parametrize("mode", ["max", "mean"])
def test_func_grad(mode):
    loss = lambda f: pool(f, mode).square().sum()
    leaf = FEATURES.clone().requires_grad_()
    (want,) = torch.autograd.grad(loss(leaf), leaf)
    assert torch.equal(torch.func.grad(loss)(FEATURES), want)
    each = torch.vmap(torch.func.grad(loss))(torch.stack([OTHER, FEATURES]))
    assert torch.equal(each[1], want) and not torch.equal(each[0], want)
    # Derivatives forwards and backwards are of one matrix.
    rows = torch.func.jacrev(lambda f: pool(f, mode).sum((1, 2, 3)))(FEATURES[:, :1].contiguous())
    columns = torch.func.jacfwd(lambda f: pool(f, mode).sum((1, 2, 3)))(FEATURES[:, :1].contiguous())
    assert rows.abs().sum() > 0 and torch.allclose(rows, columns)


@pytest.mark.parametrize("mode", ["max", "mean"])
def test_forward_derivatives(mode):
    """A tangent is not lost."""
    step = torch.randn_like(FEATURES)
    leaf = FEATURES.clone().requires_grad_()
    pooled = pool(leaf, mode)
    other = torch.randn_like(pooled)
    want = (torch.autograd.grad(pooled, leaf, other)[0] * step).sum()
    _, tangent = torch.func.jvp(lambda f: pool(f, mode), (FEATURES,), (step,))
    assert torch.allclose((tangent * other).sum(), want, rtol=1e-4)
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(pool(forward_ad.make_dual(FEATURES, step), mode))
        assert torch.equal(dual.tangent, tangent) and torch.equal(dual.primal, pooled)


def test_coordinates_have_no_derivatives():
    with pytest.raises(ValueError, match="^points: expected a tensor that does not require grad"):
        torch.func.grad(lambda p: voxels(p)[0].sum())(cloud())
    for name, function, tensor in (
        ("points", lambda p: voxels(p)[0], cloud()),
        ("points", part, PTS),
        ("pts", lambda p: pt.roi_aware_pool3d(ROIS, p, FEATURES, 2), PTS),
    ):
        with pytest.raises(ValueError, match=f"^{name}: expected a tensor without a tangent .*, got one with it"):
            torch.func.jvp(function, (tensor,), (tensor,))


def test_vmap():
    clouds = torch.stack([cloud(), cloud(seed=1)])
    assert_equal(torch.vmap(voxels)(clouds), tuple(map(torch.stack, zip(*map(voxels, clouds)))))
    assert_equal(torch.vmap(part)(torch.stack([PTS, PTS + 1])), torch.stack([part(PTS), part(PTS + 1)]))
    features = torch.stack([FEATURES, OTHER], 1)
    assert_equal(torch.vmap(pool, in_dims=1)(features), torch.stack([pool(FEATURES), pool(OTHER)]))
    scenes = torch.stack([PTS, PTS + 1]), torch.stack([ROIS, ROIS + 1])
    pooling = lambda pts, rois: pt.roi_aware_pool3d(rois, pts, FEATURES, 2, mode="mean")
    assert_equal(torch.vmap(pooling)(*scenes), torch.stack([pooling(*one) for one in zip(*scenes)]))
    with pytest.raises(ValueError, match="^padded: expected True under torch.vmap"):
        torch.vmap(lambda p: pt.voxelize(p, SIZE, RANGE))(clouds)


def test_several_gradients_at_once():
    leaf = FEATURES.clone().requires_grad_()
    pooled = pool(leaf)
    grads = torch.stack([torch.ones_like(pooled), torch.randn_like(pooled)])
    (both_at_once,) = torch.autograd.grad(pooled, leaf, grads, is_grads_batched=True, retain_graph=True)
    for got, grad in zip(both_at_once, grads):
        assert torch.equal(got, torch.autograd.grad(pooled, leaf, grad, retain_graph=True)[0])


@pytest.mark.parametrize("mode", ["max", "mean"])
@pytest.mark.parametrize("path", ["eager", "operator"])
def test_second_derivatives(mode, path):
    rois, pts, features = scene(n=60, boxes=3, channels=2)
    if path == "eager":
        pooled = lambda f: pt.roi_aware_pool3d(rois, pts, f, 2, 8, mode)
    else:
        pooled = lambda f: torch.ops.pointmill.roi_aware_pool3d(rois, pts, f, [2, 2, 2], 8, mode, "bottom", 0.0)[0]
    features.requires_grad_()
    # A cube of the result has a second derivative that is not zero.
    (first,) = torch.autograd.grad(pooled(features).pow(3).sum(), features, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), features)
    assert second.abs().sum() > 0
    assert torch.autograd.gradgradcheck(pooled, (features,), eps=0.25, atol=1e-2, rtol=1e-2)


def test_second_derivatives_of_nothing():
    features = torch.zeros(0, 2, requires_grad=True)
    pooled = pt.roi_aware_pool3d(ROIS, torch.zeros(0, 3), features, 2)
    (first,) = torch.autograd.grad(pooled.square().sum(), features, create_graph=True)
    assert torch.autograd.grad(first.sum(), features)[0].shape == (0, 2)


def test_fake_tensors_have_no_memory():
    """What goes past the operators is refused, and not read."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = [mode.from_tensor(t) for t in (ROIS, PTS, FEATURES)]
    message = "expected an array with memory .*, got one of shape .* at address 0"
    calls = {
        "points": lambda: pointmill.voxelize(fake[1], voxel_size=SIZE, point_cloud_range=RANGE),
        "rois": lambda: pointmill.roi_aware_pool3d(*fake, out_size=2),
        "boxes": lambda: pointmill.points_in_boxes_part(fake[1], fake[0]),
        "source": lambda: pointmill.icp(source=fake[1], target=fake[1]),
        "points ": lambda: pointmill.ndt.Grid(fake[1], resolution=1.0),
    }
    for name, refused in calls.items():
        with pytest.raises((ValueError, RuntimeError)) as error:
            refused()
        # torch may refuse the address itself.
        if isinstance(error.value, ValueError):
            assert error.match(f"^({name.strip()}|.*): {message}")
    # Wrapped by torch.func, but not seen by pointmill.torch.
    with pytest.raises((ValueError, RuntimeError)):
        torch.func.functionalize(lambda p: pointmill.points_in_boxes_part(p, ROIS))(PTS)


@pytest.mark.parametrize(
    "trace",
    [lambda f, x: torch.jit.trace(f, (x,)), lambda f, x: make_fx(f, tracing_mode="real")(x)],
    ids=["jit", "make_fx"],
)
def test_what_is_no_operator_refuses_to_be_recorded(trace):
    """Rather than to become a constant."""
    from pointmill.compat import mmcv, pcdet, spconv

    generator = spconv.PointToVoxel([1] * 3, RANGE, 3, 64, 5)
    calls = [
        lambda p: pointmill.voxelize(p, voxel_size=SIZE, point_cloud_range=RANGE).coords,
        lambda p: pointmill.points_in_boxes_part(p, ROIS),
        lambda p: pointmill.icp(source=p, target=PTS).target_from_source,
        lambda p: mmcv.voxelization(p, SIZE, RANGE)[1],
        lambda p: mmcv.points_in_boxes_part(p[None], ROIS[None]),
        lambda p: pcdet.points_in_boxes_gpu(p[None], ROIS[None]),
        lambda p: generator(p)[1],
    ]
    message = "^(points|boxes|source): expected a tensor of a call that torch does not record"
    for function in calls:
        with pytest.raises(ValueError, match=message):
            trace(function, PTS)


def test_modes_that_only_look_change_nothing():
    from torch.utils.flop_counter import FlopCounterMode

    want = pointmill.points_in_boxes_part(PTS, ROIS)
    with FlopCounterMode(display=False):
        assert_equal(pointmill.points_in_boxes_part(PTS, ROIS), want)
        assert_equal(part(PTS), want)


def test_autocast():
    net = Small(SIZE, RANGE, max_voxels=64, padded=False)
    with torch.autocast("cpu", torch.bfloat16):
        loss = net(cloud(), ROIS)
    loss.float().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())


def test_data_parallel(tmp_path):
    """In one process, by gloo."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        torch.manual_seed(0)
        net = Small(SIZE, RANGE, max_voxels=64, padded=False)
        wrapped = torch.nn.parallel.DistributedDataParallel(net)
        for got, want in both(net, wrapped, cloud(), ROIS):
            assert torch.equal(got, want)
    finally:
        torch.distributed.destroy_process_group()


def test_modules_copy_and_pickle():
    module = pt.Voxelization(SIZE, RANGE, max_voxels=(np.int64(10), np.int64(20)))
    pooling = pt.RoIAwarePool3d(np.int64(3), np.int64(8))
    for again in (copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))):
        assert_equal(again(module)(cloud()), module(cloud()))
        assert_equal(again(pooling)(ROIS, PTS, FEATURES), pooling(ROIS, PTS, FEATURES))
    net = Small(SIZE, RANGE, max_voxels=np.int64(64), padded=False)
    net(cloud(), ROIS).backward()
    assert_equal(copy.deepcopy(net)(cloud(), ROIS), net(cloud(), ROIS))


def test_numbers_of_numpy():
    """Whole numbers may be of numpy, in eager mode and in a trace."""
    several = lambda p: pt.voxelize(p, np.array(SIZE), np.array(RANGE), np.int64(3), np.int32(64), padded=True)
    assert_equal(several(cloud()), voxels(cloud()))
    splits = lambda p: pt.voxelize(p, SIZE, RANGE, row_splits=np.array([0, 100, 300]))
    assert_equal(splits(cloud()), pt.voxelize(cloud(), SIZE, RANGE, row_splits=[0, 100, 300]))
    pooling = lambda f: pt.roi_aware_pool3d(ROIS, PTS, f, np.int64(3), np.int64(8))
    assert_equal(pooling(FEATURES), pool(FEATURES))
    for function, x, y in ((several, cloud(), cloud(seed=1)), (pooling, FEATURES, OTHER)):
        assert_equal(torch.jit.trace(function, (x,))(y), function(y))


def test_arrays_that_are_no_tensors():
    rois, pts, features = (t.numpy() for t in (ROIS, PTS, FEATURES))
    message = r": expected a torch.Tensor \(the functions of pointmill itself take other arrays\), got numpy.ndarray$"
    calls = {
        "points": [
            lambda: pt.voxelize(pts, SIZE, RANGE),
            lambda: pt.Voxelization(SIZE, RANGE)(pts),
            lambda: pt.points_in_boxes_part(pts, ROIS),
        ],
        "boxes": [lambda: pt.points_in_boxes_part(PTS, rois)],
        "rois": [lambda: pt.roi_aware_pool3d(rois, PTS, FEATURES, 2)],
        "pts": [lambda: pt.roi_aware_pool3d(ROIS, pts, FEATURES, 2)],
        "pts_feature": [lambda: pt.RoIAwarePool3d(2)(ROIS, PTS, features)],
    }
    for name, refused in calls.items():
        for one in refused:
            with pytest.raises(TypeError, match=f"^{name}{message}"):
                one()
