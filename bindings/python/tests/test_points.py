"""Furthest samples, balls and neighbours beside plain loops; features of rows and their gradients."""

import numpy as np
import pytest

import pointmill
from pointmill import points


def cloud(n, seed=0):
    """Points of a coarse grid: many distances are equal, some points are there twice, some are not finite."""
    random = np.random.default_rng(seed)
    made = random.integers(-6, 7, (n, 3)).astype(np.float32) / 2
    made[random.random(n) < 0.05] = np.nan
    return made


def squared(a, b):
    d = a - b
    return d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1] + d[..., 2] * d[..., 2]


def furthest(values, number):
    nearest = np.where(np.isfinite(values).all(1), np.inf, -1).astype(np.float32)
    rows = []
    for _ in range(number):
        rows.append(int(nearest.argmax()))
        away = squared(values, values[rows[-1]])
        nearest = np.where(away < nearest, away, nearest)
    return rows


def test_furthest_samples():
    a, b = cloud(500), cloud(300, 1)
    both = np.concatenate([a, b])
    assert points.furthest_point_sample(a, 100).tolist() == furthest(a, 100)
    rows = points.furthest_point_sample(both, 40, row_splits=[0, 500, 800])
    assert rows.dtype == np.int32
    assert rows.tolist() == furthest(a, 40) + [500 + row for row in furthest(b, 40)]
    of = points.furthest_point_sample(both, row_splits=[0, 500, 800], sample_splits=[0, 7, 9])
    assert of.tolist() == furthest(a, 7) + [500 + row for row in furthest(b, 2)]


@pytest.mark.parametrize("pick", ["first", "nearest"])
def test_balls(pick):
    values, centres = cloud(600), cloud(50, 2)
    rows, num_points = points.ball_query(values, centres, 1.5, 9, min_radius=0.75, pick=pick, fill="none")
    for centre, got, count in zip(centres, rows, num_points):
        away = squared(values, centre)
        inside = np.flatnonzero((away == 0) | ((away >= np.float32(0.75) ** 2) & (away < np.float32(1.5) ** 2)))
        if pick == "nearest":
            inside = inside[np.argsort(away[inside], kind="stable")]
        assert got[:count].tolist() == inside[:9].tolist()
        assert count == min(len(inside), 9) and (got[count:] == -1).all()
    filled = points.ball_query(values, centres, 1.5, 9, min_radius=0.75, pick=pick)[0]
    assert (filled == np.where(rows < 0, rows[:, :1], rows)).all()


def test_neighbours():
    values, queries = cloud(600), cloud(50, 2)
    rows, distances = points.knn(values, queries, 40)
    for query, got, away in zip(queries, rows, distances):
        if not np.isfinite(query).all():
            assert (got == -1).all() and np.isinf(away).all()
            continue
        want = np.argsort(squared(values, query), kind="stable")[:40]
        assert got.tolist() == want.tolist()
        assert away.tolist() == squared(values, query)[want].tolist()
    three = points.three_nn(values, queries)
    assert (three[0] == rows[:, :3]).all() and (three[1] == distances[:, :3]).all()


def test_the_same_with_any_threads():
    values = np.random.default_rng(3).normal(size=(20_000, 3)).astype(np.float32)

    def results():
        rows = points.furthest_point_sample(values, 500)
        return [rows, *points.ball_query(values, values[rows], 0.3, 16), *points.knn(values, values[rows], 9)]

    before = pointmill.num_threads()
    try:
        pointmill.set_num_threads(1)
        one = results()
        pointmill.set_num_threads(2)
        assert all((a == b).all() for a, b in zip(one, results()))
    finally:
        pointmill.set_num_threads(before)


def test_features_of_rows():
    features = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = np.array([[5, -1], [0, 0]], np.int32)
    assert points.group(features, rows).tolist() == [[[10, 11], [0, 0]], [[0, 1], [0, 1]]]
    assert points.gather(features, rows[:, 0]).tolist() == [[10, 11], [0, 1]]
    weights = np.array([[0.5, 9.0], [0.25, 0.75]], np.float32)
    assert points.interpolate(features, rows, weights).tolist() == [[5, 5.5], [0, 1]]
    with pytest.raises(ValueError, match=r"rows: expected numbers of -1 to 5, got 0 to 6"):
        points.group(features, np.array([0, 6]))
    with pytest.raises(ValueError, match=r"weights: expected an array of shape \[2, 2\]"):
        points.interpolate(features, rows, weights[:1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: points.furthest_point_sample(p, 0), "number: expected 1 or more, below 2\\^30, got 0"),
        (lambda p: points.furthest_point_sample(p[:, :2], 1), "points: expected"),
        (lambda p: points.furthest_point_sample(p, 1, row_splits=[0, 9]), "row_splits"),
        (lambda p: points.furthest_point_sample(p, 1, features=p[:3]), "features: expected 4 rows, as many as points, got 3"),
        (lambda p: points.ball_query(p, p, -1.0), "radius: expected a finite radius above 0, got -1"),
        (lambda p: points.ball_query(p, p, 1.0, 257), "most: expected 1 to 256, got 257"),
        (lambda p: points.ball_query(p, p, 1.0, min_radius=1.0), "min_radius: expected below radius"),
        (lambda p: points.knn(p, p, 0), "k: expected 1 to 256, got 0"),
        (lambda p: points.knn(p, p, 1, query_splits=[0, 2, 4]), "query_splits: expected 2 numbers"),
        (lambda p: points.knn(p, p[:, :2], 1), "queries: expected"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.zeros((4, 3), np.float32))


def test_the_operators_of_torch():
    torch = pytest.importorskip("torch")
    import pointmill.torch as ops

    values = torch.from_numpy(cloud(300))
    features = torch.randn(300, 5, dtype=torch.float64, requires_grad=True)

    def model(values, features):
        rows = ops.furthest_point_sample(values, 20)
        centres = ops.group(values, rows)
        near, _ = ops.ball_query(values, centres, 1.0, 8)
        three, away = ops.knn(centres, values, 3)
        weights = 1 / (away.double() + 0.5)
        return ops.interpolate(ops.group(features, near).sum(1), three, weights)

    plain = model(values, features)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)(values, features)
    assert torch.equal(plain.isnan(), compiled.isnan())
    assert torch.equal(plain.nan_to_num(), compiled.nan_to_num())
    rows = torch.tensor([[3, 3, -1], [0, 299, 3]])
    weights = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    few = torch.randn(300, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f, w: ops.interpolate(f, rows, w), (few, weights))
    assert torch.autograd.gradcheck(lambda f: ops.group(f, rows), (few,))
    for kind in (torch.float16, torch.bfloat16):
        half = torch.ones(4, 2, dtype=kind, requires_grad=True)
        ops.group(half, torch.tensor([1, 1, 3])).sum().backward()
        assert half.grad.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


@pytest.mark.parametrize("last", [False, True])
def test_weighted_sums_have_derivatives_of_any_order(last):
    torch = pytest.importorskip("torch")
    from pointmill._gather_ops import gathered

    rows = torch.tensor([[[0, 2, -1], [2, 2, 1]], [[1, 0, 0], [-1, -1, -1]]])
    features = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    of = features if last else features.transpose(1, 2)
    taken = torch.stack([of[b][rows[b].clamp(min=0)] for b in range(2)])
    want = (taken * (weights * (rows >= 0))[..., None]).sum(2)
    made = gathered(features, weights, rows, last)
    assert torch.allclose(made if last else made.transpose(1, 2), want)

    def sums(features, weights):
        return gathered(features, weights, rows, last)

    def of_one(features):
        return gathered(features, None, rows[..., :1], last)

    for call, given in ((sums, (features, weights)), (of_one, (features,))):
        assert torch.autograd.gradcheck(call, given, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(call, given)
    length = features.shape[1 if last else 2]
    torch.library.opcheck(torch.ops.pointmill.gather, ("sums", features, weights, rows, length, last))
    for dtype in (torch.float16, torch.bfloat16):
        half = features.detach().to(dtype).requires_grad_()
        whole = half.detach().float().requires_grad_()
        of_half, of_whole = (gathered(f, weights.float(), rows, last) for f in (half, whole))
        assert torch.equal(of_half, of_whole.to(dtype))
        grad = torch.randn_like(of_half)
        of_half.backward(grad)
        of_whole.backward(grad.float())
        assert torch.equal(half.grad, whole.grad.to(dtype))
    with pytest.raises(ValueError, match="rows: expected numbers of -1 to"):
        gathered(features, weights, rows + 9, last)
    with pytest.raises(ValueError, match="weights: expected weights of several neighbours, got None"):
        gathered(features, None, rows, last)
    with pytest.raises(ValueError, match=r"weights: expected .*\[2, 2, 3\]"):
        gathered(features, weights[:1], rows, last)
