"""Odometry and errors of trajectories."""

import pickle

import numpy as np
import pytest

import pointmill


def room(moved):
    a, b = (grid.ravel() * 0.1 - 3.0 for grid in np.meshgrid(np.arange(60), np.arange(60)))
    side, level = np.full(3600, 3.0), np.full(3600, -1.0)
    walls = [(a, b, level), (a, side, b + 2), (a, -side, b + 2), (side, a, b + 2), (-side, a, b + 2)]
    return np.concatenate([np.stack(wall, 1) for wall in walls]) - [moved, 0.0, 0.0]


def drive(threads, dtype=np.float64, times=None):
    pointmill.set_num_threads(threads)
    odometry = pointmill.Odometry(voxel_size=0.5, min_range=0.1)
    steps = [odometry.push(room(0.1 * i).astype(dtype), None if times is None else times + 0.1 * i) for i in range(5)]
    pointmill.set_num_threads(2)
    return odometry, steps


def test_poses_are_where_the_sensor_was():
    odometry, steps = drive(2)
    assert [step.status for step in steps] == ["started"] + ["tracked"] * 4
    assert [step.index for step in steps] == list(range(5)) and len(odometry) == 5
    for i, step in enumerate(steps):
        assert step.world_from_sensor.shape == (4, 4) and step.world_from_sensor.dtype == np.float64
        assert abs(step.world_from_sensor[0, 3] - 0.1 * i) < 0.01
    first, last = steps[0], steps[-1]
    assert first.rank is first.covariance is first.pivot is None
    assert last.rank == 6 and last.covariance.shape == (6, 6) and last.pivot.shape == (3,) and last.pairs > 100
    assert (last.times, last.time, last.points) == ("none", None, 18_000)
    points = odometry.map()
    assert points.shape == (last.map_points, 3) and points.dtype == np.float64
    assert repr(odometry) == "Odometry(5 sweeps, voxel_size=0.5)" and "tracked" in repr(last)
    back = pickle.loads(pickle.dumps(last))
    assert np.array_equal(back.world_from_sensor, last.world_from_sensor) and back.status == last.status


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype):
    (one, one_steps), (many, many_steps) = drive(1, dtype), drive(8, dtype)
    assert all(np.array_equal(a.world_from_sensor, b.world_from_sensor) for a, b in zip(one_steps, many_steps, strict=True))
    assert one.map().tobytes() == many.map().tobytes()


def test_times_are_used():
    times = np.linspace(1e9, 1e9 + 0.09, 18_000)
    _, steps = drive(2, times=times)
    assert [step.times for step in steps] == ["relative"] + ["absolute"] * 4
    assert abs(steps[2].time - 1e9 - 0.245) < 1e-6 and abs(steps[2].interval - 0.1) < 1e-6


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    step = pointmill.Odometry(min_range=0.1).push(torch.from_numpy(room(0.0)))
    assert isinstance(step.world_from_sensor, torch.Tensor)


def test_sweeps_that_say_nothing():
    odometry = pointmill.Odometry()
    for points in (np.zeros((0, 3), np.float32), np.full((100, 3), np.nan), np.zeros((100, 3), np.float32)):
        step = odometry.push(points)
        assert step.status == "too-few-points" and np.array_equal(step.world_from_sensor, np.eye(4))


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="voxel_size: expected finite metres > 0, got 0"):
        pointmill.Odometry(voxel_size=0.0)
    with pytest.raises(ValueError, match='^metric: expected "point-to-plane" or "point-to-point", got "gicp"'):
        pointmill.Odometry(metric="gicp")
    for metric in ("point-to-plane", "point-to-point"):
        pointmill.Odometry(metric=metric)
    with pytest.raises(ValueError, match="max_iterations: expected at least 1, got 0"):
        pointmill.Odometry(max_iterations=0)
    odometry = pointmill.Odometry()
    with pytest.raises(ValueError, match="times: expected 5 times, one for each point, got 4"):
        odometry.push(np.zeros((5, 3), np.float32), np.zeros(4))
    with pytest.raises(ValueError, match=r"times: expected an array of shape \[N\], got shape"):
        odometry.push(np.zeros((5, 3), np.float32), np.zeros((5, 1)))
    with pytest.raises(TypeError, match="points"):
        odometry.push(np.zeros((5, 3), bool))
    assert len(odometry) == 0


def ways():
    truth = np.tile(np.eye(4), (200, 1, 1))
    truth[:, 0, 3] = np.arange(200.0)
    estimate = truth.copy()
    estimate[:, 0, 3] *= 1.01
    estimate[:, 1, 3] = 5.0
    return estimate, truth


def test_errors_are_those_of_the_definitions(tmp_path):
    estimate, truth = ways()
    found = pointmill.evaluate(estimate, truth)
    assert found.translation.min == 5.0 and found.length == 199.0 and found.scale == 1.0
    assert abs(found.relative[0].translation.mean - 0.01) < 1e-9 and found.relative[0].frames == 1
    assert found.relative[1].metres == 10.0 and found.relative[1].frames is None
    # A segment ends behind its length.
    assert abs(found.drift - 0.0101) < 1e-9 and found.rotation_drift == 0.0
    assert np.array_equal(found.estimate_indices, np.arange(200)) and found.translation_errors.shape == (200,)
    assert np.allclose(found.along, np.arange(200.0)) and not found.rotation_errors.any()

    found = pointmill.evaluate(estimate, truth, align="sim3")
    assert found.translation.max < 1e-9 and abs(found.scale - 1 / 1.01) < 1e-9
    assert pickle.loads(pickle.dumps(found)).translation == found.translation

    names = [str(tmp_path / "estimate.txt"), tmp_path / "truth.txt"]
    for name, poses in zip(names, (estimate, truth), strict=True):
        np.savetxt(name, poses[:, :3].reshape(-1, 12), fmt="%.17g")
    assert pointmill.evaluate(*names).translation == pointmill.evaluate(estimate, truth).translation


def test_poses_belong_together_by_time():
    estimate, truth = ways()
    times = 0.1 * np.arange(200)
    found = pointmill.evaluate(estimate[::2], truth, estimate_times=times[::2] + 0.002, truth_times=times)
    assert np.array_equal(found.truth_indices, np.arange(0, 200, 2))


def test_trajectories_that_make_no_sense(tmp_path):
    estimate, truth = ways()
    with pytest.raises(ValueError, match="expected"):
        pointmill.evaluate(estimate[:5], truth)
    with pytest.raises(ValueError, match="truth_times: expected finite seconds, got NaN at 0"):
        pointmill.evaluate(estimate, truth, truth_times=np.full(200, np.nan))
    # Of equal times the first counts, and how many belong together is told.
    times = 0.1 * np.arange(200)
    found = pointmill.evaluate(estimate, truth, estimate_times=times, truth_times=np.zeros(200))
    assert (found.estimate_poses, found.truth_poses, len(found.truth_indices)) == (200, 200, 1)
    with pytest.raises(ValueError, match="align"):
        pointmill.evaluate(estimate, truth, align="best")
    with pytest.raises(ValueError, match="estimate"):
        pointmill.evaluate(2.0 * estimate, truth)
    with pytest.raises(FileNotFoundError):
        pointmill.evaluate(tmp_path / "none.txt", truth)
    (tmp_path / "bad.txt").write_text("1 2 3\n")
    with pytest.raises(ValueError, match="line 1"):
        pointmill.evaluate(tmp_path / "bad.txt", truth)
    with pytest.raises(ValueError, match="estimate_times: expected none with a file of estimate"):
        np.savetxt(tmp_path / "poses.txt", truth[:, :3].reshape(-1, 12))
        pointmill.evaluate(tmp_path / "poses.txt", truth, estimate_times=np.zeros(200))


def test_poses_have_the_stamps_of_sweeps(tmp_path):
    points = np.random.default_rng(1).uniform(-20, 20, (500, 3)).astype(np.float32)
    stamp = 1_700_000_000_123_456_789
    odometry = pointmill.Odometry(voxel_size=0.5)
    assert odometry.push(points).stamp_ns is None
    assert odometry.push(points, stamp_ns=stamp).stamp_ns == stamp
    times = np.linspace(0.0, 0.1, len(points))
    step = odometry.push(points, times, stamp_ns=stamp)
    assert step.stamp_ns == stamp + round(step.time * 1e9) and 0 < step.time < 0.1
    known = pointmill.Odometry(deskew=False)
    assert known.push(points, times, stamp_ns=stamp).stamp_ns == stamp
    path = tmp_path / "poses.txt"
    pointmill.write_poses(path, np.eye(4)[None], stamps_ns=np.array([stamp]), format="tum")
    assert path.read_text() == "1700000000.123456789 0 0 0 0 0 0 1\n"
    for more in ({"format": "kitti"}, {"format": "tum", "times": [0.5]}):
        with pytest.raises(ValueError, match="stamps_ns: expected format=.tum. and no times, got"):
            pointmill.write_poses(path, np.eye(4)[None], stamps_ns=[stamp], **more)


def test_sweeps_that_were_published_deskewed_are_known(tmp_path):
    sweeps = tmp_path / "log" / "sensors" / "lidar"
    sweeps.mkdir(parents=True)
    sweep = sweeps / "315966265259836000.feather"
    pointmill.write(sweep, np.zeros((3, 3), np.float32))
    assert not pointmill.read(sweep).deskewed and pointmill.read(sweep, dataset="argoverse2").deskewed
    (tmp_path / "log" / "city_SE3_egovehicle.feather").touch()
    assert pointmill.read(sweep).deskewed


def test_ground_truth_of_euroc_is_no_tum(tmp_path):
    header = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []\n"
    row = "1403636580838555648,4.688319,-1.786938,0.783338,0.534108,-0.153029,-0.827383,-0.082152\n"
    path = tmp_path / "data.csv"
    path.write_text(header + row)
    poses, times = pointmill.read_poses(path)
    assert times.tolist() == [1403636580838555648 / 1e9] and poses[0, :3, 3].tolist() == [4.688319, -1.786938, 0.783338]
    path.write_text(row)
    with pytest.raises(ValueError, match="at most 1e11 seconds"):
        pointmill.read_poses(path)
    assert np.array_equal(pointmill.read_poses(path, format="euroc")[0], poses)


def test_evaluations_show_and_warn():
    truth = np.tile(np.eye(4), (101, 1, 1))
    truth[:, 0, 3] = np.arange(101.0)
    found = pointmill.evaluate(truth, truth)
    assert repr(found) == "Evaluation(length=100.000, translation.rmse=0.000000, drift=0.0)" and found.warnings == []
    assert repr(pointmill.evaluate(truth[:1], truth[:1])).endswith("drift=None)")
    (warning,) = pointmill.evaluate(truth, truth, align="se3").warnings
    assert "does not determine the rotation about it" in warning
