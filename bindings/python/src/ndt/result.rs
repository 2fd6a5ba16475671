//! Results of grids.

use crate::arrays::Backend;
use crate::record::{Attributes, Class, Fields};
use pointmill::ndt::{NdtFit, NdtRegistration, NdtReport};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

pub(crate) static REPORT: Class = Class {
    name: "NdtReport",
    module: "pointmill.ndt",
    doc: "What became of points and cells.",
    repr: None,
    equal: true,
    attributes: || Attributes::default().record::<NdtReport>(""),
    made: PyOnceLock::new(),
};

pub(crate) static FIT: Class = Class {
    name: "NdtFit",
    module: "pointmill.ndt",
    doc: "How well a scan fits at each of P poses; arrays of the scan's library and on its device.",
    repr: Some("NdtFit(nvtl={nvtl!s})"),
    equal: false,
    attributes: || {
        Attributes::default()
            .add("score", "_Array", "``[P]`` float64: the sum of all terms.")
            .add("transform_probability", "_Array", "``[P]`` float64: the score divided by the number of points.")
            .add("nvtl", "_Array", "``[P]`` float64: the mean of the largest term of each point that has one.")
            .add("hits", "_Array", "``[P]`` int64: points with a cell within reach.")
    },
    made: PyOnceLock::new(),
};

/// The fits of a scan at many poses.
pub(super) fn fits<'py>(backend: &Backend<'py>, fits: &[NdtFit]) -> PyResult<Bound<'py, PyAny>> {
    let give = |of: fn(&NdtFit) -> f64| backend.give_values(fits.iter().map(of).collect(), &[fits.len()]);
    let hits: Vec<_> = fits.iter().map(|fit| fit.hits as i64).collect();
    Fields::new(backend.object().py(), Some(backend))
        .set("score", give(|fit| fit.score)?)?
        .set("transform_probability", give(|fit| fit.transform_probability)?)?
        .set("nvtl", give(|fit| fit.nvtl)?)?
        .set("hits", backend.give_values(hits, &[fits.len()])?)?
        .of(&FIT)
}

pub(crate) static REGISTRATION: Class = Class {
    name: "NdtRegistration",
    module: "pointmill.ndt",
    doc: "The pose of a scan in a map; arrays of the scan's library and on its device.\n\nThe Hessian has the second derivatives of minus the score by ``xyzrpy``; the covariance is its inverse.",
    repr: Some("NdtRegistration(status=\"{status}\", iterations={iterations}, nvtl={nvtl:.4f})"),
    equal: false,
    attributes: || {
        let xyzrpy = "``[6]`` float64: the same pose as x, y, z in metres, roll, pitch, yaw in radians.";
        Attributes::default().record::<NdtRegistration>("_Array").add("xyzrpy", "_Array", xyzrpy).add(
            "converged",
            "bool",
            "Whether the last step was shorter than asked for.",
        )
    },
    made: PyOnceLock::new(),
};

/// An alignment.
pub(super) fn registration<'py>(backend: &Backend<'py>, found: &NdtRegistration) -> PyResult<Bound<'py, PyAny>> {
    Fields::new(backend.object().py(), Some(backend))
        .record(found)?
        .set("xyzrpy", backend.give_values(found.target_from_source.xyzrpy().to_vec(), &[6])?)?
        .set("converged", found.converged())?
        .of(&REGISTRATION)
}
