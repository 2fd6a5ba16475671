//! Scans in pickles.

use super::scan::{Scan, Seconds};
use crate::errors::value;
use crate::pickle::{self, field};
use pointmill_io::{Dtype, LaterTimes, WideColumn};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

// Every field that has values; times are pickled as they are asked for.
pickle::fields!(
    Scan { points, names, format, xyz, origin, warnings, stamp_ns, deskewed, recorded_ns, frame }
    { later: no_later, known: known_of, wide: wide_of } of ["start", "times", "_wide"]
);

/// A wide column and its type, as a pickle has them.
pub(super) type WideParts = (usize, Option<i128>, Vec<f64>, f64, String);

fn wide_of(fields: &Bound<'_, PyDict>) -> PyResult<Vec<(Arc<WideColumn>, Dtype)>> {
    let columns: Vec<WideParts> = field(fields, "_wide")?;
    let column = |(column, first, values, change, dtype): WideParts| {
        let known = dtype.parse().map_err(|_| value("_wide", "a type such as \"f64\"", &dtype))?;
        Ok((Arc::new(WideColumn::from_parts((column, first, values, change))), known))
    };
    columns.into_iter().map(column).collect()
}

/// A pickle has all times.
fn no_later(_: &Bound<'_, PyDict>) -> PyResult<Mutex<Option<Arc<LaterTimes>>>> {
    Ok(Mutex::default())
}

fn known_of(fields: &Bound<'_, PyDict>) -> PyResult<PyOnceLock<Seconds>> {
    let start: Option<f64> = field(fields, "start")?;
    let known = PyOnceLock::new();
    // Nobody else knows it yet.
    let _ = known.set(fields.py(), start.zip(field(fields, "times")?));
    Ok(known)
}
