"""Many pairs and many scans in one call: each has the result of a call of its own."""

import numpy as np
import pytest

import pointmill
from pointmill import icp, ndt


def sheet(n, seed):
    random = np.random.default_rng(seed)
    x, y = random.uniform(-1, 1, (2, n))
    return np.stack([x, y, 0.3 * np.sin(2 * x) * np.cos(3 * y)], 1)


def same(found, wanted):
    assert np.array_equal(found.target_from_source, wanted.target_from_source)
    assert np.array_equal(found.hessian, wanted.hessian)
    assert (found.status, found.iterations) == (wanted.status, wanted.iterations)


@pytest.mark.parametrize("metric", ["point-to-point", "point-to-plane", "gicp"])
def test_pairs_are_aligned_as_alone(metric):
    target = sheet(900, 1)
    sources = [sheet(n, seed) for seed, n in enumerate((700, 0, 300))]
    guesses = [np.eye(4) for _ in sources]
    guesses[2][0, 3] = 0.02
    found = icp.align_many(sources, [target] * 3, guesses, metric=metric, max_iterations=5)
    for one, source, guess in zip(found, sources, guesses):
        same(one, pointmill.icp(source=source, target=target, guess=guess, metric=metric, max_iterations=5))
    assert icp.align_many([], []) == []


def test_a_pair_that_is_refused_leaves_the_others():
    good = sheet(300, 2)
    far = good.copy()
    far[0] = 1e300
    found = icp.align_many([good, good[:, :2], far, good], [good] * 4, [np.eye(4), np.eye(4), np.eye(4), np.zeros((4, 4))])
    assert found[0].converged
    assert [type(one) for one in found[1:]] == [ValueError] * 3
    assert str(found[1]).startswith("sources: ") and str(found[3]).startswith("guess: ")
    with pytest.raises(ValueError, match="targets: expected 2, one for each source, got 1"):
        icp.align_many([good, good], [good])
    with pytest.raises(ValueError, match="neighbours"):
        icp.align_many([good], [good], neighbours=2)


def test_scans_are_aligned_as_alone():
    a, b = (x.ravel() * 0.1 + 0.05 for x in np.meshgrid(np.arange(60), np.arange(60)))
    room = np.concatenate([np.stack(p, 1) for p in ((a, b, 0 * a), (0 * a, a, b), (a, 0 * a, b))])
    grid = ndt.Grid(room, resolution=1.0)
    scans = [room[::7] - [0.1, 0, 0], room[:0], room[3::11].copy()]
    many = np.zeros((2, 6))
    many[1, 0] = 0.1
    guesses = [np.eye(4), np.eye(4), many]
    found = grid.align_many(scans, guesses)
    for one, scan, guess in zip(found, scans, guesses):
        wanted = grid.align(scan, guess)
        for one, wanted in zip(one, wanted) if isinstance(wanted, list) else [(one, wanted)]:
            same(one, wanted)
    assert isinstance(found[2], list) and len(found[2]) == 2
    found = grid.align_many([scans[0], scans[0][:, :2], scans[0]], [np.eye(4), np.eye(4), np.zeros((4, 4))])
    assert found[0].converged and [type(one) for one in found[1:]] == [ValueError] * 2
    assert str(found[1]).startswith("scans: ") and str(found[2]).startswith("guesses: ")
    with pytest.raises(ValueError, match="guesses: expected 3, one for each scan, got 1"):
        grid.align_many(scans, guesses[:1])
