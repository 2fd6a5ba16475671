"""Overlaps and suppression of ``mmcv.ops``, for :mod:`pointmill.compat.mmcv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ._boxes import Layout, iou, keep, shared_area
from ._shared import tensors


def _rectangle(clockwise: bool) -> Layout:
    return "rectangle" if clockwise else "reversed-rectangle"


@tensors("bboxes1", "bboxes2")
def box_iou_rotated(
    bboxes1: Tensor, bboxes2: Tensor, mode: str = "iou", aligned: bool = False, clockwise: bool = True
) -> Tensor:
    """Measure the overlap of rotated rectangles, as ``mmcv.ops.box_iou_rotated``.

    Parameters
    ----------
    bboxes1 : Tensor, ``[N, 5]``
        x, y, width, height, angle in radians.
    bboxes2 : Tensor, ``[M, 5]``
    mode : {"iou", "iof"}
        Shared area by that of the union, or by that of the first rectangle.
    aligned : bool
        Each with that of the same row.
    clockwise : bool
        Whether angles turn x towards y.

    Returns
    -------
    Tensor of float32, ``[N, M]``, with `aligned` ``[N]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import box_iou_rotated
    >>> box_iou_rotated(torch.tensor([[0.0, 0, 2, 2, 0]]), torch.tensor([[1.0, 0, 4, 2, 0]]), mode="iof").tolist()
    [[1.0]]
    """
    if mode not in ("iou", "iof"):
        raise ValueError(f"mode: expected 'iou' or 'iof', got {mode!r}")
    if mode == "iou":
        return iou(bboxes1, bboxes2, "bev", aligned, _rectangle(clockwise))
    shared = shared_area(bboxes1, bboxes2, aligned, _rectangle(clockwise))
    areas = (bboxes1[:, 2] * bboxes1[:, 3]).detach()
    areas = areas.clamp(min=torch.finfo(areas.dtype).tiny)
    return (shared / (areas if aligned else areas[:, None])).clamp(max=1).float()


@tensors("dets", "scores")
def nms_rotated(
    dets: Tensor, scores: Tensor, iou_threshold: float, labels: Tensor | None = None, clockwise: bool = True
) -> tuple[Tensor, Tensor | None]:
    """Keep the rotated rectangles that no better one suppresses, as ``mmcv.ops.nms_rotated``.

    Parameters
    ----------
    dets : Tensor, ``[N, 5]``
        x, y, width, height, angle in radians.
    scores : Tensor, ``[N]``
    iou_threshold : float
        A greater overlap suppresses. mmcv's CPU operator suppresses an equal one too.
    labels : Tensor, ``[N]``, optional
        Those of different labels never meet.
    clockwise : bool
        As of :func:`box_iou_rotated`.

    Returns
    -------
    (Tensor, ``[K, 6]``, Tensor of int64, ``[K]``)
        The rectangles that are kept with their scores, the highest first, and their rows; `dets` and None for none.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import nms_rotated
    >>> dets = torch.tensor([[0.0, 0, 4, 2, 0.1], [0.2, 0, 4, 2, 0.1], [9.0, 0, 4, 2, 0]])
    >>> nms_rotated(dets, torch.tensor([0.5, 0.75, 0.25]), 0.5)[1].tolist()
    [1, 2]
    """
    if not dets.shape[0]:
        return dets, None
    ids = None if labels is None else labels.long()
    rows = keep(dets, scores, iou_threshold, _rectangle(clockwise), class_ids=ids)
    return torch.cat((dets, scores.unsqueeze(1)), 1).index_select(0, rows), rows


def nms(
    boxes: Any,
    scores: Any,
    iou_threshold: float | None = None,
    offset: int = 0,
    score_threshold: float = 0,
    max_num: int = -1,
    iou_thr: float | None = None,
) -> tuple[Any, Any]:
    """Keep the upright rectangles that no better one suppresses, as ``mmcv.ops.nms``, which ``mmcv.ops.batched_nms`` calls.

    Parameters
    ----------
    boxes : Tensor or array, ``[N, 4]``
        x1, y1, x2, y2.
    scores : Tensor or array, ``[N]``
    iou_threshold : float
        A greater overlap suppresses.
    offset : {0, 1}
        By how much x2 and y2 are larger than given.
    score_threshold : float
        If above 0, only rectangles with greater scores are looked at.
    max_num : int
        If above 0, most that are kept.
    iou_thr : float
        The former name of `iou_threshold`.

    Returns
    -------
    (Tensor, ``[K, 5]``, Tensor of int64, ``[K]``)
        The rectangles that are kept with their scores, the highest first, and their rows; arrays of numpy for such.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import nms
    >>> boxes = torch.tensor([[0.0, 0, 4, 2], [0.2, 0, 4.2, 2], [9, 9, 10, 10]])
    >>> nms(boxes, torch.tensor([0.5, 0.75, 0.25]), 0.5)[1].tolist()
    [1, 2]
    """
    threshold = iou_thr if iou_threshold is None else iou_threshold
    if threshold is None:
        raise ValueError("iou_threshold: expected a number, got None")
    if offset not in (0, 1):
        raise ValueError(f"offset: expected 0 or 1, got {offset}")
    if isinstance(boxes, np.ndarray) and isinstance(scores, np.ndarray):
        found = _upright(torch.from_numpy(boxes), torch.from_numpy(scores), threshold, offset, score_threshold, max_num)
        return found[0].numpy(), found[1].numpy()
    return _upright(boxes, scores, threshold, offset, score_threshold, max_num)


@tensors("boxes", "scores")
def _upright(
    boxes: Tensor, scores: Tensor, threshold: float, offset: int, score_threshold: float, max_num: int
) -> tuple[Tensor, Tensor]:
    if boxes.dim() != 2 or boxes.shape[1] != 4:
        raise ValueError(f"boxes: expected an array of shape [N, 4], got shape {list(boxes.shape)}")
    rectangles = torch.cat([boxes[:, :2], boxes[:, 2:] + offset, boxes.new_zeros(len(boxes), 1)], 1)
    most = max_num if max_num > 0 else None
    if score_threshold > 0:
        rows = torch.nonzero(scores > score_threshold)[:, 0]
        kept = rows[keep(rectangles[rows], scores[rows], threshold, "upright-corners", post_max=most)]
    else:
        kept = keep(rectangles, scores, threshold, "upright-corners", post_max=most)
    return torch.cat([boxes[kept], scores[kept, None]], 1), kept


@tensors("boxes", "scores")
def nms3d(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Keep the boxes whose footprints no better one overlaps: ``[N, 7]``, ``[N]`` to rows, int64 ``[K]``; as ``mmcv.ops.nms3d``."""
    return keep(boxes, scores, iou_threshold)


@tensors("boxes", "scores")
def nms3d_normal(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """:func:`nms3d` of boxes taken without their yaw, as ``mmcv.ops.nms3d_normal``."""
    return keep(boxes, scores, iou_threshold, "upright-box")


@tensors("boxes_a", "boxes_b")
def boxes_iou3d(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Measure the overlap of volumes: ``[N, 7]``, ``[M, 7]`` (z of the centre) to float32 ``[N, M]``; as ``mmcv.ops.boxes_iou3d``."""
    return iou(boxes_a, boxes_b, "volume")


@tensors("boxes_a", "boxes_b")
def boxes_overlap_bev(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Measure the area that footprints share, in square metres: ``[N, 7]``, ``[M, 7]`` to ``[N, M]``; as ``mmcv.ops.boxes_overlap_bev``."""
    return shared_area(boxes_a, boxes_b).float()


@tensors("boxes", "scores")
def nms_bev(
    boxes: Tensor,
    scores: Tensor,
    thresh: float,
    pre_max_size: int | None = None,
    post_max_size: int | None = None,
) -> Tensor:
    """Keep the rotated rectangles that no better one suppresses: x1, y1, x2, y2, angle ``[N, 5]``, ``[N]`` to rows, int64 ``[K]``; as ``nms_bev`` of mmcv 1.x and mmdet3d."""
    return keep(boxes, scores, thresh, "corners", pre_max=pre_max_size, post_max=post_max_size)


@tensors("boxes", "scores")
def nms_normal_bev(boxes: Tensor, scores: Tensor, thresh: float) -> Tensor:
    """:func:`nms_bev` of rectangles taken without their angle."""
    return keep(boxes, scores, thresh, "upright-corners")
