//! Tables of Argoverse 2: annotations of a log, and detections.

use super::check::{Classes, LONGEST_NAME, LeftOut, Wrong, check_box, error, finite, is_folder, listed, stem, yaw_of};
use super::{Detections, out_of_memory, take};
use crate::error::{IoError, escape};
use crate::fault::bail;
use crate::feather::{Wanted, read_named};
use crate::files::{Place, open_at};
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
/// A column that is missing or of another type, a null, a negative time, a name of a log with more than
/// 256 bytes, with its row. A folder without tables; in a folder what is no regular file. A box that
/// cannot be used, as one of a negative extent, is left out, and [`Detections::warnings`] says so.
/// Categories that Argoverse 2 does not have are kept.
pub fn read_argoverse(path: impl AsRef<Path>, limits: &Limits) -> Result<Detections, IoError> {
    let path = path.as_ref();
    let mut reading = Reading {
        out: Detections::default(),
        classes: Classes::new(&CLASSES),
        left_out: LeftOut::default(),
        limits,
        taken: 0,
    };
    let follow_links = !path.is_dir();
    for file in files(path)? {
        reading.read_table(Place { path: &file, follow_links })?;
    }
    let Reading { mut out, classes, left_out, .. } = reading;
    (out.classes, out.warnings) = (classes.into_names(), left_out.warnings());
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
        if is_folder(&inside)? {
            let table = inside.join("annotations.feather");
            found.extend(Some(table).filter(|path| path.symlink_metadata().is_ok()));
        } else if inside.extension().is_some_and(|e| e == "feather") {
            found.push(inside);
        }
    }
    if found.is_empty() {
        bail!(path, MissingField, "files", "files named *.feather, or folders with annotations.feather", "none");
    }
    Ok(found)
}

/// What was read of the tables so far.
struct Reading<'l> {
    out: Detections,
    classes: Classes,
    left_out: LeftOut,
    limits: &'l Limits,
    /// Bytes of the rows.
    taken: u64,
}

impl Reading<'_> {
    fn read_table(&mut self, place: Place<'_>) -> Result<(), IoError> {
        let (path, limits) = (place.path, self.limits);
        let (mut file, length) = open_at(place)?;
        let most = limits.max_memory.map(|most| most.saturating_sub(self.taken));
        let mut source = Source::new(path, &mut file, length).within(most);
        let bounds = Bounds { limits: limits.clone(), ..Bounds::default() };
        let mut wanted: Vec<_> = NUMBERS.iter().map(|name| Wanted::numbers(name)).collect();
        wanted[10] = wanted[10].optional();
        wanted.extend([Wanted::whole("timestamp_ns"), Wanted::whole("num_interior_pts").optional()]);
        wanted.extend([Wanted::text("category"), Wanted::text("log_id").optional()]);
        let table = read_named(&mut Window::new(&mut source), &bounds, &wanted)?;
        let number = |column: usize, row: usize| table.columns[column].numbers[row];
        let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(stem)).unwrap_or_default();
        if !table.columns[10].is_there && table.rows > 0 {
            self.out.unscored.get_or_insert_with(|| (path.to_path_buf(), "row 0".into()));
        }
        let names = &table.columns[14].words.names;
        if let Some(long) = names.iter().chain([&folder]).find(|name| name.len() > LONGEST_NAME) {
            let wanted = format!("at most {LONGEST_NAME} bytes");
            return Err(error(path, "names of logs", ("log_id".into(), wanted, format!("{} bytes", long.len()))));
        }
        let known_logs: Vec<String> = names.iter().map(|name| escape(name)).collect();
        self.out.reserve(path, table.rows)?;
        self.out.num_points.try_reserve(table.rows).map_err(|_| out_of_memory(path, 8 * table.rows))?;
        for row in 0..table.rows {
            let wrong = |wrong| error(path, &format!("row {row}"), wrong);
            let usable = || -> Result<[f64; 7], Wrong> {
                let yaw = yaw_of([6, 7, 8, 9].map(|column| number(column, row)))?;
                let found = std::array::from_fn(|i| if i < 6 { number(i, row) } else { yaw });
                check_box(&found)?;
                Ok(found)
            };
            let score = if table.columns[10].is_there { number(10, row) } else { 1.0 };
            let time = table.columns[11].whole[row];
            if time < 0 {
                return Err(wrong(("timestamp_ns".into(), "0 or more".into(), time.to_string())));
            }
            let category = &table.columns[13];
            let class = self.classes.index(&category.words.names[category.texts[row] as usize]);
            let log = &table.columns[14];
            let log = if log.is_there { &known_logs[log.texts[row] as usize] } else { &folder };
            let out = &mut self.out;
            match usable().and_then(|found| Ok((found, finite("score", score)?))) {
                Ok((found, score)) => {
                    out.class.push(class);
                    out.boxes.push(found);
                    out.scores.push(score);
                    if table.columns[12].is_there {
                        out.num_points.push(table.columns[12].whole[row]);
                    }
                }
                Err(wrong) => self.left_out.a_box(&format!("{} row {row}", stem(path)), wrong),
            }
            let name = format!("{log}/{time:019}");
            let is_same = out.frames.last() == Some(&name);
            if is_same {
                out.frames.pop();
                out.splits.pop();
            }
            let of_frame = if is_same { 0 } else { 2 * size_of::<String>() + name.len() };
            take(path, limits, &mut self.taken, size_of::<[f64; 10]>() + of_frame)?;
            out.end_frame(name);
        }
        Ok(())
    }
}
