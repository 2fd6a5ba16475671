"""Boxes as other packages have them, and the replacement of their functions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import _pointmill

# Overlaps below this are those of boxes that touch.
_TOUCHES = 1e-6

# The largest extent and coordinate in metres and the largest yaw of a box whose overlap is measured.
_LARGEST = 1e7
_LARGEST_YAW = 65536.0


def boxes7(boxes: Tensor, name: str) -> Tensor:
    """Boxes ``[N, 7]``, without a gradient."""
    if boxes.dim() != 2 or boxes.shape[1] != 7:
        raise ValueError(f"{name}: expected an array of shape [N, 7], got shape {list(boxes.shape)}")
    return boxes.detach()


def footprints(boxes: Tensor, name: str, sign: float = 1.0) -> Tensor:
    """Footprints x, y, width, height, angle ``[N, 5 or more]`` as boxes of height 1."""
    if boxes.dim() != 2 or boxes.shape[1] < 5:
        raise ValueError(f"{name}: expected an array of shape [N, 5], got shape {list(boxes.shape)}")
    x, y, width, height, angle = boxes.detach()[:, :5].unbind(1)
    return torch.stack([x, y, torch.zeros_like(x), width, height, torch.ones_like(x), angle * sign], 1)


def upright(boxes: Tensor) -> Tensor:
    """Boxes without their yaw."""
    return torch.cat([boxes[:, :6], torch.zeros_like(boxes[:, 6:])], 1)


def measurable(boxes: Tensor) -> Tensor:
    """Boxes with NaN in each row whose overlap cannot be measured, so that on every device it overlaps nothing and is never kept."""
    beyond = (boxes[:, :6].abs() > _LARGEST).any(1) | (boxes[:, 3:6] < 0).any(1) | (boxes[:, 6].abs() > _LARGEST_YAW)
    return torch.where(beyond[:, None], boxes.new_full((), torch.nan), boxes)


def iou(a: Tensor, b: Tensor, kind: Any = "bev", aligned: bool = False) -> Tensor:
    a, b = measurable(a), measurable(b)
    return _pointmill.iou(a, b, kind=kind, aligned=aligned, origin="center")


def shared_area(a: Tensor, b: Tensor, aligned: bool = False) -> Tensor:
    """The area that footprints share, from their overlap."""
    areas, others = a[:, 3] * a[:, 4], b[:, 3] * b[:, 4]
    overlap = iou(a, b, aligned=aligned)
    shared = overlap / (1 + overlap) * (areas + others if aligned else areas[:, None] + others)
    return torch.where(overlap > 0, shared, 0)


def keep(boxes: Tensor, scores: Tensor, threshold: float, metric: Any = "bev", **params: Any) -> Tensor:
    """The rows that are kept, int64."""
    return _pointmill.nms(measurable(boxes), scores.detach(), float(threshold), metric=metric, origin="center", **params)


def circles(dets: Tensor, threshold: float, most: int) -> Tensor:
    """The rows of x, y, ..., score that no better one is close to."""
    if dets.dim() != 2 or dets.shape[1] < 3:
        raise ValueError(f"dets: expected an array of shape [N, 3] (x, y, score), got shape {list(dets.shape)}")
    dets = dets.detach()
    boxes = torch.cat([dets[:, :2], dets.new_zeros((len(dets), 1)), dets.new_ones((len(dets), 4))], 1)
    return keep(boxes, dets[:, -1], threshold, "circle", post_max=most)


def box_collision_test(boxes: np.ndarray, qboxes: np.ndarray, clockwise: bool = True) -> np.ndarray:
    """Find the rectangles that collide, as ``box_collision_test`` of second.pytorch and mmdet3d.

    Parameters
    ----------
    boxes : array, ``[N, 4, 2]``
        Corners of rectangles, around each.
    qboxes : array, ``[K, 4, 2]``
    clockwise : bool
        Without effect: both directions are understood.

    Returns
    -------
    array of bool, ``[N, K]``
        Whether two share more than 1e-6 of their union. Those that only touch do not collide.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.mmdet3d import box_collision_test
    >>> square = np.array([[0, 0], [0, 2], [2, 2], [2, 0]], np.float32)
    >>> box_collision_test(square[None], np.stack([square + 1, square + [2, 0]])).tolist()
    [[True, False]]
    """

    def of(corners: np.ndarray, name: str) -> np.ndarray:
        corners = np.asarray(corners, np.float64)
        if corners.ndim != 3 or corners.shape[1:] != (4, 2):
            raise ValueError(f"{name}: expected an array of shape [N, 4, 2], got shape {list(corners.shape)}")
        along, across = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1]
        rows = np.zeros((len(corners), 7))
        rows[:, :2], rows[:, 5] = corners.mean(1), 1
        rows[:, 3], rows[:, 4] = np.hypot(*along.T), np.hypot(*across.T)
        rows[:, 6] = np.arctan2(along[:, 1], along[:, 0])
        return rows

    return _pointmill.iou(of(boxes, "boxes"), of(qboxes, "qboxes")) > _TOUCHES


def replace(ours: ModuleType, names: Iterable[str], packages: Iterable[str], modules: Iterable[str]) -> list[str]:
    """Puts functions into the modules of packages that have them; returns the names of all that it set.

    The modules are imported first. One that cannot be imported, as without its compiled operators, becomes `ours` where its package is there.
    """
    done = []
    for path in modules:
        try:
            importlib.import_module(path)
        except (ImportError, OSError):
            parent, _, own = path.rpartition(".")
            try:
                setattr(importlib.import_module(parent), own, ours)
            except (ImportError, OSError):
                continue
            sys.modules[path] = ours
            done.append(path)
    packages, names = tuple(packages), tuple(names)
    for path, module in sorted(sys.modules.items()):
        if module is None or module is ours or path.partition(".")[0] not in packages:
            continue
        for name in names:
            there, own = vars(module).get(name), getattr(ours, name)
            if callable(there) and there is not own:
                setattr(module, name, own)
                done.append(f"{path}.{name}")
    return done
