"""Several processes: children of every start method work, with every operator, whatever their parent did before."""

import multiprocessing
import os
import subprocess
import sys
import threading

import pytest

import pointmill
from processes import OPERATORS, answer, answers, answers_twice, forked, threads

FOLDER = os.path.dirname(__file__)


def fresh(code, **env):
    """Runs code in a new interpreter, which is killed with its children when it takes too long."""
    paths = [FOLDER, *sys.path]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **env}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=150)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        raise AssertionError("the interpreter did not end in time") from None
    assert process.returncode == 0, output.decode()
    return output.decode().split()


@pytest.fixture(scope="module")
def want():
    return answers()


@pytest.mark.parametrize("name", OPERATORS)
def test_forked_child(name, want):
    """A child computes what its parent has computed."""

    def work():
        assert answer(name) == want[name] and answer(name) == want[name]

    forked(work)


def test_forked_grandchild(want):
    def child():
        assert answers() == want
        forked(lambda: answers() == want or os._exit(2), 60)
        assert answers() == want

    forked(child)


def test_fork_before_use():
    fresh("import pointmill, processes as p; p.forked(p.answers); p.answers(); p.forked(p.answers)")


def test_fork_before_import():
    fresh("import os, processes\nif os.fork() == 0: os._exit(0)\nos.wait(); processes.forked(processes.answers)")


@pytest.mark.parametrize("number", [None, 2])
def test_fork_while_other_threads_work(number, want):
    """No child waits for what a thread of its parent holds at that moment, in pointmill or in what it stands on."""
    names = ["two_boxes", "voxelize", "icp_small"]

    def child():
        assert all(answer(name) == want[name] for name in names)

    def parent():
        if number:
            pointmill.set_num_threads(number)
        stop = threading.Event()

        def work():
            while not stop.is_set():
                for name in names:
                    answer(name)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        try:
            for _ in range(40):
                forked(child, 30)
        finally:
            stop.set()
            for worker in workers:
                worker.join()

    # In a child, where a number of threads may be set.
    forked(parent, 150)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools(method, want):
    pool = multiprocessing.get_context(method).Pool(2)
    try:
        assert pool.map_async(answers_twice, range(4), chunksize=1).get(timeout=150) == [want] * 4
    finally:
        pool.terminate()


def test_grids_work_in_children():
    """An object that the parent made works in a child too."""
    import numpy as np

    points = np.random.default_rng(0).uniform(0, 4, (20_000, 3))
    grid = pointmill.ndt.Grid(points, resolution=1.0)
    pose = grid.align(points[:300]).xyzrpy.tolist()

    def child():
        assert grid.align(points[:300]).xyzrpy.tolist() == pose

    forked(child)


def test_number_of_threads(want):
    def parent():
        assert pointmill.num_threads() >= 1
        for number in (1, 3, 2):
            pointmill.set_num_threads(number)
            assert pointmill.num_threads() == number
            assert answers() == want
            # A child takes the number over, and its own number does not reach its parent.
            forked(lambda: (threads() == number and not pointmill.set_num_threads(4) and threads() == 4) or os._exit(2))
            assert pointmill.num_threads() == number
        for wrong in (0, -1):
            with pytest.raises(ValueError, match=f"threads: expected a whole number from 1 .*, got {wrong}"):
                pointmill.set_num_threads(wrong)
        with pytest.raises(TypeError):
            pointmill.set_num_threads(1.5)
        assert pointmill.num_threads() == 2

    forked(parent)


def test_threads_of_children():
    """One, unless somebody said otherwise."""
    code = "import pointmill as p, processes, os; processes.forked(lambda: os.write(1, b'%d ' % p.num_threads()))"
    clean = {"RAYON_NUM_THREADS": ""}
    assert fresh(code, **clean) == ["1"]
    assert fresh(code, RAYON_NUM_THREADS="3") == ["3"]
    assert fresh(code.replace("; processes.", "; p.set_num_threads(5); processes."), **clean) == ["5"]


def test_threads_are_made(want):
    """A child has as many threads more as it works with, beside those of numbers from before."""

    def count():
        return len(os.listdir("/proc/self/task"))

    def child():
        before, known = count(), pointmill.num_threads()
        answer("voxelize")
        assert count() - before == pointmill.num_threads()
        pointmill.set_num_threads(5)
        assert count() - before == pointmill.num_threads() + known and answer("voxelize") == want["voxelize"]

    if not os.path.exists("/proc/self/task"):
        pytest.skip("the system does not tell threads")
    forked(child)
