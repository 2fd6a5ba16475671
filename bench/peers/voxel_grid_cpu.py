#!/usr/bin/env python3
"""Voxel-grid downsampling on the CPU: published packages, numpy and pointmill, in turn, in one run.

    python3 voxel_grid_cpu.py --voxel 0.2 sweep.bin
    python3 voxel_grid_cpu.py --voxel 0.075,0.075,0.2 --pointmill target/release/pointmill-bench sweeps.pcd.bin

Every package gets the in-range points in its own container, made before the clock starts, with z scaled so that its cubes are our
cells. What they do is less than what pointmill does: a mean (or one point) per cell, no range test, no caps, no order, no map from
points to voxels. Lattices start at different places, so the number of cells differs a little.

The packages take turns, round after round, so that a busy moment of the machine meets them all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from common import load_after, machine, pointmill_lines, timed
from numpy.typing import NDArray

Cloud = NDArray[np.float64]


@dataclass
class Row:
    """One line of the table. `samples_ms` of a package are single calls; of pointmill the medians its own bench reports."""

    name: str
    threads: int
    points: int
    voxels: int | None
    samples_ms: list[float] = field(default_factory=list)
    p95s_ms: list[float] = field(default_factory=list)  # pointmill only

    def summary(self) -> dict[str, object]:
        p95 = float(np.median(self.p95s_ms)) if self.p95s_ms else float(np.percentile(self.samples_ms, 95))
        return {
            "name": self.name,
            "threads": self.threads,
            "points": self.points,
            "voxels": self.voxels,
            "samples": len(self.samples_ms),
            "median_ms": float(np.median(self.samples_ms)),
            "p95_ms": p95,
            "min_ms": float(min(self.samples_ms)),
        }


@dataclass
class Peer:
    name: str
    threads: int
    call: Callable[[], object]
    count: Callable[[object], int]


def load(path: Path, columns: int | None) -> NDArray[np.float32]:
    """A raw little-endian f32 file: 4 columns in .bin (KITTI), 5 in .pcd.bin (nuScenes)."""
    columns = columns or (5 if path.name.endswith(".pcd.bin") else 4)
    values = np.fromfile(path, "<f4")
    if values.size == 0 or values.size % columns:
        raise SystemExit(f"{path}: {values.size} f32 values are no whole number of rows of {columns}")
    return values.reshape(-1, columns)


def numpy_voxel_grid(xyz: Cloud, size: float) -> Cloud:
    """Mean of each cell: linear ids, one stable sort, sums over runs."""
    cell = np.floor(xyz / size).astype(np.int64)
    cell -= cell.min(axis=0)
    extent = cell.max(axis=0) + 1
    ids = (cell[:, 2] * extent[1] + cell[:, 1]) * extent[0] + cell[:, 0]
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    counts = np.diff(np.r_[starts, len(ids)])
    return np.add.reduceat(xyz[order], starts, axis=0) / counts[:, None]


def peers_of(xyz: Cloud, size: float, threads: list[int]) -> list[Peer]:
    """The packages that are installed, each with its input ready."""
    peers = [Peer("numpy", 1, lambda: numpy_voxel_grid(xyz, size), len)]
    missing = []
    try:
        import small_gicp

        cloud = small_gicp.PointCloud(xyz)
        for count in threads:
            peers.append(
                Peer("small_gicp", count, lambda count=count: small_gicp.voxelgrid_sampling(cloud, size, num_threads=count), lambda out: out.size())
            )
    except ImportError as error:
        missing.append(f"small_gicp ({error})")
    try:
        # kiss_icp.voxelization.voxel_down_sample is this call between two copies; the copies are left out here.
        from kiss_icp.pybind import kiss_icp_pybind

        vector = kiss_icp_pybind._Vector3dVector(xyz)
        peers.append(Peer("kiss-icp", 1, lambda: kiss_icp_pybind._voxel_down_sample(vector, size), len))
        from kiss_icp.voxelization import voxel_down_sample

        peers.append(Peer("kiss-icp + copies", 1, lambda: voxel_down_sample(xyz, size), len))
    except ImportError as error:
        missing.append(f"kiss-icp ({error})")
    try:
        import open3d

        legacy = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(xyz))
        peers.append(Peer("open3d", 1, lambda: legacy.voxel_down_sample(size), lambda out: len(out.points)))
    except (ImportError, OSError) as error:
        missing.append(f"open3d ({error})")
    for line in missing:
        print(f"left out: {line}", file=sys.stderr)
    return peers


def run_pointmill(binary: Path, path: Path, extra: list[str]) -> list[dict[str, object]]:
    """The `data` of each bench line of one run of our binary."""
    command = [str(binary), "voxelize", "--input", str(path), "--device", "cpu", "--json", *extra]
    return [data for data in pointmill_lines(command, ("bench",)) if data["device"] == "cpu"]


def bench(path: Path, options: argparse.Namespace) -> list[Row]:
    cloud = load(path, options.columns)
    low, high = np.array(options.range[:3], np.float32), np.array(options.range[3:], np.float32)
    keep = np.isfinite(cloud[:, :3]).all(axis=1)
    if not options.whole:
        keep &= ((cloud[:, :3] >= low) & (cloud[:, :3] < high)).all(axis=1)
    size = options.voxel[0]
    xyz = np.ascontiguousarray(cloud[keep, :3].astype(np.float64) * (size / np.array(options.voxel)))

    peers = peers_of(xyz, size, options.threads)
    rows = [Row(peer.name, peer.threads, len(xyz), peer.count(peer.call())) for peer in peers]
    ours: dict[tuple[str, int], Row] = {}
    for round_ in range(-1, options.rounds):  # round -1 warms up
        for peer, row in zip(peers, rows, strict=True):
            samples = [timed(peer.call) for _ in range(options.calls)]
            if round_ >= 0:
                row.samples_ms += samples
        if options.pointmill:
            for data in run_pointmill(options.pointmill, path, options.pointmill_args):
                key = (str(data["case"]), int(data["threads"]))
                row = ours.setdefault(key, Row(f"pointmill {key[0]}", key[1], int(data["points"]), data.get("voxels")))
                if round_ >= 0:
                    row.samples_ms.append(float(data["median_ms"]))
                    row.p95s_ms.append(float(data["p95_ms"]))
    return sorted([*ours.values(), *rows], key=lambda row: float(np.median(row.samples_ms)))


def numbers(count: int) -> Callable[[str], list[float]]:
    def parse(text: str) -> list[float]:
        values = [float(part) for part in text.split(",")]
        if len(values) == 1:
            values *= count
        if len(values) != count:
            raise argparse.ArgumentTypeError(f"expected {count} numbers, got {len(values)}")
        return values

    return parse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help=".bin (4 columns) or .pcd.bin (5 columns)")
    parser.add_argument("--voxel", type=numbers(3), default=[0.2] * 3, help="edge in metres, one number or x,y,z (default 0.2)")
    parser.add_argument(
        "--range", type=numbers(6), default=[-54.0, -54.0, -5.0, 54.0, 54.0, 3.0], help="min x,y,z, max x,y,z (write --range=-54,...)"
    )
    parser.add_argument("--whole", action="store_true", help="give the packages the out-of-range points too")
    parser.add_argument(
        "--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2], help="thread counts for packages that take one"
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=5, help="calls of each package in a round; rounds x calls >= 20")
    parser.add_argument("--columns", type=int, help="columns of the files, where the name does not tell")
    parser.add_argument("--pointmill", type=Path, help="our binary pointmill-bench; left out, only the packages run")
    parser.add_argument("--pointmill-args", type=str.split, default=[], help="more arguments for it, in one string")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too")
    options = parser.parse_args()
    if options.rounds * options.calls < 20:
        parser.error("rounds x calls must be 20 or more")

    about = machine("numpy", "small_gicp", "kiss-icp", "open3d")
    results = []
    for path in options.files:
        rows = [row.summary() for row in bench(path, options)]
        results.append({"file": path.name, "voxel": options.voxel, "range": options.range, "whole": options.whole, "rows": rows})
        print(f"\n{path.name}, voxel {options.voxel} m{', whole cloud' if options.whole else ''}")
        print("| what | threads | points | voxels | median ms | p95 ms | min ms | samples |\n|---|---|---|---|---|---|---|---|")
        for row in rows:
            print("| {name} | {threads} | {points} | {voxels} | {median_ms:.2f} | {p95_ms:.2f} | {min_ms:.2f} | {samples} |".format(**row))
    load_after(about)
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
