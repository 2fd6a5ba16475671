"""Points of boxes with their features, beside a loop over boxes and points."""

import math

import numpy as np
import pytest

from pointmill import points


def clouds(n, m, seed=0):
    """Points, some on faces and some not finite; boxes in steps of a quarter turn or of any heading, some far away."""
    random = np.random.default_rng(seed)
    cloud = (random.integers(-24, 25, (n, 3)) / 4).astype(np.float32)
    cloud[random.random(n) < 0.05] = np.nan
    cloud[random.random(n) < 0.02] = np.inf
    boxes = np.concatenate([random.integers(-12, 13, (m, 3)) / 4, random.integers(4, 20, (m, 3)) / 4, np.zeros((m, 1))], 1)
    boxes[m // 2 :, 6] = random.uniform(-7, 7, m - m // 2)
    # No face of a turned box goes through a point of the grid.
    boxes[m // 2 :, :3] += 0.0613
    boxes[::5, 0] += 99
    return cloud, random.normal(size=(n, 4)).astype(np.float32), boxes.astype(np.float32)


def of_box(cloud, box, width, origin):
    """The rows of the points of a box, and all points in its frame."""
    centre = [float(c) for c in box[:3]]
    if origin == "bottom":
        centre[2] += float(box[5]) / 2
    moved = np.where(np.isfinite(cloud), cloud, np.nan).astype(np.float64) - centre
    cosine, sine = math.cos(float(box[6])), math.sin(float(box[6]))
    local = np.stack(
        [moved[:, 0] * cosine + moved[:, 1] * sine, moved[:, 1] * cosine - moved[:, 0] * sine, moved[:, 2]], 1
    )
    half = (box[3:6].astype(np.float64) + width) / 2
    with np.errstate(invalid="ignore"):
        is_inside = (np.abs(local[:, :2]) < half[:2]).all(1) & (np.abs(local[:, 2]) <= half[2])
    return np.flatnonzero(is_inside), local


def want(cloud, features, boxes, number, width, canonical, origin):
    pooled = np.zeros((len(boxes), number, 3 + features.shape[1]), features.dtype)
    for k, box in enumerate(boxes):
        rows, local = of_box(cloud, box, width, origin)
        if len(rows):
            taken = rows[np.arange(number) % len(rows)]
            pooled[k] = np.concatenate([(local if canonical else cloud)[taken].astype(features.dtype), features[taken]], 1)
    return pooled, [len(of_box(cloud, box, width, origin)[0]) == 0 for box in boxes]


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize(("origin", "width"), [("center", 0.0), ("center", [0.5, 1.0, 0.25]), ("bottom", 1.0)])
def test_beside_a_loop(origin, width, canonical):
    cloud, features, boxes = clouds(700, 20)
    is_on_face = 0
    for number in (1, 7, 64):
        more = {"extra_width": width, "canonical": canonical, "origin": origin}
        pooled, empty = points.roipoint_pool3d(cloud, features, boxes, number, **more)
        pooled_want, empty_want = want(cloud, features, boxes, number, np.array(width), canonical, origin)
        assert pooled.dtype == np.float32 and empty.dtype == bool
        assert empty.tolist() == empty_want and 0 < empty.sum() < len(boxes)
        np.testing.assert_array_equal(pooled, pooled_want)
    for box in boxes[: len(boxes) // 2]:
        rows, local = of_box(cloud, box, np.array(width), origin)
        half = (box[3:6] + np.array(width)) / 2
        is_on_face += int((np.abs(local[rows, 2]) == half[2]).sum())
    assert is_on_face > 0


def test_batches_and_types():
    items = [clouds(200, 9, seed) for seed in (1, 2)]
    cloud, features, boxes = (np.stack(each) for each in zip(*items))
    pooled, empty = points.roipoint_pool3d(cloud, features, boxes, 5, extra_width=0.5, canonical=True)
    for k, item in enumerate(items):
        one = points.roipoint_pool3d(*item, 5, extra_width=0.5, canonical=True)
        assert (pooled[k] == one[0]).all() and (empty[k] == one[1]).all()
    double = points.roipoint_pool3d(cloud.astype(np.float64), features.astype(np.float64), boxes, 5, extra_width=0.5)
    assert double[0].dtype == np.float64 and (double[1] == empty).all()
    half = points.roipoint_pool3d(cloud, features.astype(np.float16), boxes, 5, extra_width=0.5)
    assert half[0].dtype == np.float16 and (half[0] == double[0].astype(np.float16)).all()


def test_nothing():
    cloud, features, boxes = clouds(50, 6)
    for n, m in ((0, 6), (50, 0), (0, 0)):
        pooled, empty = points.roipoint_pool3d(cloud[:n], features[:n], boxes[:m], 3, canonical=True)
        assert pooled.shape == (m, 3, 7) and not pooled.any() and empty.shape == (m,) and empty.all()
    pooled, empty = points.roipoint_pool3d(cloud[None, :0][:0], features[None, :0][:0], boxes[None][:0], 3)
    assert pooled.shape == (0, 6, 3, 7) and empty.shape == (0, 6)
    assert points.roipoint_pool3d(cloud, features[:, :0], boxes, 3)[0].shape == (6, 3, 3)
    boxes[:] = np.nan
    pooled, empty = points.roipoint_pool3d(cloud, features, boxes, 3, canonical=True)
    assert empty.all() and not pooled.any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"points": np.zeros((4, 2))}, ValueError, r"points: expected an array of shape \[N, 3\] or \[B, N, 3\], got shape \[4, 2\]"),
        ({"features": np.zeros((5, 2))}, ValueError, r"features: expected an array of shape \[4, C\], got shape \[5, 2\]"),
        ({"features": np.zeros((4, 2), int)}, TypeError, "features: expected a floating type, got int64"),
        ({"boxes": np.zeros((2, 8))}, ValueError, r"boxes: expected an array of shape \[M, 7\], got shape \[2, 8\]"),
        ({"boxes": np.zeros((1, 2, 7))}, ValueError, r"boxes: expected an array of shape \[M, 7\], got shape \[1, 2, 7\]"),
        ({"num_points": 0}, ValueError, "num_points: expected 1 or more, got 0"),
        ({"extra_width": [1.0, 2.0]}, ValueError, r"extra_width: expected a finite number or 3 of them, got \[1.0, 2.0\]"),
        ({"extra_width": math.nan}, ValueError, "extra_width: expected a finite number or 3 of them, got nan"),
        ({"origin": "top"}, ValueError, "origin: expected"),
    ],
)
def test_refused(change, error, message):
    given = {"points": np.zeros((4, 3)), "features": np.zeros((4, 2)), "boxes": np.zeros((2, 7)), **change}
    with pytest.raises(error, match=message):
        points.roipoint_pool3d(**given)


@pytest.mark.parametrize("canonical", [False, True])
def test_tensors(canonical):
    torch = pytest.importorskip("torch")
    import pointmill.torch as ops

    more = {"extra_width": [0.5, 1.0, 0.25], "canonical": canonical}
    arrays = [np.stack(each) for each in zip(*(clouds(120, 8, seed) for seed in (3, 4)))]
    given = [torch.from_numpy(array) for array in arrays]
    plain = points.roipoint_pool3d(*arrays, 6, **more)
    made = points.roipoint_pool3d(*given, 6, **more)
    assert all((a == b.numpy()).all() for a, b in zip(plain, made))
    assert made[1].dtype == torch.bool and torch.equal(ops.roipoint_pool3d(*given, 6, **more)[0], made[0])

    def pooled(features):
        return points.roipoint_pool3d(given[0], features, given[2], 6, **more)[0]

    compiled = torch.compile(pooled, backend="aot_eager", fullgraph=True)(given[1])
    assert torch.equal(compiled, made[0])
    features = given[1].double().requires_grad_()
    grad = torch.randn(2, 8, 6, 7, dtype=torch.float64)
    pooled(features).backward(grad)
    total = np.zeros((2, 120, 4))
    for k, (cloud, boxes) in enumerate(zip(arrays[0], arrays[2])):
        for m, box in enumerate(boxes):
            rows = of_box(cloud, box, np.array(more["extra_width"]), "center")[0]
            for s in range(6 if len(rows) else 0):
                total[k, rows[s % len(rows)]] += grad[k, m, s, 3:].numpy()
    np.testing.assert_array_equal(features.grad.numpy(), total)
    with pytest.raises(ValueError, match="boxes: expected a tensor that does not require grad"):
        points.roipoint_pool3d(given[0], given[1], given[2].clone().requires_grad_(), 6)
    torch.library.opcheck(
        torch.ops.pointmill.roipoint_rows, (given[0][0], given[2][0], 6, [0.5, 1.0, 0.25], "center")
    )
