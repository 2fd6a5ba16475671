"""torch's data loaders, with workers of every start method."""

import pytest

torch = pytest.importorskip("torch")

import pointmill
from processes import Sweeps, answers, forked


def one(items):
    return items[0]


@pytest.mark.parametrize(
    "method, used", [("fork", False), ("fork", True), ("spawn", True), ("forkserver", True)]
)
def test_data_loader(method, used):
    def work():
        want = answers() if used else None
        loader = torch.utils.data.DataLoader(
            Sweeps(), num_workers=4, multiprocessing_context=method, collate_fn=one, timeout=150
        )
        items = list(loader)
        assert len(items) == 8
        numbers = {item.pop("threads") for item in items}
        assert method != "fork" or numbers == {pointmill.num_threads()}
        assert all(item == (want or answers()) for item in items)

    if method == "fork":
        # In a process of its own, so that a loader that hangs is killed with all it has.
        forked(work, 200)
    else:
        # A forked process cannot use the server of its parent; a loader ends after its own timeout.
        work()


def set_two(_):
    pointmill.set_num_threads(2)


def test_number_of_threads_of_workers():
    loader = torch.utils.data.DataLoader(
        Sweeps(4), num_workers=2, multiprocessing_context="fork", collate_fn=one, timeout=100, worker_init_fn=set_two
    )
    assert {item["threads"] for item in loader} == {2}
