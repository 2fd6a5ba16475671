"""The operators ``torch.ops.pointmill.scatter``, ``scatter_gradient`` and ``rows_of_splits``, with shapes and derivatives; and the same in eager mode without the dispatcher's detour.

The derivative of a reduction by its values is linear, and its transpose is the gradient: each is the derivative of the other, so there are derivatives of any order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import _pointmill, _scatter_gpu
from ._traces import _each, _eager, _is_batched, _recorded

# Reductions whose result is one of the values.
PICKS = ("min", "max")
_NAMES = ("features", "index", "rows")

# What is computed


def reduced_now(values, index, rows, reduce, names=_NAMES, places=True):
    """Values ``[rows, F]``, and for minima and maxima the places, which are empty otherwise, or None where nobody asks."""
    if values.is_cuda:
        reduced, argmax = _scatter_gpu.reduced(values, index, rows, reduce, names)
    else:
        values, index = values.contiguous(), index.contiguous()
        reduced, argmax = _pointmill.scatter(values, index, rows, reduce, places=places, name=names[1])
    if argmax is None and places:
        argmax = index.new_empty((0,), dtype=torch.int64)
    return reduced, argmax


def spread_now(grad, index, argmax, reduce):
    if grad.is_cuda:
        return _scatter_gpu.spread(grad, index, argmax, reduce)
    return _pointmill.scatter_gradient(grad.contiguous(), index.contiguous(), argmax, reduce)


def rows_now(row_splits, num_values, name="row_splits"):
    """The row of each value, -1 for none."""
    if row_splits.dim() != 1 or row_splits.shape[0] == 0 or row_splits.dtype not in (torch.int32, torch.int64):
        got = f"shape {list(row_splits.shape)} of {row_splits.dtype}"
        raise ValueError(f"{name}: expected [V + 1] numbers of type int32 or int64, got {got}")
    splits, rows = row_splits.long(), row_splits.shape[0] - 1
    ascending = (splits[1:] >= splits[:-1]).all() & (splits[0] >= 0) & (splits[-1] <= num_values)
    expected = f"{name}: expected ascending numbers from 0 to {num_values}"
    if row_splits.is_cuda:
        torch._assert_async(ascending, expected)
    elif not ascending:
        raise ValueError(f"{expected}, got others")
    place = torch.arange(num_values, device=splits.device)
    row = torch.searchsorted(splits, place, right=True) - 1
    return torch.where(row == rows, -1, row)


# Operators


@torch.library.custom_op("pointmill::scatter", mutates_args=())
def _scatter_op(features: Tensor, index: Tensor, rows: int | None, reduce: str) -> tuple[Tensor, Tensor]:
    return reduced_now(features, index, rows, reduce)


@_scatter_op.register_fake
def _(features, index, rows, reduce):
    rows = torch.library.get_ctx().new_dynamic_size() if rows is None else rows
    shape = (rows, features.shape[1])
    places = shape if reduce in PICKS else (0,)
    return features.new_empty(shape), features.new_empty(places, dtype=torch.int64)


@torch.library.custom_op("pointmill::scatter_gradient", mutates_args=())
def _gradient_op(grad: Tensor, index: Tensor, argmax: Tensor, reduce: str) -> Tensor:
    return spread_now(grad, index, argmax, reduce)


@_gradient_op.register_fake
def _(grad, index, argmax, reduce):
    return grad.new_empty((index.shape[0], grad.shape[1]))


@torch.library.custom_op("pointmill::rows_of_splits", mutates_args=())
def rows_op(row_splits: Tensor, num_values: int) -> Tensor:
    return rows_now(row_splits, num_values)


@rows_op.register_fake
def _(row_splits, num_values):
    return row_splits.new_empty((num_values,), dtype=torch.int64)


def _set_up(ctx, inputs, output):
    _, index, _, ctx.reduce, *_ = inputs
    ctx.rows = output[0].shape[0]
    ctx.save_for_backward(index, output[1])
    ctx.save_for_forward(index, output[1])
    ctx.mark_non_differentiable(output[1])


def _set_up_gradient(ctx, inputs, output):
    grad, index, argmax, ctx.reduce = inputs
    ctx.rows = grad.shape[0]
    ctx.save_for_backward(index, argmax)
    ctx.save_for_forward(index, argmax)


def _op_backward(ctx, grad, _):
    return _gradient_op(grad, *ctx.saved_tensors, ctx.reduce), None, None, None


def _gradient_backward(ctx, values):
    return _derivative(values, *ctx.saved_tensors, ctx.rows, ctx.reduce), None, None, None


_scatter_op.register_autograd(_op_backward, setup_context=_set_up)
_gradient_op.register_autograd(_gradient_backward, setup_context=_set_up_gradient)


def _derivative(values, index, argmax, rows, reduce):
    """The derivative of a reduction by its values, which is linear: sums and means are those of values, minima and maxima take the values of their points."""
    if reduce not in PICKS:
        return reduce_by(values, index, rows, reduce)[0]
    if values.shape[0] == 0:
        return values.new_zeros(argmax.shape)
    return torch.where(argmax >= 0, values.gather(0, argmax.clamp(min=0)), 0)


class _Scatter(torch.autograd.Function):
    """The reduction with its derivatives where no graph is made: in eager mode, and as torch.func takes it."""

    @staticmethod
    def forward(values, index, rows, reduce, names):
        if _eager(values, index):
            return reduced_now(values, index, rows, reduce, names)
        return _scatter_op(values, index, rows, reduce)

    setup_context = staticmethod(_set_up)

    @staticmethod
    def backward(ctx, grad, _):
        index, argmax = ctx.saved_tensors
        # torch.autograd.grad with is_grads_batched=True knows operators alone.
        function = _gradient_op if _is_batched(grad) else _Gradient.apply
        return function(grad, index, argmax, ctx.reduce), None, None, None, None

    @staticmethod
    def jvp(ctx, tangent, *_):
        return _derivative(tangent, *ctx.saved_tensors, ctx.rows, ctx.reduce), None

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _samples(info, in_dims, _Scatter.apply, inputs)


class _Gradient(torch.autograd.Function):
    """The gradient, with derivatives of its own."""

    @staticmethod
    def forward(grad, index, argmax, reduce):
        if _eager(grad, index, argmax):
            return spread_now(grad, index, argmax, reduce)
        return _gradient_op(grad, index, argmax, reduce)

    setup_context = staticmethod(_set_up_gradient)
    backward = staticmethod(_gradient_backward)

    @staticmethod
    def jvp(ctx, tangent, *_):
        return _Gradient.apply(tangent, *ctx.saved_tensors, ctx.reduce)

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _each(info, in_dims, _Gradient.apply, inputs)


def _samples(info, in_dims, function, inputs):
    # Of as many rows in each sample, or there is nothing to stack.
    if inputs[2] is None:
        name = inputs[4][2] if len(inputs) > 4 else "rows"
        raise ValueError(f"{name}: expected a number under torch.vmap, where all samples have as many rows, got None")
    return _each(info, in_dims, function, inputs)


if hasattr(_scatter_op, "register_vmap"):  # from torch 2.5 on; before, vmap does the same with a warning
    _scatter_op.register_vmap(lambda info, in_dims, *inputs: _samples(info, in_dims, _scatter_op, inputs))
    _gradient_op.register_vmap(lambda info, in_dims, *inputs: _each(info, in_dims, _gradient_op, inputs))
    rows_op.register_vmap(lambda info, in_dims, *inputs: _each(info, in_dims, rows_op, inputs))


def reduce_by(values, index, rows, reduce, names=_NAMES, places=True):
    eager = _eager(values, index)
    if eager and not (values.requires_grad and torch.is_grad_enabled()):
        return reduced_now(values, index, rows, reduce, names, places)
    if not eager and _recorded():
        return _scatter_op(values, index, rows, reduce)
    return _Scatter.apply(values, index, rows, reduce, names)


def spread_by(grad, index, argmax, reduce):
    eager = _eager(grad, index, argmax)
    if eager and not (grad.requires_grad and torch.is_grad_enabled()):
        return spread_now(grad, index, argmax, reduce)
    if not eager and _recorded():
        return _gradient_op(grad, index, argmax, reduce)
    return _Gradient.apply(grad, index, argmax, reduce)
