"""pointmill for torch: modules, functions with gradients, and operators that ``torch.compile`` knows.

The same results as those of :mod:`pointmill`, for tensors on the CPU or a GPU. On a GPU work is queued on the current stream.

In eager mode calls go straight to the extension, which takes a few microseconds; where torch traces or transforms (``torch.compile``, ``torch.export``, ``torch.jit.trace``,
``make_fx``, fake tensors, ``torch.func``) they become the operators ``torch.ops.pointmill.*``, which are registered with shapes and gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from types import MappingProxyType
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from . import _pointmill
from ._boxes import boxes_iou, nms
from ._points import ball_query, furthest_point_sample, group, interpolate, knn
from ._roipoint_ops import roipoint_pool3d
from ._scatter import scatter, segment_csr
from ._sparse import (
    CellSample,
    PooledCells,
    densify,
    grid_sample,
    index_pairs,
    pillar_features,
    pool_hierarchy,
    serialize,
)
from ._traces import _eager, _each, _expect_tensor, _is_batched, _operator, _recorded, _refuse_grad, _transforms

__all__ = [
    "CellSample",
    "PooledCells",
    "RoIAwarePool3d",
    "Voxelization",
    "ball_query",
    "boxes_iou",
    "densify",
    "furthest_point_sample",
    "grid_sample",
    "group",
    "index_pairs",
    "interpolate",
    "knn",
    "nms",
    "pillar_features",
    "points_in_boxes_part",
    "pool_hierarchy",
    "roi_aware_pool3d",
    "roipoint_pool3d",
    "scatter",
    "segment_csr",
    "serialize",
    "voxelize",
]


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
    pick: str,
    seed: int,
    pick_column: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    result = _pointmill.voxelize(
        points,
        voxel_size=voxel_size,
        point_cloud_range=point_cloud_range,
        max_num_points=max_num_points,
        max_voxels=max_voxels,
        order=cast(Any, order),
        voxels=not mean,
        mean="float32" if mean else None,
        padded=padded,
        row_splits=row_splits,
        pick=cast(Any, pick),
        seed=seed,
        pick_column=pick_column,
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
    pick: str = "first",
    seed: int = 0,
    pick_column: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    how = (order, mean, padded, row_splits, pick, seed, pick_column)
    return _voxelize(points, voxel_size, point_cloud_range, max_num_points, max_voxels, *how)


@_voxelize_op.register_fake
def _(points, voxel_size, point_cloud_range, max_num_points, max_voxels, order, mean, padded, row_splits, *_):
    samples = 1 if row_splits is None else len(row_splits) - 1
    rows = samples * max_voxels if padded else torch.library.get_ctx().new_dynamic_size()
    columns = points.shape[1]
    values = (rows, columns) if mean else (rows, max_num_points, columns)
    coords = (rows, 3 if row_splits is None else 4)
    return (
        points.new_empty(values, dtype=torch.float32),
        points.new_empty(coords, dtype=torch.int32),
        points.new_empty((rows,), dtype=torch.int32),
    )


def _voxelize_each(info, in_dims, points, *params):
    # Of as many rows in each sample, or there is nothing to stack.
    if not params[6]:
        raise ValueError("padded: expected True under torch.vmap, where all samples have as many rows, got False")
    return _each(info, in_dims, _voxelize_op, (points, *params))


if hasattr(_voxelize_op, "register_vmap"):  # from torch 2.5 on; before, vmap does the same with a warning
    _voxelize_op.register_vmap(_voxelize_each)


def voxelize(
    points: Tensor,
    voxel_size: Sequence[float],
    point_cloud_range: Sequence[float],
    max_num_points: int = 10,
    max_voxels: int = 160_000,
    *,
    order: Literal["first-seen", "sorted"] = "first-seen",
    mean: bool = False,
    padded: bool = False,
    row_splits: Sequence[int] | None = None,
    pick: Literal["first", "random", "round-robin"] = "first",
    seed: int = 0,
    pick_column: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Bin points into voxels.

    Parameters
    ----------
    points : Tensor, ``[N, C]``
        x, y, z in metres, then whatever is carried along; 3 <= C <= 64, without grad. Contiguous float32 is used in place.
    voxel_size : 3 floats
        Edges along x, y, z in metres.
    point_cloud_range : 6 floats
        x_min, y_min, z_min, x_max, y_max, z_max in metres.
    max_num_points : int
        M, most points of a voxel.
    max_voxels : int
        Most voxels of a sample: the first in the order of rows stay.
    order : {"first-seen", "sorted"}
        Rows by the smallest index of their points, or by cell.
    mean : bool
        Means instead of points.
    padded : bool
        Whether the results have ``max_voxels`` rows a sample; unused rows have coordinates -1 and zeros elsewhere. Then a GPU is never waited for.
    row_splits : ints, ``[B + 1]``, optional
        For a batch, where each sample's points start.
    pick, seed, pick_column
        Which points of a fuller voxel stay: see :func:`pointmill.voxelize`.

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
    eager = _eager(points)
    _refuse_grad("points", points, eager)
    how = (pick, index(seed), None if pick_column is None else index(pick_column))
    if eager:
        grid = (voxel_size, point_cloud_range, max_num_points, max_voxels)
        return _voxelize(points, *grid, order, mean, padded, row_splits, *how)
    # Operators take numbers and lists of Python's own.
    return _voxelize_op(
        points,
        [float(v) for v in voxel_size],
        [float(v) for v in point_cloud_range],
        index(max_num_points),
        index(max_voxels),
        order,
        mean,
        padded,
        None if row_splits is None else [index(k) for k in row_splits],
        *how,
    )


class Voxelization(nn.Module):
    """Bin points into voxels, as a module.

    Parameters
    ----------
    voxel_size, point_cloud_range, max_num_points, order, mean, padded, pick, seed, pick_column
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
        max_voxels: int | Sequence[int] = 160_000,
        *,
        order: Literal["first-seen", "sorted"] = "first-seen",
        mean: bool = False,
        padded: bool = False,
        pick: Literal["first", "random", "round-robin"] = "first",
        seed: int = 0,
        pick_column: int | None = None,
    ) -> None:
        super().__init__()
        self.voxel_size = [float(v) for v in voxel_size]
        self.point_cloud_range = [float(v) for v in point_cloud_range]
        self.max_num_points = index(max_num_points)
        pair: Any = max_voxels if hasattr(max_voxels, "__len__") else (max_voxels, max_voxels)
        if len(pair) != 2:
            raise ValueError(f"max_voxels: expected a number or a pair (training, evaluation), got {max_voxels!r}")
        self.max_voxels = tuple(index(number) for number in pair)
        self.order = order
        self.mean = mean
        self.padded = padded
        self.pick: Literal["first", "random", "round-robin"] = pick
        self.seed = seed
        self.pick_column = pick_column

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
            pick=self.pick,
            seed=self.seed,
            pick_column=self.pick_column,
        )

    def extra_repr(self) -> str:
        return (
            f"voxel_size={self.voxel_size}, point_cloud_range={self.point_cloud_range}, "
            f"max_num_points={self.max_num_points}, max_voxels={self.max_voxels}"
        )


# RoI-aware pooling


def _triple(out_size: int | Sequence[int]) -> tuple[int, int, int]:
    sizes: Any = out_size if hasattr(out_size, "__len__") else (out_size,) * 3
    x, y, z = sizes
    return index(x), index(y), index(z)


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
    how: dict[str, Any] = {"mode": mode, "origin": origin}
    result = _pointmill.roi_aware_pool3d(
        rois,
        pts,
        pts_feature,
        out_size=out_size,
        max_pts_per_voxel=max_pts_per_voxel,
        margin=margin,
        lists=False,
        **how,
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
    how: dict[str, Any] = {"mode": mode, "origin": origin}
    return _pointmill.roi_aware_pool3d_backward(
        rois,
        pts,
        argmax if mode == "max" else None,
        grad.contiguous(),
        out_size=out_size,
        max_pts_per_voxel=max_pts_per_voxel,
        margin=margin,
        **how,
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


def _gradient_setup(ctx, inputs, output):
    rois, pts, argmax, _, *ctx.params = inputs
    ctx.save_for_backward(rois, pts, argmax)


def _gradient_backward(ctx, grad_features):
    grad = _derivative(*ctx.saved_tensors, grad_features, *ctx.params)
    return None, None, None, grad, None, None, None, None, None


_pool_backward_op.register_autograd(_gradient_backward, setup_context=_gradient_setup)


def _derivative(rois, pts, argmax, values, out_size, max_pts_per_voxel, mode, origin, margin):
    """The derivative of a pooling by its features, which is linear: maxima take the values of their points, and means are those of values."""
    if mode == "mean":
        values = values.contiguous()
        return roi_aware_pool3d(rois, pts, values, out_size, max_pts_per_voxel, "mean", origin=origin, margin=margin)
    if not len(values):
        return values.new_zeros(argmax.shape)
    rows = argmax.flatten(0, 3).clamp(min=0).long()
    return torch.where(argmax >= 0, values.gather(0, rows).reshape(argmax.shape), 0)


class _Pool(torch.autograd.Function):
    """The gradient in eager mode, without the dispatcher's detour."""

    @staticmethod
    def forward(ctx, rois, pts, pts_feature, params):
        result = _pointmill.roi_aware_pool3d(rois, pts, pts_feature, lists=False, for_gradient=True, **params)
        ctx.save_for_backward(rois, pts, result.argmax)
        # While the operator has seen no other boxes and points, it need not look for them again.
        ctx.gradient = result.gradient
        ctx.params = params
        return result.pooled

    @staticmethod
    def backward(ctx, grad):
        rois, pts, argmax = ctx.saved_tensors
        derived = grad.requires_grad and torch.is_grad_enabled()
        if not derived and _transforms() is None and not _is_batched(grad):
            return None, None, ctx.gradient(rois, pts, argmax, grad.contiguous()), None
        argmax = pts.new_empty((0,), dtype=torch.int32) if argmax is None else argmax
        if derived or _transforms() is not None:
            # create_graph=True asks for derivatives of the gradient.
            return None, None, _TransformedGradient.apply(rois, pts, argmax, grad, MappingProxyType(ctx.params)), None
        return None, None, _pool_backward_op(rois, pts, argmax, grad, **ctx.params), None


class _TransformedPool(torch.autograd.Function):
    """Pooling as torch.func takes it, and derivatives that are taken forwards."""

    @staticmethod
    def forward(rois, pts, pts_feature, params):
        return _pool_op(rois, pts, pts_feature, **params)

    @staticmethod
    def setup_context(ctx, inputs, output):
        rois, pts, _, ctx.params = inputs
        ctx.save_for_backward(rois, pts, output[1])
        ctx.save_for_forward(rois, pts, output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return None, None, _TransformedGradient.apply(*ctx.saved_tensors, grad, ctx.params), None

    @staticmethod
    def jvp(ctx, _rois, _pts, tangent, _):
        return _derivative(*ctx.saved_tensors, tangent, **ctx.params), None

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _each(info, in_dims, _TransformedPool.apply, inputs)


class _TransformedGradient(torch.autograd.Function):
    """The gradient, with derivatives of its own."""

    @staticmethod
    def forward(rois, pts, argmax, grad, params):
        return _pool_backward_op(rois, pts, argmax, grad, **params)

    @staticmethod
    def setup_context(ctx, inputs, output):
        *saved, _, ctx.params = inputs
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx, values):
        return None, None, None, _derivative(*ctx.saved_tensors, values, **ctx.params), None

    @staticmethod
    def jvp(ctx, _rois, _pts, _argmax, tangent, _):
        return _TransformedGradient.apply(*ctx.saved_tensors, tangent, ctx.params)

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _each(info, in_dims, _TransformedGradient.apply, inputs)


def roi_aware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: int | Sequence[int],
    max_pts_per_voxel: int = 127,
    mode: Literal["max", "mean"] = "max",
    *,
    origin: Literal["bottom", "center"] = "bottom",
    margin: float = 0.0,
) -> Tensor:
    """Pool the features of the points in each box, with a gradient for the features.

    Parameters
    ----------
    rois : Tensor, ``[B, 7]``
        cx, cy, cz, dx, dy, dz, heading in metres and radians.
    pts : Tensor, ``[N, 3]``
        x, y, z in metres.
    pts_feature : Tensor of float32, float16 or bfloat16, ``[N, C]``
        What is pooled.
    out_size : int or 3 ints
        Voxels of a box along its length, width and height.
    max_pts_per_voxel : int
        Most points of a voxel: the first in input order stay; 0 keeps none.
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
    eager = _eager(rois, pts, pts_feature)
    _refuse_grad("rois", rois, eager)
    _refuse_grad("pts", pts, eager)
    params: dict[str, Any] = {
        "out_size": _triple(out_size),
        "max_pts_per_voxel": index(max_pts_per_voxel),
        "mode": mode,
        "origin": origin,
        "margin": float(margin),
    }
    if not eager:
        if not torch.compiler.is_compiling():
            _expect_tensor("pts_feature", pts_feature)
        if _recorded():
            return _pool_op(rois, pts, pts_feature, **params)[0]
        return _TransformedPool.apply(rois, pts, pts_feature, MappingProxyType(params))[0]
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
        max_pts_per_voxel: int = 127,
        mode: Literal["max", "mean"] = "max",
        *,
        origin: Literal["bottom", "center"] = "bottom",
        margin: float = 0.0,
    ) -> None:
        super().__init__()
        self.out_size = _triple(out_size)
        self.max_pts_per_voxel = index(max_pts_per_voxel)
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


def _part_fake(points, boxes, origin, margin):
    return points.new_empty((points.shape[0],), dtype=torch.int32)


@_operator(_part_fake, vmap=_each)
def _points_in_boxes_part(points: Tensor, boxes: Tensor, origin: str, margin: float) -> Tensor:
    return _pointmill.points_in_boxes_part(points, boxes, origin=cast(Any, origin), margin=margin)


def points_in_boxes_part(
    points: Tensor, boxes: Tensor, *, origin: Literal["bottom", "center"] = "bottom", margin: float = 0.0
) -> Tensor:
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
    return _points_in_boxes_part({"points": points, "boxes": boxes}, origin, float(margin))
