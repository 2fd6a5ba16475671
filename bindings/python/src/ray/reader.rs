//! How the inputs of a job are read.

use crate::args::numbers;
use crate::ending::detached;
use crate::errors::kind;
use crate::files::default_options;
use crate::keywords::Keywords;
use pointmill_data::DataError;
use pointmill_data::inputs::{Inputs, Source};
use pointmill_io::{LocalOrigin, ReadOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// How inputs of a job are read: the arguments of ``pointmill.read``, and what the command has
/// besides.
#[pyclass(frozen, weakref, name = "_InputReader", module = "pointmill")]
#[derive(Clone)]
pub(crate) struct InputReader {
    pub(super) options: ReadOptions,
    pub(super) drop_zeros: bool,
}

#[pymethods]
impl InputReader {
    #[new]
    #[pyo3(signature = (*, bounds = None, drop_zeros = false, **options))]
    fn new(bounds: Option<&Bound<'_, PyAny>>, drop_zeros: bool, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = default_options().with("_InputReader.__new__", options)?;
        let area = bounds.map(|bounds| numbers(bounds, "bounds", "x0, y0, x1, y1 in metres")).transpose()?;
        Ok(Self { options: ReadOptions { area, ..options }, drop_zeros })
    }

    /// The clouds of a bag, and whether it was cut; None of what is no bag of clouds, which fails
    /// in its turn.
    fn clouds(&self, py: Python<'_>, path: PathBuf) -> PyResult<Option<(usize, bool)>> {
        let sources = detached(py, || self.sources(&path)).unwrap_or_default();
        let clouds = sources.iter().filter(|source| matches!(source, Source::Cloud(_))).count();
        Ok((clouds > 0).then_some((clouds, sources.len() > clouds)))
    }

    /// The origin that a file is read about, of a bag its first cloud that can be read; None for
    /// what cannot be read.
    fn origin(&self, py: Python<'_>, path: PathBuf) -> Option<[f64; 3]> {
        let found = || {
            let sources = self.sources(&path).ok()?;
            Inputs::origin_of(&sources, self.options.clone())
        };
        detached(py, found).map(|origin| if let LocalOrigin::At(origin) = origin { origin } else { [0.0; 3] })
    }
}

impl InputReader {
    /// How clouds are read where all of their points are taken.
    pub(crate) fn of_whole_clouds(&self) -> PyResult<ReadOptions> {
        let given = [("bounds", self.options.area.is_some()), ("drop_zeros", self.drop_zeros)];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(kind("read", "arguments of pointmill.read", format_args!("{name:?}"))),
            None => Ok(self.options.clone()),
        }
    }

    /// The file, or the clouds of a bag.
    pub(super) fn sources(&self, path: &Path) -> Result<Vec<Source>, DataError> {
        let options = ReadOptions { origin: LocalOrigin::None, ..self.options.clone() };
        Ok(Inputs::find(&[path.to_path_buf()], options)?.0)
    }
}
