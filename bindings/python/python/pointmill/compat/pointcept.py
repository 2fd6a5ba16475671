"""The names of Pointcept: ``from pointmill.compat.pointcept import GridSample, serialization``.

- :func:`serialization` is the method of ``pointcept.models.utils.structure.Point``, as a function of a dict with its keys. Codes are equal bit by bit, and orders and inverses where
  each cell is there once;
- :class:`GridSample` is the transform of ``pointcept.datasets.transform``. Cells, ``grid_coord``, ``min_coord`` and displacements are equal bit by bit to those of Pointcept with numpy 2, and
  to those with numpy 1 for coordinates in double precision.

Different on purpose:

- equal codes ascend by row, where Pointcept's order of them is not defined;
- the point of a cell is picked by a counter that starts from a seed and the cell, so it is the same on every machine and in any number of workers, and each point of a cell is
  as likely as the others. Pointcept draws one number a cell from numpy, modulo the number of points, which favours the first points;
- cells stand by their first point in input order. Those of Pointcept ascend by a hash, and two cells of one hash become one. ``hash_type`` is taken and has no effect;
- points that are not finite are an error, and no points are valid.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from .. import _pointmill
from .._sparse import serialize
from ._shared import extension

__all__ = ["GridSample", "serialization"]

# What has one row for each point, where a dict says nothing of it.
_KEYS = ("coord", "color", "normal", "superpoint", "strength", "segment", "instance")
# Cells of an axis that grid_sample tells apart without a range.
_MOST_CELLS = 1 << 21


def serialization(
    point: MutableMapping[str, Any],
    order: str | Sequence[str] = "z",
    depth: int | None = None,
    shuffle_orders: bool = False,
) -> None:
    """Order the cells of a batch along curves, as ``Point.serialization``: ``Point.serialization = serialization`` replaces the method.

    Parameters
    ----------
    point : dict or Point
        Has ``grid_coord`` (``[V, 3]``), or ``coord`` and ``grid_size``; and ``batch`` (``[V]``) or ``offset`` (where the items end). Gets what of these it lacks, ``order``,
        ``serialized_depth``, and int64 ``[k, V]``: ``serialized_code``, ``serialized_order`` and ``serialized_inverse``.
    order : str or list of {"z", "z-trans", "hilbert", "hilbert-trans"}
        1 to 4 curves.
    depth : int, optional
        Bits of a coordinate, at most 16; without it those of the largest coordinate plus 1.
    shuffle_orders : bool
        Shuffles the curves by ``torch.randperm``, as Pointcept does.

    Examples
    --------
    >>> import torch
    >>> from pointmill.compat.pointcept import serialization
    >>> point = {"grid_coord": torch.tensor([[1, 1, 1], [0, 0, 0], [1, 0, 0]]), "offset": torch.tensor([3])}
    >>> serialization(point, order=["z", "hilbert"])
    >>> point["serialized_depth"], point["serialized_code"].tolist(), point["serialized_order"].tolist()
    (2, [[7, 0, 4], [5, 0, 3]], [[1, 2, 0], [1, 2, 0]])
    """
    point["order"] = order
    if "grid_coord" not in point:
        _expect(point, "coord", "grid_coord, or coord and grid_size")
        _expect(point, "grid_size", "grid_coord, or coord and grid_size")
        coord = point["coord"]
        low = coord.min(0).values if len(coord) else 0
        point["grid_coord"] = torch.div(coord - low, point["grid_size"], rounding_mode="trunc").int()
    if "batch" not in point:
        _expect(point, "offset", "batch or offset")
        ends = point["offset"]
        counts = torch.diff(ends, prepend=ends.new_zeros(1))
        point["batch"] = torch.repeat_interleave(torch.arange(len(ends), device=ends.device), counts)
    elif "offset" not in point:
        point["offset"] = torch.cumsum(point["batch"].bincount(), 0)
    grid_coord: Tensor = point["grid_coord"]
    if depth is None:
        depth = int(grid_coord.max() + 1).bit_length() if len(grid_coord) else 1
    orders = [order] if isinstance(order, str) else list(order)
    # Of no items there are no cells.
    items = max(len(point["offset"]), 1)
    found = serialize(grid_coord, point["batch"], items=items, depth=depth, orders=orders)
    if shuffle_orders:
        curves = torch.randperm(len(orders))
        found = found[0][curves], found[1][curves], found[2][curves]
    point["serialized_depth"] = depth
    point["serialized_code"], point["serialized_order"], point["serialized_inverse"] = found


class GridSample:
    """Take one point of each cell of a grid, as the transform of Pointcept.

    Parameters
    ----------
    grid_size : float or 3 floats
        Edges of a cell, in the unit of the coordinates. Cells start at whole multiples of them.
    hash_type : str
        Without effect: cells stand by their first point.
    mode : {"train", "test"}
        One point of each cell, at random; or dicts of which each has one point of each cell, as many dicts as the fullest cell has points, which hold all points together.
    keys : list of str, optional
        What has one row for each point; without it ``index_valid_keys`` of the dict, or else what Pointcept takes.
    return_inverse, return_grid_coord, return_min_coord, return_displacement : bool
        Whether the dict gets ``inverse`` (the cell of each point), ``grid_coord`` (cells from 0), ``min_coord`` (the least corner, ``[1, 3]``) and ``displacement`` (to the
        centre of the cell, in cells).
    project_displacement : bool
        ``displacement`` along ``normal``, ``[V, 1]``.
    seed : int, optional
        What picks the points, the same in each call. Without it each call draws a seed from ``numpy.random``.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.pointcept import GridSample
    >>> coord = np.array([[4, 1, 1], [1, 1, 1], [4.1, 1.1, 1.1]], np.float32)
    >>> sampled = GridSample(0.5, return_grid_coord=True, return_inverse=True, seed=0)({"coord": coord})
    >>> sampled["grid_coord"].tolist(), sampled["inverse"].tolist()
    ([[6, 0, 0], [0, 0, 0]], [0, 1, 0])
    >>> [part["index"].tolist() for part in GridSample(0.5, mode="test")({"coord": coord})]
    [[0, 1], [2, 1]]
    """

    def __init__(
        self,
        grid_size: float | Sequence[float] = 0.05,
        hash_type: str = "fnv",
        mode: Literal["train", "test"] = "train",
        keys: Iterable[str] | None = None,
        return_inverse: bool = False,
        return_grid_coord: bool = False,
        return_min_coord: bool = False,
        return_displacement: bool = False,
        project_displacement: bool = False,
        seed: int | None = None,
    ) -> None:
        if mode not in ("train", "test"):
            raise ValueError(f'mode: expected "train" or "test", got {mode!r}')
        self.grid_size = grid_size
        self.hash_type = hash_type
        self.mode = mode
        self.keys = None if keys is None else tuple(keys)
        self.return_inverse = return_inverse
        self.return_grid_coord = return_grid_coord
        self.return_min_coord = return_min_coord
        self.return_displacement = return_displacement
        self.project_displacement = project_displacement
        self.seed = seed

    def __call__(self, data_dict: dict[str, Any]) -> Any:
        """Sample a dict with ``coord`` ``[N, 3]``: changed in place and returned, or a list of new dicts with ``index`` for ``mode="test"``.

        ``frame_pcd_offset``, where frames end, becomes a dict of the rows of each frame.
        """
        _expect(data_dict, "coord", "coord")
        coord, cells, low, size = self._cells(data_dict["coord"])
        if self.keys is None and "index_valid_keys" not in data_dict:
            data_dict["index_valid_keys"] = list(_KEYS)
        how: dict[str, Any] = {"pick": "first"}
        if self.mode == "train":
            how = {"pick": "random", "seed": np.random.randint(1 << 31) if self.seed is None else self.seed}
        found = _pointmill.grid_sample(cells, 1.0, **how)
        more: dict[str, Any] = {"inverse": found.inverse.astype(np.int64)} if self.return_inverse else {}
        if self.return_min_coord:
            # Of zeros the one without a sign.
            more["min_coord"] = (low * size + 0.0).reshape(1, 3)
        if self.project_displacement and self.return_displacement:
            _expect(data_dict, "normal", "normal, which displacements are projected on")

        def rows(taken: np.ndarray) -> dict[str, np.ndarray]:
            """What each point that is taken gets."""
            new: dict[str, np.ndarray] = {"grid_coord": cells.take(taken, 0).astype(np.int64)} if self.return_grid_coord else {}
            if self.return_displacement:
                new["displacement"] = coord.take(taken, 0) / size - low - cells.take(taken, 0) - 0.5
                if self.project_displacement:
                    new["displacement"] = np.sum(new["displacement"] * data_dict["normal"][taken], axis=-1, keepdims=True)
            return new

        if self.mode == "train":
            taken = found.rows.astype(np.int64)
            if "sampled_index" in data_dict:
                # Labelled points stay.
                taken = np.union1d(taken, data_dict["sampled_index"])
                data_dict["sampled_index"] = np.flatnonzero(np.isin(taken, data_dict["sampled_index"]))
            return self._take(data_dict, data_dict, taken, rows(taken), more)
        by_cell, counts = np.argsort(found.inverse, kind="stable"), found.num_points.astype(np.int64)
        starts = np.cumsum(counts) - counts
        parts = [by_cell[starts + i % counts] for i in range(counts.max(initial=0))]
        return [self._take(data_dict, copy.copy(data_dict), part, rows(part), {"index": part, **more}) for part in parts]

    def __repr__(self) -> str:
        return f"GridSample({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def _cells(self, coord: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, the cells from the least one as points of float32, ``[N, 3]`` both, the least one, and the edges of a cell."""
        coord, size = np.asarray(coord), np.asarray(self.grid_size, np.float64)
        if coord.ndim != 2 or coord.shape[1] != 3:
            raise ValueError(f"coord: expected an array of shape [N, 3], got shape {list(coord.shape)}")
        if size.shape not in ((), (3,)) or not (np.isfinite(size).all() and (size > 0).all()):
            raise ValueError(f"grid_size: expected one or 3 finite numbers above 0, got {self.grid_size!r}")
        if coord.dtype not in (np.float32, np.float64):
            coord = coord.astype(np.float64)
        size = np.broadcast_to(size, 3)
        cells, low, most = extension._cells_of(coord, size.tolist())
        if not most < _MOST_CELLS:
            odd = np.flatnonzero(~np.isfinite(coord).all(1))
            if len(odd):
                raise ValueError(f"coord: expected finite coordinates, got {coord[odd[0]].tolist()} in row {odd[0]}")
            raise ValueError(f"grid_size: expected at most {_MOST_CELLS} cells along each axis, got {most + 1:.0f}")
        return coord, cells, np.array(low), size

    def _take(self, source: dict, into: dict, taken: np.ndarray, rows: dict, more: dict) -> dict:
        """Writes the rows of points, and what is new, into a dict."""
        for key in source["index_valid_keys"] if self.keys is None else self.keys:
            if key in source:
                values = source[key]
                # numpy takes whole rows in a fraction of the time that it indexes in.
                into[key] = values.take(taken, 0) if isinstance(values, np.ndarray) else values[taken]
        if "frame_pcd_offset" in source:
            into["frame_pcd_offset"] = _frames(source["frame_pcd_offset"], taken)
        into.update(more)
        into.update(rows)
        if self.keys is None:
            known = source["index_valid_keys"]
            into["index_valid_keys"] = [*known, *(key for key in rows if key not in known)]
        return into


def _frames(known: Any, taken: np.ndarray) -> dict[int, np.ndarray]:
    """The rows of each frame among the points that are taken, of the ends of the frames or of such a dict."""
    if isinstance(known, dict):
        return {frame: np.flatnonzero(np.isin(taken, rows)) for frame, rows in known.items()}
    frame = np.searchsorted(np.asarray(known), taken, side="right")
    return {i: np.flatnonzero(frame == i) for i in range(len(known))}


def _expect(given: MutableMapping[str, Any], key: str, what: str) -> None:
    if key not in given:
        raise ValueError(f"{key}: expected a dict with {what}, got one with {', '.join(map(str, given)) or 'nothing'}")
