"""Maps on a real Ray cluster: a head and a second node, workers and drivers that are killed, an object store."""

import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

ray = pytest.importorskip("ray")

import pointmill  # noqa: E402
from pointmill import ndt  # noqa: E402
from pointmill.ray import build_ndt, localize, voxelize  # noqa: E402

TILES = 24
# Kills of a driver, and of a worker: more with POINTMILL_TEST_KILLS.
KILLS = int(os.environ.get("POINTMILL_TEST_KILLS", 2))
SETTINGS = {"resolution": 2.0, "block": 32.0}


@pytest.fixture(scope="module")
def store():
    """A server that speaks S3, and the environment in which fsspec finds it."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    yield
    server.stop()


@pytest.fixture(scope="module")
def cluster(store, tmp_path_factory):
    """A cluster of two nodes with two CPUs each, as processes of their own."""
    # Workers are as nice as any process; Ray's own 15 starves them on a busy machine.
    os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    folder = tmp_path_factory.mktemp("ray")
    command = [shutil.which("ray", path=str(pathlib.Path(sys.executable).parent)) or "ray", "start", "--block", "--num-cpus=2"]
    command += ["--object-store-memory=100000000", "--disable-usage-stats"]
    port = random.Random(os.getpid()).randrange(20_000, 30_000)
    address = f"127.0.0.1:{port}"
    # Other sessions of Ray on this machine look into its usual folder. Names of sockets must be short.
    place = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    head = [*command, "--head", f"--temp-dir={place}", f"--port={port}", "--include-dashboard=false", "--node-ip-address=127.0.0.1"]
    second = [*command, f"--address={address}"]
    nodes = []
    try:
        for arguments in (head, second):
            log = open(folder / f"{len(nodes)}.log", "wb")
            nodes.append(subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
            time.sleep(1)
        os.environ["RAY_ADDRESS"] = address
        deadline = time.monotonic() + 120
        while True:
            try:
                ray.init(log_to_driver=False)
                break
            except (ConnectionError, RuntimeError):
                assert time.monotonic() < deadline, [path.read_text() for path in folder.iterdir()]
                time.sleep(1)
        while len([node for node in ray.nodes() if node["Alive"]]) < 2:
            assert time.monotonic() < deadline, [path.read_text() for path in folder.iterdir()]
            time.sleep(0.2)
        yield {node.pid for node in nodes}
    finally:
        ray.shutdown()
        os.environ.pop("RAY_ADDRESS", None)
        for node in reversed(nodes):
            node.send_signal(signal.SIGTERM)
            try:
                node.wait(20)
            except subprocess.TimeoutExpired:
                node.kill()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Tiles with poses, one of them no cloud; and the blocks that one process makes of them."""
    folder = tmp_path_factory.mktemp("drive")
    (folder / "tiles").mkdir()
    poses = np.tile(np.eye(4), (TILES, 1, 1))
    for tile in range(TILES):
        points = np.random.default_rng(tile).uniform(0, [30, 30, 3, 1], (5000, 4)).astype(np.float32)
        points.tofile(folder / "tiles" / f"{tile}.bin")
        poses[tile, :3, 3] = [12.5 * tile - 100, 3.0 * tile, 0.25]
    (folder / "tiles" / "7.bin").write_bytes(b"no cloud")
    pointmill.write_poses(folder / "poses.txt", poses)
    blocks = ndt.BlockMap(folder / "plain", **SETTINGS)
    for tile in range(TILES):
        path = folder / "tiles" / f"{tile}.bin"
        try:
            blocks.add(blocks.name_of(path), pointmill.read(path), pose=poses[tile])
        except ValueError as error:
            blocks.refuse(blocks.name_of(path), str(error))
    for block in blocks.blocks:
        blocks.merge(block)
    blocks.finish()
    return folder


def files(folder, ending):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).glob(f"*{ending}")}


def assert_same(folder, drive):
    for ending in (".arrow", ".npz", ".jsonl"):
        found, wanted = files(folder, ending), files(drive / "plain", ending)
        assert found.keys() == wanted.keys()
        assert found == wanted


@pytest.mark.parametrize("actors", [1, 2])
def test_actors_make_the_blocks_of_one_process(cluster, drive, actors):
    rows = {row["path"]: row for row in build_ndt(drive / "tiles", poses=drive / "poses.txt", out=drive / f"of {actors}", concurrency=actors, **SETTINGS).take_all()}
    assert len(rows) == TILES
    failed = rows.pop(str(drive / "tiles" / "7.bin"))
    assert (failed["status"], failed["points"]) == ("failed", 0) and "length: expected" in failed["error"]
    assert {(row["status"], row["points"], row["error"]) for row in rows.values()} == {("done", 5000, None)}
    assert_same(drive / f"of {actors}", drive)


def test_workers_and_drivers_are_killed_and_shuffled_inputs_resumed(cluster, drive):
    """Drivers are killed at random times; then workers, while a last driver does the rest in another order."""
    dice, out = random.Random(0), drive / "killed"
    job = [sys.executable, "-m", "pointmill.ray", "build", "tiles", "--poses", "poses.txt", "--block", "32", "--out", "killed"]
    for _ in range(KILLS):
        driver = subprocess.Popen(job, cwd=drive, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while len(list(out.glob("inputs/*"))) == 0 and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(dice.uniform(0, 0.5))
        driver.kill()
        driver.wait()
        # So that the next has something to do.
        for row in sorted(out.glob("inputs/*"))[::2]:
            row.unlink()
    order = dice.sample(range(TILES), TILES)
    program = f"""
import numpy as np, pointmill
from pointmill.ray import build_ndt
poses, _ = pointmill.read_poses("poses.txt")
order = {order}
rows = build_ndt([f"tiles/{{i}}.bin" for i in order], poses=poses[order], out="killed", concurrency=2, resume=False, resolution=2.0, block=32.0)
assert rows.count() == {TILES}
"""
    driver = subprocess.Popen([sys.executable, "-c", program], cwd=drive, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    killed, deadline = set(), time.monotonic() + 240
    while driver.poll() is None and time.monotonic() < deadline:
        if len(killed) < KILLS:
            pids = _workers(cluster)
            for pid in sorted(pids - killed)[:1]:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    _, error = driver.communicate(timeout=10)
    assert driver.returncode == 0, error.decode()
    assert len(killed) == KILLS
    assert_same(out, drive)


def _workers(nodes):
    """The processes of the actors of a pool, of the nodes of this cluster alone."""
    parents, workers = {}, set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            pid = int(process.name)
            parents[pid] = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if (process / "cmdline").read_bytes().startswith(b"ray::MapWorker"):
                workers.add(pid)
        except OSError:
            pass

    def is_ours(pid):
        while pid in parents and pid not in nodes:
            pid = parents[pid]
        return pid in nodes

    return set(filter(is_ours, workers))


@pytest.fixture
def log(drive, tmp_path):
    """Sweeps and poses as Argoverse 2 has them: a pose of a camera stands between those of two sweeps."""
    from pyarrow import feather, table

    poses, _ = pointmill.read_poses(drive / "poses.txt")
    sweeps = tmp_path / "log" / "sensors" / "lidar"
    sweeps.mkdir(parents=True)
    stamps = [315_966_265_000_000_000 + 50_000_000 * i for i in range(7)]
    for stamp, tile in zip(stamps[::2], range(4)):
        pointmill.write(sweeps / f"{stamp}.feather", pointmill.read(drive / "tiles" / f"{tile}.bin").points[:, :3], names=["x", "y", "z"])
    places = np.repeat(poses[:4], 2, axis=0)[:7]
    assert np.allclose(places[:, :3, :3], np.eye(3))
    columns = {"timestamp_ns": stamps, "qw": np.ones(7)} | {name: np.zeros(7) for name in ("qx", "qy", "qz")}
    columns |= {name: places[:, axis, 3] + (np.arange(7) % 2) for axis, name in enumerate(("tx_m", "ty_m", "tz_m"))}
    feather.write_feather(table(columns), tmp_path / "log" / "city_SE3_egovehicle.feather")
    return sweeps, stamps[::2], poses[:4]


def test_a_log_has_its_own_poses(cluster, log, tmp_path):
    sweeps, stamps, poses = log
    rows = build_ndt(str(sweeps), out=tmp_path / "map", concurrency=2, **SETTINGS).take_all()
    assert [row["error"] for row in rows if row["status"] != "done"] == []
    wanted = ndt.BlockMap(tmp_path / "wanted", **SETTINGS)
    for stamp, pose in zip(stamps, poses):
        wanted.add(f"{stamp}", pointmill.read(sweeps / f"{stamp}.feather"), pose=pose)
    for block in wanted.blocks:
        wanted.merge(block)
    assert files(tmp_path / "map", ".npz") == files(tmp_path / "wanted", ".npz")
    assert pointmill.read(sweeps / f"{stamps[1]}.feather").stamp_ns == stamps[1]


def test_inputs_and_outputs_in_an_object_store(cluster, drive):
    import s3fs

    s3 = s3fs.S3FileSystem()
    s3.mkdir("fleet")
    for tile in range(4):
        s3.put_file(str(drive / "tiles" / f"{tile}.bin"), f"fleet/tiles/{tile}.bin")
    poses, _ = pointmill.read_poses(drive / "poses.txt")
    for _ in range(2):
        rows = build_ndt("s3://fleet/tiles/*.bin", poses=poses[:4], out="s3://fleet/map", concurrency=2, **SETTINGS).take_all()
        assert sorted(row["path"] for row in rows) == [f"s3://fleet/tiles/{i}.bin" for i in range(4)]
        assert {row["status"] for row in rows} == {"done"}
    blocks = ndt.BlockMap(drive / "four", **SETTINGS)
    for tile in range(4):
        blocks.add(f"{tile}", pointmill.read(drive / "tiles" / f"{tile}.bin"), pose=poses[tile])
    for block in blocks.blocks:
        blocks.merge(block)
    wanted = files(drive / "four", ".arrow") | files(drive / "four", ".npz")
    s3.invalidate_cache()
    found = {path.rsplit("/", 1)[1]: s3.cat_file(path) for path in s3.ls("fleet/map", detail=False) if path.endswith((".arrow", ".npz"))}
    assert found == wanted
    assert s3.cat_file("fleet/map/manifest.jsonl").count(b"\n") == 4


def test_origin_and_deskewed_sweeps_are_those_of_one_process(cluster, drive):
    """Sweeps with times in survey coordinates, one of them without times."""
    (drive / "survey").mkdir()
    poses = np.tile(np.eye(4), (5, 1, 1))
    poses[:, 0, 3] = [0.0, 2.0, 5.0, 6.0, 9.0]
    times = 100 + 0.1 * np.arange(5)
    corner = [515_368.25, 4_918_340.0, 0.0]
    for i in range(5):
        rows = np.random.default_rng(i).uniform(0, [60, 40, 3, 0.1], (5000, 4)).astype(np.float32)
        columns = slice(0, 3 if i == 3 else 4)
        names = ["x", "y", "z", "time"][columns]
        pointmill.write(drive / "survey" / f"{i}.ply", np.ascontiguousarray(rows[:, columns]), names=names, xyz=rows[:, :3].astype(np.float64) + corner + [100.0 * i, 0, 0])
    pointmill.write_poses(drive / "tum.txt", poses, times=times, format="tum")
    blocks = ndt.BlockMap(drive / "one", **SETTINGS, origin=[515_000, 4_918_000, 0])
    for i in range(5):
        path = drive / "survey" / f"{i}.ply"
        scan = pointmill.read(path)
        if scan.times is None:
            blocks.add(blocks.name_of(path), scan, pose=poses[i])
        else:
            blocks.add(blocks.name_of(path), pointmill.deskew(scan, poses, times, i))
    for block in blocks.blocks:
        blocks.merge(block)
    blocks.finish()
    order = [3, 0, 4, 2, 1]
    for actors, inputs, trajectory in ((2, drive / "survey", drive / "tum.txt"), (1, drive / "survey" / "*.ply", (poses, times))):
        out = drive / f"survey of {actors}"
        rows = build_ndt(inputs, poses=trajectory, deskew="auto", out=out, concurrency=actors, **SETTINGS)
        assert {row["status"] for row in rows.take_all()} == {"done"}
        assert files(out, ".arrow") == files(drive / "one", ".arrow") and len(files(out, ".npz")) > 9
        assert files(out, ".npz") == files(drive / "one", ".npz")
    # Shuffled inputs of a new map without poses have the same origin; with `on` a sweep without times is a row with its error.
    rows = build_ndt([drive / "survey" / f"{i}.ply" for i in order], out=drive / "shuffled", **SETTINGS)
    assert rows.count() == 5 and ndt.BlockMap(drive / "shuffled").origin == (515_000, 4_918_000, 0)
    rows = build_ndt(drive / "survey", poses=drive / "tum.txt", deskew="on", out=drive / "on", **SETTINGS).take_all()
    (error,) = [row["error"] for row in rows if row["status"] == "failed"]
    assert error.startswith(str(drive / "survey" / "3.ply")) and ": times: expected a column named t, time, timestamp or the like" in error
    with pytest.raises(ValueError, match="^deskew: expected poses with times .*, got poses without: poses"):
        build_ndt(drive / "survey", poses=poses, deskew="on", out=drive / "on", **SETTINGS)
    with pytest.raises(ValueError, match="map.json: origin: expected"):
        build_ndt(drive / "survey", out=drive / "one", local_origin="none", **SETTINGS)


def test_cut_files_parts_of_inputs_and_zeros_are_read_as_the_command_reads_them(cluster, drive):
    (drive / "cut").mkdir()
    points = np.random.default_rng(5).uniform(0, [60, 30, 3, 1], (4000, 4)).astype(np.float32)
    points[:7, :3] = 0
    (drive / "cut" / "0.bin").write_bytes(points.tobytes()[:-5])
    job = {"out": drive / "of cut", "concurrency": 1, **SETTINGS}
    (row,) = build_ndt(drive / "cut", **job).take_all()
    assert (row["status"], row["points"]) == ("failed", 0) and "length: expected" in row["error"]
    (row,) = build_ndt(drive / "cut", read={"salvage": True, "bounds": [0, 0, 32, 32], "drop_zeros": True}, **job).take_all()
    whole = points[7:-1]
    inside = whole[whole[:, 0] <= 32]
    assert (row["status"], row["points"]) == ("done", len(inside))
    blocks = ndt.BlockMap(drive / "inside", **SETTINGS)
    blocks.add("inside", inside)
    for block in blocks.blocks:
        blocks.merge(block)
    assert files(drive / "of cut", ".npz") == files(drive / "inside", ".npz") != {}
    # What was done in another way is done again, and what is the same is kept.
    (row,) = build_ndt(drive / "cut", read={"salvage": True}, **job).take_all()
    assert row["points"] == 3999
    made = {path: path.stat().st_mtime_ns for path in (drive / "of cut").glob("blocks/*/*")}
    build_ndt(drive / "cut", read={"salvage": True}, **job)
    assert made == {path: path.stat().st_mtime_ns for path in (drive / "of cut").glob("blocks/*/*")}
    with pytest.raises(TypeError, match="colour"):
        build_ndt(drive / "cut", read={"colour": 4}, **job)


def bag_of(clouds):
    """The bytes of an MCAP bag of clouds ``[N, 3]`` in double precision, measured at stamps in seconds."""

    def text(value):
        return struct.pack("<I", len(value)) + value

    def record(kind, *parts):
        return struct.pack("<BQ", kind, sum(map(len, parts))) + b"".join(parts)

    def message(points, stamp):
        body = struct.pack("<iI", int(stamp), round(stamp % 1 * 1e9)) + text(b"lidar\0")
        body += bytes(-len(body) % 4) + struct.pack("<III", 1, len(points), 3)
        for axis, name in enumerate((b"x\0", b"y\0", b"z\0")):
            body += text(name) + bytes(2) + struct.pack("<IBxxxI", 8 * axis, 8, 1)
        body += struct.pack("<BxxxIII", 0, 24, 24 * len(points), 24 * len(points)) + points.astype("<f8").tobytes() + b"\1"
        return b"\0\1\0\0" + body

    magic = b"\x89MCAP0\r\n"
    schema = record(3, struct.pack("<H", 1), text(b"sensor_msgs/msg/PointCloud2"), text(b"ros2msg"), text(b""))
    channel = record(4, struct.pack("<HH", 1, 1), text(b"/points"), text(b"cdr"), text(b""))
    times = [round(stamp * 1e9) for _, stamp in clouds]
    messages = [record(5, struct.pack("<HIQQ", 1, i, times[i], times[i]), message(*cloud)) for i, cloud in enumerate(clouds)]
    return b"".join([magic, record(1, text(b"ros2"), text(b"")), schema, channel, *messages, record(15, bytes(4)), record(2, bytes(20)), magic])


def test_poses_that_do_not_fit_the_inputs_are_rows_with_their_errors(cluster, drive):
    """Too few, too many, out of order; by number, and by the stamps of a bag."""
    tiles = [drive / "tiles" / f"{i}.bin" for i in range(3)]
    poses, _ = pointmill.read_poses(drive / "poses.txt")

    def build(inputs, poses, name):
        rows = build_ndt(inputs, poses=poses, out=drive / name, concurrency=1, **SETTINGS).take_all()
        assert (drive / name / "manifest.jsonl").read_text().count("\n") == len(rows)
        return {os.path.basename(row["path"]): (row["status"], row["points"], row["error"]) for row in rows}

    done = ("done", 5000, None)
    few = build(tiles, poses[:2], "few")
    assert few == {"0.bin": done, "1.bin": done, "2.bin": ("failed", 0, "poses: poses: expected a pose for input 2 (from 0), got 2 poses")}
    pointmill.write_poses(drive / "many.txt", poses[:5])
    many = build(tiles, drive / "many.txt", "many")
    assert many.pop("many.txt")[0::2] == ("failed", f"{drive / 'many.txt'}: poses: expected 3, one for each input, got 5")
    assert many == {"0.bin": done, "1.bin": done, "2.bin": done}
    times = 100 + 0.1 * np.arange(3)
    with pytest.raises(ValueError, match="^poses: expected 3 times that ascend"):
        build(tiles, (poses[:3], times[::-1]), "unsorted")
    lines = [f"{time} 0 0 0 0 0 0 1\n" for time in times]
    (drive / "unsorted.txt").write_text(lines[0] + lines[2] + lines[1])
    with pytest.raises(ValueError, match="unsorted.txt: "):
        build(tiles, drive / "unsorted.txt", "unsorted")

    clouds = [(np.random.default_rng(i).uniform(0, 30, (500, 3)), time) for i, time in enumerate(times)]
    (drive / "drive.mcap").write_bytes(bag_of(clouds))
    # A pose for a time at which nothing was measured; no pose for the second cloud.
    found = build(drive / "drive.mcap", (poses[:3], np.array([times[0], times[1] + 0.05, times[2]])), "by stamp")
    assert [found[f"drive.mcap#{i:06}"][:2] for i in range(3)] == [("done", 500), ("failed", 0), ("done", 500)]
    assert found["drive.mcap#000001"][2] == "poses: poses: expected a pose within 0.001 s of the stamp 100.100000, got 3 poses"


def test_the_origin_of_a_bag_is_that_of_its_first_cloud(cluster, drive):
    """As the command finds it, where the bag is first in natural order; what cannot be read is passed over."""
    (drive / "far").mkdir()
    corner = [515_368.25, 4_918_340.0, 0.0]
    clouds = [(np.random.default_rng(i).uniform(0, [60, 40, 3], (2000, 3)) + corner, 100 + 0.1 * i) for i in range(3)]
    (drive / "far" / "1.ply").write_bytes(b"no cloud")
    (drive / "far" / "2.mcap").write_bytes(bag_of(clouds))
    pointmill.write(drive / "far" / "10.ply", clouds[0][0].astype(np.float32), xyz=clouds[0][0] + [5000.0, 0, 0])
    rows = build_ndt(drive / "far", out=drive / "of far", concurrency=2, **SETTINGS).take_all()
    assert sorted(row["status"] for row in rows) == ["done"] * 4 + ["failed"]
    blocks = ndt.BlockMap(drive / "near", **SETTINGS, origin=[515_000, 4_918_000, 0])
    for number, scan in enumerate(pointmill.read_bag(drive / "far" / "2.mcap")):
        assert scan.origin == (515_000, 4_918_000, 0)
        blocks.add(f"bag {number}", scan)
    blocks.add("10.ply", pointmill.read(drive / "far" / "10.ply"))
    for block in blocks.blocks:
        blocks.merge(block)
    assert ndt.BlockMap(drive / "of far").origin == (515_000, 4_918_000, 0)
    for ending in (".arrow", ".npz"):
        found = files(drive / "of far", ending)
        assert len(found) > 3 and found == files(drive / "near", ending)


def test_a_worker_needs_at_most_four_times_its_largest_input(cluster, drive):
    """And 200 MB, most of which Ray takes."""
    (drive / "large").mkdir()
    for i in range(2):
        points = np.random.default_rng(i).uniform(0, [200, 200, 3, 1], (5_000_000, 4)).astype(np.float32)
        points.tofile(drive / "large" / f"{i}.bin")
    pointmill.write_poses(drive / "large.txt", np.tile(np.eye(4), (2, 1, 1)))
    peaks, done = {}, threading.Event()

    def watch():
        while not done.is_set():
            for pid in _workers(cluster):
                try:
                    status = pathlib.Path(f"/proc/{pid}/status").read_text()
                    peaks[pid] = int(status.split("VmHWM:")[1].split()[0]) * 1024
                except (OSError, IndexError):
                    pass
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        rows = build_ndt(drive / "large", poses=drive / "large.txt", out=drive / "of large", concurrency=1, **SETTINGS).take_all()
    finally:
        done.set()
        watcher.join()
    assert [row["status"] for row in rows] == ["done"] * 2
    assert 80e6 < max(peaks.values()) <= 4 * 80e6 + 200e6, peaks


def test_bad_arguments_and_settings_end_the_job(cluster, drive):
    with pytest.raises(ValueError, match="0.bin and .*0.bin: expected inputs of different names, got one input twice"):
        build_ndt([drive / "tiles/0.bin"] * 2, out=drive / "twice", **SETTINGS)
    with pytest.raises(ValueError, match="map.json: cells: expected 64, got 16"):
        build_ndt(drive / "tiles", out=drive / "plain", resolution=2.0)
    with pytest.raises(ValueError, match="concurrency: expected at least 1"):
        build_ndt(drive / "tiles", out=drive / "twice", concurrency=0, **SETTINGS)
    with pytest.raises(ValueError, match="local_origin: expected \"auto\", \"none\" or x, y, z in metres, got 'here'"):
        build_ndt(drive / "tiles", out=drive / "twice", local_origin="here", **SETTINGS)
    with pytest.raises(ValueError, match='deskew: expected "off", "auto" or "on", got True'):
        build_ndt(drive / "tiles", out=drive / "twice", deskew=True, **SETTINGS)
    (drive / "older").mkdir()
    settings = (drive / "plain" / "map.json").read_text()
    (drive / "older" / "map.json").write_text(settings.replace('"pointmill":"', '"pointmill":"9'))
    with pytest.raises(ValueError, match="map.json: pointmill: expected"):
        build_ndt(drive / "tiles", out=drive / "older", **SETTINGS)


def test_what_the_system_refuses_ends_the_job_and_a_later_one_goes_on(cluster, drive):
    """A file where a block's folder is to be refuses what a full disk refuses."""
    block = sorted((drive / "plain" / "blocks").iterdir())[0].name
    wall = drive / "refused" / "blocks" / block
    wall.parent.mkdir(parents=True)
    wall.touch()
    job = {"poses": drive / "poses.txt", "out": drive / "refused", "concurrency": 2, **SETTINGS}
    with pytest.raises(ray.exceptions.RayTaskError, match=block):
        build_ndt(drive / "tiles", **job)
    assert not (drive / "refused" / "manifest.jsonl").exists()
    wall.unlink()
    assert build_ndt(drive / "tiles", **job).count() == TILES
    assert_same(drive / "refused", drive)


def test_voxels_of_many_files(cluster, drive):
    params = {"voxel_size": [0.5] * 3, "point_cloud_range": [0, 0, 0, 32, 32, 32]}
    rows = voxelize(drive / "tiles" / "[67].bin", out=drive / "voxels", concurrency=1, **params).take_all()
    rows = {os.path.basename(row["path"]): row for row in rows}
    assert (rows["7.bin"]["status"], rows["6.bin"]["status"]) == ("failed", "done")
    wanted = pointmill.voxelize(pointmill.read(drive / "tiles" / "6.bin").points, **params)
    with np.load(drive / "voxels" / "6.npz") as found:
        np.testing.assert_array_equal(found["coords"], wanted.coords)
        np.testing.assert_array_equal(found["voxels"], wanted.voxels)


def test_drives_are_localized_as_in_one_process(cluster, drive):
    """A corner of a room as the map; two drives through it, one with a scan that cannot be read, and one that is not there."""
    side = np.arange(0, 20, 0.15)
    a, b = (axis.ravel() for axis in np.meshgrid(side, side))
    o = np.zeros_like(a)
    room = np.concatenate([np.stack(wall, 1) for wall in ((a, b, o), (o, a, b), (a, o, b))])
    blocks = ndt.BlockMap(drive / "room", resolution=2.0, block=8.0)
    blocks.add("room", room)
    for block in blocks.blocks:
        blocks.merge(block)
    blocks.finish()
    params = {"region": [4.0, 4.0, 6.0, 6.0], "sensor_height": 1.5, "min_nvtl": 0.5}
    poses = {}
    for name, seed in (("east", 1), ("west", 2)):
        (drive / name).mkdir()
        localizer, poses[name] = pointmill.Localizer(blocks.grid(), **params), []
        for scan in range(3):
            points = np.random.default_rng(seed + scan).permutation(room)[:4000] - [5 + 0.2 * scan, 5, 1.5]
            np.save(drive / name / f"{scan}.npy", points)
            poses[name].append(localizer.push(points).map_from_sensor)
    (drive / "west" / "2.npy").write_bytes(b"no cloud")
    localizer = pointmill.Localizer(blocks.grid(), **params)
    poses["west"] = [localizer.push(np.load(drive / "west" / f"{i}.npy") if i < 2 else np.empty((0, 3))).map_from_sensor for i in range(3)]
    rows = localize([drive / "east", drive / "west", drive / "none"], map=drive / "room", out=drive / "found", concurrency=1, **params).take_all()
    rows = {os.path.basename(row["path"]): row for row in rows}
    assert {name: (row["status"], row["scans"]) for name, row in rows.items()} == {"east": ("done", 3), "west": ("done", 3), "none": ("failed", 0)}
    assert "2.npy" in rows["west"]["error"] and rows["east"]["error"] is None
    assert rows["east"]["fixes"] >= 1
    for name in ("east", "west"):
        found, _ = pointmill.read_poses(drive / "found" / f"{name}.txt")
        np.testing.assert_array_equal(found, np.array(poses[name]))


def test_a_link_in_the_place_of_an_output_is_replaced(tmp_path):
    from pointmill.ray import _files

    for name, text in [("copy", "new"), ("victim", "mine")]:
        (tmp_path / name).write_text(text)
    (tmp_path / "out").symlink_to("victim")
    # The name that an unfinished file of this process once had.
    (tmp_path / f"out.{os.getpid()}.tmp").symlink_to("victim")
    _files.put(tmp_path / "copy", str(tmp_path / "out"))
    assert (tmp_path / "victim").read_text() == "mine"
    assert (tmp_path / "out").read_text() == "new" and not (tmp_path / "out").is_symlink()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        _files.put(tmp_path / "copy", str(tmp_path / "folder"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "folder", "out", f"out.{os.getpid()}.tmp", "victim"]
