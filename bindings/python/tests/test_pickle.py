"""Results as pickles, as copies, and between processes."""

import concurrent.futures
import copy
import functools
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
# Fields that every release has.
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
    pointmill.Scan: "points names format xyz times start origin warnings stamp_ns deskewed recorded_ns frame",
    pointmill.ndt.Grid: "resolution origin report coords counts mean covariance inverse_covariance eigenvalues normal",
}


def assert_equal(got, want, what=""):
    """Equal in type, and in all that they hold."""
    assert type(got) is type(want), what
    if type(want) in FIELDS:
        names = {name for name in dir(want) if not name.startswith("_") and not callable(getattr(want, name))}
        names -= {"gradient"}
        assert names >= set(FIELDS[type(want)].split()), "a field is gone"
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


def scans(folder):
    """Clouds of files: with times, with more bits than float32 has, and of a stamp that the file names."""
    timed, exact = cloud(20), cloud(20, 3).astype(np.float64) + [5e5, 4e6, 30.0]
    files = [folder / "timed.ply", folder / "exact.ply", folder / "lidar" / "315966265259836000.npy"]
    pointmill.write(files[0], timed, names=["x", "y", "z", "time"])
    pointmill.write(files[1], exact.astype(np.float32), xyz=exact)
    (folder / "lidar").mkdir()
    pointmill.write(files[2], timed)
    return [pointmill.read(file) for file in files]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_scans(way, tmp_path):
    read = scans(tmp_path)
    assert read[0].times is not None and read[1].xyz is not None
    for scan in read + scans_not_asked(tmp_path):
        assert_equal(way(scan), scan)
        pointmill.write(tmp_path / "a.ply", scan)
        pointmill.write(tmp_path / "b.ply", way(scan))
        assert (tmp_path / "a.ply").read_bytes() == (tmp_path / "b.ply").read_bytes()


def scans_not_asked(folder):
    """Nobody asked for its times so far."""
    return [pointmill.read(folder / "timed.ply")]


def test_scans_that_were_changed_are_refused(tmp_path):
    make, (fields,) = scans(tmp_path)[0].__reduce__()
    assert_equal(make(fields).names, fields["names"])
    with pytest.raises(KeyError, match="origin"):
        make({name: value for name, value in fields.items() if name != "origin"})
    with pytest.raises(TypeError):
        make({**fields, "names": 7})


def test_results_that_were_changed_are_refused():
    report = pointmill.voxelize(cloud(), **GRID).report
    make, (fields,) = report.__reduce__()
    assert make(fields) == report and make({**fields, "voxels": 0}) != report
    with pytest.raises(KeyError, match="^'voxels'$"):
        make({name: value for name, value in fields.items() if name != "voxels"})
    with pytest.raises(TypeError, match="^voxels: expected int, got 'many'$"):
        make({**fields, "voxels": "many"})


def test_results_cannot_be_changed_hashed_or_subclassed():
    result = pointmill.voxelize(cloud(), **GRID)
    with pytest.raises(AttributeError):
        result.coords = None
    with pytest.raises(AttributeError):
        result.other = None
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Own", (pointmill.Voxels,), {})
    with pytest.raises(TypeError, match="^unhashable type: 'VoxelReport'$"):
        hash(result.report)
    assert hash(result) == hash(result) and result != pointmill.voxelize(cloud(), **GRID)


def test_every_attribute_of_a_result_has_a_docstring():
    for kind in FIELDS:
        for name in FIELDS[kind].split():
            assert getattr(kind, name).__doc__, f"{kind.__name__}.{name}"
    step = pointmill.OdometryStep
    assert step.world_from_sensor.__doc__.startswith("``[4, 4]`` float64: the pose of the sensor in the frame of the first")
    assert step.rmse.__doc__.endswith("; ``None`` where there was no alignment.")
    assert '"tracked", "degenerate"' in step.status.__doc__


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_files_are_read_by_other_processes(method, tmp_path):
    """What a worker reads comes back; a scan that could not be sent would be waited for without an end."""
    want = scans(tmp_path)[:2]
    with multiprocessing.get_context(method).Pool(2) as pool:
        got = pool.map_async(pointmill.read, [tmp_path / "timed.ply", tmp_path / "exact.ply"]).get(timeout=60)
    for pair in zip(got, want):
        assert_equal(*pair)


def test_icp_is_called_by_other_processes():
    """The function, the module that can be called, and a part of a call."""
    points = cloud(columns=3)
    arguments = dict(source=points + np.float32(0.01), target=points, metric="point-to-point")
    want = pointmill.icp(**arguments)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        calls = [pool.submit(call, **arguments) for call in (pointmill.icp.align, pointmill.icp)]
        calls.append(pool.submit(functools.partial(pointmill.icp, **arguments)))
        for call in calls:
            assert_bits(call.result(60).target_from_source, want.target_from_source)
    for way in WAYS.values():
        assert way(pointmill.icp) is pointmill.icp and way(pointmill.icp.align) is pointmill.icp.align


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("make", [p for p in LIBRARIES if p.id != "dlpack"])
def test_targets_and_searchers_answer_as_before(way, make):
    points = cloud(columns=5)
    source = make(points[::2, :3] + np.float32(0.01))
    options = dict(metric="gicp", max_distance=2.0, robust=("huber", 0.5), schedule=[(0.5, None), (0.0, 1.0)], neighbours=9)
    normals = np.random.default_rng(3).normal(size=(300, 3))
    for target in (
        pointmill.icp.Target(make(points), **options),
        pointmill.icp.Target(make(points), normals=normals, max_iterations=7, step_tolerance=0.0, drop_zeros=True),
        pointmill.icp.Target(make(points), origin=[10.0, 20.0, 30.0], search="lbvh", metric="point-to-point"),
    ):
        again = way(target)
        assert repr(again) == repr(target) and len(again) == 300
        for name in ("target_from_source", "hessian", "fitness"):
            assert_equal(getattr(again.align(source), name), getattr(target.align(source), name), name)
    for search in ("auto", "lbvh", "brute"):
        searcher = pointmill.icp.Searcher(make(points), search=search)
        again = way(searcher)
        assert repr(again) == repr(searcher)
        assert_equal(again.neighbours(source, 4), searcher.neighbours(source, 4))
        assert_equal(again.normals(8), searcher.normals(8))


def test_a_target_is_pickled_as_it_was_made():
    points = cloud(columns=3)
    target = pointmill.icp.Target(points, metric="point-to-point")
    source = points + np.float32(0.01)
    want = target.align(source).target_from_source
    points[:] = 0
    assert_bits(pickle.loads(pickle.dumps(target)).align(source).target_from_source, want)


def test_maps_by_blocks(tmp_path, monkeypatch):
    """A pickle is the folder, whatever folder the process works in; it is opened again."""
    monkeypatch.chdir(tmp_path)
    made = pointmill.ndt.BlockMap("map", resolution=2.0, origin=[1.0, 2.0, 3.0], min_points=3)
    made.add("a", cloud(columns=3))
    made.merge("0_0")
    text = pickle.dumps(made)
    monkeypatch.chdir("/")
    again = pickle.loads(text)
    assert (again.resolution, again.block, again.origin, again.rows) == (2.0, 128.0, (1.0, 2.0, 3.0), made_rows(tmp_path))
    again.add("b", cloud(columns=3))


def made_rows(folder):
    return pointmill.ndt.BlockMap(folder / "map").rows


def test_what_cannot_be_pickled_says_what_to_do():
    grid = pointmill.ndt.Grid(cloud(3000, 3), resolution=2.0)
    for tied, instead in (
        (pointmill.Odometry(), "pickle its steps and what map.. returns, or push the sweeps again"),
        (pointmill.Localizer(grid), "make one of its map, and start.. it at the last pose"),
    ):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"^{type(tied).__name__}: cannot be pickled or copied .{instead}"):
                way(tied)


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
