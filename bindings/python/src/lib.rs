//! pointmill for Python: arrays in and out, one file or folder an operator. What a call means is said in the library.

// Comments of functions and classes are Python's docstrings, in the words and marks of its readers.
#![allow(clippy::doc_markdown, rustdoc::broken_intra_doc_links, rustdoc::invalid_rust_codeblocks)]

mod args;
mod arrays;
mod cache;
mod errors;
mod icp;
mod interrupt;
mod ndt;
mod poses;
mod roi_pool;
mod voxelize;

/// The extension module of pointmill.
#[pyo3::pymodule]
mod _pointmill {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrays::DlpackArray;
    #[pymodule_export]
    use crate::icp::{IcpIteration, IcpRegistration, icp};
    #[pymodule_export]
    use crate::ndt::{NdtFit, NdtGrid, NdtRegistration, NdtReport};
    #[pymodule_export]
    use crate::roi_pool::{
        RoiGradient, RoiPooled, points_in_boxes_all, points_in_boxes_count, points_in_boxes_crop, points_in_boxes_part,
        roi_aware_pool3d, roi_aware_pool3d_backward,
    };
    #[pymodule_export]
    use crate::voxelize::{VoxelReport, Voxels, voxelize};

    /// Lets go of the memory that operators keep between calls.
    #[pyfunction]
    fn clear_cache(py: Python<'_>) {
        py.detach(|| {
            crate::icp::CACHE.clear();
            crate::voxelize::CACHE.clear();
            crate::roi_pool::CACHE.clear();
            crate::roi_pool::INSIDE.clear();
        });
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
