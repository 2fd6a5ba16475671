//! The trajectory of a run: the poses of its sweeps, the times of them, and their file.

use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::Pose;
use pointmill_io::{PoseFormat, Poses, write_poses, write_stamped_poses};
use std::path::Path;

/// The formats of trajectories.
pub const TRAJECTORIES: [&str; 2] = ["kitti", "tum"];
/// Nanoseconds that stamps differ by at least: files are read as `f64` of seconds, which since 1970 are 240 ns apart.
const LEAST_STEP: i64 = 1000;

/// The poses so far, one for each sweep that was begun.
#[derive(Debug, Default)]
pub struct Track {
    poses: Vec<Pose>,
    /// Seconds of each pose of the clock of the points, ascending.
    seconds: Vec<f64>,
    /// Nanoseconds of each pose of the clock of stamps, ascending; empty until a sweep has a stamp.
    stamps_ns: Vec<i64>,
}

/// When a pose was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Its seconds: of its stamp, where the run has stamps.
    pub seconds: f64,
    /// Whether its stamp does not come after the time before, so that it was not used.
    pub is_late: bool,
}

impl Track {
    /// Adds a pose at `seconds` of the clock of the points, which is after the last, and at the nanoseconds of its stamp, if it has one.
    ///
    /// Where a run has stamps, a pose without one, or with one that does not come after the time before, is as long after the pose before as their seconds say.
    pub fn push(&mut self, pose: Pose, seconds: f64, stamp_ns: Option<i64>) -> Moment {
        let since = |before: f64| ((seconds - before) * 1e9).round() as i64;
        let mut is_late = false;
        if let (Some(stamp), true) = (stamp_ns, self.stamps_ns.is_empty()) {
            self.stamps_ns.extend(self.seconds.iter().map(|before| stamp.saturating_sub(since(*before))));
            self.stamps_ns.push(stamp);
        } else if let (Some(last), Some(before)) = (self.stamps_ns.last().copied(), self.seconds.last()) {
            let next = stamp_ns.filter(|stamp| *stamp >= last.saturating_add(LEAST_STEP));
            is_late = stamp_ns.is_some() && next.is_none();
            self.stamps_ns.push(next.unwrap_or_else(|| last.saturating_add(since(*before).max(LEAST_STEP))));
        }
        self.poses.push(pose);
        self.seconds.push(seconds);
        Moment { seconds: self.stamps_ns.last().map_or(seconds, |stamp| *stamp as f64 / 1e9), is_late }
    }

    /// The poses.
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// The seconds of the last pose of the clock of the points.
    pub fn last_seconds(&self) -> Option<f64> {
        self.seconds.last().copied()
    }

    /// Writes the poses, with their times if the format has some.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn write(&self, out: &Path, format: &str) -> Result<(), Failure> {
        let write = || match format {
            "tum" if !self.stamps_ns.is_empty() => write_stamped_poses(out, &self.poses, &self.stamps_ns),
            _ => {
                let format = if format == "tum" { PoseFormat::Tum } else { PoseFormat::Kitti };
                write_poses(out, &Poses { poses: self.poses.clone(), times: Some(self.seconds.clone()) }, format)
            }
        };
        Ok(undivided(write)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pushed: &[(f64, Option<i64>)]) -> (Vec<bool>, String) {
        let mut track = Track::default();
        let late = pushed.iter().map(|(seconds, stamp)| track.push(Pose::IDENTITY, *seconds, *stamp).is_late).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poses.txt");
        track.write(&path, "tum").unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        (late, text.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn times_are_those_of_the_stamps() {
        let at = |ns: i64| Some(1_700_000_000_000_000_000 + ns);
        assert_eq!(told(&[(0.0, None), (0.1, None)]), (vec![false; 2], "0 0.1".into()));
        let stamped = told(&[(0.0, at(1)), (0.1, at(100_000_002)), (0.2, at(300_000_003))]);
        assert_eq!(stamped, (vec![false; 3], "1700000000.000000001 1700000000.100000002 1700000000.300000003".into()));
        // Sweeps without a stamp, at the beginning and amid, and stamps that run back or stand still.
        let mixed = told(&[(0.0, None), (0.1, at(0)), (0.2, None), (0.3, at(150_000_000)), (0.4, at(400_000_000))]);
        let wanted = "1699999999.9 1700000000 1700000000.1 1700000000.15 1700000000.4";
        assert_eq!(mixed, (vec![false; 5], wanted.into()));
        let back = told(&[(0.0, at(0)), (0.1, at(0)), (0.2, at(-1)), (0.3, at(500_000_000))]);
        let wanted = "1700000000 1700000000.1 1700000000.2 1700000000.5";
        assert_eq!(back, (vec![false, true, true, false], wanted.into()));
    }
}
