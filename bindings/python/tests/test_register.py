"""Registration without a guess."""

import numpy as np
import pytest

import pointmill



def turned(points, yaw, shift):
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    pose[:3, 3] = shift
    return points @ pose[:3, :3].T + pose[:3, 3], pose


def boxes(seed=1):
    """Points on the faces of boxes on a plane."""
    random = np.random.default_rng(seed)
    parts = [np.column_stack([random.uniform(-12, 12, (9000, 2)), np.zeros(9000)])]
    for _ in range(14):
        low = np.append(random.uniform(-9, 9, 2), 0)
        size = random.uniform([0.4, 0.4, 0.6], [2.0, 2.0, 3.0])
        points = random.uniform(0, 1, (2500, 3))
        face = random.integers(0, 3, 2500)
        points[np.arange(2500), face] = random.integers(0, 2, 2500)
        parts.append(low + points * size)
    return np.concatenate(parts)


def test_a_turned_copy_is_found():
    target = boxes()
    source, pose = turned(target, 2.0, [3.0, -1.0, 0.5])
    found = pointmill.register(source=source, target=target)
    assert found.verdict == "found", found
    assert found.rank == 6 and found.covariance.shape == (6, 6)
    assert np.abs(found.target_from_source @ pose - np.eye(4)).max() < 0.05
    again = pointmill.RegisterTarget(target).register(source)
    assert (again.target_from_source == found.target_from_source).all() and again.inliers == found.inliers
    assert min(found.source_overlap + found.target_overlap) > 0.5
    assert 'verdict="found"' in repr(found)


def test_upright_clouds_are_found_by_a_search():
    target = boxes(2)
    source, pose = turned(target, 2.0, [3.0, -1.0, 0.5])
    found = pointmill.register(source=source, target=target, level=True)
    assert found.verdict == "found", found
    assert np.abs(found.target_from_source @ pose - np.eye(4)).max() < 0.05
    prepared = pointmill.RegisterTarget(target, level=True)
    assert repr(prepared) == 'RegisterTarget(voxel_size=0.3, level=True, refine="gicp")'
    assert (prepared.register(source).target_from_source == found.target_from_source).all()


def test_a_tilted_cloud_is_not_level():
    target = boxes()
    tilt = np.array([[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]])
    for source, other in ((target @ tilt.T, target), (target, target @ tilt.T)):
        assert pointmill.register(source=source, target=other, level=True).verdict == "not-level"


def test_no_answer_is_a_verdict():
    few, equal = np.ones((10, 3)), np.ones((100, 3))
    for cloud in (few, equal, np.zeros((100, 3)), np.full((100, 3), np.nan), np.empty((0, 3))):
        found = pointmill.register(source=cloud, target=boxes())
        assert found.verdict == "too-few-matches"
        assert (found.target_from_source == np.eye(4)).all() and found.rank is None and found.covariance is None


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"voxel_size": 0}, ValueError, "voxel_size: expected a finite size > 0 m, got 0"),
        ({"voxel_size": "a"}, TypeError, "voxel_size"),
        ({"refine": "best"}, ValueError, "refine: expected"),
        ({"level": "yes"}, TypeError, "level"),
        ({"source": np.ones((9, 2))}, ValueError, "source: expected 3 or more columns"),
        ({"target": None}, TypeError, "target"),
    ],
)
def test_arguments_are_named(given, error, message):
    with pytest.raises(error, match=message):
        pointmill.register(**{"source": np.ones((60, 3)), "target": np.ones((60, 3)), **given})
