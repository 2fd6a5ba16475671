"""Features of points that share a cell, reduced: ``DynamicScatter`` of mmcv and its relatives."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .._scatter import reduce_rows
from ._shared import tensors

# Keys below this are added to and multiplied without overflow.
_MOST = 1 << 62


def unique_rows(coors: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that occur, in ascending order, without those that have a negative number; and the place of each row among them, -1 for none.

    ``[N, D]`` of whole numbers to ``[M, D]`` and int64 ``[N]``.
    """
    inside = (coors >= 0).all(1)
    kept = coors[inside].long()
    place = torch.full((len(coors),), -1, dtype=torch.int64, device=coors.device)
    if len(kept) == 0:
        return coors[:0], place
    # One number for a row, which orders rows as their numbers do from left to right.
    sizes = [int(size) + 1 for size in kept.amax(0)]
    key, bound = kept[:, 0], sizes[0]
    for column, size in zip(kept.unbind(1)[1:], sizes[1:]):
        if bound * size >= _MOST:
            found, key = torch.unique(key, return_inverse=True)
            bound = len(found)
        key, bound = key * size + column, bound * size
    found, inverse = torch.unique(key, return_inverse=True)
    # Rows of equal keys are equal, so that it does not matter which of them is written last.
    rows = kept.new_empty((len(found), coors.shape[1]))
    rows[inverse] = kept
    place[inside] = inverse
    return rows.to(coors.dtype), place


@tensors("feats", "coors")
def scatter_cells(feats: Tensor, coors: Tensor, reduce: str) -> tuple[Tensor, Tensor, Tensor]:
    """Features of cells, their coordinates, and the cell of each point."""
    if feats.dim() != 2 or coors.dim() != 2 or len(coors) != len(feats):
        shapes = f"{list(feats.shape)} and {list(coors.shape)}"
        raise ValueError(f"feats, coors: expected shapes [N, C] and [N, D], got {shapes}")
    if coors.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"coors: expected values of type int32 or int64, got {coors.dtype}")
    if not feats.is_floating_point():
        raise ValueError(f"feats: expected values of a floating type, got {feats.dtype}")
    cells, place = unique_rows(coors)
    reduced, _ = reduce_rows(("feats", "coors", "rows"), feats, place, len(cells), reduce, False)
    return reduced, cells, place


def dynamic_scatter(feats: Tensor, coors: Tensor, reduce_type: str = "max") -> tuple[Tensor, Tensor]:
    """Reduce the features of points with equal coordinates, as ``mmcv.ops.dynamic_scatter``, with a gradient for the features.

    Parameters
    ----------
    feats : Tensor of a floating type, ``[N, C]``
    coors : Tensor of int32 or int64, ``[N, D]``
        The cell of each point. Points with a negative coordinate are left out.
    reduce_type : {"max", "sum", "mean", "min"}
        The gradient of a maximum goes to the first of equal points.

    Returns
    -------
    voxel_feats : Tensor of the features' type, ``[M, C]``
    voxel_coors : Tensor of the type of `coors`, ``[M, D]``
        Cells in ascending order, from the first coordinate on.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmcv import dynamic_scatter
    >>> feats = torch.tensor([[1.0], [5.0], [3.0], [7.0]])
    >>> coors = torch.tensor([[0, 2, 1], [0, 0, 1], [0, 2, 1], [-1, -1, -1]])
    >>> means, cells = dynamic_scatter(feats, coors, "mean")
    >>> means.tolist(), cells.tolist()
    ([[5.0], [2.0]], [[0, 0, 1], [0, 2, 1]])
    """
    reduced, cells, _ = scatter_cells(feats, coors, reduce_type)
    return reduced, cells


class DynamicScatter(nn.Module):
    """Reduce the features of points with equal coordinates, as ``mmcv.ops.DynamicScatter``; see :func:`dynamic_scatter`.

    Parameters
    ----------
    voxel_size, point_cloud_range
        Kept, and not used.
    average_points : bool
        Means instead of maxima.
    """

    def __init__(
        self, voxel_size: Sequence[float], point_cloud_range: Sequence[float], average_points: bool
    ) -> None:
        super().__init__()
        self.voxel_size = voxel_size
        self.point_cloud_range = point_cloud_range
        self.average_points = average_points

    def forward_single(self, points: Tensor, coors: Tensor) -> tuple[Tensor, Tensor]:
        """One cloud: ``[N, C]`` and ``[N, 3]``."""
        return dynamic_scatter(points, coors, "mean" if self.average_points else "max")

    def forward(self, points: Tensor, coors: Tensor) -> tuple[Tensor, Tensor]:
        """One cloud with ``[N, 3]``, or a batch with ``[N, 4]``, the sample in front; rows are grouped by sample."""
        return self.forward_single(points, coors)

    def extra_repr(self) -> str:
        return (
            f"voxel_size={self.voxel_size}, point_cloud_range={self.point_cloud_range}, "
            f"average_points={self.average_points}"
        )
