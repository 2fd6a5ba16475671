# The head of _pointmill.pyi: what its types are made of.
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from types import GenericAlias
from typing import Any, Generic, Literal, Protocol, SupportsIndex, TypeAlias, final, overload, type_check_only

import numpy.typing as npt
from typing_extensions import TypeVar

# An array of any library: numpy, torch, cupy, jax, or whatever else speaks DLPack. Results are arrays of the library that was handed in.
_Array: TypeAlias = Any
# An array of numpy, which the functions of files return.
_Numpy: TypeAlias = npt.NDArray[Any]
# An array of a result, or None where the arguments did not ask for it.
_Asked: TypeAlias = Any
_Numbers: TypeAlias = Sequence[float] | _Array
_Origin: TypeAlias = Literal["bottom", "center"]
_Metric: TypeAlias = Literal["point-to-point", "point-to-plane", "gicp"]
_Search: TypeAlias = Literal["auto", "brute", "kdtree", "lbvh"]
_Robust: TypeAlias = tuple[Literal["huber", "cauchy", "geman-mcclure", "tukey"], float]
_Schedule: TypeAlias = Sequence[tuple[float, float | None]]
_Mode: TypeAlias = Literal["max", "mean"]
_Covariance: TypeAlias = Literal["autoware", "unbiased", "population"]
_Path: TypeAlias = str | PathLike[str]
_Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | _Array

# The arrays of a result: of numpy for arrays of numpy, scans and lists, otherwise of the type that was handed in.
_Own = TypeVar("_Own", default=Any, covariant=True)
_Given = TypeVar("_Given")
_Host: TypeAlias = _Numpy | Scan | Sequence[Any]
# int, or int | None where the rows of a padded result were not counted.
_Rows = TypeVar("_Rows", bound=int | None, default=int | None, covariant=True)
_CloudFormat: TypeAlias = Literal["kitti", "nuscenes", "bin", "npy", "npz", "ply", "pcd", "las", "feather", "arrow", "mcap", "bag", "db3", "e57", "ptx", "csv", "xyz"]
_Dataset: TypeAlias = Literal["kitti", "kitti-odometry", "semantickitti", "nuscenes", "waymo", "lyft", "once", "argoverse2", "pandaset", "apollo", "s3dis", "scannet"]
__version__: str
