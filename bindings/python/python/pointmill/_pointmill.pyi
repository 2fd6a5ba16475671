"""The extension module of pointmill; its names are those of :mod:`pointmill` and :mod:`pointmill.ndt`."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, final

# An array of any library: numpy, torch, cupy, jax, or whatever else speaks DLPack. Results are arrays of the library that was handed in.
_Array: TypeAlias = Any
_Numbers: TypeAlias = Sequence[float] | _Array

__version__: str

__all__ = [
    "DlpackArray",
    "Grid",
    "IcpIteration",
    "IcpRegistration",
    "NdtFit",
    "NdtRegistration",
    "NdtReport",
    "RoiGradient",
    "RoiPooled",
    "VoxelReport",
    "Voxels",
    "__version__",
    "clear_cache",
    "icp",
    "points_in_boxes_all",
    "points_in_boxes_count",
    "points_in_boxes_crop",
    "points_in_boxes_part",
    "roi_aware_pool3d",
    "roi_aware_pool3d_backward",
    "voxelize",
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

@final
class Voxels:
    @property
    def coords(self) -> _Array: ...
    @property
    def num_points(self) -> _Array: ...
    @property
    def voxels(self) -> _Array | None: ...
    @property
    def mean(self) -> _Array | None: ...
    @property
    def point_to_voxel(self) -> _Array | None: ...
    @property
    def row_splits(self) -> _Array | None: ...
    @property
    def indices(self) -> _Array | None: ...
    @property
    def voxel_splits(self) -> _Array | None: ...
    @property
    def num_voxels(self) -> int | None: ...
    @property
    def report(self) -> VoxelReport | None: ...

def voxelize(
    points: _Array,
    *,
    voxel_size: _Numbers,
    point_cloud_range: _Numbers,
    max_num_points: int | None = 10,
    max_voxels: int = 160000,
    order: Literal["first_seen", "sorted"] | str = "first_seen",
    voxels: bool | None = None,
    mean: Literal["float32", "float16"] | str | None = None,
    point_to_voxel: bool = False,
    lists: bool = False,
    padded: bool = False,
    strict_range: bool = False,
    row_splits: Sequence[int] | None = None,
    report: bool = False,
) -> Voxels: ...

@final
class RoiPooled:
    @property
    def pooled(self) -> _Array: ...
    @property
    def argmax(self) -> _Array | None: ...
    @property
    def point_indices(self) -> _Array | None: ...
    @property
    def row_splits(self) -> _Array | None: ...
    @property
    def indices(self) -> _Array | None: ...
    @property
    def coords(self) -> _Array | None: ...
    @property
    def gradient(self) -> RoiGradient | None: ...

@final
class RoiGradient:
    def __call__(self, rois: _Array, pts: _Array, argmax: _Array | None, grad: _Array) -> _Array: ...

def roi_aware_pool3d(
    rois: _Array,
    pts: _Array,
    pts_feature: _Array,
    *,
    out_size: int | Sequence[int] | _Array,
    max_pts_per_voxel: int = 128,
    mode: Literal["max", "mean", "avg"] | str = "max",
    origin: Literal["bottom", "center"] | str = "bottom",
    margin: float = 0.0,
    layout: Literal["dense", "csr", "sparse"] | str = "dense",
    lists: bool = True,
    for_gradient: bool = False,
) -> RoiPooled: ...
def roi_aware_pool3d_backward(
    rois: _Array,
    pts: _Array,
    argmax: _Array | None,
    grad: _Array,
    *,
    out_size: int | Sequence[int] | _Array,
    max_pts_per_voxel: int,
    mode: str,
    origin: str,
    margin: float,
) -> _Array: ...
def points_in_boxes_part(
    points: _Array,
    boxes: _Array,
    *,
    origin: Literal["bottom", "center"] | str = "bottom",
    margin: float = 0.0,
) -> _Array: ...
def points_in_boxes_count(
    points: _Array,
    boxes: _Array,
    *,
    origin: Literal["bottom", "center"] | str = "bottom",
    margin: float = 0.0,
) -> _Array: ...
def points_in_boxes_all(
    points: _Array,
    boxes: _Array,
    *,
    origin: Literal["bottom", "center"] | str = "bottom",
    margin: float = 0.0,
    layout: Literal["csr", "bits"] | str = "csr",
) -> _Array | tuple[_Array, _Array]: ...
def points_in_boxes_crop(
    points: _Array,
    boxes: _Array,
    *,
    origin: Literal["bottom", "center"] | str = "bottom",
    margin: float = 0.0,
) -> tuple[_Array, _Array]: ...

@final
class NdtReport:
    @property
    def points(self) -> int: ...
    @property
    def nonfinite(self) -> int: ...
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
    def pose(self) -> _Array: ...
    @property
    def target_from_source(self) -> _Array: ...
    @property
    def stop(self) -> Literal["converged", "max_iterations", "no_pairs", "singular"]: ...
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
    def hessian(self) -> _Array: ...
    @property
    def covariance(self) -> _Array | None: ...

@final
class Grid:
    def __new__(
        cls,
        points: _Array,
        *,
        resolution: float,
        covariance: Literal["autoware", "unbiased", "population"] | str = "autoware",
        min_points: int = 6,
        eigen_ratio: float = 0.01,
        origin: _Numbers | None = None,
    ) -> Grid: ...
    def __len__(self) -> int: ...
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
    def align(
        self,
        scan: _Array,
        guess: _Numbers | None = None,
        *,
        step_size: float = 0.1,
        epsilon: float = 0.01,
        max_iterations: int = 30,
        origin: _Numbers | None = None,
    ) -> Any: ...
    def score(self, scan: _Array, poses: _Numbers, *, origin: _Numbers | None = None) -> NdtFit: ...
    def point_scores(self, scan: _Array, pose: _Numbers | None = None, *, origin: _Numbers | None = None) -> _Array: ...
    def radius_search(
        self, points: _Array, radius: float, *, origin: _Numbers | None = None
    ) -> tuple[_Array, _Array, _Array]: ...
    def neighbours(self, points: _Array, cells: int = 7, *, origin: _Numbers | None = None) -> tuple[_Array, _Array]: ...

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
class IcpRegistration:
    @property
    def target_from_source(self) -> _Array: ...
    @property
    def status(
        self,
    ) -> Literal["fixed", "step_below", "cycle", "max_iterations", "no_pairs", "degenerate"]: ...
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
    def hessian(self) -> _Array: ...
    @property
    def covariance(self) -> _Array | None: ...
    @property
    def eigenvalues(self) -> _Array: ...
    @property
    def directions(self) -> _Array: ...
    @property
    def observable(self) -> list[bool]: ...
    @property
    def pivot(self) -> _Array: ...
    @property
    def source_dropped(self) -> tuple[int, int]: ...
    @property
    def target_dropped(self) -> tuple[int, int]: ...
    @property
    def trace(self) -> list[IcpIteration]: ...
    @property
    def prepare_ms(self) -> float: ...

def icp(
    *,
    source: _Array,
    target: _Array,
    metric: Literal["point_to_point", "point_to_plane", "gicp"] | str = "point_to_plane",
    target_from_source: _Numbers | None = None,
    max_distance: float | None = None,
    max_iterations: int = 100,
    step_tolerance: float = 1e-06,
    robust: tuple[str, float] | None = None,
    neighbours: int = 20,
    schedule: Sequence[tuple[float, float | None]] | None = None,
    drop_zeros: bool = False,
    search: Literal["auto", "brute", "kdtree", "lbvh"] | str = "auto",
    source_origin: _Numbers | None = None,
    target_origin: _Numbers | None = None,
    target_normals: _Array | None = None,
) -> IcpRegistration: ...
def clear_cache() -> None: ...
