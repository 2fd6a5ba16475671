"""pointmill for torch: modules, functions with gradients, and operators that ``torch.compile`` knows.

The same results as those of :mod:`pointmill`, for tensors on the CPU or a GPU. On a GPU work is queued on the current stream.

In eager mode calls go straight to the extension, which takes a few microseconds; where torch traces (``torch.compile``, fake tensors, ``torch.export``) they become the
operators ``torch.ops.pointmill.*``, which are registered with shapes and gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from . import _pointmill
from ._scatter import scatter

__all__ = [
    "RoIAwarePool3d",
    "Voxelization",
    "points_in_boxes_part",
    "roi_aware_pool3d",
    "scatter",
    "voxelize",
]


def _eager(*tensors: Tensor) -> bool:
    """Whether all tensors have memory and nobody traces."""
    if torch.compiler.is_compiling():
        return False
    return all(type(t) is Tensor or type(t) is nn.Parameter for t in tensors)


def _refuse_grad(name: str, tensor: Tensor) -> None:
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"{name}: expected a tensor that does not require grad "
            "(call detach() on it, or work under torch.no_grad()), got requires_grad=True"
        )


# Voxelization


def _voxelize(
    points: Tensor,
    voxel_size: Sequence[float],
    point_cloud_range: Sequence[float],
    max_num_points: int,
    max_voxels: int,
    order: str,
    mean: bool,
    padded: bool,
    row_splits: Sequence[int] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    result = _pointmill.voxelize(
        points,
        voxel_size=voxel_size,
        point_cloud_range=point_cloud_range,
        max_num_points=max_num_points,
        max_voxels=max_voxels,
        order=order,
        voxels=not mean,
        mean="float32" if mean else None,
        padded=padded,
        row_splits=row_splits,
    )
    return (result.mean if mean else result.voxels), result.coords, result.num_points


@torch.library.custom_op("pointmill::voxelize", mutates_args=())
def _voxelize_op(
    points: Tensor,
    voxel_size: Sequence[float],
    point_cloud_range: Sequence[float],
    max_num_points: int,
    max_voxels: int,
    order: str,
    mean: bool,
    padded: bool,
    row_splits: Sequence[int] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    return _voxelize(
        points, voxel_size, point_cloud_range, max_num_points, max_voxels, order, mean, padded, row_splits
    )


@_voxelize_op.register_fake
def _(points, voxel_size, point_cloud_range, max_num_points, max_voxels, order, mean, padded, row_splits):
    samples = 1 if row_splits is None else len(row_splits) - 1
    rows = samples * max_voxels if padded else torch.library.get_ctx().new_dynamic_size()
    columns = points.shape[1]
    values = (rows, columns) if mean else (rows, max_num_points, columns)
    coords = (rows, 3 if row_splits is None else 4)
    return (
        points.new_empty(values),
        points.new_empty(coords, dtype=torch.int32),
        points.new_empty((rows,), dtype=torch.int32),
    )


def voxelize(
    points: Tensor,
    voxel_size: Sequence[float],
    point_cloud_range: Sequence[float],
    max_num_points: int = 10,
    max_voxels: int = 160_000,
    *,
    order: str = "first_seen",
    mean: bool = False,
    padded: bool = False,
    row_splits: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Bin points into voxels.

    Parameters
    ----------
    points : Tensor of float32, ``[N, C]``
        x, y, z in metres, then whatever is carried along; 3 <= C <= 64, contiguous, without grad.
    voxel_size : 3 floats
        Edges along x, y, z in metres.
    point_cloud_range : 6 floats
        x_min, y_min, z_min, x_max, y_max, z_max in metres.
    max_num_points : int
        M, most points of a voxel: the first in input order stay.
    max_voxels : int
        Most voxels of a sample: the first in the order of rows stay.
    order : {"first_seen", "sorted"}
        Rows by the smallest index of their points, or by cell.
    mean : bool
        Means instead of points.
    padded : bool
        Whether the results have ``max_voxels`` rows a sample; unused rows have coordinates -1 and zeros elsewhere. Then a GPU is never waited for.
    row_splits : ints, ``[B + 1]``, optional
        For a batch, where each sample's points start.

    Returns
    -------
    voxels : Tensor of float32, ``[V, M, C]``, or ``[V, C]`` with `mean`
        The kept points with zeros behind them, or their means.
    coords : Tensor of int32, ``[V, 3]``, or ``[V, 4]`` with `row_splits`
        The cell z, y, x, with the sample in front for a batch.
    num_points : Tensor of int32, ``[V]``
        Kept points.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import voxelize
    >>> points = torch.tensor([[0.5, 0.5, 0.5], [2.5, 0.5, 0.5], [0.6, 0.5, 0.5]])
    >>> voxels, coords, num_points = voxelize(points, [1, 1, 1], [0, 0, 0, 4, 4, 1], max_num_points=2)
    >>> coords.tolist(), num_points.tolist()
    ([[0, 0, 0], [0, 0, 2]], [2, 1])
    """
    _refuse_grad("points", points)
    call = _voxelize if _eager(points) else _voxelize_op
    return call(points, voxel_size, point_cloud_range, max_num_points, max_voxels, order, mean, padded, row_splits)


class Voxelization(nn.Module):
    """Bin points into voxels, as a module.

    Parameters
    ----------
    voxel_size, point_cloud_range, max_num_points, order, mean, padded
        As of :func:`voxelize`.
    max_voxels : int or (int, int)
        Most voxels of a sample; a pair is for training and for evaluation.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import Voxelization
    >>> module = Voxelization([1, 1, 1], [0, 0, 0, 4, 4, 1], max_num_points=2, max_voxels=(1, 8))
    >>> points = torch.tensor([[0.5, 0.5, 0.5], [2.5, 0.5, 0.5]])
    >>> len(module(points)[2]), len(module.eval()(points)[2])
    (1, 2)
    """

    def __init__(
        self,
        voxel_size: Sequence[float],
        point_cloud_range: Sequence[float],
        max_num_points: int = 10,
        max_voxels: int | tuple[int, int] = 160_000,
        *,
        order: str = "first_seen",
        mean: bool = False,
        padded: bool = False,
    ) -> None:
        super().__init__()
        self.voxel_size = [float(v) for v in voxel_size]
        self.point_cloud_range = [float(v) for v in point_cloud_range]
        self.max_num_points = max_num_points
        self.max_voxels = (max_voxels, max_voxels) if isinstance(max_voxels, int) else tuple(max_voxels)
        if len(self.max_voxels) != 2:
            raise ValueError(f"max_voxels: expected a number or a pair (training, evaluation), got {max_voxels!r}")
        self.order = order
        self.mean = mean
        self.padded = padded

    def forward(self, points: Tensor, row_splits: Sequence[int] | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Bin points into voxels: ``[N, C]`` to ``[V, M, C]``, ``[V, 3]``, ``[V]``; see :func:`voxelize`."""
        return voxelize(
            points,
            self.voxel_size,
            self.point_cloud_range,
            self.max_num_points,
            self.max_voxels[0 if self.training else 1],
            order=self.order,
            mean=self.mean,
            padded=self.padded,
            row_splits=row_splits,
        )

    def extra_repr(self) -> str:
        return (
            f"voxel_size={self.voxel_size}, point_cloud_range={self.point_cloud_range}, "
            f"max_num_points={self.max_num_points}, max_voxels={self.max_voxels}"
        )


# RoI-aware pooling


def _triple(out_size: int | Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (out_size,) * 3 if isinstance(out_size, int) else out_size
    return x, y, z


@torch.library.custom_op("pointmill::roi_aware_pool3d", mutates_args=())
def _pool_op(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: Sequence[int],
    max_pts_per_voxel: int,
    mode: str,
    origin: str,
    margin: float,
) -> tuple[Tensor, Tensor]:
    result = _pointmill.roi_aware_pool3d(
        rois,
        pts,
        pts_feature,
        out_size=out_size,
        max_pts_per_voxel=max_pts_per_voxel,
        mode=mode,
        origin=origin,
        margin=margin,
        lists=False,
    )
    argmax = result.argmax
    return result.pooled, pts_feature.new_empty((0,), dtype=torch.int32) if argmax is None else argmax


@_pool_op.register_fake
def _(rois, pts, pts_feature, out_size, max_pts_per_voxel, mode, origin, margin):
    shape = (rois.shape[0], *out_size, pts_feature.shape[1])
    return (
        pts_feature.new_empty(shape),
        pts_feature.new_empty(shape if mode == "max" else (0,), dtype=torch.int32),
    )


@torch.library.custom_op("pointmill::roi_aware_pool3d_backward", mutates_args=())
def _pool_backward_op(
    rois: Tensor,
    pts: Tensor,
    argmax: Tensor,
    grad: Tensor,
    out_size: Sequence[int],
    max_pts_per_voxel: int,
    mode: str,
    origin: str,
    margin: float,
) -> Tensor:
    return _pointmill.roi_aware_pool3d_backward(
        rois,
        pts,
        argmax if mode == "max" else None,
        grad.contiguous(),
        out_size=out_size,
        max_pts_per_voxel=max_pts_per_voxel,
        mode=mode,
        origin=origin,
        margin=margin,
    )


@_pool_backward_op.register_fake
def _(rois, pts, argmax, grad, out_size, max_pts_per_voxel, mode, origin, margin):
    return grad.new_empty((pts.shape[0], grad.shape[-1]))


def _pool_setup(ctx, inputs, output):
    rois, pts, _, *ctx.params = inputs
    ctx.save_for_backward(rois, pts, output[1])
    ctx.mark_non_differentiable(output[1])


def _pool_backward(ctx, grad, _):
    rois, pts, argmax = ctx.saved_tensors
    grad_features = _pool_backward_op(rois, pts, argmax, grad, *ctx.params)
    return None, None, grad_features, None, None, None, None, None


_pool_op.register_autograd(_pool_backward, setup_context=_pool_setup)


class _Pool(torch.autograd.Function):
    """The gradient in eager mode, without the dispatcher's detour."""

    @staticmethod
    def forward(ctx, rois, pts, pts_feature, params):
        result = _pointmill.roi_aware_pool3d(rois, pts, pts_feature, lists=False, for_gradient=True, **params)
        ctx.save_for_backward(rois, pts, result.argmax)
        # While the operator has seen no other boxes and points, it need not look for them again.
        ctx.gradient = result.gradient
        return result.pooled

    @staticmethod
    def backward(ctx, grad):
        rois, pts, argmax = ctx.saved_tensors
        return None, None, ctx.gradient(rois, pts, argmax, grad.contiguous()), None


def roi_aware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: int | Sequence[int],
    max_pts_per_voxel: int = 128,
    mode: str = "max",
    *,
    origin: str = "bottom",
    margin: float = 0.0,
) -> Tensor:
    """Pool the features of the points in each box, with a gradient for the features.

    Parameters
    ----------
    rois : Tensor, ``[B, 7]``
        cx, cy, cz, dx, dy, dz, heading in metres and radians.
    pts : Tensor, ``[N, 3]``
        x, y, z in metres, of the type of `rois`.
    pts_feature : Tensor of float32, float16 or bfloat16, ``[N, C]``
        What is pooled.
    out_size : int or 3 ints
        Voxels of a box along its length, width and height.
    max_pts_per_voxel : int
        One more than the points that a voxel keeps: the first in input order.
    mode : {"max", "mean"}
        How features are pooled.
    origin : {"bottom", "center"}
        Which point of a box cz is: the centre of its bottom face, or its own.
    margin : float
        Metres by which a box is longer and wider on each side.

    Returns
    -------
    Tensor of the features' type, ``[B, ox, oy, oz, C]``
        Zeros in empty voxels.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import roi_aware_pool3d
    >>> rois = torch.tensor([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    >>> pts = torch.tensor([[1.5, 0.5, 0.5], [1.6, 0.4, 0.4], [3.0, 0.0, 0.0]])
    >>> features = torch.tensor([[1.0], [5.0], [7.0]], requires_grad=True)
    >>> roi_aware_pool3d(rois, pts, features, 2).sum().backward()
    >>> features.grad.flatten().tolist()
    [0.0, 1.0, 0.0]
    """
    _refuse_grad("rois", rois)
    _refuse_grad("pts", pts)
    sizes = _triple(out_size)
    mode = "mean" if mode == "avg" else mode
    if not _eager(rois, pts, pts_feature):
        return _pool_op(rois, pts, pts_feature, sizes, max_pts_per_voxel, mode, origin, margin)[0]
    params = {
        "out_size": sizes,
        "max_pts_per_voxel": max_pts_per_voxel,
        "mode": mode,
        "origin": origin,
        "margin": margin,
    }
    if pts_feature.requires_grad and torch.is_grad_enabled():
        return _Pool.apply(rois, pts, pts_feature, params)
    return _pointmill.roi_aware_pool3d(rois, pts, pts_feature, lists=False, **params).pooled


class RoIAwarePool3d(nn.Module):
    """Pool the features of the points in each box, as a module.

    Parameters
    ----------
    out_size, max_pts_per_voxel, mode, origin, margin
        As of :func:`roi_aware_pool3d`.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import RoIAwarePool3d
    >>> rois = torch.tensor([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    >>> pts = torch.tensor([[1.5, 0.5, 0.5], [1.6, 0.4, 0.4]])
    >>> RoIAwarePool3d(1, mode="mean")(rois, pts, torch.tensor([[1.0], [5.0]])).item()
    3.0
    """

    def __init__(
        self,
        out_size: int | Sequence[int],
        max_pts_per_voxel: int = 128,
        mode: str = "max",
        *,
        origin: str = "bottom",
        margin: float = 0.0,
    ) -> None:
        super().__init__()
        self.out_size = _triple(out_size)
        self.max_pts_per_voxel = max_pts_per_voxel
        self.mode = mode
        self.origin = origin
        self.margin = margin

    def forward(self, rois: Tensor, pts: Tensor, pts_feature: Tensor) -> Tensor:
        """Pool features: ``[B, 7]``, ``[N, 3]``, ``[N, C]`` to ``[B, ox, oy, oz, C]``; see :func:`roi_aware_pool3d`."""
        return roi_aware_pool3d(
            rois,
            pts,
            pts_feature,
            self.out_size,
            self.max_pts_per_voxel,
            self.mode,
            origin=self.origin,
            margin=self.margin,
        )

    def extra_repr(self) -> str:
        return f"out_size={self.out_size}, max_pts_per_voxel={self.max_pts_per_voxel}, mode={self.mode!r}"


# Points in boxes


@torch.library.custom_op("pointmill::points_in_boxes_part", mutates_args=())
def _part_op(points: Tensor, boxes: Tensor, origin: str, margin: float) -> Tensor:
    return _pointmill.points_in_boxes_part(points, boxes, origin=origin, margin=margin)


@_part_op.register_fake
def _(points, boxes, origin, margin):
    return points.new_empty((points.shape[0],), dtype=torch.int32)


def points_in_boxes_part(points: Tensor, boxes: Tensor, *, origin: str = "bottom", margin: float = 0.0) -> Tensor:
    """Find the lowest box that holds each point.

    Parameters
    ----------
    points : Tensor, ``[N, 3]``
        x, y, z in metres.
    boxes : Tensor, ``[B, 7]``
        cx, cy, cz, dx, dy, dz, heading, of the type of `points`.
    origin, margin
        As of :func:`roi_aware_pool3d`.

    Returns
    -------
    Tensor of int32, ``[N]``
        The index of the box, -1 for none.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import points_in_boxes_part
    >>> boxes = torch.tensor([[0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0]])
    >>> points_in_boxes_part(torch.tensor([[1.5, 0.5, 0.5], [3.0, 0.0, 0.0]]), boxes).tolist()
    [0, -1]
    """
    _refuse_grad("points", points)
    _refuse_grad("boxes", boxes)
    if not _eager(points, boxes):
        return _part_op(points, boxes, origin, margin)
    return _pointmill.points_in_boxes_part(points, boxes, origin=origin, margin=margin)
