"""LiDAR point-cloud operators on CPU and GPU, with the same bits on both."""

from . import ndt
from ._pointmill import (
    DlpackArray,
    IcpIteration,
    IcpRegistration,
    RoiPooled,
    VoxelReport,
    Voxels,
    __version__,
    clear_cache,
    icp,
    points_in_boxes_all,
    points_in_boxes_count,
    points_in_boxes_crop,
    points_in_boxes_part,
    roi_aware_pool3d,
    voxelize,
)

__all__ = [
    "DlpackArray",
    "IcpIteration",
    "IcpRegistration",
    "RoiPooled",
    "VoxelReport",
    "Voxels",
    "__version__",
    "clear_cache",
    "icp",
    "ndt",
    "points_in_boxes_all",
    "points_in_boxes_count",
    "points_in_boxes_crop",
    "points_in_boxes_part",
    "roi_aware_pool3d",
    "voxelize",
]
