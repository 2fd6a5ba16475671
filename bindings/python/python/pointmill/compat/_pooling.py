"""Pooling in boxes for features of any floating type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _pointmill
from .. import torch as _torch
from .._roipoint_ops import pooled
from .._scatter import reduce_lists
from ._shared import plain, samples


def pool_voxels(
    rois: Tensor,
    pts: Tensor,
    features: Tensor,
    out_size: int | Sequence[int],
    slots: int,
    mode: Any,
    origin: str = "bottom",
    margin: float = 0.0,
) -> Tensor:
    """``[B, 7]``, ``[N, 3]``, ``[N, C]`` to ``[B, ox, oy, oz, C]`` of the features' type, as the peers call it.

    Their cap counts the places of a voxel in a dense array, the first of which has the number of points: `slots` is one more than the points that stay. Their mean is ``avg``.

    Boxes and points of double precision are rounded to single precision, which decides which points a voxel has; features of double precision are pooled as they are,
    in the order that the others are pooled in.
    """
    geometry: dict[str, Any] = {"origin": origin, "margin": margin}
    max_points, mode = slots - 1, "mean" if mode == "avg" else mode
    if torch.float64 in (rois.dtype, pts.dtype):
        rois, pts = plain(rois), plain(pts)
    rois, pts, features = rois.detach().contiguous(), pts.detach().contiguous(), features.contiguous()
    if features.dtype != torch.float64:
        return _torch.roi_aware_pool3d(rois, pts, features, out_size, max_points, mode=mode, **geometry)
    if features.dim() != 2 or features.shape[0] != pts.shape[0]:
        raise ValueError(f"pts_feature: expected an array of shape [{len(pts)}, C], got shape {list(features.shape)}")
    sizes = (out_size,) * 3 if isinstance(out_size, int) else tuple(out_size)
    found = _pointmill.roi_aware_pool3d(
        rois,
        pts,
        pts.new_zeros((len(pts), 1)),
        out_size=sizes,
        max_pts_per_voxel=max_points,
        mode="mean",
        layout="sparse",
        **geometry,
    )
    if mode == "max":
        # Minus infinity never wins, as NaN; where nothing wins there are zeros.
        features = torch.where(features == -torch.inf, torch.nan, features)
    reduced, argmax = reduce_lists(features, found.indices.long(), found.row_splits, "max" if mode == "max" else "mean")
    if argmax is not None and mode == "max":
        reduced = torch.where(argmax < 0, 0.0, reduced)
    box, x, y, z = found.coords.long().unbind(1)
    rows = ((box * sizes[0] + x) * sizes[1] + y) * sizes[2] + z
    dense = features.new_zeros((len(rois) * sizes[0] * sizes[1] * sizes[2], features.shape[1]))
    return dense.index_copy(0, rows, reduced).view(len(rois), *sizes, features.shape[1])


def pool_points(tensors: tuple[Tensor, Tensor, Tensor], count: int, **more: Any) -> tuple[Tensor, Tensor]:
    """Points, features and boxes of a batch, as ``RoIPointPool3d`` of the peers takes them: ``[B, N, 3]``, ``[B, N, C]``, ``[B, M, 7]``."""
    points, features, boxes = tensors
    samples(points, boxes, "boxes3d")
    names = ("points", "point_features", "boxes3d", "num_sampled_points")
    made, empty = pooled(names, (points.detach(), features, boxes.detach()), count, **more)
    return made, empty.int()
