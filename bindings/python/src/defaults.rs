//! The library's defaults. pyo3 shows none but literals in signatures, so a test compares those with these.

use pointmill::icp::IcpParams;
use pointmill::ndt::{NdtAlignParams, NdtParams};
use pointmill::pipelines::localize::LocalizerParams;
use pointmill::pipelines::odometry::OdometryParams;
use pointmill::pipelines::trajectory::EvaluationParams;
use pointmill::roi_pool::RoiPoolParams;
use pointmill::voxelize::VoxelizeParams;
use pointmill_io::ReadOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Puts a dictionary of fields of parameters, and of values with other names, into another.
macro_rules! put {
    ($into:ident, $params:ident { $($field:ident),* } $({ $($name:ident: $value:expr),+ })?) => {{
        let params = $params::default();
        let fields = PyDict::new($into.py());
        $(fields.set_item(stringify!($field), params.$field)?;)*
        $($(fields.set_item(stringify!($name), $value(&params))?;)+)?
        $into.set_item(stringify!($params), fields)?;
    }};
}

/// The library's defaults, by the types of parameters and Python's names.
#[pyfunction]
pub(crate) fn _defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    put!(all, IcpParams { max_distance, max_iterations, step_tolerance, neighbours, drop_zeros } {
        metric: |params: &IcpParams| params.metric.as_str(),
        search: |params: &IcpParams| params.search.as_str(),
        robust: |params: &IcpParams| params.robust.width(),
        schedule: |params: &IcpParams| params.schedule.first().map(|stage| stage.voxel_size)
    });
    put!(all, NdtParams { min_points, eigen_ratio } { covariance: |params: &NdtParams| params.covariance.as_str() });
    put!(all, NdtAlignParams { step_size, epsilon, max_iterations });
    put!(all, LocalizerParams {
        region, search_radius, sensor_height, voxel_size, max_points, min_range, max_range, min_nvtl, max_distance,
        min_explained, min_confirmed, min_margin, max_rejections, regularization_scale
    } {
        yaw_range: |params: &LocalizerParams| <(f64, f64)>::from(params.yaw_range),
        covariance: |params: &LocalizerParams| params.covariance.as_str()
    });
    put!(all, OdometryParams {
        voxel_size, min_range, max_range, max_points_per_voxel, robust_width, deskew, max_iterations, keep_map
    } { metric: |params: &OdometryParams| params.metric.as_str() });
    put!(all, EvaluationParams { max_time_difference } {
        align: |params: &EvaluationParams| params.alignment.as_str()
    });
    put!(all, RoiPoolParams { margin, lists } {
        max_pts_per_voxel: |params: &RoiPoolParams| params.max_points_per_voxel,
        mode: |params: &RoiPoolParams| params.mode.as_str(),
        origin: |params: &RoiPoolParams| params.origin.as_str(),
        layout: |params: &RoiPoolParams| params.layout.as_str()
    });
    put!(all, VoxelizeParams { max_voxels, strict_range } {
        max_num_points: |params: &VoxelizeParams| params.max_points_per_voxel,
        order: |params: &VoxelizeParams| params.order.as_str(),
        lists: |params: &VoxelizeParams| params.outputs.lists,
        padded: |params: &VoxelizeParams| params.outputs.padded
    });
    put!(all, ReadOptions { columns, scan, salvage });
    Ok(all)
}
