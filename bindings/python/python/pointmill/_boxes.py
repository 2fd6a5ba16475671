"""Overlaps and suppression of boxes for :mod:`pointmill.torch`: functions and operators, without gradients."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Literal, cast

import torch
from torch import Tensor

from . import _pointmill
from ._traces import _each, _operator


def _iou_fake(a, b, kind, aligned, origin):
    return a.new_empty((a.shape[0],) if aligned else (a.shape[0], b.shape[0]), dtype=torch.float32)


@_operator(_iou_fake, vmap=_each)
def _boxes_iou(a: Tensor, b: Tensor, kind: str, aligned: bool, origin: str) -> Tensor:
    return _pointmill.iou(a, b, kind=cast(Any, kind), aligned=aligned, origin=cast(Any, origin))


def boxes_iou(
    a: Tensor,
    b: Tensor,
    *,
    kind: Literal["bev", "volume", "giou"] = "bev",
    aligned: bool = False,
    origin: Literal["bottom", "center"] = "bottom",
) -> Tensor:
    """Measure how much pairs of boxes overlap; see :func:`pointmill.boxes.iou`.

    Parameters
    ----------
    a : Tensor, ``[N, 7]``
        x, y, z, dx, dy, dz, yaw in metres and radians, without grad.
    b : Tensor, ``[M, 7]``
    kind : {"bev", "volume", "giou"}
        Overlap of footprints, of volumes, or the generalized overlap of volumes.
    aligned : bool
        Each box with the box of the same row.
    origin : {"bottom", "center"}
        Which point of a box z is.

    Returns
    -------
    Tensor of float32, ``[N, M]``, with `aligned` ``[N]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import boxes_iou
    >>> boxes = torch.tensor([[0.0, 0, 0, 4, 2, 1.5, 0.3], [9.0, 0, 0, 4, 2, 1.5, 0]])
    >>> boxes_iou(boxes, boxes).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _boxes_iou({"a": a, "b": b}, kind, bool(aligned), origin)


def _nms_fake(boxes, scores, threshold, metric, class_ids, row_splits, score_threshold, pre_max, post_max, origin, padded):
    items = 1 if row_splits is None else len(row_splits) - 1
    if not padded:
        kept = torch.library.get_ctx().new_dynamic_size()
        return boxes.new_empty((kept,), dtype=torch.int64), boxes.new_empty((items + 1,), dtype=torch.int64)
    capacity = boxes.shape[0] if row_splits is None else max(b - a for a, b in zip(row_splits, row_splits[1:]))
    for most in (pre_max, post_max):
        capacity = capacity if most is None else torch.sym_min(capacity, most)
    return boxes.new_empty((items, capacity), dtype=torch.int32), boxes.new_empty((items,), dtype=torch.int32)


def _nms_each(info, in_dims, function, inputs):
    # Of as many rows in each sample, or there is nothing to stack.
    if not inputs[-1]:
        raise ValueError("padded: expected True under torch.vmap, where all samples have as many rows, got False")
    return _each(info, in_dims, function, inputs)


@_operator(_nms_fake, vmap=_nms_each)
def _nms(
    boxes: Tensor,
    scores: Tensor,
    threshold: float,
    metric: str,
    class_ids: Tensor | None,
    row_splits: Sequence[int] | None,
    score_threshold: float | None,
    pre_max: int | None,
    post_max: int | None,
    origin: str,
    padded: bool,
) -> tuple[Tensor, Tensor]:
    call: Any = _pointmill.nms
    params = {"metric": metric, "score_threshold": score_threshold, "pre_max": pre_max, "post_max": post_max}
    splits = [0, len(boxes)] if row_splits is None else row_splits
    return call(
        boxes, scores, threshold, class_ids=class_ids, row_splits=splits, origin=origin, padded=padded, **params
    )


def nms(
    boxes: Tensor,
    scores: Tensor,
    threshold: float = 0.5,
    *,
    metric: Literal["bev", "volume", "circle"] = "bev",
    class_ids: Tensor | None = None,
    row_splits: Sequence[int] | None = None,
    score_threshold: float | None = None,
    pre_max: int | None = None,
    post_max: int | None = None,
    origin: Literal["bottom", "center"] = "bottom",
    padded: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Keep the boxes that no better one suppresses; see :func:`pointmill.boxes.nms`.

    Parameters
    ----------
    boxes : Tensor, ``[N, 7]``
        x, y, z, dx, dy, dz, yaw in metres and radians, without grad.
    scores : Tensor, ``[N]``
    threshold : float
        A greater overlap with a kept box suppresses; with ``metric="circle"`` a squared distance of at most this.
    metric : {"bev", "volume", "circle"}
        Overlap of footprints, of volumes, or the squared distance of centres.
    class_ids : Tensor of int32 or int64, ``[N]``, optional
        Boxes of different classes never meet.
    row_splits : ints, ``[items + 1]``, optional
        For a batch, where the boxes of each item start.
    score_threshold : float, optional
        Boxes with a lower score are dropped first.
    pre_max, post_max : int, optional
        Most boxes of an item that are looked at, and that it keeps.
    origin : {"bottom", "center"}
        Which point of a box z is.
    padded : bool
        Whether each item has as many rows, so that a GPU is never waited for.

    Returns
    -------
    Tensor of int64, ``[K]``
        The rows that are kept; with `row_splits` also where those of each item start, int64 ``[items + 1]``. With `padded` int32 ``[items, capacity]`` and ``[items]``: the rows with
        -1 behind them, and their numbers.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import nms
    >>> boxes = torch.tensor([[0.0, 0, 0, 4, 2, 1.5, 0], [0.2, 0, 0, 4, 2, 1.5, 0], [9.0, 0, 0, 4, 2, 1.5, 0]])
    >>> nms(boxes, torch.tensor([0.6, 0.9, 0.3])).tolist()
    [1, 2]
    """
    splits = None if row_splits is None else [index(k) for k in row_splits]
    others = (float(threshold), metric, class_ids, splits, score_threshold, pre_max, post_max, origin, padded)
    rows, counts = _nms({"boxes": boxes, "scores": scores}, *others, also={"class_ids": class_ids})
    return (rows, counts) if padded or row_splits is not None else rows
