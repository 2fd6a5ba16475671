"""Samples and neighbours of batches of points, as the other packages call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

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


def within(rows: Tensor, starts: Tensor, empty: int = 0) -> Tensor:
    """Rows that count from the first of their items; `empty` where there is none."""
    return torch.where(rows >= 0, rows - starts, empty)


def sample(points: Tensor, number: int, features: Tensor | None = None) -> Tensor:
    """``[B, N, 3]`` to int32 ``[B, number]``."""
    items, length = batch("points", points).shape[:2]
    rows = _points.furthest_point_sample(
        rows_of(points),
        number,
        features=None if features is None else rows_of(features),
        row_splits=evenly(items, length),
    ).view(items, number)
    starts = torch.arange(items, device=rows.device, dtype=torch.int32)[:, None] * length
    return within(rows, starts)


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
    items, length, queries = batch("xyz", points, 3).shape[0], points.shape[1], batch("center_xyz", centres, 3).shape[1]
    rows, _ = _points.ball_query(
        rows_of(points),
        rows_of(centres),
        radii[1],
        most,
        min_radius=radii[0],
        row_splits=evenly(items, length),
        centre_splits=evenly(items, queries),
    )
    rows = rows.view(items, queries, most)
    return within(rows, torch.arange(items, device=rows.device, dtype=torch.int32)[:, None, None] * length)


def stacked_balls(
    points: Tensor, counts: Tensor, centres: Tensor, of_centres: Tensor, radii: tuple[float, float], most: int
) -> tuple[Tensor, Tensor]:
    """Rows ``[N, 3]`` and ``[M, 3]`` of items to int32 ``[M, most]``, counted from the first of each item, and which balls have no points; zeros there."""
    splits, of = ends(counts), ends(of_centres)
    rows, found = _points.ball_query(
        rows_of(points), rows_of(centres), radii[1], most, min_radius=radii[0], row_splits=splits, centre_splits=of
    )
    starts = torch.tensor(splits[:-1], dtype=torch.int32, device=rows.device)
    lengths = torch.tensor([b - a for a, b in zip(of, of[1:])], device=rows.device)
    return within(rows, starts.repeat_interleave(lengths, output_size=len(rows))[:, None]), found == 0


def neighbours(points: Tensor, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """``[B, N, 3]``, ``[B, M, 3]`` to int32 and float32 ``[B, M, k]``: rows, and squared distances."""
    items, length, count = batch("xyz", points, 3).shape[0], points.shape[1], batch("center_xyz", queries, 3).shape[1]
    rows, squared = _points.knn(
        rows_of(points), rows_of(queries), k, row_splits=evenly(items, length), query_splits=evenly(items, count)
    )
    rows = rows.view(items, count, k)
    starts = torch.arange(items, device=rows.device, dtype=torch.int32)[:, None, None] * length
    return within(rows, starts), squared.view(items, count, k)


def grouped(features: Tensor, rows: Tensor) -> Tensor:
    """Features ``[B, C, N]`` of rows ``[B, ...]`` to ``[B, C, ...]``."""
    items, columns = batch("features", features).shape[:2]
    return gathered(features, None, rows.flatten(1)[..., None]).view(items, columns, *rows.shape[1:])


def stacked_group(features: Tensor, counts: Tensor, rows: Tensor, of_rows: Tensor) -> Tensor:
    """Features ``[N, C]`` of rows ``[M, K]`` that count from the first of each item, to ``[M, C, K]``."""
    splits, of = ends(counts), ends(of_rows)
    starts = torch.tensor(splits[:-1], dtype=torch.int64, device=rows.device)
    lengths = torch.tensor([b - a for a, b in zip(of, of[1:])], device=rows.device)
    all_rows = rows.long() + starts.repeat_interleave(lengths, output_size=len(rows))[:, None]
    return group(features, all_rows).transpose(1, 2).contiguous()


def interpolated(features: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """Features ``[B, C, N]`` of rows and weights ``[B, M, 3]`` to ``[B, C, M]``."""
    return gathered(batch("features", features), weights, rows)


class Grouper(nn.Module):
    """What ``QueryAndGroup`` of all packages does: the points of balls less their centres, and their features."""

    def __init__(self, query: Callable[[Tensor, Tensor], Tensor], use_xyz: bool, scale: float = 1.0) -> None:
        super().__init__()
        self.query, self.use_xyz, self.scale = query, use_xyz, scale

    def group(self, points: Tensor, centres: Tensor, features: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Features ``[B, (3 +) C, M, K]``, points ``[B, 3, M, K]`` and rows ``[B, M, K]``."""
        rows = self.query(points, centres)
        near = grouped(points.transpose(1, 2).contiguous(), rows) - centres.transpose(1, 2)[..., None]
        near = near if self.scale == 1.0 else near / self.scale
        if features is None:
            if not self.use_xyz:
                raise ValueError("features: expected a tensor where use_xyz is False, got None")
            return near, near, rows
        of = grouped(features, rows)
        return (torch.cat([near, of], 1) if self.use_xyz else of), near, rows


def unique_counts(rows: Tensor) -> Tensor:
    """How many different rows each ball ``[B, M, K]`` has: int32 ``[B, M]``."""
    ordered: Any = rows.sort(-1).values
    return (1 + (ordered[..., 1:] != ordered[..., :-1]).sum(-1)).int()
