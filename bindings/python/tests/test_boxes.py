"""Overlaps and suppression of boxes, against answers of shapely and loops."""

import numpy as np
import pytest
from conftest import assert_bits, fixture_files, to_numpy

import pointmill
from pointmill import boxes

PAIRS, SETS = [], []
for param in fixture_files("boxes"):
    (PAIRS if param.id == "pairs" else SETS).append(param)
METRICS = ["bev", "volume", "circle"]


def some(n=40, seed=3):
    low, high = [-6, -6, -1, 0.5, 0.5, 0.5, -7], [6, 6, 1, 5, 3, 3, 7]
    random = np.random.default_rng(seed)
    return random.uniform(low, high, (n, 7)).astype(np.float32), random.uniform(0, 1, n).astype(np.float32)


def test_overlaps_are_those_of_shapely(library):
    with np.load(PAIRS[0].values[0]) as case:
        for kind in ("bev", "volume", "giou"):
            a = library(case["a"])
            found = to_numpy(boxes.iou(a, library(case["b"]), kind=kind, aligned=True), a)
            assert found.dtype == np.float32 and np.abs(found - case[kind]).max() < 1e-6, kind
            if kind != "giou":
                assert (found[:20] == 1).all() and (found[40:60] == 0).all()


def test_all_pairs_and_lists(library):
    a, b = some(30)[0], some(50, 4)[0]
    for kind in ("bev", "volume", "giou"):
        given = library(a)
        dense = to_numpy(boxes.iou(given, library(b), kind=kind), given)
        assert dense.shape == (30, 50)
        assert_bits(boxes.iou(b, a, kind=kind).T, dense, kind)
        rows = np.repeat(a, 50, 0), np.tile(b, (30, 1))
        assert_bits(boxes.iou(*rows, kind=kind, aligned=True), dense.ravel(), kind)
        i, j, iou = (to_numpy(x, given) for x in boxes.overlaps(given, library(b), 0.1, kind=kind))
        assert_bits(np.stack([i, j]), np.stack(np.nonzero(dense > np.float32(0.1))).astype(np.int32), kind)
        assert_bits(iou, dense[i, j], kind)


def test_the_origin_of_boxes():
    one = np.array([[0, 0, 0, 1, 1, 2, 0]], np.float32)
    other = np.array([[0, 0, 1, 1, 1, 4, 0]], np.float32)
    assert boxes.iou(one, other, kind="volume").item() == pytest.approx(1 / 5)
    assert boxes.iou(one, other, kind="volume", origin="center").item() == 0.5
    far = np.array([[5e6 + 0.25, 0, 0, 4, 2, 1, 0.3]])
    assert boxes.iou(far, far + [[1, 0, 0, 0, 0, 0, 0]]).item() == pytest.approx(
        boxes.iou(far - [[5e6, 0, 0, 0, 0, 0, 0]], far - [[5e6 - 1, 0, 0, 0, 0, 0, 0]]).item(), abs=1e-6
    )


@pytest.mark.parametrize("file", SETS)
def test_kept_rows_are_those_of_a_loop(file, library):
    with np.load(file) as case:
        given, scores = library(case["boxes"]), library(case["scores"])
        params = {"metric": METRICS[int(case["metric"])], "threshold": float(case["threshold"])}
        for ids in (case["classes"], case["classes"].astype(np.int64)):
            rows = to_numpy(boxes.nms(given, scores, class_ids=library(ids), **params), given)
            assert_bits(rows, case["rows"].astype(np.int64), "rows")
        for most in (1, 5):
            kept = to_numpy(boxes.nms(given, scores, class_ids=library(ids), post_max=most, **params), given)
            assert_bits(kept, rows[:most].copy(), "post_max")


def test_a_batch_is_each_item(library):
    found, scores = some(60)
    splits, given = [0, 25, 25, 60], library(found)
    rows, row_splits = (to_numpy(x, given) for x in boxes.nms(given, library(scores), 0.1, row_splits=splits))
    padded, num_kept = (to_numpy(x, given) for x in boxes.nms(given, library(scores), 0.1, row_splits=splits, padded=True))
    assert rows.dtype == row_splits.dtype == np.int64 and padded.dtype == num_kept.dtype == np.int32
    assert padded.shape == (3, 35) and num_kept.tolist() == np.diff(row_splits).tolist()
    for item, (start, end) in enumerate(zip(splits, splits[1:])):
        want = (boxes.nms(found[start:end], scores[start:end], 0.1) + start).tolist()
        assert rows[row_splits[item] : row_splits[item + 1]].tolist() == want
        assert padded[item].tolist() == want + [-1] * (35 - len(want))
    assert boxes.nms(found, scores, row_splits=splits, padded=True, pre_max=9, post_max=4)[0].shape == (3, 4)


def test_scores_and_maxima():
    found, scores = some(50)
    apart = found + np.arange(50, dtype=np.float32)[:, None] * [20, 0, 0, 0, 0, 0, 0]
    order = np.argsort(-scores, kind="stable")
    assert boxes.nms(apart, scores).tolist() == order.tolist()
    assert boxes.nms(apart, scores.astype(np.float64), pre_max=7).tolist() == order[:7].tolist()
    best = [row for row in order if scores[row] >= 0.5]
    assert boxes.nms(apart, scores, score_threshold=0.5).tolist() == best
    scores[order[0]], apart[order[1], 2] = np.nan, np.inf
    assert boxes.nms(apart, scores).tolist() == order[2:].tolist()
    nothing = np.zeros((0, 7), np.float32)
    assert boxes.nms(nothing, []).shape == (0,) and boxes.iou(nothing, found).shape == (0, 50)
    assert boxes.nms(nothing, [], padded=True)[0].shape == (1, 0)
    pointmill.clear_cache()


@pytest.mark.parametrize("column, value", [(0, np.nan), (1, np.inf), (2, 1e8), (3, -1), (4, 1e8), (5, -np.inf), (6, 1e9)])
def test_rows_that_are_no_box_overlap_nothing_and_are_never_kept(column, value, library):
    found, scores = some(30)
    found[7] = found[12]
    found[7, column], scores[7] = value, 2
    others = np.arange(30) != 7
    given = library(found)
    for kind in ("bev", "volume", "giou"):
        iou = to_numpy(boxes.iou(given, given, kind=kind), given)
        assert not iou[7].any() and not iou[:, 7].any() and iou[12, 12] > 0.999, kind
        assert_bits(iou[np.ix_(others, others)], boxes.iou(found[others], found[others], kind=kind), kind)
        i, j, _ = (to_numpy(x, given) for x in boxes.overlaps(given, given, -1 if kind == "giou" else 0, kind=kind))
        assert 12 in i and 7 not in i and 7 not in j, kind
    for metric in METRICS:
        rows = to_numpy(boxes.nms(given, library(scores), 0.3, metric=metric), given)
        assert rows.tolist() == np.flatnonzero(others)[boxes.nms(found[others], scores[others], 0.3, metric=metric)].tolist()


def test_arguments_that_are_none():
    found, scores = some(5)
    for error, match, call in [
        (ValueError, r"^a: expected an array of shape \[N, 7\]", lambda: boxes.iou(found[:, :6], found)),
        (ValueError, "^b: expected 5 boxes, as in a, got 4", lambda: boxes.iou(found, found[:4], aligned=True)),
        (ValueError, "^kind", lambda: boxes.iou(found, found, kind="area")),
        (TypeError, "iou.*'metric'", lambda: boxes.iou(found, found, metric="bev")),
        (ValueError, "^threshold: expected an overlap from 0 to 1, got 2", lambda: boxes.overlaps(found, found, 2)),
        (ValueError, "^threshold", lambda: boxes.nms(found, scores, float("nan"))),
        (ValueError, "^scores: expected 5 values", lambda: boxes.nms(found, scores[:4])),
        (ValueError, r"^scores: expected an array of shape \[N\]", lambda: boxes.nms(found, scores[:, None])),
        (ValueError, "^class_ids: expected .* got -1 in row 2", lambda: boxes.nms(found, scores, class_ids=[0, 0, -1, 0, 0])),
        (ValueError, "^class_ids: expected .* row 1", lambda: boxes.nms(found, scores, class_ids=[0, 2**31, 0, 0, 0])),
        (ValueError, "^class_ids: expected 5 numbers", lambda: boxes.nms(found, scores, class_ids=[0])),
        (TypeError, "^class_ids: expected values of type int32", lambda: boxes.nms(found, scores, class_ids=scores)),
        (ValueError, "^row_splits", lambda: boxes.nms(found, scores, row_splits=[0, 4])),
        (ValueError, "^row_splits", lambda: boxes.nms(found, scores, row_splits=[0, 5, 3, 5], padded=True)),
        (ValueError, "^row_splits", lambda: boxes.nms(found, scores, row_splits=[], padded=True)),
        (ValueError, "^pre_max", lambda: boxes.nms(found, scores, pre_max=0)),
        (ValueError, "^metric", lambda: boxes.nms(found, scores, metric="giou")),
    ]:
        with pytest.raises(error, match=match):
            call()
