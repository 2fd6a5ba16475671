"""Voxels of points of any floating type, as packages make them: values keep their type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .. import _pointmill
from ._shared import plain

Numbers: TypeAlias = Sequence[float] | Tensor | np.ndarray

# Cells of an axis whose centres are exact in single precision.
_MOST_CELLS = 1 << 22
_MOST_VOXELS = (1 << 30) - 1


def pair(max_voxels: Any) -> tuple[int, int]:
    """A number for both, or one for training and one for evaluation."""
    both = tuple(max_voxels) if hasattr(max_voxels, "__iter__") else (max_voxels, max_voxels)
    if len(both) != 2:
        raise ValueError(f"max_voxels: expected a number or a pair (training, evaluation), got {max_voxels!r}")
    return int(both[0]), int(both[1])


def hard(
    points: Tensor, voxel_size: Numbers, limits: Numbers, max_points: int, max_voxels: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The first points of the first voxels: ``[V, M, C]`` of the points' type, ``[V, 3]`` (z, y, x), ``[V]``."""
    caps: dict[str, Any] = {"max_num_points": max_points, "max_voxels": max_voxels}
    if points.dtype != torch.float64:
        result = _pointmill.voxelize(plain(points), voxel_size=voxel_size, point_cloud_range=limits, **caps)
        # Half precision is exact in single precision, and comes back as it was.
        kept = points.dtype if points.is_floating_point() else torch.float32
        return result.voxels.to(kept), result.coords, result.num_points
    points = points.detach().contiguous()
    cells, inside, dims = _cells(points, voxel_size, limits)
    # Centres of cells of edge 1 fall into the same cells in single precision; points outside are outside there too.
    centres = torch.where(inside[:, None], cells + 0.5, -1.0).float()
    unit: dict[str, Any] = {"voxel_size": [1.0] * 3, "point_cloud_range": [0.0] * 3 + dims, **caps}
    result = _pointmill.voxelize(centres, voxels=False, lists=True, **unit)
    indices, counts = result.indices.long(), result.num_points.long()
    rows = torch.repeat_interleave(torch.arange(len(counts), device=points.device), counts, output_size=len(indices))
    slots = torch.arange(len(indices), device=points.device) - result.row_splits[rows]
    voxels = points.new_zeros((len(counts), max_points, points.shape[1]))
    voxels[rows, slots] = points[indices]
    return voxels, result.coords, result.num_points


def dynamic(points: Tensor, voxel_size: Numbers, limits: Numbers) -> Tensor:
    """The cell z, y, x of each point: int32 ``[N, 3]``, -1 for points outside."""
    if points.dtype == torch.float64:
        cells, inside, _ = _cells(points.detach(), voxel_size, limits)
        return torch.where(inside[:, None], cells.flip(1), -1.0).int()
    result = _pointmill.voxelize(
        plain(points),
        voxel_size=voxel_size,
        point_cloud_range=limits,
        max_num_points=None,
        max_voxels=_MOST_VOXELS,
        point_to_voxel=True,
    )
    # A row for points of no voxel, which -1 finds at the end.
    outside = result.coords.new_full((1, 3), -1)
    return torch.cat([result.coords, outside])[result.point_to_voxel.long()]


def _cells(points: Tensor, voxel_size: Numbers, limits: Numbers) -> tuple[Tensor, Tensor, list[float]]:
    """The cells x, y, z of points in double precision, which of them are inside, and the number of cells of each axis.

    Sizes and limits are rounded to single precision, as everywhere, and the number of cells is made from these.
    """
    if points.dim() != 2 or points.shape[1] < 3:
        raise ValueError(f"points: expected an array of shape [N, C] with C >= 3, got shape {list(points.shape)}")
    size, low_high = (torch.as_tensor(v, dtype=torch.float32, device="cpu") for v in (voxel_size, limits))
    for name, values, wanted in (("voxel_size", size, 3), ("point_cloud_range", low_high, 6)):
        if values.shape != (wanted,):
            raise ValueError(f"{name}: expected {wanted} numbers, got shape {list(values.shape)}")
    dims = torch.floor(((low_high[3:] - low_high[:3]) / size).double() + 0.5)
    good = (size > 0) & (dims >= 1) & (dims <= _MOST_CELLS)
    if not good.all():
        expected = f"1 to {_MOST_CELLS} cells along each axis for points of float64"
        raise ValueError(f"point_cloud_range: expected {expected}, got {dims.tolist()}")
    low, size, most = (t.double().to(points.device) for t in (low_high[:3], size, dims))
    cells = torch.floor((points[:, :3] - low) / size)
    return cells, ((cells >= 0) & (cells < most)).all(1), dims.tolist()
