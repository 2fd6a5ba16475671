"""Odometry of published packages and ours on the same sweeps, in turns.

    cargo build --release -p pointmill -p pointmill-io --example odometry --features pointmill-io/laz
    .venv/bin/python bench/peers/odometry.py --ours target/release/examples/odometry SWEEPS.. [--truth POSES.txt] [--rounds 3] [--threads 2]

Sweeps are `.laz` or `.las` (laspy) or KITTI `.bin`. Each program takes the whole drive in its turn, with its sweeps in memory. The table has the median of all sweeps of all rounds, the end of the trajectory, how far
positions are from each other program's at most, and with --truth the errors. Ours runs in a process of its own and reports its median.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

from common import load_after, machine

VOXEL = 1.0


def load(path: Path) -> np.ndarray:
    if path.suffix in (".laz", ".las"):
        import laspy

        cloud = laspy.read(path)
        return np.stack([cloud.x, cloud.y, cloud.z], 1).astype(np.float64)
    return np.fromfile(path, np.float32).reshape(-1, 4)[:, :3].astype(np.float64)


def kiss(sweeps: list[np.ndarray], threads: int) -> tuple[np.ndarray, list[float]]:
    from kiss_icp.config import KISSConfig
    from kiss_icp.kiss_icp import KissICP

    config = KISSConfig()
    config.data.deskew = False
    config.mapping.voxel_size = VOXEL
    config.registration.max_num_threads = threads
    odometry, poses, times = KissICP(config), [], []
    for sweep in sweeps:
        start = time.perf_counter()
        odometry.register_frame(sweep, np.zeros(0))
        times.append(1e3 * (time.perf_counter() - start))
        poses.append(odometry.last_pose.copy())
    return np.array(poses), times


def gicp(sweeps: list[np.ndarray], threads: int) -> tuple[np.ndarray, list[float]]:
    import small_gicp

    target, pose, step, poses, times = small_gicp.GaussianVoxelMap(VOXEL), np.eye(4), np.eye(4), [], []
    target.set_lru(horizon=100, clear_cycle=10)
    for sweep in sweeps:
        start = time.perf_counter()
        points, _ = small_gicp.preprocess_points(sweep, downsampling_resolution=0.25, num_threads=threads)
        if poses:
            found = small_gicp.align(target, points, pose @ step, num_threads=threads).T_target_source
            step, pose = np.linalg.inv(pose) @ found, found
        target.insert(points, pose)
        times.append(1e3 * (time.perf_counter() - start))
        poses.append(pose.copy())
    return np.array(poses), times


def ours(program: Path, files: list[Path], threads: int) -> tuple[np.ndarray, list[float]]:
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run([program, *files], env=environment, capture_output=True, text=True, check=True)
    poses = np.tile(np.eye(4), (len(files), 1, 1))
    poses[:, :3] = np.array([[float(x) for x in row.split()] for row in done.stdout.splitlines()]).reshape(-1, 3, 4)
    return poses, [float(done.stderr.split("median ")[1].split()[0])]


def errors(poses: np.ndarray, truth: np.ndarray) -> str:
    """The absolute error from the first pose on, and the mean drift of segments of 10 to 100 m."""
    a, b = (np.linalg.inv(p[0]) @ p for p in (poses, truth))
    ate = np.sqrt(np.mean(np.sum((a - b)[:, :3, 3] ** 2, 1)))
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(b[:, :3, 3], axis=0), axis=1))])
    shares = []
    for i in range(0, len(b), 5):
        for length in range(10, 101, 10):
            j = int(np.searchsorted(along, along[i] + length, side="right"))
            if j < len(b):
                off = np.linalg.inv(np.linalg.inv(b[i]) @ b[j]) @ (np.linalg.inv(a[i]) @ a[j])
                shares.append(np.linalg.norm(off[:3, 3]) / length)
    return f"absolute {ate:.4f} m, drift {100 * np.mean(shares) if shares else 0:.4f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweeps", nargs="+", type=Path)
    parser.add_argument("--ours", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    sweeps = [load(path) for path in args.sweeps]
    runs = {"kiss-icp": lambda: kiss(sweeps, args.threads), "small_gicp": lambda: gicp(sweeps, args.threads)}
    if args.ours:
        runs["pointmill"] = lambda: ours(args.ours, args.sweeps, args.threads)
    poses: dict[str, np.ndarray] = {}
    times: dict[str, list[float]] = {name: [] for name in runs}
    about = machine("kiss-icp", "small_gicp")
    print(f"{len(sweeps)} sweeps, {args.threads} threads, {args.rounds} rounds")
    for _ in range(args.rounds):
        for name, run in runs.items():
            poses[name], taken = run()
            times[name] += taken
    for name, trajectory in poses.items():
        apart = [f"{np.linalg.norm((trajectory - other)[:, :3, 3], axis=1).max():.3f} m from {known}" for known, other in poses.items() if known != name]
        print(f"{name}: median {statistics.median(times[name]):.1f} ms, end {np.round(trajectory[-1, :3, 3], 3)}, at most {', '.join(apart)}")
    if args.truth:
        rows = np.loadtxt(args.truth)
        truth = np.tile(np.eye(4), (len(rows), 1, 1))
        truth[:, :3] = rows[:, :12].reshape(-1, 3, 4)
        for name, trajectory in poses.items():
            print(f"{name}: {errors(trajectory, truth[: len(trajectory)])}")
    load_after(about)


if __name__ == "__main__":
    main()
