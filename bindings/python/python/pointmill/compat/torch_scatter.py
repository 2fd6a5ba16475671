"""The names of ``torch_scatter`` that detectors call: ``scatter``, ``scatter_sum``, ``scatter_add``, ``scatter_mean``, ``scatter_max``.

For features ``[N, F]`` of a floating type, an index ``[N]`` and ``dim=0``, as pillar and voxel encoders use them. Equal: shapes, types, zeros in rows without points, and ``src.shape[0]`` as the
argmax there; maxima bit by bit, sums and means to rounding, for torch_scatter's result on a GPU differs from run to run.

Different on purpose: values are added in the order of the points; of equal maxima the first point is the argmax and gets the gradient; the same bits in every run, gradients included;
an index of -1 leaves a point out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .._scatter import reduce_rows
from ._shared import tensors

__all__ = ["scatter", "scatter_add", "scatter_max", "scatter_mean", "scatter_sum"]


@tensors("src", "index")
def _reduce(src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None, reduce: str):
    if out is not None:
        raise ValueError("out: expected None, got a tensor")
    if src.dim() == 2 and index.dim() == 2 and 0 < src.shape[1] and index.shape == src.shape and index.stride(1) == 0:
        # One column, expanded.
        index = index[:, 0]
    if dim not in (0, -src.dim()):
        raise ValueError(f"dim: expected 0, the points of [N, F], got {dim}")
    flat = src[:, None] if src.dim() == 1 else src
    reduced, argmax = reduce_rows("src", flat, "index", index, dim_size, reduce)
    shape = (len(reduced), *src.shape[1:])
    return reduced.view(shape), argmax.view(shape) if reduce == "max" else None


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The sum of the rows with each index: ``[N, F]`` and ``[N]`` to ``[dim_size, F]``, `dim_size` being one more than the largest index by default.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.torch_scatter import scatter_sum
    >>> scatter_sum(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([2, 0, 2]), dim=0).tolist()
    [[2.0], [0.0], [5.0]]
    """
    return _reduce(src, index, dim, out, dim_size, "sum")[0]


scatter_add = scatter_sum


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:
    """The mean of the rows with each index; see :func:`scatter_sum`."""
    return _reduce(src, index, dim, out, dim_size, "mean")[0]


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """The maximum of the rows with each index, and the row that each came from, ``src.shape[0]`` for none; see :func:`scatter_sum`."""
    reduced, argmax = _reduce(src, index, dim, out, dim_size, "max")
    return reduced, torch.where(argmax < 0, src.shape[0], argmax)


def scatter(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    reduce: str = "sum",
) -> Tensor:
    """One of the above, without the argmax: `reduce` is "sum", "add", "mean" or "max"."""
    return _reduce(src, index, dim, out, dim_size, "sum" if reduce == "add" else reduce)[0]
