"""The names of ``torch_scatter`` that models for points call: ``scatter``, ``scatter_sum``, ``scatter_add``, ``scatter_mean``, ``scatter_min``, ``scatter_max``, ``segment_csr`` and its five by reduction.

For values of any floating or whole type, an index of one axis or of the shape of the values, any ``dim``, and ``out``. Equal: shapes, types, zeros in rows without points, ``src.shape[dim]`` as the
argmax there, means of whole numbers rounded down; minima and maxima bit by bit, sums and means to rounding, for torch_scatter's result on a GPU differs from run to run.

Different on purpose: values are added in the order of the points; of equal minima or maxima the first point is the argmax and gets the gradient; the same bits in every run, gradients included;
an index of -1 leaves a point out; NaN never wins.

Not here: ``scatter_mul``, ``segment_coo``, ``gather_csr``, ``gather_coo``, ``scatter_std``, ``scatter_logsumexp``, ``scatter_softmax``, ``scatter_log_softmax``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._scatter import reduce_rows, reduce_segments
from ._shared import tensors

__all__ = [
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_mean",
    "scatter_min",
    "scatter_sum",
    "segment_add_csr",
    "segment_csr",
    "segment_max_csr",
    "segment_mean_csr",
    "segment_min_csr",
    "segment_sum_csr",
]

_NAMES = ("src", "index", "dim_size")


@tensors("src", "index")
def _reduce(src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None, reduce: str):
    """The reduced values, and for minima and maxima the places, ``src.shape[dim]`` for none."""
    axes = src.dim()
    if not -axes <= dim < axes:
        raise ValueError(f"dim: expected an axis of src, {-axes} to {axes - 1}, got {dim}")
    dim %= axes
    if out is not None:
        dim_size = out.shape[dim]
    if index.dim() < 2 and dim == 0:
        reduced, places = _reduce_wide(src, index, dim_size, reduce)
        return _into(out, reduced, _from_end(places, src.shape[0]), index, src, dim, reduce)
    index, values = _expanded(src, index, dim).movedim(dim, 0), src.movedim(dim, 0)
    # The same numbers for all that a point has, as an index of one axis gives.
    if all(size == 1 or stride == 0 for size, stride in zip(index.shape[1:], index.stride()[1:])):
        rest = index.shape[1:]
        first: tuple[Any, ...] = (slice(None), *(0 for _ in rest))
        index = index.new_full(index.shape[:1], -1) if 0 in rest else index[first]
        reduced, places = _reduce_wide(values, index, dim_size, reduce)
    else:
        reduced, places = _reduce_each(values, index, dim_size, reduce)
    reduced = reduced.movedim(0, dim)
    places = _from_end(places, src.shape[dim])
    places = None if places is None else places.movedim(0, dim)
    return _into(out, reduced, places, index, src, dim, reduce)


def _from_end(places: Tensor | None, none: int) -> Tensor | None:
    """Places of which -1, which is none, becomes the number of all."""
    return None if places is None else places % (none + 1)


def _expanded(src: Tensor, index: Tensor, dim: int) -> Tensor:
    """The index in the shape of the values, as torch_scatter broadcasts it."""
    given = list(index.shape)
    if index.dim() == 1:
        index = index.view((1,) * dim + (-1,))
    if index.dim() > src.dim():
        raise ValueError(f"index: expected at most {src.dim()} axes, as src, got shape {given}")
    index = index.view(index.shape + (1,) * (src.dim() - index.dim()))
    if any(size not in (1, wanted) for size, wanted in zip(index.shape, src.shape)) or index.shape[dim] != src.shape[dim]:
        raise ValueError(
            f"index: expected shape [{src.shape[dim]}] for dim {dim}, or that of src {list(src.shape)}, got {given}"
        )
    return index.expand(src.shape)


def _reduce_wide(values: Tensor, index: Tensor, rows: int | None, reduce: str) -> tuple[Tensor, Tensor | None]:
    """Reduces values of any type, of one axis or more."""
    return _widened(values, lambda wide: reduce_rows(_NAMES, wide, index, rows, reduce))


def _widened(values: Tensor, reduced_by: Callable[[Tensor], tuple[Tensor, Tensor | None]]) -> tuple[Tensor, Tensor | None]:
    kind = values.dtype
    if kind is torch.bool or kind.is_complex:
        raise ValueError(f"src: expected values of a floating or whole type, got {kind}")
    wide = values if kind.is_floating_point else values.long()
    wide = wide[:, None] if wide.dim() == 1 else wide
    reduced, places = reduced_by(wide)
    if wide is values:
        return reduced, places
    shape = (reduced.shape[0], *values.shape[1:])
    return reduced.view(shape).to(kind), None if places is None else places.view(shape)


def _reduce_each(
    values: Tensor, index: Tensor, rows: int | None, reduce: str
) -> tuple[Tensor, Tensor | None]:
    """Reduces each value by a number of its own: those of a place in a row are a row of their own."""
    if rows is None:
        rows = int(index.max()) + 1 if index.numel() else 0
    flat = index.flatten(1)
    number = flat.shape[1]
    if flat.numel() and int(flat.max()) >= rows:
        raise ValueError(f"index: expected numbers of -1 to {rows - 1}, got {int(flat.max())}")
    flat = torch.where(flat < 0, flat, flat * number + torch.arange(number, device=flat.device))
    reduced, places = _reduce_wide(values.flatten(), flat.flatten(), rows * number, reduce)
    shape = (rows, *values.shape[1:])
    if places is not None:
        places = torch.where(places < 0, -1, places // max(number, 1)).view(shape)
    return reduced.view(shape), places


def _into(out, reduced, places, index, src, dim, reduce):
    """The result as torch_scatter writes it to `out`: sums are added to what is there, minima and maxima win over it or not."""
    if out is None:
        return reduced, places
    if out.shape != reduced.shape or out.dtype != reduced.dtype:
        wanted = f"shape {list(reduced.shape)} of {reduced.dtype}"
        raise ValueError(f"out: expected {wanted}, got shape {list(out.shape)} of {out.dtype}")
    if reduce == "sum":
        return out.add_(reduced), None
    if reduce == "mean":
        raise ValueError("out: expected None for means, got a tensor (pass the sum and the count to scatter_sum)")
    wins = (places < src.shape[dim]) & ((reduced > out) if reduce == "max" else (reduced < out))
    return out.copy_(torch.where(wins, reduced, out)), torch.where(wins, places, src.shape[dim])


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The sum of the values with each index along `dim`: ``[N, F]`` and ``[N]`` with ``dim=0`` to ``[dim_size, F]``.

    Parameters
    ----------
    src : Tensor
        Values of a floating or whole type.
    index : Tensor of int32 or int64
        One number for each place along `dim`, or one for each value; -1 for none.
    dim : int
        The axis that is reduced.
    out : Tensor, optional
        Where sums are added to, and what minima and maxima must win over.
    dim_size : int, optional
        The rows of the result; one more than the largest index.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.torch_scatter import scatter_sum
    >>> scatter_sum(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([2, 0, 2]), dim=0).tolist()
    [[2.0], [0.0], [5.0]]
    >>> scatter_sum(torch.tensor([[1, 2, 4], [8, 16, 32]]), torch.tensor([[1, 0, 1], [0, 0, 0]])).tolist()
    [[2, 5], [56, 0]]
    """
    return _reduce(src, index, dim, out, dim_size, "sum")[0]


scatter_add = scatter_sum


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The mean of the values with each index; see :func:`scatter_sum`."""
    return _reduce(src, index, dim, out, dim_size, "mean")[0]


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """The minimum of the values with each index, and the place along `dim` that each came from, ``src.shape[dim]`` for none; see :func:`scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.torch_scatter import scatter_min
    >>> least, places = scatter_min(torch.tensor([[5.0], [2.0], [4.0]]), torch.tensor([2, 0, 2]), dim=0)
    >>> least.tolist(), places.tolist()
    ([[2.0], [0.0], [4.0]], [[1], [3], [2]])
    """
    return _reduce(src, index, dim, out, dim_size, "min")


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """The maximum of the values with each index, and the place of each; see :func:`scatter_min`."""
    return _reduce(src, index, dim, out, dim_size, "max")


def scatter(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    reduce: str = "sum",
) -> Tensor:
    """One of the above, without the places: `reduce` is "sum", "add", "mean", "min" or "max"."""
    return _reduce(src, index, dim, out, dim_size, "sum" if reduce == "add" else reduce)[0]


@tensors("src", "indptr")
def _segments(src: Tensor, indptr: Tensor, out: Tensor | None, reduce: str) -> tuple[Tensor, Tensor | None]:
    if indptr.dim() != 1 or src.dim() == 0:
        raise ValueError(f"indptr: expected one axis, that of the first axis of src, got shape {list(indptr.shape)}")
    reduced, places = _widened(src, lambda wide: reduce_segments(("src", "indptr"), wide, indptr, reduce))
    places = _from_end(places, src.shape[0])
    return reduced if out is None else out.copy_(reduced), places


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """The sum of the values of each row, which lie row after row: ``[N, ...]`` and ``[V + 1]`` to ``[V, ...]``; see :func:`segment_csr`."""
    return _segments(src, indptr, out, "sum")[0]


segment_add_csr = segment_sum_csr


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """The mean of the values of each row; see :func:`segment_csr`."""
    return _segments(src, indptr, out, "mean")[0]


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The minimum of the values of each row, and the place of each, ``src.shape[0]`` for none; see :func:`segment_csr`."""
    reduced, places = _segments(src, indptr, out, "min")
    assert places is not None
    return reduced, places


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maximum of the values of each row, and the place of each; see :func:`segment_min_csr`."""
    reduced, places = _segments(src, indptr, out, "max")
    assert places is not None
    return reduced, places


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce values that lie row after row: ``[N, ...]`` and ``[V + 1]`` to ``[V, ...]``.

    Parameters
    ----------
    src : Tensor
        Values of a floating or whole type.
    indptr : Tensor of int32 or int64, ``[V + 1]``
        Where the values of each row start: ascending numbers from 0 to N.
    out : Tensor, optional
        Where the result is written to.
    reduce : {"sum", "add", "mean", "min", "max"}

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.torch_scatter import segment_csr
    >>> segment_csr(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 2, 2, 3]), reduce="mean").tolist()
    [[2.0], [0.0], [5.0]]
    """
    return _segments(src, indptr, out, "sum" if reduce == "add" else reduce)[0]
