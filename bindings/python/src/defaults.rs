//! The library's defaults, for the test that compares signatures with them: pyo3 shows literals
//! alone.

use pointmill::icp::IcpParams;
use pointmill::ndt::{NdtAlignParams, NdtParams};
use pointmill::roi_pool::RoiPoolParams;
use pointmill::voxelize::VoxelizeParams;
use pointmill_io::ReadOptions;
use pointmill_slam::localize::LocalizerParams;
use pointmill_slam::odometry::OdometryParams;
use pointmill_slam::trajectory::EvaluationParams;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Puts a dictionary of fields of parameters, and of values with other names, into another.
macro_rules! put {
    ($all:ident, $params:ident: $type:ident { $($field:ident),* $(; $($name:ident: $value:expr),+)? }) => {{
        let $params = $type::default();
        let fields = PyDict::new($all.py());
        $(fields.set_item(stringify!($field), $params.$field)?;)*
        $($(fields.set_item(stringify!($name), $value)?;)+)?
        $all.set_item(stringify!($type), fields)?;
    }};
}

/// The library's defaults, by the types of parameters and Python's names.
#[pyfunction(name = "_defaults")]
pub(crate) fn defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    put!(all, p: IcpParams {
        max_distance, max_iterations, step_tolerance, neighbours, drop_zeros;
        metric: p.metric.as_str(), search: p.search.as_str(), robust: p.robust.width(),
        schedule: p.schedule.first().map(|stage| stage.voxel_size)
    });
    put!(all, p: NdtParams { min_points, eigen_ratio; covariance: p.covariance.as_str() });
    put!(all, p: NdtAlignParams { step_size, epsilon, max_iterations });
    put!(all, p: LocalizerParams {
        region, search_radius, sensor_height, voxel_size, max_points, min_range, max_range, min_nvtl, max_distance,
        min_explained, min_confirmed, min_margin, max_rejections, regularization_scale;
        yaw_range: <(f64, f64)>::from(p.yaw_range), covariance: p.covariance.as_str()
    });
    put!(all, p: OdometryParams {
        voxel_size, min_range, max_range, max_points_per_voxel, robust_width, deskew, max_iterations, keep_map;
        metric: p.metric.as_str()
    });
    put!(all, p: EvaluationParams { max_time_difference; align: p.alignment.as_str() });
    put!(all, p: RoiPoolParams {
        margin, lists;
        max_pts_per_voxel: p.max_points_per_voxel, mode: p.mode.as_str(), origin: p.origin.as_str(),
        layout: p.layout.as_str()
    });
    put!(all, p: VoxelizeParams {
        max_voxels, strict_range;
        max_num_points: p.max_points_per_voxel, order: p.order.as_str(), lists: p.outputs.lists,
        padded: p.outputs.padded
    });
    put!(all, p: ReadOptions { columns, scan, salvage });
    Ok(all)
}
