"""The voxel generators of ``spconv.utils``, of spconv 1 and 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from .. import _pointmill
from ._voxels import hard


class Array(np.ndarray):
    """An array with the method by which tensors of tensorview become arrays."""

    def numpy(self) -> np.ndarray:
        """A copy, as an array of numpy."""
        return np.array(self)

    numpy_view = numpy


def _as_numpy(name: str, points: object) -> np.ndarray:
    """Points of numpy, of tensorview or of torch on the host, in single precision."""
    found = points.numpy() if hasattr(points, "numpy") else points
    if not isinstance(found, np.ndarray):
        raise TypeError(f"{name}: expected an array of numpy, tensorview or torch, got {type(points).__name__}")
    return np.ascontiguousarray(found, dtype=np.float32)


def _like(points: object, array: np.ndarray) -> object:
    """A tensor of tensorview if the points are one, else an array that has its methods."""
    if type(points).__module__.startswith("cumm."):
        # It is there, because one of its tensors is.
        tensor = sys.modules["cumm.tensorview"].from_numpy(np.ascontiguousarray(array))
        # A tensor over an array does not keep it alive; a copy of one without values has no shape.
        return tensor.clone() if array.size else tensor
    return array.view(Array)


class Point2VoxelCPU3d:
    """Bin points into voxels, as ``spconv.utils.Point2VoxelCPU3d`` of spconv 2.

    Parameters
    ----------
    vsize_xyz : 3 floats
    coors_range_xyz : 6 floats
    num_point_features : int
        Columns that a point has.
    max_num_voxels, max_num_points_per_voxel : int

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.spconv import Point2VoxelCPU3d
    >>> generator = Point2VoxelCPU3d([1, 1, 1], [0, 0, 0, 4, 4, 1], 3, 100, 5)
    >>> voxels, indices, num_per_voxel = generator.point_to_voxel(np.array([[2.5, 0.5, 0.5], [2.6, 0.5, 0.5]], np.float32))
    >>> indices.numpy().tolist(), num_per_voxel.numpy().tolist()
    ([[0, 0, 2]], [2])
    """

    def __init__(
        self,
        vsize_xyz: Sequence[float],
        coors_range_xyz: Sequence[float],
        num_point_features: int,
        max_num_voxels: int,
        max_num_points_per_voxel: int,
    ) -> None:
        self.num_point_features = num_point_features
        size, limits = (np.asarray(v, np.float32) for v in (vsize_xyz, coors_range_xyz))
        if size.shape != (3,) or limits.shape != (6,):
            got = f"{size.shape} and {limits.shape}"
            raise ValueError(f"vsize_xyz, coors_range_xyz: expected 3 and 6 numbers, got shapes {got}")
        self.grid_size = np.floor(((limits[3:] - limits[:3]) / size).astype(np.float64) + 0.5).astype(int)[::-1].tolist()
        self._params: dict[str, Any] = {
            "voxel_size": size,
            "point_cloud_range": limits,
            "max_num_points": max_num_points_per_voxel,
            "max_voxels": max_num_voxels,
        }

    def point_to_voxel(self, points: object, clear_voxels: bool = True) -> tuple:
        """Bin ``[N, C]`` into voxels ``[V, M, C]``, indices z, y, x ``[V, 3]`` and numbers of points ``[V]``.

        Tensors of tensorview for points of that kind, else arrays of numpy that have its method ``numpy`` too.
        """
        return tuple(_like(points, array) for array in self._generate(points, None))

    def point_to_voxel_empty_mean(self, points: object, clear_voxels: bool = True) -> tuple:
        """As :meth:`point_to_voxel`, with the mean of each voxel in its unused slots."""
        return tuple(_like(points, array) for array in self._generate(points, "float32"))

    def _generate(
        self, points: object, mean: Literal["float32"] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        array = _as_numpy("points", points)
        if array.ndim != 2 or array.shape[1] != self.num_point_features:
            shape = f"[N, {self.num_point_features}]"
            raise ValueError(f"points: expected an array of shape {shape}, got shape {list(array.shape)}")
        result = _pointmill.voxelize(array, mean=mean, **self._params)
        voxels = result.voxels
        if mean:
            voxels = _filled(voxels, result.num_points, result.mean)
        return voxels, result.coords, result.num_points


def _filled(voxels: np.ndarray, num_points: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Voxels with their means in unused slots."""
    unused = np.arange(voxels.shape[1]) >= num_points[:, None]
    return np.where(unused[..., None], means[:, None], voxels)


def _running_means(voxels: np.ndarray, num_points: np.ndarray) -> np.ndarray:
    """The mean of each voxel, moved on by one point after the other, as spconv 1 makes it."""
    means = np.zeros((voxels.shape[0], voxels.shape[2]), voxels.dtype)
    for slot in range(voxels.shape[1]):
        moved = means + (voxels[:, slot] - means) / voxels.dtype.type(slot + 1)
        means = np.where((slot < num_points)[:, None], moved, means)
    return means


class VoxelGenerator:
    """Bin points of numpy into voxels, as ``spconv.utils.VoxelGenerator`` of spconv 1.

    Parameters
    ----------
    voxel_size : 3 floats
    point_cloud_range : 6 floats
    max_num_points, max_voxels : int
    full_mean : bool
        Whether unused slots hold the mean of their voxel, as by default in spconv 1.1 and 1.2; spconv 1.0, which has no such parameter, leaves zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.spconv import VoxelGenerator
    >>> generator = VoxelGenerator([1, 1, 1], [0, 0, 0, 4, 4, 1], 3)
    >>> voxels, coordinates, num_points = generator.generate(np.array([[2.5, 0.5, 0.5], [2.0, 0.5, 0.5]], np.float32))
    >>> voxels[:, :, 0].tolist(), coordinates.tolist(), num_points.tolist()
    ([[2.5, 2.0, 2.25]], [[0, 0, 2]], [2])
    """

    def __init__(
        self,
        voxel_size: Sequence[float],
        point_cloud_range: Sequence[float],
        max_num_points: int,
        max_voxels: int = 20000,
        full_mean: bool = True,
    ) -> None:
        self._voxel_size = np.array(voxel_size, np.float32)
        self._point_cloud_range = np.array(point_cloud_range, np.float32)
        limits = self._point_cloud_range
        self._grid_size = np.round((limits[3:] - limits[:3]) / self._voxel_size).astype(np.int64)
        self._max_num_points = max_num_points
        self._max_voxels = max_voxels
        self._full_mean = full_mean

    @property
    def voxel_size(self) -> np.ndarray:
        """Edges along x, y, z."""
        return self._voxel_size

    @property
    def max_num_points_per_voxel(self) -> int:
        """Most points of a voxel."""
        return self._max_num_points

    @property
    def point_cloud_range(self) -> np.ndarray:
        """x_min, y_min, z_min, x_max, y_max, z_max."""
        return self._point_cloud_range

    @property
    def grid_size(self) -> np.ndarray:
        """Cells along x, y, z."""
        return self._grid_size

    def generate(
        self, points: np.ndarray, max_voxels: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bin ``[N, C]`` of float32 or float64 into voxels ``[V, M, C]`` of this type, coordinates z, y, x ``[V, 3]`` and numbers of points ``[V]``."""
        voxels, coords, num_points = self._bin(points, max_voxels)
        if self._full_mean:
            voxels = _filled(voxels, num_points, _running_means(voxels, num_points))
        return voxels, coords, num_points

    def _bin(self, points: np.ndarray, max_voxels: int | None) -> tuple[np.ndarray, ...]:
        if not isinstance(points, np.ndarray) or points.dtype not in (np.float32, np.float64):
            got = points.dtype if isinstance(points, np.ndarray) else type(points).__name__
            raise TypeError(f"points: expected an array of numpy of type float32 or float64, got {got}")
        found = hard(
            torch.from_numpy(np.ascontiguousarray(points)),
            self._voxel_size,
            self._point_cloud_range,
            self._max_num_points,
            max_voxels or self._max_voxels,
        )
        return tuple(tensor.numpy() for tensor in found)


class VoxelGeneratorV2(VoxelGenerator):
    """Bin points of numpy into voxels, as ``spconv.utils.VoxelGeneratorV2`` of spconv 1.

    Parameters
    ----------
    voxel_size, point_cloud_range, max_num_points, max_voxels
        As of :class:`VoxelGenerator`.
    full_mean, block_filtering : bool
        False; the others of spconv are taken and not used.

    Examples
    --------
    >>> import numpy as np
    >>> from pointmill.compat.spconv import VoxelGeneratorV2
    >>> found = VoxelGeneratorV2([1, 1, 1], [0, 0, 0, 4, 4, 1], 2).generate(np.array([[2.5, 0.5, 0.5]], np.float32))
    >>> found["coordinates"].tolist(), found["voxel_point_mask"].tolist(), found["voxel_num"]
    ([[0, 0, 2]], [[[1.0], [0.0]]], 1)
    """

    def __init__(
        self,
        voxel_size: Sequence[float],
        point_cloud_range: Sequence[float],
        max_num_points: int,
        max_voxels: int = 20000,
        full_mean: bool = False,
        block_filtering: bool = False,
        block_factor: int = 8,
        block_size: int = 3,
        height_threshold: float = 0.1,
        height_high_threshold: float = 2.0,
    ) -> None:
        for name, value in (("full_mean", full_mean), ("block_filtering", block_filtering)):
            if value:
                raise ValueError(f"{name}: expected False, got {value!r}")
        super().__init__(voxel_size, point_cloud_range, max_num_points, max_voxels, full_mean)

    def generate(  # type: ignore[override]
        self, points: np.ndarray, max_voxels: int | None = None
    ) -> dict[str, np.ndarray | int]:
        """Bin ``[N, C]`` into a dict of "voxels" ``[V, M, C]``, "coordinates" z, y, x ``[V, 3]``, "num_points_per_voxel" ``[V]``, "voxel_point_mask" ``[V, M, 1]``, 1 for used slots, and "voxel_num"."""
        voxels, coords, num_points = self._bin(points, max_voxels)
        used = np.arange(self._max_num_points) < num_points[:, None]
        return {
            "voxels": voxels,
            "coordinates": coords,
            "num_points_per_voxel": num_points,
            "voxel_point_mask": used[..., None].astype(voxels.dtype),
            "voxel_num": len(coords),
        }
