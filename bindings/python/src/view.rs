//! Pages that show clouds.

use crate::args::List;
use crate::ending::detached;
use crate::errors::{file, value};
use crate::{cloud, poses};
use pointmill_io::{Place, escape, write_whole};
use pointmill_view::{Layer, Paint, Scene, require_memory};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::io::Write;
use std::path::PathBuf;

/// The most points that all frames of a page have.
const MOST: usize = 3_000_000;
/// How high notebooks show it, in pixels.
const HEIGHT: u32 = 520;

/// A page that shows clouds in a browser, and in a notebook.
#[pyclass(frozen, weakref, module = "pointmill.view")]
pub(crate) struct Page {
    /// The page, HTML that needs no other file.
    #[pyo3(get)]
    html: String,
}

#[pymethods]
impl Page {
    #[new]
    const fn new(html: String) -> Self {
        Self { html }
    }

    fn __getnewargs__(&self) -> (&str,) {
        (&self.html,)
    }

    /// Write the page to a file, whole or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : str or path
    ///     The file.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = crate::args::plain)] path: PathBuf) -> PyResult<()> {
        detached(py, || write_whole(Place::named(&path), |out| out.write_all(self.html.as_bytes()))).map_err(file)
    }

    fn _repr_html_(&self) -> String {
        let page = self.html.replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe srcdoc=\"{page}\" width=\"100%\" height=\"{HEIGHT}\" style=\"border:0\"></iframe>")
    }

    fn __repr__(&self) -> String {
        format!("Page({} bytes)", self.html.len())
    }
}

/// Make a page that shows a cloud, or several as the frames of a drive.
///
/// Parameters
/// ----------
/// clouds : Scan, array, or list of them, ``[N, 3]``
///     x, y, z in metres; further columns are not used. Points that are not finite are left out, and
///     of more than 3,000,000 points every so many is shown.
/// poses : array, ``[P, 4, 4]``, optional
///     ``world_from_sensor`` of each cloud of a list, which shows their trajectory too.
/// title : str
///     What stands above.
///
/// Returns
/// -------
/// Page
///     ``save(path)`` writes it, ``html`` is its text, and notebooks show it.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import pointmill
/// >>> scans, poses = pointmill.synth.drive(2)
/// >>> page = pointmill.view.page(scans, poses, title="A street")
/// >>> path = os.path.join(tempfile.mkdtemp(), "street.html")
/// >>> page.save(path)
/// >>> os.path.getsize(path) == len(page.html.encode())
/// True
#[pyfunction]
#[pyo3(signature = (clouds, poses = None, *, title = "pointmill"))]
pub(crate) fn page(
    py: Python<'_>,
    clouds: &Bound<'_, PyAny>,
    poses: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] title: &str,
) -> PyResult<Page> {
    let is_list = clouds.is_instance_of::<PyList>() || clouds.is_instance_of::<PyTuple>();
    let List(given) = if is_list { clouds.extract::<List<Bound<'_, PyAny>>>()? } else { List(vec![clouds.clone()]) };
    let poses = poses.map(|poses| poses::poses(poses, "poses").map(|(poses, _)| poses)).transpose()?;
    if let Some(poses) = poses.as_ref().filter(|poses| poses.len() != given.len()) {
        return Err(value("poses", format_args!("{}, one for each cloud", given.len()), poses.len()));
    }
    let most = (MOST / given.len().max(1)).max(1);
    let mut scene = Scene::new(&escape(title), Paint::Height);
    for (i, cloud) in given.iter().enumerate() {
        py.check_signals()?;
        let mut points = cloud::coordinates(cloud, "clouds")?;
        points.retain(|point| point.iter().all(|x| x.is_finite()));
        let every = points.len().div_ceil(most).max(1);
        let points: Vec<_> = points.into_iter().step_by(every).collect();
        require_memory(0, points.len()).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        let mut layer = Layer::points("points", &points);
        if is_list {
            layer = layer.at(scene.frame(&i.to_string()));
        }
        if let Some(poses) = &poses {
            layer = layer.moving(&[poses[i]]);
        }
        scene.push(layer);
    }
    if let Some(poses) = poses {
        let trajectory: Vec<_> = poses.iter().map(pointmill::Pose::translation).collect();
        scene.push(Layer::line("trajectory", &trajectory));
    }
    let html = detached(py, || scene.page());
    Ok(Page { html: String::from_utf8_lossy(&html).into_owned() })
}
