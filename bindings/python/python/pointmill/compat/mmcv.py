"""The names of ``mmcv.ops``: ``from pointmill.compat.mmcv import Voxelization, RoIAwarePool3d, points_in_boxes_part``.

Equal bit by bit to mmcv on finite input:

- :func:`voxelization` and :class:`Voxelization` to its deterministic CUDA operator and its CPU operator; ``deterministic=False`` gives the same here, where mmcv's result differs
  from run to run;
- with ``max_points=-1`` to its CPU operator (its CUDA operator leaves 0 in some rows of points outside);
- the argmax and lists behind :class:`RoIAwarePool3d`, and so its result for ``mode="max"``, for points farther than rounding from the faces of boxes and voxels. mmcv contracts products
  and sums and takes sine and cosine in single precision; means are added in the same order.

Different on purpose: points that are not finite are in no voxel and no box; empty input is valid; a voxel index below zero is 0 and not the last; gradients are the same in every run;
the CPU pools too.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import _pointmill
from .. import torch as _torch
from ._shared import inside, plain, samples, tensors

__all__ = [
    "RoIAwarePool3d",
    "Voxelization",
    "points_in_boxes_all",
    "points_in_boxes_cpu",
    "points_in_boxes_part",
    "voxelization",
]

_ALL = (1 << 30) - 1


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
    points : Tensor of float32, ``[N, C]``
        x, y, z, then whatever is carried along.
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
    voxels : Tensor of float32, ``[V, max_points, C]``
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
    points = plain(points)
    if max_points == -1 or max_voxels == -1:
        result = _pointmill.voxelize(
            points,
            voxel_size=voxel_size,
            point_cloud_range=coors_range,
            max_num_points=None,
            max_voxels=_ALL,
            point_to_voxel=True,
        )
        # A row for points of no voxel, which -1 finds at the end.
        outside = points.new_full((1, 3), -1, dtype=torch.int32)
        return torch.cat([result.coords, outside])[result.point_to_voxel.long()]
    result = _pointmill.voxelize(
        points,
        voxel_size=voxel_size,
        point_cloud_range=coors_range,
        max_num_points=max_points,
        max_voxels=max_voxels,
    )
    return result.voxels, result.coords, result.num_points


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

    def __init__(
        self,
        voxel_size: Sequence[float],
        point_cloud_range: Sequence[float],
        max_num_points: int,
        max_voxels: tuple[int, int] | int = 20000,
        deterministic: bool = True,
    ) -> None:
        super().__init__()
        self.voxel_size = voxel_size
        self.point_cloud_range = point_cloud_range
        self.max_num_points = max_num_points
        self.max_voxels = max_voxels if isinstance(max_voxels, tuple) else (max_voxels, max_voxels)
        self.deterministic = deterministic
        limits = torch.tensor(point_cloud_range, dtype=torch.float32)
        sizes = torch.tensor(voxel_size, dtype=torch.float32)
        self.grid_size = torch.round((limits[3:] - limits[:3]) / sizes).long()
        # z, y, x, of one cell in height.
        self.pcd_shape = [*self.grid_size[:2], 1][::-1]

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Bin points ``[N, C]`` into voxels."""
        return voxelization(
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
        """Pool ``[B, 7]`` (cz of the bottom face), ``[N, 3]``, ``[N, C]`` to ``[B, ox, oy, oz, C]``."""
        return _torch.roi_aware_pool3d(
            rois.detach().contiguous(),
            pts.detach().contiguous(),
            pts_feature.contiguous(),
            self.out_size,
            self.max_pts_per_voxel,
            self.mode,
        )


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
    every = [inside(plain(p), plain(b), "bottom") for p, b in zip(points, boxes)]
    shape = (*points.shape[:2], boxes.shape[1])
    return torch.stack(every) if every else points.new_empty(shape, dtype=torch.int32)


def points_in_boxes_cpu(points: Tensor, boxes: Tensor) -> Tensor:
    """Find all boxes that hold each point; the name that mmcv's CPU operator has. See :func:`points_in_boxes_all`."""
    return points_in_boxes_all(points, boxes)
