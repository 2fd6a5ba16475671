"""The names of ``mmdet3d.ops.voxel`` of BEVFusion, and of ``projects.BEVFusion`` in mmdet3d.

BEVFusion's voxelization gives coordinates as **x, y, z**, where mmcv and :mod:`pointmill.compat.mmcv` give z, y, x. Where one is called for the other no error is raised, and x and z change places.
All else is as said in :mod:`pointmill.compat.mmcv`.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from . import mmcv
from .mmcv import DynamicScatter, dynamic_scatter

__all__ = ["DynamicScatter", "Voxelization", "dynamic_scatter", "voxelization"]


def voxelization(
    points: Tensor,
    voxel_size: Sequence[float] | Tensor,
    coors_range: Sequence[float] | Tensor,
    max_points: int = 35,
    max_voxels: int = 20000,
    deterministic: bool = True,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Bin points into voxels, with coordinates x, y, z; else as :func:`pointmill.compat.mmcv.voxelization`.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.bevfusion import voxelization
    >>> points = torch.tensor([[0.5, 0.5, 0.5], [2.5, 1.5, 0.5]])
    >>> voxelization(points, [1, 1, 1], [0, 0, 0, 4, 4, 1])[1].tolist()
    [[0, 0, 0], [2, 1, 0]]
    """
    found = mmcv.voxelization(points, voxel_size, coors_range, max_points, max_voxels, deterministic)
    if isinstance(found, Tensor):
        return found.flip(1)
    voxels, coors, num_points = found
    return voxels, coors.flip(1), num_points


class Voxelization(mmcv.Voxelization):
    """Bin points into voxels, with coordinates x, y, z and ``pcd_shape`` in this order; else as :class:`pointmill.compat.mmcv.Voxelization`."""

    _voxelize = staticmethod(voxelization)

    def __init__(
        self,
        voxel_size: Sequence[float],
        point_cloud_range: Sequence[float],
        max_num_points: int,
        max_voxels: int | Sequence[int] = 20000,
        deterministic: bool = True,
    ) -> None:
        super().__init__(voxel_size, point_cloud_range, max_num_points, max_voxels, deterministic)
        self.pcd_shape = self.pcd_shape[::-1]
