#!/usr/bin/env python3
"""Registration without a guess on the CPU: pointmill, kiss-matcher and Open3D, one after the other, in one run.

    register.py DRIVE [--distances 10 20 30] [--pairs 12 6 4] [--voxel 0.3] [--runs 5] [--packages pointmill kiss-matcher open3d-ransac open3d-fgr]

DRIVE holds sweeps NNNNNN.laz and poses.txt, 12 numbers a line in the frame of the sweeps. At each distance the pairs that are so far apart, to 1 m, are taken at equal steps of their list; source k of n is
turned by 360 k / n degrees. A pose is right within 2 m and 5 degrees of the truth. An answer is claimed where a package calls it valid: pointmill's verdict `found`, kiss-matcher's `valid`;
Open3D calls none of its answers wrong. `answers` is how many different poses the first pair has in --runs runs. `CPU s` is the median of the seconds that all threads of a job use together, `s` that of the clock;
a job goes from two arrays of numpy to the pose. Settings are those that the packages recommend: `KISSMatcherConfig(voxel)`, and the tutorial of Open3D with its radii in voxels.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import laspy
import numpy as np
from common import load_after, machine

Found = tuple[np.ndarray, bool]


def sweep(path: Path) -> np.ndarray:
    return np.ascontiguousarray(laspy.read(path).xyz, np.float64)


def turn(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    pose = np.eye(4)
    pose[:2, :2] = [[c, -s], [s, c]]
    return pose


def of_pointmill(voxel: float) -> Callable[[np.ndarray, np.ndarray], Found]:
    import pointmill

    def call(source: np.ndarray, target: np.ndarray) -> Found:
        found = pointmill.register(source=source, target=target, voxel_size=voxel)
        return np.asarray(found.target_from_source), found.verdict == "found"

    return call


def of_kiss(voxel: float) -> Callable[[np.ndarray, np.ndarray], Found]:
    import kiss_matcher

    def call(source: np.ndarray, target: np.ndarray) -> Found:
        found = kiss_matcher.KISSMatcher(kiss_matcher.KISSMatcherConfig(voxel)).estimate(source, target)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = found.rotation, np.asarray(found.translation).ravel()
        return pose, bool(found.valid)

    return call


def of_open3d(voxel: float, fast: bool) -> Callable[[np.ndarray, np.ndarray], Found]:
    import open3d as o3d

    near, far = (o3d.geometry.KDTreeSearchParamHybrid(radius=r * voxel, max_nn=n) for r, n in ((2, 30), (5, 100)))
    registration, limit = o3d.pipelines.registration, 1.5 * voxel

    def call(source: np.ndarray, target: np.ndarray) -> Found:
        o3d.utility.random.seed(0)
        clouds = [o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points)).voxel_down_sample(voxel) for points in (source, target)]
        for cloud in clouds:
            cloud.estimate_normals(near)
        features = [registration.compute_fpfh_feature(cloud, far) for cloud in clouds]
        if fast:
            option = registration.FastGlobalRegistrationOption(maximum_correspondence_distance=0.5 * voxel)
            found = registration.registration_fgr_based_on_feature_matching(*clouds, *features, option)
        else:
            checkers = [registration.CorrespondenceCheckerBasedOnEdgeLength(0.9), registration.CorrespondenceCheckerBasedOnDistance(limit)]
            found = registration.registration_ransac_based_on_feature_matching(
                *clouds, *features, True, limit, registration.TransformationEstimationPointToPoint(False), 3, checkers,
                registration.RANSACConvergenceCriteria(100_000, 0.999))
        return np.asarray(found.transformation).copy(), True

    return call


PACKAGES = {
    "pointmill": of_pointmill,
    "kiss-matcher": of_kiss,
    "open3d-ransac": lambda voxel: of_open3d(voxel, fast=False),
    "open3d-fgr": lambda voxel: of_open3d(voxel, fast=True),
}


def off(pose: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Metres and degrees between two poses."""
    error = np.linalg.inv(truth) @ pose
    cosine = min(1.0, max(-1.0, (np.trace(error[:3, :3]) - 1) / 2))
    return float(np.linalg.norm(pose[:3, 3] - truth[:3, 3])), math.degrees(math.acos(cosine))


def row(call: Callable[[np.ndarray, np.ndarray], Found], jobs: list[tuple[np.ndarray, np.ndarray, np.ndarray]], runs: int) -> str:
    errors, claims, answers, processor, clock = [], [], set(), [], []
    for job, (source, target, truth) in enumerate(jobs):
        for run in range(runs if job == 0 else 1):
            before, start = time.process_time(), time.perf_counter()
            pose, claimed = call(source, target)
            clock.append(time.perf_counter() - start)
            processor.append(time.process_time() - before)
            if job == 0:
                answers.add(pose.tobytes())
            if run == 0:
                errors.append(off(pose, truth))
                claims.append(claimed)
    right = [m <= 2 and degrees <= 5 for m, degrees in errors]
    wrong = sum(claimed and not ok for claimed, ok in zip(claims, right))
    metres, degrees = (statistics.median(part) for part in zip(*errors))
    return (f"{sum(right)} of {len(right)} | {wrong} | {metres:.2f} m, {degrees:.2f}° | {len(answers)} "
            f"| {statistics.median(processor):.2f} | {statistics.median(clock):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drive", type=Path)
    parser.add_argument("--distances", type=float, nargs="+", default=[10, 20, 30])
    parser.add_argument("--pairs", type=int, nargs="+", default=[12, 6, 4], help="pairs at each distance")
    parser.add_argument("--voxel", type=float, default=0.3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    args = parser.parse_args()
    about = machine("pointmill", "kiss-matcher", "open3d", "numpy")
    print(f"threads: OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}, cores of this process {len(os.sched_getaffinity(0))}\n")
    lines = np.loadtxt(args.drive / "poses.txt")
    poses = np.tile(np.eye(4), (len(lines), 1, 1))
    poses[:, :3] = lines.reshape(-1, 3, 4)
    apart = np.linalg.norm(poses[:, None, :3, 3] - poses[None, :, :3, 3], axis=-1)
    clouds: dict[int, np.ndarray] = {}
    tasks = []
    for distance, count in zip(args.distances, args.pairs, strict=True):
        pairs = [(i, j) for i, j in np.argwhere(abs(apart - distance) <= 1).tolist() if i < j]
        jobs = []
        for k in range(n := min(count, len(pairs))):
            i, j = pairs[k * len(pairs) // n]
            for index in (i, j):
                clouds.setdefault(index, sweep(args.drive / f"{index:06}.laz"))
            by = turn(360 * k / n)
            jobs.append((np.ascontiguousarray(clouds[j] @ by[:3, :3].T), clouds[i], np.linalg.inv(poses[i]) @ poses[j] @ np.linalg.inv(by)))
        tasks.append((distance, jobs))
    print("| package | apart | right | claimed and wrong | median error | answers | CPU s | s |\n|---|---|---|---|---|---|---|---|")
    for name in args.packages:
        call = PACKAGES[name](args.voxel)
        for distance, jobs in tasks:
            print(f"| {name} | {distance:g} m | {row(call, jobs, args.runs)} |", flush=True)
    load_after(about)


if __name__ == "__main__":
    main()
