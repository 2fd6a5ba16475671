#!/usr/bin/env python3
"""Iterative closest point on the CPU: Open3D, small_gicp and pointmill, in turn, in one run.

    pointmill synth --shape rabbit --out rabbit/
    python3 icp.py --pointmill target/release/pointmill rabbit/source.ply rabbit/target.ply --truth rabbit/target_from_source.txt

A job begins with the points in a package's own container and ends with the pose: normals, covariances and trees are part of it. All packages begin at
the identity and take pairs up to --max-distance; each goes on until its own criterion says that it has arrived, so the pose beside the time tells what the time
was for. Of pointmill it is the `ms` and the `target_ms` of `pointmill icp --json` together, a new process each time.

The packages take turns, round after round, so that a busy moment of the machine meets them all.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from common import load_after, machine, pointmill_lines, timed
from numpy.typing import NDArray

Cloud = NDArray[np.float64]
Pose = NDArray[np.float64]
METRICS = ("point-to-point", "point-to-plane", "gicp")
TYPES = {"char": "i1", "uchar": "u1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4", "float": "<f4", "double": "<f8"}


@dataclass
class Job:
    """A package's way to a pose: `call` returns the pose and the number of its steps."""

    name: str
    metric: str
    call: Callable[[], tuple[Pose, int]]
    samples_ms: list[float] = field(default_factory=list)
    pose: Pose | None = None
    steps: int = 0


def read_ply(path: Path) -> Cloud:
    """x, y, z of a PLY file of scalar properties, text or little-endian."""
    data = path.read_bytes()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    header = data[:end].decode("ascii", "replace").splitlines()
    vertex = next(i for i, line in enumerate(header) if line.startswith("element vertex "))
    count = int(header[vertex].split()[2])
    rest = header[vertex + 1 :]
    last = next((i for i, line in enumerate(rest) if not line.startswith("property ")), len(rest))
    columns = [tuple(line.split()[1:3]) for line in rest[:last]]
    names = [name for _, name in columns]
    if "format ascii 1.0" in header:
        rows = np.array([line.split()[: len(names)] for line in data[end:].splitlines()[:count]], np.float64)
        return np.ascontiguousarray(rows[:, [names.index(axis) for axis in "xyz"]])
    table = np.frombuffer(data, [(name, TYPES[kind]) for kind, name in columns], count, end)
    return np.stack([table[axis].astype(np.float64) for axis in "xyz"], axis=1)


def with_returns(cloud: Cloud) -> Cloud:
    """The points that are not at exactly (0, 0, 0), which some sensors give where nothing came back."""
    return np.ascontiguousarray(cloud[(cloud != 0.0).any(axis=1)])


def open3d_jobs(source: Cloud, target: Cloud, distance: float) -> list[Job]:
    import open3d

    registration = open3d.pipelines.registration
    clouds = [open3d.geometry.PointCloud(open3d.utility.Vector3dVector(cloud)) for cloud in (source, target)]
    knn = open3d.geometry.KDTreeSearchParamKNN(20)

    def run(metric: str, tolerance: float) -> tuple[Pose, int]:
        # Copies have no normals yet, so that these are made in every call.
        moved, onto = (open3d.geometry.PointCloud(cloud) for cloud in clouds)
        criteria = registration.ICPConvergenceCriteria(tolerance, tolerance, 100)
        if metric == "gicp":
            estimation = registration.TransformationEstimationForGeneralizedICP()
            moved.estimate_normals(knn)
            onto.estimate_normals(knn)
            found = registration.registration_generalized_icp(moved, onto, distance, np.eye(4), estimation, criteria)
        else:
            if metric == "point-to-plane":
                onto.estimate_normals(knn)
                estimation = registration.TransformationEstimationPointToPlane()
            else:
                estimation = registration.TransformationEstimationPointToPoint()
            found = registration.registration_icp(moved, onto, distance, np.eye(4), estimation, criteria)
        return np.asarray(found.transformation), 0  # it does not tell its steps

    tolerances = {"point-to-point": 1e-9, "point-to-plane": 1e-6, "gicp": 1e-6}
    return [Job("open3d", metric, lambda metric=metric: run(metric, tolerances[metric])) for metric in METRICS]


def small_gicp_jobs(source: Cloud, target: Cloud, distance: float, threads: int) -> list[Job]:
    import small_gicp

    kinds = {"point-to-point": "ICP", "point-to-plane": "PLANE_ICP", "gicp": "GICP"}

    def run(metric: str, tolerance: float) -> tuple[Pose, int]:
        moved, onto = small_gicp.PointCloud(source), small_gicp.PointCloud(target)
        tree = small_gicp.KdTree(onto, num_threads=threads)
        if metric != "point-to-point":
            small_gicp.estimate_normals_covariances(onto, tree, num_neighbors=20, num_threads=threads)
        if metric == "gicp":
            small_gicp.estimate_covariances(moved, num_neighbors=20, num_threads=threads)
        found = small_gicp.align(
            onto,
            moved,
            tree,
            registration_type=kinds[metric],
            max_correspondence_distance=distance,
            num_threads=threads,
            max_iterations=100,
            rotation_epsilon=tolerance,
            translation_epsilon=tolerance,
        )
        return np.asarray(found.T_target_source), int(found.iterations)

    # Radians and metres; steps of point-to-point become short long before it has arrived.
    tolerances = {"point-to-point": 1e-9, "point-to-plane": 1e-6, "gicp": 1e-6}
    return [Job("small_gicp", metric, lambda metric=metric: run(metric, tolerances[metric])) for metric in METRICS]


def off(source: Cloud, pose: Pose, truth: Pose) -> tuple[float, float]:
    """Degrees, and root mean square metres of the source points, between two poses."""
    chord = np.linalg.norm(pose[:3, :3] - truth[:3, :3])
    moved = source @ (pose - truth)[:3, :3].T + (pose - truth)[:3, 3]
    return math.degrees(2.0 * math.asin(min(1.0, chord / math.sqrt(8.0)))), float(np.sqrt((moved**2).sum(axis=1).mean()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a PLY file")
    parser.add_argument("target", type=Path, help="a PLY file")
    parser.add_argument("--truth", type=Path, help="the true pose, 16 numbers row by row; left out, errors are not told")
    parser.add_argument("--max-distance", type=float, default=1.0, help="of a pair in metres (default 1)")
    parser.add_argument("--drop-zeros", action="store_true", help="leave out points at exactly (0, 0, 0); else every package gets them")
    parser.add_argument("--threads", type=int, default=2, help="of small_gicp (default 2)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--pointmill", type=Path, help="our binary; left out, only the packages run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too")
    options = parser.parse_args()

    about = machine("numpy", "small_gicp", "open3d")
    source, target = read_ply(options.source), read_ply(options.target)
    zeros = [len(cloud) - len(with_returns(cloud)) for cloud in (source, target)]
    if options.drop_zeros:
        source, target = with_returns(source), with_returns(target)
    truth = np.loadtxt(options.truth).reshape(4, 4) if options.truth else None
    jobs: list[Job] = []
    for name, make in [
        ("open3d", lambda: open3d_jobs(source, target, options.max_distance)),
        ("small_gicp", lambda: small_gicp_jobs(source, target, options.max_distance, options.threads)),
    ]:
        try:
            jobs += make()
        except (ImportError, OSError) as error:
            print(f"left out: {name} ({error})", file=sys.stderr)
    ours = [Job("pointmill", metric, lambda: (np.eye(4), 0)) for metric in METRICS] if options.pointmill else []

    for round_ in range(-1, options.rounds):  # round -1 warms up
        for job in jobs:
            result: list[tuple[Pose, int]] = []
            ms = timed(lambda job=job, result=result: result.append(job.call()))
            job.pose, job.steps = result[0]
            if round_ >= 0:
                job.samples_ms.append(ms)
        for job in ours:
            files = [str(options.source), str(options.target)]
            flags = ["--metric", job.metric, "--max-distance", str(options.max_distance), "--device", "cpu", "--json"]
            flags += ["--drop-zeros"] if options.drop_zeros else []
            frame, summary = pointmill_lines([str(options.pointmill.resolve()), "icp", *files, *flags], ("frame", "summary"), (0, 6))
            job.pose, job.steps = np.array(frame["target_from_source"]).reshape(4, 4), int(frame["iterations"])
            if round_ >= 0:
                job.samples_ms.append(float(frame["ms"]) + float(summary["target_ms"]))

    rows = []
    print(f"\n{options.source.name} onto {options.target.name}, {len(source)} and {len(target)} points, {options.rounds} rounds")
    print(f"{zeros[0]} and {zeros[1]} points at (0, 0, 0) {'left out' if options.drop_zeros else 'among them'}")
    print("| metric | what | steps | median ms | p95 ms | min ms | rotation off | displacement off |\n|---|---|---|---|---|---|---|---|")
    for job in sorted(jobs + ours, key=lambda job: (METRICS.index(job.metric), float(np.median(job.samples_ms)))):
        degrees, metres = off(source, job.pose, truth) if truth is not None else (math.nan, math.nan)
        median, p95 = float(np.median(job.samples_ms)), float(np.percentile(job.samples_ms, 95))
        row = {"name": job.name, "metric": job.metric, "steps": job.steps or None, "median_ms": median, "p95_ms": p95}
        rows.append(row | {"min_ms": min(job.samples_ms), "degrees": degrees, "metres": metres})
        steps = job.steps or "-"
        error = f"{degrees:.3f} deg | {metres * 1e3:.3f} mm" if truth is not None else "- | -"
        print(f"| {job.metric} | {job.name} | {steps} | {median:.1f} | {p95:.1f} | {min(job.samples_ms):.1f} | {error} |")
    load_after(about)
    if options.json:
        head = {"machine": about, "source": options.source.name, "zeros": zeros, "drop_zeros": options.drop_zeros}
        options.json.write_text(json.dumps(head | {"rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
