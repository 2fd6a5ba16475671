"""The front end of sparse detectors for :mod:`pointmill.torch`: functions and operators, without gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from operator import index
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from . import _pointmill
from ._traces import _operator

ORDERS = ("z", "z-trans", "hilbert", "hilbert-trans")
_Size = int | Sequence[int]


class CellSample(NamedTuple):
    """The result of :func:`grid_sample`: int32, for V cells of N points."""

    grid_coord: Tensor  #: ``[V, 3]``: the cells x, y, z.
    batch: Tensor  #: ``[V]``: the item of each cell.
    rows: Tensor  #: ``[V]``: the point of each cell that is taken.
    num_points: Tensor  #: ``[V]``: how many points each cell has.
    inverse: Tensor  #: ``[N]``: the cell of each point, or -1.


class PooledCells(NamedTuple):
    """A stage of :func:`pool_hierarchy`, for V_in rows, V_out larger cells and k curves."""

    cluster: Tensor  #: int32 ``[V_in]``: the larger cell of each row, or -1.
    indptr: Tensor  #: int32 ``[V_out + 1]``: where the rows of each larger cell start.
    indices: Tensor  #: int32 ``[V_in]``: rows by larger cell, and then ascending.
    head: Tensor  #: int32 ``[V_out]``: the first row of each larger cell.
    grid_coord: Tensor  #: int32 ``[V_out, 3]``: the larger cells x, y, z.
    batch: Tensor  #: int32 ``[V_out]``: the item of each.
    codes: Tensor  #: int64 ``[k, V_out]``: codes, by row.
    order: Tensor  #: int64 ``[k, V_out]``: rows in order; of the first curve 0, 1, 2, ...
    inverse: Tensor  #: int64 ``[k, V_out]``: the place of each row.


# What the functions share


def _new(like: Tensor, shape: Sequence[int | torch.SymInt], dtype: torch.dtype = torch.int32) -> Tensor:
    return like.new_empty(tuple(shape), dtype=dtype)


def _unknown() -> torch.SymInt:
    return torch.library.get_ctx().new_dynamic_size()


def _floats(values: float | Iterable[float]) -> list[float]:
    """Three numbers of Python's own, or one for all axes."""
    return [float(v) for v in values] if isinstance(values, Iterable) else [float(values)] * 3


def _triple(values: _Size) -> list[int]:
    return [index(v) for v in values] if isinstance(values, Iterable) else [index(values)] * 3


def _whole(value: int | None) -> int | None:
    return None if value is None else index(value)


# Cells of points


def _grid_sample_fake(points, grid_size, point_cloud_range, pick, number, seed, capacity, row_splits):
    cells = _unknown() if capacity is None else capacity
    shapes = ((cells, 3), (cells,), (cells,), (cells,), (points.shape[0],))
    return tuple(_new(points, shape) for shape in shapes)


@_operator(_grid_sample_fake)
def _grid_sample(
    points: Tensor,
    grid_size: Sequence[float],
    point_cloud_range: Sequence[float] | None,
    pick: str,
    number: int,
    seed: int,
    capacity: int | None,
    row_splits: Sequence[int] | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    how: Any = {"pick": pick, "number": number, "seed": seed, "capacity": capacity, "row_splits": row_splits}
    padded = capacity is not None
    found = _pointmill.grid_sample(points, grid_size, point_cloud_range=point_cloud_range, padded=padded, **how)
    return found.grid_coord, found.batch, found.rows, found.num_points, found.inverse


def grid_sample(
    points: Tensor,
    grid_size: float | Sequence[float] = 0.05,
    *,
    point_cloud_range: Sequence[float] | None = None,
    pick: Literal["first", "nearest", "nth", "random"] = "first",
    number: int = 0,
    seed: int = 0,
    capacity: int | None = None,
    row_splits: Sequence[int] | None = None,
) -> CellSample:
    """Take one point of each cell of a grid; see :func:`pointmill.sparse.grid_sample`.

    Parameters
    ----------
    points : Tensor, ``[N, C]``
        x, y, z first, in metres, without grad.
    grid_size : float or 3 floats
        Edges of a cell in metres.
    point_cloud_range : 6 floats, optional
        Where the grid begins and ends; without it at the least x, y and z of all points.
    pick : {"first", "nearest", "nth", "random"}
        The first point in input order; the nearest to the centre; the one of number `number`, modulo how many the cell has; or one by chance, which `seed`, the item and the
        cell decide.
    number, seed : int
    capacity : int, optional
        Rows of the result: cells beyond are dropped, and unused rows have -1, and 0 points. Without it there are as many rows as cells.
    row_splits : ints, ``[items + 1]``, optional
        For a batch, where the points of each item start.

    Returns
    -------
    CellSample
        grid_coord, batch, rows, num_points, inverse: cells by their first point.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import grid_sample
    >>> sampled = grid_sample(torch.tensor([[4.0, 1, 1], [1, 1, 1], [4.1, 1.1, 1.1]]), 0.5)
    >>> sampled.rows.tolist(), sampled.inverse.tolist()
    ([0, 1], [0, 1, 0])
    """
    limits = None if point_cloud_range is None else _floats(point_cloud_range)
    splits = None if row_splits is None else [index(k) for k in row_splits]
    others = (_floats(grid_size), limits, pick, index(number), index(seed), _whole(capacity), splits)
    return CellSample(*_grid_sample({"points": points}, *others))


# Order, and larger cells


def _serialize_fake(grid_coord, batch, items, depth, orders):
    shape = (len(orders.split(",")), grid_coord.shape[0])
    return tuple(_new(grid_coord, shape, torch.int64) for _ in range(3))


@_operator(_serialize_fake)
def _serialize(
    grid_coord: Tensor, batch: Tensor | None, items: int | None, depth: int | None, orders: str
) -> tuple[Tensor, Tensor, Tensor]:
    cells = _pointmill.serialize(grid_coord, batch, items=items, depth=depth, orders=orders.split(","))
    return cells.codes, cells.order, cells.inverse


def serialize(
    grid_coord: Tensor,
    batch: Tensor | None = None,
    *,
    items: int | None = None,
    depth: int | None = None,
    orders: Sequence[str] = ORDERS,
) -> tuple[Tensor, Tensor, Tensor]:
    """Order cells along curves that fill the grid; see :func:`pointmill.sparse.serialize`.

    Parameters
    ----------
    grid_coord : Tensor of int32 or int64, ``[V, 3]``
        Cells x, y, z of 0 or more.
    batch : Tensor of int32 or int64, ``[V]``, optional
        The item of each cell.
    items : int, optional
        Items of the batch; without it one more than the largest of `batch`.
    depth : int, optional
        Bits of a coordinate, 1 to 16; without it those of the largest coordinate plus 1.
    orders : list of {"z", "z-trans", "hilbert", "hilbert-trans"}
        1 to 4 curves.

    Returns
    -------
    codes : Tensor of int64, ``[k, V]``
        The code of each cell, by row.
    order : Tensor of int64, ``[k, V]``
        The rows of cells, in order.
    inverse : Tensor of int64, ``[k, V]``
        The place of each row in the order.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import serialize
    >>> codes, order, inverse = serialize(torch.tensor([[1, 1, 1], [0, 0, 0], [1, 0, 0]]), orders=["z"])
    >>> codes.tolist(), order.tolist(), inverse.tolist()
    ([[7, 0, 4]], [[1, 2, 0]], [[2, 0, 1]])
    """
    return _serialize({"grid_coord": grid_coord, "batch": batch}, _whole(items), _whole(depth), ",".join(orders))


def _pool_hierarchy_fake(grid_coord, batch, strides, items, depth, orders, capacities):
    curves, rows = len(orders.split(",")), grid_coord.shape[0]
    results = list(_serialize_fake(grid_coord, batch, items, depth, orders))
    for stage in range(len(strides)):
        cells = _unknown() if capacities is None else capacities[stage]
        for shape in ((rows,), (cells + 1,), (rows,), (cells,), (cells, 3), (cells,)):
            results.append(_new(grid_coord, shape))
        results += [_new(grid_coord, (curves, cells), torch.int64) for _ in range(3)]
        rows = cells
    return results


# The schema is written out: older versions of torch do not read list[Tensor] from an annotation.
@_operator(
    _pool_hierarchy_fake,
    "(Tensor grid_coord, Tensor? batch, SymInt[] strides, SymInt? items, SymInt? depth, str orders, SymInt[]? capacities) -> Tensor[]",
)
def _pool_hierarchy(
    grid_coord: Tensor,
    batch: Tensor | None,
    strides: Sequence[int],
    items: int | None,
    depth: int | None,
    orders: str,
    capacities: Sequence[int] | None,
) -> list[Tensor]:
    how: dict[str, Any] = {"strides": strides, "items": items, "depth": depth, "capacities": capacities}
    padded = capacities is not None
    cells, stages = _pointmill.pool_hierarchy(grid_coord, batch, orders=orders.split(","), padded=padded, **how)
    results = [cells.codes, cells.order, cells.inverse]
    for stage in stages:
        results += [getattr(stage, name) for name in PooledCells._fields]
    return results


def pool_hierarchy(
    grid_coord: Tensor,
    batch: Tensor | None = None,
    *,
    strides: Sequence[int] = (2, 2, 2, 2),
    items: int | None = None,
    depth: int | None = None,
    orders: Sequence[str] = ORDERS,
    capacities: Sequence[int] | None = None,
) -> tuple[tuple[Tensor, Tensor, Tensor], list[PooledCells]]:
    """Order cells, and make larger and larger cells of them; see :func:`pointmill.sparse.pool_hierarchy`.

    Parameters
    ----------
    grid_coord, batch, items, depth, orders
        As of :func:`serialize`.
    strides : ints
        How many times larger the cells of each stage are, powers of two.
    capacities : ints, optional
        Rows of each stage: larger cells beyond are dropped from the end of the first order, and unused rows have -1. Without it there are as many rows as larger cells.

    Returns
    -------
    (codes, order, inverse)
        As of :func:`serialize`.
    stages : list of PooledCells
        Larger cells ascend by their code on the first curve.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import pool_hierarchy
    >>> _, stages = pool_hierarchy(torch.tensor([[0, 0, 0], [7, 7, 7], [1, 1, 1]]), capacities=[3, 2, 2, 1])
    >>> stages[0].cluster.tolist(), stages[0].head.tolist()
    ([0, 1, 0], [0, 1, -1])
    """
    rooms = None if capacities is None else [index(most) for most in capacities]
    others = ([index(k) for k in strides], _whole(items), _whole(depth), ",".join(orders), rooms)
    results = _pool_hierarchy({"grid_coord": grid_coord, "batch": batch}, *others)
    step = len(PooledCells._fields)
    stages = [PooledCells(*results[i : i + step]) for i in range(3, len(results), step)]
    return (results[0], results[1], results[2]), stages


# Pairs of a sparse convolution


def _index_pairs_fake(
    coords, outputs, shape, batch, kind, kernel, stride, padding, dilation, output_shape, capacity
):
    if kind == "submanifold":
        cells = coords.shape[0]
    elif outputs is not None:
        cells = outputs.shape[0]
    else:
        cells = _unknown() if capacity is None else capacity
    offsets = prod(kernel)
    return _new(coords, (cells, 4)), _new(coords, (offsets, cells)), _new(coords, (offsets,))


@_operator(_index_pairs_fake)
def _index_pairs(
    coords: Tensor,
    outputs: Tensor | None,
    shape: Sequence[int],
    batch: int,
    kind: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_shape: Sequence[int] | None,
    capacity: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    how: dict[str, Any] = {"kind": kind, "outputs": outputs, "output_shape": output_shape, "capacity": capacity}
    how |= {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    pairs = _pointmill.index_pairs(coords, shape, batch, padded=capacity is not None, **how)
    return pairs.coords, pairs.table, pairs.counts


def _pair_lists_fake(coords, shape, batch, kind, kernel, stride, padding, dilation):
    cells, offsets = coords.shape[0] if kind == "submanifold" else _unknown(), prod(kernel)
    return _new(coords, (cells, 4)), _new(coords, (2, offsets, coords.shape[0])), _new(coords, (offsets,))


@_operator(_pair_lists_fake)
def _pair_lists(
    coords: Tensor,
    shape: Sequence[int],
    batch: int,
    kind: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Tensor, Tensor, Tensor]:
    how: dict[str, Any] = {"kind": kind, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    found = _pointmill.index_pairs(coords, shape, batch, lists=True, **how)
    return found.coords, found.lists, found.counts


def index_pairs(
    coords: Tensor,
    shape: Sequence[int],
    batch: int = 1,
    *,
    kind: Literal["submanifold", "strided", "inverse", "transposed"] = "submanifold",
    kernel: _Size = 3,
    stride: _Size = 1,
    padding: _Size = 0,
    dilation: _Size = 1,
    outputs: Tensor | None = None,
    output_shape: Sequence[int] | None = None,
    capacity: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Find which input cell meets which output cell at which offset of a kernel; see :func:`pointmill.sparse.index_pairs`.

    Parameters
    ----------
    coords : Tensor of int32 or int64, ``[V, 4]``
        Cells item, z, y, x, each once, in any order.
    shape : 3 ints
        Cells of an item along z, y, x.
    batch : int
        Items.
    kind : {"submanifold", "strided", "inverse", "transposed"}
    kernel, stride, padding, dilation : int or 3 ints
        Along z, y, x. A submanifold layer is centred, whatever `padding` is.
    outputs, output_shape : Tensor of int32 or int64, ``[N, 4]``, and 3 ints, optional
        For an inverse layer: the cells that the strided layer had as inputs, and their shape.
    capacity : int, optional
        Rows of the result of a strided or transposed layer: outputs beyond are dropped, and unused rows have -1. Without it there are as many rows as outputs.

    Returns
    -------
    coords : Tensor of int32, ``[N, 4]``
        item, z, y, x of each output. Those of a submanifold layer are the inputs, those of an inverse layer `outputs`; others ascend.
    table : Tensor of int32, ``[K, N]``
        The row of the input that the offset pairs with the output, or -1.
    counts : Tensor of int32, ``[K]``
        How many pairs each offset has.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import index_pairs
    >>> index_pairs(torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1]]), (1, 4, 4), kernel=(1, 1, 3))[1].tolist()
    [[-1, 0], [0, 1], [1, -1]]
    """
    sizes = [_triple(size) for size in (kernel, stride, padding, dilation)]
    fine = None if output_shape is None else _triple(output_shape)
    given = {"coords": coords, "outputs": outputs}
    return _index_pairs(given, _triple(shape), index(batch), kind, *sizes, fine, _whole(capacity))


# Sweeps and pillars


def _densify_fake(sweeps, transforms, time_lags):
    first = sweeps[0]
    return _new(first, (sum(sweep.shape[0] for sweep in sweeps), first.shape[1] + 1), torch.float32)


@_operator(_densify_fake)
def _densify(sweeps: Sequence[Tensor], transforms: Tensor, time_lags: Tensor) -> Tensor:
    return _pointmill.densify(sweeps, list(transforms.numpy()), time_lags.tolist())


def densify(sweeps: Sequence[Tensor], transforms: Tensor, time_lags: Tensor) -> Tensor:
    """Put the points of several sweeps into one frame, with the time lag of each as a last column; see :func:`pointmill.sparse.densify`.

    Parameters
    ----------
    sweeps : list of S tensors, ``[N, C]`` each
        x, y, z first, in metres, without grad; all with the same columns, and on one device.
    transforms : Tensor, ``[S, 4, 4]``
        Rigid transforms from each sweep to the common frame, in host memory.
    time_lags : Tensor, ``[S]``
        One for each sweep, in seconds as a rule, in host memory; written as they are.

    Returns
    -------
    Tensor of float32, ``[sum of N, C + 1]``
        Sweep after sweep.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import densify
    >>> sweeps = [torch.tensor([[1.0, 0, 0]]), torch.tensor([[2.0, 0, 0]])]
    >>> transforms = torch.eye(4).repeat(2, 1, 1)
    >>> transforms[1, 0, 3] = -1
    >>> densify(sweeps, transforms, torch.tensor([0, 0.5])).tolist()
    [[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.5]]
    """
    sweeps = list(sweeps)
    if not sweeps:
        raise ValueError("sweeps: expected at least 1 sweep, got 0")
    for name, tensor in (("transforms", transforms), ("time_lags", time_lags)):
        if isinstance(tensor, Tensor) and tensor.device.type != "cpu":
            raise ValueError(f"{name}: expected a tensor in host memory (call cpu() on it), got one on {tensor.device}")
    return _densify({"sweeps": sweeps, "transforms": transforms, "time_lags": time_lags})


def _pillar_features_fake(voxels, num_points, coords, voxel_size, origin, features):
    return _new(voxels, (voxels.shape[0], voxels.shape[1], features), torch.float32)


@_operator(_pillar_features_fake)
def _pillar_features(
    voxels: Tensor, num_points: Tensor, coords: Tensor, voxel_size: Sequence[float], origin: Sequence[float], features: int
) -> Tensor:
    how: dict[str, Any] = {"voxel_size": voxel_size, "origin": origin, "features": features}
    return _pointmill.pillar_features(voxels, num_points, coords, **how)


def pillar_features(
    voxels: Tensor,
    num_points: Tensor,
    coords: Tensor,
    *,
    voxel_size: Sequence[float] = (0.16, 0.16, 4.0),
    origin: Sequence[float] = (0.0, -39.68, -3.0),
    features: int = 9,
) -> Tensor:
    """Make what a network of pillars sees of their points; see :func:`pointmill.sparse.pillar_features`.

    Parameters
    ----------
    voxels : Tensor of float32, ``[V, T, C]``
        T slots a pillar, as :func:`voxelize` makes them, without grad.
    num_points : Tensor of int32 or int64, ``[V]``
        Points of each pillar.
    coords : Tensor of int32 or int64, ``[V, 3]`` or ``[V, 4]``
        Cells z, y, x, with the item first if there are 4.
    voxel_size : 3 floats
        Edges of a pillar along x, y, z in metres.
    origin : 3 floats
        The least corner of the range.
    features : {C + 5, C + 6}
        The columns of the point; x, y, z less the mean of the pillar's points; x, y (of C + 6 z too) less the centre of the pillar.

    Returns
    -------
    Tensor of float32, ``[V, T, features]``
        Zeros in slots without a point.

    Examples
    --------
    >>> import torch
    >>> from pointmill.torch import pillar_features
    >>> voxels, coords = torch.tensor([[[1.0, 2, 0, 0.5], [0, 0, 0, 0]]]), torch.tensor([[0, 2, 1]])
    >>> pillar_features(voxels, torch.tensor([1]), coords, voxel_size=(1, 1, 4), origin=(0, 0, 0))[0, 0].tolist()
    [1.0, 2.0, 0.0, 0.5, 0.0, 0.0, 0.0, -0.5, -0.5]
    """
    given = {"voxels": voxels, "num_points": num_points, "coords": coords}
    return _pillar_features(given, _floats(voxel_size), _floats(origin), index(features))
