//! Keyword arguments that are fields of the library's parameters: read from a call, and given back
//! for pickles and for the test of defaults.

use crate::args::{List, named, numbers, plain_of as plain, whole};
use crate::errors::{kind, value as refused};
use pointmill::boxes::{IouKind, IouParams};
use pointmill::icp::{IcpParams, Metric, Robust, Search, Stage};
use pointmill::ndt::{Covariance, NdtAlignParams, NdtParams};
use pointmill::registration::global::{Refine, RegisterParams};
use pointmill::roi_pool::{PoolMode, RoiLayout, RoiPoolParams};
use pointmill::{BoxOrigin, UnknownName};
use pointmill_io::{Dataset, Format, LocalOrigin, ReadOptions};
use pointmill_slam::localize::{CovarianceMethod, LocalizerParams};
use pointmill_slam::odometry::OdometryParams;
use pointmill_slam::trajectory::{Alignment, EvaluationParams};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::str::FromStr;

/// Parameters with fields that keyword arguments set.
pub(crate) trait Keywords: Sized {
    /// Sets the field of an argument; returns whether there is one.
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool>;

    /// The fields by the names of the arguments.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;

    /// These parameters with what a call of `function` gives: `**params` in its signature, of which
    /// its `text_signature` shows names and defaults.
    fn with(mut self, function: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        for (name, value) in given.into_iter().flatten() {
            if !self.set(name.extract()?, &value)? {
                let text = format!("{function}() got an unexpected keyword argument '{name}'");
                return Err(PyTypeError::new_err(text));
            }
        }
        Ok(self)
    }
}

/// The arguments of parameters: their fields. `argument = field` has another name in Python,
/// `argument: function` a range of its own.
macro_rules! keywords {
    (@field $self:ident $argument:ident) => { $self.$argument };
    (@field $self:ident $argument:ident $field:ident) => { $self.$field };
    (@take $value:ident $name:ident) => { Keyword::take($value, $name)? };
    (@take $value:ident $name:ident $function:ident) => { $function($value, $name)? };
    ($($type:ty { $($argument:ident $(= $field:ident)? $(: $function:ident)?),+ $(,)? })+) => {$(
        impl Keywords for $type {
            fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
                match name {
                    $(stringify!($argument) => {
                        keywords!(@field self $argument $($field)?) = keywords!(@take value name $($function)?);
                    })+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                let arguments = PyDict::new(py);
                $(arguments.set_item(stringify!($argument), keywords!(@field self $argument $($field)?).give(py)?)?;)+
                Ok(arguments)
            }
        }
    )+};
}

keywords! {
    IcpParams {
        metric, max_distance, max_iterations, step_tolerance, robust, neighbours, schedule, drop_zeros, search,
    }
    IouParams { kind, origin }
    RegisterParams { voxel_size, level, refine }
    NdtParams { covariance, min_points, eigen_ratio }
    NdtAlignParams { step_size, epsilon, max_iterations }
    LocalizerParams {
        region, yaw_range, search_radius, sensor_height, covariance, voxel_size, max_points, min_range, max_range,
        min_nvtl, max_distance, min_explained, min_confirmed, min_margin, max_rejections, regularization_scale,
    }
    OdometryParams {
        voxel_size, min_range, max_range, max_points_per_voxel, metric: odometry_metric, robust_width, deskew,
        max_iterations, keep_map,
    }
    RoiPoolParams { max_pts_per_voxel = max_points_per_voxel: count, mode, origin, margin, layout, lists }
    EvaluationParams { align = alignment, max_time_difference }
    ReadOptions { format, columns: columns, dataset, scan, topic = topics, salvage, local_origin = origin }
}

/// A value of a keyword argument.
pub(crate) trait Keyword: Sized {
    /// The value of an argument of this name.
    fn take(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self>;

    /// The argument that this is the value of.
    fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// Types of values: how one is taken, and what it is given back as.
macro_rules! keyword {
    ($($type:ty: $take:expr, $give:expr;)+) => {$(
        impl Keyword for $type {
            fn take(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
                let take: fn(&Bound<'_, PyAny>, &str) -> PyResult<Self> = $take;
                take(value, name)
            }

            fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                let give: fn(&Self) -> _ = $give;
                give(self).into_bound_py_any(py)
            }
        }
    )+};
}
keyword! {
    bool: plain, |flag| *flag;
    f32: plain, |number| *number;
    f64: plain, |number| *number;
    String: plain, Self::clone;
    [f64; 2]: plain, |[a, b]| (*a, *b);
    [f64; 4]: plain, |[a, b, c, d]| (*a, *b, *c, *d);
    usize: |value, name| Ok(whole(plain(value, name)?, 0, name)? as Self), |number| *number;
    // A number of points, one at least.
    u32: |value, name| whole(plain(value, name)?, 1, name), |number| *number;
    Metric: word, |word| word.as_str();
    Search: word, |word| word.as_str();
    Covariance: word, |word| word.as_str();
    CovarianceMethod: word, |word| word.as_str();
    IouKind: word, |word| word.as_str();
    PoolMode: word, |word| word.as_str();
    BoxOrigin: word, |word| word.as_str();
    RoiLayout: word, |word| word.as_str();
    Refine: word, |word| word.as_str();
    Alignment: word, |word| word.as_str();
    Dataset: word, |word| word.as_str();
    Format: word, |word| word.as_str();
    Robust: robust, |robust| {
        let text = robust.to_string();
        text.split_once(':').zip(robust.width()).map(|((word, _), width)| (word.to_owned(), width))
    };
    Vec<Stage>: schedule, |stages| {
        let stages: Vec<_> = stages.iter().map(|stage| (stage.voxel_size, stage.max_distance)).collect();
        Some(stages).filter(|stages| !stages.is_empty())
    };
}

impl<T: Keyword> Keyword for Option<T> {
    fn take(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if value.is_none() { Ok(None) } else { T::take(value, name).map(Some) }
    }

    fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None().into_bound(py)), |value| value.give(py))
    }
}

/// Names of topics: none, one, or a list.
impl Keyword for Vec<String> {
    fn take(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if let Ok(one) = value.extract::<String>() {
            return Ok(vec![one]);
        }
        Ok(shaped::<List<String>>(value, name, "a name, a list of names or None")?
            .map_or_else(Self::new, |list| list.0))
    }

    fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self[..] {
            [] => Ok(py.None().into_bound(py)),
            [one] => one.into_bound_py_any(py),
            all => all.into_bound_py_any(py),
        }
    }
}

impl Keyword for LocalOrigin {
    fn take(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        match value.extract::<&str>() {
            Ok(word @ ("auto" | "none")) => Ok(word.parse().unwrap_or_default()),
            _ if value.is_none() => Ok(Self::Auto),
            _ => Ok(Self::At(numbers(value, name, "x, y, z in metres, or \"auto\" or \"none\"")?)),
        }
    }

    fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Auto => "auto".into_bound_py_any(py),
            Self::None => "none".into_bound_py_any(py),
            Self::At(origin) => origin.into_bound_py_any(py),
        }
    }
}

/// A value of a shape that `expected` tells; None for None.
fn shaped<'py, T: FromPyObjectOwned<'py>>(
    value: &Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<Option<T>> {
    let got = || value.repr().map_or_else(|_| String::new(), |text| text.to_string());
    value.extract().map_err(|_| kind(name, expected, got()))
}

/// A word of the library.
fn word<T: FromStr<Err = UnknownName>>(value: &Bound<'_, PyAny>, name: &str) -> PyResult<T> {
    named(&plain::<String>(value, name)?, name)
}

fn robust(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Robust> {
    let expected = "None or a pair of \"huber\", \"cauchy\", \"geman-mcclure\" or \"tukey\" and a width in metres";
    let Some((word, width)): Option<(String, f64)> = shaped(value, name, expected)? else { return Ok(Robust::None) };
    format!("{word}:{width}").parse().map_err(|_| refused(name, expected, format_args!("{word:?}")))
}

fn schedule(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Stage>> {
    let expected = "pairs of an edge of cells and a distance in metres, or None for any";
    let stages: Option<List<(f64, Option<f64>)>> = shaped(value, name, expected)?;
    let stage = |(voxel_size, max_distance)| Stage { voxel_size, max_distance };
    Ok(stages.into_iter().flat_map(|List(stages)| stages).map(stage).collect())
}

/// A number that may be zero.
fn count(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u32> {
    whole(plain(value, name)?, 0, name)
}

/// How many columns rows have; x, y, z are the first.
fn columns(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<usize>> {
    let columns = plain::<Option<i64>>(value, name)?.map(|columns| whole(columns, 3, name)).transpose()?;
    Ok(columns.map(|columns| columns as usize))
}

/// A metric that odometry has.
fn odometry_metric(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Metric> {
    let metrics: Vec<_> = OdometryParams::METRICS.iter().map(|metric| (metric.as_str(), *metric)).collect();
    crate::args::choice(&plain::<String>(value, name)?, name, &metrics)
}
