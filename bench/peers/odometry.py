"""What runs a drive in odometry of published packages and in ours: poses, milliseconds and statuses of its sweeps. bench/drives.py measures with it."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SWEEPS = (".laz", ".las", ".bin", ".npy")


@dataclass
class Run:
    """A drive as a program saw it: one entry of each list for each sweep. Statuses and the voxel that it took are ours alone."""

    poses: np.ndarray
    ms: list[float]
    statuses: list[str] = field(default_factory=list)
    voxel: float | None = None


def load(path: Path) -> np.ndarray:
    """x, y, z of LAZ, LAS, rows of four f32 (KITTI) or an array of numpy."""
    if path.suffix in (".laz", ".las"):
        import laspy

        return np.asarray(laspy.read(path).xyz, np.float64)
    rows = np.load(path) if path.suffix == ".npy" else np.fromfile(path, np.float32).reshape(-1, 4)
    return rows[:, :3].astype(np.float64)


def read_poses(path: Path) -> np.ndarray:
    """Poses of KITTI's format: 12 numbers a line."""
    rows = np.loadtxt(path, ndmin=2)
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3] = rows[:, :12].reshape(-1, 3, 4)
    return poses


def corrected(sweep: np.ndarray) -> np.ndarray:
    """The sweep with KITTI's vertical angle as KISS-ICP corrects it."""
    from kiss_icp.pybind import kiss_icp_pybind

    return np.asarray(kiss_icp_pybind._correct_kitti_scan(kiss_icp_pybind._Vector3dVector(sweep)))


def kiss(sweeps: list[np.ndarray], voxel: float, threads: int) -> Run:
    from kiss_icp.config import KISSConfig
    from kiss_icp.kiss_icp import KissICP

    config = KISSConfig()
    config.data.deskew = False
    config.mapping.voxel_size = voxel
    config.registration.max_num_threads = threads
    odometry, poses, times = KissICP(config), [], []
    for sweep in sweeps:
        start = time.perf_counter()
        odometry.register_frame(sweep, np.zeros(0))
        times.append(1e3 * (time.perf_counter() - start))
        poses.append(odometry.last_pose.copy())
    return Run(np.array(poses), times)


def gicp(sweeps: list[np.ndarray], voxel: float, threads: int) -> Run:
    import small_gicp

    target, pose, step, poses, times = small_gicp.GaussianVoxelMap(voxel), np.eye(4), np.eye(4), [], []
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
    return Run(np.array(poses), times)


def ours(program: Path, files: list[Path], voxel: str, threads: int, flags: list[str]) -> Run | str:
    """The run of the command, or what it said where it refused the drive. Its time of a sweep begins when the sweep is read."""
    command = [program, "odometry", *files, "--device", "cpu", "--threads", str(threads), "--voxel-size", voxel, "--json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    frames = [line["data"] for line in lines if line["type"] == "frame"]
    if len(frames) != len(files):
        return f"{len(frames)} of {len(files)} sweeps, exit code {done.returncode}: {done.stderr.strip()[-400:]}"
    poses = np.array([frame["world_from_sensor"] for frame in frames]).reshape(-1, 4, 4)
    return Run(poses, [frame["ms"] for frame in frames], [frame["status"] for frame in frames], frames[-1].get("voxel_size"))
