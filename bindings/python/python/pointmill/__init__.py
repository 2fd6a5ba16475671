"""LiDAR point-cloud operators on CPU and GPU, with the same bits on both."""

from ._pointmill import (
    DlpackArray,
    RoiPooled,
    VoxelReport,
    Voxels,
    __version__,
    clear_cache,
    points_in_boxes_all,
    points_in_boxes_count,
    points_in_boxes_crop,
    points_in_boxes_part,
    roi_aware_pool3d,
    voxelize,
)

__all__ = [
    "DlpackArray",
    "RoiPooled",
    "VoxelReport",
    "Voxels",
    "__version__",
    "clear_cache",
    "points_in_boxes_all",
    "points_in_boxes_count",
    "points_in_boxes_crop",
    "points_in_boxes_part",
    "roi_aware_pool3d",
    "voxelize",
]
