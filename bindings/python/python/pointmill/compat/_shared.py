"""What the modules share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import torch
from torch import Tensor

from .. import _pointmill
from .._traces import _expect_tensor

# With what the stub does not tell: names that begin with an underscore.
extension: Any = _pointmill

_Function = TypeVar("_Function", bound=Callable[..., Any])


def tensors(*names: str) -> Callable[[_Function], _Function]:
    """Makes a function refuse arguments that are no tensors, by name."""

    def of(function: _Function) -> _Function:
        known = list(inspect.signature(function).parameters)
        places = [(name, known.index(name)) for name in names]

        @functools.wraps(function)
        def checked(*args, **kwargs):
            for name, place in places:
                if place < len(args):
                    _expect_tensor(name, args[place])
                elif name in kwargs:
                    _expect_tensor(name, kwargs[name])
            return function(*args, **kwargs)

        return cast(_Function, checked)

    return of


@functools.lru_cache
def _kept_shifts(device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        shifts = torch.arange(7, -1, -1, dtype=torch.int8, device=device)
    if device.type == "cuda":
        # Other streams read it later.
        torch.cuda.current_stream(device).synchronize()
    return shifts


def _shifts(device: torch.device) -> Tensor:
    """By how much each bit of a byte is shifted to become its sign. Memory that is taken while a graph is captured belongs to the graph."""
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return torch.arange(7, -1, -1, dtype=torch.int8, device=device)
    return _kept_shifts(device)


def inside(
    points: Tensor, boxes: Tensor, origin: Literal["bottom", "center"], margin: float = 0.0, out: Tensor | None = None
) -> Tensor:
    """Which boxes hold each point: ``[N, 3]``, ``[T, 7]`` to int32 ``[N, T]`` of 0 and 1."""
    words = _pointmill.points_in_boxes_all(points, boxes, origin=origin, margin=margin, layout="bits")
    number = boxes.shape[0]
    if out is None:
        out = words.new_empty((points.shape[0], number))
    # Each bit becomes the sign of a byte, and its int32 is written once: two launches, and 1.5 times the memory of the result instead of 5.
    signs = words.view(torch.int8).unsqueeze(-1) << _shifts(words.device)
    return torch.lt(signs.flatten(1)[:, :number], 0, out=out)


def plain(tensor: Tensor) -> Tensor:
    """The tensor as the extension takes it: contiguous, in single precision, without a gradient."""
    return tensor.detach().float().contiguous()


def xyz(points: Tensor) -> Tensor:
    """The first three columns of what may have more."""
    return plain(points[..., :3])


def samples(points: Tensor, boxes: Tensor, name: str = "boxes") -> None:
    """Refuses what is not ``[B, M, 3]`` and ``[B, T, 7]``."""
    if points.dim() != 3 or points.shape[2] != 3:
        raise ValueError(f"points: expected an array of shape [B, M, 3], got shape {list(points.shape)}")
    if boxes.dim() != 3 or boxes.shape[2] != 7:
        raise ValueError(f"{name}: expected an array of shape [B, T, 7], got shape {list(boxes.shape)}")
    if points.shape[0] != boxes.shape[0]:
        raise ValueError(f"{name}: expected {points.shape[0]} samples, as points, got {boxes.shape[0]}")
