"""Boxes as other packages have them, and the replacement of their functions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from .. import _pointmill
from ._shared import extension

# Overlaps below this are those of boxes that touch.
_TOUCHES = 1e-6

# How rows are laid out: those of 7 columns, and rectangles x, y, width, height, angle.
Layout = Literal["box", "upright-box", "rectangle", "reversed-rectangle", "corners", "upright-corners", "center"]


def iou(a: Tensor, b: Tensor, kind: str = "bev", aligned: bool = False, layout: Layout = "box") -> Tensor:
    return extension._iou_of_rows(a, b, layout, kind, aligned)


def shared_area(a: Tensor, b: Tensor, aligned: bool = False, layout: Layout = "box") -> Tensor:
    """The area that footprints share, from their overlap."""
    overlap, at = iou(a, b, "bev", aligned, layout), 3 if layout == "box" else 2
    a, b = a.detach(), b.detach()
    areas, others = a[:, at] * a[:, at + 1], b[:, at] * b[:, at + 1]
    shared = overlap / (1 + overlap) * (areas + others if aligned else areas[:, None] + others)
    return torch.where(overlap > 0, shared, 0)


def keep(
    boxes: Tensor,
    scores: Tensor,
    threshold: float,
    layout: Layout = "box",
    *,
    metric: str = "bev",
    class_ids: Tensor | None = None,
    pre_max: int | None = None,
    post_max: int | None = None,
) -> Tensor:
    """The rows that are kept, int64."""
    return extension._rows_kept(boxes, scores, threshold, metric, layout, class_ids, pre_max, post_max)


def circles(dets: Tensor, threshold: float, most: int) -> Tensor:
    """The rows of x, y, ..., score that no better one is close to."""
    if dets.dim() != 2 or dets.shape[1] < 3:
        raise ValueError(f"dets: expected an array of shape [N, 3] (x, y, score), got shape {list(dets.shape)}")
    return keep(dets, dets.select(1, -1).contiguous(), threshold, "center", metric="circle", post_max=most)


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

    The modules are imported first. One that cannot be imported, as without its compiled operators or with another numba, becomes `ours` where its package is there.
    """
    done = []
    for path in modules:
        try:
            importlib.import_module(path)
        except Exception:  # What the compilers of numba raise has no common class.
            parent, _, own = path.rpartition(".")
            try:
                setattr(importlib.import_module(parent), own, ours)
            except Exception:
                continue
            sys.modules[path] = ours
            done.append(path)
    packages, names = tuple(packages), tuple(names)
    for path, module in sorted(sys.modules.items()):
        is_of = any(f"{path}.".startswith(f"{package}.") for package in packages)
        if module is None or module is ours or not is_of:
            continue
        for name in names:
            there, own = vars(module).get(name), getattr(ours, name)
            if callable(there) and there is not own:
                setattr(module, name, own)
                done.append(f"{path}.{name}")
    return done
