//! The library's defaults, for the test that compares signatures with them: pyo3 shows literals
//! alone.

use crate::files::default_options;
use crate::keywords::Keywords;
use pointmill::boxes::IouParams;
use pointmill::icp::IcpParams;
use pointmill::ndt::{NdtAlignParams, NdtParams};
use pointmill::registration::global::RegisterParams;
use pointmill::roi_pool::RoiPoolParams;
use pointmill::sparse::{ConvParams, GridSampleParams, Pick, PillarParams, PoolParams, SerializeParams};
use pointmill::voxelize::VoxelizeParams;
use pointmill_slam::localize::LocalizerParams;
use pointmill_slam::odometry::OdometryParams;
use pointmill_slam::trajectory::EvaluationParams;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The library's defaults, by the types of parameters and Python's names.
#[pyfunction(name = "_defaults")]
pub(crate) fn defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("IcpParams", IcpParams::default().arguments(py)?)?;
    all.set_item("IouParams", IouParams::default().arguments(py)?)?;
    all.set_item("NmsParams", crate::boxes::NMS.defaults(py)?)?;
    all.set_item("DownsampleParams", crate::downsample::DOWNSAMPLE.defaults(py)?)?;
    all.set_item("FurthestParams", crate::points::FURTHEST.defaults(py)?)?;
    all.set_item("BallParams", crate::points::BALLS.defaults(py)?)?;
    all.set_item("KnnParams", crate::points::KNN.defaults(py)?)?;
    all.set_item("NdtParams", NdtParams::default().arguments(py)?)?;
    all.set_item("NdtAlignParams", NdtAlignParams::default().arguments(py)?)?;
    all.set_item("LocalizerParams", LocalizerParams::default().arguments(py)?)?;
    all.set_item("OdometryParams", OdometryParams::default().arguments(py)?)?;
    all.set_item("ReadOptions", default_options().arguments(py)?)?;
    all.set_item("RegisterParams", RegisterParams::default().arguments(py)?)?;
    all.set_item("RoiPoolParams", RoiPoolParams::default().arguments(py)?)?;
    all.set_item("EvaluationParams", EvaluationParams::default().arguments(py)?)?;
    let (of, voxelize) = (PyDict::new(py), VoxelizeParams::default());
    of.set_item("max_num_points", voxelize.max_points_per_voxel)?;
    of.set_item("max_voxels", voxelize.max_voxels)?;
    of.set_item("pick", if voxelize.pick == pointmill::voxelize::Pick::First { "first" } else { "" })?;
    of.set_item("order", voxelize.order.as_str())?;
    of.set_item("strict_range", voxelize.strict_range)?;
    of.set_item("lists", voxelize.outputs.lists)?;
    of.set_item("padded", voxelize.outputs.padded)?;
    all.set_item("VoxelizeParams", of)?;
    sparse(&all)?;
    Ok(all)
}

/// Those of the front end of sparse detectors.
fn sparse(all: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = all.py();
    let shown = |number: f32| number.to_string().parse::<f64>().unwrap_or_default();
    let (of, sample) = (PyDict::new(py), GridSampleParams::default());
    of.set_item("grid_size", shown(sample.grid_size[0]))?;
    of.set_item("pick", if sample.pick == Pick::First { "first" } else { "" })?;
    of.set_item("capacity", sample.capacity)?;
    all.set_item("GridSampleParams", of)?;
    let (of, conv) = (PyDict::new(py), ConvParams::default());
    of.set_item("kind", conv.kind.as_str())?;
    of.set_item("kernel", conv.kernel[0])?;
    of.set_item("stride", conv.stride[0])?;
    of.set_item("padding", conv.padding[0])?;
    of.set_item("dilation", conv.dilation[0])?;
    of.set_item("capacity", conv.capacity)?;
    of.set_item("masks", conv.masks)?;
    of.set_item("lists", conv.lists)?;
    all.set_item("ConvParams", of)?;
    let (of, pillars) = (PyDict::new(py), PillarParams::default());
    of.set_item("voxel_size", PyTuple::new(py, pillars.voxel_size.map(shown))?)?;
    of.set_item("origin", PyTuple::new(py, pillars.origin.map(shown))?)?;
    of.set_item("features", pillars.features)?;
    all.set_item("PillarParams", of)?;
    let (of, pool) = (PyDict::new(py), PoolParams::default());
    of.set_item("strides", PyTuple::new(py, pool.strides)?)?;
    of.set_item("capacities", pool.capacities)?;
    all.set_item("PoolParams", of)?;
    let (of, serialize) = (PyDict::new(py), SerializeParams::default());
    of.set_item("depth", serialize.depth)?;
    of.set_item("orders", PyTuple::new(py, serialize.orders.iter().map(|order| order.as_str()))?)?;
    all.set_item("SerializeParams", of)
}
