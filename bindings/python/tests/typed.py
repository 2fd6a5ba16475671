"""What type checkers must find and must not, for mypy with --strict: an error that it does not report is an error here, an ignore without one too."""

from typing import Any, Literal, assert_type

import numpy as np
import numpy.typing as npt

import pointmill
from pointmill import IcpSearcher, ndt
from pointmill.icp import Target

points = np.zeros((5, 4), np.float32)
boxes = np.zeros((2, 7), np.float32)
pts = points[:, :3].copy()
size, limits = [1, 1, 1], [-4, -4, -4, 4, 4, 4]

# What depends on flags.
assert_type(pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits).num_voxels, int)
assert_type(pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits, padded=True).num_voxels, int | None)
grid = ndt.Grid(pts, resolution=2.0)
assert_type(grid.align(pts), ndt.NdtRegistration)
assert_type(grid.align(pts, [0.0] * 6), ndt.NdtRegistration)
assert_type(grid.align(pts, [[0.0] * 6]), ndt.NdtRegistration | list[ndt.NdtRegistration])
splits, indices = pointmill.points_in_boxes_all(pts, boxes)
assert_type(pointmill.points_in_boxes_all(pts, boxes, layout="bits"), npt.NDArray[Any])
pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits).report.points

assert_type(pointmill.boxes.iou(boxes, boxes), npt.NDArray[Any])
assert_type(pointmill.boxes.nms(boxes, [0.5, 0.7]), npt.NDArray[Any])
assert_type(pointmill.boxes.nms(boxes, [0.5, 0.7], padded=True), tuple[npt.NDArray[Any], npt.NDArray[Any]])
assert_type(pointmill.boxes.nms(boxes, [0.5, 0.7], row_splits=[0, 2]), tuple[npt.NDArray[Any], npt.NDArray[Any]])
pointmill.boxes.nms(boxes, [0.5, 0.7], metric="area")  # type: ignore[call-overload]

# Arrays of results are those of the library that was handed in.
result = pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits, mean="float32")
assert_type(result.coords, npt.NDArray[Any])
assert_type(result, pointmill.Voxels[npt.NDArray[Any], int])
mean: npt.NDArray[np.float32] = result.mean
result.coords.foo()  # type: ignore[attr-defined]
result.voxels.foo()  # type: ignore[union-attr]
pooled = pointmill.roi_aware_pool3d(boxes, pts, points, out_size=2)
assert_type(pooled.pooled, npt.NDArray[Any])
pooled.argmax.foo()  # type: ignore[union-attr]
assert_type(pointmill.points_in_boxes_part(pts, boxes), npt.NDArray[Any])
assert_type(pointmill.icp.normals(pts), npt.NDArray[Any])
pointmill.icp(source=pts, target=pts).hessian.foo()  # type: ignore[attr-defined]


class Foreign:
    """An array of another library."""


foreign = pointmill.voxelize(Foreign(), voxel_size=size, point_cloud_range=limits, padded=True)
assert_type(foreign, pointmill.Voxels[Foreign, int | None])
assert_type(pointmill.icp.Target(pts).align(Foreign()).target_from_source, Foreign)

# Scans stand for points, and are arrays of numpy.
scan = pointmill.Scan(points, ["x", "y", "z", "intensity"], stamp_ns=5)
assert_type(scan["intensity"], npt.NDArray[Any])
assert_type(pointmill.voxelize(scan, voxel_size=size, point_cloud_range=limits).num_points, npt.NDArray[Any])
assert_type(pointmill.icp.align(source=scan, target=scan).target_from_source, npt.NDArray[Any])
assert_type(np.asarray(scan), npt.NDArray[Any])
assert_type(pointmill.devices(), list[pointmill.DeviceInfo])
assert_type(pointmill.synth.drive(1)[0], list[pointmill.Scan])
assert_type(pointmill.view.page([]), pointmill.view.Page)
scan["intensity"].foo()  # type: ignore[attr-defined]

target = pointmill.icp.Target(pts, metric="gicp")
assert_type(target.align(pts).converged, bool)
assert_type(pointmill.icp(source=pts, target=pts).iterations, int)
assert_type(pointmill.icp.align(source=pts, target=pts).iterations, int)


def nearest(target: pointmill.IcpTarget, searcher: IcpSearcher) -> Target:
    """The classes of icp as annotations."""
    assert_type(searcher.search, Literal["brute", "kdtree", "lbvh"])
    return target


nearest(target, pointmill.icp.Searcher(pts))

# Whole numbers of numpy.
pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits, max_num_points=np.int64(3), max_voxels=np.int32(9))
pointmill.roi_aware_pool3d(boxes, pts, points, out_size=np.int64(2), max_pts_per_voxel=np.int64(9))
pointmill.set_num_threads(np.int64(2))

# Typos.
pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits, order="sortd")  # type: ignore[call-overload]
pointmill.voxelize(points, voxel_size=size, point_cloud_range=limits, mean="float23")  # type: ignore[call-overload]
pointmill.roi_aware_pool3d(boxes, pts, points, out_size=2, mode="maximum")  # type: ignore[call-overload]
pointmill.roi_aware_pool3d(boxes, pts, points, out_size=2, layout="coo")  # type: ignore[call-overload]
pointmill.points_in_boxes_part(pts, boxes, origin="centre")  # type: ignore[call-overload]
pointmill.points_in_boxes_all(pts, boxes, layout="bit")  # type: ignore[call-overload]
pointmill.icp(source=pts, target=pts, metric="plane")  # type: ignore[call-overload]
pointmill.icp(source=pts, target=pts, search="kd_tree")  # type: ignore[call-overload]
pointmill.icp(source=pts, target=pts, robust=("hubert", 0.1))  # type: ignore[arg-type]
ndt.Grid(pts, resolution=2.0, covariance="autowear")  # type: ignore[arg-type]
grid.neighbours(pts, 9)  # type: ignore[arg-type]
grid.align(pts).xyzrpys  # type: ignore[attr-defined]
