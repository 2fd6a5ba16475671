"""The way of a sensor from its sweeps, and how far it is from the truth: a drive past walls that no two look alike."""

import numpy as np

import pointmill


def street(rng, n=60_000):
    """Points of a road, of two rows of houses with gaps, and of boxes, in metres."""
    road = np.stack([rng.uniform(-30, 60, n), rng.uniform(-8, 8, n), rng.normal(0, 0.02, n)], 1)
    houses = []
    for start in range(-30, 60, 12):
        for side in (-1, 1):
            along, up = rng.uniform(start, start + 9, n // 20), rng.uniform(0, 6, n // 20)
            houses.append(np.stack([along, np.full(n // 20, side * rng.uniform(8, 11)), up], 1))
            across = rng.uniform(8, 14, n // 40)
            houses.append(np.stack([np.full(n // 40, start + 9.0), side * across, rng.uniform(0, 6, n // 40)], 1))
    boxes = [rng.uniform(-1, 1, (n // 100, 3)) * [2.0, 0.9, 0.8] + [x, y, 0.8] for x, y in rng.uniform([-20, -6], [50, 6], (12, 2))]
    return np.concatenate([road, *houses, *boxes])


def pose_at(seconds):
    """The true pose of a car that turns slowly to the left at 8 m/s."""
    yaw = 0.04 * seconds
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    pose[:3, 3] = [8.0 * seconds, 0.16 * seconds**2, 1.7]
    return pose


def sweep(points, start, rng):
    """What a sensor measures from `start` on, each point at its own time, and these times."""
    seen = points[rng.permutation(len(points))[:20_000]]
    times = start + np.linspace(0.0, 0.1, len(seen), endpoint=False)
    poses = np.stack([pose_at(time) for time in times])
    local = np.einsum("nji,nj->ni", poses[:, :3, :3], seen - poses[:, :3, 3])
    return (local + rng.normal(0, 0.01, local.shape)).astype(np.float32), times


def main():
    rng = np.random.default_rng(0)
    points = street(rng)
    odometry = pointmill.Odometry()
    steps = [odometry.push(*sweep(points, 0.1 * i, rng)) for i in range(15)]
    print(f"{len(odometry)} sweeps, the last {steps[-1].status}; {len(odometry.map()):,} points in the map")

    # With times a pose belongs to the middle of its sweep.
    truth = np.stack([np.linalg.inv(pose_at(steps[0].time)) @ pose_at(step.time) for step in steps])
    found = pointmill.evaluate(np.stack([step.world_from_sensor for step in steps]), truth)
    print(f"{found.length:.2f} m, root mean square error {found.translation.rmse:.4f} m")
    if found.translation.rmse > 0.1:
        raise SystemExit("the trajectory is far off")


if __name__ == "__main__":
    main()
