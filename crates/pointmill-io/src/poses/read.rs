//! Reads poses.

use super::columns::{Columns, Unit};
use super::draft::Draft;
use super::lines::Lines;
use super::{PoseFormat, PoseOptions, PoseWarning, Poses, numbers_of_formats};
use crate::error::IoError;
use crate::fault::Context as _;
use crate::feather;
use crate::files::open_named;
use crate::format::Format;
use crate::limits::{Bounds, Limits};
use crate::plain_text::PlainText;
use crate::source::Source;
use crate::window::Window;
use pointmill_core::Pose;
use std::path::Path;

/// The columns of Argoverse 2's table of poses.
const ARGOVERSE2: [&str; 8] = ["timestamp_ns", "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"];

/// Reads the poses of a file.
///
/// Text may be saved as UTF-8 or UTF-16, with a byte order mark or without, with any line ends.
///
/// **Order**: the order of the lines or rows; poses whose times do not ascend are sorted, and of equal
/// times the first pose is kept. [`Poses::warnings`] says what was decided. Times of nanoseconds become seconds, of which an
/// `f64` holds those since 1980 to 60 ns. A rotation that is exact to a millionth keeps every bit
/// of its matrix; see [`Pose::from_matrix`] and
/// [`Pose::from_quaternion`] for how far from rigid a pose may be; a quaternion of few digits is scaled
/// if its length is within 0.1 of one. A file without poses has none.
///
/// # Limits
/// [`Limits::max_points`] counts the poses, [`Limits::max_memory`] their memory, which is taken as the lines come.
///
/// # Errors
/// A line of too few or too many numbers, a word that is no number, a pose that is not rigid or not
/// finite, times that are not of the unit of the format, positions without rotations
/// ([`PoseOptions::positions`]), names of columns that do not tell which is what; each with the number
/// of the line.
///
/// ```
/// use pointmill_io::{PoseFormat, PoseOptions, Poses, read_poses, write_poses};
/// use pointmill_core::Pose;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-poses.txt", std::process::id()));
/// let poses = vec![Pose::IDENTITY, Pose::from_translation([1.0, 2.0, 0.1])];
/// let written = Poses { poses, times: Some(vec![0.0, 0.1]), ..Poses::default() };
/// write_poses(&path, &written, PoseFormat::Tum)?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "0 0 0 0 0 0 0 1\n0.1 1 2 0.1 0 0 0 1\n");
/// assert_eq!(read_poses(&path, &PoseOptions::default())?, written);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_poses(path: impl AsRef<Path>, options: &PoseOptions) -> Result<Poses, IoError> {
    read_as(path.as_ref(), options).map(|(poses, _)| poses)
}

/// Reads the poses of a file, and the format that they have.
fn read_as(path: &Path, options: &PoseOptions) -> Result<(Poses, Found), IoError> {
    let (file, length) = open_named(path)?;
    let mut text = PlainText::new(file).map_err(IoError::io(path, "read"))?;
    let length = text.length(length);
    let mut source = Source::new(path, &mut text, length).within(options.limits.max_memory);
    let mut window = Window::new(&mut source);
    let first = window.peek(feather::FILE.len())?;
    let is_table = window.at(&first) == feather::FILE;
    if options.format.map_or(is_table, |format| format == PoseFormat::Argoverse2) {
        let poses = read_table(&mut window, &options.limits)?;
        return Ok((poses, Found { format: PoseFormat::Argoverse2, is_named: true }));
    }
    let (mut lines, mut draft) = (Lines::new(window), Draft::default());
    if !lines.advance()? {
        let format = options.format.unwrap_or(PoseFormat::Tum);
        return Ok((Poses::default(), Found { format, is_named: false }));
    }
    let named = lines.columns(options.format)?;
    let first = First { named, format: options.format, takes_positions: options.positions };
    let (layout, early) = first.layout(&mut lines)?;
    if let Layout::Columns(columns) = &layout {
        check_positions(&lines, columns, options.positions)?;
    }
    for row in early {
        let next = std::mem::replace(&mut lines.numbers, row);
        push(&lines, &layout, &mut draft, &options.limits)?;
        lines.numbers = next;
    }
    while !lines.numbers.is_empty() {
        push(&lines, &layout, &mut draft, &options.limits)?;
        lines.advance()?;
    }
    let is_named = named.is_some();
    let (columns, format) = match layout {
        Layout::Columns(columns) if columns.has_order_of_tum() => (columns, PoseFormat::Tum),
        Layout::Columns(columns) => (columns, PoseFormat::Euroc),
        Layout::Numbers(format) => (Columns::TUM, format),
    };
    let mut poses = draft.finish(lines.window.source(), &columns)?;
    if is_named && columns.time.is_none() {
        poses.warnings.push(PoseWarning::NoTimes);
    }
    Ok((poses, Found { format, is_named }))
}

/// What a file was found to be.
struct Found {
    format: PoseFormat,
    /// Whether it says so itself, by names.
    is_named: bool,
}

/// How the lines of a file are read.
enum Layout {
    /// By columns.
    Columns(Columns),
    /// All numbers of a line, of a format without times.
    Numbers(PoseFormat),
}

/// What is known at the first line.
struct First {
    named: Option<Columns>,
    format: Option<PoseFormat>,
    takes_positions: bool,
}

impl First {
    /// How the file is read, and lines that were read to find out.
    fn layout(&self, lines: &mut Lines<'_, '_>) -> Result<(Layout, Vec<Vec<f64>>), IoError> {
        let numbers = lines.numbers.len();
        let format = match (self.named, self.format) {
            (Some(columns), _) => return Ok((Layout::Columns(columns), vec![])),
            (None, Some(format)) => format,
            (None, None) if matches!(numbers, 3 | 4) => return self.of_few_numbers(lines),
            (None, None) => {
                let known = PoseFormat::ALL.iter().copied().find(|format| format.numbers() == numbers);
                known.ok_or_else(|| IoError::ShapeMismatch(lines.detail(numbers_of_formats(), numbers.to_string())))?
            }
        };
        Ok(match format {
            // The caller says the order, and digits the unit.
            PoseFormat::Tum if self.format.is_some() => {
                (Layout::Columns(Columns { unit: Unit::ByDigits, ..Columns::TUM }), vec![])
            }
            PoseFormat::Tum => (Layout::Columns(Columns::TUM), vec![]),
            PoseFormat::Euroc => (Layout::Columns(Columns::euroc(numbers)), vec![]),
            format => {
                // A file of one pose may have a row of it a line.
                if numbers == format.row() {
                    while lines.numbers.len() < format.numbers() && lines.more()? {}
                }
                (Layout::Numbers(format), vec![])
            }
        })
    }

    /// Lines of three or four numbers are the rows of one pose, or positions, as their number says.
    fn of_few_numbers(&self, lines: &mut Lines<'_, '_>) -> Result<(Layout, Vec<Vec<f64>>), IoError> {
        let numbers = lines.numbers.len();
        let format = if numbers == 4 { PoseFormat::Matrix } else { PoseFormat::Xyzrpy };
        let of_a_pose = format.numbers() / numbers;
        let mut early = vec![lines.numbers.clone()];
        while early.len() <= of_a_pose && lines.advance()? {
            if lines.numbers.len() != numbers {
                let wanted = format!("{numbers} numbers, as the lines before have");
                return Err(IoError::ShapeMismatch(lines.detail(wanted, lines.numbers.len().to_string())));
            }
            early.push(lines.numbers.clone());
        }
        let has_more = early.len() > of_a_pose;
        let ascends = numbers == 4 && early.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        let is_last_row = early.last().is_some_and(|row| row[..3] == [0.0; 3]);
        let is_pose = !has_more && if numbers == 4 { is_last_row || !ascends } else { true };
        if is_pose || (early.len() == 1 && !self.takes_positions) {
            lines.numbers = early.concat();
            return Ok((Layout::Numbers(format), vec![]));
        }
        // What is left in the lines is the last of these.
        lines.numbers = early.pop().unwrap_or_default();
        Ok((Layout::Columns(Columns::positions(numbers)), early))
    }
}

/// Refuses positions where poses are wanted.
fn check_positions(lines: &Lines<'_, '_>, columns: &Columns, are_taken: bool) -> Result<(), IoError> {
    if columns.rotation.is_some() || are_taken {
        return Ok(());
    }
    let wanted = format!("poses, which are {}", numbers_of_formats());
    let found = match columns.time {
        Some(_) => "times with positions alone; pointmill evaluate compares those",
        None => "positions alone; pointmill evaluate compares those",
    };
    Err(IoError::ShapeMismatch(lines.detail(wanted, found)))
}

/// The poses of a file that is one of poses, whatever its name: text of which every line is a rigid
/// pose of one of the formats with more numbers than a point, or a table of Argoverse 2. `None` for
/// any other file.
///
/// # Limits
/// As [`read_poses`]; a file with more is none of poses.
///
/// ```
/// use pointmill_io::{Limits, PoseFormat, find_poses};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-found.txt", std::process::id()));
/// std::fs::write(&path, "1 0 0 2 0 1 0 3 0 0 1 4\n")?;
/// assert_eq!(find_poses(&path, &Limits::default()).unwrap().0, PoseFormat::Kitti);
/// std::fs::write(&path, "1 2 3 0.5\n")?;
/// assert!(find_poses(&path, &Limits::default()).is_none());
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn find_poses(path: impl AsRef<Path>, limits: &Limits) -> Option<(PoseFormat, Poses)> {
    const KNOWN: [PoseFormat; 5] =
        [PoseFormat::Kitti, PoseFormat::Tum, PoseFormat::Matrix, PoseFormat::Euroc, PoseFormat::Argoverse2];
    let path = path.as_ref();
    let may_be = matches!(Format::from_name(path), None | Some(Format::Xyz | Format::Csv | Format::Feather));
    // What is no regular file is read once only.
    if !may_be || !path.is_file() {
        return None;
    }
    let read = |format| {
        let options = PoseOptions { format: Some(format), limits: limits.clone(), ..PoseOptions::default() };
        let (poses, found) = read_as(path, &options).ok()?;
        // Points may look nearly like poses; only names say that they are some.
        let is_sure = found.is_named || poses.warnings.is_empty();
        (is_sure && !poses.poses.is_empty()).then_some((found.format, poses))
    };
    KNOWN.into_iter().find_map(read)
}

/// Reads the poses of Argoverse 2's table.
fn read_table(window: &mut Window<'_, '_>, limits: &Limits) -> Result<Poses, IoError> {
    let bounds = Bounds { limits: limits.clone(), ..Bounds::default() };
    let rows = feather::read_columns(window, &bounds, ARGOVERSE2)?;
    let mut draft = Draft::default();
    for (row, &[time, qw, qx, qy, qz, x, y, z]) in rows.iter().enumerate() {
        let pose = draft.pose([x, y, z], [qx, qy, qz, qw]).map_err(|e| e.to_string());
        let pose = if time.is_finite() { pose } else { Err(format!("the time {time}")) };
        let wrong = |e| IoError::BadValue(window.detail(&format!("row {row}"), "a rigid transform and its time", e));
        draft.push(window.source(), pose.map_err(wrong)?, Some(time))?;
    }
    draft.finish(window.source(), &Columns { unit: Unit::PerSecond(1e9), ..Columns::TUM })
}

/// Adds the pose of a line.
fn push(lines: &Lines<'_, '_>, layout: &Layout, to: &mut Draft, limits: &Limits) -> Result<(), IoError> {
    let found = lines.numbers.len();
    let (expected, of) = match layout {
        Layout::Numbers(format) => (format.numbers(), format.as_str()),
        Layout::Columns(_) if lines.is_named() => (found, ""),
        Layout::Columns(columns) if columns.rotation.is_none() => (columns.numbers, "positions"),
        Layout::Columns(columns) if columns.has_order_of_tum() => (columns.numbers, "tum"),
        Layout::Columns(columns) => (columns.numbers, "euroc"),
    };
    if found != expected {
        return Err(IoError::ShapeMismatch(lines.detail(format!("{expected} numbers ({of})"), found.to_string())));
    }
    if limits.max_points.is_some_and(|most| to.poses.len() as u64 >= most) {
        let wanted = format!("at most {} poses (the limit `max_points`)", to.poses.len());
        return Err(IoError::LimitExceeded(lines.detail(wanted, "more")));
    }
    let (pose, time) = match layout {
        Layout::Numbers(PoseFormat::Xyzrpy) => (Pose::from_xyzrpy(std::array::from_fn(|i| lines.numbers[i])), None),
        Layout::Numbers(format) => {
            let mut rows = [[0.0, 0.0, 0.0, 1.0]; 4];
            let numbers = format.numbers();
            rows.as_flattened_mut()[..numbers].copy_from_slice(&lines.numbers[..numbers]);
            (Pose::from_matrix(&rows), None)
        }
        Layout::Columns(columns) => {
            let [time, nanoseconds, x, y, z, i, j, k, w] = lines.of(columns);
            let pose = match columns.rotation {
                Some(_) => to.pose([x, y, z], [i, j, k, w]),
                None => Pose::from_xyzrpy([x, y, z, 0.0, 0.0, 0.0]),
            };
            let time = columns.time.map(|_| check_time(lines, columns, time, nanoseconds)).transpose()?;
            (pose, time)
        }
    };
    let pose = pose.map_err(|e| IoError::BadValue(lines.detail("a rigid transform", e.to_string())))?;
    to.push(lines.window.source(), pose, time)
}

/// A time as the line has it, checked.
fn check_time(lines: &Lines<'_, '_>, columns: &Columns, time: f64, nanoseconds: f64) -> Result<f64, IoError> {
    let wanted = if !time.is_finite() {
        Some("a finite time".into())
    } else if !(0.0..1e9).contains(&nanoseconds) {
        return Err(IoError::BadValue(lines.detail("nanoseconds from 0 to 999999999", nanoseconds.to_string())));
    } else {
        columns.wanted_instead_of(time)
    };
    match wanted {
        Some(wanted) => Err(IoError::BadValue(lines.detail(wanted, time.to_string()))),
        None if columns.nanoseconds.is_some() => Ok(time + nanoseconds / 1e9),
        None => Ok(time),
    }
}
