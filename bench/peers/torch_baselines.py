#!/usr/bin/env python3
"""pointmill from Python beside plain torch, whole calls as a user makes them.

    python3 torch_baselines.py                                   synthetic clouds of 111k and 271k points
    python3 torch_baselines.py --kitti sweep.bin --nuscenes sweeps.pcd.bin
    python3 torch_baselines.py --json > baselines.jsonl

Needs torch with CUDA and pointmill. A time is that of one whole Python call on an idle device, between two events of torch on the current stream: what the host does before the first
kernel and between kernels is in it. The voxelizer of plain torch is that of torch_voxelizer.py beside this file. The host's time is that of a call that waits for nothing, with
the device idle.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from torch_voxelizer import FIRST_SEEN, SORTED, TorchVoxelizer  # noqa: E402

import pointmill  # noqa: E402
import pointmill.torch as pt  # noqa: E402

WARM_UP, SAMPLES = 50, 300
# What mmcv's kernels alone took on an H200 at the same shape: forward, then the gradient of maxima and of means.
MMCV_MS = {"forward": 3.46, "max": 0.024, "mean": 0.039}


def sweep(n: int, columns: int, seed: int) -> np.ndarray:
    """Rings on the ground and walls beside them, in millimetres and in the order of a turning sensor; some 1 % out of range."""
    rng = np.random.default_rng(seed)
    beams = 64
    steps = -(-n // beams)
    azimuth = np.repeat(np.linspace(-np.pi, np.pi, steps, endpoint=False), beams)[:n]
    elevation = np.deg2rad(np.tile(np.linspace(-24.0, 2.0, beams), steps)[:n])
    ground = np.where(elevation < -0.01, 1.73 / np.maximum(np.tan(-elevation), 1e-3), 80.0)
    wall = 12.0 / np.maximum(np.abs(np.sin(azimuth)), 0.15) * (1.0 + 0.2 * np.sin(7.0 * azimuth))
    distance = np.minimum(ground, wall) * (1.0 + 0.002 * rng.standard_normal(n))
    xyz = np.stack([distance * np.cos(azimuth), distance * np.sin(azimuth), distance * np.tan(elevation)], 1)
    rest = rng.random((n, columns - 3))
    return np.round(np.concatenate([xyz, rest], 1), 3).astype(np.float32)


def street(boxes: int, points: int, channels: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes of cars at the places of some cars, and points of which a part lies on these."""
    rng = np.random.default_rng(seed)
    cars = np.concatenate(
        [rng.uniform(-40, 40, (20, 2)), rng.uniform(-1.9, -1.5, (20, 1)), np.tile([3.9, 1.6, 1.56], (20, 1)), rng.uniform(-3.1, 3.1, (20, 1))], 1
    )
    rois = cars[rng.integers(0, 20, boxes)] + rng.normal(0, 0.2, (boxes, 7)) * [1, 1, 0.3, 0.5, 0.2, 0.2, 0.3]
    on_cars = points // 4
    car = cars[rng.integers(0, 20, on_cars)]
    local = rng.uniform(-0.5, 0.5, (on_cars, 3)) * car[:, 3:6]
    cos, sin = np.cos(car[:, 6]), np.sin(car[:, 6])
    x, y = local[:, 0] * cos - local[:, 1] * sin, local[:, 0] * sin + local[:, 1] * cos
    near = np.stack([car[:, 0] + x, car[:, 1] + y, car[:, 2] + car[:, 5] / 2 + local[:, 2]], 1)
    far = rng.uniform([-50, -50, -3], [50, 50, 1], (points - on_cars, 3))
    pts = rng.permutation(np.concatenate([near, far]))
    return rois.astype(np.float32), pts.astype(np.float32), rng.standard_normal((points, channels)).astype(np.float32)


def device_ms(call: Callable[[], object]) -> list[float]:
    """Milliseconds of single calls on an idle device, by events of torch around each."""
    for _ in range(WARM_UP):
        call()
    times = []
    for _ in range(SAMPLES):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        kept = call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
        del kept
    return times


def host_us(call: Callable[[], object]) -> list[float]:
    """Microseconds until a call that waits for nothing returns."""
    for _ in range(WARM_UP):
        call()
    times = []
    for _ in range(SAMPLES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        kept = call()
        times.append((time.perf_counter() - start) * 1e6)
        del kept
    return times


class Table:
    def __init__(self, as_json: bool) -> None:
        self.as_json, self.rows = as_json, []

    def add(self, case: str, what: str, times: list[float], unit: str, **more: object) -> float:
        times = sorted(times)
        row = {
            "case": case,
            "what": what,
            "unit": unit,
            "median": round(statistics.median(times), 4),
            "p10": round(times[len(times) // 10], 4),
            "p90": round(times[len(times) * 9 // 10], 4),
            "samples": len(times),
            **more,
        }
        self.rows.append(row)
        if self.as_json:
            print(json.dumps(row), flush=True)
        return row["median"]

    def print(self) -> None:
        if self.as_json:
            return
        print(f"\n| {'case':<34} | {'what':<53} | {'median':>9} | {'p10':>9} | {'p90':>9} | unit |")
        print(f"|{'-' * 36}|{'-' * 55}|{'-' * 11}|{'-' * 11}|{'-' * 11}|------|")
        for r in self.rows:
            print(f"| {r['case']:<34} | {r['what']:<53} | {r['median']:>9.4f} | {r['p10']:>9.4f} | {r['p90']:>9.4f} | {r['unit']:<4} |")


def check(ok: bool, what: str) -> None:
    """Results are compared before anything is timed."""
    if not ok:
        sys.exit(f"torch_baselines: results differ: {what}")


def voxelization(table: Table, case: str, cloud: np.ndarray, size: list[float], limits: list[float]) -> None:
    points = torch.from_numpy(cloud).cuda()
    m, most = 10, 160_000
    ours = dict(voxel_size=size, point_cloud_range=limits, max_num_points=m, max_voxels=most)
    result = pointmill.voxelize(points, **ours, mean="float32", point_to_voxel=True)
    rows = result.num_voxels
    for order, name in ((SORTED, "sorted"), (FIRST_SEEN, "first-seen")):
        theirs = TorchVoxelizer(np.array(size), np.array(limits), m, most, order, "cuda", mean=False)
        if order == FIRST_SEEN:
            out = theirs(points)
            for key in ("coords", "num_points", "voxels", "point_to_voxel"):
                check(torch.equal(out[key].view(torch.int32), getattr(result, key).view(torch.int32)), f"{case}, {key}")
        torch_ms = table.add(case, f"torch, stable sort, rows {name}", device_ms(lambda: theirs(points)), "ms", voxels=rows)
        if order == SORTED:
            sorted_ms = torch_ms
    cases = {
        "pointmill.voxelize": dict(),
        "pointmill.voxelize, point_to_voxel": dict(point_to_voxel=True),
        "pointmill.voxelize, means only": dict(voxels=False, mean="float32"),
        "pointmill.voxelize, padded, no wait": dict(padded=True),
    }
    for what, more in cases.items():
        ms = table.add(case, what, device_ms(lambda: pointmill.voxelize(points, **ours, **more)), "ms", voxels=rows)
        table.rows[-1]["times_faster_than_torch"] = round(sorted_ms / ms, 1)
    module = pt.Voxelization(size, limits, m, most)
    table.add(case, "pointmill.torch.Voxelization", device_ms(lambda: module(points)), "ms", voxels=rows)
    waits_not = lambda: pointmill.voxelize(points, **ours, voxels=False, mean="float32", padded=True)  # noqa: E731
    table.add(case, "host time of a padded call, means only", host_us(waits_not), "us", voxels=rows)


def pooling(table: Table) -> None:
    case = "128 boxes, 16,000 points, C 16, 12^3"
    rois, pts, features = (torch.from_numpy(a).cuda() for a in street(128, 16_000, 16, 0))
    features.requires_grad_()
    plain = features.detach()
    grad = torch.randn((128, 12, 12, 12, 16), device="cuda")

    class Nothing(torch.autograd.Function):
        """What torch itself takes for a function of ours with its gradient."""

        @staticmethod
        def forward(ctx, rois, pts, features):
            ctx.save_for_backward(rois, pts)
            return torch.empty_like(grad)

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors  # noqa: B018
            return None, None, torch.empty_like(plain)

    def nothing() -> torch.Tensor:
        return torch.autograd.grad(Nothing.apply(rois, pts, features), features, grad)[0]

    table.add(case, "torch, a function that does nothing, and its backward", device_ms(nothing), "ms")
    with torch.autograd.set_multithreading_enabled(False):
        table.add(case, "the same, backward in the caller's thread", device_ms(nothing), "ms")
    for mode in ("max", "mean"):

        def forward() -> torch.Tensor:
            return pt.roi_aware_pool3d(rois, pts, features, 12, 128, mode)

        def both() -> torch.Tensor:
            (out,) = torch.autograd.grad(forward(), features, grad)
            return out

        cpu = features.detach().cpu().requires_grad_()
        pooled = pt.roi_aware_pool3d(rois.cpu(), pts.cpu(), cpu, 12, 128, mode)
        pooled.backward(grad.cpu())
        check(torch.equal(forward().detach().cpu(), pooled.detach()), f"pooling, {mode}")
        check(torch.equal(both().cpu(), cpu.grad), f"gradient, {mode}")

        def direct() -> torch.Tensor:
            result = pointmill.roi_aware_pool3d(rois, pts, plain, out_size=12, mode=mode, lists=False, for_gradient=True)
            return result.gradient(rois, pts, result.argmax, grad)

        def compare(what: str, call: Callable[[], object]) -> None:
            ms = table.add(case, what, device_ms(call), "ms")
            table.rows[-1]["times_faster_than_mmcv_kernels"] = round((MMCV_MS["forward"] + MMCV_MS[mode]) / ms, 1)

        check(torch.equal(direct().cpu(), cpu.grad), f"gradient without autograd, {mode}")
        table.add(case, f"pointmill.torch, {mode}, forward", device_ms(forward), "ms")
        compare(f"pointmill.torch, {mode}, forward and backward", both)
        with torch.autograd.set_multithreading_enabled(False):
            compare(f"the same, backward in the caller's thread, {mode}", both)
        compare(f"pointmill, {mode}, forward and gradient", direct)
        lists = lambda: pointmill.roi_aware_pool3d(rois, pts, plain, out_size=12, mode=mode)  # noqa: E731
        table.add(case, f"pointmill.roi_aware_pool3d, {mode}, with lists", device_ms(lists), "ms")
    part = lambda: pointmill.points_in_boxes_part(pts, rois)  # noqa: E731
    table.add(case, "pointmill.points_in_boxes_part", device_ms(part), "ms")
    table.add(case, "host time of points_in_boxes_part", host_us(part), "us")
    with torch.no_grad():
        table.add(case, "host time of roi_aware_pool3d, max", host_us(lambda: pt.roi_aware_pool3d(rois, pts, features, 12)), "us")


def load(path: Path, columns: int) -> np.ndarray:
    return np.fromfile(path, np.float32).reshape(-1, columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kitti", type=Path, help="raw f32 of 4 columns, instead of the synthetic cloud of 111k points")
    parser.add_argument("--nuscenes", type=Path, help="raw f32 of 5 columns, instead of the synthetic cloud of 271k points")
    parser.add_argument("--json", action="store_true", help="one object a line instead of a table")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_baselines: torch finds no GPU")
    about = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "pointmill": pointmill.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    print(json.dumps(about) if args.json else ", ".join(f"{k} {v}" for k, v in about.items()), flush=True)
    table = Table(args.json)
    kitti = load(args.kitti, 4) if args.kitti else sweep(111_425, 4, 0)
    name = "KITTI" if args.kitti else "synthetic"
    voxelization(table, f"{name}, {len(kitti):,} x 4, 0.2 m", kitti, [0.2, 0.2, 0.2], [-54, -54, -5, 54, 54, 3])
    nuscenes = load(args.nuscenes, 5) if args.nuscenes else sweep(271_000, 5, 1)
    name = "nuScenes" if args.nuscenes else "synthetic"
    voxelization(table, f"{name}, {len(nuscenes):,} x 5, 0.075 m", nuscenes, [0.075, 0.075, 0.2], [-54, -54, -5, 54, 54, 3])
    pooling(table)
    table.print()


if __name__ == "__main__":
    main()
