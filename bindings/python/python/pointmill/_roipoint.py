"""Points of boxes with their features: what numpy and torch have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from numbers import Real
from operator import index
from typing import Any, NamedTuple

import numpy as np

from . import _pointmill


class Library(NamedTuple):
    """How arrays are made: a module of array functions, conversions, and the functions of the package."""

    module: Any
    cast: Callable[[Any, Any], Any]
    find: Callable[..., Any]
    group: Callable[[Any, Any], Any]


def widths(name: str, width: Any) -> tuple[float, float, float]:
    """A number, or one of each axis, as three."""
    each = tuple(float(w) for w in ((width,) * 3 if isinstance(width, Real) else width))
    if len(each) != 3 or not all(map(isfinite, each)):
        raise ValueError(f"{name}: expected a finite number or 3 of them, got {width}")
    return each


def widened(module: Any, boxes: Any, width: Sequence[float], origin: str) -> Any:
    """Boxes that are longer, wider and higher by so much, about their centres."""
    sizes = [boxes[:, 3 + k] + width[k] for k in range(3)]
    z = boxes[:, 2] - width[2] / 2 if origin == "bottom" else boxes[:, 2]
    return module.stack([boxes[:, 0], boxes[:, 1], z, *sizes, boxes[:, 6]], 1)


def chosen(module: Any, splits: Any, indices: Any, slots: Any) -> Any:
    """The first of these indices of each box in order, again and again where it has fewer than slots; -1 where it has none."""
    found = splits[1:] - splits[:-1]
    places = splits[:-1, None] + slots % module.where(found == 0, 1, found)[:, None]
    # Boxes without points look behind the last. The first split is 0, so that -1 stands there.
    places = module.where((found == 0)[:, None], len(indices), places)
    return module.concatenate([indices, splits[:1] - 1])[places]


def canonical(module: Any, near: Any, boxes: Any, origin: str) -> Any:
    """Points ``[B, M, S, 3]`` of boxes ``[B, M, 7]`` from their centres, turned by less their headings; all in double precision."""
    z = boxes[..., 2] + boxes[..., 5] / 2 if origin == "bottom" else boxes[..., 2]
    x, y, z = (near[..., k] - c[..., None] for k, c in enumerate((boxes[..., 0], boxes[..., 1], z)))
    cosine, sine = module.cos(boxes[..., 6, None]), module.sin(boxes[..., 6, None])
    return module.stack([x * cosine + y * sine, y * cosine - x * sine, z], -1)


def pool(
    library: Library,
    names: tuple[str, str, str, str],
    arrays: tuple[Any, Any, Any],
    number: int,
    width: tuple[float, float, float],
    is_canonical: bool,
    origin: str,
) -> tuple[Any, Any]:
    """What :func:`pointmill.points.roipoint_pool3d` does; errors speak of the names of points, features, boxes and the number."""
    points, features, boxes = arrays
    module, number = library.module, index(number)
    if points.ndim not in (2, 3) or points.shape[-1] != 3:
        raise ValueError(f"{names[0]}: expected an array of shape [N, 3] or [B, N, 3], got shape {list(points.shape)}")
    batch = list(points.shape[:-2])
    for name, array, lengths, last in (
        (names[1], features, list(points.shape[:-1]), "C"),
        (names[2], boxes, [*batch, "M"], 7),
    ):
        known = [length for length in lengths if length != "M"]
        if array.ndim != points.ndim or list(array.shape[: len(known)]) != known or last not in ("C", array.shape[-1]):
            wanted = ", ".join(map(str, [*lengths, last]))
            raise ValueError(f"{name}: expected an array of shape [{wanted}], got shape {list(array.shape)}")
    if number < 1:
        raise ValueError(f"{names[3]}: expected 1 or more, got {number}")
    if not batch:
        points, features, boxes = points[None], features[None], boxes[None]
    items, length, count = len(points), points.shape[1], boxes.shape[1]
    if items == 0 or count == 0:
        rows = library.find(points.reshape(-1, 3)[:0], boxes.reshape(-1, 7)[:0], number, width, origin)
        rows = rows.reshape(items, count, number)
    else:
        # Rows count from the first of all items.
        each = [library.find(p, b, number, width, origin) for p, b in zip(points, boxes)]
        rows = module.stack([module.where(rows < 0, -1, rows + item * length) for item, rows in enumerate(each)])
    precise = library.cast(points, module.float64 if is_canonical else features.dtype)
    near = library.group(precise.reshape(-1, 3), rows)
    if is_canonical:
        near = canonical(module, near, library.cast(boxes, module.float64), origin)
        near = library.cast(module.where((rows < 0)[..., None], 0.0, near), features.dtype)
    of = library.group(features.reshape(items * length, features.shape[2]), rows)
    pooled, empty = module.concatenate([near, of], -1), rows[..., 0] < 0
    return (pooled, empty) if batch else (pooled[0], empty[0])


def _find(points: Any, boxes: Any, number: int, width: Sequence[float], origin: Any) -> Any:
    single = (points.astype(np.float32), widened(np, boxes.astype(np.float32), width, origin))
    splits, indices = _pointmill.points_in_boxes_crop(*single, origin=origin)
    return chosen(np, splits, indices, np.arange(number))


def library_of_numpy(group: Callable[[Any, Any], Any]) -> Library:
    """That of numpy, with :func:`pointmill.points.group`."""
    return Library(np, lambda array, dtype: array.astype(dtype, copy=False), _find, group)
