"""Whether torch traces or transforms a call, and what the operators of :mod:`pointmill.torch` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

# What says that torch records, transforms or intercepts operators: modes such as FakeTensorMode and that of make_fx, torch.func, torch.jit.trace. Each is one call of a builtin
# function.
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transforms = torch._C._functorch.peek_interpreter_stack
_is_tracing = torch._C._is_tracing
_FUNCTIONALIZE = torch._C._functorch.TransformType.Functionalize
# What torch.autograd.grad with is_grads_batched=True hands to the backward pass.
_is_batched = torch._C._functorch.is_legacy_batchedtensor


def _eager(*tensors: Tensor) -> bool:
    """Whether all tensors have memory and nobody traces."""
    if torch.compiler.is_compiling():
        return False
    for tensor in tensors:
        kind = type(tensor)
        if kind is not Tensor and kind is not nn.Parameter:
            return False
    # Not by way of _transformed: a call of Python's takes as long as two of these.
    if _dispatch_modes() or _is_tracing() or _transforms() is not None or forward_ad._current_level >= 0:
        return False
    # make_fx with pre_dispatch has a stack of modes of its own, and a function mode beside it.
    return not _function_modes() or not torch._ops._len_torch_dispatch_stack_pre_dispatch()


def _transformed() -> bool:
    """Whether a call is one of torch.func, or takes derivatives forwards."""
    return _transforms() is not None or forward_ad._current_level >= 0


def _expect_tensor(name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(f"{name}: expected a torch.Tensor (the functions of pointmill itself take other arrays), got {kind}")


def _refuse_grad(name: str, tensor: Tensor, eager: bool) -> None:
    if not eager and not torch.compiler.is_compiling():
        _expect_tensor(name, tensor)
        if forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None:
            raise ValueError(f"{name}: expected a tensor without a tangent (call detach() on it), got one with it")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"{name}: expected a tensor that does not require grad "
            "(call detach() on it, or work under torch.no_grad()), got requires_grad=True"
        )


def _recorded() -> bool:
    """Whether a call that is not eager becomes an operator: where a graph is made of it, and nothing is differentiated or batched meanwhile."""
    if torch.compiler.is_compiling() or not _transformed():
        return True
    top = _transforms()
    return top is not None and top.key() == _FUNCTIONALIZE


class _Function(torch.autograd.Function):
    """A function of autograd whose `now` is `apply` where nobody traces or transforms: with a context that is set up apart, as torch.func needs it, a small call takes four times as long."""

    now: Callable

    def __init_subclass__(cls) -> None:
        def forward(ctx, *inputs):
            output = cls.forward(*inputs)
            cls.setup_context(ctx, inputs, output)
            return output

        methods = {name: staticmethod(getattr(cls, name)) for name in ("backward", "jvp")}
        plain: Any = type(cls.__name__, (torch.autograd.Function,), {"forward": staticmethod(forward), **methods})
        cls.now = plain.apply


def _each(info, in_dims, function, inputs):
    """One call for each sample of a batch."""
    results = []
    for k in range(info.batch_size):
        sample = [x.select(dim, k).contiguous() if isinstance(dim, int) else x for x, dim in zip(inputs, in_dims)]
        results.append(function(*sample))
    if isinstance(results[0], Tensor):
        return torch.stack(results), 0
    return tuple(map(torch.stack, zip(*results))), (0,) * len(results[0])


def _operator(
    fake: Callable, schema: str | None = None, vmap: Callable | None = None
) -> Callable[[Callable], Callable]:
    """Registers a function as an operator, and makes it ``function(tensors by name, *other arguments)``: the operator where torch traces, itself elsewhere. `also` are tensors among the others. `vmap` takes what :func:`_each` does."""

    def of(function: Callable) -> Callable:
        name = f"pointmill::{function.__name__[1:]}"
        operator = torch.library.custom_op(name, function, mutates_args=(), schema=schema)
        operator.register_fake(fake)
        if vmap is not None and hasattr(operator, "register_vmap"):  # from torch 2.5 on; before, vmap does the same with a warning
            operator.register_vmap(lambda info, in_dims, *inputs: vmap(info, in_dims, operator, inputs))

        def call(
            tensors: dict[str, Tensor | Sequence[Tensor] | None], *others: Any, also: dict[str, Tensor | None] | None = None
        ) -> Any:
            given: list[tuple[str, Any]] = []
            for name, value in {**tensors, **(also or {})}.items():
                given += [(name, one) for one in value] if isinstance(value, (list, tuple)) else [(name, value)]
            given = [(name, tensor) for name, tensor in given if tensor is not None]
            eager = _eager(*(tensor for _, tensor in given))
            for name, tensor in given:
                _refuse_grad(name, tensor, eager)
            return (function if eager else operator)(*tensors.values(), *others)

        return call

    return of
