"""Results as pickles, as copies, and between processes."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from conftest import LIBRARIES, Foreign, assert_bits, to_numpy

import pointmill

GRID = dict(voxel_size=[1, 1, 1], point_cloud_range=[-4, -4, -4, 4, 4, 4])
WAYS = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "pickle2": lambda x: pickle.loads(pickle.dumps(x, protocol=2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
FIELDS = {
    pointmill.Voxels: "coords num_points voxels mean point_to_voxel row_splits indices voxel_splits origin num_voxels report",
    pointmill.VoxelReport: "points voxels voxels_found voxels_dropped points_kept points_dropped_full_voxel "
    "points_dropped_dropped_voxel out_of_range non_finite",
    pointmill.RoiPooled: "pooled argmax point_indices row_splits indices coords",
    pointmill.IcpRegistration: "target_from_source status converged iterations fitness inlier_rmse num_inliers hessian covariance "
    "eigenvalues directions observable pivot source_dropped target_dropped trace prepare_ms",
    pointmill.IcpIteration: "stage target_from_source pairs changed rmse step search_ms reduce_ms solve_ms",
    pointmill.ndt.NdtFit: "score transform_probability nvtl hits",
    pointmill.ndt.NdtRegistration: "target_from_source xyzrpy status converged iterations score transform_probability nvtl hits hessian covariance",
    pointmill.ndt.NdtReport: "points non_finite cells sparse degenerate voxels clamped",
    pointmill.ndt.Moments: "resolution origin points non_finite",
    pointmill.ndt.Grid: "resolution origin report coords counts mean covariance inverse_covariance eigenvalues normal",
}


def assert_equal(got, want, what=""):
    """Equal in type, and in all that they hold."""
    assert type(got) is type(want), what
    if type(want) in FIELDS:
        names = FIELDS[type(want)].split()
        known = {name for name in dir(want) if not name.startswith("_") and not callable(getattr(want, name))}
        assert known - {"gradient"} == set(names), "a field that this test does not know"
        if type(want) is pointmill.ndt.Moments:
            assert got == want and len(got) == len(want) > 0
        for name in names:
            assert_equal(getattr(got, name), getattr(want, name), f"{what}.{name}")
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for pair in zip(got, want):
            assert_equal(*pair, what)
    elif isinstance(want, (int, float, str, type(None))):
        assert got == want, what
    else:
        assert_bits(to_numpy(got, want), to_numpy(want), what)


def cloud(n=300, columns=4):
    return np.random.default_rng(0).uniform(-4, 4, (n, columns)).astype(np.float32)


def boxes(n=6):
    rng = np.random.default_rng(1)
    parts = [rng.uniform(-3, 3, (n, 3)), rng.uniform(1, 3, (n, 3)), rng.uniform(-3, 3, (n, 1))]
    return np.concatenate(parts, 1).astype(np.float32)


def results(make):
    """A result of every kind."""
    points, pts, rois = make(cloud()), make(cloud(columns=3)), make(boxes())
    full = dict(mean="float16", point_to_voxel=True, lists=True, row_splits=[0, 100, 300])
    yield pointmill.voxelize(points, **GRID)
    yield pointmill.voxelize(points, **GRID, **full)
    yield pointmill.voxelize(points, **GRID).report
    for layout in ("dense", "csr", "sparse"):
        yield pointmill.roi_aware_pool3d(rois, pts, points, out_size=3, layout=layout)
    grid = pointmill.ndt.Grid(pts, resolution=2.0)
    moments = pointmill.ndt.Moments(2.0)
    moments.add(pts)
    yield moments
    yield grid
    yield grid.report
    yield grid.score(pts, [0.0] * 6)
    yield grid.align(pts)
    registration = pointmill.icp(source=pts, target=pts, metric="point-to-point")
    yield registration
    yield registration.trace[0]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("make", [p for p in LIBRARIES if p.id != "dlpack"])
def test_results(make, way):
    for result in results(make):
        assert_equal(way(result), result, type(result).__name__)


def test_a_copy_shares_arrays_and_a_deep_one_does_not():
    result = pointmill.voxelize(cloud(), **GRID)
    assert copy.copy(result).coords is result.coords
    deep = copy.deepcopy(result)
    deep.coords[:] = 0
    assert result.coords.any()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("mode", ["max", "mean"])
def test_gradients(way, mode):
    """What makes the gradient makes the same one again."""
    rois, pts, features = boxes(), cloud(columns=3), cloud(columns=2)
    params = dict(out_size=[2, 3, 4], max_pts_per_voxel=7, mode=mode, origin="center", margin=0.25)
    result = pointmill.roi_aware_pool3d(rois, pts, features, for_gradient=True, **params)
    grad = np.random.default_rng(2).normal(size=result.pooled.shape).astype(np.float32)
    want = result.gradient(rois, pts, result.argmax, grad)
    again = way(result)
    assert want.any()
    assert_bits(again.gradient(rois, pts, again.argmax, grad), want)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_grids_answer_as_before(way):
    points = cloud(3000, 3)
    grid = pointmill.ndt.Grid(points, resolution=2.0, covariance="unbiased", origin=[1e5, 2e5, 30.0])
    again = way(grid)
    assert len(again) == len(grid) > 0 and repr(again) == repr(grid)
    scan, origin = points[::3].copy(), dict(origin=[1e5, 2e5, 30.0])
    for answer in (
        lambda grid: grid.align(scan, **origin),
        lambda grid: grid.radius_search(scan, 1.5, **origin),
        lambda grid: grid.point_scores(scan, **origin),
    ):
        assert_equal(answer(again), answer(grid))


def test_grids_that_were_changed_are_refused():
    make, (fields,) = pointmill.ndt.Grid(cloud(columns=3), resolution=2.0).__reduce__()
    with pytest.raises(ValueError, match="^mean: expected a multiple of 24 bytes, got 5"):
        make({**fields, "mean": b"12345"})
    with pytest.raises(ValueError, match="^cells: expected"):
        make({**fields, "mean": fields["mean"][:-24]})
    with pytest.raises(KeyError, match="normal"):
        make({name: value for name, value in fields.items() if name != "normal"})


def test_moments_that_were_changed_are_refused():
    moments = pointmill.ndt.Moments(2.0)
    moments.add(cloud(columns=3))
    make, (fields,) = moments.__reduce__()
    again = make(fields)
    again.merge(moments)
    again.subtract(moments)
    assert again == moments
    with pytest.raises(ValueError, match="^sums: expected a multiple of 24 bytes, got 5"):
        make({**fields, "sums": b"12345"})
    with pytest.raises(ValueError, match="^counts: expected [0-9]+ rows, got [0-9]+"):
        make({**fields, "counts": fields["counts"][:-4]})
    with pytest.raises(ValueError, match="^points: expected"):
        make({**fields, "points": 7})
    with pytest.raises(ValueError, match="^cells: expected"):
        make({**fields, "coords": fields["coords"][12:] + fields["coords"][:12]})
    with pytest.raises(KeyError, match="products"):
        make({name: value for name, value in fields.items() if name != "products"})


def _send(queue):
    for result in results(np.asarray):
        queue.put(result)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_between_processes(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=_send, args=(queue,), daemon=True)
    process.start()
    try:
        for want in results(np.asarray):
            got = queue.get(timeout=100)
            if isinstance(want, (pointmill.IcpRegistration, pointmill.IcpIteration)):
                assert repr(got) == repr(want)  # times differ
            else:
                assert_equal(got, want)
        process.join(30)
        assert process.exitcode == 0
    finally:
        process.kill()


def test_arrays_of_no_library():
    """A capsule of pointmill's own says what to do."""

    class Bare(Foreign):
        __array_namespace__ = None

        def __getattribute__(self, name):
            if name == "__array_namespace__":
                raise AttributeError(name)
            return object.__getattribute__(self, name)

    result = pointmill.voxelize(Bare(cloud()), **GRID)
    assert isinstance(result.coords, pointmill.DlpackArray)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="^DlpackArray: cannot be pickled or copied .take it with from_dlpack"):
            way(result.coords)
