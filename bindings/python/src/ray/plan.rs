//! The inputs of a job that builds a map.

use super::{InputReader, Known, NAMES, deskew_of, poses_of};
use crate::args::numbers;
use crate::ending::detached;
use crate::errors::{self, data, value};
use crate::ndt::{MapPlace, NdtBlockMap};
use pointmill_data::maps::refuse_one_input_twice;
use pointmill_data::poses::{Deskew, InputKinds, InputPoses, log_poses};
use pointmill_data::{BlockMap, sort_naturally};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// What a file is to a map: its path, why it cannot be read, and how many clouds a bag has and
/// whether it was cut.
type Found = (PathBuf, Option<String>, Option<(usize, bool)>);
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
            let known =
                detached(
                    py,
                    || if BlockMap::is_in(&*place.0) { BlockMap::open_in(place.0).map(Some) } else { Ok(None) },
                );
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
    sort_naturally(&mut paths, |path| path);
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// The poses of the log whose folder of sweeps is the only input.
#[pyfunction]
#[pyo3(name = "_log_poses")]
pub(crate) fn find_poses(inputs: Vec<PathBuf>) -> Option<String> {
    log_poses(&inputs, &()).map(|path| path.to_string_lossy().into_owned())
}

/// The inputs of a job, how sweeps are deskewed, and whether stamps decide which pose an input has.
#[pyfunction]
#[pyo3(name = "_plan_map")]
pub(crate) fn plan_map(
    map: &NdtBlockMap,
    reader: &InputReader,
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
