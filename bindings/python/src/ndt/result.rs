//! Results of grids.

use crate::arrays::Backend;
use crate::record::{Attributes, Class, Fields};
use pointmill::ndt::{NdtFit, NdtRegistration, NdtReport};
use pyo3::prelude::*;

pub(crate) static REPORT: Class =
    Class::new(("pointmill.ndt", "NdtReport"), "What became of points and cells.", None, || {
        Attributes::default().record::<NdtReport>("")
    });

pub(crate) static FIT: Class = Class::new(
    ("pointmill.ndt", "NdtFit"),
    "How well a scan fits at each of P poses; arrays of the scan's library and on its device.",
    Some("NdtFit(nvtl={nvtl!s})"),
    || {
        Attributes::default()
            .add("score", "_Array", "``[P]`` float64: the sum of all terms.")
            .add("transform_probability", "_Array", "``[P]`` float64: the score divided by the number of points.")
            .add("nvtl", "_Array", "``[P]`` float64: the mean of the largest term of each point that has one.")
            .add("hits", "_Array", "``[P]`` int64: points with a cell within reach.")
    },
);

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

pub(crate) static REGISTRATION: Class = Class::new(
    ("pointmill.ndt", "NdtRegistration"),
    "The pose of a scan in a map; arrays of the scan's library and on its device.\n\nThe Hessian has the second derivatives of minus the score by ``xyzrpy``; the covariance is its inverse.",
    Some("NdtRegistration(status=\"{status}\", iterations={iterations}, nvtl={nvtl:.4f}, {pose})"),
    || {
        let xyzrpy = "``[6]`` float64: the same pose as x, y, z in metres, roll, pitch, yaw in radians.";
        Attributes::default().record::<NdtRegistration>("_Array").add("xyzrpy", "_Array", xyzrpy).add(
            "converged",
            "bool",
            "Whether the last step was shorter than asked for.",
        )
    },
);

/// An alignment.
pub(super) fn registration<'py>(backend: &Backend<'py>, found: &NdtRegistration) -> PyResult<Bound<'py, PyAny>> {
    Fields::new(backend.object().py(), Some(backend))
        .record(found)?
        .set("xyzrpy", backend.give_values(found.target_from_source.xyzrpy().to_vec(), &[6])?)?
        .set("converged", found.converged())?
        .of(&REGISTRATION)
}
