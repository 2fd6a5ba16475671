"""Wrong values of arguments: each error is a ValueError or a TypeError that names its argument."""

import inspect
import pathlib
import pickle
import weakref

import numpy as np
import pytest

import pointmill as pm
from pointmill import boxes, icp, ndt, sparse, synth

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-5, 5, (60, 4)).astype(np.float32)
XYZ = POINTS[:, :3].copy()
BOXES = np.tile(np.array([[0, 0, 0, 4, 2, 1.5, 0.1]], np.float32), (4, 1))
CELLS = np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0]], np.int32)
WITH_ITEM = np.concatenate([np.zeros((3, 1), np.int32), CELLS], 1)
EYES = [np.eye(4)] * 2
WRONG = [None, "x", -1, 1.5, 2**63, 2**64, 2**70, -(2**70), float("nan"), [], b"x", {}, object(), np.zeros((2, 2))]


def calls(tmp_path):
    """Functions and classes, each with arguments that are right."""
    grid = dict(points=RNG.uniform(0, 8, (2000, 3)), resolution=2.0)
    searcher = icp.Searcher(XYZ)
    return [
        (boxes.iou, dict(a=BOXES, b=BOXES, kind="bev", aligned=False, origin="bottom")),
        (boxes.overlaps, dict(a=BOXES, b=BOXES, threshold=0.1, kind="bev", origin="bottom")),
        (boxes.nms, dict(boxes=BOXES, scores=np.ones(4, np.float32), threshold=0.5, metric="bev", score_threshold=0.1, pre_max=3, post_max=2, origin="bottom", padded=False)),
        (pm.voxelize, dict(points=POINTS, voxel_size=1.0, point_cloud_range=[-4, -4, -4, 4, 4, 4], max_num_points=5, max_voxels=9, order="sorted", mean="float32", padded=False, strict_range=False)),
        (pm.downsample, dict(points=POINTS, voxel_size=0.5, keep="first", seed=0)),
        (pm.register, dict(source=XYZ, target=XYZ, voxel_size=0.3, level=False, refine="gicp")),
        (pm.RegisterTarget, dict(points=XYZ, voxel_size=0.3, level=False, refine="gicp")),
        (icp.icp if hasattr(icp, "icp") else pm.icp, dict(source=XYZ, target=XYZ, metric="point-to-point", max_distance=1.0, max_iterations=3, step_tolerance=1e-3, neighbours=5, drop_zeros=False, search="auto")),
        (icp.Target, dict(points=XYZ, metric="gicp", max_iterations=3, neighbours=5)),
        (icp.Searcher, dict(points=XYZ, search="auto")),
        (searcher.nearest, dict(queries=XYZ, max_distance=1.0)),
        (searcher.neighbours, dict(queries=XYZ, k=2, max_distance=1.0)),
        (searcher.radius_search, dict(queries=XYZ, radius=1.0, max_results=3)),
        (icp.normals, dict(points=XYZ, k=5)),
        (ndt.Grid, dict(**grid, covariance="autoware", min_points=6, eigen_ratio=0.01)),
        (pm.points_in_boxes_part, dict(points=XYZ, boxes=BOXES, origin="bottom", margin=0.0)),
        (pm.points_in_boxes_all, dict(points=XYZ, boxes=BOXES, origin="bottom", margin=0.0, layout="csr")),
        (pm.roi_aware_pool3d, dict(rois=BOXES, pts=XYZ, pts_feature=POINTS, out_size=2, max_pts_per_voxel=3, mode="max", origin="bottom", margin=0.0)),
        (sparse.grid_sample, dict(points=XYZ, grid_size=0.5, pick="first", number=0, seed=0, capacity=99)),
        (sparse.serialize, dict(grid_coord=CELLS, batch=np.zeros(3, np.int32), items=1, depth=5, orders=["z"])),
        (sparse.pool_hierarchy, dict(grid_coord=CELLS, batch=np.zeros(3, np.int32), strides=[2], items=1, depth=5, orders=["z"], capacities=[9])),
        (sparse.patches, dict(offsets=[6], patch_size=4)),
        (sparse.index_pairs, dict(coords=WITH_ITEM, shape=(16, 16, 16), batch=1, kind="strided", kernel=3, stride=2, padding=1, dilation=1, capacity=99, masks=False)),
        (sparse.densify, dict(sweeps=[POINTS, POINTS], transforms=EYES, time_lags=[0.0, 1.0])),
        (sparse.pillar_features, dict(voxels=RNG.random((3, 5, 4), np.float32), num_points=np.full(3, 3, np.int32), coords=CELLS, voxel_size=(0.1, 0.1, 4.0), origin=(0.0, 0, 0), features=9)),
        (pm.Scan, dict(points=POINTS, names=["x", "y", "z", "i"], start=0.0, stamp_ns=3, deskewed=False)),
        (pm.write, dict(path=tmp_path / "a.ply", points=POINTS, format="ply")),
        (pm.write_poses, dict(path=tmp_path / "a.txt", poses=np.array(EYES), format="kitti")),
        (pm.set_num_threads, dict(threads=2)),
        (synth.drive, dict(sweeps=1, scene="street", seed=0, distort=False)),
    ]


def test_errors_name_their_argument(tmp_path):
    unnamed = []
    for function, good in calls(tmp_path):
        function(**good)
        for name in good:
            for wrong in WRONG:
                try:
                    function(**{**good, name: wrong})
                except (ValueError, TypeError) as error:
                    if name not in str(error):
                        unnamed.append((function.__name__, name, repr(wrong)[:20], repr(error)[:150]))
                except (OSError, MemoryError):
                    pass
                except BaseException as error:
                    unnamed.append((function.__name__, name, repr(wrong)[:20], repr(error)[:150]))
    assert not unnamed, "\n".join(map(str, unnamed))


def test_an_error_is_a_plain_one():
    with pytest.raises(TypeError) as caught:
        boxes.nms(BOXES, np.ones(4, np.float32), pre_max="x")
    assert str(caught.value) == "pre_max: expected a whole number from 0 to 2^64 - 1, got 'x'" and caught.typename == "TypeError"
    with pytest.raises(ValueError, match="^seed: expected a whole number from 0 to 2\\^64 - 1, got -1$") as caught:
        sparse.grid_sample(XYZ, 0.5, pick="random", seed=-1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is ValueError and str(again) == str(caught.value)
    with pytest.raises(TypeError, match="^scan: expected a Scan, got ndarray$"):
        pm.deskew(XYZ, EYES, [0, 1])
    with pytest.raises(TypeError, match="^map: expected a Grid, a BlockMap, or the path of a map that one of them has saved, got int$"):
        pm.Localizer(3)


def test_cells_of_any_strides_and_type():
    want = sparse.serialize(CELLS).codes
    wide = np.zeros((6, 6), np.int32)
    wide[::2, ::2] = CELLS
    for cells in (np.asfortranarray(CELLS), CELLS[:, ::-1].copy()[:, ::-1], wide[::2, ::2], CELLS.astype(np.int16), CELLS.astype(np.uint8), CELLS.astype(np.uint64), CELLS.astype(">i4"), CELLS[::-1][::-1]):
        assert np.array_equal(sparse.serialize(cells).codes, want)
    every = np.broadcast_to(np.int32(0), 3)
    assert np.array_equal(sparse.serialize(CELLS, every).codes, want)
    pairs = sparse.index_pairs(WITH_ITEM, (4, 4, 4)).table
    assert np.array_equal(sparse.index_pairs(np.asfortranarray(WITH_ITEM.astype(np.int16)), (4, 4, 4)).table, pairs)
    with pytest.raises((TypeError, ValueError), match="grid_coord"):
        sparse.serialize(CELLS.astype(np.float32))
    with pytest.raises(ValueError, match="grid_coord: expected numbers of 32 bits"):
        sparse.serialize(CELLS.astype(np.uint64) + np.uint64(2**63))


def test_a_map_is_taken_by_its_path(tmp_path):
    grid = ndt.Grid(RNG.uniform(0, 20, (20000, 3)), resolution=2.0)
    grid.save(tmp_path / "map.npz")
    for path in (tmp_path / "map.npz", str(tmp_path / "map.npz")):
        assert repr(pm.Localizer(path)) == repr(pm.Localizer(grid))
    with pytest.raises(OSError, match="absent"):
        pm.Localizer(tmp_path / "absent.npz")


def test_a_bag_is_taken_by_its_folder(tmp_path):
    empty = b"\x89MCAP0\r\n" + bytes([2, 20] + [0] * 27) + b"\x89MCAP0\r\n"
    (tmp_path / "drive_0.mcap").write_bytes(empty)
    assert pm.bag_topics(tmp_path) == {}
    (tmp_path / "drive_1.mcap").write_bytes(empty)
    with pytest.raises(ValueError, match="folder: expected one bag that ends in .mcap, .bag or .db3, got 2; name one of them"):
        pm.bag_topics(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "old.db3").write_bytes(b"SQLite format 3\0")
    with pytest.raises(ValueError, match="old.db3: header: expected 100 bytes, got 16 bytes"):
        pm.read_bag(tmp_path / "old")


BAGS = pathlib.Path(__file__).parents[3] / "fixtures" / "bags"


@pytest.mark.parametrize("ending", ["mcap", "bag", "db3"])
def test_topics_of_a_bag_are_joined(ending, tmp_path):
    bag = pm.read_bag(BAGS / f"joined.{ending}", ["/front", "/rear"])
    assert len(bag) == 4 and bag.topic == ["/front", "/rear"] and "/front, /rear" in repr(bag)
    first = bag[0]
    assert first.frame == "base_link" and list(first.names) == ["x", "y", "z", "time_s", "sensor"]
    np.testing.assert_array_equal(first.points[:, 4], [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(first.points[[0, 3], :3], [[2, 0, 2], [-2, 0, 1]])
    assert "1 sweep without a cloud of /rear" in str(first.warnings) and "joined" not in str(bag[1].warnings)
    again = pickle.loads(pickle.dumps(bag))
    np.testing.assert_array_equal(again[2].points, bag[2].points)
    sensors = tmp_path / "sensors.txt"
    sensors.write_text("/front 0 0 0 0 0 0\nrear 0 0 9 0 0 0\n")
    moved = pickle.loads(pickle.dumps(pm.read_bag(BAGS / f"joined.{ending}", ["/front", "/rear"], extrinsics=sensors)))
    np.testing.assert_allclose(moved[0].points[3, :3], [1, 0, 9])
    assert pm.read_bag(BAGS / f"joined.{ending}", "/front").topic == "/front"
    for topic in (3, ["/front", 3], ["/front", "/front"], ["/front", "/left"]):
        with pytest.raises((TypeError, ValueError), match="topic"):
            pm.read_bag(BAGS / f"joined.{ending}", topic)
    with pytest.raises(ValueError, match="one topic of a bag of one cloud"):
        pm.read(BAGS / f"joined.{ending}", topic=["/front", "/rear"])


def test_a_folder_of_rosbag2_is_one_bag(tmp_path):
    for name in ("a.mcap", "b.mcap"):
        (tmp_path / name).write_bytes((BAGS / "joined.mcap").read_bytes())
    with pytest.raises(ValueError, match="got 2; name one of them"):
        pm.read_bag(tmp_path, "/front")
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information:\n  relative_file_paths:\n    - a.mcap\n    - b.mcap\n")
    assert len(pm.read_bag(tmp_path, "/front")) == 8 and pm.bag_topics(tmp_path)["/rear"][1] == 6
    assert len(pm.read_bag(tmp_path, ["/front", "/rear"])[0].points) == 6


def test_results_and_targets_can_be_referred_to_weakly():
    for made in (sparse.serialize(CELLS), icp.Searcher(XYZ), icp.Target(XYZ), pm.RegisterTarget(XYZ), pm.Scan(POINTS), pm.voxelize(POINTS, voxel_size=1.0, point_cloud_range=[-4, -4, -4, 4, 4, 4])):
        assert weakref.ref(made)() is made


def test_a_register_target_can_be_pickled():
    target = pm.RegisterTarget(XYZ, voxel_size=0.7, level=True, refine="plane")
    again = pickle.loads(pickle.dumps(target))
    assert repr(again) == repr(target) and again.register(XYZ).verdict == target.register(XYZ).verdict


def test_signatures_are_kept():
    assert "pre_max" in str(inspect.signature(boxes.nms))
