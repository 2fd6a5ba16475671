"""Maps by blocks, and bags."""

import os
import pathlib
import shutil

import numpy as np
import pytest
from conftest import FIXTURES

import pointmill
from pointmill import ndt


def tiles(n=5):
    """Clouds, some with a point that is not finite, and their poses."""
    clouds, poses = [], []
    for tile in range(n):
        points = np.random.default_rng(tile).uniform(0, [30, 30, 3, 1], (4000, 4)).astype(np.float32)
        points[0, tile % 3] = np.nan if tile % 2 else 1.0
        pose = np.eye(4)
        c, s = np.cos(0.3 * tile), np.sin(0.3 * tile)
        pose[:2, :2] = [[c, -s], [s, c]]
        pose[:3, 3] = [25.0 * tile - 40, 4e4, 0.5]
        clouds.append(points)
        poses.append(pose)
    return clouds, np.array(poses)


def files(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir() if path.is_file()}


class Store:
    """A file system in memory, as the extension asks for its files."""

    def __init__(self, folder):
        self.path, self.folder, self.files = "memory://map", str(folder), {}
        folder.mkdir()

    def list(self, folder):
        start = f"{folder}/" if folder else ""
        return sorted({file.removeprefix(start).split("/")[0] for file in self.files if file.startswith(start)})

    def size(self, file):
        return len(self.files[file]) if file in self.files else None

    def read(self, file, copy):
        if file not in self.files:
            raise FileNotFoundError(file)
        pathlib.Path(copy).write_bytes(self.files[file])

    def write(self, file, copy):
        self.files[file] = pathlib.Path(copy).read_bytes()

    def write_first(self, file, copy):
        if file not in self.files:
            self.write(file, copy)

    def remove(self, file):
        self.files.pop(file, None)


def test_a_store_has_the_files_of_a_folder(tmp_path):
    clouds, poses = tiles()
    store = Store(tmp_path / "copies")
    maps = [ndt.BlockMap(place, resolution=2.0, block=16.0) for place in (store, tmp_path / "map")]
    for blocks in maps:
        for i in (3, 0, 4):
            blocks.add(f"tile {i}", clouds[i], pose=poses[i], state=f"state {i}")
        blocks.add("tile 0", clouds[1], pose=poses[1], state="another")
        blocks.refuse("tile 2", "no cloud")
        assert blocks.keeps("tile 3", "state 3")["points"] == 4000 and blocks.keeps("tile 0", "state 0") is None
        for block in blocks.blocks:
            blocks.merge(block)
        assert [row["error"] for row in blocks.finish()] == [None, "no cloud", None, None]
        again = blocks.remove("tile 4")
        for block in again:
            blocks.merge(block)
        blocks.finish()
    assert set(again) - set(maps[0].blocks)
    wanted = {str(path.relative_to(tmp_path / "map")): path.read_bytes() for path in (tmp_path / "map").rglob("*") if path.is_file()}
    assert store.files == wanted and os.listdir(store.folder) == []
    opened = ndt.BlockMap(store)
    assert opened.grid().mean.tolist() == maps[1].grid().mean.tolist() and "memory://map" in repr(opened)
    part = next(file for file in store.files if file.startswith("blocks/"))
    store.files[part] = store.files[part][:-1]
    with pytest.raises(ValueError, match=f"memory://map/{part}: part: expected the file that the row of"):
        opened.finish()
    with pytest.raises(ValueError, match="memory://map/map.json: cells: expected 16, got 8"):
        ndt.BlockMap(store, resolution=2.0, block=32.0)
    store.write = lambda file, copy: (_ for _ in ()).throw(PermissionError("no more room"))
    with pytest.raises(PermissionError, match="memory://map/blocks/.*no more room"):
        opened.add("tile 5", clouds[0])


def test_the_blocks_are_one_plain_build(tmp_path):
    clouds, poses = tiles()
    plain = ndt.Moments(2.0)
    for cloud, (r, t) in zip(clouds, ((pose[:3, :3], pose[:3, 3]) for pose in poses)):
        # The sums of the library: of each row in the order of its columns, then the translation.
        x, y, z = cloud[:, :3].astype(np.float64).T
        plain.add(np.stack([row[0] * x + row[1] * y + row[2] * z + at for row, at in zip(r, t)], 1))
    for name, order in (("a", range(5)), ("b", [3, 1, 4, 1, 0, 2])):
        blocks = ndt.BlockMap(tmp_path / name, resolution=2.0, block=16.0)
        for i in order:
            row = blocks.add(f"tile {i}", clouds[i], pose=poses[i])
            assert (row["input"], row["points"], row["error"]) == (f"tile {i}", 4000, None)
        for block in reversed(blocks.blocks):
            assert blocks.merge(block)["points"] > 0
        assert [row["input"] for row in blocks.finish()] == [f"tile {i}" for i in range(5)]
    assert files(tmp_path / "a") == files(tmp_path / "b") and len(files(tmp_path / "a")) > 20
    union = ndt.Moments(2.0)
    for path in sorted((tmp_path / "a").glob("*.arrow")):
        union.merge(ndt.Moments.load(path))
    assert union == plain and union.non_finite == 2
    whole, all_blocks = plain.grid(), blocks.grid()
    for array in ("coords", "mean", "covariance", "counts"):
        np.testing.assert_array_equal(getattr(whole, array), getattr(all_blocks, array))
    assert whole.report.cells == all_blocks.report.cells
    scan, pose = clouds[0], poses[0]
    near = blocks.grid(pose[None, :3, 3], reach=60.0)
    assert len(near) < len(whole)
    assert near.score(scan, pose).score == whole.score(scan, pose).score


def test_scans_keep_their_bits_and_inputs_can_be_kept_and_removed(tmp_path):
    clouds, poses = tiles(2)
    pointmill.write(tmp_path / "a.ply", clouds[0], xyz=clouds[0][:, :3].astype(np.float64) + 4e5)
    blocks = ndt.BlockMap(tmp_path / "map", resolution=1.0, block=8.0)
    path = tmp_path / "a.ply"
    name, state = blocks.name_of(path), blocks.state_of(path, "here")
    assert name == "../a.ply" and blocks.keeps(name, state) is None
    row = blocks.add(name, pointmill.read(path), state=state)
    assert blocks.keeps(name, state) == row and blocks.keeps(name, state + "!") is None
    exact = ndt.Moments(1.0)
    exact.add(pointmill.read(path).xyz)
    assert sum(blocks.merge(block)["cells"] for block in blocks.blocks) == len(exact)
    blocks.refuse("b", "no cloud")
    assert [(row["input"], row["error"]) for row in blocks.finish()] == [("../a.ply", None), ("b", "no cloud")]
    removed = blocks.remove(name)
    assert removed == row["blocks"]
    assert {blocks.merge(block)["cells"] for block in removed} == {0}
    assert blocks.grid().mean.shape == (0, 3) and [row["input"] for row in blocks.rows] == ["b"]
    with pytest.raises(ValueError, match="no row of this name"):
        blocks.remove(name)


def test_all_inputs_share_the_origin_of_the_map(tmp_path):
    clouds, _ = tiles(3)
    origin = np.array([515_000.0, 4_918_000.0, 0.0])
    tile = [cloud[:, :3].astype(np.float64) + origin + [40.0 * i, -30.0 * i, 0] for i, cloud in enumerate(clouds)]
    plain = ndt.Moments(2.0, origin=origin)
    for points in tile:
        plain.add(points)
    for name, order in (("a", range(3)), ("b", [2, 0, 1])):
        blocks = ndt.BlockMap(tmp_path / name, resolution=2.0, block=16.0, origin=origin)
        for i in order:
            blocks.add(f"tile {i}", tile[i])
        with pytest.raises(ValueError, match="block: expected the cells of its inputs, got none; merge the block"):
            blocks.grid()
        for block in blocks.blocks:
            blocks.merge(block)
        blocks.finish()
    assert files(tmp_path / "a") == files(tmp_path / "b") and blocks.origin == tuple(origin)
    whole, all_blocks = plain.grid(), ndt.BlockMap(tmp_path / "a").grid()
    for array in ("coords", "mean", "covariance", "counts"):
        np.testing.assert_array_equal(getattr(whole, array), getattr(all_blocks, array))
    near = blocks.grid(origin[None] + [90.0, -50.0, 0.0], reach=20.0)
    assert 0 < len(near) < len(whole)
    with pytest.raises(ValueError, match=r"map.json: origin: expected \[0.0,0.0,0.0\], got \[515000.0"):
        ndt.BlockMap(tmp_path / "a", resolution=2.0, block=16.0)
    with pytest.raises(ValueError, match="^origin: expected 3 numbers"):
        ndt.BlockMap(tmp_path / "c", resolution=2.0, origin=[1.0, 2.0])


def test_points_are_moved_by_the_poses_of_their_times(tmp_path):
    """Against numpy: a sensor that drives a line at changing speed."""
    times = np.array([10.0, 10.08, 10.2, 10.3])
    poses = np.tile(np.eye(4), (4, 1, 1))
    poses[:, 0, 3] = [0.0, 2.0, 3.0, 7.0]
    after = np.linspace(0, 0.1, 50)
    rows = np.random.default_rng(0).uniform(-20, 20, (50, 4)).astype(np.float32)
    rows[:, 3] = after
    rows[7, 3] = np.nan
    pointmill.write(tmp_path / "a.ply", rows, names=["x", "y", "z", "time"])
    scan = pointmill.read(tmp_path / "a.ply")
    found = pointmill.deskew(scan, poses, times, 1)
    wanted = rows[:, :3].astype(np.float64)
    # The middle of the sweep is the time of pose 1.
    wanted[:, 0] += np.interp(10.08 - 0.05 + rows[:, 3].astype(np.float64), times, poses[:, 0, 3])
    wanted[7] = np.nan
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    for arguments, error in (
        ((poses[:1], times[:1]), "poses: times: expected two poses with times, or more, got 1 with times"),
        ((poses, times[::-1]), "^times: expected 4 times that ascend"),
        ((poses, times, 4), "expected a pose for input 4"),
    ):
        with pytest.raises(ValueError, match=error):
            pointmill.deskew(scan, *arguments)
    pointmill.write(tmp_path / "b.ply", rows[:, :3])
    with pytest.raises(ValueError, match="^scan: expected points with times"):
        pointmill.deskew(pointmill.read(tmp_path / "b.ply"), poses, times)


def test_what_does_not_go_is_refused(tmp_path):
    blocks = ndt.BlockMap(tmp_path / "map", resolution=2.0)
    assert (blocks.resolution, blocks.block) == (2.0, 128.0)
    with pytest.raises(ValueError, match="map.json: cells: expected 32, got 64"):
        ndt.BlockMap(tmp_path / "map", resolution=2.0, block=64.0)
    with pytest.raises(FileNotFoundError):
        ndt.BlockMap(tmp_path / "none")
    with pytest.raises(ValueError, match="^block: expected"):
        blocks.merge("../1_2")
    with pytest.raises(ValueError, match="^device: "):
        ndt.BlockMap(tmp_path / "map", device="gpu")
    with pytest.raises(ValueError, match="^pose: expected"):
        blocks.add("a", np.zeros((1, 3), np.float32), pose=np.eye(3))
    with pytest.raises(ValueError, match="^points: expected coordinates"):
        blocks.add("a", np.full((1, 3), 1e9))
    settings = tmp_path / "map" / "map.json"
    settings.write_text(settings.read_text().replace('"pointmill":"', '"pointmill":"9'))
    with pytest.raises(ValueError, match="map.json: pointmill: expected"):
        ndt.BlockMap(tmp_path / "map", resolution=2.0)
    with pytest.raises(ValueError, match="map.json: pointmill: expected"):
        ndt.BlockMap(tmp_path / "map").merge("0_0")


def test_bags_are_sequences_of_scans(tmp_path):
    path = FIXTURES / "bags" / "velodyne_lz4.mcap"
    topics = pointmill.bag_topics(path)
    assert topics["/points"][1] == 3 and "PointCloud2" in topics["/points"][0]
    bag = pointmill.read_bag(path)
    clouds = list(bag)
    assert (len(bag), len(clouds), bag.topic, bag.cut) == (3, 3, "/points", False)
    stamps = [cloud.stamp_ns for cloud in clouds]
    assert stamps == sorted(stamps) and clouds[0].frame and clouds[0].recorded_ns > 0
    np.testing.assert_array_equal(bag[-1].points, clouds[2].points)
    moved = pointmill.read_bag(path, local_origin=[100, 0, -5])[0]
    assert (clouds[0].origin, moved.origin) == ((0, 0, 0), (100, 0, -5))
    np.testing.assert_allclose(moved.points[:, :3] + np.float32([100, 0, -5]), clouds[0].points[:, :3], atol=1e-4)
    with pytest.raises(IndexError):
        bag[3]
    with pytest.raises(ValueError, match="topic: expected `/none`"):
        pointmill.read_bag(path, "/none")
    with pytest.raises(ValueError, match="clouds: expected one message"):
        pointmill.read(path)
    (tmp_path / "cut.mcap").write_bytes(path.read_bytes()[:-2000])
    cut = pointmill.read_bag(tmp_path / "cut.mcap")
    assert cut.cut
    with pytest.raises(ValueError):
        list(cut)


def test_inputs_are_found_as_the_command_finds_them(tmp_path):
    for name in ("10.bin", "2.bin", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "pipe.bin").symlink_to("/dev/zero")
    found = pointmill.find_inputs([tmp_path, "missing.bin", str(tmp_path / "*.las")])
    assert [pathlib.Path(path).name for path, _ in found] == ["2.bin", "10.bin", "pipe.bin", "missing.bin", "*.las"]
    assert [error is None for _, error in found] == [True, True, False, True, False]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_nothing_leads_out_of_a_map_or_is_waited_for(tmp_path):
    folder = tmp_path / "map"
    blocks = ndt.BlockMap(folder, resolution=2.0)
    (block,) = blocks.add("a", np.random.default_rng(0).uniform(1, 30, (500, 3)))["blocks"]
    blocks.merge(block)
    (part,) = (folder / "blocks" / block).iterdir()
    victim = tmp_path / "victim"
    steps = {
        part: lambda: blocks.merge(block),
        folder / f"{block}.npz": blocks.grid,
        folder / "map.json": lambda: ndt.BlockMap(folder),
        folder / "inputs" / f"{ndt.BlockMap.hash('a')}.json": blocks.finish,
    }
    for file, step in steps.items():
        shutil.move(file, victim)
        for make, kind in ((lambda: os.symlink(victim, file), "a symbolic link"), (lambda: os.mkfifo(file), "a FIFO")):
            make()
            with pytest.raises((OSError, ValueError), match=f"{file.name}: file: expected a regular file, got {kind}; move it away"):
                step()
            os.remove(file)
        shutil.move(victim, file)
    (folder / "manifest.jsonl").symlink_to(victim)
    victim.write_text("mine")
    blocks.finish()
    assert victim.read_text() == "mine" and not (folder / "manifest.jsonl").is_symlink()
