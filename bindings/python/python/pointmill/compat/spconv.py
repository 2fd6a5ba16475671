"""The names of ``spconv.pytorch.utils``: ``from pointmill.compat.spconv import PointToVoxel``; and of ``spconv.utils``: ``Point2VoxelCPU3d`` of spconv 2, ``VoxelGenerator`` and ``VoxelGeneratorV2`` of spconv 1; and of ``spconv.pytorch.ops``:
``from pointmill.compat import spconv as ops`` has ``ops.get_indice_pairs``.

Equal bit by bit to spconv's CPU generators on finite points in single precision: rows in the order of their first points, the first points of each voxel, ``pc_voxel_id`` with the row of a
point also where its voxel was full. On a GPU spconv's rows, and the points that full voxels keep, differ from run to run; here they are those of the CPU.

Different on purpose: points that are not finite are outside; no points are valid, and none in range too; memory is not that of the whole grid; unused slots are always zero, whatever
``clear_voxels`` says; ``empty_mean`` on the CPU fills in the mean of the same voxel. :class:`VoxelGenerator` and :class:`VoxelGeneratorV2` are those of spconv 1.1 and 1.2, with points of double
precision too; spconv 1.0 stops at the first point beyond ``max_voxels``. What :func:`get_indice_pairs` does otherwise, it says itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from .. import _pointmill
from ._generators import Point2VoxelCPU3d, VoxelGenerator, VoxelGeneratorV2
from ._pairs import get_indice_pairs
from ._shared import plain, tensors

__all__ = [
    "Point2VoxelCPU3d",
    "PointToVoxel",
    "VoxelGenerator",
    "VoxelGeneratorV2",
    "gather_features_by_pc_voxel_id",
    "get_indice_pairs",
]


class PointToVoxel:
    """Bin points into voxels.

    Parameters
    ----------
    vsize_xyz : 3 floats
    coors_range_xyz : 6 floats
    num_point_features : int
        Columns that a point has.
    max_num_voxels, max_num_points_per_voxel : int
    device : torch.device
        Where points are expected.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.spconv import PointToVoxel
    >>> generator = PointToVoxel([1, 1, 1], [0, 0, 0, 4, 4, 1], 3, 100, 5)
    >>> pc = torch.tensor([[2.5, 0.5, 0.5], [9.0, 9.0, 9.0], [2.6, 0.5, 0.5]])
    >>> voxels, indices, num_per_voxel, pc_voxel_id = generator.generate_voxel_with_id(pc)
    >>> indices.tolist(), num_per_voxel.tolist(), pc_voxel_id.tolist()
    ([[0, 0, 2]], [2], [0, -1, 0])
    """

    def __init__(
        self,
        vsize_xyz: Sequence[float],
        coors_range_xyz: Sequence[float],
        num_point_features: int,
        max_num_voxels: int,
        max_num_points_per_voxel: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.ndim = len(vsize_xyz)
        if self.ndim != 3:
            raise ValueError(f"vsize_xyz: expected 3 numbers, got {self.ndim}")
        self.device = torch.device(device)
        self.num_point_features = num_point_features
        self.max_num_voxels = max_num_voxels
        self.max_num_points_per_voxel = max_num_points_per_voxel
        size = torch.tensor(list(vsize_xyz), dtype=torch.float32)
        limits = torch.tensor(list(coors_range_xyz), dtype=torch.float32)
        # z, y, x, as everything that spconv tells.
        self.vsize = size.flip(0).tolist()
        self.coors_range = limits[:3].flip(0).tolist() + limits[3:].flip(0).tolist()
        cells = (limits[3:] - limits[:3]) / size
        self.grid_size = torch.floor(cells + 0.5).long().flip(0).tolist()
        self._params: dict[str, Any] = {
            "voxel_size": list(vsize_xyz),
            "point_cloud_range": list(coors_range_xyz),
            "max_num_points": max_num_points_per_voxel,
            "max_voxels": max_num_voxels,
        }

    @tensors("pc")
    def __call__(
        self, pc: Tensor, clear_voxels: bool = True, empty_mean: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Bin ``[N, C]`` into voxels ``[V, M, C]``, indices z, y, x ``[V, 3]`` and numbers of points ``[V]``."""
        return self._generate(pc, empty_mean, False)[:3]

    @tensors("pc")
    def generate_voxel_with_id(
        self, pc: Tensor, clear_voxels: bool = True, empty_mean: bool = False
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Bin points, and tell the row of each: int64 ``[N]``, -1 for points of no voxel."""
        voxels, indices, num_per_voxel, rows = self._generate(pc, empty_mean, True)
        return voxels, indices, num_per_voxel, rows.long()

    def _generate(self, pc: Tensor, empty_mean: bool, with_id: bool):
        if pc.dim() != 2 or pc.shape[1] != self.num_point_features:
            shape = f"[N, {self.num_point_features}]"
            raise ValueError(f"pc: expected an array of shape {shape}, got shape {list(pc.shape)}")
        if pc.device.type != self.device.type:
            raise ValueError(f"pc: expected a tensor on {self.device}, got one on {pc.device}")
        mean: Literal["float32"] | None = "float32" if empty_mean else None
        result = _pointmill.voxelize(plain(pc), mean=mean, point_to_voxel=with_id, **self._params)
        voxels = result.voxels
        if empty_mean:
            slots = torch.arange(voxels.shape[1], device=voxels.device)
            empty = slots >= result.num_points[:, None]
            voxels = torch.where(empty[..., None], result.mean[:, None], voxels)
        return voxels, result.coords, result.num_points, result.point_to_voxel


def gather_features_by_pc_voxel_id(seg_res_features: Tensor, pc_voxel_id: Tensor, invalid_value: float = 0) -> Tensor:
    """Give each point the features of its voxel.

    Parameters
    ----------
    seg_res_features : Tensor, ``[V, F]``
    pc_voxel_id : Tensor of int64, ``[N]``
        The row of each point, -1 for none.
    invalid_value : float
        What points of no voxel get.

    Returns
    -------
    Tensor, ``[N, F]``
    """
    found = pc_voxel_id >= 0
    shape = (pc_voxel_id.shape[0], *seg_res_features.shape[1:])
    features = seg_res_features.new_full(shape, invalid_value)
    features[found] = seg_res_features[pc_voxel_id[found]]
    return features
