#!/usr/bin/env python3
"""What a torch user waits for: each call of the sparse front end, of reductions by row and of NMS on a GPU, and packages with kernels of their own in turns with it.

    from_torch.py nuscenes/sweeps.pcd.bin [--rounds 120]

The cloud is rows of x, y, z, intensity, time in f32: ten sweeps of nuScenes, a file of 5,423,120 bytes. spconv and
torch_scatter are measured where they can be imported; torch's own operators, whose sums on a GPU differ from run to run,
always. Times are medians in ms of a call between two events on an idle device, host work before the first kernel in it,
in random turns. Values are compared before. Needs torch with CUDA.
"""

import argparse
import hashlib
import random
import statistics
import time

import numpy as np
import torch

import pointmill
import pointmill.torch as pt
from pointmill import boxes, sparse
from pointmill.compat import spconv as compat_spconv

try:
    from spconv.core import ConvAlgo
    from spconv.pytorch import ops as spconv_ops
except ImportError:
    spconv_ops = None
try:
    import torch_scatter
except ImportError:
    torch_scatter = None

VOXEL, LOW, CELLS = np.array([0.075, 0.075, 0.2]), np.array([-54.0, -54.0, -5.0]), np.array([1440, 1440, 40])
WITH_GRADIENT = " with gradient"


class Clouds:
    """The inputs of all calls."""

    def __init__(self, path):
        cuda = torch.device("cuda")
        cloud = np.fromfile(path, np.float32).reshape(-1, 5)
        self.points = torch.from_numpy(cloud[:, :3].copy()).to(cuda)
        cell = np.floor((cloud[:, :3] - LOW) / VOXEL).astype(np.int64)
        cell = cell[((cell >= 0) & (cell < CELLS)).all(axis=1)]
        found, inverse = np.unique(cell, axis=0, return_inverse=True)
        order = np.random.default_rng(1).permutation(len(found))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.index = torch.from_numpy(place[inverse.ravel()]).to(cuda)
        found = found[order]
        self.rows = len(found)
        self.cells = torch.from_numpy(np.column_stack([np.zeros(len(found)), found[:, ::-1]]).astype(np.int32)).to(cuda)
        self.coords = torch.from_numpy(found.astype(np.int32)).to(cuda)
        self.shape = [int(n) for n in CELLS[::-1]]
        torch.manual_seed(0)
        self.features = torch.randn(len(self.index), 64, device=cuda)
        self.sorted, self.order = torch.sort(self.index, stable=True)
        self.splits = torch.searchsorted(self.sorted, torch.arange(self.rows + 1, device=cuda))
        self.many = torch.randn(len(self.points), 64, device=cuda)
        rng = np.random.default_rng(2)
        found7 = np.column_stack([rng.uniform(-50, 50, (4096, 2)), rng.uniform(-1, 1, 4096), rng.uniform(1, 5, (4096, 3)), rng.uniform(-3, 3, 4096)])
        self.boxes, self.scores = (torch.from_numpy(one.astype(np.float32)).to(cuda) for one in (found7, rng.uniform(0, 1, 4096)))


def front_end(c):
    strided = dict(kind="strided", kernel=3, stride=2, padding=1)
    rows = {
        "index_pairs submanifold": {"pointmill": lambda: sparse.index_pairs(c.cells, c.shape)},
        "index_pairs strided": {"pointmill": lambda: sparse.index_pairs(c.cells, c.shape, **strided)},
        "get_indice_pairs submanifold": {"pointmill": lambda: pairs(compat_spconv, c, 1, True)},
        "get_indice_pairs strided": {"pointmill": lambda: pairs(compat_spconv, c, 2, False)},
        "grid_sample": {
            "pointmill": lambda: pt.grid_sample(c.points, 0.1),
            "torch": lambda: torch.unique(torch.floor((c.points - c.points.amin(0)) / 0.1).long(), dim=0, return_inverse=True, return_counts=True),
        },
        "serialize, 4 orders": {"pointmill": lambda: sparse.serialize(c.coords)},
        "pool_hierarchy, 4 orders, 4 stages": {"pointmill": lambda: sparse.pool_hierarchy(c.coords)},
        "nms of 4,096": {"pointmill": lambda: boxes.nms(c.boxes, c.scores, 0.2)},
        "nms of 4,096, padded": {"pointmill": lambda: boxes.nms(c.boxes, c.scores, 0.2, padded=True)},
    }
    if spconv_ops is not None:
        for kind, stride, submanifold in (("submanifold", 1, True), ("strided", 2, False)):
            peer = lambda stride=stride, submanifold=submanifold: pairs(spconv_ops, c, stride, submanifold)
            rows[f"index_pairs {kind}"]["spconv"] = rows[f"get_indice_pairs {kind}"]["spconv"] = peer
    return rows


def pairs(ops, c, stride, submanifold):
    algo = {"algo": ConvAlgo.Native} if ops is spconv_ops else {}
    padding = [0, 0, 0] if submanifold else [1, 1, 1]
    return ops.get_indice_pairs(c.cells, 1, c.shape, ksize=[3, 3, 3], stride=[stride] * 3, padding=padding, dilation=[1] * 3, out_padding=[0] * 3, subm=submanifold, **algo)


def reduced(c, values, index, rows, how):
    """One reduction by each package."""
    wide = index[:, None].expand_as(values)
    name = {"sum": "sum", "mean": "mean", "max": "amax"}[how]
    calls = {
        "pointmill": lambda v: pt.scatter(v, index, rows, reduce=how),
        "torch": (lambda v: v.new_zeros(rows, v.shape[1]).index_add_(0, index, v)) if how == "sum" else
        (lambda v: v.new_zeros(rows, v.shape[1]).scatter_reduce(0, wide, v, name, include_self=False)),
    }
    if torch_scatter is not None:
        calls["torch_scatter"] = lambda v: torch_scatter.scatter(v, index, 0, dim_size=rows, reduce=how)
    return with_gradient(f"scatter {how}, {len(values):,} into {rows:,}", values, calls)


def segments(c, how):
    values, rows = c.features[c.order].contiguous(), c.rows
    calls = {
        "pointmill": lambda v: pt.segment_csr(v, c.splits, reduce=how),
        "torch": lambda v: torch.segment_reduce(v, how, offsets=c.splits, axis=0, unsafe=True, initial=0.0 if how == "mean" else None),
    }
    if torch_scatter is not None:
        calls["torch_scatter"] = lambda v: torch_scatter.segment_csr(v, c.splits, reduce=how)
    return with_gradient(f"segment_csr {how}, {len(values):,} into {rows:,}", values, calls)


def with_gradient(name, values, calls):
    """The calls, and the same with a gradient; their values are near each other."""
    leaf = values.clone().requires_grad_()

    def step(call):
        leaf.grad = None
        call(leaf).sum().backward()
        return leaf.grad

    want = calls["pointmill"](values)
    for package, call in calls.items():
        torch.testing.assert_close(call(values), want, rtol=1e-3, atol=0.3, msg=lambda text: f"{package}, {name}: {text}")
    forward = {package: lambda call=call: call(values) for package, call in calls.items()}
    return {name: forward, name + WITH_GRADIENT: {package: lambda call=call: step(call) for package, call in calls.items()}}


def every(c):
    rows = front_end(c)
    for how in ("sum", "mean", "max"):
        rows |= reduced(c, c.features, c.index, c.rows, how)
    for how in ("mean", "max"):
        rows |= segments(c, how)
    one = torch.zeros(len(c.many), dtype=torch.int64, device="cuda")
    rows |= reduced(c, c.many, one, 1, "mean")
    rows |= reduced(c, c.many, torch.arange(len(one), device="cuda") * 4 // len(one), 4, "mean")
    few, index = torch.randn(100, 16, device="cuda"), torch.randint(0, 40, (100,), device="cuda")
    rows |= reduced(c, few, index, 40, "mean")
    return rows


def once(call):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    result = call()
    end.record()
    end.synchronize()
    del result
    return start.elapsed_time(end)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cloud")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    given = parser.parse_args()
    peers = [name for name, found in (("spconv", spconv_ops), ("torch_scatter", torch_scatter)) if found is not None]
    print(f"pointmill {pointmill.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}; peers: {', '.join(peers) or 'torch alone'}")
    print("| call | ours, ms | p90 | host, us | to the host | best peer, ms | peer's p90 |\n|---|---|---|---|---|---|---|")
    clouds = Clouds(given.cloud)
    for name, calls in every(clouds).items():
        if given.only not in name:
            continue
        times = {package: [] for package in calls}
        for call in calls.values():
            for _ in range(10):
                call()
        for _ in range(given.rounds):
            for package in random.sample(list(calls), len(calls)):
                times[package].append(once(calls[package]))
        ours = times.pop("pointmill")
        best = min(times, key=lambda package: statistics.median(times[package]), default=None)
        peer = "|" if best is None else f"{best} {statistics.median(times[best]):.3f} | {p90(times[best]):.3f}"
        print(f"| {name} | {statistics.median(ours):.3f} | {p90(ours):.3f} | {queued(calls['pointmill']):.0f} | {copies(calls['pointmill'])} | {peer} |", flush=True)
    if not given.only:
        detector(clouds, 100)


def detector(c, sweeps, rounds=5):
    """A voxel detector's step without its network: voxels and their means, seven rulebooks, NMS of ten classes."""
    torch.manual_seed(1)
    clouds = [c.points[torch.randperm(len(c.points), device="cuda")[: 235_000]] for _ in range(sweeps)]
    classes = torch.arange(4000, device="cuda") % 10
    found, scores = c.boxes[:4000], c.scores[:4000]

    def step(points):
        voxels = pointmill.voxelize(points, voxel_size=VOXEL, point_cloud_range=[*LOW, *(LOW + VOXEL * CELLS)], max_num_points=None, mean="float32")
        rows = torch.nn.functional.pad(voxels.coords, (1, 0))
        kept, shape, books = rows, c.shape, []
        for layer in range(4):
            books.append(sparse.index_pairs(kept, shape))
            if layer < 3:
                books.append(sparse.index_pairs(kept, shape, kind="strided", kernel=3, stride=2, padding=1))
                kept, shape = books[-1].coords, list(books[-1].shape)
        return [voxels.mean, *(book.table for book in books), boxes.nms(found, scores, 0.2, class_ids=classes)]

    hashes, times = set(), []
    for turn in range(rounds):
        digest = hashlib.sha256()
        torch.cuda.reset_peak_memory_stats()
        for points in clouds:
            torch.cuda.synchronize()
            start = time.perf_counter()
            results = step(points)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
            if points is clouds[0] or points is clouds[-1]:
                for one in results:
                    digest.update(one.cpu().numpy().tobytes())
        hashes.add(digest.hexdigest())
    peak = torch.cuda.max_memory_allocated() >> 20
    print(f"\nA detector's step, {sweeps} sweeps, {rounds} runs: {statistics.median(times):.3f} ms, p90 {p90(times):.3f}; torch peak {peak} MiB; {len(hashes)} result")


def p90(times):
    return statistics.quantiles(times, n=10)[-1]


def queued(call):
    """Microseconds of the host until the call returns."""
    waits = []
    for _ in range(50):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        waits.append((time.perf_counter() - start) * 1e6)
    return statistics.median(waits)


def copies(call):
    """How many copies from the device a trace sees, and their bytes."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        call()
        torch.cuda.synchronize()
    found = [one for one in trace.profiler.kineto_results.events() if "DtoH" in one.name()]
    return f"{len(found)}, {sum(one.nbytes() for one in found)} bytes" if found else "nothing"


if __name__ == "__main__":
    main()
