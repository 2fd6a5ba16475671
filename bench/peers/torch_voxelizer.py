#!/usr/bin/env python3
"""A deterministic voxelizer of plain torch calls: the GPU baseline without a kernel of its own.

    python3 torch_voxelizer.py --fixtures ../../fixtures/voxelize            compare with the reference answers
    python3 torch_voxelizer.py --voxel 0.2 sweep.bin                         time it, input resident on the device
    python3 torch_voxelizer.py --voxel 0.075,0.075,0.2 sweeps.pcd.bin

Cells by index, a linear 64-bit id, one stable sort, the first M of each run, a scatter. Rows come out sorted by id, or by the first
point of each voxel at the price of a second sort. The result has the same bits in every run. Tensors divide tensors here: by a Python
number torch multiplies with its reciprocal on CUDA, and points on cell walls change their cell.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

FIRST_SEEN, SORTED = 0, 1


def grid_of(voxel_size: np.ndarray, range_: np.ndarray) -> np.ndarray:
    """Cells on x, y, z: the f32 quotient rounded half away from zero. On the host, once."""
    quotient = (range_[3:] - range_[:3]) / voxel_size
    whole = np.trunc(quotient)
    return (whole + (quotient - whole >= np.float32(0.5))).astype(np.float32)


class TorchVoxelizer:
    def __init__(
        self, voxel_size: np.ndarray, range_: np.ndarray, max_points: int, max_voxels: int, order: int, device: str, mean: bool = True
    ) -> None:
        voxel_size, range_ = np.asarray(voxel_size, np.float32), np.asarray(range_, np.float32)
        grid = grid_of(voxel_size, range_)
        self.gx, self.gy = int(grid[0]), int(grid[1])
        self.low = torch.from_numpy(range_[:3].copy()).to(device)
        self.size = torch.from_numpy(voxel_size.copy()).to(device)
        self.grid = torch.from_numpy(grid).to(device)
        self.max_points, self.max_voxels, self.order, self.device, self.with_mean = max_points, max_voxels, order, device, mean

    def __call__(self, points: torch.Tensor) -> dict[str, torch.Tensor]:
        n, columns = points.shape
        m, device = self.max_points, self.device
        q = torch.floor((points[:, :3] - self.low) / self.size)
        inside = ((q >= 0) & (q < self.grid)).all(1)  # false for NaN and infinities
        index = inside.nonzero().flatten()  # waits for the device
        cell = q[index].to(torch.int64)
        ids = (cell[:, 2] * self.gy + cell[:, 1]) * self.gx + cell[:, 0]

        ids, where = torch.sort(ids, stable=True)
        index = index[where]  # by id; inside an id in input order
        if index.shape[0]:
            _, counts = torch.unique_consecutive(ids, return_counts=True)  # waits for the device
        else:
            counts = torch.zeros((0,), dtype=torch.int64, device=device)
        found = counts.shape[0]
        starts = torch.cumsum(counts, 0) - counts
        run = torch.repeat_interleave(torch.arange(found, device=device), counts, output_size=index.shape[0])
        slot = torch.arange(index.shape[0], device=device) - starts[run]

        if self.order == FIRST_SEEN:
            runs_in_order = torch.argsort(index[starts])
            row_of_run = torch.empty_like(runs_in_order)
            row_of_run[runs_in_order] = torch.arange(found, device=device)
        else:
            runs_in_order = row_of_run = torch.arange(found, device=device)
        v = min(found, self.max_voxels)
        runs_in_order = runs_in_order[:v]
        row = row_of_run[run]

        stays = (row < v) & (slot < m)
        voxels = torch.zeros((v * m, columns), dtype=torch.float32, device=device)
        voxels[(row * m + slot)[stays]] = points[index[stays]]  # each mask waits for the device
        voxels = voxels.reshape(v, m, columns)
        num_points = torch.clamp(counts[runs_in_order], max=m).to(torch.int32)
        point_to_voxel = torch.full((n,), -1, dtype=torch.int32, device=device)
        point_to_voxel[index] = torch.where(row < v, row, -1).to(torch.int32)
        first = where[starts[runs_in_order]]
        out = {"coords": cell[first].flip(1).to(torch.int32), "num_points": num_points, "voxels": voxels, "point_to_voxel": point_to_voxel}
        if self.with_mean:
            total = torch.zeros((v, columns), dtype=torch.float32, device=device)
            for s in range(m):  # slot after slot: the same sum in every run; adding the padding's +0.0 changes no bit
                total = total + voxels[:, s]
            out["mean"] = total / num_points.to(torch.float32).unsqueeze(1)
        return out


def same_bits(got: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits, any NaN equal to any NaN."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if got.dtype != np.float32:
        return bool((got == expected).all())
    return bool(((got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))).all())


def equal_bits(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Equal on the device, as 32-bit integers: a NaN equals itself and -0.0 differs from 0.0."""
    return all(torch.equal(one[key].view(torch.int32), other[key].view(torch.int32)) for key in one)


def check(folder: Path, device: str) -> int:
    """Every reference case that this voxelizer can express: no batches, no dynamic mode, no strict range."""
    passed = failed = left_out = 0
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as stored:
            case = dict(stored)
        if "row_splits" in case or int(case["max_points"]) < 0 or int(case["strict_range"]):
            left_out += 1
            continue
        voxelizer = TorchVoxelizer(case["voxel_size"], case["range"], int(case["max_points"]), int(case["max_voxels"]), int(case["order"]), device)
        got = voxelizer(torch.from_numpy(case["points"]).to(device))
        wrong = [name for name, values in got.items() if not same_bits(values.cpu().numpy(), case[name])]
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"FAIL {path.stem}: differs in {', '.join(wrong)}")
    print(f"{passed} passed, {failed} failed, {left_out} left out (batches, dynamic, strict range)")
    return 1 if failed or not passed else 0


def times_ms(call: Callable[[], object], device: str, warmup: int, samples: int) -> np.ndarray:
    """Milliseconds of single calls between two events of the device's stream; idle before each call."""
    if not device.startswith("cuda"):
        raise SystemExit("timing needs a CUDA device")
    for _ in range(warmup):
        call()
    out = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        result = call()
        end.record()
        end.synchronize()
        out.append(begin.elapsed_time(end))
        del result
    return np.array(out)


def numbers(count: int) -> Callable[[str], list[float]]:
    def parse(text: str) -> list[float]:
        values = [float(part) for part in text.split(",")]
        values = values * count if len(values) == 1 else values
        if len(values) != count:
            raise argparse.ArgumentTypeError(f"expected {count} numbers, got {len(values)}")
        return values

    return parse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help=".bin (4 columns) or .pcd.bin (5 columns)")
    parser.add_argument("--fixtures", type=Path, help="compare with the reference answers of this folder first")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--voxel", type=numbers(3), default=[0.2] * 3)
    parser.add_argument("--range", type=numbers(6), default=[-54.0, -54.0, -5.0, 54.0, 54.0, 3.0])
    parser.add_argument("--max-points", type=int, default=10)
    parser.add_argument("--max-voxels", type=int, default=160_000)
    parser.add_argument("--warmup", type=int, default=30)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    options = parser.parse_args()
    if not options.files and not options.fixtures:
        parser.error("give files to time, or --fixtures")
    if options.fixtures and check(options.fixtures, options.device):
        return 1

    if options.files and not options.json:
        name = torch.cuda.get_device_name(options.device) if options.device.startswith("cuda") else "cpu"
        print(f"{name}, torch {torch.__version__}")
        print("| case | points | voxels | median ms | p95 ms | min ms | same bits in 20 runs |")
        print("|---|---|---|---|---|---|---|")
    for path in options.files:
        columns = 5 if path.name.endswith(".pcd.bin") else 4
        points = torch.from_numpy(np.fromfile(path, "<f4").reshape(-1, columns)).to(options.device)
        for order, order_name in ((SORTED, "sorted"), (FIRST_SEEN, "first_seen")):
            for mean in (False, True):
                voxelizer = TorchVoxelizer(options.voxel, options.range, options.max_points, options.max_voxels, order, options.device, mean)
                first = voxelizer(points)
                same = all(equal_bits(first, voxelizer(points)) for _ in range(19))
                ms = times_ms(partial(voxelizer, points), options.device, options.warmup, options.samples)
                data = {"case": f"torch {order_name}{' mean' if mean else ''} {path.name}", "device": options.device, "columns": columns}
                data |= {"points": points.shape[0], "voxels": first["coords"].shape[0], "same_bits": same, "torch": torch.__version__}
                data |= {"median_ms": float(np.median(ms)), "p95_ms": float(np.percentile(ms, 95)), "min_ms": float(ms.min())}
                if options.json:
                    print(json.dumps({"type": "bench", "data": data}))
                else:
                    numbers_ms = " | ".join(f"{data[key]:.3f}" for key in ("median_ms", "p95_ms", "min_ms"))
                    print(f"| {data['case']} | {data['points']} | {data['voxels']} | {numbers_ms} | {'yes' if same else 'NO'} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
