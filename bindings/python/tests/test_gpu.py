"""pointmill on a GPU, with torch: memory in place, streams, lifetimes, and as many calls as there are in a long run.

Skipped where torch finds no GPU.
"""

import copy
import gc
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

import pointmill
import pointmill.torch as pt
from conftest import assert_bits, fixture_files
from network import Small, both
from processes import forked

RANGE = [-10.0, -10.0, -2.0, 10.0, 10.0, 2.0]
SIZE = [0.5, 0.5, 0.5]
GRID = dict(voxel_size=SIZE, point_cloud_range=RANGE)
GPU = torch.device("cuda", 0)


def cloud(n=20_000, columns=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-10, 10, (n, columns)).astype(np.float32)


def scene(n=4000, boxes=30, channels=8, seed=0):
    rng = np.random.default_rng(seed)
    pts = rng.uniform(-10, 10, (n, 3)).astype(np.float32)
    rois = np.concatenate(
        [rng.uniform(-8, 8, (boxes, 3)), rng.uniform(1, 5, (boxes, 3)), rng.uniform(-3, 3, (boxes, 1))], 1
    ).astype(np.float32)
    return rois, pts, rng.normal(size=(n, channels)).astype(np.float32)


def gpu(*arrays):
    tensors = [torch.from_numpy(a).to(GPU) for a in arrays]
    return tensors if len(tensors) > 1 else tensors[0]


def bits(tensor):
    tensor = tensor.cpu()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def voxel_arrays(result):
    names = ["coords", "num_points", "voxels", "mean", "point_to_voxel", "row_splits", "indices", "voxel_splits"]
    return {name: getattr(result, name) for name in names if getattr(result, name) is not None}


def assert_same(got, want):
    """A result of the GPU has the bits of one of numpy."""
    got, want = voxel_arrays(got), voxel_arrays(want)
    assert got.keys() == want.keys()
    for name, tensor in got.items():
        assert tensor.device == GPU and tensor.is_contiguous()
        assert_bits(bits(tensor), want[name], name)


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_fixtures_of_voxelize(file):
    case = dict(np.load(file))
    dynamic = int(case["max_points"]) <= 0
    params = dict(
        voxel_size=case["voxel_size"],
        point_cloud_range=case["range"],
        max_num_points=None if dynamic else int(case["max_points"]),
        max_voxels=int(case["max_voxels"]),
        order=["first-seen", "sorted"][int(case["order"])],
        strict_range=bool(case["strict_range"]),
        row_splits=case["row_splits"].tolist() if "row_splits" in case else None,
    )
    many = dict(mean="float32", point_to_voxel=True)
    for more in ({}, many, {**many, "lists": True}, {"mean": "float16"}, {"padded": True, "mean": "float32"}):
        got = pointmill.voxelize(gpu(case["points"]), **params, **more)
        assert_same(got, pointmill.voxelize(case["points"], **params, **more))
        assert got.num_voxels == (None if more.get("padded") else len(case["coords"]))
    report = pointmill.voxelize(gpu(case["points"]), report=True, **params).report
    assert report == pointmill.voxelize(case["points"], **params).report


@pytest.mark.parametrize("file", fixture_files("roi_pool"))
def test_fixtures_of_roi_pool(file):
    case = dict(np.load(file))
    if "box_splits" in case:
        pytest.skip("batches are pooled by one call a sample")
    types = [torch.float32, torch.float16, torch.bfloat16]

    def make(values, kind):
        kind = types[int(kind)]
        raw = values if kind == torch.float32 else values.view(np.int16)
        return torch.from_numpy(np.ascontiguousarray(raw)).to(GPU).view(kind)

    rois, pts = (make(case[name], case["geometry_type"][0]) for name in ("boxes", "points"))
    features = make(case["features"], case["feature_type"][0])
    place = dict(origin=["bottom", "center"][int(case["origin"][0])], margin=float(case["margin"][0]))
    params = dict(out_size=case["out_size"], max_pts_per_voxel=int(case["max_points"][0]) - 1, **place)
    for mode in ("max", "mean"):
        sparse = pointmill.roi_aware_pool3d(rois, pts, features, mode=mode, layout="sparse", **params)
        assert_bits(bits(sparse.coords), case["coords"], "coords")
        assert_bits(bits(sparse.pooled), case[f"sparse_{mode}"], "sparse pooled")
        assert_bits(bits(sparse.indices), case["indices"], "indices")
        if "row_splits" not in case:
            continue
        lists = "point_indices" in case
        for layout in ("dense", "csr"):
            got = pointmill.roi_aware_pool3d(rois, pts, features, mode=mode, layout=layout, lists=lists, **params)
            args = [t.cpu() for t in (rois, pts, features)]
            want = pointmill.roi_aware_pool3d(*args, mode=mode, layout=layout, lists=lists, **params)
            for name in ("pooled", "argmax", "point_indices", "row_splits", "indices"):
                a, b = getattr(got, name), getattr(want, name)
                assert (a is None) == (b is None), name
                if a is not None:
                    assert_bits(bits(a), bits(b), name)
    assert_bits(bits(pointmill.points_in_boxes_part(pts, rois, **place)), case["part"], "part")
    assert_bits(bits(pointmill.points_in_boxes_count(pts, rois, **place)), case["count"], "count")
    for function, names in (
        (pointmill.points_in_boxes_all, ("all_splits", "all_boxes")),
        (pointmill.points_in_boxes_crop, ("crop_splits", "crop_indices")),
    ):
        for array, name in zip(function(pts, rois, **place), names):
            assert_bits(bits(array), case[name], name)
    words = bits(pointmill.points_in_boxes_all(pts, rois, layout="bits", **place))
    unpacked = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    assert_bits(unpacked[:, : len(rois)], case["all"], "all")


@pytest.mark.parametrize("mode", ["max", "mean"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("channels", [1, 3, 16])
def test_gradients_are_those_of_the_cpu(mode, dtype, channels):
    rois, pts, features = scene(channels=channels)
    grads = []
    for place in ("cpu", GPU):
        f = torch.from_numpy(features).to(place, dtype).requires_grad_()
        pooled = pt.roi_aware_pool3d(torch.from_numpy(rois).to(place), torch.from_numpy(pts).to(place), f, 7, 9, mode)
        (pooled * 3).sum().backward()
        grads.append(f.grad)
    assert_bits(bits(grads[1]), bits(grads[0]))


def test_gradients_come_late():
    scenes = [gpu(*scene(seed=s)) for s in range(4)]
    alone = []
    for rois, pts, f in scenes:
        leaf = f.clone().requires_grad_()
        pt.roi_aware_pool3d(rois, pts, leaf, 6).square().sum().backward()
        alone.append(leaf.grad)
    leaves = [f.clone().requires_grad_() for _, _, f in scenes]
    sum(pt.roi_aware_pool3d(r, p, leaf, 6).square().sum() for (r, p, _), leaf in zip(scenes, leaves)).backward()
    assert all(torch.equal(leaf.grad, grad) for leaf, grad in zip(leaves, alone))


def test_operators():
    args = (gpu(cloud(2000)), SIZE, RANGE, 3, 500, "first-seen", False)
    torch.library.opcheck(torch.ops.pointmill.voxelize.default, (*args, True, None))
    torch.library.opcheck(torch.ops.pointmill.voxelize.default, (*args, False, None))
    rois, pts, features = gpu(*scene())
    features.requires_grad_()
    args = (rois, pts, features, [4, 4, 4], 8, "max", "bottom", 0.0)
    torch.library.opcheck(torch.ops.pointmill.roi_aware_pool3d.default, args)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(backend):
    if backend == "inductor" and not (importlib.util.find_spec("triton") and shutil.which("gcc")):
        pytest.skip("inductor compiles for GPUs by triton, which needs gcc")
    torch.manual_seed(0)
    torch._dynamo.reset()
    module, rois = Small(SIZE, RANGE, max_voxels=900, padded=True).to(GPU), gpu(*scene())[0]
    compiled = torch.compile(module, backend=backend, fullgraph=True, dynamic=False)
    for seed in range(2):
        points = gpu(cloud(4000, seed=seed))
        (loss, want), *grads = both(module, compiled, points, rois)
        torch.testing.assert_close(loss, want, rtol=1e-4, atol=1e-3)
        for got, want in grads:
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-2)


def test_results_are_made_in_torchs_memory():
    points = gpu(cloud())
    pointmill.voxelize(points, **GRID)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    result = pointmill.voxelize(points, **GRID)
    assert torch.cuda.memory_allocated() > before
    del result
    assert torch.cuda.memory_allocated() == before


def busy(milliseconds=30):
    """Keeps the current stream busy."""
    torch.cuda._sleep(int(milliseconds * 1.7e6))


@pytest.mark.parametrize("default", [True, False])
def test_work_is_on_the_current_stream(default):
    """What the points are is written late on the current stream, and the call sees it; nothing else waits."""
    want = pointmill.voxelize(cloud(seed=7), **GRID)
    source = gpu(cloud(seed=7))
    points = torch.empty_like(source)
    stream = torch.cuda.default_stream() if default else torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            points.fill_(float("nan"))
            busy()
            points.copy_(source)
            result = pointmill.voxelize(points, **GRID)
            points.fill_(float("nan"))
            assert_same(result, want)


def test_padded_results_and_dense_pools_wait_for_nothing():
    points, (rois, pts, features) = gpu(cloud()), gpu(*scene())
    features.requires_grad_()

    def work():
        voxels = pointmill.voxelize(points, padded=True, max_voxels=5000, **GRID)
        pooled = pt.roi_aware_pool3d(rois, pts, features, 6)
        pooled.sum().backward()
        return voxels, pointmill.points_in_boxes_part(pts, rois)

    work()
    torch.cuda.synchronize()
    busy(200)
    start = time.perf_counter()
    kept = work()
    queued = time.perf_counter() - start
    assert not torch.cuda.current_stream().query(), "the stream is still busy"
    torch.cuda.synchronize()
    assert time.perf_counter() - start > 0.1 > queued
    assert kept[0].num_voxels is None


def test_tensors_freed_in_flight():
    """An input is let go while the work with it is under way, and its memory is used again at once, on the same stream."""
    want = pointmill.voxelize(cloud(seed=3), padded=True, max_voxels=30_000, **GRID)
    source = gpu(cloud(seed=3))
    results = []
    for _ in range(20):
        busy(3)
        points = source.clone()
        results.append(pointmill.voxelize(points, padded=True, max_voxels=30_000, **GRID))
        del points
        torch.full_like(source, float("nan"))
    for result in results:
        assert_same(result, want)


def test_streams_have_operators_of_their_own():
    """Work on many streams at once gives what it gives alone."""
    streams = [torch.cuda.Stream() for _ in range(6)]
    clouds = [cloud(seed=s) for s in range(6)]
    want = [pointmill.voxelize(c, mean="float32", **GRID) for c in clouds]
    points = [gpu(c) for c in clouds]
    torch.cuda.synchronize()
    results = []
    for _ in range(10):
        for stream, p in zip(streams, points):
            with torch.cuda.stream(stream):
                results.append(pointmill.voxelize(p, mean="float32", padded=True, max_voxels=20_000, **GRID))
    torch.cuda.synchronize()
    for k, result in enumerate(results):
        rows = len(want[k % 6].coords)
        assert_bits(bits(result.coords[:rows]), want[k % 6].coords)
        assert_bits(bits(result.mean[:rows]), want[k % 6].mean)


def test_more_operators_than_are_kept():
    """Operators go when there are too many; what they computed stays."""
    points = gpu(cloud())
    want = {k: pointmill.voxelize(cloud(), **{**GRID, "max_num_points": k}) for k in range(1, 41)}
    for _ in range(3):
        for k, result in [(k, pointmill.voxelize(points, **{**GRID, "max_num_points": k})) for k in want]:
            assert_same(result, want[k])
    pointmill.clear_cache()
    assert_same(pointmill.voxelize(points, **{**GRID, "max_num_points": 5}), want[5])


def test_a_stream_that_is_gone():
    """The operator of a stream outlives it, and is let go later."""
    from torch.cuda import ExternalStream

    runtime = torch.cuda.cudart()
    if not hasattr(runtime, "cudaStreamCreate"):
        pytest.skip("this torch cannot make a stream that ends")
    handle = torch.zeros(1, dtype=torch.int64)
    if int(runtime.cudaStreamCreate(handle.data_ptr())) != 0:
        pytest.skip("no stream")
    points = gpu(cloud())
    torch.cuda.synchronize()
    with torch.cuda.stream(ExternalStream(int(handle))):
        pointmill.voxelize(points, **GRID)
    torch.cuda.synchronize()
    runtime.cudaStreamDestroy(int(handle))
    pointmill.clear_cache()
    assert_same(pointmill.voxelize(points, **GRID), pointmill.voxelize(cloud(), **GRID))


LOST = """
import torch, pointmill
grid = dict(voxel_size=[0.5] * 3, point_cloud_range=[-10, -10, -2, 10, 10, 2])
points = torch.rand((1000, 4), device="cuda")
boxes = torch.tensor([[0.0, 0, 0, 4, 4, 4, 0]], device="cuda")
assert pointmill.voxelize(points, **grid).num_voxels > 0
# A kernel of torch's reads past an array: that assertion is the end of the context.
torch.zeros(3, device="cuda")[torch.tensor([1 << 30], device="cuda")]
calls = [
    lambda: pointmill.voxelize(points, **grid),
    lambda: pointmill.voxelize(points, padded=True, **grid),
    lambda: pointmill.points_in_boxes_count(points[:, :3].contiguous(), boxes),
]
for call in calls:
    for _ in range(2):
        try:
            call()
            torch.cuda.synchronize()
        except Exception as error:
            print("told:", type(error).__name__, error)
pointmill.clear_cache()
print("cpu:", pointmill.voxelize(points.new_zeros((1, 4), device="cpu").numpy(), **grid).num_voxels)
"""


def test_a_lost_gpu_is_told():
    """After an error that ends the context each call is an error, none a crash or a wait without an end, and the CPU goes on."""
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=120, check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith("told:")]
    assert len(told) == 6 and all("Error" in line for line in told), done.stdout + done.stderr
    assert any("CUDA_ERROR_ASSERT" in line or "device-side assert" in line for line in told), told
    assert "cpu: 1" in done.stdout and done.returncode == 0, done.stdout + done.stderr


def test_other_libraries():
    """Through DLPack, results are capsules that own their memory and may be taken twice."""

    class Bare:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **kwargs):
            return self.tensor.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    want = pointmill.voxelize(cloud(), mean="float32", **GRID)
    result = pointmill.voxelize(Bare(gpu(cloud())), mean="float32", **GRID)
    first, second = (torch.from_dlpack(result.voxels) for _ in range(2))
    coords = torch.from_dlpack(result.coords)
    del result
    gc.collect()
    pointmill.voxelize(gpu(cloud(seed=9)), **GRID)
    assert first.device == GPU
    assert_bits(bits(first), want.voxels)
    assert_bits(bits(second), want.voxels)
    assert_bits(bits(coords), want.coords)
    rois, pts, features = scene()
    pooled = pointmill.roi_aware_pool3d(*(Bare(t) for t in gpu(rois, pts, features)), out_size=5).pooled
    assert_bits(bits(torch.from_dlpack(pooled)), pointmill.roi_aware_pool3d(rois, pts, features, out_size=5).pooled)


def test_bad_input():
    points, (rois, pts, features) = gpu(cloud()), gpu(*scene())
    for kind, message, call in (
        (ValueError, "points: expected coordinates that float32 holds to 1 mm, got some that it moves by ", lambda: pointmill.voxelize(points.double() + 1e7 + 1e-2, **GRID)),
        (ValueError, "points: expected an array of shape", lambda: pointmill.voxelize(points[None], **GRID)),
        (ValueError, "pts: expected an array on cuda:0, as rois, got one on the CPU", lambda: pt.roi_aware_pool3d(rois, pts.cpu(), features, 2)),
        (ValueError, "pts_feature: expected an array on cuda:0", lambda: pt.roi_aware_pool3d(rois, pts, features.cpu(), 2)),
        (ValueError, "points: expected an array on the CPU, as boxes", lambda: pt.points_in_boxes_part(pts, rois.cpu())),
        (ValueError, "requires_grad=True", lambda: pointmill.voxelize(points.clone().requires_grad_(), **GRID)),
    ):
        with pytest.raises(kind) as error:
            call()
        assert message in str(error.value), str(error.value)
    with pytest.raises((MemoryError, torch.cuda.OutOfMemoryError)):
        pointmill.voxelize(points, padded=True, max_voxels=(1 << 30) - 1, max_num_points=100_000, **GRID)
    assert_same(pointmill.voxelize(points, **GRID), pointmill.voxelize(cloud(), **GRID))


def test_nothing_is_something():
    empty = torch.zeros((0, 4), device=GPU)
    result = pointmill.voxelize(empty, mean="float32", point_to_voxel=True, **GRID)
    assert result.coords.shape == (0, 3) and result.voxels.shape == (0, 10, 4) and result.num_voxels == 0
    rois, pts = torch.zeros((0, 7), device=GPU), torch.zeros((0, 3), device=GPU)
    assert pt.roi_aware_pool3d(rois, pts, pts, 2).shape == (0, 2, 2, 2, 3)
    assert pt.points_in_boxes_part(pts, rois).shape == (0,)


def test_graphs():
    """A padded call can be captured by torch once it has run with the largest cloud."""
    points = gpu(cloud(seed=1))
    params = dict(padded=True, max_voxels=30_000, **GRID)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        pointmill.voxelize(points, **params)
        side.synchronize()
        with torch.cuda.graph(graph, stream=side):
            result = pointmill.voxelize(points, **params)
    for seed in (2, 3):
        points.copy_(gpu(cloud(seed=seed)))
        # Calls between do not disturb what was recorded.
        pointmill.voxelize(gpu(cloud(60_000, seed=9)), **params)
        graph.replay()
        torch.cuda.synchronize()
        assert_same(result, pointmill.voxelize(cloud(seed=seed), **params))


def cells_of(seed):
    rng = np.random.default_rng(seed)
    cells = np.unique(rng.integers(0, 64, (9000, 3)), axis=0)
    return rng.permutation(cells)[:8000].astype(np.int32)


def front_end():
    """Operators of a detector that take capacities: what each makes of a seed, and of tensors."""
    frame = dict(shape=(64, 64, 64), batch=1)
    strided = dict(kind="strided", kernel=3, stride=2, padding=1, capacity=9000)

    def coords(cells):
        return np.concatenate([np.zeros((len(cells), 1), np.int32), cells[:, ::-1]], 1)

    def boxes(seed):
        rng = np.random.default_rng(seed)
        sizes = np.column_stack([rng.uniform(-30, 30, (500, 3)), rng.uniform(1, 5, (500, 3)), rng.uniform(-3, 3, 500)])
        return [sizes.astype(np.float32), rng.uniform(0, 1, 500).astype(np.float32)]

    def values(seed):
        rng = np.random.default_rng(seed)
        rows = np.where(rng.random(4000) < 0.2, 7, rng.integers(-1, 900, 4000))
        splits = np.sort(np.append(rng.integers(0, 4001, 899), [0, 4000]))
        return [rng.standard_normal((4000, 8)).astype(np.float32), rows, splits]

    def pillars(seed):
        rng = np.random.default_rng(seed)
        cells = np.column_stack([np.zeros(2000, np.int64), rng.integers(0, 400, (2000, 3))])
        return [rng.uniform(-9, 9, (2000, 20, 4)).astype(np.float32), rng.integers(0, 21, 2000), cells]

    def pooling(seed):
        points, (sizes, _) = cloud(seed=seed), boxes(seed)
        return [sizes[:40], points[:, :3].copy(), points]

    def pooled(cells):
        (codes, order, inverse), stages = pt.pool_hierarchy(
            cells, items=1, depth=6, capacities=[8000, 6000, 500, 100]
        )
        return [codes, order, inverse, *(tensor for stage in stages for tensor in stage)]

    return {
        "grid_sample": (lambda seed: [cloud(seed=seed)], lambda p: pt.grid_sample(p, 0.4, capacity=19_000)),
        "serialize": (lambda seed: [cells_of(seed)], lambda c: pt.serialize(c, items=1, depth=6)),
        "pool_hierarchy": (lambda seed: [cells_of(seed)], pooled),
        "submanifold": (lambda seed: [coords(cells_of(seed))], lambda c: pt.index_pairs(c, **frame)),
        "strided": (lambda seed: [coords(cells_of(seed))], lambda c: pt.index_pairs(c, **frame, **strided)),
        "nms": (boxes, lambda b, s: pt.nms(b, s, 0.2, padded=True, post_max=83)),
        "boxes_iou": (boxes, lambda b, s: [pt.boxes_iou(b, b)]),
        "voxelize": (lambda seed: [cloud(seed=seed)], lambda p: pt.voxelize(p, **GRID, max_voxels=30_000, padded=True)),
        "pillar_features": (pillars, lambda *given: [pt.pillar_features(*given, features=10)]),
        "roi_aware_pool3d": (pooling, lambda *given: [pt.roi_aware_pool3d(*given, 7)]),
        "scatter": (values, lambda v, row, _: [pt.scatter(v, row, 900, reduce=how) for how in ("sum", "mean", "min", "max")]),
        "segment_csr": (values, lambda v, _, splits: [pt.segment_csr(v, splits, reduce=how) for how in ("mean", "max")]),
        "densify": (
            lambda seed: [cloud(seed=seed), cloud(seed=seed + 9)],
            lambda a, b: [pt.densify([a, b], torch.eye(4).repeat(2, 1, 1), torch.tensor([0.0, 0.5]))],
        ),
    }


@pytest.mark.parametrize("name", front_end())
def test_results_of_the_front_end_stay_on_the_device(name):
    """Bits of the CPU; what is copied to the host are numbers of rows and refused rows."""
    make, call = front_end()[name]
    given = make(1)
    want = [tensor.numpy() for tensor in call(*map(torch.from_numpy, given))]
    tensors = [torch.from_numpy(one).to(GPU) for one in given]
    call(*tensors)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        got = call(*tensors)
        torch.cuda.synchronize()
    for one, other in zip(got, want, strict=True):
        assert one.device == GPU and one.is_contiguous()
        assert_bits(bits(one), other, name)
    copies = [event.name for event in trace.events() if "Memcpy" in event.name and "DtoD" not in event.name]
    # Poses come from the host; where no capacity is given, bad cells are refused by row.
    assert len(copies) <= {"densify": 9, "serialize": 2, "submanifold": 3}.get(name, 0), copies


@pytest.mark.parametrize("name", front_end())
def test_graphs_of_the_front_end(name):
    """Each operator with capacities is captured by torch, and replayed with two inputs in turns."""
    make, call = front_end()[name]
    tensors = [torch.from_numpy(one).to(GPU) for one in make(1)]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        call(*tensors)
        side.synchronize()
        with torch.cuda.graph(graph, stream=side):
            result = call(*tensors)
    for seed in (2, 1, 2):
        given = make(seed)
        for tensor, one in zip(tensors, given, strict=True):
            tensor.copy_(torch.from_numpy(one))
        call(*[torch.from_numpy(one).to(GPU) for one in make(5)])
        graph.replay()
        torch.cuda.synchronize()
        for one, other in zip(result, call(*map(torch.from_numpy, given)), strict=True):
            assert_bits(bits(one), other.numpy(), name)


def test_one_graph_of_the_front_end():
    """All of them in one graph, replayed 1,000 times with two inputs in turns."""
    calls = front_end()
    given = {name: [gpu(*make(seed)) for seed in (1, 2)] for name, (make, _) in calls.items()}
    given = {name: [one if isinstance(one, (list, tuple)) else [one] for one in both] for name, both in given.items()}
    tensors = {name: [tensor.clone() for tensor in both[0]] for name, both in given.items()}

    def step():
        return {name: call(*tensors[name]) for name, (_, call) in calls.items()}

    want = [{name: [t.clone() for t in call(*given[name][turn])] for name, (_, call) in calls.items()} for turn in (0, 1)]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        step()
        side.synchronize()
        with torch.cuda.graph(graph, stream=side):
            made = step()
    for turn in range(1000):
        for name, own in tensors.items():
            for tensor, one in zip(own, given[name][turn % 2], strict=True):
                tensor.copy_(one)
        graph.replay()
        torch.cuda.synchronize()
        for name, results in made.items():
            for one, other in zip(results, want[turn % 2][name], strict=True):
                assert torch.equal(one.view(torch.uint8), other.view(torch.uint8)), (name, turn)


def test_icp_is_that_of_the_cpu():
    for file in fixture_files("icp"):
        case = dict(np.load(file.values[0]))
        metric = ["point-to-point", "point-to-plane", "gicp"][int(case["metric"][0])]
        for more in ({}, {"search": "brute"}, {"schedule": [(0.3, None), (0, None)]}):
            params = dict(metric=metric, max_iterations=200, step_tolerance=1e-9, **more)
            want = pointmill.icp(source=case["source"], target=case["target"], **params)
            source, target = gpu(case["source"], case["target"])
            got = pointmill.icp(source=source, target=target, **params)
            assert got.target_from_source.device == GPU
            assert (got.status, got.iterations, got.num_inliers) == (want.status, want.iterations, want.num_inliers)
            for name in ("target_from_source", "hessian", "eigenvalues", "pivot"):
                assert_bits(bits(getattr(got, name)), getattr(want, name), name)


def test_normals_of_the_caller_are_those_of_the_cpu():
    x, y = (g.ravel() * 0.04 for g in np.meshgrid(np.arange(50), np.arange(50)))
    sheet = np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)
    normals = np.stack([-0.6 * np.cos(3 * x) * np.cos(2 * y), 0.4 * np.sin(3 * x) * np.sin(2 * y), np.ones_like(x)], 1)
    source = sheet + [0.015, -0.01, 0.005]
    on_gpu = gpu(source, sheet, normals)
    for metric in ("point-to-plane", "gicp"):
        want = pointmill.icp(source=source, target=sheet, target_normals=normals, metric=metric)
        for given in (normals, on_gpu[2]):
            got = pointmill.icp(source=on_gpu[0], target=on_gpu[1], target_normals=given, metric=metric)
            assert_bits(got.target_from_source.cpu().numpy(), want.target_from_source)
            assert got.status == want.status and got.converged


def test_targets_and_searchers_are_those_of_the_cpu():
    points, queries = cloud(3000), cloud(700, columns=3, seed=1)
    for search in ("auto", "brute", "kdtree", "lbvh"):
        want, got = (pointmill.icp.Searcher(make(points), search=search) for make in (np.ascontiguousarray, gpu))
        assert len(got) == 3000
        for ask in (lambda s, q: s.nearest(q), lambda s, q: s.neighbours(q, 7), lambda s, q: s.neighbours(q, 9, 1.5)):
            for a, b in zip(ask(got, gpu(queries)), ask(want, queries)):
                assert a.device == GPU
                assert_bits(bits(a), b, search)
        assert_bits(bits(got.normals(9)), want.normals(9), search)
    assert_bits(bits(pointmill.icp.normals(gpu(points), 9)), pointmill.icp.normals(points, 9))
    x, y = (g.ravel() * 0.04 for g in np.meshgrid(np.arange(50), np.arange(50)))
    sheet = np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1).astype(np.float32)
    for metric in ("point-to-point", "point-to-plane", "gicp"):
        want, got = (pointmill.icp.Target(make(sheet), metric=metric, max_distance=0.5) for make in (np.copy, gpu))
        pose = np.eye(4)
        for step in range(3):
            source = sheet + np.float32([0.01 * step, -0.01, 0.005])
            a, b = got.align(gpu(source), pose), want.align(source, pose)
            assert (a.status, a.iterations, a.fitness) == (b.status, b.iterations, b.fitness)
            assert a.target_from_source.device == GPU
            assert_bits(bits(a.target_from_source), b.target_from_source, metric)
            pose = b.target_from_source


def test_moments_are_those_of_the_cpu(tmp_path):
    from pointmill import ndt

    points = cloud(50_000)
    points[7, 1] = np.nan
    want, got, parts = (ndt.Moments(2.0) for _ in range(3))
    want.add(points)
    got.add(gpu(points))
    for part in np.array_split(points, 3):
        parts.add(gpu(part.copy()))
    assert got == want == parts == pickle.loads(pickle.dumps(got)) and got.non_finite == 1
    got.save(tmp_path / "map.arrow")
    grid = ndt.Moments.load(tmp_path / "map.arrow").grid(like=gpu(points))
    for name in ("coords", "counts", "mean", "covariance", "inverse_covariance", "normal"):
        assert getattr(grid, name).device == GPU
        assert_bits(bits(getattr(grid, name)), getattr(want.grid(), name), name)
    parts.subtract(want)
    assert len(parts) == 0


def test_compat_is_that_of_the_cpu():
    """Scatter and what is made of it, types and generators: the same bits on both, forward and backward, in every run."""
    from pointmill.compat import bevfusion, mmcv, mmdet3d, torch_scatter

    def everything(device):
        points = torch.from_numpy(cloud(5000)).to(device)
        rois, pts, features = (torch.from_numpy(a).to(device) for a in scene())
        coors = mmcv.voxelization(points, SIZE, RANGE, -1, -1)
        found = [coors, mmdet3d.VoxelizationByGridShape(RANGE, -1, grid_shape=[41, 41, 9]).to(device)(points)]
        for dtype in (torch.float64, torch.float16):
            found += [*bevfusion.voxelization(points.to(dtype), SIZE, RANGE, 3, 2000)]
        found += [mmcv.voxelization(points.double(), SIZE, RANGE, -1, -1)]
        generator = torch.Generator().manual_seed(0)
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            feats = torch.randn(len(points), 7, generator=generator, dtype=torch.float64).to(dtype).to(device)
            for mode in ("sum", "mean", "min", "max"):
                leaf = feats.clone().requires_grad_()
                reduced, cells = mmcv.dynamic_scatter(leaf, coors, mode)
                (reduced * reduced).sum().backward()
                found += [reduced.detach(), cells, leaf.grad]
        found += [*torch_scatter.scatter_max(points, coors[:, 2].clamp(min=0), dim=0)]
        found += [pt.scatter(points[:, 3:].contiguous(), coors[:, 1].contiguous(), 60)]
        found += [torch_scatter.scatter(coors + 1, coors[:, 2].clamp(min=0), 0, reduce=mode) for mode in ("sum", "mean", "min")]
        found += [pt.segment_csr(points, torch.tensor([0, 7, 7, 4000], device=device), reduce=mode) for mode in ("sum", "max")]
        for number in (1, 33, 64):
            many = rois.repeat(64, 1)[:number] + torch.linspace(0, 9, number, device=device)[:, None] * (torch.arange(7, device=device) < 2)
            found += [mmcv.points_in_boxes_all(pts.repeat(2, 1, 1), torch.stack([many, many + 0.5]))]
        for mode in ("max", "avg"):
            leaf = features.double().requires_grad_()
            pooled = mmcv.RoIAwarePool3d(4, 20, mode)(rois.double(), pts.double(), leaf)
            (pooled * pooled).sum().backward()
            found += [pooled.detach(), leaf.grad]
        leaf = features.clone().requires_grad_()
        pooled, empty = mmcv.RoIPointPool3d(33)(pts[None], leaf[None], rois[None])
        (pooled * pooled).sum().backward()
        return [*found, pooled.detach(), empty, leaf.grad]

    want = everything("cpu")
    for _ in range(3):
        for i, (got, wanted) in enumerate(zip(everything(GPU), want, strict=True)):
            assert got.is_cuda and got.dtype == wanted.dtype, i
            assert_bits(bits(got), bits(wanted), f"result {i}")


def test_ndt_is_that_of_the_cpu():
    from pointmill import ndt

    points = cloud(50_000)
    guess = np.array([0.1, -0.1, 0.05, 0.0, 0.0, 0.02])
    for dtype in (np.float32, np.float64):
        scan = (points[::10, :3] * 0.999).astype(dtype)
        want, got = (ndt.Grid(make(points[:, :3].astype(dtype)), resolution=2.0) for make in (np.ascontiguousarray, gpu))
        for name in ("coords", "counts", "mean", "covariance", "inverse_covariance", "normal"):
            assert getattr(got, name).device == GPU
            assert_bits(bits(getattr(got, name)), getattr(want, name), name)
        a, b = got.align(gpu(scan), guess), want.align(scan, guess)
        assert (a.status, a.iterations, a.score, a.nvtl) == (b.status, b.iterations, b.score, b.nvtl)
        assert a.xyzrpy.device == GPU
        assert_bits(bits(a.target_from_source), b.target_from_source)
        assert_bits(bits(got.score(gpu(scan), guess).nvtl), want.score(scan, guess).nvtl)
        for x, y in zip(got.radius_search(gpu(scan), 1.5), want.radius_search(scan, 1.5)):
            assert_bits(bits(x), y)
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
            assert_bits(bits(got.align(gpu(scan), guess).xyzrpy), b.xyzrpy)
        with pytest.raises(ValueError, match="scan: expected an array on cuda:0, as the grid, got one on the CPU"):
            got.align(scan)


def test_cupy_and_jax():
    """Libraries that torch shares the GPU with; whichever is there."""
    want = pointmill.voxelize(cloud(), mean="float32", **GRID)
    tried = 0
    try:
        import cupy
    except ImportError:
        pass
    else:
        tried += 1
        for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
            with stream:
                result = pointmill.voxelize(cupy.asarray(cloud()), mean="float32", **GRID)
                assert isinstance(result.mean, cupy.ndarray)
                assert_bits(cupy.asnumpy(result.mean), want.mean)
                assert_bits(cupy.asnumpy(result.coords), want.coords)
    try:
        # Or it takes most of the memory for itself.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax
    except ImportError:
        pass
    else:
        tried += 1
        result = pointmill.voxelize(jax.device_put(cloud()), mean="float32", **GRID)
        assert isinstance(result.mean, jax.Array)
        assert_bits(np.asarray(result.mean), want.mean)
        assert_bits(np.asarray(result.coords), want.coords)
    if not tried:
        pytest.skip("neither cupy nor jax")


def device_memory():
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


def host_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


def test_many_calls_with_flat_memory():
    """10^5 calls, each result dropped: neither the device's memory nor the host's grows."""
    points, (rois, pts, features) = gpu(cloud(2000)), gpu(*scene(500, 5, 4))

    def calls(n):
        for _ in range(n):
            pointmill.voxelize(points, max_voxels=2000, **GRID)
            pointmill.points_in_boxes_part(pts, rois)
            pointmill.roi_aware_pool3d(rois, pts, features, out_size=3, lists=False)

    calls(2000)
    gc.collect()
    device, host = device_memory(), host_memory()
    calls(33_400)
    gc.collect()
    assert device - device_memory() < 8 << 20
    assert host_memory() - host < 32 << 20


def test_many_kept_capsules():
    """10^5 capsules over pointmill's own memory, dropped in groups."""

    class Bare:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **kwargs):
            return self.tensor.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    points = Bare(gpu(cloud(200)))

    def calls(n):
        kept = []
        for k in range(n):
            result = pointmill.voxelize(points, max_voxels=200, **GRID)
            kept += [torch.from_dlpack(a) for a in (result.coords, result.num_points, result.voxels)]
            if k % 50 == 49:
                kept.clear()

    calls(1000)
    gc.collect()
    device, host = device_memory(), host_memory()
    calls(33_400)
    gc.collect()
    assert device - device_memory() < 64 << 20
    assert host_memory() - host < 64 << 20


@pytest.mark.parametrize("own_streams", [False, True])
def test_eight_threads(own_streams):
    clouds = [cloud(seed=s) for s in range(8)]
    want = [pointmill.voxelize(c, **GRID) for c in clouds]
    points = [gpu(c) for c in clouds]
    torch.cuda.synchronize()
    failed = []

    def work(k):
        try:
            with torch.cuda.stream(torch.cuda.Stream() if own_streams else torch.cuda.default_stream()):
                for _ in range(100):
                    assert_same(pointmill.voxelize(points[k], **GRID), want[k])
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU only")
def test_two_gpus():
    """A call works where its tensors lie, and leaves the current device as it was."""
    want = pointmill.voxelize(cloud(), **GRID)
    for index in (1, 0, 1):
        points = torch.from_numpy(cloud()).to(f"cuda:{index}")
        result = pointmill.voxelize(points, **GRID)
        assert result.coords.device.index == index
        assert_bits(bits(result.voxels), want.voxels)
        assert torch.cuda.current_device() == 0
        assert torch.empty(1, device="cuda").device.index == 0
    with pytest.raises(ValueError, match="pts: expected an array on cuda:0, as rois, got one on cuda:1"):
        rois, pts, features = gpu(*scene())
        pt.roi_aware_pool3d(rois, pts.to("cuda:1"), features, 2)


def test_host_time_of_a_call():
    """What a call costs the host besides queueing three kernels; a limit with room for slow machines."""
    points = gpu(cloud(1000))
    params = dict(padded=True, max_voxels=1000, **GRID)
    for _ in range(200):
        pointmill.voxelize(points, **params)
    torch.cuda.synchronize()
    times = []
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(20):
            pointmill.voxelize(points, **params)
        times.append((time.perf_counter() - start) / 20)
        torch.cuda.synchronize()
    print(f"host time of a padded call: {np.median(times) * 1e6:.1f} us")
    assert np.median(times) < 60e-6


FORKED = "CUDA cannot be used in a process that was forked from one that has used it"


def test_forked_children():
    """A child of a process that has used the GPU works on the CPU, and is told that it cannot on the GPU; what it drops harms nobody."""
    sweep, (rois, pts, features) = cloud(), scene()
    tensors = gpu(sweep), *gpu(rois, pts, features)
    want = pointmill.voxelize(sweep, **GRID)
    result = pointmill.voxelize(tensors[0], padded=True, **GRID)
    pooled = pointmill.roi_aware_pool3d(*tensors[1:], out_size=3, for_gradient=True)
    grid = pointmill.ndt.Grid(tensors[2], resolution=2.0)
    torch.cuda.synchronize()

    def child():
        assert (pointmill.voxelize(sweep, **GRID).voxels == want.voxels).all()
        assert len(pointmill.roi_aware_pool3d(rois, pts, features, out_size=3).pooled) == len(rois)
        assert pointmill.icp(source=pts, target=pts, metric="point-to-point").converged
        calls = [
            lambda: pointmill.voxelize(tensors[0], **GRID),
            lambda: pointmill.roi_aware_pool3d(*tensors[1:], out_size=3),
            lambda: pooled.gradient(tensors[1], tensors[2], pooled.argmax, pooled.pooled),
            lambda: pointmill.points_in_boxes_part(tensors[2], tensors[1]),
            lambda: pointmill.ndt.Grid(tensors[2], resolution=2.0),
            lambda: grid.align(tensors[2]),
            lambda: grid.mean,
            lambda: pointmill.icp(source=tensors[2], target=tensors[2]),
        ]
        for call in calls:
            with pytest.raises(RuntimeError, match=FORKED):
                call()
        pointmill.clear_cache()
        gc.collect()

    for _ in range(3):
        forked(child)
    # The parent goes on as before.
    assert_same(pointmill.voxelize(tensors[0], **GRID), want)
    assert torch.equal(pointmill.voxelize(tensors[0], padded=True, **GRID).voxels, result.voxels)
    assert len(grid.mean) == len(grid)


def test_a_child_may_use_the_gpu_first():
    """A parent that has worked on the CPU alone, and a child that works on the GPU."""
    code = """
import numpy as np, pointmill, processes

def child():
    import torch
    points = np.random.default_rng(0).uniform(-5, 5, (40_000, 3)).astype("f4")
    size = dict(voxel_size=[1] * 3, point_cloud_range=[-5] * 3 + [5] * 3)
    got = pointmill.voxelize(torch.from_numpy(points).cuda(), **size).voxels
    assert (got.cpu().numpy() == pointmill.voxelize(points, **size).voxels).all()
    x = torch.from_numpy(points[:2000]).cuda()
    assert pointmill.icp(source=x, target=x, search="kdtree", schedule=[(0.2, None), (0, None)]).converged

processes.answers()
processes.forked(child)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=300)


def test_results_pickle_on_their_device():
    sweep, (rois, pts, features) = gpu(cloud()), gpu(*scene())
    result = pickle.loads(pickle.dumps(pointmill.voxelize(sweep, report=True, **GRID)))
    assert_same(result, pointmill.voxelize(cloud(), **GRID))
    pooled = pointmill.roi_aware_pool3d(rois, pts, features, out_size=3, for_gradient=True)
    again = copy.deepcopy(pooled)
    args = rois, pts, pooled.argmax, torch.ones_like(pooled.pooled)
    assert torch.equal(again.gradient(*args), pooled.gradient(*args))
    grid = pointmill.ndt.Grid(pts, resolution=2.0)
    again = pickle.loads(pickle.dumps(grid))
    assert again.mean.device == GPU and torch.equal(again.mean, grid.mean)
    assert torch.equal(again.align(pts).xyzrpy, grid.align(pts).xyzrpy)


def test_transforms_and_traces():
    """Where torch transforms or traces, the results are those of eager mode."""
    rois, pts, features = gpu(*scene())
    pool = lambda f: pt.roi_aware_pool3d(rois, pts, f, 3)
    leaf = features.clone().requires_grad_()
    (want,) = torch.autograd.grad(pool(leaf).square().sum(), leaf, create_graph=True)
    assert torch.equal(torch.func.grad(lambda f: pool(f).square().sum())(features), want.detach())
    (second,) = torch.autograd.grad(want.square().sum(), leaf)
    assert second.abs().sum() > 0
    stacked = torch.vmap(pool)(torch.stack([features, -features]))
    assert torch.equal(stacked, torch.stack([pool(features), pool(-features)]))
    traced = torch.jit.trace(pool, (features,))
    assert torch.equal(traced(-features), pool(-features))


def test_odometry_has_the_bits_of_the_cpu():
    a, b = (grid.ravel() * 0.1 - 3.0 for grid in np.meshgrid(np.arange(60), np.arange(60)))
    side, level = np.full(3600, 3.0), np.full(3600, -1.0)
    walls = [(a, b, level), (a, side, b + 2), (a, -side, b + 2), (side, a, b + 2), (-side, a, b + 2)]
    room = np.concatenate([np.stack(wall, 1) for wall in walls])
    odometries = [pointmill.Odometry(voxel_size=0.5, min_range=0.1) for _ in range(2)]
    for step in range(4):
        sweep = room - [0.1 * step, 0.0, 0.0]
        on_cpu, on_gpu = odometries[0].push(sweep), odometries[1].push(gpu(sweep))
        assert on_cpu.status == on_gpu.status
        assert_bits(bits(torch.as_tensor(on_gpu.world_from_sensor)), np.asarray(on_cpu.world_from_sensor))
    assert_bits(odometries[1].map(), odometries[0].map())
    with pytest.raises(ValueError, match="points: expected an array on cuda:0, as the first sweep"):
        odometries[1].push(room)
