"""The names of ``mmcv.ops``: ``from pointmill.compat.mmcv import Voxelization, RoIAwarePool3d, points_in_boxes_part``.

Equal bit by bit to mmcv on finite input:

- :func:`voxelization` and :class:`Voxelization` to its deterministic CUDA operator and its CPU operator; ``deterministic=False`` gives the same here, where mmcv's result differs
  from run to run;
- with ``max_points=-1`` to its CPU operator (its CUDA operator leaves 0 in some rows of points outside);
- :func:`voxelization` of points in double precision to its CPU operator, which finds cells in double precision too;
- rows, coordinates and maxima of :func:`dynamic_scatter` and :class:`DynamicScatter`; sums and means are equal to rounding, because mmcv adds by atomics in an order that differs from run to run;
- the argmax and lists behind :class:`RoIAwarePool3d`, and so its result for ``mode="max"``, for points farther than rounding from the faces of boxes and voxels; the points behind :class:`RoIPointPool3d` likewise. mmcv contracts products
  and sums and takes sine and cosine in single precision; means are added in the same order.

Overlaps are clipped in double precision, and equal exact polygons to 1e-7. mmcv's clip in single precision and differ more for small boxes (2e-4 below 1 m) and for boxes whose edges lie on each other (0.24):
:func:`nms3d` keeps 179 of the 555 boxes of mmcv's own test, as exact polygons do, and mmcv 176. Boxes of different ``labels`` never suppress each other in :func:`nms_rotated`; mmcv takes ``labels`` and does not use them. Of equal scores the lower row comes first. A box with a value that is not finite, a negative
extent, or beyond 1e7 m overlaps nothing and is never kept, on every device.

Different on purpose: points that are not finite are in no voxel and no box; empty input is valid; a voxel index below zero is 0 and not the last; gradients are the same in every run;
the CPU pools too; :class:`RoIPointPool3d` has a gradient; NaN never wins a maximum of :func:`dynamic_scatter`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import _pointmill
from ._dynamic import DynamicScatter, dynamic_scatter
from ._groups import (
    GroupAll,
    PointsSampler,
    QueryAndGroup,
    ball_query,
    furthest_point_sample,
    furthest_point_sample_with_dist,
    gather_points,
    grouping_operation,
    knn,
    three_interpolate,
    three_nn,
)
from ._nms import (
    box_iou_rotated,
    boxes_iou3d,
    boxes_overlap_bev,
    nms,
    nms3d,
    nms3d_normal,
    nms_bev,
    nms_normal_bev,
    nms_rotated,
)
from ._pooling import pool_points, pool_voxels
from ._shared import inside, plain, samples, tensors
from ._voxels import dynamic, hard, pair

__all__ = [
    "DynamicScatter",
    "GroupAll",
    "PointsSampler",
    "QueryAndGroup",
    "RoIAwarePool3d",
    "RoIPointPool3d",
    "Voxelization",
    "ball_query",
    "box_iou_rotated",
    "boxes_iou3d",
    "boxes_overlap_bev",
    "dynamic_scatter",
    "furthest_point_sample",
    "furthest_point_sample_with_dist",
    "gather_points",
    "grouping_operation",
    "knn",
    "nms",
    "nms3d",
    "nms3d_normal",
    "nms_bev",
    "nms_normal_bev",
    "nms_rotated",
    "points_in_boxes_all",
    "points_in_boxes_cpu",
    "points_in_boxes_part",
    "three_interpolate",
    "three_nn",
    "voxelization",
]


@tensors("points")
def voxelization(
    points: Tensor,
    voxel_size: Sequence[float] | Tensor,
    coors_range: Sequence[float] | Tensor,
    max_points: int = 35,
    max_voxels: int = 20000,
    deterministic: bool = True,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Bin points into voxels, as ``mmcv.ops.voxelization``.

    Parameters
    ----------
    points : Tensor of float32, float64, float16 or bfloat16, ``[N, C]``
        x, y, z, then whatever is carried along. Cells of float64 are found in double precision, as mmcv's CPU operator finds them; `voxel_size` and `coors_range` are
        of single precision for all types.
    voxel_size : 3 floats
        Edges along x, y, z.
    coors_range : 6 floats
        x_min, y_min, z_min, x_max, y_max, z_max.
    max_points : int
        Most points of a voxel; -1 gives the cell of each point instead of voxels.
    max_voxels : int
        Most voxels; -1 as `max_points`.
    deterministic : bool
        Without effect: results always are.

    Returns
    -------
    voxels : Tensor of the points' type, ``[V, max_points, C]``
    coors : Tensor of int32, ``[V, 3]``
        z, y, x.
    num_points_per_voxel : Tensor of int32, ``[V]``
        Or with -1 the cells alone: int32, ``[N, 3]``, -1 for points outside.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import voxelization
    >>> points = torch.tensor([[0.5, 0.5, 0.5], [2.5, 0.5, 0.5], [9.0, 9.0, 9.0]])
    >>> voxelization(points, [1, 1, 1], [0, 0, 0, 4, 4, 1])[1].tolist()
    [[0, 0, 0], [0, 0, 2]]
    >>> voxelization(points, [1, 1, 1], [0, 0, 0, 4, 4, 1], -1, -1).tolist()
    [[0, 0, 0], [0, 0, 2], [-1, -1, -1]]
    """
    if max_points == -1 or max_voxels == -1:
        return dynamic(points, voxel_size, coors_range)
    return hard(points, voxel_size, coors_range, max_points, max_voxels)


class Voxelization(nn.Module):
    """Bin points into voxels, as ``mmcv.ops.Voxelization``; see :func:`voxelization`.

    Parameters
    ----------
    voxel_size : 3 floats
    point_cloud_range : 6 floats
    max_num_points : int
        Most points of a voxel; -1 gives the cell of each point.
    max_voxels : int or (int, int)
        Most voxels; a pair is for training and for evaluation.
    deterministic : bool
        Without effect: results always are.
    """

    _voxelize = staticmethod(voxelization)

    def __init__(
        self,
        voxel_size: Sequence[float],
        point_cloud_range: Sequence[float],
        max_num_points: int,
        max_voxels: int | Sequence[int] = 20000,
        deterministic: bool = True,
    ) -> None:
        super().__init__()
        self.voxel_size = voxel_size
        self.point_cloud_range = point_cloud_range
        self.max_num_points = max_num_points
        self.max_voxels = pair(max_voxels)
        self.deterministic = deterministic
        limits = torch.tensor(point_cloud_range, dtype=torch.float32)
        sizes = torch.tensor(voxel_size, dtype=torch.float32)
        self.grid_size = torch.round((limits[3:] - limits[:3]) / sizes).long()
        # z, y, x, of one cell in height.
        self.pcd_shape = [*self.grid_size[:2], 1][::-1]

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Bin points ``[N, C]`` into voxels."""
        return self._voxelize(
            input,
            self.voxel_size,
            self.point_cloud_range,
            self.max_num_points,
            self.max_voxels[0 if self.training else 1],
            self.deterministic,
        )

    def extra_repr(self) -> str:
        return (
            f"voxel_size={self.voxel_size}, point_cloud_range={self.point_cloud_range}, "
            f"max_num_points={self.max_num_points}, max_voxels={self.max_voxels}, deterministic={self.deterministic}"
        )


class RoIAwarePool3d(nn.Module):
    """Pool the features of the points in each box, as ``mmcv.ops.RoIAwarePool3d``, with a gradient for the features.

    Parameters
    ----------
    out_size : int or 3 ints
        Voxels of a box.
    max_pts_per_voxel : int
        One more than the points that a voxel keeps.
    mode : {"max", "avg"}

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import RoIAwarePool3d
    >>> rois = torch.tensor([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    >>> pts = torch.tensor([[1.5, 0.5, 0.5], [1.6, 0.4, 0.4]])
    >>> RoIAwarePool3d(1, mode="avg")(rois, pts, torch.tensor([[1.0], [5.0]])).item()
    3.0
    """

    def __init__(self, out_size: int | tuple[int, int, int], max_pts_per_voxel: int = 128, mode: str = "max") -> None:
        super().__init__()
        if mode not in ("max", "avg"):
            raise ValueError(f"mode: expected 'max' or 'avg', got {mode!r}")
        self.out_size = out_size
        self.max_pts_per_voxel = max_pts_per_voxel
        self.mode = mode

    @tensors("rois", "pts", "pts_feature")
    def forward(self, rois: Tensor, pts: Tensor, pts_feature: Tensor) -> Tensor:
        """Pool ``[B, 7]`` (cz of the bottom face), ``[N, 3]``, ``[N, C]`` to ``[B, ox, oy, oz, C]`` of the features' type.

        Boxes and points of float64 are rounded to float32, which decides the voxel of a point; features of float64 are pooled in float64.
        """
        return pool_voxels(rois, pts, pts_feature, self.out_size, self.max_pts_per_voxel, self.mode)


class RoIPointPool3d(nn.Module):
    """List the points in each box with their features, as ``mmcv.ops.RoIPointPool3d``, with a gradient for the features.

    Parameters
    ----------
    num_sampled_points : int
        Points of a box: the first in input order, again and again where a box has fewer.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import RoIPointPool3d
    >>> points = torch.tensor([[[1.5, 0.5, 0.5], [9.0, 0.0, 0.0], [1.0, 0.0, 0.5]]])
    >>> boxes = torch.tensor([[[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0], [5.0, 5.0, 0.0, 1.0, 1.0, 1.0, 0.0]]])
    >>> pooled, empty = RoIPointPool3d(3)(points, torch.tensor([[[7.0], [8.0], [9.0]]]), boxes)
    >>> pooled[0, 0, :, 3].tolist(), empty.tolist()
    ([7.0, 9.0, 7.0], [[0, 1]])
    """

    def __init__(self, num_sampled_points: int = 512) -> None:
        super().__init__()
        if num_sampled_points < 1:
            raise ValueError(f"num_sampled_points: expected 1 or more, got {num_sampled_points}")
        self.num_sampled_points = num_sampled_points

    @tensors("points", "point_features", "boxes3d")
    def forward(self, points: Tensor, point_features: Tensor, boxes3d: Tensor) -> tuple[Tensor, Tensor]:
        """Pool ``[B, N, 3]``, ``[B, N, C]``, ``[B, M, 7]`` (cz of the bottom face) to ``[B, M, S, 3 + C]``, x, y, z first and zeros for boxes without points, and int32 ``[B, M]``, 1 for those."""
        return pool_points((points, point_features, boxes3d), self.num_sampled_points, origin="bottom")


@tensors("points", "boxes")
def points_in_boxes_part(points: Tensor, boxes: Tensor) -> Tensor:
    """Find the lowest box that holds each point, as ``mmcv.ops.points_in_boxes_part``.

    Parameters
    ----------
    points : Tensor, ``[B, M, 3]``
    boxes : Tensor, ``[B, T, 7]``
        cx, cy, cz of the bottom face, dx, dy, dz, heading.

    Returns
    -------
    Tensor of int32, ``[B, M]``
        The index of the box, -1 for none.
    """
    samples(points, boxes)
    parts = [_pointmill.points_in_boxes_part(plain(p), plain(b)) for p, b in zip(points, boxes)]
    return torch.stack(parts) if parts else points.new_empty(points.shape[:2], dtype=torch.int32)


@tensors("points", "boxes")
def points_in_boxes_all(points: Tensor, boxes: Tensor) -> Tensor:
    """Find all boxes that hold each point, as ``mmcv.ops.points_in_boxes_all``.

    Parameters
    ----------
    points : Tensor, ``[B, M, 3]``
    boxes : Tensor, ``[B, T, 7]``
        cx, cy, cz of the bottom face, dx, dy, dz, heading.

    Returns
    -------
    Tensor of int32, ``[B, M, T]``
        1 where the box holds the point, else 0.
    """
    samples(points, boxes)
    points, boxes = plain(points), plain(boxes)
    every = points.new_empty((*points.shape[:2], boxes.shape[1]), dtype=torch.int32)
    for k in range(len(every)):
        inside(points[k], boxes[k], "bottom", out=every[k])
    return every


def points_in_boxes_cpu(points: Tensor, boxes: Tensor) -> Tensor:
    """Find all boxes that hold each point; the name that mmcv's CPU operator has. See :func:`points_in_boxes_all`."""
    return points_in_boxes_all(points, boxes)
