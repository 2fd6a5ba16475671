"""The operators ``torch.ops.pointmill.scatter`` and ``scatter_gradient``, with shapes and derivatives; and the same in eager mode without the dispatcher's detour.

The derivative of a reduction by its values is linear, and its transpose is the gradient: each is the derivative of the other, so there are derivatives of any order.

Everywhere `index` is the row of each value; or, where `length` is given, where each row starts among so many values.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import _pointmill
from ._traces import _each, _eager, _Function, _is_batched, _recorded

# Reductions whose result is one of the values.
PICKS = ("min", "max")
_NAMES = ("features", "index", "rows")

# What is computed


def reduced_now(values, index, rows, reduce, length=None, names=_NAMES, wanted=True):
    """Values ``[rows, F]``, and where `wanted` what the gradient needs: of minima and maxima the places, of means how many values each row has, of sums nothing."""
    values, index = values.contiguous(), index.contiguous()
    if rows is None and values.is_cuda and length is None:
        rows = _rows_of(index, names[1])
    reduced, aux, ok = _pointmill.scatter(values, index, rows, reduce, splits=length is not None, aux=wanted, name=names[1])
    if ok is not None:
        _assert_rows(ok, names[1], rows, length)
    if aux is None and wanted:
        aux = index.new_empty((0,), dtype=torch.int64)
    return reduced, aux


def spread_now(grad, index, aux, reduce, length=None):
    out, ok = _pointmill.scatter_gradient(grad.contiguous(), index.contiguous(), aux, reduce, length=length)
    if ok is not None:
        _assert_rows(ok, "index", grad.shape[0], length)
    return out


def _assert_rows(ok, name, rows, length):
    """Ends the process' work on the GPU where a number is no row, as torch's own operators do: without waiting."""
    numbers = f"numbers of -1 to {rows - 1}" if length is None else f"ascending numbers from 0 to {length}"
    torch._assert_async(ok, f"{name}: expected {numbers}, got others")


def _rows_of(index, name):
    """One more than the largest number of a GPU; waits."""
    if len(index) == 0:
        return 0
    least, most = torch.stack(index.aminmax()).tolist()
    if least < -1:
        raise ValueError(f"{name}: expected numbers of -1 or more, got {least}")
    return most + 1


# Operators


@torch.library.custom_op("pointmill::scatter", mutates_args=())
def _scatter_op(features: Tensor, index: Tensor, rows: int | None, reduce: str, length: int | None = None) -> tuple[Tensor, Tensor]:
    return reduced_now(features, index, rows, reduce, length)


@_scatter_op.register_fake
def _(features, index, rows, reduce, length=None):
    if length is not None:
        rows = index.shape[0] - 1
    rows = torch.library.get_ctx().new_dynamic_size() if rows is None else rows
    shape = (rows, features.shape[1])
    aux = shape if reduce in PICKS else (rows,) if reduce == "mean" else (0,)
    return features.new_empty(shape), features.new_empty(aux, dtype=torch.int64)


@torch.library.custom_op("pointmill::scatter_gradient", mutates_args=())
def _gradient_op(grad: Tensor, index: Tensor, aux: Tensor, reduce: str, length: int | None = None) -> Tensor:
    return spread_now(grad, index, aux, reduce, length)


@_gradient_op.register_fake
def _(grad, index, aux, reduce, length=None):
    return grad.new_empty((index.shape[0] if length is None else length, grad.shape[1]))


def _set_up(ctx, inputs, output):
    _, index, _, ctx.reduce, ctx.length, *_ = inputs
    ctx.rows = output[0].shape[0]
    ctx.save_for_backward(index, output[1])
    ctx.save_for_forward(index, output[1])
    ctx.mark_non_differentiable(output[1])


def _set_up_gradient(ctx, inputs, output):
    grad, index, aux, ctx.reduce, ctx.length = inputs
    ctx.rows = grad.shape[0]
    ctx.save_for_backward(index, aux)
    ctx.save_for_forward(index, aux)


def _op_backward(ctx, grad, _):
    return _gradient_op(grad, *ctx.saved_tensors, ctx.reduce, ctx.length), None, None, None, None


def _gradient_backward(ctx, values):
    return _derivative(values, *ctx.saved_tensors, ctx.rows, ctx.reduce, ctx.length), None, None, None, None


_scatter_op.register_autograd(_op_backward, setup_context=_set_up)
_gradient_op.register_autograd(_gradient_backward, setup_context=_set_up_gradient)


def _derivative(values, index, aux, rows, reduce, length):
    """The derivative of a reduction by its values, which is linear: sums and means are those of values, minima and maxima take the values of their points."""
    if reduce not in PICKS:
        return reduce_by(values, index, rows, reduce, length)[0]
    if values.shape[0] == 0:
        return values.new_zeros(aux.shape)
    return torch.where(aux >= 0, values.gather(0, aux.clamp(min=0)), 0)


class _Scatter(_Function):
    """The reduction with its derivatives where no graph is made: in eager mode, and as torch.func takes it."""

    @staticmethod
    def forward(values, index, rows, reduce, length, names):
        if _eager(values, index):
            return reduced_now(values, index, rows, reduce, length, names)
        return _scatter_op(values, index, rows, reduce, length)

    setup_context = staticmethod(_set_up)

    @staticmethod
    def backward(ctx, grad, _):
        index, aux = ctx.saved_tensors
        if not torch.is_grad_enabled() and not _is_batched(grad) and _eager(grad):
            # Nobody takes derivatives of the gradient.
            return spread_now(grad, index, aux, ctx.reduce, ctx.length), None, None, None, None, None
        # torch.autograd.grad with is_grads_batched=True knows operators alone.
        function = _gradient_op if _is_batched(grad) else _Gradient.apply
        return function(grad, index, aux, ctx.reduce, ctx.length), None, None, None, None, None

    @staticmethod
    def jvp(ctx, tangent, *_):
        return _derivative(tangent, *ctx.saved_tensors, ctx.rows, ctx.reduce, ctx.length), None

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _samples(info, in_dims, _Scatter.apply, inputs)


class _Gradient(_Function):
    """The gradient, with derivatives of its own."""

    @staticmethod
    def forward(grad, index, aux, reduce, length):
        if _eager(grad, index, aux):
            return spread_now(grad, index, aux, reduce, length)
        return _gradient_op(grad, index, aux, reduce, length)

    setup_context = staticmethod(_set_up_gradient)
    backward = staticmethod(_gradient_backward)

    @staticmethod
    def jvp(ctx, tangent, *_):
        return _Gradient.apply(tangent, *ctx.saved_tensors, ctx.reduce, ctx.length)

    @staticmethod
    def vmap(info, in_dims, *inputs):
        return _each(info, in_dims, _Gradient.apply, inputs)


def _samples(info, in_dims, function, inputs):
    # Of as many rows in each sample, or there is nothing to stack.
    if inputs[2] is None and inputs[4] is None:
        name = inputs[5][2] if len(inputs) > 5 else "rows"
        raise ValueError(f"{name}: expected a number under torch.vmap, where all samples have as many rows, got None")
    return _each(info, in_dims, function, inputs)


if hasattr(_scatter_op, "register_vmap"):  # from torch 2.5 on; before, vmap does the same with a warning
    _scatter_op.register_vmap(lambda info, in_dims, *inputs: _samples(info, in_dims, _scatter_op, inputs))
    _gradient_op.register_vmap(lambda info, in_dims, *inputs: _each(info, in_dims, _gradient_op, inputs))


def reduce_by(values, index, rows, reduce, length=None, names=_NAMES, wanted=True):
    eager = _eager(values, index)
    if eager and not (values.requires_grad and torch.is_grad_enabled()):
        return reduced_now(values, index, rows, reduce, length, names, wanted)
    if not eager and _recorded():
        return _scatter_op(values, index, rows, reduce, length)
    return (_Scatter.now if eager else _Scatter.apply)(values, index, rows, reduce, length, names)


def spread_by(grad, index, aux, reduce, length=None):
    eager = _eager(grad, index, aux)
    if eager and not (grad.requires_grad and torch.is_grad_enabled()):
        return spread_now(grad, index, aux, reduce, length)
    if not eager and _recorded():
        return _gradient_op(grad, index, aux, reduce, length)
    return (_Gradient.now if eager else _Gradient.apply)(grad, index, aux, reduce, length)
