"""Samples and neighbours of points for :mod:`pointmill.torch`: operators, and features of the rows that they name."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Literal

import torch
from torch import Tensor

from . import _pointmill
from ._gather_ops import gathered
from ._scatter import gather_rows
from ._traces import _each, _expect_tensor, _operator


def _splits(splits: Sequence[int] | None) -> list[int] | None:
    return None if splits is None else [index(split) for split in splits]


def _furthest_fake(points, features, number, start, row_splits, sample_splits):
    items = 1 if row_splits is None else len(row_splits) - 1
    samples = items * number if sample_splits is None else sample_splits[-1]
    return points.new_empty((samples,), dtype=torch.int32)


@_operator(_furthest_fake, vmap=_each)
def _furthest_point_sample(
    points: Tensor,
    features: Tensor | None,
    number: int,
    start: str,
    row_splits: Sequence[int] | None,
    sample_splits: Sequence[int] | None,
) -> Tensor:
    call: Any = _pointmill.furthest_point_sample
    return call(points, number, features=features, start=start, row_splits=row_splits, sample_splits=sample_splits)


def furthest_point_sample(
    points: Tensor,
    number: int = 1024,
    *,
    features: Tensor | None = None,
    start: Literal["first", "nearest-to-mean"] = "first",
    row_splits: Sequence[int] | None = None,
    sample_splits: Sequence[int] | None = None,
) -> Tensor:
    """Take points one after the other, each the furthest from those before it; see :func:`pointmill.points.furthest_point_sample`.

    Parameters
    ----------
    points : Tensor of float32, ``[N, C]``
        x, y, z first, without grad.
    number : int
        Points that are taken of each item.
    features : Tensor of float32, ``[N, F]``, optional
        Their squared differences are added to the squared distance.
    start : {"first", "nearest-to-mean"}
        The first of them.
    row_splits : ints, ``[items + 1]``, optional
        For a batch, where the points of each item start.
    sample_splits : ints, ``[items + 1]``, optional
        Where the samples of each item start, in place of `number` for each.

    Returns
    -------
    Tensor of int32, ``[samples]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import furthest_point_sample
    >>> furthest_point_sample(torch.tensor([[0.0, 0, 0], [1, 0, 0], [4, 0, 0]]), 2).tolist()
    [0, 2]
    """
    others = (index(number), start, _splits(row_splits), _splits(sample_splits))
    return _furthest_point_sample({"points": points, "features": features}, *others)


def _ball_fake(points, centres, radius, most, min_radius, pick, fill, row_splits, centre_splits):
    count = centres.shape[0]
    return points.new_empty((count, most), dtype=torch.int32), points.new_empty((count,), dtype=torch.int32)


@_operator(_ball_fake, vmap=_each)
def _ball_query(
    points: Tensor,
    centres: Tensor,
    radius: float,
    most: int,
    min_radius: float,
    pick: str,
    fill: str,
    row_splits: Sequence[int] | None,
    centre_splits: Sequence[int] | None,
) -> tuple[Tensor, Tensor]:
    call: Any = _pointmill.ball_query
    params = {"min_radius": min_radius, "pick": pick, "fill": fill}
    return call(points, centres, radius, most, row_splits=row_splits, centre_splits=centre_splits, **params)


def ball_query(
    points: Tensor,
    centres: Tensor,
    radius: float = 1.0,
    most: int = 32,
    *,
    min_radius: float = 0.0,
    pick: Literal["first", "nearest"] = "first",
    fill: Literal["first", "none"] = "first",
    row_splits: Sequence[int] | None = None,
    centre_splits: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """Find the points of a ball around each centre; see :func:`pointmill.points.ball_query`.

    Parameters
    ----------
    points, centres : Tensor of float32, ``[N, C]`` and ``[M, C]``
        x, y, z first, without grad.
    radius, min_radius : float
        Points at `radius` and farther are outside, and those nearer than `min_radius` but not at the centre.
    most : int
        Most points of a ball, 1 to 256.
    pick : {"first", "nearest"}
        Which are taken where a ball has more.
    fill : {"first", "none"}
        What stands behind them where it has fewer: the first of them, or -1.
    row_splits, centre_splits : ints, ``[items + 1]``, optional
        For a batch, where the points and the centres of each item start.

    Returns
    -------
    rows : Tensor of int32, ``[M, most]``
    num_points : Tensor of int32, ``[M]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import ball_query
    >>> ball_query(torch.eye(3), torch.zeros(1, 3), 1.5, 2)[0].tolist()
    [[0, 1]]
    """
    others = (float(radius), index(most), float(min_radius), pick, fill, _splits(row_splits), _splits(centre_splits))
    return _ball_query({"points": points, "centres": centres}, *others)


def _knn_fake(points, queries, k, row_splits, query_splits):
    shape = (queries.shape[0], k)
    return points.new_empty(shape, dtype=torch.int32), points.new_empty(shape, dtype=torch.float32)


@_operator(_knn_fake, vmap=_each)
def _knn(
    points: Tensor,
    queries: Tensor,
    k: int,
    row_splits: Sequence[int] | None,
    query_splits: Sequence[int] | None,
) -> tuple[Tensor, Tensor]:
    call: Any = _pointmill.knn
    return call(points, queries, k, row_splits=row_splits, query_splits=query_splits)


def knn(
    points: Tensor,
    queries: Tensor,
    k: int = 3,
    *,
    row_splits: Sequence[int] | None = None,
    query_splits: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """Find the nearest points of each query; see :func:`pointmill.points.knn`.

    Parameters
    ----------
    points, queries : Tensor of float32, ``[N, C]`` and ``[M, C]``
        x, y, z first, without grad.
    k : int
        Neighbours of each query, 1 to 256.
    row_splits, query_splits : ints, ``[items + 1]``, optional
        For a batch, where the points and the queries of each item start.

    Returns
    -------
    rows : Tensor of int32, ``[M, k]``
    squared_distances : Tensor of float32, ``[M, k]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import knn
    >>> knn(torch.eye(3), torch.tensor([[0.9, 0.0, 0.0]]), 1)[0].tolist()
    [[0]]
    """
    return _knn({"points": points, "queries": queries}, index(k), _splits(row_splits), _splits(query_splits))


def group(features: Tensor, rows: Tensor) -> Tensor:
    """Take the features of rows; see :func:`pointmill.points.group`.

    Parameters
    ----------
    features : Tensor, ``[N, C]``
        Of float32, float64, float16 or bfloat16; it may require grad.
    rows : Tensor of int32 or int64, of any shape
        -1 is no row, and gets zeros.

    Returns
    -------
    Tensor, the shape of `rows` and C
        The gradient of a row is the sum over all places that name it, in their order, in every run.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import group
    >>> group(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1, -1]])).tolist()
    [[[3.0, 4.0], [0.0, 0.0]]]
    """
    for name, value in (("features", features), ("rows", rows)):
        _expect_tensor(name, value)
    return gather_rows(features, rows.reshape(-1)).reshape(*rows.shape, features.shape[1])


def interpolate(features: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """Add up weighted features of the neighbours of each point; see :func:`pointmill.points.interpolate`.

    Parameters
    ----------
    features : Tensor, ``[N, C]``
        It may require grad.
    rows : Tensor of int32 or int64, ``[M, K]``
    weights : Tensor, ``[M, K]``
        It may require grad.

    Returns
    -------
    Tensor, ``[M, C]``

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import interpolate
    >>> interpolate(torch.tensor([[1.0], [3.0]]), torch.tensor([[0, 1]]), torch.tensor([[0.25, 0.75]])).tolist()
    [[2.5]]
    """
    for name, value in (("features", features), ("rows", rows), ("weights", weights)):
        _expect_tensor(name, value)
    if rows.dim() != 2 or rows.shape != weights.shape:
        wanted = list(rows.shape)
        raise ValueError(f"weights: expected a tensor of shape {wanted}, as rows, got shape {list(weights.shape)}")
    return gathered(features[None], weights[None], rows[None], last=True)[0]
