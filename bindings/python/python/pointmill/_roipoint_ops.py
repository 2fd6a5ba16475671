"""Points of boxes with their features for :mod:`pointmill.torch`: an operator for their rows, and what numpy does too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from . import _pointmill
from ._points import group
from ._roipoint import Library, chosen, pool, widened, widths
from ._traces import _each, _expect_tensor, _operator


def _fake(points, boxes, number, width, origin):
    return points.new_empty((boxes.shape[0], number), dtype=torch.int32)


@_operator(_fake, vmap=_each)
def _roipoint_rows(points: Tensor, boxes: Tensor, number: int, width: Sequence[float], origin: str) -> Tensor:
    single = (points.float().contiguous(), widened(torch, boxes.float(), width, origin))
    call: Any = _pointmill.points_in_boxes_crop
    splits, indices = call(*single, origin=origin)
    return chosen(torch, splits, indices, torch.arange(number, device=points.device)).int()


def _find(points, boxes, number, width, origin):
    return _roipoint_rows({"points": points, "boxes": boxes}, number, list(width), origin)


_LIBRARY = Library(torch, lambda tensor, dtype: tensor.to(dtype), _find, group)


def pooled(
    names: tuple[str, str, str, str],
    tensors: tuple[Tensor, Tensor, Tensor],
    number: int,
    width: float | Sequence[float] = 0.0,
    is_canonical: bool = False,
    origin: str = "center",
) -> tuple[Tensor, Tensor]:
    """:func:`roipoint_pool3d`, whose errors speak of these names of points, features, boxes and the number."""
    for name, value in zip(names, tensors):
        _expect_tensor(name, value)
    if not tensors[1].is_floating_point():
        raise TypeError(f"{names[1]}: expected a floating type, got {tensors[1].dtype}")
    return pool(_LIBRARY, names, tensors, number, widths("extra_width", width), is_canonical, origin)


def roipoint_pool3d(
    points: Tensor,
    features: Tensor,
    boxes: Tensor,
    num_points: int = 512,
    *,
    extra_width: float | Sequence[float] = 0.0,
    canonical: bool = False,
    origin: Literal["bottom", "center"] = "center",
) -> tuple[Tensor, Tensor]:
    """List the points in each box with their features; see :func:`pointmill.points.roipoint_pool3d`.

    Parameters
    ----------
    points : Tensor, ``[N, 3]`` or ``[B, N, 3]``
        x, y, z in metres, without grad.
    features : Tensor of a floating type, ``[N, C]`` or ``[B, N, C]``
        It may require grad.
    boxes : Tensor, ``[M, 7]`` or ``[B, M, 7]``
        cx, cy, cz, dx, dy, dz, heading, without grad.
    num_points : int
        S, points of a box.
    extra_width : float or 3 floats
        By how much boxes are longer, wider and higher.
    canonical : bool
        Whether points are given from the centres of their boxes, turned by less their headings.
    origin : {"bottom", "center"}
        Where in a box cz is.

    Returns
    -------
    pooled : Tensor, ``[M, S, 3 + C]`` or ``[B, M, S, 3 + C]``
    empty : Tensor of bool, ``[M]`` or ``[B, M]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import roipoint_pool3d
    >>> features = torch.tensor([[7.0], [8.0]], requires_grad=True)
    >>> points, boxes = torch.tensor([[1.0, 0, 0], [9, 0, 0]]), torch.tensor([[0.0, 0, 0, 4, 2, 2, 0]])
    >>> pooled, empty = roipoint_pool3d(points, features, boxes, 3)
    >>> pooled[0, :, 3].sum().backward()
    >>> features.grad.tolist(), empty.tolist()
    ([[3.0], [0.0]], [False])
    """
    names = ("points", "features", "boxes", "num_points")
    return pooled(names, (points, features, boxes), num_points, extra_width, canonical, origin)
