"""Voxelization against the repository's fixtures, for every library of arrays."""

import conftest
import numpy as np
import pytest
from conftest import assert_bits, fixture_files, to_numpy

import pointmill


def call(case, library, **more):
    """One call with the parameters of a fixture."""
    max_points = int(case["max_points"])
    dynamic = max_points <= 0
    return pointmill.voxelize(
        library(case["points"]),
        voxel_size=case["voxel_size"],
        point_cloud_range=case["range"],
        max_num_points=None if dynamic else max_points,
        max_voxels=int(case["max_voxels"]),
        order=["first-seen", "sorted"][int(case["order"])],
        strict_range=bool(case["strict_range"]),
        row_splits=case["row_splits"].tolist() if "row_splits" in case else None,
        **more,
    )


@pytest.mark.parametrize("file", fixture_files("voxelize"))
def test_fixtures(file, library):
    case = dict(np.load(file))
    like = library(case["points"])
    result = call(case, library, mean="float32", point_to_voxel=True, lists=True)
    get = lambda array: to_numpy(array, like)
    assert_bits(get(result.coords), case["coords"], "coords")
    assert_bits(get(result.num_points), case["num_points"], "num_points")
    assert_bits(get(result.mean), case["mean"], "mean")
    assert_bits(get(result.point_to_voxel), case["point_to_voxel"], "point_to_voxel")
    assert_bits(get(result.row_splits), case["csr_row_splits"].astype(np.int32), "row_splits")
    assert_bits(get(result.indices), case["csr_indices"], "indices")
    if "voxels" in case:
        assert_bits(get(result.voxels), case["voxels"], "voxels")
    else:
        assert result.voxels is None
    if "voxel_row_splits" in case:
        assert_bits(get(result.voxel_splits), case["voxel_row_splits"].astype(np.int32), "voxel_splits")
    else:
        assert result.voxel_splits is None
    for name in ("points", "voxels", "voxels_found", "voxels_dropped", "out_of_range", "non_finite"):
        assert getattr(result.report, name) == int(case[f"report_{name}"]), name
    assert result.num_voxels == len(case["coords"])
    half = call(case, library, mean="float16")
    assert_bits(get(half.mean).view(np.uint16), case["mean_f16"], "mean_f16")
    assert half.point_to_voxel is None and half.indices is None


def test_padded_results_have_all_rows(library):
    points = np.array([[0.5, 0.5, 0.5, 9.0], [2.5, 0.5, 0.5, 8.0]], np.float32)
    result = pointmill.voxelize(
        library(points),
        voxel_size=[1, 1, 1],
        point_cloud_range=[0, 0, 0, 4, 4, 1],
        max_num_points=2,
        max_voxels=3,
        mean="float32",
        padded=True,
    )
    assert to_numpy(result.coords).tolist() == [[0, 0, 0], [0, 0, 2], [-1, -1, -1]]
    assert to_numpy(result.num_points).tolist() == [1, 1, 0]
    assert to_numpy(result.voxels).shape == (3, 2, 4) and not to_numpy(result.voxels)[2].any()
    assert to_numpy(result.mean)[1].tolist() == [2.5, 0.5, 0.5, 8.0]
    assert result.num_voxels == 2


def test_points_of_full_voxels_are_chosen(library):
    # Eleven points of an old sweep behind nine of a new one, all in one cell.
    lag = np.repeat(np.float32([0.0, 0.5]), [9, 11])
    points = np.column_stack([np.full((20, 3), 0.5), lag]).astype(np.float32)
    grid = dict(voxel_size=1, point_cloud_range=[0, 0, 0, 4, 4, 1], max_num_points=6, lists=True)
    kept = lambda **how: to_numpy(pointmill.voxelize(library(points), **grid, **how).indices).tolist()
    assert kept() == [0, 1, 2, 3, 4, 5]
    assert kept(pick="round-robin", pick_column=3) == [0, 1, 2, 9, 10, 11]
    draws = [kept(pick="random", seed=seed) for seed in range(40)]
    assert all(sorted(set(draw)) == draw and len(draw) == 6 for draw in draws)
    assert draws[7] == kept(pick="random", seed=7) and len({tuple(draw) for draw in draws}) > 30
    for how, told in [
        ({"pick": "last"}, "pick: expected .*round-robin.*, got .last"),
        ({"pick": "round-robin"}, "pick_column: expected the column whose values take turns, got None"),
        ({"pick": "random", "pick_column": 3}, "pick_column: expected None, .*got 3"),
        ({"pick": "round-robin", "pick_column": 4}, "pick_column: expected a column of the points, 0 to 3, got 4"),
    ]:
        with pytest.raises(ValueError, match=told):
            kept(**how)


def test_results_are_the_callers(library):
    """A later call does not write to what an earlier one returned, and results outlive their inputs."""
    rng = np.random.default_rng(1)
    clouds = [rng.uniform(-10, 10, (500, 4)).astype(np.float32) for _ in range(20)]
    params = dict(voxel_size=[1, 1, 1], point_cloud_range=[-10, -10, -10, 10, 10, 10], max_num_points=3)
    results = [pointmill.voxelize(library(cloud), **params) for cloud in clouds]
    for cloud, result in zip(clouds, results):
        again = pointmill.voxelize(cloud, **params)
        assert_bits(to_numpy(result.voxels), again.voxels)
        assert_bits(to_numpy(result.coords), again.coords)


def host_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


def test_many_calls_with_flat_memory(library):
    """Results that are dropped, and arguments that are refused, leave nothing behind."""
    rng = np.random.default_rng(5)
    points, wrong = library(rng.uniform(-10, 10, (2000, 4)).astype(np.float32)), library(np.zeros((3, 2), np.float32))
    params = dict(voxel_size=[1, 1, 1], point_cloud_range=[-10, -10, -10, 10, 10, 10])

    def calls(n):
        for _ in range(n):
            pointmill.voxelize(points, mean="float32", lists=True, point_to_voxel=True, **params)
            with pytest.raises(ValueError):
                pointmill.voxelize(wrong, **params)

    calls(300)
    before = host_memory()
    calls(2000)
    # A result is a third of a megabyte.
    assert host_memory() - before < 16 << 20


def test_results_can_be_written_to():
    points = np.array([[0.5, 0.5, 0.5]], np.float32)
    result = pointmill.voxelize(points, voxel_size=[1, 1, 1], point_cloud_range=[0, 0, 0, 4, 4, 1])
    result.voxels[0, 0, 0] = 7.0
    coords = result.coords
    coords += 1
    assert result.coords.tolist() == [[1, 1, 1]] and result.voxels[0, 0, 0] == 7.0


def test_memory_is_used_in_place():
    """What is handed in is looked at where it lies: read-only memory and views of other arrays too."""
    whole = np.random.default_rng(2).uniform(-10, 10, (1000, 5)).astype(np.float32)
    part = whole[100:900]
    part.flags.writeable = False
    params = dict(voxel_size=[1, 1, 1], point_cloud_range=[-10, -10, -10, 10, 10, 10])
    assert_bits(pointmill.voxelize(part, **params).voxels, pointmill.voxelize(part.copy(), **params).voxels)


def test_array_interface():
    class Old:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    points = np.array([[0.5, 0.5, 0.5]], np.float32)
    result = pointmill.voxelize(Old(points), voxel_size=[1, 1, 1], point_cloud_range=[0, 0, 0, 4, 4, 1])
    assert result.coords.tolist() == [[0, 0, 0]]


def test_dlpack_of_before_1_0():
    class Old:
        """Knows streams and no versions."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, *, stream=None):
            return self.array.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    points = np.array([[0.5, 0.5, 0.5]], np.float32)
    result = pointmill.voxelize(Old(points), voxel_size=[1, 1, 1], point_cloud_range=[0, 0, 0, 4, 4, 1])
    assert np.from_dlpack(result.coords).tolist() == [[0, 0, 0]]


def test_dynamic_needs_no_voxels():
    points = np.array([[0.5, 0.5, 0.5], [0.6, 0.5, 0.5]], np.float32)
    params = dict(voxel_size=[1, 1, 1], point_cloud_range=[0, 0, 0, 4, 4, 1], max_num_points=None)
    assert pointmill.voxelize(points, **params).num_points.tolist() == [2]
    with pytest.raises(ValueError, match="^voxels: expected false with dynamic"):
        pointmill.voxelize(points, voxels=True, **params)


def test_names_of_the_package():
    assert conftest.Foreign.__dlpack__ and pointmill.__version__
    for name in pointmill.__all__:
        assert hasattr(pointmill, name), name
