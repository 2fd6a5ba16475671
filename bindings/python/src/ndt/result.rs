//! Results of grids.

use crate::arrays::Home;
use crate::pickle::{self, Fields, Reduced};
use pointmill::ndt::{NdtRegistration as Registration, NdtReport as Report};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// What became of points and cells.
#[pyclass(frozen, get_all, eq, module = "pointmill.ndt")]
#[derive(PartialEq)]
pub(crate) struct NdtReport {
    /// Points that were added.
    points: u64,
    /// Of these, rows with a coordinate that is not finite: they are in no cell.
    non_finite: u64,
    /// Occupied cells.
    cells: usize,
    /// Of these, cells of fewer points than asked for.
    sparse: usize,
    /// Cells without extent, or with too few points for their covariance.
    degenerate: usize,
    /// Cells that are left, V.
    voxels: usize,
    /// Of these, cells with a raised eigenvalue.
    clamped: usize,
}

pickle::fields!(NdtReport { points, non_finite, cells, sparse, degenerate, voxels, clamped });

impl From<&NdtReport> for Report {
    fn from(r: &NdtReport) -> Self {
        let mut report = Self::default();
        (report.points, report.non_finite, report.cells) = (r.points, r.non_finite, r.cells);
        (report.sparse, report.degenerate) = (r.sparse, r.degenerate);
        (report.voxels, report.clamped) = (r.voxels, r.clamped);
        report
    }
}

impl From<&Report> for NdtReport {
    fn from(r: &Report) -> Self {
        Self {
            points: r.points,
            non_finite: r.non_finite,
            cells: r.cells,
            sparse: r.sparse,
            degenerate: r.degenerate,
            voxels: r.voxels,
            clamped: r.clamped,
        }
    }
}

#[pymethods]
impl NdtReport {
    fn __repr__(&self) -> String {
        format!(
            "NdtReport(points={}, non_finite={}, cells={}, sparse={}, degenerate={}, voxels={}, clamped={})",
            self.points, self.non_finite, self.cells, self.sparse, self.degenerate, self.voxels, self.clamped
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// How well a scan fits at each of P poses; arrays of the scan's library and on its device.
#[pyclass(frozen, get_all, module = "pointmill.ndt")]
pub(crate) struct NdtFit {
    /// ``[P]`` float64: the sum of all terms.
    score: Py<PyAny>,
    /// ``[P]`` float64: the score divided by the number of points.
    transform_probability: Py<PyAny>,
    /// ``[P]`` float64: the mean of the largest term of each point that has one.
    nvtl: Py<PyAny>,
    /// ``[P]`` int64: points with a cell within reach.
    hits: Py<PyAny>,
}

pickle::fields!(NdtFit { score, transform_probability, nvtl, hits });

impl NdtFit {
    pub(super) fn new(home: &Home<'_>, fits: &[pointmill::ndt::NdtFit]) -> PyResult<Self> {
        let give = |of: fn(&pointmill::ndt::NdtFit) -> f64| {
            home.give_values(fits.iter().map(of).collect(), &[fits.len()]).map(Bound::unbind)
        };
        Ok(Self {
            score: give(|fit| fit.score)?,
            transform_probability: give(|fit| fit.transform_probability)?,
            nvtl: give(|fit| fit.nvtl)?,
            hits: home.give_values(fits.iter().map(|fit| fit.hits as i64).collect(), &[fits.len()])?.unbind(),
        })
    }
}

#[pymethods]
impl NdtFit {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("NdtFit(nvtl={})", self.nvtl.bind(py).str()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// The pose of a scan in a map; arrays of the scan's library and on its device.
#[pyclass(frozen, get_all, module = "pointmill.ndt")]
pub(crate) struct NdtRegistration {
    /// ``[4, 4]`` float64: the pose of the scan in the map.
    target_from_source: Py<PyAny>,
    /// ``[6]`` float64: the same pose as x, y, z in metres, roll, pitch, yaw in radians.
    xyzrpy: Py<PyAny>,
    /// Why the alignment ended: "step-below", "max-iterations", "no-pairs" or "degenerate".
    status: String,
    /// Whether the last step was shorter than asked for.
    converged: bool,
    /// Steps that were made.
    iterations: usize,
    /// The sum of all terms at the pose.
    score: f64,
    /// The score divided by the number of points.
    transform_probability: f64,
    /// The mean of the largest term of each point that has one.
    nvtl: f64,
    /// Points with a cell within reach.
    hits: usize,
    /// ``[6, 6]`` float64: second derivatives of minus the score by the pose.
    hessian: Py<PyAny>,
    /// ``[6, 6]`` float64: the inverse of the Hessian, ``None`` where that is not positive definite.
    covariance: Option<Py<PyAny>>,
}

pickle::fields!(NdtRegistration {
    target_from_source,
    xyzrpy,
    status,
    converged,
    iterations,
    score,
    transform_probability,
    nvtl,
    hits,
    hessian,
    covariance
});

impl NdtRegistration {
    pub(super) fn new(home: &Home<'_>, found: &Registration) -> PyResult<Self> {
        let square = |m: &[[f64; 6]; 6]| home.give_values(m.as_flattened().to_vec(), &[6, 6]).map(Bound::unbind);
        Ok(Self {
            target_from_source: home
                .give_values(found.target_from_source.matrix().as_flattened().to_vec(), &[4, 4])?
                .unbind(),
            xyzrpy: home.give_values(found.target_from_source.xyzrpy().to_vec(), &[6])?.unbind(),
            status: found.status.to_string(),
            converged: found.converged(),
            iterations: found.iterations,
            score: found.fit.score,
            transform_probability: found.fit.transform_probability,
            nvtl: found.fit.nvtl,
            hits: found.fit.hits,
            hessian: square(&found.hessian)?,
            covariance: found.covariance.as_ref().map(square).transpose()?,
        })
    }
}

#[pymethods]
impl NdtRegistration {
    fn __repr__(&self) -> String {
        format!("NdtRegistration(status={:?}, iterations={}, nvtl={:.4})", self.status, self.iterations, self.nvtl)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}
