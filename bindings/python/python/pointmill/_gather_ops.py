"""The operator ``torch.ops.pointmill.gather``: weighted sums of the features of rows, with shapes and derivatives; and the same in eager mode without the dispatcher's detour.

Sums, features and weights belong together: each is linear in both others, and the gradient of one by another is made of the same three. So there are derivatives of any order. `into` says which is
made, `first` and `second` are the others in the order of :data:`_OTHERS`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import _pointmill
from ._traces import _each, _eager, _Function, _is_batched, _recorded

_OTHERS = {"sums": ("features", "weights"), "features": ("sums", "weights"), "weights": ("sums", "features")}
_call: Any = _pointmill.gather


def _now(into, first, second, rows, length, last):
    second = None if second is None else second.contiguous()
    made, ok = _call(into, first.contiguous(), second, rows.contiguous(), length, last)
    if ok is not None:
        # As torch's own operators do: the process' work on the GPU ends, and nothing waits.
        torch._assert_async(ok, f"rows: expected numbers of -1 to {length - 1}, got others")
    return made


@torch.library.custom_op("pointmill::gather", mutates_args=())
def _gather_op(into: str, first: Tensor, second: Tensor | None, rows: Tensor, length: int, last: bool) -> Tensor:
    return _now(into, first, second, rows, length, last)


@_gather_op.register_fake
def _(into, first, second, rows, length, last):
    if into == "weights":
        return first.new_empty(rows.shape, dtype=wide(first.dtype))
    count = rows.shape[1] if into == "sums" else length
    items, channels = first.shape[0], first.shape[2 if last else 1]
    return first.new_empty((items, count, channels) if last else (items, channels, count))


def wide(dtype: torch.dtype) -> torch.dtype:
    """The type of the weights of features of this type, in which sums are added up."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _set_up(ctx, inputs, output):
    ctx.into, first, second, rows, ctx.length, ctx.last = inputs
    ctx.save_for_backward(first, second, rows)
    ctx.save_for_forward(first, second, rows)


def _derivatives(ctx, grad, function):
    first, second, rows = ctx.saved_tensors
    names = _OTHERS[ctx.into]
    given = {ctx.into: grad, names[0]: first, names[1]: second}
    made: list[Tensor | None] = [None, None]
    for k, name in enumerate(names):
        if ctx.needs_input_grad[1 + k] and given[name] is not None:
            made[k] = function(name, *(given[other] for other in _OTHERS[name]), rows, ctx.length, ctx.last)
    return None, *made, None, None, None


def _op_backward(ctx, grad):
    return _derivatives(ctx, grad, _gather_op)


_gather_op.register_autograd(_op_backward, setup_context=_set_up)
if hasattr(_gather_op, "register_vmap"):  # from torch 2.5 on; before, vmap does the same with a warning
    _gather_op.register_vmap(lambda info, in_dims, *inputs: _each(info, in_dims, _gather_op, inputs))


class _Gather(_Function):
    """The same where no graph is made: in eager mode, and as torch.func takes it."""

    @staticmethod
    def forward(into, first, second, rows, length, last):
        function = _now if _eager(first, rows, *(() if second is None else (second,))) else _gather_op
        return function(into, first, second, rows, length, last)

    setup_context = staticmethod(_set_up)

    @staticmethod
    def backward(ctx, grad):
        if not torch.is_grad_enabled() and not _is_batched(grad) and _eager(grad):
            # Nobody takes derivatives of the gradient.
            return _derivatives(ctx, grad, _now)
        # torch.autograd.grad with is_grads_batched=True knows operators alone.
        return _derivatives(ctx, grad, _gather_op if _is_batched(grad) else _Gather.apply)

    @staticmethod
    def jvp(ctx, _into, first, second, *_):
        values, weights, rows = ctx.saved_tensors
        pairs = [(first, weights)] if first is not None else []
        pairs += [(values, second)] if second is not None else []
        made = [_Gather.apply(ctx.into, *pair, rows, ctx.length, ctx.last) for pair in pairs]
        return made[0] if len(made) == 1 else made[0] + made[1]

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _each(info, in_dims, _Gather.apply, inputs)


def gathered(features: Tensor, weights: Tensor | None, rows: Tensor, last: bool = False) -> Tensor:
    """Add up the weighted features ``[B, C, N]`` of rows ``[B, M, K]`` that count from the first of each item, -1 for none, to ``[B, C, M]``; with `last`, channels come last. Without weights K is 1."""
    if rows.dtype != torch.int32 and rows.dtype != torch.int64:
        rows = rows.long()
    if weights is not None:
        weights = weights.to(wide(features.dtype))
    inputs = ("sums", features, weights, rows, features.shape[1 if last else 2], last)
    wants_grad = features.requires_grad or (weights is not None and weights.requires_grad)
    eager = _eager(features, rows) if weights is None else _eager(features, rows, weights)
    if eager and not (wants_grad and torch.is_grad_enabled()):
        return _now(*inputs)
    if not eager and _recorded():
        return _gather_op(*inputs)
    return (_Gather.now if eager else _Gather.apply)(*inputs)
