#!/usr/bin/env python3
"""Registration without a guess on the CPU: Open3D, kiss-matcher and pointmill, in turn, in one run.

    register.py DRIVE --distance 20 [--yaws 0 90 180 270] [--voxel 0.3] [--runs 5] [--pairs 10]

DRIVE holds sweeps NNNNNN.laz and poses.txt, 12 numbers a line in the frame of the sweeps. Pairs are those sweeps that are the distance apart, to 1 m; each
source is turned by each yaw first. A pose is right within 2 m and 5 degrees of the truth. `claimed` are the answers that a package calls valid: kiss-matcher's
`valid`, pointmill's verdict `found`; Open3D says nothing, so all of its answers count. `answers` is how many different poses a pair has in --runs runs,
at most. Times are medians in ms of a call from two clouds to the pose; each package uses its own number of threads.
"""

from __future__ import annotations

import argparse
import math
import statistics
from pathlib import Path

import kiss_matcher
import laspy
import numpy as np
import open3d as o3d
from common import load_after, machine, timed

import pointmill


def sweep(path: Path) -> np.ndarray:
    return np.ascontiguousarray(laspy.read(path).xyz, np.float64)


def turn(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    pose = np.eye(4)
    pose[:2, :2] = [[c, -s], [s, c]]
    return pose


def of_pointmill(source, target, voxel):
    found = pointmill.register(source=source, target=target, voxel_size=voxel)
    return np.asarray(found.target_from_source), found.verdict == "found"


def of_kiss(source, target, voxel):
    matcher = kiss_matcher.KISSMatcher(kiss_matcher.KISSMatcherConfig(voxel))
    found = matcher.estimate(source, target)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = found.rotation, np.asarray(found.translation).ravel()
    return pose, bool(found.valid)


def of_open3d(source, target, voxel):
    o3d.utility.random.seed(0)
    clouds, features = [], []
    for points in (source, target):
        cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points)).voxel_down_sample(voxel)
        cloud.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(radius=2 * voxel, max_nn=30))
        search = o3d.geometry.KDTreeSearchParamHybrid(radius=5 * voxel, max_nn=100)
        clouds.append(cloud)
        features.append(o3d.pipelines.registration.compute_fpfh_feature(cloud, search))
    registration = o3d.pipelines.registration
    checkers = [registration.CorrespondenceCheckerBasedOnEdgeLength(0.9),
                registration.CorrespondenceCheckerBasedOnDistance(1.5 * voxel)]
    found = registration.registration_ransac_based_on_feature_matching(
        *clouds, *features, True, 1.5 * voxel, registration.TransformationEstimationPointToPoint(False), 3, checkers,
        registration.RANSACConvergenceCriteria(100_000, 0.999))
    return np.asarray(found.transformation), True


def off(pose: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Metres and degrees between two poses."""
    error = np.linalg.inv(truth) @ pose
    cosine = min(1.0, max(-1.0, (np.trace(error[:3, :3]) - 1) / 2))
    return float(np.linalg.norm(pose[:3, 3] - truth[:3, 3])), math.degrees(math.acos(cosine))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drive", type=Path)
    parser.add_argument("--distance", type=float, required=True)
    parser.add_argument("--yaws", type=float, nargs="+", default=[0, 90, 180, 270])
    parser.add_argument("--voxel", type=float, default=0.3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=1 << 30)
    args = parser.parse_args()
    about = machine("kiss-matcher", "open3d", "numpy")
    poses = np.tile(np.eye(4), (len(lines := np.loadtxt(args.drive / "poses.txt")), 1, 1))
    poses[:, :3] = lines.reshape(-1, 3, 4)
    apart = np.linalg.norm(poses[:, None, :3, 3] - poses[None, :, :3, 3], axis=-1)
    pairs = [(i, j) for i, j in np.argwhere(abs(apart - args.distance) <= 1) if i < j][: args.pairs]
    clouds = {i: sweep(args.drive / f"{i:06}.laz") for pair in pairs for i in pair}
    print(f"{len(pairs)} pairs {args.distance:g} m apart, {len(args.yaws)} yaws, voxels of {args.voxel} m\n")
    print("| package | right | claimed | claimed and wrong | median m, degrees of the right | answers | ms |")
    print("|---|---|---|---|---|---|---|")
    for name, call in {"pointmill": of_pointmill, "kiss-matcher": of_kiss, "Open3D": of_open3d}.items():
        errors, claims, answers, times = [], [], 1, []
        for i, j in pairs:
            for yaw in args.yaws:
                source = clouds[j] @ turn(yaw)[:3, :3].T
                truth = np.linalg.inv(poses[i]) @ poses[j] @ np.linalg.inv(turn(yaw))
                known = set()
                for run in range(args.runs if yaw == args.yaws[0] else 1):
                    found = []
                    times.append(timed(lambda: found.extend(call(source, clouds[i], args.voxel))))
                    known.add(found[0].tobytes())
                    if run == 0:
                        errors.append(off(found[0], truth))
                        claims.append(found[1])
                answers = max(answers, len(known))
        right = [m <= 2 and degrees <= 5 for m, degrees in errors]
        middle = [statistics.median(part) for part in zip(*(e for e, ok in zip(errors, right) if ok))] or [math.nan] * 2
        wrong = sum(claimed and not ok for claimed, ok in zip(claims, right))
        print(f"| {name} | {sum(right)} of {len(right)} | {sum(claims)} | {wrong} | {middle[0]:.2f}, {middle[1]:.2f} "
              f"| {answers} | {statistics.median(times):.0f} |", flush=True)
    load_after(about)


if __name__ == "__main__":
    main()
