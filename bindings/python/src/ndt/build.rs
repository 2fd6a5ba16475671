//! Inputs into a map by blocks, for jobs that spread them over machines.

use super::NAMES;
use super::blocks::{NdtBlockMap, Row};
use super::store::MapPlace;
use crate::args::numbers;
use crate::ending::detached;
use crate::errors::{self, data, value};
use crate::files::options_of;
use crate::interrupt::{self, Effort};
use crate::poses;
use pointmill::Device;
use pointmill::ndt::{NdtBuilder, NdtMoments};
use pointmill_data::inputs::{Inputs, ReadInput, Source, rows};
use pointmill_data::maps::{Build, Item, refuse_one_input_twice};
use pointmill_data::poses::{Deskew, InputKinds, InputPoses, log_poses};
use pointmill_data::{BlockMap, DataError, is_of_input, natural_order};
use pointmill_io::{LocalOrigin, Poses, ReadOptions};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How inputs of a map are read: the arguments of ``pointmill.read``, and what the command has
/// besides.
#[pyclass(frozen, name = "_MapReader", module = "pointmill")]
#[derive(Clone)]
pub(crate) struct MapReader {
    options: ReadOptions,
    drop_zeros: bool,
}

/// What a file is to a map: its path, why it cannot be read, and how many clouds a bag has and
/// whether it was cut.
type Found = (PathBuf, Option<String>, Option<(usize, bool)>);
/// The name of poses in errors, and poses with their times.
type Known<'py> = (PathBuf, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// An input of a job.
#[derive(IntoPyObject)]
pub(crate) struct Planned {
    /// The path that rows of the job show.
    path: String,
    /// The file, and the number of a bag's cloud; -1 of what is no bag.
    file: String,
    cloud: i64,
    index: usize,
    name: String,
    error: String,
}

#[pymethods]
impl MapReader {
    #[new]
    #[pyo3(signature = (*, format = None, columns = None, dataset = None, scan = None, topic = None, salvage = false, bounds = None, drop_zeros = false, local_origin = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        format: Option<&str>,
        columns: Option<i64>,
        dataset: Option<&str>,
        scan: Option<i64>,
        topic: Option<String>,
        salvage: bool,
        bounds: Option<&Bound<'_, PyAny>>,
        drop_zeros: bool,
        local_origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = options_of(format, columns, dataset, scan, topic, salvage, local_origin)?;
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

impl MapReader {
    /// The file, or the clouds of a bag.
    fn sources(&self, path: &Path) -> Result<Vec<Source>, DataError> {
        let options = ReadOptions { origin: LocalOrigin::None, ..self.options.clone() };
        Ok(Inputs::find(&[path.to_path_buf()], options)?.0)
    }
}

/// The origin of a map: the one that was asked for, or that of the map that is there; None if the
/// inputs decide.
#[pyfunction]
#[pyo3(name = "_map_origin")]
pub(crate) fn map_origin(
    py: Python<'_>,
    place: MapPlace,
    local_origin: &Bound<'_, PyAny>,
) -> PyResult<Option<[f64; 3]>> {
    match local_origin.extract::<&str>() {
        Ok("none") => Ok(Some([0.0; 3])),
        Ok("auto") => {
            let known = detached(py, || if place.is_map() { place.open().map(Some) } else { Ok(None) });
            Ok(known.map_err(errors::file)?.map(|map| map.settings().origin))
        }
        Ok(_) => {
            let got = local_origin.repr()?;
            Err(value("local_origin", "\"auto\", \"none\" or x, y, z in metres", got))
        }
        Err(_) => numbers(local_origin, "local_origin", "x, y, z in metres").map(Some),
    }
}

/// Paths in their natural order.
#[pyfunction]
#[pyo3(name = "_natural_order")]
pub(crate) fn in_natural_order(mut paths: Vec<PathBuf>) -> Vec<String> {
    paths.sort_by(|a, b| natural_order(a, b));
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// The poses of the log whose folder of sweeps is the only input.
#[pyfunction]
#[pyo3(name = "_log_poses")]
pub(crate) fn find_poses(inputs: Vec<PathBuf>) -> Option<String> {
    log_poses(&inputs, &()).map(|path| path.to_string_lossy().into_owned())
}

/// Deskewing as a word.
fn deskew_of(word: &Bound<'_, PyAny>) -> PyResult<Deskew> {
    let known = word.extract::<&str>().ok().and_then(|word| word.parse().ok());
    match known {
        Some(known) => Ok(known),
        None => Err(value("deskew", "\"off\", \"auto\" or \"on\"", word.repr()?)),
    }
}

fn poses_of((_, poses, times): &Known<'_>) -> PyResult<Poses> {
    let times = times.as_ref().map(|times| poses::row(times, "times")).transpose()?;
    Ok(Poses { poses: poses::poses(poses, "poses")?.0, times })
}

/// The inputs of a job, how sweeps are deskewed, and whether stamps decide which pose an input has.
#[pyfunction]
#[pyo3(name = "_plan_map")]
pub(crate) fn plan_map(
    map: &NdtBlockMap,
    reader: &MapReader,
    found: Vec<Found>,
    poses: Option<Known<'_>>,
    deskew: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Planned>, &'static str, bool)> {
    let (mut items, mut files) = (Vec::new(), Vec::new());
    let mut kinds = InputKinds::new(reader.options.dataset);
    let mut add = |file: &Path, cloud: Option<usize>, error: Option<String>| {
        let path = cloud.map_or_else(|| file.to_path_buf(), |cloud| format!("{}#{cloud:06}", file.display()).into());
        let item = Planned {
            path: path.display().to_string(),
            file: file.display().to_string(),
            cloud: cloud.map_or(-1, |cloud| cloud as i64),
            index: items.len(),
            name: map.map().name_of(&path),
            error: error.unwrap_or_default(),
        };
        files.push((Some(path), item.path.clone()));
        items.push(item);
    };
    for (file, error, bag) in found {
        let (clouds, cut) = bag.unwrap_or((0, true));
        for cloud in (0..clouds).map(Some).chain(cut.then_some(None)) {
            kinds.add(&file, cloud.is_some());
            add(&file, cloud, error.clone());
        }
    }
    let (asked, mut by_stamp) = (deskew_of(deskew)?, false);
    let mut settled = Deskew::Off;
    match poses {
        None if asked == Deskew::On => return Err(data(InputPoses::missing(), NAMES)),
        None => {}
        Some(known) => {
            let (known, more) =
                InputPoses::of(&known.0, poses_of(&known)?, asked, &kinds, &()).map_err(|e| data(e, NAMES))?;
            (settled, by_stamp) = (known.deskew(), known.is_by_stamp());
            more.iter().for_each(|e| add(e.path(), None, Some(errors::words(e))));
        }
    }
    if items.is_empty() {
        return Err(value("inputs", "at least one", "none"));
    }
    refuse_one_input_twice(files).map_err(|e| data(e, NAMES))?;
    Ok((items, settled.as_str(), by_stamp))
}

/// Adds inputs to a map, each as the command does. It keeps its device, and the bag that it has
/// read last.
#[pyclass(frozen, name = "_MapBuild", module = "pointmill")]
pub(crate) struct MapBuild {
    build: Arc<Build>,
    reader: MapReader,
    device: Device,
    builder: Arc<Mutex<Option<NdtBuilder>>>,
    bag: Mutex<Option<(PathBuf, Arc<Vec<Source>>)>>,
}

#[pymethods]
impl MapBuild {
    /// ``deskew`` and ``by_stamp`` are what ``_plan_map`` returned.
    #[new]
    fn new(
        map: &NdtBlockMap,
        reader: &MapReader,
        poses: Option<Known<'_>>,
        deskew: &Bound<'_, PyAny>,
        by_stamp: bool,
    ) -> PyResult<Self> {
        let deskew = deskew_of(deskew)?;
        let settled =
            |known: Known<'_>| Ok::<_, PyErr>(InputPoses::settled(&known.0, poses_of(&known)?, deskew, by_stamp));
        let poses = poses.map(settled).transpose()?;
        let origin = match map.map().settings().origin {
            [0.0, 0.0, 0.0] => LocalOrigin::None,
            origin => LocalOrigin::At(origin),
        };
        let inputs = Inputs::of(&[], ReadOptions { origin, ..reader.options.clone() });
        let build = Arc::new(Build::of(map.map().clone(), inputs, poses, reader.drop_zeros));
        let (reader, device) = (reader.clone(), map.device().clone());
        Ok(Self { build, reader, device, builder: Arc::default(), bag: Mutex::default() })
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
        let (build, builder, device) = (self.build.clone(), self.builder.clone(), self.device.clone());
        let done = interrupt::run(py, Effort::Whole, (), move |()| {
            let Some(source) = sources.get(cloud.unwrap_or(0)) else {
                return Ok(Err(DataError::option("cloud", "expected one of the bag")));
            };
            let item = Item { index, name: &name, source, version: version.as_deref() };
            let sum = |read: ReadInput| sums(build.map(), &builder, &device, &read);
            let added = build.one(&item, &(), sum, reason)?;
            Ok(match added {
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

/// The moments of an input.
fn sums(
    map: &BlockMap,
    builder: &Mutex<Option<NdtBuilder>>,
    device: &Device,
    read: &ReadInput,
) -> Result<(NdtMoments, ()), DataError> {
    let mut builder = builder.lock().unwrap_or_else(PoisonError::into_inner);
    let builder = match &mut *builder {
        Some(builder) => builder,
        none => none.insert(map.builder(device)?),
    };
    builder.clear()?;
    builder.add(rows(&read.scan)?)?;
    Ok((builder.moments()?, ()))
}

/// Why an input cannot be used; `None` of an error that ends the job.
fn reason(e: &DataError) -> Option<String> {
    match e {
        DataError::Operator(of) | DataError::At { error: of, .. } if !is_of_input(of) => None,
        DataError::File(e) => Some(errors::words(e)),
        e => Some(errors::in_python(&e.to_string())),
    }
}
