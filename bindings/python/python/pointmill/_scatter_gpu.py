"""What :mod:`pointmill._scatter` computes, by operators of torch that give the same bits in every run; for tensors on a GPU, which they do not wait for."""

from __future__ import annotations

import torch
from torch import Tensor


def reduced(
    values: Tensor, index: Tensor, rows: int | None, reduce: str, names: tuple[str, str, str]
) -> tuple[Tensor, Tensor | None]:
    """Values ``[N, F]`` by their row numbers ``[N]``: ``[rows, F]``, and for minima and maxima the value that each came from, -1 for none."""
    index, rows = _checked(index.long(), rows, names[1])
    shape = (rows, values.shape[1])
    if values.numel() == 0 or rows == 0:
        return values.new_zeros(shape), index.new_full(shape, -1) if reduce in ("min", "max") else None
    wide = _wide(values)
    if reduce in ("min", "max"):
        best, argmax = _picked(wide, index, rows, reduce)
        return _narrow(best, values.dtype), argmax
    if values.is_floating_point():
        # Rows in the order of their numbers, points of none first.
        row, order = torch.sort(index, stable=True)
        splits = torch.searchsorted(row, torch.arange(rows + 1, device=row.device))
        # Two dimensions: for one, torch would take a parallel sum.
        total = torch.segment_reduce(wide[order], "sum", offsets=splits, axis=0, unsafe=True, initial=0.0)
        if reduce == "mean":
            total = total / splits.diff().clamp(min=1)[:, None].to(wide.dtype)
        return _narrow(total, values.dtype), None
    # Whole numbers have one sum in any order.
    total = values.new_zeros((rows + 1, values.shape[1])).index_add_(0, index + 1, values)[1:]
    if reduce == "mean":
        total = torch.div(total, _counts(index, rows).clamp(min=1)[:, None], rounding_mode="floor")
    return total, None


def spread(grad: Tensor, index: Tensor, argmax: Tensor, reduce: str) -> Tensor:
    """What each value gets of the gradient ``[rows, F]`` of its row: ``[N, F]``, zeros for values of no row."""
    index, wide = index.long(), _wide(grad)
    if grad.numel() == 0 or len(index) == 0:
        return grad.new_zeros((len(index), grad.shape[1]))
    if reduce == "mean":
        wide = wide / _counts(index, len(grad)).clamp(min=1)[:, None].to(wide.dtype)
    if reduce in ("min", "max"):
        # Those of no row look at the last one, which none of its values came from.
        mine = argmax[index] == torch.arange(len(index), device=index.device)[:, None]
    else:
        mine = (index >= 0)[:, None]
    return torch.where(mine, wide[index], 0).to(grad.dtype)


def _checked(index: Tensor, rows: int | None, name: str) -> tuple[Tensor, int]:
    if rows is not None:
        inside = ((index >= -1) & (index < rows)).all()
        torch._assert_async(inside, f"{name}: expected numbers of -1 to {rows - 1}, got others")
        return index, rows
    least, most = index.aminmax() if len(index) else (-1, -1)
    if int(least) < -1:
        raise ValueError(f"{name}: expected numbers of -1 or more, got {int(least)}")
    return index, int(most) + 1


def _counts(index: Tensor, rows: int) -> Tensor:
    """How many values each row has; a sum of whole numbers is the same in any order."""
    return index.new_zeros(rows + 1).index_add_(0, index + 1, torch.ones_like(index))[1:]


def _wide(values: Tensor) -> Tensor:
    """In the precision that is computed in."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _narrow(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Rounded to the type, with one NaN: processors differ in those that they compute and round."""
    values = values.to(dtype)
    return torch.where(values.isnan(), torch.nan, values) if dtype.is_floating_point else values


def _picked(values: Tensor, index: Tensor, rows: int, reduce: str) -> tuple[Tensor, Tensor]:
    """The smallest or largest value of each row that is not NaN, and its place: the first of equal ones, -1 for none."""
    size, shape = len(values), (rows + 1, values.shape[1])
    if values.is_floating_point():
        number, ends = ~values.isnan(), (-torch.inf, torch.inf)
    else:
        whole = torch.iinfo(values.dtype)
        number, ends = torch.ones_like(values, dtype=torch.bool), (whole.min, whole.max)
    worst = ends[reduce == "min"]
    # Values of no row go to the first one, which is cut off.
    to = (index + 1)[:, None].expand_as(values)
    best = values.new_full(shape, worst).scatter_reduce(0, to, torch.where(number, values, worst), "a" + reduce)
    first = number & (values == best.gather(0, to))
    place = torch.arange(size, device=values.device)[:, None]
    place = torch.where(first, place, size)
    place = index.new_full(shape, size).scatter_reduce(0, to, place, "amin")[1:]
    none = place == size
    argmax = torch.where(none, -1, place)
    # The value itself, so that of zeros the first one's sign stays; NaN where there are values but no numbers.
    found = values.gather(0, argmax.clamp(min=0))
    absent = torch.zeros_like(found)
    if values.is_floating_point():
        absent = torch.where(_counts(index, rows)[:, None] > 0, torch.nan, absent)
    return torch.where(none, absent, found), argmax
