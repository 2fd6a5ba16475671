"""The names of ``pcdet.ops.pointnet2.pointnet2_batch.pointnet2_utils``, and of ``pointnet2_3DSSD``: ``from pointmill.compat import pointnet2_batch as pointnet2_utils``.

Rows and samples are those of its kernels, of equal distances the lower row; distances are rounded without contraction. Gradients are sums in the order of rows, the same in every run. All of it runs on the CPU too.
"""

from __future__ import annotations

from torch import Tensor

from . import _groups, _points
from ._groups import (
    GroupAll,
    furthest_point_sample,
    furthest_point_sample_with_dist,
    gather_points,
    grouping_operation,
    three_interpolate,
    three_nn,
)
from ._shared import tensors

__all__ = [
    "GroupAll",
    "QueryAndGroup",
    "QueryAndGroupDilated",
    "ball_query",
    "ball_query_dilated",
    "farthest_point_sample",
    "furthest_point_sample",
    "furthest_point_sample_with_dist",
    "gather_operation",
    "grouping_operation",
    "three_interpolate",
    "three_nn",
]

farthest_point_sample = furthest_point_sample
gather_operation = gather_points


@tensors("xyz", "new_xyz")
def ball_query(radius: float, nsample: int, xyz: Tensor, new_xyz: Tensor) -> Tensor:
    """Find the points of a ball around each centre: ``[B, N, 3]``, ``[B, M, 3]`` to int32 ``[B, M, nsample]``, zeros of balls without points.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointnet2_batch import ball_query
    >>> ball_query(1.5, 2, torch.eye(3)[None], torch.zeros(1, 1, 3)).tolist()
    [[[0, 1]]]
    """
    return _points.balls(xyz, new_xyz, (0.0, float(radius)), nsample)


@tensors("xyz", "new_xyz")
def ball_query_dilated(max_radius: float, min_radius: float, nsample: int, xyz: Tensor, new_xyz: Tensor) -> Tensor:
    """:func:`ball_query` without the points that are nearer than `min_radius` but not at the centre."""
    return _points.balls(xyz, new_xyz, (float(min_radius), float(max_radius)), nsample)


class QueryAndGroup(_groups.QueryAndGroup):
    """The points of balls less their centres, and their features.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointnet2_batch import QueryAndGroup
    >>> QueryAndGroup(1.5, 2)(torch.eye(3)[None], torch.zeros(1, 1, 3), torch.ones(1, 5, 3)).shape
    torch.Size([1, 8, 1, 2])
    """

    def __init__(self, radius: float, nsample: int, use_xyz: bool = True) -> None:
        super().__init__(radius, nsample, use_xyz=use_xyz)

    def forward(self, xyz: Tensor, new_xyz: Tensor, features: Tensor | None = None) -> Tensor:
        """Group ``[B, N, 3]``, ``[B, M, 3]``, ``[B, C, N]`` to ``[B, 3 + C, M, nsample]``."""
        return super().forward(xyz, new_xyz, features)


class QueryAndGroupDilated(QueryAndGroup):
    """:class:`QueryAndGroup` by :func:`ball_query_dilated`."""

    def __init__(self, radius_in: float, radius_out: float, nsample: int, use_xyz: bool = True) -> None:
        super().__init__(radius_out, nsample, use_xyz)
        self.min_radius = radius_in
