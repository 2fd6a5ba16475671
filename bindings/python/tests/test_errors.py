"""What must be refused, and how it is told."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pointmill

PARAMS = dict(voxel_size=[1, 1, 1], point_cloud_range=[-4, -4, -4, 4, 4, 4])
POINTS = np.zeros((5, 4), np.float32)


def refused(kind, message, points=POINTS, **more):
    with pytest.raises(kind) as error:
        pointmill.voxelize(points, **{**PARAMS, **more})
    assert message in str(error.value), str(error.value)


def test_arrays():
    refused(ValueError, "points: expected 3 to 64 columns (x, y, z first), got 1", [[0.0]])
    refused(TypeError, "points: expected an array, or rows of as many numbers each, got ", [[0.0] * 3, [0.0] * 4])
    refused(TypeError, "points: expected an array, or rows of as many numbers each, got ", [["x", "y", "z"]])
    refused(TypeError, "points: expected an array (numpy, torch, or anything with DLPack or __array_interface__), got NoneType", None)
    refused(TypeError, "points: expected values of type float32, got bool", POINTS.astype(bool))
    refused(TypeError, "points: expected values of type float32, got >f4; pass points.astype(numpy.float32)", POINTS.astype(">f4"))
    refused(ValueError, "points: expected an array of shape [N, C], got shape [5]", POINTS[:, 0])
    refused(ValueError, "points: expected an array of shape [N, C], got shape []", np.float32(1).reshape(()))
    refused(ValueError, "points: expected an array of shape [N, C], got shape [1, 5, 4]", POINTS[None])
    refused(ValueError, "points: expected 3 to 64 columns", POINTS[:, :2].copy())
    refused(ValueError, "points: expected 3 to 64 columns, got 65", np.zeros((2, 65), np.float32))


def test_errors_of_tensors_name_the_call_that_converts():
    torch = pytest.importorskip("torch")
    told = "points: expected a dense tensor, got one of layout torch.sparse_coo; pass points.to_dense()"
    refused(TypeError, told, torch.zeros(6, 4).to_sparse())
    with torch._subclasses.FakeTensorMode():
        fake = torch.zeros(6, 4)
    refused(ValueError, "points: expected an array with memory (in pointmill.torch are operators for tensors that torch traces or wraps), got ", fake)


def test_types_are_named_as_numpy_names_them(tmp_path):
    """The library's own words do not reach Python; paths stay what they are."""
    (tmp_path / "f32.bin").write_bytes(b"\0" * 20)
    with pytest.raises(ValueError, match=r"f32\.bin.*columns of float32"):
        pointmill.read(tmp_path / "f32.bin", columns=4)
    path = tmp_path / "a.ply"
    pointmill.write(path, pointmill.Scan(np.array([[515_000.123, 2, 3, 1.7e9 + 0.123]]), ["x", "y", "z", "stamp"]))
    told = " ".join(pointmill.read(path, local_origin="none").warnings)
    assert told.count("float32") == 2 and " f32" not in told, told


def test_words_of_files_stay_what_they_are(tmp_path):
    """A path or a column with the name of a type of Rust, or with dashes, is told as it is."""
    path = tmp_path / "--f32 f64.ply"
    pointmill.write(path, pointmill.Scan(np.array([[0, 2, 3, 1.7e9 + 0.123]]), ["x", "y", "z", "f64"]))
    (told,) = pointmill.read(path).warnings
    assert told.startswith("column `f64` is rounded to float32"), told
    path.write_bytes(b"ply\nf32 --f64\n")
    with pytest.raises(ValueError, match=r"/--f32 f64\.ply: .*got .*f32 --f64"):
        pointmill.read(path)
    with pytest.raises(FileNotFoundError, match="/--f32: no such file"):
        pointmill.read(tmp_path / "--f32")


def test_no_door_cuts_or_replaces_text():
    """Errors carry their parts; a door puts them together."""
    root = Path(__file__).parents[3]
    for door in ("bindings/python/src/errors.rs", "crates/pointmill-batch/src/failure.rs"):
        text = (root / door).read_text()
        cut = re.findall(r"(?:(?<!iter\(\))\.find|\.replacen?|\.r?split(?:n|_once|_at\w*)?|\.strip_\w+)\(.*", text)
        assert not cut, f"{door}: {cut}"


def test_ray_names_its_extra():
    code = "import sys; sys.modules['pyarrow'] = sys.modules['ray'] = None; import pointmill.ray"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "(pip install 'pointmill[ray]')" in done.stderr.splitlines()[-1], done.stderr


def test_parameters():
    refused(ValueError, "voxel_size: expected 3 numbers (edges along x, y, z; or one for all), got [1, 1]", voxel_size=[1, 1])
    refused(TypeError, "voxel_size: expected 3 numbers (edges along x, y, z; or one for all), got None", voxel_size=None)
    refused(TypeError, "voxel_size: expected 3 numbers (edges along x, y, z; or one for all), got ['a', 1, 1]", voxel_size=["a", 1, 1])
    refused(ValueError, "voxel_size[0]: expected a finite size > 0 m, got 0", voxel_size=0)
    refused(ValueError, "voxel_size[1]: expected a finite size > 0 m, got -1", voxel_size=[1, -1, 1])
    refused(ValueError, "voxel_size[0]: expected a finite size > 0 m, got NaN", voxel_size=[np.nan, 1, 1])
    refused(ValueError, "point_cloud_range: expected 6 numbers", point_cloud_range=[0, 1])
    refused(ValueError, "point_cloud_range[0]: expected finite min < max, got 4..-4", point_cloud_range=[4, -4, -4, -4, 4, 4])
    refused(ValueError, "max_num_points: expected 1 to 1048575, or None for all points, got -1", max_num_points=-1)
    refused(ValueError, "max_num_points: expected 1 to 1048575", max_num_points=1 << 30)
    refused(ValueError, "max_voxels: expected a whole number from 1 to 2147483647, got 0", max_voxels=0)
    refused(ValueError, 'order: expected first-seen or sorted, got "z"', order="z")
    refused(ValueError, 'mean: expected "float32" or "float16", got "float64"', mean="float64")
    refused(ValueError, "row_splits: expected ascending values from 0 to 5, got [0, 4]", row_splits=[0, 4])
    refused(ValueError, "row_splits: expected ascending values from 0 to 5, got nothing", row_splits=[])
    many = dict(voxel_size=[1e-3] * 3, point_cloud_range=[-2000] * 3 + [2000] * 3)
    refused(ValueError, "point_cloud_range: expected at most 2^63 cells", **many)
    refused(MemoryError, "out of memory", max_voxels=1_000_000, max_num_points=1 << 19, padded=True)


def test_boxes():
    rois, pts, features = np.zeros((2, 7), np.float32), np.zeros((5, 3), np.float32), np.zeros((5, 2), np.float32)

    def refused(kind, message, rois=rois, pts=pts, features=features, **more):
        with pytest.raises(kind) as error:
            pointmill.roi_aware_pool3d(rois, pts, features, **{"out_size": 2, **more})
        assert message in str(error.value), str(error.value)

    refused(ValueError, "rois: expected an array of shape [B, 7]", rois=rois[:, :6].copy())
    refused(ValueError, "pts: expected an array of shape [N, 3]", pts=pts[0])
    refused(ValueError, "pts: expected 3 to 64 columns", pts=pts[:, :2].copy())
    refused(ValueError, "pts_feature: expected an array of shape [5, C], got shape [4, 2]", features=features[:4])
    refused(ValueError, "columns: expected at least 1", features=features[:, :0].copy())
    refused(TypeError, "pts_feature: expected values of type float32 or float16 or bfloat16, got int64", features=features.astype(np.int64))
    refused(ValueError, "out_size: expected a whole number from 1", out_size=0)
    refused(ValueError, "out_size: expected whole numbers", out_size=[1, 2, 2.5])
    refused(ValueError, "out_size: expected 3 numbers", out_size=[1, 2])
    refused(ValueError, "max_pts_per_voxel: expected a whole number from 0", max_pts_per_voxel=-1)
    refused(ValueError, 'mode: expected max or mean, got "sum"', mode="sum")
    refused(ValueError, 'origin: expected bottom or center, got "top"', origin="top")
    refused(ValueError, "margin: expected a finite margin >= 0 m, got -1", margin=-1.0)
    refused(ValueError, 'layout: expected dense, csr or sparse, got "coo"', layout="coo")
    refused(MemoryError, "out of memory", rois=np.zeros((1000, 7), np.float32), out_size=1000)


def test_nothing_is_something():
    """Empty arrays are valid and give empty results."""
    empty = np.zeros((0, 4), np.float32)
    result = pointmill.voxelize(empty, mean="float32", lists=True, point_to_voxel=True, **PARAMS)
    assert result.coords.shape == (0, 3) and result.voxels.shape == (0, 10, 4) and result.mean.shape == (0, 4)
    assert result.row_splits.tolist() == [0] and result.num_voxels == 0 and result.report.points == 0
    rois, pts = np.zeros((0, 7), np.float32), np.zeros((0, 3), np.float32)
    assert pointmill.roi_aware_pool3d(rois, pts, pts, out_size=2).pooled.shape == (0, 2, 2, 2, 3)
    assert pointmill.points_in_boxes_part(pts, rois).shape == (0,)


def test_an_error_changes_nothing():
    good = pointmill.voxelize(POINTS, **PARAMS)
    for _ in range(50):
        with pytest.raises(ValueError):
            pointmill.voxelize(POINTS, row_splits=[0, 9], **PARAMS)
    again = pointmill.voxelize(POINTS, **PARAMS)
    assert (again.voxels == good.voxels).all()


def test_threads():
    """Eight threads at once, with clouds of their own, get what one gets."""
    rng = np.random.default_rng(4)
    clouds = [rng.uniform(-4, 4, (20_000, 4)).astype(np.float32) for _ in range(8)]
    want = [pointmill.voxelize(cloud, **PARAMS).voxels for cloud in clouds]
    wrong = []

    def work(k):
        for _ in range(20):
            if not (pointmill.voxelize(clouds[k], **PARAMS).voxels == want[k]).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_cache_can_be_cleared():
    pointmill.voxelize(POINTS, **PARAMS)
    pointmill.clear_cache()
    assert pointmill.voxelize(POINTS, **PARAMS).num_voxels == 1


def test_dlpack_arrays_can_be_taken_twice():
    class Bare:
        """Speaks DLPack and nothing else, so that results come as pointmill's own arrays."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    result = pointmill.voxelize(Bare(POINTS), **PARAMS)
    assert isinstance(result.coords, pointmill.DlpackArray) and result.coords.shape == [1, 3]
    first, second = np.from_dlpack(result.coords), np.from_dlpack(result.coords)
    del result
    assert first.tolist() == second.tolist() == [[4, 4, 4]]
    with pytest.raises(BufferError):
        pointmill.voxelize(Bare(POINTS), **PARAMS).coords.__dlpack__(copy=True)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **more: pointmill.icp(source=POINTS, target=POINTS, **more), "icp"),
        (lambda **more: pointmill.icp.align_many([POINTS], [POINTS], **more), "align_many"),
        (lambda **more: pointmill.icp.Target(POINTS, **more), "Target.__new__"),
        (lambda **more: pointmill.ndt.Grid(POINTS, resolution=1.0, **more), "Grid.__new__"),
        (lambda **more: pointmill.ndt.Moments(1.0).grid(**more), "Moments.grid"),
        (lambda **more: pointmill.ndt.BlockMap("map", resolution=1.0, **more), "BlockMap.__new__"),
        (lambda **more: pointmill.ndt.Grid(POINTS, resolution=1.0).align(POINTS, **more), "Grid.align"),
        (lambda **more: pointmill.ndt.Grid(POINTS, resolution=1.0).align_many([POINTS], **more), "Grid.align_many"),
        (lambda **more: pointmill.Localizer(pointmill.ndt.Grid(POINTS, resolution=1.0), **more), "Localizer.__new__"),
        (lambda **more: pointmill.Odometry(**more), "Odometry.__new__"),
        (lambda **more: pointmill.evaluate(np.eye(4)[None], np.eye(4)[None], **more), "evaluate"),
        (lambda **more: pointmill.read("a.ply", **more), "read"),
        (lambda **more: pointmill.roi_aware_pool3d(POINTS, POINTS, POINTS, out_size=2, **more), "roi_aware_pool3d"),
    ],
)
def test_keywords(call, name):
    """A keyword that a function does not have is refused as Python refuses it."""
    with pytest.raises(TypeError) as error:
        call(nonsense=1)
    assert str(error.value) == f"{name}() got an unexpected keyword argument 'nonsense'"
