//! Results of alignments.

use crate::arrays::Backend;
use crate::record::{Attributes, Class, Fields};
use pointmill::icp::{Iteration, Registration};
use pyo3::prelude::*;

pub(crate) static ITERATION: Class = Class::new(
    ("pointmill", "IcpIteration"),
    "One iteration: the pairs at a pose, and the step from there.",
    Some("IcpIteration(stage={stage}, pairs={pairs}, rmse={rmse:.6f}, step={step:.6f})"),
    || Attributes::default().record::<Iteration>("list[list[float]]"),
);

pub(crate) static REGISTRATION: Class = Class::new(
    ("pointmill", "IcpRegistration"),
    "The pose that brings a source onto a target, and how certain it is; arrays of the source's library and on its device.\n\nHessian and covariance are by a translation and a rotation vector about ``pivot``.",
    Some(
        "IcpRegistration(status=\"{status}\", iterations={iterations}, fitness={fitness:.4f}, inlier_rmse={inlier_rmse:.6f}, {pose})",
    ),
    || {
        let dropped =
            ["Source points left out: not finite, and zeros.", "Target points left out: not finite, and zeros."];
        Attributes::default()
            .record::<Registration>("_Own")
            .without(&["non_finite", "zeros"])
            .add("converged", "bool", "Whether the pose is an answer.")
            .add("source_dropped", "tuple[int, int]", dropped[0])
            .add("target_dropped", "tuple[int, int]", dropped[1])
            .add("trace", "list[IcpIteration]", "Every pose on the way.")
    },
);

/// An alignment.
pub(super) fn registration<'py>(
    py: Python<'py>,
    backend: &Backend<'py>,
    found: &Registration,
) -> PyResult<Bound<'py, PyAny>> {
    let fit = &found.fit;
    let trace = fit.trace.iter().map(|one| Fields::new(py, None).record(one)?.of(&ITERATION));
    Fields::new(py, Some(backend))
        .record(found)?
        .set("converged", found.converged())?
        .set("source_dropped", (fit.source_dropped.non_finite, fit.source_dropped.zeros))?
        .set("target_dropped", (fit.target_dropped.non_finite, fit.target_dropped.zeros))?
        .set("trace", trace.collect::<PyResult<Vec<_>>>()?)?
        .of(&REGISTRATION)
}
