//! Writes poses.

use super::{PoseFormat, Poses};
use crate::error::{Detail, IoError};
use crate::files::Destination;
use crate::files::write_to;
use pointmill_core::Pose;
use std::io::Write;
use std::path::Path;

/// Writes poses as a text file, whole or not at all (see [`write_whole`](crate::write_whole)).
///
/// **Order**: a line for each pose, in their order. Every number is the shortest decimal that reads
/// back as the same `f64`. Matrices ([`PoseFormat::Kitti`], [`PoseFormat::Matrix`]) read back with
/// every bit; quaternions and angles are computed, so that the matrix of what is read back may
/// differ in its last bits.
///
/// # Errors
/// A format that is not written; [`PoseFormat::Tum`] without times; another number of times than of
/// poses, times that do not ascend; poses that are not rigid; what the system refuses.
pub fn write_poses(to: impl Destination, poses: &Poses, format: PoseFormat) -> Result<(), IoError> {
    check(to.path(), poses, format)?;
    write_to(&to, |out| write_lines(out, &poses.poses, format, time_of(poses)))
}

/// The bytes of the file that [`write_poses`] writes; `name` stands for it in errors.
///
/// # Errors
/// As [`write_poses`].
pub fn pose_bytes(name: impl AsRef<Path>, poses: &Poses, format: PoseFormat) -> Result<Vec<u8>, IoError> {
    check(name.as_ref(), poses, format)?;
    let mut out = Vec::new();
    write_lines(&mut out, &poses.poses, format, time_of(poses)).map_err(IoError::io(name.as_ref(), "write"))?;
    Ok(out)
}

/// The time of each pose in seconds, for people.
fn time_of(poses: &Poses) -> impl Fn(usize) -> String {
    |i| number(poses.times.as_ref().map_or(0.0, |times| times[i]))
}

/// Writes poses as [`PoseFormat::Tum`] with times of whole nanoseconds, of which none is lost: an
/// `f64` of seconds since 1970 holds 240 ns.
///
/// ```
/// use pointmill_core::Pose;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-stamped.txt", std::process::id()));
/// pointmill_io::write_stamped_poses(&path, &[Pose::IDENTITY], &[1_700_000_000_123_456_789])?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "1700000000.123456789 0 0 0 0 0 0 1\n");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
///
/// # Errors
/// As [`write_poses`]; stamps so near to each other that they would be read as one.
pub fn write_stamped_poses(to: impl Destination, poses: &[Pose], stamps_ns: &[i64]) -> Result<(), IoError> {
    check_stamped(to.path(), poses, stamps_ns)?;
    write_to(&to, |out| write_lines(out, poses, PoseFormat::Tum, |i| decimal_seconds(stamps_ns[i])))
}

/// The bytes of the file that [`write_stamped_poses`] writes; `name` stands for it in errors.
///
/// # Errors
/// As [`write_stamped_poses`].
pub fn stamped_pose_bytes(name: impl AsRef<Path>, poses: &[Pose], stamps_ns: &[i64]) -> Result<Vec<u8>, IoError> {
    check_stamped(name.as_ref(), poses, stamps_ns)?;
    let mut out = Vec::new();
    let done = write_lines(&mut out, poses, PoseFormat::Tum, |i| decimal_seconds(stamps_ns[i]));
    done.map_err(IoError::io(name.as_ref(), "write"))?;
    Ok(out)
}

/// Checks poses with stamps, as they would be read.
fn check_stamped(path: &Path, poses: &[Pose], stamps_ns: &[i64]) -> Result<(), IoError> {
    check_poses(path, poses)?;
    let read = stamps_ns.iter().map(|stamp| decimal_seconds(*stamp).parse().unwrap_or(f64::NAN)).collect::<Vec<_>>();
    check_times(path, poses.len(), &read)
}

/// Nanoseconds as a decimal of seconds, of which none is lost.
pub fn decimal_seconds(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// The shortest decimal that reads back as the number.
fn number(number: f64) -> String {
    let mut text = format!("{number:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// Checks that what is written would be read.
fn check(path: &Path, of: &Poses, format: PoseFormat) -> Result<(), IoError> {
    let Poses { poses, times, positions_only, .. } = of;
    if !format.is_written() {
        let wanted = PoseFormat::written().map(PoseFormat::as_str).collect::<Vec<_>>().join(", ");
        return Err(IoError::InvalidArgument(Detail::new(path, "format", wanted, format.to_string())));
    }
    if *positions_only {
        return Err(IoError::InvalidArgument(Detail::new(path, "poses", "poses with rotations", "positions alone")));
    }
    check_poses(path, poses)?;
    if format == PoseFormat::Tum {
        check_times(path, poses.len(), times.as_deref().unwrap_or_default())?;
    }
    Ok(())
}

fn check_poses(path: &Path, poses: &[Pose]) -> Result<(), IoError> {
    poses.iter().position(|pose| !pose.is_rigid()).map_or(Ok(()), |i| {
        let found = format!("another as pose {i}");
        Err(IoError::InvalidArgument(Detail::new(path, "poses", "rigid transforms", found)))
    })
}

/// Checks the times of so many poses.
fn check_times(path: &Path, poses: usize, times: &[f64]) -> Result<(), IoError> {
    let wrong =
        |wanted: String, found: String| Err(IoError::InvalidArgument(Detail::new(path, "times", wanted, found)));
    if times.len() != poses {
        return wrong(format!("{poses}, one for each pose"), times.len().to_string());
    }
    let refused = |i: &usize| !times[*i].is_finite() || (*i > 0 && times[*i - 1] >= times[*i]);
    match (0..times.len()).find(refused) {
        Some(i) => wrong("finite times that ascend".into(), format!("{} as time {i}", times[i])),
        None => Ok(()),
    }
}

fn write_lines(
    out: &mut impl Write,
    poses: &[Pose],
    format: PoseFormat,
    time: impl Fn(usize) -> String,
) -> std::io::Result<()> {
    let mut line = String::new();
    for (i, pose) in poses.iter().enumerate() {
        line.clear();
        let rows = pose.matrix();
        let mut add = |numbers: &[f64]| {
            for x in numbers {
                line.push(' ');
                line.push_str(&number(*x));
            }
        };
        match format {
            PoseFormat::Kitti => add(rows[..3].as_flattened()),
            PoseFormat::Matrix => add(rows.as_flattened()),
            PoseFormat::Xyzrpy => add(&pose.xyzrpy()),
            PoseFormat::Tum | PoseFormat::Euroc | PoseFormat::Argoverse2 => {
                add(&pose.translation());
                add(&pose.quaternion());
                line.insert_str(0, &time(i));
            }
        }
        writeln!(out, "{}", line.trim_start())?;
    }
    Ok(())
}
