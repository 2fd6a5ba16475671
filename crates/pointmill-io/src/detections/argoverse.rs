//! Tables of Argoverse 2: annotations of a log, and detections.

use super::Detections;
use super::check::{check_box, class_of, error, finite, listed, stem, yaw_of};
use crate::error::{IoError, escape};
use crate::fault::bail;
use crate::feather::{Wanted, read_named};
use crate::files::open_named;
use crate::limits::{Bounds, Limits};
use crate::source::Source;
use crate::window::Window;
use std::path::{Path, PathBuf};

/// The categories of Argoverse 2's annotations. The last four are annotated and not evaluated.
const CLASSES: [&str; 30] = [
    "ARTICULATED_BUS",
    "BICYCLE",
    "BICYCLIST",
    "BOLLARD",
    "BOX_TRUCK",
    "BUS",
    "CONSTRUCTION_BARREL",
    "CONSTRUCTION_CONE",
    "DOG",
    "LARGE_VEHICLE",
    "MESSAGE_BOARD_TRAILER",
    "MOBILE_PEDESTRIAN_CROSSING_SIGN",
    "MOTORCYCLE",
    "MOTORCYCLIST",
    "PEDESTRIAN",
    "REGULAR_VEHICLE",
    "SCHOOL_BUS",
    "SIGN",
    "STOP_SIGN",
    "STROLLER",
    "TRUCK",
    "TRUCK_CAB",
    "VEHICULAR_TRAILER",
    "WHEELCHAIR",
    "WHEELED_DEVICE",
    "WHEELED_RIDER",
    "ANIMAL",
    "OFFICIAL_SIGNALER",
    "RAILED_VEHICLE",
    "TRAFFIC_LIGHT_TRAILER",
];

/// The columns of numbers: the centre, the extents, the quaternion w x y z, the score.
const NUMBERS: [&str; 11] =
    ["tx_m", "ty_m", "tz_m", "length_m", "width_m", "height_m", "qw", "qx", "qy", "qz", "score"];

/// Reads the boxes of a Feather table of Argoverse 2, or of all tables of a folder: its `.feather`
/// files and the `annotations.feather` of each folder in it.
///
/// A table without the column `log_id`, as the annotations of a log, has the name of its folder. A
/// table without `score` has the score 1; without `num_interior_pts` the number of points is not
/// known.
///
/// **Units and frames**: metres and radians in the frame of the vehicle. A quaternion becomes its yaw.
///
/// **Order**: a frame is named by log and time, `log/0315966253660357000`, in nanoseconds.
///
/// # Errors
/// A column that is missing or of another type, a null, a category that Argoverse 2 does not have, a
/// number that is not finite, a negative extent; each with its row. A folder without tables.
pub fn read_argoverse(path: impl AsRef<Path>, limits: &Limits) -> Result<Detections, IoError> {
    let mut out = Detections { classes: CLASSES.map(str::to_owned).into(), ..Detections::default() };
    for file in files(path.as_ref())? {
        read_table(&file, limits, &mut out)?;
    }
    // Where one table has no points, none of them has.
    if out.num_points.len() < out.boxes.len() {
        out.num_points.clear();
    }
    Ok(out.sorted())
}

/// The tables of a path.
fn files(path: &Path) -> Result<Vec<PathBuf>, IoError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = vec![];
    for inside in listed(path)? {
        if inside.is_dir() {
            found.extend(Some(inside.join("annotations.feather")).filter(|path| path.is_file()));
        } else if inside.extension().is_some_and(|e| e == "feather") {
            found.push(inside);
        }
    }
    if found.is_empty() {
        bail!(path, MissingField, "files", "files named *.feather, or folders with annotations.feather", "none");
    }
    Ok(found)
}

fn read_table(path: &Path, limits: &Limits, out: &mut Detections) -> Result<(), IoError> {
    let (mut file, length) = open_named(path)?;
    let mut source = Source::new(path, &mut file, length).within(limits.max_memory);
    let bounds = Bounds { limits: limits.clone(), ..Bounds::default() };
    let mut wanted: Vec<_> = NUMBERS.iter().map(|name| Wanted::numbers(name)).collect();
    wanted[10] = wanted[10].optional();
    wanted.extend([Wanted::whole("timestamp_ns"), Wanted::whole("num_interior_pts").optional()]);
    wanted.extend([Wanted::text("category"), Wanted::text("log_id").optional()]);
    let table = read_named(&mut Window::new(&mut source), &bounds, &wanted)?;
    let number = |column: usize, row: usize| table.columns[column].numbers[row];
    let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(stem)).unwrap_or_default();
    let known_logs: Vec<String> = table.columns[14].names.iter().map(|name| escape(name)).collect();
    for row in 0..table.rows {
        let wrong = |wrong| error(path, &format!("row {row}"), wrong);
        let [qw, qx, qy, qz] = [6, 7, 8, 9].map(|column| number(column, row));
        let yaw = yaw_of([qw, qx, qy, qz]).map_err(wrong)?;
        let found = std::array::from_fn(|i| if i < 6 { number(i, row) } else { yaw });
        check_box(&found).map_err(wrong)?;
        let score = if table.columns[10].is_there { number(10, row) } else { 1.0 };
        let time = table.columns[11].whole[row];
        if time < 0 {
            return Err(wrong(("timestamp_ns".into(), "0 or more".into(), time.to_string())));
        }
        let category = &table.columns[13];
        let class = class_of(&CLASSES, &category.names[category.texts[row] as usize]).map_err(wrong)?;
        let log = &table.columns[14];
        let log = if log.is_there { &known_logs[log.texts[row] as usize] } else { &folder };
        out.class.push(class);
        out.boxes.push(found);
        out.scores.push(finite("score", score).map_err(wrong)?);
        if table.columns[12].is_there {
            out.num_points.push(table.columns[12].whole[row]);
        }
        let name = format!("{log}/{time:019}");
        if out.frames.last() == Some(&name) {
            out.frames.pop();
            out.splits.pop();
        }
        out.end_frame(name);
    }
    Ok(())
}
