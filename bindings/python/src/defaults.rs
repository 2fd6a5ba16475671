//! The library's defaults, for the test that compares signatures with them: pyo3 shows literals
//! alone.

use crate::files::default_options;
use crate::keywords::Keywords;
use pointmill::boxes::{IouParams, NmsParams};
use pointmill::icp::IcpParams;
use pointmill::ndt::{NdtAlignParams, NdtParams};
use pointmill::roi_pool::RoiPoolParams;
use pointmill::voxelize::VoxelizeParams;
use pointmill_slam::localize::LocalizerParams;
use pointmill_slam::odometry::OdometryParams;
use pointmill_slam::trajectory::EvaluationParams;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The library's defaults, by the types of parameters and Python's names.
#[pyfunction(name = "_defaults")]
pub(crate) fn defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("IcpParams", IcpParams::default().arguments(py)?)?;
    all.set_item("IouParams", IouParams::default().arguments(py)?)?;
    all.set_item("NmsParams", NmsParams::default().arguments(py)?)?;
    all.set_item("NdtParams", NdtParams::default().arguments(py)?)?;
    all.set_item("NdtAlignParams", NdtAlignParams::default().arguments(py)?)?;
    all.set_item("LocalizerParams", LocalizerParams::default().arguments(py)?)?;
    all.set_item("OdometryParams", OdometryParams::default().arguments(py)?)?;
    all.set_item("ReadOptions", default_options().arguments(py)?)?;
    all.set_item("RoiPoolParams", RoiPoolParams::default().arguments(py)?)?;
    all.set_item("EvaluationParams", EvaluationParams::default().arguments(py)?)?;
    let (of, voxelize) = (PyDict::new(py), VoxelizeParams::default());
    of.set_item("max_num_points", voxelize.max_points_per_voxel)?;
    of.set_item("max_voxels", voxelize.max_voxels)?;
    of.set_item("order", voxelize.order.as_str())?;
    of.set_item("strict_range", voxelize.strict_range)?;
    of.set_item("lists", voxelize.outputs.lists)?;
    of.set_item("padded", voxelize.outputs.padded)?;
    all.set_item("VoxelizeParams", of)?;
    Ok(all)
}
