//! Bags of clouds.

use crate::ending::detached;
use crate::errors::file;
use crate::files::{Scan, origin_of};
use crate::interrupt::Effort;
use crate::keywords::Keyword;
use crate::pickle::{self, Reduced, field};
use pointmill_data::find_inputs;
use pointmill_io::bag::{Bag, Topic};
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
    topic: usize,
    origin: LocalOrigin,
}

/// An iterator over the clouds of a bag.
#[pyclass(module = "pointmill")]
pub(crate) struct BagIterator {
    clouds: Py<BagClouds>,
    next: usize,
}

impl BagClouds {
    fn of(&self) -> &Topic {
        &self.bag.topics()[self.topic]
    }

    fn cloud(&self, py: Python<'_>, number: usize) -> PyResult<Scan> {
        let (bag, topic, origin) = (self.bag.clone(), self.topic, self.origin);
        let (tell, told) = channel();
        let scan = Scan::new(py, Effort::Long, move || {
            let cloud = bag.cloud(&bag.topics()[topic], number)?;
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
        self.of().count as usize
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
        fields.set_item("topic", clouds.topic())?;
        fields.set_item("local_origin", clouds.origin.give(slf.py())?)?;
        pickle::way_back(slf, fields)
    }

    /// The bag is opened again.
    #[classmethod]
    fn _restore(class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (topic, origin): (String, Bound<'_, PyAny>) = (field(fields, "topic")?, field(fields, "local_origin")?);
        read_bag(class.py(), field(fields, "path")?, Some(&topic), Some(&origin))
    }

    fn __iter__(slf: Py<Self>) -> BagIterator {
        BagIterator { clouds: slf, next: 0 }
    }

    fn __repr__(&self) -> String {
        format!("BagClouds({} clouds of {}, {})", self.__len__(), self.of().name, self.bag.path().display())
    }

    /// The name of the topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.of().name
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
        let found = if path.is_dir() { one_bag(path)? } else { path.to_path_buf() };
        Bag::open(found, &Limits::default())
    })
    .map_err(file)
}

/// The bag of a folder that has one, as rosbag2 writes it.
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
///     The bag, or the folder of a rosbag2 recording in MCAP.
/// topic : str, optional
///     The topic of the clouds; by default the only one of clouds.
/// local_origin : {"auto", "none"} or 3 floats
///     As of :func:`read`, for each cloud by itself.
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
#[pyo3(signature = (path, topic = None, *, local_origin = None), text_signature = "(path, topic=None, *, local_origin='auto')")]
pub(crate) fn read_bag(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
    #[pyo3(from_py_with = crate::args::plain)] topic: Option<&str>,
    local_origin: Option<&Bound<'_, PyAny>>,
) -> PyResult<BagClouds> {
    let origin = origin_of(local_origin)?;
    let bag = open(py, &path)?;
    let found = bag.cloud_topic(topic).map_err(file)?;
    let topic = bag.topics().iter().position(|one| one == found).expect("a topic of the bag");
    Ok(BagClouds { bag: Arc::new(bag), topic, origin })
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
