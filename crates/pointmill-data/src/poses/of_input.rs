//! Which pose of a file belongs to which input.

use pointmill_io::bag::TimeOrigin;
use pointmill_io::{Detail, IoError, Poses, Times};
use std::path::Path;

/// How far a stamp may be from the time of its pose, in seconds: files of poses round times.
const STAMP_TOLERANCE: f64 = 1e-3;

/// The number of the pose of an input: with a stamp in seconds, and if the poses have times, the
/// nearest one, which is at most a millisecond away; else the pose of the input's number. `path`
/// names the poses in errors.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_data::poses::pose_of;
/// use pointmill_io::Poses;
/// let poses = Poses { poses: vec![Pose::IDENTITY; 3], times: Some(vec![0.0, 0.1, 0.2]), ..Poses::default() };
/// assert_eq!((pose_of(&poses, "a.txt", 0, Some(0.2001))?, pose_of(&poses, "a.txt", 1, None)?), (2, 1));
/// let error = pose_of(&poses, "a.txt", 3, None).unwrap_err();
/// assert_eq!(error.to_string(), "a.txt: poses: expected a pose for input 3 (from 0), got 3 poses");
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
///
/// # Errors
/// An input without a pose.
pub fn pose_of(poses: &Poses, path: impl AsRef<Path>, index: usize, stamp: Option<f64>) -> Result<usize, IoError> {
    let (found, wanted) = match (stamp, &poses.times) {
        (Some(stamp), Some(times)) => {
            let wanted = format!("a pose within {STAMP_TOLERANCE} s of the stamp {stamp:.6}");
            (nearest(times, stamp, STAMP_TOLERANCE), wanted)
        }
        _ => (Some(index), format!("a pose for input {index} (from 0)")),
    };
    found.filter(|i| *i < poses.poses.len()).ok_or_else(|| {
        let found = format!("{} poses", poses.poses.len());
        IoError::MissingField(Detail::new(path.as_ref(), "poses", wanted, found))
    })
}

/// The same of a sweep whose points have times: the pose of its stamp, else the one nearest to the
/// middle of its times, which poses of `pointmill odometry` belong to. Points out of range may move
/// that middle by a twentieth of the sweep.
///
/// # Errors
/// As [`pose_of`].
pub fn pose_of_sweep(
    poses: &Poses,
    path: impl AsRef<Path>,
    index: usize,
    stamp: Option<f64>,
    times: Option<&Times>,
) -> Result<usize, IoError> {
    let found = pose_of(poses, &path, index, stamp);
    let (Err(_), Some(stamp), Some(times), Some(of_poses)) = (&found, stamp, times, &poses.times) else {
        return found;
    };
    let start = if TimeOrigin::of(times) == TimeOrigin::Epoch { times.start } else { stamp + times.start };
    let near = nearest(of_poses, start + 0.5 * times.span(), 0.05 * times.span());
    near.filter(|i| *i < poses.poses.len()).map_or(found, Ok)
}

/// The number of the nearest of ascending times, of two equally near ones the earlier; `None` if it
/// is too far.
fn nearest(times: &[f64], stamp: f64, within: f64) -> Option<usize> {
    let after = times.partition_point(|time| *time < stamp);
    let away = |i: &usize| (times[*i] - stamp).abs();
    let near = [after.checked_sub(1), Some(after).filter(|i| *i < times.len())].into_iter().flatten();
    near.filter(|i| away(i) <= within).min_by(|a, b| away(a).total_cmp(&away(b)))
}
