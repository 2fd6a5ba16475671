//! Bags of clouds.

use crate::ending::detached;
use crate::errors::file;
use crate::files::{Scan, origin_of};
use crate::interrupt::Effort;
use crate::keywords::Keyword;
use crate::pickle::{self, Reduced, field};
use pointmill_data::find_inputs;
use pointmill_io::bag::{Bag, Extrinsics, Sweeps, files_of_folder};
use pointmill_io::{Detail, Format, IoError, Limits, LocalOrigin};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// The clouds of a topic of a bag, in the order of the times at which they were recorded: a
/// sequence that reads each cloud when it is asked for.
#[pyclass(frozen, weakref, sequence, module = "pointmill")]
pub(crate) struct BagClouds {
    bag: Arc<Bag>,
    sweeps: Arc<Sweeps>,
    extrinsics: Option<PathBuf>,
    origin: LocalOrigin,
}

/// An iterator over the clouds of a bag.
#[pyclass(module = "pointmill")]
pub(crate) struct BagIterator {
    clouds: Py<BagClouds>,
    next: usize,
}

impl BagClouds {
    /// The names of the topics.
    fn names(&self) -> Vec<&str> {
        self.sweeps.topics().iter().map(|&place| &*self.bag.topics()[place].name).collect()
    }

    fn cloud(&self, py: Python<'_>, number: usize) -> PyResult<Scan> {
        let (bag, sweeps, origin) = (self.bag.clone(), self.sweeps.clone(), self.origin);
        let (tell, told) = channel();
        let scan = Scan::new(py, Effort::Long, move || {
            let mut cloud = bag.sweep(&sweeps, number)?;
            cloud.scan.warnings.extend(sweeps.told().filter(|_| number == 0).cloned());
            // Nobody listens after Ctrl-C.
            let _ = tell.send((cloud.stamp_ns, cloud.log_time_ns, cloud.frame));
            Ok(cloud.scan.about(origin))
        })?;
        let (stamp, recorded, frame) = told.recv().expect("sent where the scan is read");
        Ok(scan.of_bag(stamp, recorded, frame))
    }
}

#[pymethods]
impl BagClouds {
    fn __len__(&self) -> usize {
        self.sweeps.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Scan> {
        let len = self.__len__();
        let number = if index < 0 { index.checked_add_unsigned(len) } else { Some(index) };
        match number.and_then(|n| usize::try_from(n).ok()).filter(|n| *n < len) {
            Some(number) => self.cloud(py, number),
            None => Err(PyIndexError::new_err(format!("index: expected one below {len}, got {index}"))),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (clouds, fields) = (slf.get(), PyDict::new(slf.py()));
        fields.set_item("path", std::path::absolute(clouds.bag.path()).unwrap_or_else(|_| clouds.bag.path().into()))?;
        fields.set_item("topic", clouds.names())?;
        fields.set_item("extrinsics", clouds.extrinsics.as_deref())?;
        fields.set_item("local_origin", clouds.origin.give(slf.py())?)?;
        pickle::way_back(slf, fields)
    }

    /// The bag is opened again.
    #[classmethod]
    fn _restore(class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (topic, origin): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            (field(fields, "topic")?, field(fields, "local_origin")?);
        read_bag(class.py(), field(fields, "path")?, Some(&topic), Some(&origin), field(fields, "extrinsics")?)
    }

    fn __iter__(slf: Py<Self>) -> BagIterator {
        BagIterator { clouds: slf, next: 0 }
    }

    fn __repr__(&self) -> String {
        format!("BagClouds({} clouds of {}, {})", self.__len__(), self.names().join(", "), self.bag.path().display())
    }

    /// The name of the topic, or the list of those that are joined.
    #[getter]
    fn topic<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Keyword::give(&self.names().into_iter().map(str::to_owned).collect::<Vec<_>>(), py)
    }

    /// Whether the file was cut: clouds behind the cut are missing, and an iteration ends with an
    /// error.
    #[getter]
    fn cut(&self) -> bool {
        self.bag.cut().is_some()
    }
}

#[pymethods]
impl BagIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Scan>> {
        let clouds = self.clouds.get();
        if self.next < clouds.__len__() {
            self.next += 1;
            return clouds.cloud(py, self.next - 1).map(Some);
        }
        match clouds.bag.cut().filter(|_| self.next == clouds.__len__()) {
            Some(error) => {
                self.next += 1;
                Err(file(error))
            }
            None => Ok(None),
        }
    }
}

fn open(py: Python<'_>, path: &Path) -> PyResult<Bag> {
    detached(py, || {
        let is_whole = !path.is_dir() || files_of_folder(path)?.is_some();
        let found = if is_whole { path.to_path_buf() } else { one_bag(path)? };
        Bag::open(found, &Limits::default())
    })
    .map_err(file)
}

/// The bag of a folder that has one and no `metadata.yaml`.
fn one_bag(folder: &Path) -> Result<PathBuf, IoError> {
    let mut found = find_inputs(&[folder])?.into_iter().collect::<Result<Vec<_>, _>>()?;
    found.retain(|path| Format::from_name(path).is_some_and(Format::is_bag));
    match (found.pop(), found.len()) {
        (Some(bag), 0) => Ok(bag),
        (_, more) => {
            let got = if more == 0 { "none".to_owned() } else { format!("{}; name one of them", more + 1) };
            Err(IoError::MissingField(Detail::new(folder, "folder", "one bag that ends in .mcap, .bag or .db3", got)))
        }
    }
}

/// Open a bag of ``sensor_msgs/PointCloud2`` or Livox's ``CustomMsg``: MCAP, ``.bag`` of ROS 1, or ``.db3`` of ROS 2.
///
/// Parameters
/// ----------
/// path : str or path
///     The bag, or the folder of a rosbag2 recording: of one with ``metadata.yaml`` all files that it lists, as one bag.
/// topic : str or list of str, optional
///     The topic of the clouds; by default the only one of clouds. Of several, each cloud of the first is joined with the cloud of each other one that is nearest in time, within half a period. The static transforms of the bag move them to ``base_link``, or else to the frame of the first one. The column ``sensor`` counts topics from 0, and ``time_s`` has the seconds of points after the stamp of the sweep. ``warnings`` of the first sweep say what was joined.
/// local_origin : {"auto", "none"} or 3 floats
///     As of :func:`read`, for each cloud by itself.
/// extrinsics : str or path, optional
///     A file with the poses of the sensors, which counts instead of the static transforms: for each topic a line ``NAME X Y Z ROLL PITCH YAW``, in metres and radians, of which the name is a topic or a frame.
///
/// Returns
/// -------
/// BagClouds
///     A sequence of :class:`Scan`, with ``stamp_ns``, ``recorded_ns`` and ``frame``. A cloud is read when it is asked for. If a message cannot be read, its place raises ``ValueError``.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "empty.mcap")
/// >>> empty = b"\x89MCAP0\r\n" + bytes([2, 20] + [0] * 27) + b"\x89MCAP0\r\n"
/// >>> _ = open(path, "wb").write(empty)
/// >>> pointmill.bag_topics(path)
/// {}
/// >>> pointmill.read_bag(path)
/// Traceback (most recent call last):
///     ...
/// ValueError: ...empty.mcap: clouds: expected sensor_msgs/PointCloud2 or Livox's CustomMsg, got a bag without topics
#[pyfunction]
#[pyo3(signature = (path, topic = None, *, local_origin = None, extrinsics = None), text_signature = "(path, topic=None, *, local_origin='auto', extrinsics=None)")]
pub(crate) fn read_bag(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
    topic: Option<&Bound<'_, PyAny>>,
    local_origin: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] extrinsics: Option<PathBuf>,
) -> PyResult<BagClouds> {
    let topics: Vec<String> = topic.map_or_else(|| Ok(vec![]), |topic| Keyword::take(topic, "topic"))?;
    let origin = origin_of(local_origin)?;
    let bag = open(py, &path)?;
    let sweeps = detached(py, || {
        let placed = extrinsics.as_deref().map(Extrinsics::read).transpose()?;
        bag.sweeps(&topics, placed.as_ref())
    });
    let sweeps = Arc::new(sweeps.map_err(file)?);
    let extrinsics = extrinsics.map(|path| std::path::absolute(&path).unwrap_or(path));
    Ok(BagClouds { bag: Arc::new(bag), sweeps, extrinsics, origin })
}

/// The topics of a bag.
///
/// Parameters
/// ----------
/// path : str or path
///     The bag.
///
/// Returns
/// -------
/// dict
///     The type and the number of messages of each topic, by name.
#[pyfunction]
pub(crate) fn bag_topics(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
) -> PyResult<std::collections::BTreeMap<String, (String, u64)>> {
    let bag = open(py, &path)?;
    Ok(bag.topics().iter().map(|topic| (topic.name.clone(), (topic.schema_name.clone(), topic.count))).collect())
}
