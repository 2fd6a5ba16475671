//! pointmill for Python: arrays in and out, one file or folder an operator. What a call means is
//! said in the library.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
// Comments of functions and classes are Python's docstrings, in the words and marks of its readers.
#![allow(clippy::doc_markdown, rustdoc::broken_intra_doc_links, rustdoc::invalid_rust_codeblocks)]
#![allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]

mod args;
mod arrays;
mod bag;
mod boxes;
mod cache;
mod cloud;
mod defaults;
mod deskew;
mod downsample;
mod ending;
mod errors;
mod files;
mod gather;
mod icp;
mod interrupt;
mod keywords;
mod ndt;
mod pickle;
mod pipelines;
mod points;
mod poses;
mod program;
mod ray;
mod record;
mod register;
mod roi_pool;
mod scatter;
mod shared;
mod sparse;
mod view;
mod voxelize;
mod worker;

/// Every class of results.
const RESULTS: [&record::Class; 24] = [
    &icp::ITERATION,
    &icp::REGISTRATION,
    &ndt::FIT,
    &ndt::REGISTRATION,
    &ndt::REPORT,
    &pipelines::AVERAGE_PRECISION,
    &pipelines::CHANGE,
    &pipelines::CLASS_ERRORS,
    &pipelines::DETECTION_REPORT,
    &pipelines::ERROR_STATISTICS,
    &pipelines::EVALUATION,
    &pipelines::FIX,
    &pipelines::RELATIVE_ERRORS,
    &pipelines::STEP,
    &program::DEVICE,
    &register::REGISTERED,
    &roi_pool::POOLED,
    &sparse::CONV_PAIRS,
    &sparse::PATCHES,
    &sparse::SAMPLED,
    &sparse::SERIALIZED,
    &sparse::STAGE,
    &voxelize::REPORT,
    &voxelize::VOXELS,
];

/// The extension module of pointmill.
#[pyo3::pymodule]
mod _pointmill {
    use crate::args::whole;
    use crate::ending::detached;
    use crate::errors::OrRaise;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrays::DlpackArray;
    #[pymodule_export]
    use crate::bag::{BagClouds, bag_topics, read_bag};
    #[pymodule_export]
    use crate::boxes::{iou, iou_of_rows, overlaps, rows_kept};
    #[pymodule_export]
    use crate::deskew::deskew;
    #[pymodule_export]
    use crate::files::{Scan, find_inputs, find_log_poses, log_stamp, read, read_poses, write, write_poses};
    #[pymodule_export]
    use crate::gather::gather;
    #[pymodule_export]
    use crate::icp::{IcpSearcher, IcpTarget, align_many, icp, normals};
    #[pymodule_export]
    use crate::ndt::{NdtBlockMap, NdtGrid, NdtMoments};
    #[pymodule_export]
    use crate::pipelines::{Localizer, Odometry, curves_of_kitti, evaluate, evaluate_detections};
    #[pymodule_export]
    use crate::program::{command, devices, drive, info};
    #[pymodule_export]
    use crate::ray::{InputReader, MapBuild, find_poses, in_natural_order, map_origin, plan_map};
    #[pymodule_export]
    use crate::register::{RegisterTarget, register};
    #[pymodule_export]
    use crate::roi_pool::{
        RoiGradient, points_in_boxes_all, points_in_boxes_count, points_in_boxes_crop, points_in_boxes_part,
        roi_aware_pool3d, roi_aware_pool3d_backward,
    };
    #[pymodule_export]
    use crate::scatter::{scatter, scatter_gradient};
    #[pymodule_export]
    use crate::sparse::{
        cells_of, densify, grid_sample, index_pairs, patches, pillar_features, pool_hierarchy, serialize,
    };
    #[pymodule_export]
    use crate::view::{Page, page};
    #[pymodule_export]
    use crate::voxelize::voxelize;

    /// Lets go of the memory that operators keep between calls.
    #[pyfunction]
    fn clear_cache(py: Python<'_>) {
        detached(py, || {
            crate::boxes::PAIRS.clear();
            crate::boxes::NMS.cache.clear();
            crate::boxes::KEPT.clear();
            crate::downsample::DOWNSAMPLE.cache.clear();
            crate::gather::CACHE.clear();
            crate::points::FURTHEST.cache.clear();
            crate::points::BALLS.cache.clear();
            crate::points::KNN.cache.clear();
            crate::icp::CACHE.clear();
            crate::voxelize::CACHE.clear();
            crate::roi_pool::CACHE.clear();
            crate::roi_pool::INSIDE.clear();
            crate::scatter::CACHE.clear();
            crate::sparse::DENSIFY.clear();
            crate::sparse::ORDERS.clear();
            crate::sparse::PAIRS.clear();
            crate::sparse::PILLARS.clear();
            crate::sparse::SAMPLES.clear();
        });
    }

    /// Set the number of threads that operators work with on the CPU, in this process and in those
    /// that it forks afterwards.
    ///
    /// Without it a process has as many as there are cores, or as the environment variable
    /// ``RAYON_NUM_THREADS`` says when the first work begins; a process that was forked after
    /// ``import pointmill`` has one, or as many as that variable says. Results never depend on the
    /// number.
    ///
    /// It is the number for one call. Short calls work in the calling thread alone, long ones on
    /// threads of their own: calls of several Python threads do not wait for each other, and share
    /// this number.
    ///
    /// Parameters
    /// ----------
    /// threads : int
    ///     1 to 1024.
    ///
    /// Examples
    /// --------
    /// >>> import pointmill
    /// >>> pointmill.set_num_threads(2)
    /// >>> pointmill.num_threads()
    /// 2
    #[pyfunction]
    fn set_num_threads(py: Python<'_>, #[pyo3(from_py_with = crate::args::plain)] threads: i64) -> PyResult<()> {
        let threads = whole(threads, 1, "threads")? as usize;
        detached(py, || pointmill::set_num_threads(threads)).or_raise(&[])
    }

    /// The number of threads that operators work with on the CPU; see :func:`set_num_threads`.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> import pointmill
    /// >>> pointmill.num_threads() >= 1
    /// True
    #[pyfunction]
    fn num_threads(py: Python<'_>) -> usize {
        detached(py, pointmill::num_threads)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Forks are counted from here on.
        pointmill::device::count_forks();
        crate::ending::watch(module)?;
        for class in crate::RESULTS {
            class.add_to(module)?;
        }
        crate::boxes::NMS.add_to(module)?;
        crate::downsample::DOWNSAMPLE.add_to(module)?;
        crate::points::FURTHEST.add_to(module)?;
        crate::points::BALLS.add_to(module)?;
        crate::points::KNN.add_to(module)?;
        // An attribute that is not in `__all__`.
        module.setattr("_defaults", wrap_pyfunction!(crate::defaults::defaults, module)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // What begins with one underscore is for the package alone.
        let mut public: Vec<String> = module.index()?.extract()?;
        public.retain(|name| name.starts_with("__") || !name.starts_with('_'));
        module.setattr("__all__", public)
    }
}
