"""Samples and neighbours of batches of points, as the other packages call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _points
from .._gather_ops import gathered
from .._points import group
from ._shared import plain


def evenly(items: int, length: int) -> list[int]:
    """Splits of items of the same length."""
    return [item * length for item in range(items + 1)]


def ends(counts: Tensor | Sequence[int]) -> list[int]:
    """Splits of items of these lengths; of a tensor on a GPU this waits."""
    lengths = counts.tolist() if isinstance(counts, Tensor) else list(counts)
    splits = [0]
    for length in lengths:
        splits.append(splits[-1] + int(length))
    return splits


def batch(name: str, value: Tensor, last: int | None = None) -> Tensor:
    """Refuses what is no batch ``[B, N, last]``."""
    if value.dim() != 3 or (last is not None and value.shape[2] != last):
        wanted = f"[B, N, {'C' if last is None else last}]"
        raise ValueError(f"{name}: expected a tensor of shape {wanted}, got shape {list(value.shape)}")
    return value


def rows_of(value: Tensor) -> Tensor:
    """A batch ``[B, N, C]`` as rows of single precision, without a gradient."""
    return plain(value.detach()).reshape(-1, value.shape[-1]).contiguous()


def sizes(points: Tensor, centres: Tensor) -> tuple[int, int, int]:
    """Items, points and centres of batches ``[B, N, 3]`` and ``[B, M, 3]``."""
    items, length, _ = batch("xyz", points, 3).shape
    return items, length, batch("center_xyz", centres, 3).shape[1]


def within(rows: Tensor, starts: Tensor) -> Tensor:
    """Rows that count from the first of their items; 0 where there is none."""
    return torch.where(rows >= 0, rows - starts, 0)


def evenly_within(rows: Tensor, length: int) -> Tensor:
    """:func:`within` for rows ``[B, ...]`` of items of the same length."""
    starts = torch.arange(len(rows), device=rows.device, dtype=torch.int32) * length
    return within(rows, starts.view(-1, *[1] * (rows.dim() - 1)))


def starts_of(rows: Tensor, splits: list[int], of: list[int]) -> Tensor:
    """Where the item of each of these rows ``[M, K]`` starts: int32 ``[M, 1]``."""
    starts = torch.tensor(splits[:-1], dtype=torch.int32, device=rows.device)
    lengths = torch.tensor([b - a for a, b in zip(of, of[1:])], device=rows.device)
    return starts.repeat_interleave(lengths, output_size=len(rows))[:, None]


def sample(points: Tensor, number: int, features: Tensor | None = None) -> Tensor:
    """``[B, N, 3]`` to int32 ``[B, number]``."""
    items, length = batch("points", points).shape[:2]
    rows = _points.furthest_point_sample(
        rows_of(points),
        number,
        features=None if features is None else rows_of(features),
        row_splits=evenly(items, length),
    ).view(items, number)
    return evenly_within(rows, length)


def sample_by_distances(distances: Tensor, number: int) -> Tensor:
    """``[B, N, N]`` to int32 ``[B, number]``: the furthest by distances that are given, of equal ones the first."""
    items, length = batch("points_dist", distances).shape[:2]
    if distances.shape[2] != length:
        raise ValueError(f"points_dist: expected a tensor of shape [B, {length}, {length}], got shape {list(distances.shape)}")
    rows = torch.zeros((items, number), dtype=torch.int64, device=distances.device)
    nearest = distances.new_full((items, length), torch.inf)
    places = torch.arange(length, device=distances.device)
    each = torch.arange(items, device=distances.device)
    for k in range(1, number):
        nearest = torch.minimum(nearest, distances[each, rows[:, k - 1]])
        is_most = nearest == nearest.amax(1, keepdim=True)
        rows[:, k] = torch.where(is_most, places, length).amin(1).clamp(max=length - 1)
    return rows.int()


def balls(points: Tensor, centres: Tensor, radii: tuple[float, float], most: int) -> Tensor:
    """``[B, N, 3]``, ``[B, M, 3]`` to int32 ``[B, M, most]``; zeros of balls without points."""
    items, length, queries = sizes(points, centres)
    rows, _ = _points.ball_query(
        rows_of(points),
        rows_of(centres),
        radii[1],
        most,
        min_radius=radii[0],
        row_splits=evenly(items, length),
        centre_splits=evenly(items, queries),
    )
    return evenly_within(rows.view(items, queries, most), length)


def stacked_balls(
    points: Tensor, counts: Tensor, centres: Tensor, of_centres: Tensor, radii: tuple[float, float], most: int
) -> tuple[Tensor, Tensor]:
    """Rows ``[N, 3]`` and ``[M, 3]`` of items to int32 ``[M, most]``, counted from the first of each item, and which balls have no points; zeros there."""
    splits, of = ends(counts), ends(of_centres)
    rows, found = _points.ball_query(
        rows_of(points), rows_of(centres), radii[1], most, min_radius=radii[0], row_splits=splits, centre_splits=of
    )
    return within(rows, starts_of(rows, splits, of)), found == 0


def neighbours(points: Tensor, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """``[B, N, 3]``, ``[B, M, 3]`` to int32 and float32 ``[B, M, k]``: rows, and squared distances."""
    items, length, count = sizes(points, queries)
    rows, squared = _points.knn(
        rows_of(points), rows_of(queries), k, row_splits=evenly(items, length), query_splits=evenly(items, count)
    )
    return evenly_within(rows.view(items, count, k), length), squared.view(items, count, k)


def grouped(features: Tensor, rows: Tensor) -> Tensor:
    """Features ``[B, C, N]`` of rows ``[B, ...]`` to ``[B, C, ...]``."""
    items, columns = batch("features", features).shape[:2]
    return gathered(features, None, rows.flatten(1)[..., None]).view(items, columns, *rows.shape[1:])


def stacked_group(features: Tensor, counts: Tensor, rows: Tensor, of_rows: Tensor) -> Tensor:
    """Features ``[N, C]`` of rows ``[M, K]`` that count from the first of each item, to ``[M, C, K]``."""
    return channels_first(features, rows.long() + starts_of(rows, ends(counts), ends(of_rows)))


def channels_first(features: Tensor, rows: Tensor) -> Tensor:
    """Features ``[N, C]`` of rows ``[M, K]`` to ``[M, C, K]``."""
    return group(features, rows).transpose(1, 2).contiguous()


def interpolated(features: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """Features ``[B, C, N]`` of rows and weights ``[B, M, 3]`` to ``[B, C, M]``."""
    return gathered(batch("features", features), weights, rows)


def joined(near: Tensor, features: Tensor | None, use_xyz: bool) -> Tensor:
    """What ``QueryAndGroup`` of all packages gives of points of balls less their centres, and of their features."""
    if features is None:
        if not use_xyz:
            raise ValueError("features: expected a tensor where use_xyz is False, got None")
        return near
    return torch.cat([near, features], 1) if use_xyz else features


def unique_counts(rows: Tensor) -> Tensor:
    """How many different rows each ball ``[B, M, K]`` has: int32 ``[B, M]``."""
    ordered: Any = rows.sort(-1).values
    return (1 + (ordered[..., 1:] != ordered[..., :-1]).sum(-1)).int()
