"""Points of detectors: furthest samples, balls, nearest neighbours, and features of the rows that these name.

All functions take arrays of numpy and torch; :mod:`pointmill.torch` has them as operators that ``torch.compile`` knows.

Examples
--------
>>> import numpy as np
>>> from pointmill import points
>>> cloud = np.array([[0, 0, 0], [1, 0, 0], [4, 0, 0], [2.5, 0, 0]], np.float32)
>>> centres = cloud[points.furthest_point_sample(cloud, 2)]
>>> rows, num_points = points.ball_query(cloud, centres, 1.75, 3)
>>> rows.tolist()
[[0, 1, 0], [2, 3, 2]]
>>> points.group(cloud, rows).shape
(2, 3, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ._pointmill import ball_query, furthest_point_sample, knn
from ._roipoint import library_of_numpy, pool, widths

__all__ = [
    "ball_query",
    "furthest_point_sample",
    "gather",
    "group",
    "interpolate",
    "knn",
    "roipoint_pool3d",
    "three_nn",
]


def three_nn(
    points: Any,
    queries: Any,
    *,
    row_splits: Sequence[int] | None = None,
    query_splits: Sequence[int] | None = None,
) -> tuple[Any, Any]:
    """Find the three nearest points of each query: :func:`knn` with ``k=3``.

    Parameters
    ----------
    points : array of float32, ``[N, C]``
        x, y, z first, in metres.
    queries : array of float32, ``[M, C]``
    row_splits, query_splits : ints, ``[items + 1]``, optional
        For a batch, where the points and the queries of each item start.

    Returns
    -------
    rows : array of int32, ``[M, 3]``
        The nearest first; -1 where an item has fewer finite points.
    squared_distances : array of float32, ``[M, 3]``

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.points import three_nn
    >>> rows, squared = three_nn(np.eye(4, 3, dtype=np.float32), np.zeros((1, 3), np.float32))
    >>> rows.tolist(), squared.tolist()
    ([[3, 0, 1]], [[0.0, 1.0, 1.0]])
    """
    return knn(points, queries, 3, row_splits=row_splits, query_splits=query_splits)


def group(features: Any, rows: Any) -> Any:
    """Take the features of rows, as of the points of each ball.

    Parameters
    ----------
    features : array, ``[N, C]``
    rows : array of int32 or int64, ``[M, K]`` or of any shape
        -1 is no row, and gets zeros.

    Returns
    -------
    array, ``[M, K, C]``
        Of a tensor with a gradient: that of a row is the sum over all places that name it, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.points import group
    >>> group(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, -1]])).tolist()
    [[[3.0, 4.0], [0.0, 0.0]]]
    """
    if not isinstance(features, np.ndarray):
        from .torch import group as of_tensors

        return of_tensors(features, rows)
    rows = np.asarray(rows)
    if features.ndim != 2:
        raise ValueError(f"features: expected an array of shape [N, C], got shape {list(features.shape)}")
    if rows.dtype.kind not in "iu":
        raise TypeError(f"rows: expected whole numbers, got {rows.dtype}")
    if rows.size and not -1 <= rows.min() <= rows.max() < len(features):
        raise ValueError(f"rows: expected numbers of -1 to {len(features) - 1}, got {rows.min()} to {rows.max()}")
    # A row of zeros behind the last: -1 names it.
    return np.concatenate([features, np.zeros((1, features.shape[1]), features.dtype)])[rows]


def gather(features: Any, rows: Any) -> Any:
    """Take the features of samples: :func:`group` of rows ``[M]`` to ``[M, C]``.

    Parameters
    ----------
    features : array, ``[N, C]``
    rows : array of int32 or int64, ``[M]``

    Returns
    -------
    array, ``[M, C]``

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.points import gather
    >>> gather(np.array([[1.0], [3.0]]), np.array([1, 0, 1])).tolist()
    [[3.0], [1.0], [3.0]]
    """
    return group(features, rows)


def interpolate(features: Any, rows: Any, weights: Any) -> Any:
    """Add up weighted features of the neighbours of each point.

    Parameters
    ----------
    features : array, ``[N, C]``
    rows : array of int32 or int64, ``[M, K]``
        As of :func:`three_nn`; -1 adds nothing.
    weights : array, ``[M, K]``

    Returns
    -------
    array, ``[M, C]``
        The neighbours are added one after the other. Of tensors with gradients for both.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.points import interpolate
    >>> interpolate(np.array([[1.0], [3.0]]), np.array([[0, 1]]), np.array([[0.25, 0.75]])).tolist()
    [[2.5]]
    """
    if not isinstance(features, np.ndarray):
        from .torch import interpolate as of_tensors

        return of_tensors(features, rows, weights)
    rows, weights = np.asarray(rows), np.asarray(weights)
    if rows.ndim != 2 or rows.shape != weights.shape:
        raise ValueError(f"weights: expected an array of shape {list(rows.shape)}, as rows, got shape {list(weights.shape)}")
    grouped = group(features, rows) * weights[..., None]
    total = np.zeros((len(rows), features.shape[1]), grouped.dtype)
    for k in range(rows.shape[1]):
        total += grouped[:, k]
    return total


def roipoint_pool3d(
    points: Any,
    features: Any,
    boxes: Any,
    num_points: int = 512,
    *,
    extra_width: float | Sequence[float] = 0.0,
    canonical: bool = False,
    origin: Literal["bottom", "center"] = "center",
) -> tuple[Any, Any]:
    """List the points in each box with their features, as a second stage takes them.

    A point is in a box if it is within dx and dy, faces excluded, and within dz, faces included. Points that are not finite are in none. Which points a box has is decided in single precision,
    with the same result on every device; in canonical form sines, products and sums are in double precision, rounded once at the end. On a GPU a call waits for the number of points in boxes.

    Parameters
    ----------
    points : array, ``[N, 3]`` or ``[B, N, 3]``
        x, y, z in metres, in the frame of the boxes.
    features : array of a floating type, ``[N, C]`` or ``[B, N, C]``
    boxes : array, ``[M, 7]`` or ``[B, M, 7]``
        cx, cy, cz, dx, dy, dz in metres, heading in radians about z, from x to y.
    num_points : int
        S, points of a box: the first in order of input, and where it has fewer the same again from the first on.
    extra_width : float or 3 floats
        By how much boxes are longer, wider and higher, in metres: half of it on each side.
    canonical : bool
        Whether points are given in the frames of their boxes: from the centre of the box, turned by less its heading.
    origin : {"bottom", "center"}
        Whether cz is that of the bottom face or of the centre.

    Returns
    -------
    pooled : array of the features' type, ``[M, S, 3 + C]`` or ``[B, M, S, 3 + C]``
        x, y, z, then the features; zeros for boxes without points. Of a tensor of features with a gradient: that of a point is the sum over all places that name it, in their order.
    empty : array of bool, ``[M]`` or ``[B, M]``
        Whether a box has no points.

    Raises
    ------
    ValueError
        Arrays of other shapes, a number below 1, a width that is not finite.
    TypeError
        Features of another type.

    Notes
    -----
    Shi and others, PointRCNN, 2019; the rules are those of ``roipoint_pool3d`` of OpenPCDet, and of mmcv with ``origin="bottom"``.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.points import roipoint_pool3d
    >>> cloud = np.array([[5.25, 3.0, 0.0], [9.0, 0.0, 0.0], [4.75, 1.5, 0.5]], np.float32)
    >>> features = np.array([[7.0], [8.0], [9.0]], np.float32)
    >>> boxes = np.array([[5.0, 2.0, 0.0, 4.0, 1.0, 1.0, np.pi / 2], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]], np.float32)
    >>> pooled, empty = roipoint_pool3d(cloud, features, boxes, 3, canonical=True)
    >>> pooled[0].round(2).tolist(), empty.tolist()
    ([[1.0, -0.25, 0.0, 7.0], [-0.5, 0.25, 0.5, 9.0], [1.0, -0.25, 0.0, 7.0]], [False, True])
    """
    if not isinstance(features, np.ndarray):
        from .torch import roipoint_pool3d as of_tensors

        return of_tensors(
            points, features, boxes, num_points, extra_width=extra_width, canonical=canonical, origin=origin
        )
    if features.dtype.kind != "f":
        raise TypeError(f"features: expected a floating type, got {features.dtype}")
    names = ("points", "features", "boxes", "num_points")
    arrays = (np.asarray(points), features, np.asarray(boxes))
    return pool(library_of_numpy(group), names, arrays, num_points, widths("extra_width", extra_width), canonical, origin)
