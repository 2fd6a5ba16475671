"""Errors of odometry of published packages and ours beside the true poses of KITTI, with and without the correction of the sensor's vertical angle.

    cargo build --release
    .venv/bin/python bench/peers/odometry_truth.py --pointmill target/release/pointmill FOLDER [--frames 10 20] [--args "--max-range 60"]

The folder holds sweeps (`.laz`, `.las` or KITTI's `.bin`) and `poses.txt`, 12 numbers for each sweep. Ours reads them with `--dataset kitti-odometry` where the angle is corrected; the other packages get points that
KISS-ICP's function for KITTI corrected. The frame of the truth is turned against that of the sweeps by a constant rotation, an error of calibration. It is taken out of each trajectory: the smallest rotation that aligns
the positions, beside a translation, turns the frame of the world and that of the sensor. ATE is the root mean square distance of the positions after that, the relative error the mean over all pairs of poses so many frames apart
of the error of the motion in percent of the way.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from common import load_after, machine
from odometry import gicp, kiss, load


def read_poses(path: Path) -> np.ndarray:
    rows = np.loadtxt(path, ndmin=2)
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3] = rows[:, :12].reshape(-1, 3, 4)
    return poses


def ours(program: Path, folder: Path, more: list[str]) -> tuple[np.ndarray, str]:
    """The poses, and what became of the sweeps."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "poses.txt"
        command = [program, "odometry", *sorted(sweeps_of(folder)), "--device", "cpu", "--out", out, *more]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return read_poses(out), told.splitlines()[1]


def sweeps_of(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix in (".laz", ".las", ".bin")]


def smallest_rotation(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The rotation that takes one trajectory's positions to another's, without a turn about the way where that is nearly straight."""
    a, b = (points - points.mean(0) for points in (source, target))
    u, values, v = np.linalg.svd(a.T @ b)
    if values[1] > 1e-3 * values[0]:
        sign = np.sign(np.linalg.det(u @ v))
        return v.T @ np.diag([1, 1, sign]) @ u.T
    x, y = u[:, 0], v[0]
    cross, cosine = np.cross(x, y), x @ y
    skew = np.array([[0, -cross[2], cross[1]], [cross[2], 0, -cross[0]], [-cross[1], cross[0], 0]])
    return np.eye(3) + skew + skew @ skew / (1 + cosine)


def errors(poses: np.ndarray, truth: np.ndarray, frames: list[int]) -> list[float]:
    """ATE in metres, then the relative errors in percent."""
    turn = np.eye(4)
    turn[:3, :3] = smallest_rotation(poses[:, :3, 3], truth[:, :3, 3])
    poses = turn @ poses @ turn.T
    off = poses[:, :3, 3] - truth[:, :3, 3]
    found = [float(np.sqrt(np.mean(np.sum((off - off.mean(0)) ** 2, 1))))]
    for n in frames:
        motions = [np.linalg.inv(of[:-n]) @ of[n:] for of in (truth, poses)]
        wrong = np.linalg.norm((np.linalg.inv(motions[0]) @ motions[1])[:, :3, 3], axis=1)
        found.append(float(100 * np.mean(wrong / np.linalg.norm(motions[0][:, :3, 3], axis=1))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pointmill", type=Path, required=True)
    parser.add_argument("--frames", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--args", default="", help="flags of ours, such as --max-range 60")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    from kiss_icp.pybind import kiss_icp_pybind

    about = machine("kiss-icp", "small_gicp")
    truth = read_poses(args.folder / "poses.txt")
    sweeps = [load(path) for path in sorted(sweeps_of(args.folder))]
    print(f"{len(sweeps)} sweeps, {np.sum(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1)):.1f} m")
    print(f"| program | vertical angle | ATE | {' | '.join(f'{n} frames' for n in args.frames)} |\n|{'---|' * (3 + len(args.frames))}")
    for angle, flags in (("as it is", []), ("corrected", ["--dataset", "kitti-odometry"])):
        poses, became = ours(args.pointmill, args.folder, [*args.args.split(), *flags])
        runs = {f"pointmill ({became})": poses, "KISS-ICP": kiss(sweeps, args.threads)[0], "small_gicp": gicp(sweeps, args.threads)[0]}
        for name, poses in runs.items():
            ate, *relative = errors(poses, truth[: len(poses)], args.frames)
            print(f"| {name} | {angle} | {ate:.4f} m | {' | '.join(f'{x:.3f} %' for x in relative)} |", flush=True)
        correct = kiss_icp_pybind._correct_kitti_scan
        sweeps = [np.asarray(correct(kiss_icp_pybind._Vector3dVector(sweep))) for sweep in sweeps]
    load_after(about)


if __name__ == "__main__":
    main()
