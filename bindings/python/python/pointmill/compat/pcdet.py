"""The names of OpenPCDet: of ``pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils``, ``VoxelGeneratorWrapper`` of ``pcdet.datasets.processor.data_processor``, and the evaluation of
``pcdet.datasets.kitti.kitti_object_eval_python``, which needs neither numba nor a GPU here.

``from pointmill.compat import pcdet as roiaware_pool3d_utils`` is all that a change takes, and :func:`patch` changes it everywhere. The
overlaps and suppression of ``pcdet.ops.iou3d_nms.iou3d_nms_utils`` are here too; those of "gpu" in their names run on the CPU as well.

Boxes have cz at their own centre. As in OpenPCDet they are 1e-5 m longer and wider on each side for pooling and :func:`points_in_boxes_gpu`, and 1e-2 m for
:func:`points_in_boxes_cpu`.

Equal bit by bit: voxels to the generator that it uses (spconv on the CPU, for points in single precision); lists and maxima of pooling for points farther than rounding
from the faces of boxes and voxels; see :mod:`pointmill.compat.mmcv` for why. Different on purpose: points that are not finite are outside; empty input is valid; a
refused call raises and does not end the process; gradients are the same in every run; all of it runs on the CPU too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import _pointmill
from . import _placeholders, mmcv, pointnet2_batch, pointnet2_stack
from ._boxes import iou, keep, replace
from ._kitti import d3_box_overlap, eval_class, rotate_iou_gpu_eval
from ._kitti_reports import do_eval, get_official_eval_result
from ._pooling import pool_points, pool_voxels
from ._shared import inside, plain, samples, tensors, xyz

__all__ = [
    "RoIAwarePool3d",
    "RoIPointPool3d",
    "VoxelGeneratorWrapper",
    "boxes_aligned_iou3d_gpu",
    "boxes_bev_iou_cpu",
    "boxes_iou3d_gpu",
    "boxes_iou_bev",
    "d3_box_overlap",
    "do_eval",
    "eval_class",
    "get_official_eval_result",
    "nms_gpu",
    "nms_normal_gpu",
    "paired_boxes_iou3d_gpu",
    "patch",
    "points_in_boxes_cpu",
    "points_in_boxes_gpu",
    "rotate_iou_gpu_eval",
]

_GPU_MARGIN = 1e-5
_CPU_MARGIN = 1e-2


def points_in_boxes_cpu(points: np.ndarray | Tensor, boxes: np.ndarray | Tensor) -> np.ndarray | Tensor:
    """Find the points in each box.

    Parameters
    ----------
    points : array or Tensor, ``[N, 3]`` or more columns
    boxes : array or Tensor, ``[T, 7]``
        cx, cy, cz, dx, dy, dz, heading.

    Returns
    -------
    array or Tensor of int32, ``[T, N]``
        1 where the box holds the point, else 0; an array of numpy if `points` is one.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pcdet import points_in_boxes_cpu
    >>> boxes = np.array([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    >>> points_in_boxes_cpu(np.array([[1.5, 0.5, 0.5], [3.0, 0.0, 0.0]]), boxes).tolist()
    [[1, 0]]
    """
    from_numpy = isinstance(points, np.ndarray)
    points, boxes = (torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in (points, boxes))
    if boxes.dim() != 2 or boxes.shape[1] != 7:
        raise ValueError(f"boxes: expected an array of shape [T, 7], got shape {list(boxes.shape)}")
    found = inside(xyz(points), plain(boxes), "center", _CPU_MARGIN).T.contiguous()
    return found.numpy() if from_numpy else found


@tensors("points", "boxes")
def points_in_boxes_gpu(points: Tensor, boxes: Tensor) -> Tensor:
    """Find the lowest box that holds each point.

    Parameters
    ----------
    points : Tensor, ``[B, M, 3]``
    boxes : Tensor, ``[B, T, 7]``
        cx, cy, cz, dx, dy, dz, heading.

    Returns
    -------
    Tensor of int32, ``[B, M]``
        The index of the box, -1 for none.
    """
    samples(points, boxes)
    find = _pointmill.points_in_boxes_part
    parts = [find(plain(p), plain(b), origin="center", margin=_GPU_MARGIN) for p, b in zip(points, boxes)]
    return torch.stack(parts) if parts else points.new_empty(points.shape[:2], dtype=torch.int32)


class RoIAwarePool3d(nn.Module):
    """Pool the features of the points in each box, with a gradient for the features.

    Parameters
    ----------
    out_size : int or 3 ints
        Voxels of a box.
    max_pts_each_voxel : int
        One more than the points that a voxel keeps.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pcdet import RoIAwarePool3d
    >>> rois = torch.tensor([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    >>> pts = torch.tensor([[1.5, 0.5, 0.5], [1.6, 0.4, 0.4]])
    >>> RoIAwarePool3d(1)(rois, pts, torch.tensor([[1.0], [5.0]]), pool_method="avg").item()
    3.0
    """

    def __init__(self, out_size: int | tuple[int, int, int], max_pts_each_voxel: int = 128) -> None:
        super().__init__()
        self.out_size = out_size
        self.max_pts_each_voxel = max_pts_each_voxel

    @tensors("rois", "pts", "pts_feature")
    def forward(self, rois: Tensor, pts: Tensor, pts_feature: Tensor, pool_method: str = "max") -> Tensor:
        """Pool ``[B, 7]``, ``[N, 3]``, ``[N, C]`` to ``[B, ox, oy, oz, C]``."""
        if pool_method not in ("max", "avg"):
            raise ValueError(f"pool_method: expected 'max' or 'avg', got {pool_method!r}")
        if rois.dim() != 2 or rois.shape[1] != 7:
            raise ValueError(f"rois: expected an array of shape [B, 7], got shape {list(rois.shape)}")
        return pool_voxels(
            rois, pts, pts_feature, self.out_size, self.max_pts_each_voxel, pool_method, "center", _GPU_MARGIN
        )


class RoIPointPool3d(nn.Module):
    """List the points in each box with their features, as ``pcdet.ops.roipoint_pool3d.roipoint_pool3d_utils.RoIPointPool3d``, with a gradient for the features.

    Parameters
    ----------
    num_sampled_points : int
        Points of a box: the first in input order, again and again where a box has fewer.
    pool_extra_width : float or 3 floats
        By how much boxes are longer, wider and higher.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pcdet import RoIPointPool3d
    >>> points = torch.tensor([[[2.25, 0.5, 0.5], [9.0, 0.0, 0.0], [1.0, 0.0, 0.5]]])
    >>> boxes = torch.tensor([[[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]]])
    >>> pooled, empty = RoIPointPool3d(3, 1.0)(points, torch.tensor([[[7.0], [8.0], [9.0]]]), boxes)
    >>> pooled[0, 0, :, 3].tolist(), empty.tolist()
    ([7.0, 9.0, 7.0], [[0]])
    """

    def __init__(self, num_sampled_points: int = 512, pool_extra_width: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self.num_sampled_points = mmcv.RoIPointPool3d(num_sampled_points).num_sampled_points
        self.pool_extra_width = pool_extra_width

    @tensors("points", "point_features", "boxes3d")
    def forward(self, points: Tensor, point_features: Tensor, boxes3d: Tensor) -> tuple[Tensor, Tensor]:
        """Pool ``[B, N, 3]``, ``[B, N, C]``, ``[B, M, 7]`` (cz of the centre) to ``[B, M, S, 3 + C]``, x, y, z first and zeros for boxes without points, and int32 ``[B, M]``, 1 for those."""
        return pool_points((points, point_features, boxes3d), self.num_sampled_points, width=self.pool_extra_width)


class VoxelGeneratorWrapper:
    """Bin points of numpy into voxels, as the data loader does.

    Parameters
    ----------
    vsize_xyz : 3 floats
    coors_range_xyz : 6 floats
    num_point_features : int
        Columns that a point has.
    max_num_points_per_voxel, max_num_voxels : int

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pcdet import VoxelGeneratorWrapper
    >>> generator = VoxelGeneratorWrapper([1, 1, 1], [0, 0, 0, 4, 4, 1], 3, 5, 100)
    >>> voxels, coordinates, num_points = generator.generate(np.array([[2.5, 0.5, 0.5]], np.float32))
    >>> coordinates.tolist(), num_points.tolist()
    ([[0, 0, 2]], [1])
    """

    def __init__(
        self,
        vsize_xyz: Sequence[float],
        coors_range_xyz: Sequence[float],
        num_point_features: int,
        max_num_points_per_voxel: int,
        max_num_voxels: int,
    ) -> None:
        self._columns = num_point_features
        self._params: dict[str, Any] = {
            "voxel_size": vsize_xyz,
            "point_cloud_range": coors_range_xyz,
            "max_num_points": max_num_points_per_voxel,
            "max_voxels": max_num_voxels,
        }

    def generate(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bin ``[N, C]`` into voxels ``[V, M, C]``, coordinates z, y, x ``[V, 3]`` and numbers of points ``[V]``."""
        points = np.ascontiguousarray(points, dtype=np.float32)
        if points.ndim != 2 or points.shape[1] != self._columns:
            raise ValueError(f"points: expected an array of shape [N, {self._columns}], got shape {list(points.shape)}")
        result = _pointmill.voxelize(points, **self._params)
        return result.voxels, result.coords, result.num_points


def boxes_bev_iou_cpu(boxes_a: np.ndarray | Tensor, boxes_b: np.ndarray | Tensor) -> np.ndarray | Tensor:
    """Measure the overlap of footprints: ``[N, 7]``, ``[M, 7]`` to float32 ``[N, M]``; an array of numpy if `boxes_a` is one.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pcdet import boxes_bev_iou_cpu
    >>> boxes_bev_iou_cpu(np.array([[0, 0, 0, 4, 2, 2, 0.5]]), np.array([[0, 0, 5, 4, 2, 2, 0.5]])).tolist()
    [[1.0]]
    """
    from_numpy = isinstance(boxes_a, np.ndarray)
    a, b = (torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in (boxes_a, boxes_b))
    found = iou(a, b)
    return found.numpy() if from_numpy else found


@tensors("boxes_a", "boxes_b")
def boxes_iou_bev(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Measure the overlap of footprints: ``[N, 7]``, ``[M, 7]`` to float32 ``[N, M]``."""
    return iou(boxes_a, boxes_b)


@tensors("boxes_a", "boxes_b")
def boxes_iou3d_gpu(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Measure the overlap of volumes: ``[N, 7]``, ``[M, 7]`` to float32 ``[N, M]``."""
    return iou(boxes_a, boxes_b, "volume")


@tensors("boxes_a", "boxes_b")
def boxes_aligned_iou3d_gpu(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Measure the overlap of volumes of the same row: ``[N, 7]`` twice to float32 ``[N, 1]``."""
    return iou(boxes_a, boxes_b, "volume", aligned=True)[:, None]


@tensors("boxes_a", "boxes_b")
def paired_boxes_iou3d_gpu(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Measure the overlap of volumes of the same row: ``[N, 7]`` twice to float32 ``[N]``."""
    return iou(boxes_a, boxes_b, "volume", aligned=True)


@tensors("boxes", "scores")
def nms_gpu(
    boxes: Tensor, scores: Tensor, thresh: float, pre_maxsize: int | None = None, **kwargs: Any
) -> tuple[Tensor, None]:
    """Keep the boxes whose footprints no better one overlaps.

    Parameters
    ----------
    boxes : Tensor, ``[N, 7]``
        cx, cy, cz, dx, dy, dz, heading.
    scores : Tensor, ``[N]``
    thresh : float
        A greater overlap suppresses.
    pre_maxsize : int, optional
        Most boxes that are looked at, the best ones.

    Returns
    -------
    (Tensor of int64, ``[K]``, None)
        The rows that are kept, by score.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pcdet import nms_gpu
    >>> boxes = torch.tensor([[0.0, 0, 0, 4, 2, 2, 0.1], [0.2, 0, 0, 4, 2, 2, 0.1]])
    >>> nms_gpu(boxes, torch.tensor([0.3, 0.6]), 0.5)[0].tolist()
    [1]
    """
    return keep(boxes, scores, thresh, pre_max=pre_maxsize), None


@tensors("boxes", "scores")
def nms_normal_gpu(boxes: Tensor, scores: Tensor, thresh: float, **kwargs: Any) -> tuple[Tensor, None]:
    """:func:`nms_gpu` of boxes taken without their heading."""
    return keep(boxes, scores, thresh, "upright-box"), None


# Packages of pointnet2 in OpenPCDet, and their modules.
_POINTNET2 = [
    (pointnet2_batch, "pointnet2_batch", ["pointnet2_utils"]),
    (pointnet2_batch, "pointnet2_3DSSD", ["pointnet2_utils"]),
    (pointnet2_stack, "pointnet2_stack", ["pointnet2_utils", "voxel_query_utils"]),
]


def _is_compiled(path: str) -> bool:
    """Whether a module is one of the compiled ones of OpenPCDet."""
    return path.startswith("pcdet.ops.") and path.endswith(("_cuda", "_ext", ".ingroup_inds.ingroup_inds"))


def patch() -> list[str]:
    """Put the functions of pointmill into OpenPCDet; call it before models are built.

    Every module of ``pcdet`` that has one of the names gets pointmill's. ``iou3d_nms_utils`` and ``roiaware_pool3d_utils``, which cannot be imported without compiled operators, and the
    evaluation of KITTI, which cannot without numba and a GPU, become this module then. The modules of ``pointnet2`` get the names of :mod:`pointmill.compat.pointnet2_batch` and :mod:`pointmill.compat.pointnet2_stack`.
    Other compiled operators that are not installed, such as ``bev_pool`` and the vector pooling of PV-RCNN++, become placeholders: ``pcdet.models`` can be imported, and models that call them raise ``NotImplementedError``.

    Returns
    -------
    list of str
        What was set, such as ``"pcdet.ops.iou3d_nms.iou3d_nms_utils.nms_gpu"``; empty where OpenPCDet is not installed, or on a second call.
    """
    if not _placeholders.is_added(_is_compiled):
        _placeholders.add(_placeholders.Placeholders(_is_compiled, None, _placeholders.function))
    modules = ["pcdet.ops.iou3d_nms.iou3d_nms_utils", "pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils"]
    modules += [f"pcdet.datasets.kitti.kitti_object_eval_python.{name}" for name in ("rotate_iou", "eval")]
    modules += ["pcdet.ops.roipoint_pool3d.roipoint_pool3d_utils"]
    done = replace(sys.modules[__name__], [name for name in __all__ if name != "patch"], ["pcdet"], modules)
    for ours, path, names in _POINTNET2:
        module = f"pcdet.ops.pointnet2.{path}"
        done += replace(ours, ours.__all__, [module], [f"{module}.{name}" for name in names])
    return done
