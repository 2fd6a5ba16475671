//! Reads poses.

use super::euroc::Columns;
use super::{PoseFormat, PoseOptions, Poses};
use crate::error::{Detail, IoError, excerpt};
use crate::fault::Context as _;
use crate::feather;
use crate::files::open_named;
use crate::format::Format;
use crate::limits::{Bounds, Limits};
use crate::source::Source;
use crate::window::Window;
use pointmill_core::Pose;
use std::path::Path;

/// The columns of Argoverse 2's table of poses.
const ARGOVERSE2: [&str; 8] = ["timestamp_ns", "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"];
/// Most numbers of a line.
const MOST: usize = 17;

/// Reads the poses of a file.
///
/// **Order**: the order of the lines or rows. Times of nanoseconds become seconds, of which an
/// `f64` holds those since 1980 to 60 ns. A rotation that is exact to a millionth keeps every bit
/// of its matrix; see [`Pose::from_matrix`] and
/// [`Pose::from_quaternion`] for how far from rigid a pose may be. A file without poses has none.
///
/// # Limits
/// [`Limits::max_points`] counts the poses, [`Limits::max_memory`] their memory, which is taken as the lines come.
///
/// # Errors
/// A line of too few or too many numbers, a word that is no number, a pose that is not rigid or not
/// finite, times that do not ascend or are not of the unit of the format; each with the number of
/// the line.
///
/// ```
/// use pointmill_io::{PoseFormat, PoseOptions, Poses, read_poses, write_poses};
/// use pointmill_core::Pose;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-poses.txt", std::process::id()));
/// let poses = vec![Pose::IDENTITY, Pose::from_translation([1.0, 2.0, 0.1])];
/// let written = Poses { poses, times: Some(vec![0.0, 0.1]) };
/// write_poses(&path, &written, PoseFormat::Tum)?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "0 0 0 0 0 0 0 1\n0.1 1 2 0.1 0 0 0 1\n");
/// assert_eq!(read_poses(&path, &PoseOptions::default())?, written);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn read_poses(path: impl AsRef<Path>, options: &PoseOptions) -> Result<Poses, IoError> {
    let path = path.as_ref();
    let (mut file, length) = open_named(path)?;
    let mut source = Source::new(path, &mut file, length).within(options.limits.max_memory);
    let mut window = Window::new(&mut source);
    let first = window.peek(feather::FILE.len())?;
    let is_table = window.at(&first) == feather::FILE;
    if options.format.map_or(is_table, |format| format == PoseFormat::Argoverse2) {
        return read_table(&mut window, &options.limits);
    }
    let mut lines = Lines { window, numbers: Vec::with_capacity(MOST), columns: None };
    let mut poses = Poses::default();
    let mut format = options.format;
    while lines.advance()? {
        let format = match format {
            Some(format) => format,
            None if lines.columns.is_some() => *format.insert(PoseFormat::Euroc),
            None => *format.insert(lines.format()?),
        };
        // A file of one pose may have a row of it a line.
        if poses.poses.is_empty() && lines.numbers.len() == format.row() {
            while lines.numbers.len() < format.numbers() && lines.more()? {}
        }
        lines.push(format, &mut poses, &options.limits)?;
    }
    Ok(poses)
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
        let poses = read_poses(path, &PoseOptions { format: Some(format), limits: limits.clone() }).ok()?;
        (!poses.poses.is_empty()).then_some((format, poses))
    };
    KNOWN.into_iter().find_map(read)
}

/// Reads the poses of Argoverse 2's table.
fn read_table(window: &mut Window<'_, '_>, limits: &Limits) -> Result<Poses, IoError> {
    let bounds = Bounds { limits: limits.clone(), ..Bounds::default() };
    let rows = feather::read_columns(window, &bounds, ARGOVERSE2)?;
    let (mut poses, mut times) = (window.source().room(rows.len())?, window.source().room(rows.len())?);
    for (row, &[time, qw, qx, qy, qz, x, y, z]) in rows.iter().enumerate() {
        let detail = |wanted: String, found: String| window.detail(&format!("row {row}"), wanted, found);
        let time = time / 1e9;
        if times.last() == Some(&time) {
            continue;
        }
        check_time(time, times.last().copied(), detail)?;
        let pose = Pose::from_quaternion([x, y, z], [qx, qy, qz, qw]);
        poses.push(pose.map_err(|e| IoError::BadValue(detail("a rigid transform".into(), e.to_string())))?);
        times.push(time);
    }
    Ok(Poses { poses, times: Some(times) })
}

/// Checks that a time comes after the one before it.
fn check_time(time: f64, last: Option<f64>, detail: impl FnOnce(String, String) -> Box<Detail>) -> Result<(), IoError> {
    if time.is_finite() && last.is_none_or(|last| last < time) {
        return Ok(());
    }
    let wanted = last.map_or_else(|| "a finite time".into(), |last| format!("a finite time after {last}"));
    Err(IoError::BadValue(detail(wanted, time.to_string())))
}

/// The lines of a file that have numbers.
struct Lines<'s, 'a> {
    window: Window<'s, 'a>,
    /// The numbers of the line, or of lines that were gathered.
    numbers: Vec<f64>,
    /// What a header of EuRoC says, or the first line of such a file.
    columns: Option<Columns>,
}

impl Lines<'_, '_> {
    /// Takes the next line with numbers; whether there is one.
    fn advance(&mut self) -> Result<bool, IoError> {
        self.numbers.clear();
        self.more()
    }

    /// Adds the numbers of the next line that has some.
    fn more(&mut self) -> Result<bool, IoError> {
        let before = self.numbers.len();
        while self.numbers.len() == before {
            let Some(line) = self.window.line()? else { return Ok(false) };
            let line = self.window.at(&line);
            if let Some(comment) = line.trim_ascii_start().strip_prefix(b"#") {
                self.columns = self.columns.or_else(|| Columns::named(str::from_utf8(comment).ok()?));
                continue;
            }
            let words = line.split(|b| b.is_ascii_whitespace() || *b == b',').filter(|word| !word.is_empty());
            for word in words {
                let number = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                let number = number.ok_or_else(|| IoError::BadValue(self.detail("a number", excerpt(word))))?;
                if self.numbers.len() == MOST {
                    return Err(IoError::ShapeMismatch(self.detail(wanted(), "more")));
                }
                self.numbers.push(number);
            }
        }
        Ok(true)
    }

    /// What is wrong with the line.
    fn detail(&self, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        self.window.detail(&format!("line {}", self.window.line_number()), wanted, found)
    }

    /// The format of a file whose first line this is.
    fn format(&self) -> Result<PoseFormat, IoError> {
        let numbers = self.numbers.len();
        let known = PoseFormat::ALL.iter().copied().find(|format| [format.numbers(), format.row()].contains(&numbers));
        known.ok_or_else(|| IoError::ShapeMismatch(self.detail(wanted(), numbers.to_string())))
    }

    /// Adds the pose of the numbers.
    fn push(&mut self, format: PoseFormat, to: &mut Poses, limits: &Limits) -> Result<(), IoError> {
        let found = self.numbers.len();
        let columns = match format {
            PoseFormat::Euroc => *self.columns.get_or_insert(Columns::of(found)),
            _ => Columns::TUM,
        };
        let numbers = &self.numbers[..];
        let expected = if format == PoseFormat::Euroc { columns.numbers } else { format.numbers() };
        if found != expected {
            return Err(IoError::ShapeMismatch(
                self.detail(format!("{expected} numbers ({format})"), found.to_string()),
            ));
        }
        if limits.max_points.is_some_and(|most| to.poses.len() as u64 >= most) {
            let wanted = format!("at most {} poses (the limit `max_points`)", to.poses.len());
            return Err(IoError::LimitExceeded(self.detail(wanted, "more")));
        }
        let rows = |n: usize| {
            let mut rows = [[0.0, 0.0, 0.0, 1.0]; 4];
            rows.as_flattened_mut()[..n].copy_from_slice(&numbers[..n]);
            Pose::from_matrix(&rows)
        };
        let pose = match format {
            PoseFormat::Kitti | PoseFormat::Matrix => rows(format.numbers()),
            PoseFormat::Tum | PoseFormat::Euroc | PoseFormat::Argoverse2 => {
                let [_, x, y, z, i, j, k, w] = columns.places.map(|place| numbers[place]);
                Pose::from_quaternion([x, y, z], [i, j, k, w])
            }
            PoseFormat::Xyzrpy => Pose::from_xyzrpy(std::array::from_fn(|i| numbers[i])),
        };
        let pose = pose.map_err(|e| IoError::BadValue(self.detail("a rigid transform", e.to_string())))?;
        let source = self.window.source();
        if matches!(format, PoseFormat::Tum | PoseFormat::Euroc) {
            let told = numbers[columns.places[0]];
            if let Some(wanted) = columns.wanted_instead_of(told) {
                return Err(IoError::BadValue(self.detail(wanted, told.to_string())));
            }
            let (time, times) = (told / columns.per_second, to.times.get_or_insert_default());
            check_time(time, times.last().copied(), |wanted, found| self.detail(wanted, found))?;
            source.reserve(times, 1)?;
            times.push(time);
        }
        source.reserve(&mut to.poses, 1)?;
        to.poses.push(pose);
        Ok(())
    }
}

/// How many numbers a line has, of any format of text.
fn wanted() -> String {
    let of_text = PoseFormat::ALL.iter().filter(|format| **format != PoseFormat::Argoverse2);
    of_text.map(|format| format!("{} numbers ({format})", format.numbers())).collect::<Vec<_>>().join(" or ")
}
