//! What is found without a guess.

use crate::arrays::Backend;
use crate::record::{Attributes, Class, Fields};
use pointmill::registration::global::{Overlap, Registered};
use pyo3::prelude::*;

pub(crate) static REGISTERED: Class = Class::new(
    ("pointmill", "Registered"),
    "The pose that brings a source onto a target without a guess, and a verdict; arrays of the source's library.",
    Some("Registered(verdict=\"{verdict}\", inliers={inliers}, margin={margin:.2f}, {pose})"),
    || {
        let overlap = |cloud| {
            format!(
                "How much of the {cloud} meets the other cloud, and how much of its part in common; of points that stand out of planes."
            )
        };
        Attributes::default()
            .record::<Registered>("_Own")
            .without(&["probes", "seen", "met"])
            .add("source_overlap", "tuple[float, float]", &overlap("source"))
            .add("target_overlap", "tuple[float, float]", &overlap("target"))
            .add("rank", "int | None", "How many of 6 directions the clouds determine at the pose; ``None`` where it is not from a refinement.")
    },
);

pub(super) fn registered<'py>(
    py: Python<'py>,
    backend: &Backend<'py>,
    found: &Registered,
) -> PyResult<Bound<'py, PyAny>> {
    let overlap = |of: &Overlap| (of.extent(), of.share());
    Fields::new(py, Some(backend))
        .record(found)?
        .set("source_overlap", overlap(&found.source_overlap))?
        .set("target_overlap", overlap(&found.target_overlap))?
        .set("rank", found.observability.map(|observability| observability.rank()))?
        .of(&REGISTERED)
}
