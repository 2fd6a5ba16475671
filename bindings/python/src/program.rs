//! What the command `pointmill` does: the command itself, devices, what a file holds, and the
//! synthetic drive.

use crate::args::named;
use crate::ending::detached;
use crate::errors::{data, value};
use crate::files::Scan;
use crate::record::{Attributes, Class, Fields};
use numpy::{PyArray1, PyArrayMethods};
use pointmill::Device;
use pointmill_synth::{Drive, DriveParams};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Run the command ``pointmill`` with these arguments, its name first: once in a process, which is
/// then the command's, with its signals and its log. ``python -m pointmill`` does this.
///
/// Parameters
/// ----------
/// arguments : list of str
///     The command line.
///
/// Returns
/// -------
/// int
///     The exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    detached(py, || pointmill_cli::main(arguments))
}

/// Return what is known of a file: its format, columns, bounds and number of points, the topics of a
/// bag, or what poses there are; the fields that ``pointmill info --json`` prints of it, see
/// ``docs/json.md``.
///
/// Parameters
/// ----------
/// path : str or path
///     A cloud, a bag or a file of poses.
///
/// Returns
/// -------
/// dict
///
/// Raises
/// ------
/// OSError, ValueError
///     As :func:`read`.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "cloud.ply")
/// >>> pointmill.write(path, np.array([[1, 2, 3], [4, 5, 6]], np.float32))
/// >>> info = pointmill.info(path)
/// >>> info["format"], info["points"], info["bounds"]["max"], [column["name"] for column in info["columns"]]
/// ('ply', 2, [4.0, 5.0, 6.0], ['x', 'y', 'z'])
#[pyfunction]
pub(crate) fn info(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
) -> PyResult<Bound<'_, PyAny>> {
    let text = detached(py, || pointmill_cli::describe(&path)).map_err(|error| data(error, &[]))?;
    py.import("json")?.call_method1("loads", (text,))
}

pub(crate) static DEVICE: Class =
    Class::new(("pointmill", "DeviceInfo"), "A device that operators work on.", None, || {
        Attributes::default()
            .add("device", "str", "The name for ``to(...)`` and ``--device``: ``\"cpu\"`` or ``\"cuda:0\"``.")
            .add("kind", "Literal[\"cpu\", \"cuda\"]", "What it is.")
            .add("name", "str | None", "The name of the product; ``None`` for the CPU.")
            .add("threads", "int | None", "Threads of the CPU; ``None`` for a GPU.")
            .add("compute_capability", "str | None", "Major and minor, such as ``\"9.0\"``.")
            .add("memory_bytes", "int | None", "Bytes of memory of a GPU.")
            .add("free_bytes", "int | None", "Bytes of them that are free.")
    });

/// List the devices that operators work on, as ``pointmill devices`` does: the CPU, then the NVIDIA
/// GPUs that answer.
///
/// Returns
/// -------
/// list of DeviceInfo
///
/// Examples
/// --------
/// >>> import pointmill
/// >>> [(found.device, found.kind) for found in pointmill.devices()][0]
/// ('cpu', 'cpu')
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let none = None::<u64>;
    let cpu = Fields::new(py, None).set("device", "cpu")?.set("kind", "cpu")?.set("name", none)?;
    let cpu = cpu.set("threads", Device::cpu().threads())?.set("compute_capability", none)?;
    let mut all = vec![cpu.set("memory_bytes", none)?.set("free_bytes", none)?.of(&DEVICE)?];
    // Without a driver there is none.
    for gpu in detached(py, Device::list_cuda).unwrap_or_default() {
        let (major, minor) = gpu.compute_capability;
        let fields = Fields::new(py, None).set("device", format!("cuda:{}", gpu.index))?.set("kind", "cuda")?;
        let fields = fields.set("name", gpu.name)?.set("threads", none)?;
        let fields = fields.set("compute_capability", format!("{major}.{minor}"))?;
        all.push(fields.set("memory_bytes", gpu.memory_bytes)?.set("free_bytes", gpu.free_bytes)?.of(&DEVICE)?);
    }
    Ok(all)
}

const MOST_SWEEPS: i64 = 1000;
/// The columns of a sweep; one without motion has no times.
const COLUMNS: [&str; 6] = ["x", "y", "z", "intensity", "ring", "time"];

/// Make the sweeps of a synthetic drive, those that ``pointmill synth`` writes: the same bits on
/// every machine.
///
/// Parameters
/// ----------
/// sweeps : int
///     1 to 1000.
/// scene : {"street", "loop", "tunnel"}
///     What the drive goes through.
/// seed : int
///     Of the houses, the traffic and the noise.
/// distort : bool
///     Whether the motion of the car is left in the sweeps, whose points have times then.
///
/// Returns
/// -------
/// scans : list of Scan
///     x, y, z in metres in the sensor's frame, intensity, ring; with `distort` also time in seconds.
/// poses : array of float64, ``[S, 4, 4]``
///     ``world_from_sensor`` of each sweep; with `distort` of its middle.
///
/// Examples
/// --------
/// >>> import pointmill
/// >>> scans, poses = pointmill.synth.drive(2)
/// >>> len(scans), scans[0].names, poses.shape
/// (2, ['x', 'y', 'z', 'intensity', 'ring'], (2, 4, 4))
#[pyfunction]
#[pyo3(signature = (sweeps = 10, *, scene = "street", seed = 0, distort = false))]
pub(crate) fn drive<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = crate::args::plain)] sweeps: i64,
    #[pyo3(from_py_with = crate::args::plain)] scene: &str,
    #[pyo3(from_py_with = crate::args::plain)] seed: u64,
    #[pyo3(from_py_with = crate::args::plain)] distort: bool,
) -> PyResult<(Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>)> {
    if !(1..=MOST_SWEEPS).contains(&sweeps) {
        return Err(value("sweeps", format_args!("1 to {MOST_SWEEPS}"), sweeps));
    }
    let params = DriveParams {
        sweeps: sweeps as usize,
        scene: named(scene, "scene")?,
        seed,
        motion_compensated: !distort,
        ..DriveParams::default()
    };
    let drive = detached(py, || Drive::new(params));
    let columns = if distort { COLUMNS.len() } else { COLUMNS.len() - 1 };
    let (mut scans, mut poses) = (Vec::new(), Vec::new());
    for i in 0..drive.len() {
        py.check_signals()?;
        let sweep = detached(py, || drive.sweep(i));
        let rows: Vec<f32> =
            sweep.data().chunks_exact(sweep.columns()).flat_map(|row| row[..columns].to_vec()).collect();
        let times: Option<Vec<f32>> =
            distort.then(|| rows.iter().skip(columns - 1).step_by(columns).copied().collect());
        let points = PyArray1::from_vec(py, rows).reshape([sweep.len(), columns])?;
        let more = pyo3::types::PyDict::new(py);
        more.set_item("times", times)?;
        scans.push(py.get_type::<Scan>().call((points, COLUMNS[..columns].to_vec()), Some(&more))?);
        poses.extend(drive.world_from_sensor_at(drive.seconds(i)).concat());
    }
    Ok((scans, PyArray1::from_vec(py, poses).reshape([drive.len(), 4, 4])?.into_any()))
}
