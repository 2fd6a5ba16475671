"""Reductions of features over the points of voxels, with derivatives; the same bits in every run and on every device.

torch's own ``scatter_reduce`` and ``index_add`` add by atomics on a GPU, in whatever order these come. Here a value of a result is made by one thread from one list, in the order of the list. The
operators are in :mod:`pointmill._scatter_ops`.
"""

from __future__ import annotations

import operator
from typing import Literal

import torch
from torch import Tensor

from ._scatter_ops import PICKS, reduce_by, spread_by
from ._traces import _expect_tensor

_REDUCTIONS = ("sum", "mean", *PICKS)


def scatter(
    features: Tensor,
    point_to_voxel: Tensor,
    num_voxels: int | None = None,
    *,
    reduce: Literal["sum", "mean", "min", "max"] = "mean",
) -> Tensor:
    """Reduce the features of each voxel's points, with derivatives by the features.

    Values are added in the order of the points, in every run and on every device; the gradient has the same bits in every run too. With `num_voxels` a GPU is not waited for: there a number that
    is out of range ends the process' work on the GPU, as it does in torch's own operators, where it is an error on the CPU.

    Parameters
    ----------
    features : Tensor of a floating type, ``[N, F]`` or ``[N, ...]``
        What is reduced; of half precision in single precision.
    point_to_voxel : Tensor of int32 or int64, ``[N]``
        The voxel of each point, -1 for none, as ``point_to_voxel`` of :func:`pointmill.voxelize` has it.
    num_voxels : int, optional
        V; one more than the largest of `point_to_voxel`.
    reduce : {"sum", "mean", "min", "max"}
        Minima and maxima ignore NaN, and are NaN where there is nothing else. Their gradient goes to the first of equal values.

    Returns
    -------
    Tensor of the features' type, ``[V, F]`` or ``[V, ...]``
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
    _expect_floats(features)
    names = ("features", "point_to_voxel", "num_voxels")
    return reduce_rows(names, features, point_to_voxel, num_voxels, reduce, False)[0]


def segment_csr(
    features: Tensor, row_splits: Tensor, *, reduce: Literal["sum", "mean", "min", "max"] = "mean"
) -> Tensor:
    """Reduce features that lie row after row, with derivatives by the features; see :func:`scatter`.

    Parameters
    ----------
    features : Tensor of a floating type, ``[N, F]`` or ``[N, ...]``
        What is reduced.
    row_splits : Tensor of int32 or int64, ``[V + 1]``
        Where the values of each row start, and where the last row ends: ascending numbers from 0 to N. Values before the first and after the last are of no row.
    reduce : {"sum", "mean", "min", "max"}
        As of :func:`scatter`.

    Returns
    -------
    Tensor of the features' type, ``[V, F]`` or ``[V, ...]``
        Zeros for a row without values.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import segment_csr
    >>> segment_csr(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 2, 2, 3])).tolist()
    [[2.0], [0.0], [5.0]]
    """
    _expect_floats(features)
    return reduce_segments(("features", "row_splits"), features, row_splits, reduce, False)[0]


def _expect_floats(features: Tensor) -> None:
    _expect_tensor("features", features)
    if features.dim() < 2 or not features.is_floating_point():
        got = f"shape {list(features.shape)} of {features.dtype}"
        raise ValueError(f"features: expected [N, F] values of a floating type, got {got}")


def reduce_rows(
    names: tuple[str, str, str], values: Tensor, index: Tensor, rows: int | None, reduce: str, places: bool = True
) -> tuple[Tensor, Tensor | None]:
    """What :func:`scatter` does for values ``[N, ...]`` of a floating type or int64, and, for minima and maxima with `places`, the point of each, -1 for none; errors speak of the names of values, index, and rows."""
    _expect_numbers(names, values, index, reduce)
    if index.shape != values.shape[:1]:
        raise ValueError(f"{names[1]}: expected shape [{values.shape[0]}], as {names[0]}, got {list(index.shape)}")
    if rows is not None:
        rows = rows if isinstance(rows, (int, torch.SymInt)) else operator.index(rows)
        if rows < 0:
            raise ValueError(f"{names[2]}: expected a number of 0 or more, got {rows}")
    return _reduced(values, index, rows, reduce, None, names, places)


def reduce_segments(
    names: tuple[str, str], values: Tensor, row_splits: Tensor, reduce: str, places: bool = True
) -> tuple[Tensor, Tensor | None]:
    """What :func:`segment_csr` does; as :func:`reduce_rows`."""
    _expect_numbers(names, values, row_splits, reduce)
    if row_splits.dim() != 1 or row_splits.shape[0] == 0:
        got = f"shape {list(row_splits.shape)} of {row_splits.dtype}"
        raise ValueError(f"{names[1]}: expected [V + 1] numbers of type int32 or int64, got {got}")
    return _reduced(values, row_splits, None, reduce, values.shape[0], (*names, "rows"), places)


def _expect_numbers(names: tuple[str, ...], values: Tensor, numbers: Tensor, reduce: str) -> None:
    if reduce not in _REDUCTIONS:
        raise ValueError(f"reduce: expected one of {', '.join(map(repr, _REDUCTIONS))}, got {reduce!r}")
    _expect_tensor(names[1], numbers)
    if numbers.dtype != torch.int64 and numbers.dtype != torch.int32:
        raise TypeError(f"{names[1]}: expected values of type int32 or int64, got {numbers.dtype}")
    if numbers.device != values.device:
        raise ValueError(f"{names[1]}: expected a tensor on {values.device}, as {names[0]}, got one on {numbers.device}")


def _reduced(values, index, rows, reduce, length, names, places):
    shape = values.shape
    reduced, aux = reduce_by(values if len(shape) == 2 else values.flatten(1), index, rows, reduce, length, names, places)
    argmax = aux if reduce in PICKS else None
    if len(shape) == 2:
        return reduced, argmax
    whole = (reduced.shape[0], *shape[1:])
    return reduced.view(whole), None if argmax is None else argmax.view(whole)


def reduce_lists(values: Tensor, indices: Tensor, splits: Tensor, reduce: str) -> tuple[Tensor, Tensor | None]:
    """Reduce ``values[indices]`` over lists, which start at `splits` ``[V + 1]``, with derivatives by the values; a row may be in several lists.

    ``[N, C]``, ``[K]``, ``[V + 1]`` to ``[V, C]`` and, for minima and maxima, the row that each came from, -1 for none.
    """
    each = gather_rows(values, indices)
    reduced, places = reduce_segments(("values", "splits"), each, splits, reduce)
    if places is not None and indices.shape[0]:
        places = torch.where(places < 0, -1, indices[places.clamp(min=0)])
    return reduced, places


def gather_rows(values: Tensor, indices: Tensor) -> Tensor:
    """``values[indices]`` for ``[N, C]`` and ``[K]``, with derivatives that have the same bits in every run; zeros for -1."""
    return spread_by(values, indices, values.new_empty((0,), dtype=torch.int64), "sum")
