//! Files of poses: trajectories of KITTI and of the TUM benchmark, matrices, and x y z roll pitch yaw.

use crate::destination::Destination;
use crate::error::{Detail, IoError, excerpt};
use crate::feather;
use crate::format::Format;
use crate::limits::{Bounds, Limits};
use crate::source::{Source, open};
use crate::whole::write_to;
use crate::window::Window;
use pointmill_core::Pose;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// How poses stand in a file: as text with one pose a line, numbers separated by blanks or commas, or as a table of Argoverse 2.
///
/// In text, empty lines and lines that start with `#` are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoseFormat {
    /// 12 numbers: the upper three rows of the 4x4 matrix, rows first.
    Kitti,
    /// 8 numbers: the time in seconds, the translation, the quaternion x, y, z, w. Times ascend.
    Tum,
    /// 16 numbers: the rows of the 4x4 matrix. A file of one pose may have a row a line.
    Matrix,
    /// 6 numbers: the translation, then roll, pitch and yaw in radians. A file of one pose may have three a line.
    Xyzrpy,
    /// A Feather table with the columns `timestamp_ns`, `qw`, `qx`, `qy`, `qz`, `tx_m`, `ty_m`, `tz_m`, as Argoverse 2 has it in
    /// `city_SE3_egovehicle.feather`. Times ascend; of poses whose times are one `f64` in seconds, some nanoseconds apart, the first is kept. It
    /// is read, not written.
    Argoverse2,
}

pointmill_core::names!(PoseFormat {
    Kitti = "kitti",
    Tum = "tum",
    Matrix = "matrix",
    Xyzrpy = "xyzrpy",
    Argoverse2 = "argoverse2",
});

/// The columns of Argoverse 2's table of poses.
const ARGOVERSE2: [&str; 8] = ["timestamp_ns", "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"];
/// Where Argoverse 2 has the poses of a log, and in which folder of it the sweeps.
const LOG_POSES: &str = "city_SE3_egovehicle.feather";
const LOG_SWEEPS: &str = "sensors/lidar";

impl PoseFormat {
    /// Whether poses are written in the format.
    pub const fn is_written(self) -> bool {
        !matches!(self, Self::Argoverse2)
    }

    /// The formats in which poses are written.
    pub fn written() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|format| format.is_written())
    }

    /// The numbers of a pose.
    pub const fn numbers(self) -> usize {
        match self {
            Self::Kitti => 12,
            Self::Tum | Self::Argoverse2 => 8,
            Self::Matrix => 16,
            Self::Xyzrpy => 6,
        }
    }

    /// The numbers of a line where a pose is spread over several.
    const fn row(self) -> usize {
        match self {
            Self::Matrix => 4,
            Self::Xyzrpy => 3,
            Self::Kitti | Self::Tum | Self::Argoverse2 => self.numbers(),
        }
    }
}

/// The poses of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Poses {
    /// The poses.
    pub poses: Vec<Pose>,
    /// The time of each in seconds, where the file has times.
    pub times: Option<Vec<f64>>,
}

impl From<Vec<Pose>> for Poses {
    fn from(poses: Vec<Pose>) -> Self {
        Self { poses, times: None }
    }
}

/// How to read poses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoseOptions {
    /// The format; by default [`PoseFormat::Argoverse2`] for a Feather file, else the one whose lines have as many numbers as the first line.
    pub format: Option<PoseFormat>,
    /// How much a read may take.
    pub limits: Limits,
}

/// Most numbers of a line, and of a matrix.
const MOST: usize = 16;

/// Reads the poses of a file.
///
/// **Order**: the order of the lines or rows. Times of nanoseconds become seconds, of which an `f64` holds those since 1980 to 60 ns. A rotation that is exact to a millionth keeps every bit of its matrix; see [`Pose::from_matrix`] and
/// [`Pose::from_quaternion`] for how far from rigid a pose may be. A file without poses has none.
///
/// # Limits
/// [`Limits::max_points`] counts the poses, [`Limits::max_memory`] their memory, which is taken as the lines come.
///
/// # Errors
/// A line of too few or too many numbers, a word that is no number, a pose that is not rigid or not finite, times that do not ascend; each
/// with the number of the line.
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
    let (mut file, length) = open(path)?;
    let mut source = Source::new(path, &mut file, length).within(options.limits.max_memory);
    let mut window = Window::new(&mut source);
    let first = window.peek(feather::FILE.len())?;
    let is_table = window.at(&first) == feather::FILE;
    if options.format.map_or(is_table, |format| format == PoseFormat::Argoverse2) {
        return read_table(&mut window, &options.limits);
    }
    let mut lines = Lines { window, numbers: Vec::with_capacity(MOST) };
    let mut poses = Poses::default();
    let mut format = options.format;
    while lines.advance()? {
        let format = match format {
            Some(format) => format,
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

/// The poses of the log of Argoverse 2 that a sweep, or the folder of its sweeps, belongs to: `city_SE3_egovehicle.feather` beside
/// `sensors/lidar`, if it is there.
///
/// ```
/// assert_eq!(pointmill_io::find_log_poses("missing/sensors/lidar/315966265259836000.feather"), None);
/// ```
pub fn find_log_poses(sweeps: impl AsRef<Path>) -> Option<PathBuf> {
    let folder = sweeps.as_ref().ancestors().take(2).find(|path| path.ends_with(LOG_SWEEPS))?;
    Some(folder.parent()?.parent()?.join(LOG_POSES)).filter(|path| path.is_file())
}

/// The time of a sweep of Argoverse 2 in seconds, from its name: a `.feather` file in a folder `sensors/lidar`, named by its nanoseconds.
///
/// ```
/// use pointmill_io::log_stamp;
/// assert_eq!(log_stamp("log/sensors/lidar/315966265259836000.feather"), Some(315_966_265.259_836));
/// assert_eq!(log_stamp("log/315966265259836000.feather"), None);
/// ```
pub fn log_stamp(sweep: impl AsRef<Path>) -> Option<f64> {
    log_stamp_ns(sweep).map(|nanoseconds| nanoseconds as f64 / 1e9)
}

/// The same in nanoseconds.
///
/// ```
/// use pointmill_io::log_stamp_ns;
/// assert_eq!(log_stamp_ns("log/sensors/lidar/315966265259836000.feather"), Some(315_966_265_259_836_000));
/// ```
pub fn log_stamp_ns(sweep: impl AsRef<Path>) -> Option<u64> {
    let sweep = sweep.as_ref();
    let is_sweep = Format::from_name(sweep) == Some(Format::Feather) && sweep.parent()?.ends_with(LOG_SWEEPS);
    sweep.file_stem()?.to_str()?.parse().ok().filter(|_| is_sweep)
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
            if line.trim_ascii_start().starts_with(b"#") {
                continue;
            }
            let words = line.split(|b| b.is_ascii_whitespace() || *b == b',').filter(|word| !word.is_empty());
            for word in words {
                let number = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                let number = number.ok_or_else(|| IoError::BadValue(self.detail("a number", excerpt(word))))?;
                if self.numbers.len() == MOST {
                    return Err(IoError::ShapeMismatch(self.detail(wanted(None), "more")));
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
        known.ok_or_else(|| IoError::ShapeMismatch(self.detail(wanted(None), numbers.to_string())))
    }

    /// Adds the pose of the numbers.
    fn push(&self, format: PoseFormat, to: &mut Poses, limits: &Limits) -> Result<(), IoError> {
        let numbers = &self.numbers[..];
        if numbers.len() != format.numbers() {
            return Err(IoError::ShapeMismatch(self.detail(wanted(Some(format)), numbers.len().to_string())));
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
        let part = |from: usize| [numbers[from], numbers[from + 1], numbers[from + 2]];
        let pose = match format {
            PoseFormat::Kitti | PoseFormat::Matrix => rows(format.numbers()),
            PoseFormat::Tum | PoseFormat::Argoverse2 => {
                Pose::from_quaternion(part(1), [numbers[4], numbers[5], numbers[6], numbers[7]])
            }
            PoseFormat::Xyzrpy => {
                let ([x, y, z], [roll, pitch, yaw]) = (part(0), part(3));
                Pose::from_xyzrpy([x, y, z, roll, pitch, yaw])
            }
        };
        let pose = pose.map_err(|e| IoError::BadValue(self.detail("a rigid transform", e.to_string())))?;
        let source = self.window.source();
        if format == PoseFormat::Tum {
            let times = to.times.get_or_insert_default();
            check_time(numbers[0], times.last().copied(), |wanted, found| self.detail(wanted, found))?;
            source.reserve(times, 1)?;
            times.push(numbers[0]);
        }
        source.reserve(&mut to.poses, 1)?;
        to.poses.push(pose);
        Ok(())
    }
}

/// How many numbers a line has.
fn wanted(format: Option<PoseFormat>) -> String {
    let one = |format: PoseFormat| format!("{} numbers ({format})", format.numbers());
    match format {
        Some(format) => one(format),
        // What is text is what is written.
        None => PoseFormat::written().map(one).collect::<Vec<_>>().join(" or "),
    }
}

/// Writes poses as a text file, whole or not at all (see [`write_whole`](crate::write_whole)).
///
/// **Order**: a line for each pose, in their order. Every number is the shortest decimal that reads back as the same `f64`. Matrices
/// ([`PoseFormat::Kitti`], [`PoseFormat::Matrix`]) read back with every bit; quaternions and angles are computed, so that the matrix of
/// what is read back may differ in its last bits.
///
/// # Errors
/// [`PoseFormat::Argoverse2`]; [`PoseFormat::Tum`] without times; another number of times than of poses, times that do not ascend; poses that are not rigid; what the
/// system refuses.
pub fn write_poses(to: impl Destination, poses: &Poses, format: PoseFormat) -> Result<(), IoError> {
    check(to.path(), poses, format)?;
    write_to(&to, |out| write_lines(out, poses, format))
}

/// Checks that what is written would be read.
fn check(path: &Path, Poses { poses, times }: &Poses, format: PoseFormat) -> Result<(), IoError> {
    let wrong = |field: &str, wanted: String, found: String| {
        Err(IoError::InvalidArgument(Detail::new(path, field, wanted, found)))
    };
    if !format.is_written() {
        let wanted = PoseFormat::written().map(PoseFormat::as_str).collect::<Vec<_>>().join(", ");
        return wrong("format", wanted, format.to_string());
    }
    if let Some(i) = poses.iter().position(|pose| !pose.is_rigid()) {
        return wrong("poses", "rigid transforms".into(), format!("another as pose {i}"));
    }
    if format != PoseFormat::Tum {
        return Ok(());
    }
    let times = times.as_deref().unwrap_or_default();
    if times.len() != poses.len() {
        return wrong("times", format!("{}, one for each pose", poses.len()), times.len().to_string());
    }
    let refused = |i: &usize| !times[*i].is_finite() || (*i > 0 && times[*i - 1] >= times[*i]);
    match (0..times.len()).find(refused) {
        Some(i) => wrong("times", "finite times that ascend".into(), format!("{} as time {i}", times[i])),
        None => Ok(()),
    }
}

fn write_lines(out: &mut BufWriter<std::fs::File>, poses: &Poses, format: PoseFormat) -> std::io::Result<()> {
    let mut line = String::new();
    for (i, pose) in poses.poses.iter().enumerate() {
        line.clear();
        let rows = pose.matrix();
        let [x, y, z] = pose.translation();
        let mut add = |numbers: &[f64]| {
            for number in numbers {
                let text = format!("{number:?}");
                line.push(' ');
                line.push_str(text.strip_suffix(".0").unwrap_or(&text));
            }
        };
        match format {
            PoseFormat::Kitti => add(rows[..3].as_flattened()),
            PoseFormat::Matrix => add(rows.as_flattened()),
            PoseFormat::Xyzrpy => add(&pose.xyzrpy()),
            PoseFormat::Tum | PoseFormat::Argoverse2 => {
                add(&[poses.times.as_ref().map_or(0.0, |times| times[i]), x, y, z]);
                add(&pose.quaternion());
            }
        }
        writeln!(out, "{}", line.trim_start())?;
    }
    Ok(())
}
