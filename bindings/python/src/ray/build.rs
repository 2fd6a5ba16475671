//! Inputs into a map by blocks, one by one.

use super::{InputReader, Known, NAMES, deskew_of, poses_of};
use crate::ending::detached;
use crate::errors::{self, data};
use crate::interrupt::{self, Effort};
use crate::ndt::{NdtBlockMap, Row, SummedMap};
use pointmill_data::inputs::{Inputs, ReadInput, Source, rows};
use pointmill_data::maps::{Build, Item};
use pointmill_data::poses::InputPoses;
use pointmill_data::{DataError, is_of_input};
use pointmill_io::{LocalOrigin, ReadOptions};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Adds inputs to a map, each as the command does. It keeps its device, and the bag that it has
/// read last.
#[pyclass(frozen, weakref, name = "_MapBuild", module = "pointmill")]
pub(crate) struct MapBuild {
    build: Arc<Build>,
    map: SummedMap,
    reader: InputReader,
    bag: Mutex<Option<(PathBuf, Arc<Vec<Source>>)>>,
}

#[pymethods]
impl MapBuild {
    /// ``deskew`` and ``by_stamp`` are what ``_plan_map`` returned.
    #[new]
    fn new(
        map: &NdtBlockMap,
        reader: &InputReader,
        poses: Option<Known<'_>>,
        deskew: &Bound<'_, PyAny>,
        by_stamp: bool,
    ) -> PyResult<Self> {
        let deskew = deskew_of(deskew)?;
        let settled =
            |known: Known<'_>| Ok::<_, PyErr>(InputPoses::settled(&known.0, poses_of(&known)?, deskew, by_stamp));
        let poses = poses.map(settled).transpose()?;
        let map = map.summed().clone();
        let origin = match map.blocks.settings().origin {
            [0.0, 0.0, 0.0] => LocalOrigin::None,
            origin => LocalOrigin::At(origin),
        };
        let inputs = Inputs::of(&[], ReadOptions { origin, ..reader.options.clone() });
        let build = Arc::new(Build::of(map.blocks.clone(), inputs, poses, reader.drop_zeros));
        Ok(Self { build, map, reader: reader.clone(), bag: Mutex::default() })
    }

    /// The row of an input that is done. ``version`` tells a version of a file that is not of this
    /// machine from another.
    fn kept(
        &self,
        py: Python<'_>,
        index: usize,
        name: &str,
        file: PathBuf,
        version: Option<&str>,
    ) -> PyResult<Option<Row>> {
        let source = Source::File(file);
        let item = Item { index, name, source: &source, version };
        Ok(detached(py, || self.build.kept(&item)).map_err(errors::file)?.map(Row::from))
    }

    /// Reads an input and adds it. Returns its row, with the error of one that cannot be used.
    fn add(
        &self,
        py: Python<'_>,
        index: usize,
        name: String,
        file: PathBuf,
        cloud: i64,
        version: Option<String>,
    ) -> PyResult<Row> {
        let cloud = usize::try_from(cloud).ok();
        let sources = match cloud {
            None => Arc::new(vec![Source::File(file)]),
            Some(_) => detached(py, || self.clouds(&file)).map_err(|e| data(e, NAMES))?,
        };
        let (build, map) = (self.build.clone(), self.map.clone());
        let done = interrupt::run(py, Effort::Whole, (), move |()| {
            let Some(source) = sources.get(cloud.unwrap_or(0)) else {
                return Ok(Err(DataError::option("cloud", "one of the bag", cloud.unwrap_or(0).to_string())));
            };
            let item = Item { index, name: &name, source, version: version.as_deref() };
            let sum = |read: ReadInput| Ok((map.sum(|builder| builder.add(rows(&read.scan)?))?, ()));
            Ok(match build.one(&item, &(), sum, reason)? {
                Ok(added) => Ok(Row::from(added.row)),
                Err(e) => reason(&e).map(|error| Row::failed(name.clone(), error)).ok_or(e),
            })
        })?;
        done.map_err(errors::file)?.map_err(|e| data(e, NAMES))
    }
}

impl MapBuild {
    /// The clouds of a bag.
    fn clouds(&self, file: &Path) -> Result<Arc<Vec<Source>>, DataError> {
        let mut bag = self.bag.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sources)) = bag.as_ref().filter(|(known, _)| known == file) {
            return Ok(sources.clone());
        }
        let sources = Arc::new(self.reader.sources(file)?);
        *bag = Some((file.to_path_buf(), sources.clone()));
        Ok(sources)
    }
}

/// Why an input cannot be used; `None` of an error that ends the job.
fn reason(e: &DataError) -> Option<String> {
    match e {
        DataError::Operator(of) | DataError::At { error: of, .. } if !is_of_input(of) => None,
        e => Some(errors::words_of_data(e, NAMES)),
    }
}
