"""Maps on a real Ray cluster: a head and a second node, workers and drivers that are killed, an object store."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

ray = pytest.importorskip("ray")

import pointmill  # noqa: E402
from pointmill import ndt  # noqa: E402
from pointmill.ray import build_ndt, voxelize  # noqa: E402

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
    assert (failed["status"], failed["points"]) == ("failed", 0) and "length: wanted" in failed["error"]
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


def test_bad_arguments_and_settings_end_the_job(cluster, drive):
    with pytest.raises(ValueError, match="expected inputs of different names, got ../tiles/0.bin twice"):
        build_ndt([drive / "tiles/0.bin"] * 2, out=drive / "twice", **SETTINGS)
    with pytest.raises(ValueError, match="map.json: cells: wanted 64, found 16"):
        build_ndt(drive / "tiles", out=drive / "plain", resolution=2.0)
    with pytest.raises(ValueError, match="concurrency: expected at least 1"):
        build_ndt(drive / "tiles", out=drive / "twice", concurrency=0, **SETTINGS)


def test_voxels_of_many_files(cluster, drive):
    params = {"voxel_size": [0.5] * 3, "point_cloud_range": [0, 0, 0, 32, 32, 32]}
    rows = voxelize(drive / "tiles" / "[67].bin", out=drive / "voxels", concurrency=1, **params).take_all()
    rows = {os.path.basename(row["path"]): row for row in rows}
    assert (rows["7.bin"]["status"], rows["6.bin"]["status"]) == ("failed", "done")
    wanted = pointmill.voxelize(pointmill.read(drive / "tiles" / "6.bin").points, **params)
    with np.load(drive / "voxels" / "6.npz") as found:
        np.testing.assert_array_equal(found["coords"], wanted.coords)
        np.testing.assert_array_equal(found["voxels"], wanted.voxels)
