"""The pairs of a sparse convolution as ``spconv.pytorch.ops`` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _sparse
from ._shared import tensors

_Size = int | Sequence[int]
# The names of spconv's arguments.
_NAMES = {"batch": "batch_size", "coords": "indices", "kernel": "ksize", "shape": "spatial_shape"}


@tensors("indices")
def get_indice_pairs(
    indices: Tensor,
    batch_size: int,
    spatial_shape: Sequence[int],
    algo: Any = None,
    ksize: _Size = 3,
    stride: _Size = 1,
    padding: _Size = 0,
    dilation: _Size = 1,
    out_padding: _Size = 0,
    subm: bool = False,
    transpose: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Find which input meets which output at which offset of a kernel, as ``spconv.pytorch.ops.get_indice_pairs``.

    The pairs are those of spconv, and their order is another one. spconv's is not defined, and on a GPU it differs from run to run; here outputs of a layer that is not
    submanifold ascend by item and cell, and the pairs of an offset by output. ``indice_num_per_loc`` counts the pairs of all offsets of a submanifold layer too, where spconv counts
    those before the centre only.

    Parameters
    ----------
    indices : Tensor of int32 or int64, ``[N, 1 + D]``
        Item and cell of each input, 1 to 3 axes, each once.
    batch_size : int
    spatial_shape : D ints
    algo : ConvAlgo
        Without effect: the layout is that of ``ConvAlgo.Native``.
    ksize, stride, padding, dilation : int or D ints
        A submanifold layer has odd kernels, and is centred, whatever `padding` is.
    out_padding : int or D ints
        Only 0.
    subm, transpose : bool
        Whether the layer is submanifold, or transposed; a transposed layer has dilation 1.

    Returns
    -------
    out_indices : Tensor of int32, ``[M, 1 + D]``
        Item and cell of each output; of a submanifold layer `indices`.
    indice_pairs : Tensor of int32, ``[2, K, N]``
        The rows of inputs, and of outputs; -1 behind the pairs of each offset.
    indice_num_per_loc : Tensor of int32, ``[K]``
        How many pairs each offset has.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat import spconv as ops
    >>> indices = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1]], dtype=torch.int32)
    >>> out_indices, indice_pairs, numbers = ops.get_indice_pairs(indices, 1, [1, 4, 4], None, [1, 1, 3], 1, 0, 1, 0, subm=True)
    >>> indice_pairs.tolist(), numbers.tolist()
    ([[[0, -1], [0, 1], [1, -1]], [[1, -1], [0, 1], [0, -1]]], [1, 2, 1])
    """
    axes = indices.shape[1] - 1 if indices.dim() == 2 else 0
    if axes not in (1, 2, 3):
        raise ValueError(f"indices: expected an array of shape [N, 2] to [N, 4], got shape {list(indices.shape)}")
    # Axes that are missing are of one cell.
    missing = 3 - axes

    def along(value: _Size, name: str, fill: int) -> list[int]:
        values = [int(v) for v in value] if isinstance(value, Sequence) else [int(value)] * axes
        if len(values) != axes:
            raise ValueError(f"{name}: expected {axes} whole numbers, or one for all, got {len(values)}")
        return [fill] * missing + values

    kernel, steps, spread = along(ksize, "ksize", 1), along(stride, "stride", 1), along(dilation, "dilation", 1)
    if any(along(out_padding, "out_padding", 0)):
        raise ValueError(f"out_padding: expected 0, got {out_padding} (pointmill.sparse.index_pairs has layers with given outputs)")
    if transpose and any(step != 1 for step in spread):
        raise ValueError(f"dilation: expected 1 for a transposed layer, got {dilation}")
    kind = "submanifold" if subm else "transposed" if transpose else "strided"
    pads = [0] * 3 if subm else along(padding, "padding", 0)
    coords = indices
    if missing:
        coords = torch.cat([indices[:, :1], indices.new_zeros(indices.shape[0], missing), indices[:, 1:]], 1)
    shape = along(spatial_shape, "spatial_shape", 1)
    try:
        outputs, pairs, counts = _sparse._pair_lists(
            {"coords": coords}, shape, int(batch_size), kind, kernel, [1] * 3 if subm else steps, pads, spread
        )
    except ValueError as error:
        name, _, what = str(error).partition(":")
        raise ValueError(f"{_NAMES.get(name, name)}:{what}") from None
    return torch.cat([outputs[:, :1], outputs[:, 1 + missing :]], 1) if missing else outputs, pairs, counts
