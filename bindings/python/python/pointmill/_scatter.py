"""Reductions of features over the points of voxels, with a gradient; the same bits in every run and on every device.

torch's own ``scatter_reduce`` and ``index_add`` add by atomics on a GPU, in whatever order these come. Here a value of a result is made by one thread from one list, in the order of the list.
"""

from __future__ import annotations

import torch
from torch import Tensor

_REDUCTIONS = ("sum", "mean", "max")


def scatter(
    features: Tensor, point_to_voxel: Tensor, num_voxels: int | None = None, *, reduce: str = "mean"
) -> Tensor:
    """Reduce the features of each voxel's points, with a gradient for the features.

    Values are added in the order of the points, in every run and on every device; the gradient has the same bits in every run too.

    Parameters
    ----------
    features : Tensor of a floating type, ``[N, F]``
        What is reduced; of half precision in single precision.
    point_to_voxel : Tensor of int32 or int64, ``[N]``
        The voxel of each point, -1 for none, as ``point_to_voxel`` of :func:`pointmill.voxelize` has it.
    num_voxels : int, optional
        V; one more than the largest of `point_to_voxel`.
    reduce : {"sum", "mean", "max"}
        Maxima ignore NaN, and are NaN where there is nothing else. The gradient of a maximum goes to the first of equal values.

    Returns
    -------
    Tensor of the features' type, ``[V, F]``
        Zeros for a voxel without points.

    Examples
    --------
    >>> import pointmill
    >>> import torch
    >>> from pointmill.torch import scatter
    >>> points = torch.tensor([[2.5, 0.5, 0.5], [0.5, 0.5, 0.5], [2.6, 0.5, 0.5], [9.0, 9.0, 9.0]])
    >>> grid = {"voxel_size": [1, 1, 1], "point_cloud_range": [0, 0, 0, 4, 4, 1]}
    >>> voxels = pointmill.voxelize(points, **grid, max_num_points=None, point_to_voxel=True)
    >>> features = torch.tensor([[1.0], [2.0], [4.0], [8.0]], requires_grad=True)
    >>> largest = scatter(features, voxels.point_to_voxel, voxels.num_voxels, reduce="max")
    >>> largest.tolist()
    [[4.0], [2.0]]
    >>> largest.sum().backward()
    >>> features.grad.tolist()
    [[0.0], [1.0], [1.0], [0.0]]
    """
    reduced, _ = reduce_rows("features", features, "point_to_voxel", point_to_voxel, num_voxels, reduce)
    return reduced


def reduce_rows(
    name: str, features: Tensor, index_name: str, index: Tensor, rows: int | None, reduce: str
) -> tuple[Tensor, Tensor]:
    """What :func:`scatter` does, with the point that each maximum came from; errors speak of the names."""
    if reduce not in _REDUCTIONS:
        raise ValueError(f"reduce: expected one of {', '.join(map(repr, _REDUCTIONS))}, got {reduce!r}")
    if features.dim() != 2 or not features.is_floating_point():
        shape = list(features.shape)
        raise ValueError(f"{name}: expected [N, F] values of a floating type, got shape {shape} of {features.dtype}")
    if index.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{index_name}: expected values of type int32 or int64, got {index.dtype}")
    if index.shape != features.shape[:1]:
        raise ValueError(f"{index_name}: expected shape [{len(features)}], as {name}, got {list(index.shape)}")
    if index.device != features.device:
        raise ValueError(f"{index_name}: expected a tensor on {features.device}, as {name}, got one on {index.device}")
    least, most = (int(end) for end in index.aminmax()) if len(index) else (-1, -1)
    if least < -1 or (rows is not None and most >= rows):
        expected = "-1 or more" if rows is None else f"-1 to {rows - 1}"
        raise ValueError(f"{index_name}: expected numbers of {expected}, got {least if least < -1 else most}")
    indices, splits = lists_of(index.long(), most + 1 if rows is None else rows)
    return reduce_lists(features, indices, splits, reduce)


def lists_of(rows: Tensor, num_rows: int) -> tuple[Tensor, Tensor]:
    """The points of each row in ascending order: indices ``[K]`` and where each row's start, ``[num_rows + 1]``.

    `rows` is int64 ``[N]``, the row of each point, -1 for none.
    """
    # Points of no row come first in the order, and are cut off.
    order = torch.argsort(rows, stable=True)
    counts = torch.bincount(rows + 1, minlength=num_rows + 1)
    ends = torch.cumsum(counts, 0)
    return order[ends[0] :], ends - ends[0]


def segment_sum(values: Tensor, splits: Tensor) -> Tensor:
    """The sums of rows that follow each other: ``[K, C]`` and ``[V + 1]`` to ``[V, C]``."""
    return _segment(values, splits, "sum", 0.0)


def reduce_lists(values: Tensor, indices: Tensor, splits: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """Reduce ``values[indices]`` over lists, with a gradient for the values.

    Parameters
    ----------
    values : Tensor of a floating type, ``[N, C]``
    indices : Tensor of int64, ``[K]``
        Rows of `values`, list after list. One may be in several lists.
    splits : Tensor of int64, ``[V + 1]``
        Where each list starts.
    reduce : {"sum", "mean", "max"}

    Returns
    -------
    reduced : Tensor, ``[V, C]``
        In the type of `values`: of half precision it is computed in single precision. A list without values gives zeros. Maxima ignore NaN, and are NaN where there is nothing else.
    argmax : Tensor of int64, ``[V, C]``
        For "max" the index that each value came from, the first of equal ones; -1 for none. Empty otherwise.
    """
    return _Reduce.apply(values, indices, splits, reduce)


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, indices, splits, reduce):
        counts = splits[1:] - splits[:-1]
        wide = _wide(values[indices])
        positions = values.new_empty((0,), dtype=torch.int64)
        argmax = positions
        if reduce == "max":
            reduced, positions = _largest(wide, splits)
            argmax = torch.where(positions < 0, -1, indices[positions.clamp(min=0)]) if len(indices) else positions
        else:
            reduced = segment_sum(wide, splits)
            if reduce == "mean":
                reduced = reduced / counts.clamp(min=1)[:, None].to(reduced.dtype)
        # Processors differ in the NaN that they compute.
        reduced = torch.where(reduced.isnan(), torch.nan, reduced).to(values.dtype)
        ctx.save_for_backward(indices, counts, positions)
        ctx.reduce, ctx.rows = reduce, values.shape[0]
        ctx.mark_non_differentiable(argmax)
        return reduced, argmax

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad, _):
        indices, counts, positions = ctx.saved_tensors
        wide = _wide(grad)
        if ctx.reduce == "mean":
            wide = wide / counts.clamp(min=1)[:, None].to(wide.dtype)
        row = torch.repeat_interleave(torch.arange(len(counts), device=grad.device), counts, output_size=len(indices))
        each = wide[row]
        if ctx.reduce == "max":
            place = torch.arange(len(indices), device=grad.device)
            each = torch.where(positions[row] == place[:, None], each, 0)
        return scatter_rows(each, indices, ctx.rows).to(grad.dtype), None, None, None


def scatter_rows(each: Tensor, indices: Tensor, rows: int) -> Tensor:
    """Add rows where they belong: ``[K, C]`` and ``[K]`` to ``[rows, C]``, in the order of the rows."""
    order, splits = lists_of(indices, rows)
    return segment_sum(each[order], splits)


def _wide(values: Tensor) -> Tensor:
    """In the precision that is computed in."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _largest(values: Tensor, splits: Tensor) -> tuple[Tensor, Tensor]:
    """The largest value of each list, and its place among all values: the first of equal ones, -1 for none."""
    size = values.shape[0]
    if size == 0:
        shape = (len(splits) - 1, values.shape[1])
        return values.new_zeros(shape), splits.new_full(shape, -1)
    number = ~values.isnan()
    best = _segment(torch.where(number, values, -torch.inf), splits, "max", -torch.inf)
    counts = splits[1:] - splits[:-1]
    row = torch.repeat_interleave(torch.arange(len(counts), device=values.device), counts, output_size=size)
    # The first place is the largest of numbers that fall. They are whole, and exact in double precision.
    falling = torch.arange(size, 0, -1, dtype=torch.float64, device=values.device)
    hits = torch.where(values == best[row], falling[:, None], 0.0)
    place = size - _segment(hits, splits, "max", 0.0).long()
    none = place == size
    place = torch.where(none, -1, place)
    # The value itself, so that of zeros the first one's sign stays; NaN where there are values but no numbers.
    found = torch.gather(values, 0, place.clamp(min=0))
    absent = torch.where(counts > 0, torch.nan, 0.0).to(values.dtype)[:, None]
    return torch.where(none, absent, found), place


def _segment(values: Tensor, splits: Tensor, reduce: str, empty: float) -> Tensor:
    if values.shape[0] == 0 or values.shape[1] == 0 or len(splits) == 1:
        return values.new_full((len(splits) - 1, values.shape[1]), empty)
    # Two dimensions: for one, torch would take a parallel sum on a GPU.
    return torch.segment_reduce(values.contiguous(), reduce, offsets=splits, axis=0, unsafe=True, initial=empty)
