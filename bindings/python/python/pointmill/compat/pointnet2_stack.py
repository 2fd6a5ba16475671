"""The names of ``pcdet.ops.pointnet2.pointnet2_stack.pointnet2_utils`` and ``voxel_query_utils``: ``from pointmill.compat import pointnet2_stack as pointnet2_utils``.

Points of all items lie one behind the other, and a tensor says how many each item has: on a GPU a call waits for it. See :mod:`pointmill.compat.pointnet2_batch` for what is equal.
The vector pooling of PV-RCNN++ is not here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from .. import _points as _ops
from . import _points
from ._groups import furthest_point_sample
from ._points import group
from ._shared import tensors

__all__ = [
    "QueryAndGroup",
    "VoxelQueryAndGrouping",
    "ball_query",
    "farthest_point_sample",
    "furthest_point_sample",
    "grouping_operation",
    "stack_farthest_point_sample",
    "three_interpolate",
    "three_nn",
    "voxel_query",
]

farthest_point_sample = furthest_point_sample

# Queries whose cells are looked at together.
_QUERIES = 1 << 14


@tensors("xyz", "xyz_batch_cnt")
def stack_farthest_point_sample(xyz: Tensor, xyz_batch_cnt: Tensor, npoint: int | Sequence[int] | Tensor) -> Tensor:
    """Take the furthest points of each item: ``[N, 3]`` to int32 ``[samples]``, rows of all items.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointnet2_stack import stack_farthest_point_sample
    >>> stack_farthest_point_sample(torch.eye(3), torch.tensor([1, 2]), [1, 2]).tolist()
    [0, 1, 2]
    """
    splits = _points.ends(xyz_batch_cnt)
    each = [npoint] * (len(splits) - 1) if isinstance(npoint, int) else npoint
    return _ops.furthest_point_sample(
        _points.rows_of(xyz), row_splits=splits, sample_splits=_points.ends(each)
    )


@tensors("xyz", "new_xyz")
def ball_query(
    radius: float, nsample: int, xyz: Tensor, xyz_batch_cnt: Tensor, new_xyz: Tensor, new_xyz_batch_cnt: Tensor
) -> tuple[Tensor, Tensor]:
    """Find the points of a ball around each centre: ``[N, 3]``, ``[M, 3]`` to int32 ``[M, nsample]``, rows of each item, and bool ``[M]``, whether a ball has none.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointnet2_stack import ball_query
    >>> count = torch.tensor([3])
    >>> ball_query(1.5, 2, torch.eye(3), count, torch.zeros(1, 3), torch.tensor([1]))[0].tolist()
    [[0, 1]]
    """
    radii = (0.0, float(radius))
    return _points.stacked_balls(xyz, xyz_batch_cnt, new_xyz, new_xyz_batch_cnt, radii, nsample)


@tensors("features", "idx")
def grouping_operation(features: Tensor, features_batch_cnt: Tensor, idx: Tensor, idx_batch_cnt: Tensor) -> Tensor:
    """Take the features of the points of balls, with a gradient: ``[N, C]``, ``[M, K]`` to ``[M, C, K]``."""
    return _points.stacked_group(features, features_batch_cnt, idx, idx_batch_cnt)


@tensors("unknown", "known")
def three_nn(
    unknown: Tensor, unknown_batch_cnt: Tensor, known: Tensor, known_batch_cnt: Tensor
) -> tuple[Tensor, Tensor]:
    """Find the three nearest known points: ``[N, 3]``, ``[M, 3]`` to distances and int32 rows of all items ``[N, 3]``."""
    rows, squared = _ops.knn(
        _points.rows_of(known),
        _points.rows_of(unknown),
        3,
        row_splits=_points.ends(known_batch_cnt),
        query_splits=_points.ends(unknown_batch_cnt),
    )
    return squared.sqrt(), rows


@tensors("features", "idx", "weight")
def three_interpolate(features: Tensor, idx: Tensor, weight: Tensor) -> Tensor:
    """Add up weighted features of three neighbours, with gradients: ``[M, C]``, ``[N, 3]`` twice to ``[N, C]``."""
    return _ops.interpolate(features, idx, weight)


class QueryAndGroup(nn.Module):
    """The points of balls less their centres, and their features; zeros of balls without points.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointnet2_stack import QueryAndGroup
    >>> count = torch.tensor([3])
    >>> QueryAndGroup(1.5, 2)(torch.eye(3), count, torch.zeros(1, 3), torch.tensor([1]), torch.ones(3, 5))[0].shape
    torch.Size([1, 8, 2])
    """

    def __init__(self, radius: float, nsample: int, use_xyz: bool = True) -> None:
        super().__init__()
        self.radius, self.nsample, self.use_xyz = radius, nsample, use_xyz

    def forward(
        self,
        xyz: Tensor,
        xyz_batch_cnt: Tensor,
        new_xyz: Tensor,
        new_xyz_batch_cnt: Tensor,
        features: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Group ``[N, 3]``, ``[M, 3]``, ``[N, C]`` to ``[M, 3 + C, nsample]``, and int32 rows ``[M, nsample]``."""
        counts = (xyz_batch_cnt, new_xyz, new_xyz_batch_cnt)
        rows, empty = ball_query(self.radius, self.nsample, xyz, *counts)
        near = grouping_operation(xyz, xyz_batch_cnt, rows, new_xyz_batch_cnt) - new_xyz[..., None]
        near = torch.where(empty[:, None, None], 0.0, near)
        if features is not None:
            features = grouping_operation(features, xyz_batch_cnt, rows, new_xyz_batch_cnt)
            features = torch.where(empty[:, None, None], 0.0, features)
        return _points.joined(near, features, self.use_xyz), rows


@tensors("xyz", "new_xyz", "new_coords", "point_indices")
def voxel_query(
    max_range: Sequence[int],
    radius: float,
    nsample: int,
    xyz: Tensor,
    new_xyz: Tensor,
    new_coords: Tensor,
    point_indices: Tensor,
) -> tuple[Tensor, Tensor]:
    """Find the points in cells around each centre, as ``voxel_query_utils.voxel_query``.

    Cells are looked at in the order of z, y, x; the first `nsample` whose points are at most `radius` away count, and the first of them stands behind those of a centre with fewer.

    Parameters
    ----------
    max_range : 3 ints
        Cells on each side along z, y, x.
    radius : float
    nsample : int
    xyz, new_xyz : Tensor, ``[N, 3]`` and ``[M, 3]``
    new_coords : Tensor of int, ``[M, 4]``
        Item, z, y, x of the cell of each centre.
    point_indices : Tensor of int, ``[B, Z, Y, X]``
        The point of each cell; -1 for none.

    Returns
    -------
    rows : Tensor of int32, ``[M, nsample]``
        Rows of all items; zeros where a centre has none.
    empty : Tensor of bool, ``[M]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointnet2_stack import voxel_query
    >>> cells = torch.tensor([[[[1, -1, 0]]]])
    >>> points = torch.tensor([[2.5, 0.5, 0.5], [0.5, 0.5, 0.5]])
    >>> voxel_query([0, 0, 2], 3.0, 2, points, points[:1], torch.tensor([[0, 0, 0, 2]]), cells)[0].tolist()
    [[1, 0]]
    """
    device = point_indices.device
    axes = [torch.arange(-int(most), int(most) + 1, device=device) for most in max_range]
    offsets = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    size = torch.tensor(point_indices.shape[1:], device=device)
    # Rounded to single precision before and after the product, as its kernel does.
    points, squared = xyz.detach(), float(np.float32(radius) * np.float32(radius))
    rows, empty = [], []
    for centres, coords in zip(new_xyz.detach().split(_QUERIES), new_coords.long().split(_QUERIES)):
        cells = coords[:, None, 1:] + offsets
        inside = ((cells >= 0) & (cells < size)).all(-1)
        z, y, x = torch.where(inside[..., None], cells, 0).unbind(-1)
        found = torch.where(inside, point_indices[coords[:, :1], z, y, x].long(), -1)
        dx, dy, dz = (group(points, found) - centres[:, None]).unbind(-1)
        counts = (found >= 0) & (dx * dx + dy * dy + dz * dz <= squared)
        place = counts.cumsum(1) - 1
        number = counts.sum(1)
        # What does not count, and what comes after the last place, goes to a column of its own.
        to = torch.where(counts & (place < nsample), place, nsample)
        kept = found.new_zeros((len(found), nsample + 1)).scatter(1, to, found)[:, :nsample]
        is_filled = torch.arange(nsample, device=device) < number[:, None]
        rows.append(torch.where(is_filled, kept, kept[:, :1]).int())
        empty.append(number == 0)
    return torch.cat(rows), torch.cat(empty)


class VoxelQueryAndGrouping(nn.Module):
    """The points and features of cells around each centre, as ``voxel_query_utils.VoxelQueryAndGrouping``."""

    def __init__(self, max_range: Sequence[int], radius: float, nsample: int) -> None:
        super().__init__()
        self.max_range, self.radius, self.nsample = max_range, radius, nsample

    def forward(
        self,
        new_coords: Tensor,
        xyz: Tensor,
        xyz_batch_cnt: Tensor,
        new_xyz: Tensor,
        new_xyz_batch_cnt: Tensor,
        features: Tensor,
        voxel2point_indices: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Group to features ``[M, C, nsample]``, points ``[M, 3, nsample]``, and whether a centre has none."""
        query = (self.max_range, self.radius, self.nsample, xyz, new_xyz, new_coords, voxel2point_indices)
        rows, empty = voxel_query(*query)
        return _points.channels_first(features, rows), _points.channels_first(xyz, rows), empty
