"""Points and boxes that operators cannot use in place are converted once, by one rule."""

import numpy as np
import pytest
from conftest import torch_or_none

import pointmill

GRID = dict(voxel_size=1, point_cloud_range=[-8, -8, -8, 8, 8, 8], mean="float32")
# Quarters, which float16 holds too.
POINTS = np.random.default_rng(0).integers(-28, 28, (300, 4)).astype(np.float32) / 4
WHOLE = np.floor(POINTS)
BOXES = np.float32([[0, 0, -2, 8, 6, 5, 0.5], [3, 3, 0, 4, 4, 4, 0]])


def values(result):
    """Everything that a call returned, as lists."""
    if isinstance(result, tuple):
        return [values(part) for part in result]
    return np.asarray(result).tolist()


CALLS = {
    "voxelize": lambda points: pointmill.voxelize(points, **GRID).mean,
    "part": lambda points: pointmill.points_in_boxes_part(points, BOXES),
    "crop": lambda points: pointmill.points_in_boxes_crop(points, BOXES),
    "pool": lambda points: pointmill.roi_aware_pool3d(BOXES, points, POINTS, out_size=2).pooled,
    "icp": lambda points: pointmill.icp(points, POINTS, metric="point-to-point", max_iterations=2).target_from_source,
    "nearest": lambda points: pointmill.icp.Searcher(points).nearest(POINTS[:, :3]),
    "queries": lambda points: pointmill.icp.Searcher(POINTS).nearest(points),
    "grid": lambda points: pointmill.ndt.Grid(points, resolution=4.0).mean,
    "odometry": lambda points: pointmill.Odometry().push(points).points,
}
FORMS = {
    "sliced": lambda points: np.hstack([points, points])[:, :4],
    "strided": lambda points: np.repeat(points, 2, axis=0)[::2],
    "backwards": lambda points: points[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "unaligned": lambda points: np.frombuffer(b"\0" + points.tobytes(), np.uint8)[1:].view(np.float32).reshape(points.shape),
    "float64": lambda points: points.astype(np.float64),
    "float64, sliced": lambda points: np.hstack([points, points]).astype(np.float64)[:, :4],
    "float16": lambda points: points.astype(np.float16),
    "lists": lambda points: points.tolist(),
    "tuples": lambda points: tuple(map(tuple, points.tolist())),
    "rows": list,
}
if torch := torch_or_none():
    FORMS["torch, sliced"] = lambda points: torch.from_numpy(np.hstack([points, points]))[:, :4]
    FORMS["torch, float64"] = lambda points: torch.from_numpy(points).double()
    FORMS["torch, bfloat16"] = lambda points: torch.from_numpy(points).bfloat16()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("call", CALLS)
def test_other_layouts_and_types(call, form):
    assert values(CALLS[call](FORMS[form](POINTS))) == values(CALLS[call](POINTS))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("call", CALLS)
def test_whole_numbers(call, dtype):
    points = abs(WHOLE) if dtype.startswith("u") else WHOLE
    assert values(CALLS[call](points.astype(dtype))) == values(CALLS[call](points))


@pytest.mark.parametrize("form", FORMS)
def test_boxes_and_features(form):
    points, other = POINTS[:, :3].copy(), FORMS[form]
    boxes, features = (np.hstack([rows, rows])[:, : rows.shape[1]] for rows in (BOXES, POINTS))
    want = pointmill.roi_aware_pool3d(BOXES, points, POINTS, out_size=2, for_gradient=True)
    got = pointmill.roi_aware_pool3d(boxes, other(points) if form in ("lists", "fortran") else points, features.tolist(), out_size=2, for_gradient=True)
    assert values(got.pooled) == values(want.pooled)
    # The gradient is given them again, and looks for the points once more.
    pointmill.clear_cache()
    grad = np.ones(want.pooled.shape, np.float32)
    assert values(got.gradient(boxes.tolist(), points[:, :], got.argmax, grad)) == values(want.gradient(BOXES, points, want.argmax, grad))
    # Boxes and points of two types meet in float32.
    assert values(pointmill.points_in_boxes_part(points.astype(np.float16), BOXES)) == values(pointmill.points_in_boxes_part(points, BOXES))


def test_nothing_is_copied_without_need():
    """Points that an operator can use in place are not touched by the rule."""
    from pointmill import _arrays

    def refuse(*given):
        raise AssertionError(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_arrays, "copied", refuse)
        for call in CALLS.values():
            call(POINTS)
        pointmill.icp(POINTS.astype(np.float64), POINTS.astype(np.float64))
        # Rows of float64 become float32 without numpy.
        for call in CALLS.values():
            assert values(call(POINTS.astype(np.float64))) == values(call(POINTS))
        with pytest.raises(AssertionError):
            pointmill.voxelize(POINTS[:, :3], **GRID)


@pytest.mark.parametrize(("call", "origin"), [("voxelize", "origin"), ("part", "local_origin"), ("crop", "local_origin"), ("pool", "local_origin")])
def test_coordinates_that_float32_does_not_hold(call, origin):
    far = POINTS.astype(np.float64) + [500_000.013, 5_400_000.007, 0, 0]
    with pytest.raises(ValueError, match=rf"expected coordinates that float32 holds to 1 mm, got some that it moves by 0\.\d+ m; pass {origin}='auto'$"):
        CALLS[call](far)
    # Half a millimetre is near enough, and what is not finite has no place to move from.
    near = POINTS.astype(np.float64) + 4e-4
    near[0], near[1, 0] = np.nan, np.inf
    CALLS[call](near)
    for points, limit in ((POINTS.astype(np.int64) + (1 << 24) + 8, "16777216, which float32"),):
        with pytest.raises(ValueError, match=f"expected whole numbers up to {limit} holds, got values from .* to .*; pass {origin}='auto'"):
            CALLS[call](points)


def test_an_origin_is_subtracted_before_the_cast():
    origin = [500_000, 5_400_000, 0]
    far = WHOLE.astype(np.float64) + [*origin, 0]
    want = values(pointmill.voxelize(WHOLE, **GRID).mean)
    for points in (far, far.tolist(), far.astype(np.int64), np.asfortranarray(far)):
        assert values(pointmill.voxelize(points, origin=origin, **GRID).mean) == want
    boxes = np.float64(BOXES) + [*origin, 0, 0, 0, 0]
    want = values(pointmill.points_in_boxes_part(WHOLE, BOXES))
    assert values(pointmill.points_in_boxes_part(far.tolist(), boxes.tolist(), local_origin=origin)) == want
    assert values(pointmill.points_in_boxes_part(far.tolist(), boxes.tolist(), local_origin="auto")) == want
