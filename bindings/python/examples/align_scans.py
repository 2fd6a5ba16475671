"""Two scans of one place: where does the second lie in the frame of the first? By NDT against a grid of the first, and by ICP between the two."""

import numpy as np

import pointmill
from pointmill import ndt


def place(rng, n=30_000):
    """Points on the ground, on two walls and on some boxes, in metres."""
    ground = np.stack([rng.uniform(-20, 20, n), rng.uniform(-20, 20, n), rng.normal(0, 0.02, n)], 1)
    wall = np.stack([rng.uniform(-20, 20, n // 3), np.full(n // 3, 12.0), rng.uniform(0, 4, n // 3)], 1)
    other = np.stack([np.full(n // 3, -15.0), rng.uniform(-20, 20, n // 3), rng.uniform(0, 4, n // 3)], 1)
    boxes = [rng.uniform(-1, 1, (n // 20, 3)) * [2.0, 0.9, 0.8] + [x, y, 0.8] for x, y in rng.uniform(-12, 10, (8, 2))]
    return np.concatenate([ground, wall, other, *boxes])


def seen_from(points, x, y, yaw, rng):
    """The same points in the frame of a sensor that stands there, with noise."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    moved = points - [x, y, 0.0]
    rotated = moved @ np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return (rotated + rng.normal(0, 0.01, points.shape)).astype(np.float32)


def report(name, transform):
    yaw = np.degrees(np.arctan2(transform[1, 0], transform[0, 0]))
    print(f"{name}: x {transform[0, 3]:.3f} m, y {transform[1, 3]:.3f} m, yaw {yaw:.3f} deg")


def main():
    points = place(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    first = seen_from(points[::2], 0.0, 0.0, 0.0, rng)
    second = seen_from(points[1::2], 0.8, -0.5, np.radians(2.0), rng)
    print("truth: x 0.800 m, y -0.500 m, yaw 2.000 deg")

    grid = ndt.Grid(first, resolution=2.0)
    found = grid.align(second[::10].copy(), [0.5, -0.3, 0.0, 0.0, 0.0, 0.0])
    report(f"ndt, {found.status} after {found.iterations} steps, nvtl {found.nvtl:.2f}", found.target_from_source)

    found = pointmill.icp(second, first, metric="gicp", schedule=[(1.0, 3.0), (0.25, 0.5)])
    report(f"gicp, {found.status} after {found.iterations} steps, rmse {found.inlier_rmse:.3f} m", found.target_from_source)
    if not found.converged:
        raise SystemExit("the alignment did not converge")


if __name__ == "__main__":
    main()
