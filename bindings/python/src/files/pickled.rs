//! Scans in pickles.

use super::scan::{Scan, Seconds};
use crate::errors::value;
use crate::pickle::{Reduced, field, way_back};
use pointmill_io::{Dtype, Survey, WideColumn};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// The fields of a scan by name and back: those that are attributes, and what is made of others.
macro_rules! fields {
    ($($field:ident),+; $($own:ident: $of:expr),+; $($other:literal),+) => {
        pub(super) fn reduce<'py>(scan: &Bound<'py, Scan>) -> PyResult<Reduced<'py>> {
            let fields = PyDict::new(scan.py());
            for name in [$(stringify!($field),)+ $($other),+] {
                fields.set_item(name, scan.as_any().getattr(name)?)?;
            }
            way_back(scan, fields)
        }

        pub(super) fn restore(fields: &Bound<'_, PyDict>) -> PyResult<Scan> {
            Ok(Scan { $($field: field(fields, stringify!($field))?,)+ $($own: $of(fields)?),+ })
        }
    };
}
// Every field that has values; times are pickled as they are asked for, so that none is left.
fields!(points, names, format, xyz, origin, warnings, stamp_ns, deskewed, recorded_ns, frame;
    later: |_| PyResult::Ok(Mutex::default()), known: known_of, wide: wide_of, dtypes: dtypes_of,
    survey: survey_of, decimals: |fields| PyResult::Ok(kept_of(fields)?.2); "start", "times", "_wide", "_kept");

/// A wide column and its type, as a pickle has them.
pub(super) type WideParts = (usize, Option<i128>, Vec<f64>, Vec<i16>, f64, String);

fn wide_of(fields: &Bound<'_, PyDict>) -> PyResult<Vec<(Arc<WideColumn>, Dtype)>> {
    let columns: Vec<WideParts> = field(fields, "_wide")?;
    let column = |(column, first, values, rest, change, dtype): WideParts| {
        let known = dtype.parse().map_err(|_| value("_wide", "a type such as \"f64\"", &dtype))?;
        let parts = WideColumn::from_parts((column, first, values, rest, change));
        let wide = parts.ok_or_else(|| value("_wide", "as many rests as values", "others"))?;
        Ok((Arc::new(wide), known))
    };
    columns.into_iter().map(column).collect()
}

/// What a scan keeps of its file, as a pickle has it: the types of the columns, the survey, decimals.
type Kept = (Vec<String>, Option<String>, Option<u8>);

fn kept_of(fields: &Bound<'_, PyDict>) -> PyResult<Kept> {
    field(fields, "_kept")
}

fn dtypes_of(fields: &Bound<'_, PyDict>) -> PyResult<Vec<Dtype>> {
    let columns = field::<Vec<String>>(fields, "names")?.len();
    let words = kept_of(fields)?.0;
    let wrong = || value("_kept", format_args!("{columns} types of columns"), words.join(", "));
    let types: Vec<Dtype> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if types.len() == columns && words.len() == columns { Ok(types) } else { Err(wrong()) }
}

fn survey_of(fields: &Bound<'_, PyDict>) -> PyResult<Option<Arc<Survey>>> {
    let Some(text) = kept_of(fields)?.1 else { return Ok(None) };
    let survey = Survey::from_text(&text).ok_or_else(|| value("_kept", "what a LAS file says", text))?;
    Ok(Some(Arc::new(survey)))
}

fn known_of(fields: &Bound<'_, PyDict>) -> PyResult<PyOnceLock<Seconds>> {
    let start: Option<f64> = field(fields, "start")?;
    let known = PyOnceLock::new();
    // Nobody else knows it yet.
    let _ = known.set(fields.py(), start.zip(field(fields, "times")?));
    Ok(known)
}
