"""The command in the package, and what it shares with it: files, the synthetic drive, pages."""

import json
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest

import pointmill


def run(*arguments, **more):
    return subprocess.run([sys.executable, "-m", "pointmill", *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)


@pytest.fixture(scope="module")
def street(tmp_path_factory):
    folder = tmp_path_factory.mktemp("street")
    done = run("synth", "--out", folder, "--sweeps", 2, "--format", "ply")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_command_has_the_exit_codes_and_words_of_the_binary(street):
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"pointmill {pointmill.__version__}\n")
    done = run("odometry", "--nonsense", street)
    assert done.returncode == 2 and done.stdout == "" and "--nonsense" in done.stderr and "python" not in done.stderr
    done = run("info", street / "absent.ply")
    assert done.returncode in (1, 2, 3) and "absent.ply" in done.stderr
    assert "Usage: pointmill" in run("--help").stdout


def test_info_is_what_the_command_prints(street, tmp_path):
    pointmill.write_poses(tmp_path / "poses.tum", np.eye(4)[None], times=[0.5], format="tum")
    for path in (street / "sweep_000.ply", street / "poses.txt", tmp_path / "poses.tum"):
        lines = [json.loads(line) for line in run("info", path, "--json").stdout.splitlines()]
        (printed,) = [line["data"] for line in lines if line["type"] == "frame"]
        found = pointmill.info(path)
        assert found and {key: printed[key] for key in found} == found
    assert pointmill.info(tmp_path / "poses.tum")["poses"] == {"count": 1, "kind": "tum", "times": [0.5, 0.5]}
    with pytest.raises(FileNotFoundError, match="absent"):
        pointmill.info(tmp_path / "absent.ply")
    (tmp_path / "bad.ply").write_text("ply\nnonsense")
    with pytest.raises(ValueError, match=r"bad\.ply"):
        pointmill.info(tmp_path / "bad.ply")


def test_the_drive_is_that_of_the_command(street):
    scans, poses = pointmill.synth.drive(2)
    for i, scan in enumerate(scans):
        read = pointmill.read(street / f"sweep_{i:03}.ply")
        assert scan.names == read.names[:5] and scan.times is None
        np.testing.assert_array_equal(scan.points, read.points[:, :5])
    np.testing.assert_array_equal(poses, pointmill.read_poses(street / "poses.txt")[0])
    (moving,), middle = pointmill.synth.drive(1, distort=True)
    assert moving.times.max() > 0.05 and middle[0, 0, 3] > poses[0, 0, 3]
    other = pointmill.synth.drive(1, scene="tunnel", seed=3)[0][0]
    assert len(other) and not np.array_equal(other.points, scans[0].points)
    for message, given in (("sweeps: expected 1 to 1000, got 0", dict(sweeps=0)), ("sweeps: expected 1 to 1000, got 1001", dict(sweeps=1001)), ('scene: expected street, loop or tunnel, got "moon"', dict(scene="moon"))):
        with pytest.raises(ValueError) as error:
            pointmill.synth.drive(**given)
        assert message in str(error.value), str(error.value)


def test_pages(tmp_path):
    scans, poses = pointmill.synth.drive(2)
    nan = np.array([[np.nan, 0, 0], [1, 2, 3]])
    for page in (pointmill.view.page(scans[0]), pointmill.view.page(scans), pointmill.view.page(scans, poses, title="<b>A & B</b>"), pointmill.view.page(nan), pointmill.view.page([nan[:0]])):
        page.save(tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text() == page.html and page.html.lower().startswith("<!doctype html>")
        assert page._repr_html_().startswith("<iframe srcdoc=") and pickle.loads(pickle.dumps(page)).html == page.html
        assert repr(page) == f"Page({len(page.html.encode())} bytes)"
    assert "<b>A" not in pointmill.view.page(scans, poses, title="<b>A & B</b>").html
    assert pointmill.view.page(scans, poses).html != pointmill.view.page(scans).html
    with pytest.raises(ValueError, match="poses: expected 2, one for each cloud, got 1"):
        pointmill.view.page(scans, poses[:1])
    with pytest.raises(ValueError, match="clouds: expected 3 or more columns"):
        pointmill.view.page(np.zeros((4, 2)))
    with pytest.raises(OSError, match="absent"):
        page.save(tmp_path / "absent" / "page.html")


def test_results_show_their_pose():
    (first, second), _ = pointmill.synth.drive(2)
    odometry = pointmill.Odometry()
    assert repr(odometry.push(first)).endswith("world_from_sensor=[0.000, 0.000, 0.000] m, 0.00 deg)")
    step = odometry.push(second)
    x, y, z = step.world_from_sensor[:3, 3]
    assert f"world_from_sensor=[{x:.3f}, {y:.3f}, {z:.3f}] m, " in repr(step) and x > 0.5
    quarter = np.array([[0, -1, 0, 1.25], [1, 0, 0, -2], [0, 0, 1, 0.5], [0, 0, 0, 1.0]])
    cloud = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    found = pointmill.icp(cloud, cloud @ quarter[:3, :3].T + quarter[:3, 3], metric="point-to-point", guess=quarter)
    assert repr(found).endswith("target_from_source=[1.250, -2.000, 0.500] m, 90.00 deg)")
    localizer = pointmill.Localizer(pointmill.ndt.Grid(first, resolution=2.0))
    assert "map_from_sensor=[" in repr(localizer.push(first))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_is_an_exit_code_and_no_traceback(tmp_path):
    for seconds in (0.2, 0.5, 1.0):
        command = [sys.executable, "-m", "pointmill", "voxelize", "-"]
        with subprocess.Popen([*command, "--format", "bin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                pass
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        # Before the command listens, the signal ends Python as any program.
        assert process.returncode in (130, -signal.SIGINT) and "KeyboardInterrupt" not in told and "Traceback" not in told, (process.returncode, told)
