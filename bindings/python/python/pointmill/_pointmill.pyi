"""The extension module of pointmill; its names are those of :mod:`pointmill`, :mod:`pointmill.icp` and :mod:`pointmill.ndt`."""

from collections.abc import Iterator, Sequence
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

__version__: str

__all__ = [
    "BagClouds",
    "BlockMap",
    "DlpackArray",
    "ErrorStatistics",
    "Evaluation",
    "Fix",
    "Grid",
    "IcpIteration",
    "IcpRegistration",
    "Localizer",
    "Moments",
    "NdtFit",
    "NdtRegistration",
    "NdtReport",
    "Odometry",
    "OdometryStep",
    "RelativeErrors",
    "RoiGradient",
    "RoiPooled",
    "Scan",
    "Searcher",
    "Target",
    "VoxelReport",
    "Voxels",
    "__version__",
    "align_many",
    "bag_topics",
    "clear_cache",
    "deskew",
    "devices",
    "evaluate",
    "find_inputs",
    "find_log_poses",
    "icp",
    "log_stamp",
    "normals",
    "num_threads",
    "points_in_boxes_all",
    "points_in_boxes_count",
    "points_in_boxes_crop",
    "points_in_boxes_part",
    "read",
    "read_bag",
    "read_poses",
    "roi_aware_pool3d",
    "roi_aware_pool3d_backward",
    "scatter",
    "scatter_gradient",
    "set_num_threads",
    "voxelize",
    "write",
    "write_poses",
]

@final
class DlpackArray:
    @property
    def shape(self) -> list[int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | Any | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class VoxelReport:
    @property
    def points(self) -> int: ...
    @property
    def voxels(self) -> int: ...
    @property
    def voxels_found(self) -> int: ...
    @property
    def voxels_dropped(self) -> int: ...
    @property
    def points_kept(self) -> int: ...
    @property
    def points_dropped_full_voxel(self) -> int: ...
    @property
    def points_dropped_dropped_voxel(self) -> int: ...
    @property
    def out_of_range(self) -> int: ...
    @property
    def non_finite(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

# The arrays of a result: of numpy for arrays of numpy and scans, otherwise of the type that was handed in.
_Own = TypeVar("_Own", default=Any, covariant=True)
_Given = TypeVar("_Given")
_Host: TypeAlias = _Numpy | Scan
# int, or int | None where the rows of a padded result were not counted.
_Rows = TypeVar("_Rows", bound=int | None, default=int | None, covariant=True)

@final
class Voxels(Generic[_Own, _Rows]):
    @classmethod
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def coords(self) -> _Own: ...
    @property
    def num_points(self) -> _Own: ...
    @property
    def voxels(self) -> _Own | Any: ...
    @property
    def mean(self) -> _Own | Any: ...
    @property
    def point_to_voxel(self) -> _Own | Any: ...
    @property
    def row_splits(self) -> _Own | Any: ...
    @property
    def indices(self) -> _Own | Any: ...
    @property
    def voxel_splits(self) -> _Own | Any: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...
    @property
    def num_voxels(self) -> _Rows: ...
    @property
    def report(self) -> VoxelReport | Any: ...

@overload
def voxelize(
    points: _Host,
    *,
    voxel_size: _Numbers,
    point_cloud_range: _Numbers,
    max_num_points: SupportsIndex | None = 10,
    max_voxels: SupportsIndex = 160000,
    order: Literal["first-seen", "sorted"] = "first-seen",
    voxels: bool | None = None,
    mean: Literal["float32", "float16"] | None = None,
    point_to_voxel: bool = False,
    lists: bool = False,
    padded: Literal[False] = False,
    strict_range: bool = False,
    row_splits: Sequence[SupportsIndex] | _Array | None = None,
    report: bool = False,
    origin: _Numbers | Literal["auto"] | None = None,
) -> Voxels[_Numpy, int]: ...
@overload
def voxelize(
    points: _Given,
    *,
    voxel_size: _Numbers,
    point_cloud_range: _Numbers,
    max_num_points: SupportsIndex | None = 10,
    max_voxels: SupportsIndex = 160000,
    order: Literal["first-seen", "sorted"] = "first-seen",
    voxels: bool | None = None,
    mean: Literal["float32", "float16"] | None = None,
    point_to_voxel: bool = False,
    lists: bool = False,
    padded: Literal[False] = False,
    strict_range: bool = False,
    row_splits: Sequence[SupportsIndex] | _Array | None = None,
    report: bool = False,
    origin: _Numbers | Literal["auto"] | None = None,
) -> Voxels[_Given, int]: ...
@overload
def voxelize(
    points: _Host,
    *,
    voxel_size: _Numbers,
    point_cloud_range: _Numbers,
    max_num_points: SupportsIndex | None = 10,
    max_voxels: SupportsIndex = 160000,
    order: Literal["first-seen", "sorted"] = "first-seen",
    voxels: bool | None = None,
    mean: Literal["float32", "float16"] | None = None,
    point_to_voxel: bool = False,
    lists: bool = False,
    padded: bool = False,
    strict_range: bool = False,
    row_splits: Sequence[SupportsIndex] | _Array | None = None,
    report: bool = False,
    origin: _Numbers | Literal["auto"] | None = None,
) -> Voxels[_Numpy, int | None]: ...
@overload
def voxelize(
    points: _Given,
    *,
    voxel_size: _Numbers,
    point_cloud_range: _Numbers,
    max_num_points: SupportsIndex | None = 10,
    max_voxels: SupportsIndex = 160000,
    order: Literal["first-seen", "sorted"] = "first-seen",
    voxels: bool | None = None,
    mean: Literal["float32", "float16"] | None = None,
    point_to_voxel: bool = False,
    lists: bool = False,
    padded: bool = False,
    strict_range: bool = False,
    row_splits: Sequence[SupportsIndex] | _Array | None = None,
    report: bool = False,
    origin: _Numbers | Literal["auto"] | None = None,
) -> Voxels[_Given, int | None]: ...

@final
class RoiPooled(Generic[_Own]):
    @classmethod
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def pooled(self) -> _Own: ...
    @property
    def argmax(self) -> _Own | Any: ...
    @property
    def point_indices(self) -> _Own | Any: ...
    @property
    def row_splits(self) -> _Own | Any: ...
    @property
    def indices(self) -> _Own | Any: ...
    @property
    def coords(self) -> _Own | Any: ...
    @property
    def gradient(self) -> RoiGradient | Any: ...

@final
class RoiGradient:
    def __call__(self, rois: _Array, pts: _Array, argmax: _Array | None, grad: _Array) -> _Array: ...

@overload
def roi_aware_pool3d(
    rois: _Array,
    pts: _Array,
    pts_feature: _Host,
    *,
    out_size: _Sizes,
    max_pts_per_voxel: SupportsIndex = 127,
    mode: _Mode = "max",
    origin: _Origin = "bottom",
    margin: float = 0.0,
    layout: Literal["dense", "csr", "sparse"] = "dense",
    lists: bool = True,
    for_gradient: bool = False,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> RoiPooled[_Numpy]: ...
@overload
def roi_aware_pool3d(
    rois: _Array,
    pts: _Array,
    pts_feature: _Given,
    *,
    out_size: _Sizes,
    max_pts_per_voxel: SupportsIndex = 127,
    mode: _Mode = "max",
    origin: _Origin = "bottom",
    margin: float = 0.0,
    layout: Literal["dense", "csr", "sparse"] = "dense",
    lists: bool = True,
    for_gradient: bool = False,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> RoiPooled[_Given]: ...
def roi_aware_pool3d_backward(
    rois: _Array,
    pts: _Array,
    argmax: _Array | None,
    grad: _Array,
    *,
    out_size: _Sizes,
    max_pts_per_voxel: SupportsIndex,
    mode: _Mode,
    origin: _Origin,
    margin: float,
) -> _Array: ...
def scatter(
    features: _Array,
    index: _Array,
    rows: int | None,
    reduce: Literal["sum", "mean", "min", "max"],
    *,
    places: bool,
    name: str,
) -> tuple[_Array, _Array | None]: ...
def scatter_gradient(
    grad: _Array, index: _Array, places: _Array | None, reduce: Literal["sum", "mean", "min", "max"]
) -> _Array: ...
@overload
def points_in_boxes_part(
    points: _Host,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> _Numpy: ...
@overload
def points_in_boxes_part(
    points: _Given,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> _Given: ...
@overload
def points_in_boxes_count(
    points: _Host,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> _Numpy: ...
@overload
def points_in_boxes_count(
    points: _Given,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> _Given: ...
@overload
def points_in_boxes_all(
    points: _Host,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    layout: Literal["csr"] = "csr",
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> tuple[_Numpy, _Numpy]: ...
@overload
def points_in_boxes_all(
    points: _Host,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    layout: Literal["bits"],
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> _Numpy: ...
@overload
def points_in_boxes_all(
    points: _Given,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    layout: Literal["csr"] = "csr",
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> tuple[_Given, _Given]: ...
@overload
def points_in_boxes_all(
    points: _Given,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    layout: Literal["bits"],
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> _Given: ...
@overload
def points_in_boxes_crop(
    points: _Host,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> tuple[_Numpy, _Numpy]: ...
@overload
def points_in_boxes_crop(
    points: _Given,
    boxes: _Array,
    *,
    origin: _Origin = "bottom",
    margin: float = 0.0,
    local_origin: _Numbers | Literal["auto"] | None = None,
) -> tuple[_Given, _Given]: ...

@final
class NdtReport:
    @property
    def points(self) -> int: ...
    @property
    def non_finite(self) -> int: ...
    @property
    def cells(self) -> int: ...
    @property
    def sparse(self) -> int: ...
    @property
    def degenerate(self) -> int: ...
    @property
    def voxels(self) -> int: ...
    @property
    def clamped(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class NdtFit:
    @property
    def score(self) -> _Array: ...
    @property
    def transform_probability(self) -> _Array: ...
    @property
    def nvtl(self) -> _Array: ...
    @property
    def hits(self) -> _Array: ...

@final
class NdtRegistration:
    @property
    def target_from_source(self) -> _Array: ...
    @property
    def xyzrpy(self) -> _Array: ...
    @property
    def status(self) -> Literal["step-below", "max-iterations", "no-pairs", "degenerate"]: ...
    @property
    def converged(self) -> bool: ...
    @property
    def iterations(self) -> int: ...
    @property
    def score(self) -> float: ...
    @property
    def transform_probability(self) -> float: ...
    @property
    def nvtl(self) -> float: ...
    @property
    def hits(self) -> int: ...
    @property
    def oscillations(self) -> int: ...
    @property
    def hessian(self) -> _Array: ...
    @property
    def covariance(self) -> _Array | None: ...

@final
class Moments:
    def __new__(cls, resolution: float, *, origin: _Numbers | None = None) -> Moments: ...
    @staticmethod
    def load(path: _Path) -> Moments: ...
    def save(self, path: _Path) -> None: ...
    def add(self, points: _Array, *, origin: _Numbers | Literal["auto"] | None = None) -> None: ...
    def merge(self, other: Moments) -> None: ...
    def subtract(self, part: Moments) -> None: ...
    def grid(
        self,
        *,
        covariance: _Covariance = "autoware",
        min_points: SupportsIndex = 6,
        eigen_ratio: float = 0.01,
        like: _Array | None = None,
    ) -> Grid: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...
    @property
    def resolution(self) -> float: ...
    @property
    def points(self) -> int: ...
    @property
    def non_finite(self) -> int: ...

@final
class BlockMap:
    def __new__(
        cls,
        path: _Path,
        *,
        resolution: float | None = None,
        block: float = 128.0,
        covariance: _Covariance = "autoware",
        min_points: SupportsIndex = 6,
        eigen_ratio: float = 0.01,
        origin: _Numbers | None = None,
        device: str = "cpu",
    ) -> BlockMap: ...
    def add(
        self,
        name: str,
        points: _Array | Scan,
        *,
        pose: _Numbers | None = None,
        origin: _Numbers | None = None,
        state: str = "",
    ) -> dict[str, Any]: ...
    def refuse(self, name: str, error: str) -> dict[str, Any]: ...
    def remove(self, name: str) -> list[str]: ...
    def keeps(self, name: str, state: str) -> dict[str, Any] | None: ...
    def merge(self, block: str) -> dict[str, int]: ...
    def finish(self) -> list[dict[str, Any]]: ...
    def grid(self, near: _Numbers | None = None, *, reach: float = 200.0, like: _Array | None = None) -> Grid: ...
    def name_of(self, path: _Path) -> str: ...
    @staticmethod
    def state_of(path: _Path, how: str = "") -> str: ...
    @staticmethod
    def hash(name: str) -> str: ...
    @property
    def blocks(self) -> list[str]: ...
    @property
    def rows(self) -> list[dict[str, Any]]: ...
    @property
    def resolution(self) -> float: ...
    @property
    def block(self) -> float: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...

@final
class Grid:
    def __new__(
        cls,
        points: _Array,
        *,
        resolution: float,
        covariance: _Covariance = "autoware",
        min_points: SupportsIndex = 6,
        eigen_ratio: float = 0.01,
        origin: _Numbers | Literal["auto"] | None = None,
    ) -> Grid: ...
    @staticmethod
    def load(path: _Path, *, like: _Array | None = None) -> Grid: ...
    def save(self, path: _Path) -> None: ...
    def __len__(self) -> int: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...
    @property
    def resolution(self) -> float: ...
    @property
    def report(self) -> NdtReport: ...
    @property
    def coords(self) -> _Array: ...
    @property
    def counts(self) -> _Array: ...
    @property
    def mean(self) -> _Array: ...
    @property
    def covariance(self) -> _Array: ...
    @property
    def inverse_covariance(self) -> _Array: ...
    @property
    def eigenvalues(self) -> _Array: ...
    @property
    def normal(self) -> _Array: ...
    @overload
    def align(
        self,
        scan: _Array,
        guess: Sequence[float] | None = None,
        *,
        step_size: float = 0.1,
        epsilon: float = 0.01,
        max_iterations: SupportsIndex = 30,
        origin: _Numbers | Literal["auto"] | None = None,
    ) -> NdtRegistration: ...
    @overload
    def align(
        self,
        scan: _Array,
        guess: Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]] | _Array,
        *,
        step_size: float = 0.1,
        epsilon: float = 0.01,
        max_iterations: SupportsIndex = 30,
        origin: _Numbers | Literal["auto"] | None = None,
    ) -> NdtRegistration | list[NdtRegistration]: ...
    def align_many(
        self,
        scans: Sequence[_Array],
        guesses: Sequence[_Numbers] | None = None,
        *,
        step_size: float = 0.1,
        epsilon: float = 0.01,
        max_iterations: SupportsIndex = 30,
        origin: _Numbers | Literal["auto"] | None = None,
    ) -> list[NdtRegistration | list[NdtRegistration] | Exception]: ...
    def score(self, scan: _Array, poses: _Numbers, *, origin: _Numbers | Literal["auto"] | None = None) -> NdtFit: ...
    def point_scores(self, scan: _Array, pose: _Numbers | None = None, *, origin: _Numbers | Literal["auto"] | None = None) -> _Array: ...
    def radius_search(
        self, points: _Array, radius: float, *, origin: _Numbers | Literal["auto"] | None = None
    ) -> tuple[_Array, _Array, _Array]: ...
    def neighbours(self, points: _Array, cells: Literal[1, 7, 27] = 7, *, origin: _Numbers | Literal["auto"] | None = None) -> tuple[_Array, _Array]: ...

@final
class IcpIteration:
    @property
    def stage(self) -> int: ...
    @property
    def target_from_source(self) -> list[list[float]]: ...
    @property
    def pairs(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def searched(self) -> int: ...
    @property
    def rmse(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def search_ms(self) -> float: ...
    @property
    def reduce_ms(self) -> float: ...
    @property
    def solve_ms(self) -> float: ...

@final
class IcpRegistration(Generic[_Own]):
    @classmethod
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def target_from_source(self) -> _Own: ...
    @property
    def status(
        self,
    ) -> Literal["fixed", "step-below", "cycle", "max-iterations", "no-pairs", "degenerate"]: ...
    @property
    def converged(self) -> bool: ...
    @property
    def iterations(self) -> int: ...
    @property
    def fitness(self) -> float: ...
    @property
    def inlier_rmse(self) -> float: ...
    @property
    def num_inliers(self) -> int: ...
    @property
    def hessian(self) -> _Own: ...
    @property
    def covariance(self) -> _Own | None: ...
    @property
    def eigenvalues(self) -> _Own: ...
    @property
    def directions(self) -> _Own: ...
    @property
    def observable(self) -> list[bool]: ...
    @property
    def pivot(self) -> _Own: ...
    @property
    def source_dropped(self) -> tuple[int, int]: ...
    @property
    def target_dropped(self) -> tuple[int, int]: ...
    @property
    def trace(self) -> list[IcpIteration]: ...
    @property
    def prepare_ms(self) -> float: ...

@overload
def icp(
    *,
    source: _Host,
    target: _Array,
    guess: _Numbers | None = None,
    metric: _Metric = "point-to-plane",
    max_distance: float | None = None,
    max_iterations: SupportsIndex = 100,
    step_tolerance: float = 1e-06,
    robust: _Robust | None = None,
    neighbours: SupportsIndex = 20,
    schedule: _Schedule | None = None,
    drop_zeros: bool = False,
    search: _Search = "auto",
    source_origin: _Numbers | Literal["auto"] | None = None,
    target_origin: _Numbers | Literal["auto"] | None = None,
    target_normals: _Array | None = None,
) -> IcpRegistration[_Numpy]: ...
@overload
def icp(
    *,
    source: _Given,
    target: _Array,
    guess: _Numbers | None = None,
    metric: _Metric = "point-to-plane",
    max_distance: float | None = None,
    max_iterations: SupportsIndex = 100,
    step_tolerance: float = 1e-06,
    robust: _Robust | None = None,
    neighbours: SupportsIndex = 20,
    schedule: _Schedule | None = None,
    drop_zeros: bool = False,
    search: _Search = "auto",
    source_origin: _Numbers | Literal["auto"] | None = None,
    target_origin: _Numbers | Literal["auto"] | None = None,
    target_normals: _Array | None = None,
) -> IcpRegistration[_Given]: ...
def align_many(
    sources: Sequence[_Array],
    targets: Sequence[_Array],
    guesses: Sequence[_Numbers] | None = None,
    *,
    metric: _Metric = "point-to-plane",
    max_distance: float | None = None,
    max_iterations: SupportsIndex = 100,
    step_tolerance: float = 1e-06,
    robust: _Robust | None = None,
    neighbours: SupportsIndex = 20,
    schedule: _Schedule | None = None,
    drop_zeros: bool = False,
    search: _Search = "auto",
    source_origin: _Numbers | Literal["auto"] | None = None,
    target_origin: _Numbers | Literal["auto"] | None = None,
) -> list[IcpRegistration | Exception]: ...
@overload
def normals(points: _Host, k: SupportsIndex = 20) -> _Numpy: ...
@overload
def normals(points: _Given, k: SupportsIndex = 20) -> _Given: ...

@final
class Target:
    def __new__(
        cls,
        points: _Array,
        *,
        metric: _Metric = "point-to-plane",
        max_distance: float | None = None,
        max_iterations: SupportsIndex = 100,
        step_tolerance: float = 1e-06,
        robust: _Robust | None = None,
        neighbours: SupportsIndex = 20,
        schedule: _Schedule | None = None,
        drop_zeros: bool = False,
        search: _Search = "auto",
        origin: _Numbers | Literal["auto"] | None = None,
        normals: _Array | None = None,
    ) -> Target: ...
    def __copy__(self) -> Target: ...
    def __deepcopy__(self, _memo: dict[int, Any]) -> Target: ...
    def __len__(self) -> int: ...
    @overload
    def align(self, source: _Host, guess: _Numbers | None = None, *, origin: _Numbers | Literal["auto"] | None = None) -> IcpRegistration[_Numpy]: ...
    @overload
    def align(self, source: _Given, guess: _Numbers | None = None, *, origin: _Numbers | Literal["auto"] | None = None) -> IcpRegistration[_Given]: ...

@final
class Searcher:
    def __new__(cls, points: _Array, *, search: _Search = "auto", origin: _Numbers | Literal["auto"] | None = None) -> Searcher: ...
    def __copy__(self) -> Searcher: ...
    def __deepcopy__(self, _memo: dict[int, Any]) -> Searcher: ...
    def __len__(self) -> int: ...
    @property
    def search(self) -> Literal["brute", "kdtree", "lbvh"]: ...
    def nearest(self, queries: _Array, max_distance: float | None = None) -> tuple[_Array, _Array]: ...
    def neighbours(self, queries: _Array, k: SupportsIndex, max_distance: float | None = None) -> tuple[_Array, _Array]: ...
    def radius_search(
        self, queries: _Array, radius: float, max_results: SupportsIndex | None = None
    ) -> tuple[_Array, _Array, _Array]: ...
    def normals(self, k: SupportsIndex = 20) -> _Array: ...

# The module pointmill.icp, which can be called; its members have names of their own here, because they hide those of this file.
_Target: TypeAlias = Target
_Searcher: TypeAlias = Searcher
_IcpIteration: TypeAlias = IcpIteration
_IcpRegistration: TypeAlias = IcpRegistration

@type_check_only
class _Icp(Protocol):
    @property
    def Target(self) -> type[_Target]: ...
    @property
    def Searcher(self) -> type[_Searcher]: ...
    @property
    def IcpIteration(self) -> type[_IcpIteration]: ...
    @property
    def IcpRegistration(self) -> type[_IcpRegistration]: ...
    @overload
    def normals(self, points: _Host, k: SupportsIndex = 20) -> _Numpy: ...
    @overload
    def normals(self, points: _Given, k: SupportsIndex = 20) -> _Given: ...
    def align_many(
        self,
        sources: Sequence[_Array],
        targets: Sequence[_Array],
        guesses: Sequence[_Numbers] | None = None,
        *,
        metric: _Metric = "point-to-plane",
        max_distance: float | None = None,
        max_iterations: SupportsIndex = 100,
        step_tolerance: float = 1e-06,
        robust: _Robust | None = None,
        neighbours: SupportsIndex = 20,
        schedule: _Schedule | None = None,
        drop_zeros: bool = False,
        search: _Search = "auto",
        source_origin: _Numbers | Literal["auto"] | None = None,
        target_origin: _Numbers | Literal["auto"] | None = None,
    ) -> list[_IcpRegistration | Exception]: ...
    @overload
    def align(
        self,
        *,
        source: _Host,
        target: _Array,
        guess: _Numbers | None = None,
        metric: _Metric = "point-to-plane",
        max_distance: float | None = None,
        max_iterations: SupportsIndex = 100,
        step_tolerance: float = 1e-06,
        robust: _Robust | None = None,
        neighbours: SupportsIndex = 20,
        schedule: _Schedule | None = None,
        drop_zeros: bool = False,
        search: _Search = "auto",
        source_origin: _Numbers | Literal["auto"] | None = None,
        target_origin: _Numbers | Literal["auto"] | None = None,
        target_normals: _Array | None = None,
    ) -> _IcpRegistration[_Numpy]: ...
    @overload
    def align(
        self,
        *,
        source: _Given,
        target: _Array,
        guess: _Numbers | None = None,
        metric: _Metric = "point-to-plane",
        max_distance: float | None = None,
        max_iterations: SupportsIndex = 100,
        step_tolerance: float = 1e-06,
        robust: _Robust | None = None,
        neighbours: SupportsIndex = 20,
        schedule: _Schedule | None = None,
        drop_zeros: bool = False,
        search: _Search = "auto",
        source_origin: _Numbers | Literal["auto"] | None = None,
        target_origin: _Numbers | Literal["auto"] | None = None,
        target_normals: _Array | None = None,
    ) -> _IcpRegistration[_Given]: ...
    @overload
    def __call__(
        self,
        *,
        source: _Host,
        target: _Array,
        guess: _Numbers | None = None,
        metric: _Metric = "point-to-plane",
        max_distance: float | None = None,
        max_iterations: SupportsIndex = 100,
        step_tolerance: float = 1e-06,
        robust: _Robust | None = None,
        neighbours: SupportsIndex = 20,
        schedule: _Schedule | None = None,
        drop_zeros: bool = False,
        search: _Search = "auto",
        source_origin: _Numbers | Literal["auto"] | None = None,
        target_origin: _Numbers | Literal["auto"] | None = None,
        target_normals: _Array | None = None,
    ) -> _IcpRegistration[_Numpy]: ...
    @overload
    def __call__(
        self,
        *,
        source: _Given,
        target: _Array,
        guess: _Numbers | None = None,
        metric: _Metric = "point-to-plane",
        max_distance: float | None = None,
        max_iterations: SupportsIndex = 100,
        step_tolerance: float = 1e-06,
        robust: _Robust | None = None,
        neighbours: SupportsIndex = 20,
        schedule: _Schedule | None = None,
        drop_zeros: bool = False,
        search: _Search = "auto",
        source_origin: _Numbers | Literal["auto"] | None = None,
        target_origin: _Numbers | Literal["auto"] | None = None,
        target_normals: _Array | None = None,
    ) -> _IcpRegistration[_Given]: ...

def clear_cache() -> None: ...
def set_num_threads(threads: SupportsIndex) -> None: ...
def num_threads() -> int: ...
def devices() -> list[str]: ...

@final
class Fix:
    @property
    def index(self) -> int: ...
    @property
    def status(self) -> Literal["tracked", "found", "rejected", "lost"]: ...
    @property
    def rejection(
        self,
    ) -> (
        Literal[
            "too-few-points",
            "outside-map",
            "not-converged",
            "low-likelihood",
            "far-from-prediction",
            "unexplained",
            "contradicted",
            "ambiguous",
        ]
        | None
    ): ...
    @property
    def map_from_sensor(self) -> _Array: ...
    @property
    def predicted(self) -> _Array | None: ...
    @property
    def distance(self) -> float | None: ...
    @property
    def covariance(self) -> _Array | None: ...
    @property
    def nvtl(self) -> float | None: ...
    @property
    def iterations(self) -> int | None: ...
    @property
    def oscillations(self) -> int | None: ...
    @property
    def explained(self) -> float | None: ...
    @property
    def confirmed(self) -> float | None: ...
    @property
    def margin(self) -> float | None: ...
    @property
    def candidates(self) -> _Array: ...
    @property
    def scores(self) -> _Array: ...
    @property
    def points(self) -> int: ...
    @property
    def usable(self) -> int: ...
    @property
    def aligned(self) -> int: ...
    @property
    def rejections(self) -> int: ...
    @property
    def sample_ms(self) -> float: ...
    @property
    def align_ms(self) -> float: ...
    @property
    def search_ms(self) -> float: ...
    @property
    def map_cells(self) -> int: ...
    @property
    def map_ms(self) -> float: ...

@final
class Localizer:
    def __new__(
        cls,
        map: Grid | BlockMap,
        *,
        region: Sequence[float] | None = None,
        yaw_range: Sequence[float] = (-3.141592653589793, 3.141592653589793),
        search_radius: float = 20.0,
        sensor_height: float | None = None,
        covariance: Literal["laplace", "multi-ndt", "multi-ndt-score"] = "laplace",
        voxel_size: float = 1.0,
        max_points: SupportsIndex = 5000,
        min_range: float = 1.0,
        max_range: float = 100.0,
        min_nvtl: float = 2.3,
        max_distance: float = 3.0,
        min_explained: float = 0.7,
        min_confirmed: float = 0.7,
        min_margin: float = 0.1,
        max_rejections: SupportsIndex = 5,
        regularization_scale: float = 0.01,
    ) -> Localizer: ...
    def __len__(self) -> int: ...
    def start(self, map_from_sensor: _Numbers) -> None: ...
    def set_base(self, base: _Numbers | None) -> None: ...
    def push(self, points: _Array, seconds: float | None = None) -> Fix: ...

@final
class OdometryStep:
    @property
    def index(self) -> int: ...
    @property
    def status(self) -> Literal["started", "tracked", "degenerate", "not-converged", "repeated", "too-few-points", "lost"]: ...
    @property
    def world_from_sensor(self) -> _Array: ...
    @property
    def predicted(self) -> _Array: ...
    @property
    def time(self) -> float | None: ...
    @property
    def stamp_ns(self) -> int | None: ...
    @property
    def interval(self) -> float: ...
    @property
    def times(self) -> Literal["none", "relative", "absolute", "backwards", "unusable"]: ...
    @property
    def points(self) -> int: ...
    @property
    def usable(self) -> int: ...
    @property
    def aligned(self) -> int: ...
    @property
    def pairs(self) -> int | None: ...
    @property
    def rmse(self) -> float | None: ...
    @property
    def iterations(self) -> int | None: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def covariance(self) -> _Array | None: ...
    @property
    def pivot(self) -> _Array | None: ...
    @property
    def expected_error(self) -> float: ...
    @property
    def map_points(self) -> int: ...
    @property
    def map_voxels(self) -> int: ...
    @property
    def sample_ms(self) -> float: ...
    @property
    def align_ms(self) -> float: ...
    @property
    def map_ms(self) -> float: ...

@final
class Odometry:
    def __new__(
        cls,
        *,
        voxel_size: float = 1.0,
        min_range: float = 1.0,
        max_range: float = 100.0,
        max_points_per_voxel: SupportsIndex = 20,
        metric: Literal["point-to-plane", "point-to-point"] = "point-to-plane",
        robust_width: float = 0.1,
        deskew: bool = True,
        max_iterations: SupportsIndex = 50,
        keep_map: bool = False,
    ) -> Odometry: ...
    def __len__(self) -> int: ...
    def push(
        self, points: _Array, times: _Numbers | None = None, *, stamp_ns: SupportsIndex | None = None
    ) -> OdometryStep: ...
    def map(self) -> _Numpy: ...

@final
class ErrorStatistics:
    @property
    def rmse(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def median(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...

@final
class RelativeErrors:
    @property
    def frames(self) -> int | None: ...
    @property
    def metres(self) -> float | None: ...
    @property
    def pairs(self) -> int: ...
    @property
    def translation(self) -> ErrorStatistics: ...
    @property
    def rotation(self) -> ErrorStatistics: ...

@final
class Evaluation:
    @property
    def truth_from_estimate(self) -> _Numpy: ...
    @property
    def scale(self) -> float: ...
    @property
    def length(self) -> float: ...
    @property
    def translation(self) -> ErrorStatistics: ...
    @property
    def rotation(self) -> ErrorStatistics: ...
    @property
    def relative(self) -> list[RelativeErrors]: ...
    @property
    def drift(self) -> float | None: ...
    @property
    def rotation_drift(self) -> float | None: ...
    @property
    def estimate_indices(self) -> _Numpy: ...
    @property
    def truth_indices(self) -> _Numpy: ...
    @property
    def along(self) -> _Numpy: ...
    @property
    def translation_errors(self) -> _Numpy: ...
    @property
    def rotation_errors(self) -> _Numpy: ...
    @property
    def warnings(self) -> list[str]: ...

def evaluate(
    estimate: _Numbers | _Path,
    truth: _Numbers | _Path,
    *,
    align: Literal["none", "se3", "sim3"] = "none",
    estimate_times: _Numbers | None = None,
    truth_times: _Numbers | None = None,
    max_time_difference: float = 0.01,
) -> Evaluation: ...

_CloudFormat: TypeAlias = Literal["kitti", "nuscenes", "bin", "npy", "npz", "ply", "pcd", "las", "feather", "arrow", "mcap", "e57", "csv", "xyz"]
_Dataset: TypeAlias = Literal["kitti", "kitti-odometry", "semantickitti", "nuscenes", "waymo", "lyft", "once", "argoverse2", "pandaset", "s3dis", "scannet"]

@final
class Scan:
    def __new__(
        cls,
        points: _Numbers,
        names: Sequence[str] | None = None,
        *,
        times: _Numbers | None = None,
        start: float = 0.0,
        stamp_ns: SupportsIndex | None = None,
        deskewed: bool = False,
        local_origin: Literal["auto", "none"] | _Numbers = "auto",
    ) -> Scan: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Numpy: ...
    def __getitem__(self, name: str, /) -> _Numpy: ...
    def __contains__(self, name: str, /) -> bool: ...
    @property
    def points(self) -> _Numpy: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def format(self) -> str: ...
    @property
    def xyz(self) -> _Numpy | None: ...
    @property
    def times(self) -> _Numpy | None: ...
    @property
    def start(self) -> float | None: ...
    @property
    def origin(self) -> tuple[float, float, float]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def stamp_ns(self) -> int | None: ...
    @property
    def deskewed(self) -> bool: ...
    @property
    def recorded_ns(self) -> int | None: ...
    @property
    def frame(self) -> str | None: ...
    def __len__(self) -> int: ...

@final
class BagClouds:
    @property
    def topic(self) -> str: ...
    @property
    def cut(self) -> bool: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: SupportsIndex, /) -> Scan: ...
    def __iter__(self) -> Iterator[Scan]: ...

def read_bag(
    path: _Path, topic: str | None = None, *, local_origin: Literal["auto", "none"] | _Numbers = "auto"
) -> BagClouds: ...
def bag_topics(path: _Path) -> dict[str, tuple[str, int]]: ...
def find_inputs(inputs: Sequence[_Path]) -> list[tuple[str, str | None]]: ...
def find_log_poses(sweeps: _Path) -> str | None: ...
def log_stamp(sweep: _Path) -> float | None: ...
def read(
    path: _Path,
    *,
    format: _CloudFormat | None = None,
    columns: SupportsIndex | None = None,
    dataset: _Dataset | None = None,
    scan: SupportsIndex | None = None,
    topic: str | None = None,
    salvage: bool = False,
    local_origin: Literal["auto", "none"] | _Numbers = "auto",
) -> Scan: ...
def write(
    path: _Path,
    points: Scan | _Numbers,
    *,
    names: Sequence[str] | None = None,
    xyz: _Numbers | None = None,
    format: _CloudFormat | None = None,
) -> None: ...
def deskew(scan: Scan, poses: _Numbers, times: _Numbers, index: SupportsIndex = 0) -> _Numpy: ...
def read_poses(
    path: _Path, *, format: Literal["kitti", "tum", "matrix", "xyzrpy", "euroc", "argoverse2"] | None = None
) -> tuple[_Numpy, _Numpy | None]: ...
def write_poses(
    path: _Path,
    poses: _Numbers,
    *,
    times: _Numbers | None = None,
    format: Literal["kitti", "tum", "matrix", "xyzrpy"] = "kitti",
    stamps_ns: Sequence[SupportsIndex] | None = None,
) -> None: ...
