"""The names of ``mmdet3d.models.data_preprocessors.voxelize`` of mmdet3d 1.x.

mmdet3d 1.x calls mmcv's compiled operators itself and does not use ``mmcv.ops.Voxelization``. One line before the model is built gives it those of pointmill, for hard, dynamic and
cylindrical voxelization::

    mmdet3d.models.data_preprocessors.voxelize.voxelization = pointmill.compat.mmdet3d.voxelization

Or :func:`patch` sets this and all other names.

What is equal is said in :mod:`pointmill.compat.mmcv`.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from . import _placeholders, mmcv
from ._boxes import box_collision_test, circles, replace
from ._dynamic import DynamicScatter, scatter_cells
from ._kitti import d3_box_overlap, eval_class, rotate_iou_gpu_eval
from ._kitti_reports import do_eval_of_types as do_eval, kitti_eval
from ._voxels import pair
from .mmcv import voxelization

__all__ = [
    "DynamicScatter3D",
    "VoxelizationByGridShape",
    "box_collision_test",
    "circle_nms",
    "d3_box_overlap",
    "do_eval",
    "dynamic_scatter_3d",
    "eval_class",
    "kitti_eval",
    "patch",
    "rotate_iou_gpu_eval",
    "voxelization",
]


class VoxelizationByGridShape(nn.Module):
    """Bin points into voxels whose size may follow from the shape of the grid.

    Parameters
    ----------
    point_cloud_range : 6 floats
    max_num_points : int
        Most points of a voxel; -1 gives the cell of each point.
    voxel_size : 3 floats
        Edges of a voxel; or empty.
    grid_shape : 3 ints
        Cells along each axis, the last of which begins at the end of the range: an edge is the range by one cell less. Or empty.
    max_voxels : int or (int, int)
        Most voxels; a pair is for training and for evaluation.
    deterministic : bool
        Without effect: results always are.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.mmdet3d import VoxelizationByGridShape
    >>> module = VoxelizationByGridShape([0, 0, 0, 4, 4, 2], -1, grid_shape=[5, 5, 3])
    >>> module.voxel_size, module(torch.tensor([[2.5, 0.5, 0.5], [9.0, 0.0, 0.0]])).tolist()
    ([1.0, 1.0, 1.0], [[0, 0, 2], [-1, -1, -1]])
    """

    def __init__(
        self,
        point_cloud_range: Sequence[float],
        max_num_points: int,
        voxel_size: Sequence[float] = (),
        grid_shape: Sequence[int] = (),
        max_voxels: int | Sequence[int] = 20000,
        deterministic: bool = True,
    ) -> None:
        super().__init__()
        if bool(len(voxel_size)) == bool(len(grid_shape)):
            got = f"{voxel_size!r} and {grid_shape!r}"
            raise ValueError(f"voxel_size, grid_shape: expected one of them, got {got}")
        self.point_cloud_range = point_cloud_range
        self.max_num_points = max_num_points
        self.max_voxels = pair(max_voxels)
        self.deterministic = deterministic
        limits = torch.tensor(point_cloud_range, dtype=torch.float32)
        if len(voxel_size):
            self.voxel_size = voxel_size
            cells = (limits[3:] - limits[:3]) / torch.tensor(voxel_size, dtype=torch.float32)
            self.grid_shape = torch.round(cells).long().tolist()
        else:
            cells = torch.tensor(grid_shape, dtype=torch.float32)
            self.voxel_size = ((limits[3:] - limits[:3]) / (cells - 1)).tolist()
            self.grid_shape = list(grid_shape)

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Bin points ``[N, C]`` into voxels."""
        most = self.max_voxels[0 if self.training else 1]
        return voxelization(
            input, self.voxel_size, self.point_cloud_range, self.max_num_points, most, self.deterministic
        )

    def extra_repr(self) -> str:
        return (
            f"voxel_size={self.voxel_size}, grid_shape={self.grid_shape}, point_cloud_range={self.point_cloud_range}, "
            f"max_num_points={self.max_num_points}, max_voxels={self.max_voxels}, deterministic={self.deterministic}"
        )


def dynamic_scatter_3d(
    feats: Tensor, coors: Tensor, reduce_type: str = "max", return_map: bool = False
) -> tuple[Tensor, ...]:
    """Reduce the features of points with equal coordinates; see :func:`pointmill.compat.mmcv.dynamic_scatter`.

    With `return_map` there is a third tensor, int32 ``[N]``: the row of each point, -1 for none.
    """
    reduced, cells, place = scatter_cells(feats, coors, reduce_type)
    return (reduced, cells, place.int()) if return_map else (reduced, cells)


class DynamicScatter3D(DynamicScatter):
    """Another name of :class:`pointmill.compat.mmcv.DynamicScatter`."""


def circle_nms(dets: np.ndarray | Tensor, thresh: float, post_max_size: int = 83) -> list[int]:
    """Keep the detections that no better one is close to, as ``mmdet3d.models.layers.circle_nms``.

    Parameters
    ----------
    dets : array or Tensor, ``[N, 3]``
        x, y, score.
    thresh : float
        A squared distance of at most this suppresses.
    post_max_size : int
        Most that are kept.

    Returns
    -------
    list of int
        Rows, by score; of equal scores the lower row first, where mmdet3d has the higher one.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.mmdet3d import circle_nms
    >>> circle_nms(np.array([[0.0, 0.0, 0.3], [1.0, 0.0, 0.9], [5.0, 0.0, 0.5]]), 1.0)
    [1, 2]
    """
    return circles(torch.as_tensor(dets), thresh, post_max_size).tolist()


def _is_extension(path: str) -> bool:
    return path == "mmcv._ext"


def patch() -> list[str]:
    """Put the functions of pointmill into mmcv and mmdet3d; call it before models are built.

    Every module of both that has one of the names gets pointmill's. Where mmcv has no compiled operators, as mmcv-lite, ``mmcv.ops`` has the names of :mod:`pointmill.compat.mmcv`; all others of its names,
    such as ``batched_nms``, ``SparseConvTensor`` and ``DeformConv2d``, can be imported and raise ``NotImplementedError`` when they are called. Models that call them are not served. A module of mmdet3d that
    cannot be imported is a warning.
    ``box_collision_test`` stays mmdet3d's own, because numba compiles callers of it. The evaluation of KITTI needs no GPU then.

    Returns
    -------
    list of str
        What was set, such as ``"mmcv.ops.nms_rotated"``; empty where neither is installed, or on a second call.
    """
    done: list[str] = []
    # A second call must not import the placeholder: it would stay among the modules.
    added = _placeholders.is_added(_is_extension)
    if _placeholders.can_import("mmcv") and not added and not _placeholders.can_import("mmcv._ext"):
        _placeholders.add(_placeholders.Placeholders(_is_extension, None, _placeholders.function))
        if not _placeholders.can_import("mmcv.ops"):
            within = _placeholders.Placeholders(lambda path: f"{path}.".startswith("mmcv.ops."), mmcv, _placeholders.layer)
            _placeholders.add(within)
            done.extend(["mmcv.ops"] if _placeholders.can_import("mmcv.ops") else [])
    done += replace(mmcv, mmcv.__all__, ["mmcv", "mmdet3d"], ["mmcv.ops"])
    modules = ["models.layers.box3d_nms", "models.data_preprocessors.voxelize"]
    for name in modules:
        try:
            importlib.import_module(f"mmdet3d.{name}")
        except (ImportError, OSError, AssertionError) as error:
            # mmdet asserts versions of mmcv.
            if not (isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("mmdet3d")):
                warnings.warn(f"patch: mmdet3d.{name} cannot be imported, and is left as it is: {error}", stacklevel=2)
    done += replace(mmcv, mmcv.__all__, ["mmdet3d"], [])
    own = [name for name in __all__ if name not in ("box_collision_test", "patch")]
    evaluation = [f"mmdet3d.evaluation.functional.kitti_utils.{name}" for name in ("rotate_iou", "eval")]
    return done + replace(sys.modules[__name__], own, ["mmdet3d"], evaluation)
