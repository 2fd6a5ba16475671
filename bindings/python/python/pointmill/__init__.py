"""LiDAR point-cloud operators on CPU and GPU, with the same bits on both.

Arrays may be of numpy, torch, or any library with DLPack; results are of the same library, on the same device.

Examples
--------
>>> import numpy as np
>>> import pointmill
>>> points = np.array([[0.05, 0.0, 0.0, 0.9], [0.15, 0.0, 0.0, 0.5], [7.0, 0.0, 0.0, 0.1]], np.float32)
>>> pointmill.voxelize(points, voxel_size=0.2, point_cloud_range=[-54, -54, -5, 54, 54, 3]).num_points.tolist()
[2, 1]
"""

from typing import TYPE_CHECKING

from . import _html, boxes, ndt, points, sparse, synth, view  # noqa: F401: notebooks find `_repr_html_` of the results
from ._pointmill import Searcher as IcpSearcher
from ._pointmill import Target as IcpTarget
from ._pointmill import (
    AveragePrecision,
    BagClouds,
    ClassErrors,
    DetectionChange,
    DetectionReport,
    DeviceInfo,
    DlpackArray,
    ErrorStatistics,
    Evaluation,
    Fix,
    IcpIteration,
    IcpRegistration,
    Localizer,
    Odometry,
    OdometryStep,
    RegisterTarget,
    Registered,
    RelativeErrors,
    RoiGradient,
    RoiPooled,
    Scan,
    VoxelReport,
    Voxels,
    __version__,
    bag_topics,
    clear_cache,
    deskew,
    downsample,
    devices,
    evaluate,
    evaluate_detections,
    find_inputs,
    find_log_poses,
    info,
    log_stamp,
    num_threads,
    points_in_boxes_all,
    points_in_boxes_count,
    points_in_boxes_crop,
    points_in_boxes_part,
    read,
    read_bag,
    read_poses,
    register,
    roi_aware_pool3d,
    set_num_threads,
    voxelize,
    write,
    write_poses,
)

if TYPE_CHECKING:
    # Type checkers do not know modules that can be called.
    from ._pointmill import _Icp

    icp: _Icp
else:
    from . import icp

__all__ = [
    "AveragePrecision",
    "BagClouds",
    "ClassErrors",
    "DetectionChange",
    "DetectionReport",
    "DeviceInfo",
    "DlpackArray",
    "ErrorStatistics",
    "Evaluation",
    "Fix",
    "IcpIteration",
    "IcpRegistration",
    "IcpSearcher",
    "IcpTarget",
    "Localizer",
    "Odometry",
    "OdometryStep",
    "RegisterTarget",
    "Registered",
    "RelativeErrors",
    "RoiGradient",
    "RoiPooled",
    "Scan",
    "VoxelReport",
    "Voxels",
    "__version__",
    "bag_topics",
    "boxes",
    "clear_cache",
    "deskew",
    "downsample",
    "devices",
    "evaluate",
    "evaluate_detections",
    "find_inputs",
    "find_log_poses",
    "icp",
    "info",
    "log_stamp",
    "ndt",
    "num_threads",
    "points",
    "points_in_boxes_all",
    "points_in_boxes_count",
    "points_in_boxes_crop",
    "points_in_boxes_part",
    "read",
    "read_bag",
    "read_poses",
    "register",
    "roi_aware_pool3d",
    "set_num_threads",
    "sparse",
    "synth",
    "view",
    "voxelize",
    "write",
    "write_poses",
]
