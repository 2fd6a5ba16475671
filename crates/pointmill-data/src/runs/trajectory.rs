//! The trajectory of a run: the poses of its inputs, when they are, and their file.

use super::pose_csv::{PoseFrames, PoseNote, table};
use pointmill::Pose;
use pointmill_core::names;
use pointmill_io::{
    Destination, IoError, PoseFormat, Poses, decimal_seconds, pose_bytes, stamped_pose_bytes, write_whole,
};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// Nanoseconds that stamps differ by at least: files are read as `f64` of seconds, which since 1970
/// are 240 ns apart.
const LEAST_STEP: i64 = 1000;
/// Seconds from scan to scan where there are neither stamps nor a clock of the points.
const PERIOD: f64 = 0.1;

/// The format of the file of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrajectoryFormat {
    /// The upper 12 numbers of each matrix.
    Kitti,
    /// Time in seconds, translation and quaternion.
    Tum,
    /// A table with a header: the fields of `nav_msgs/Odometry`, and the status of each pose.
    Csv,
}

names!(TrajectoryFormat { Kitti = "kitti", Tum = "tum", Csv = "csv" });

impl TrajectoryFormat {
    /// The ending of the names of its files.
    pub const fn extension(self) -> &'static str {
        if matches!(self, Self::Csv) { "csv" } else { "txt" }
    }
}

/// The poses of a run so far, one for each input that was begun.
#[derive(Clone, Debug, Default)]
pub struct Trajectory {
    poses: Vec<Pose>,
    notes: Vec<PoseNote>,
    frames: PoseFrames,
    /// Seconds of each pose by the clock of the points, ascending.
    seconds: Vec<f64>,
    /// Nanoseconds of each pose by the clock of stamps, ascending; empty until an input has a
    /// stamp.
    stamps_ns: Vec<i64>,
}

/// A pose that was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added {
    /// Its seconds: of its stamp, where the run has stamps.
    pub seconds: f64,
    /// Metres since the pose before.
    pub moved: f64,
    /// Whether its stamp does not come after the time before, so that it was not used.
    pub is_late: bool,
}

impl Trajectory {
    /// No poses so far, of these frames.
    pub fn new(frames: PoseFrames) -> Self {
        Self { frames, ..Self::default() }
    }

    /// Adds a pose at `seconds` of the clock of the points, which is after the last, and at the
    /// nanoseconds of its stamp, if it has one.
    ///
    /// Where a run has stamps, a pose without one, or with one that does not come after the time
    /// before, is as long after the pose before as their seconds say.
    pub(super) fn push(&mut self, pose: Pose, note: PoseNote, seconds: f64, stamp_ns: Option<i64>) -> Added {
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
        let moved = self.poses.last().map_or(0.0, |last| distance(last, &pose));
        self.poses.push(pose);
        self.notes.push(note);
        self.seconds.push(seconds);
        Added { seconds: self.stamps_ns.last().map_or(seconds, |stamp| *stamp as f64 / 1e9), moved, is_late }
    }

    /// Adds a pose, at the nanoseconds of its stamp if it has one. Without stamps it is 0.1 s after
    /// the one before.
    pub fn push_scan(&mut self, pose: Pose, note: PoseNote, stamp_ns: Option<i64>) -> Added {
        self.push(pose, note, self.seconds.last().map_or(0.0, |last| last + PERIOD), stamp_ns)
    }

    /// Adds what a longer trajectory has after the poses that both have.
    pub fn follow(&mut self, longer: &Self) {
        self.frames = longer.frames;
        self.poses.extend_from_slice(&longer.poses[self.poses.len()..]);
        self.notes.extend_from_slice(&longer.notes[self.notes.len()..]);
        self.seconds.extend_from_slice(&longer.seconds[self.seconds.len()..]);
        self.stamps_ns.extend_from_slice(&longer.stamps_ns[self.stamps_ns.len()..]);
    }

    /// The poses.
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// The last pose.
    pub fn last(&self) -> Option<Pose> {
        self.poses.last().copied()
    }

    /// Metres along all poses.
    pub fn length(&self) -> f64 {
        // A sum of nothing is negative zero.
        self.poses.windows(2).map(|pair| distance(&pair[0], &pair[1])).fold(0.0, |sum, by| sum + by)
    }

    /// The seconds of the last pose by the clock of the points.
    pub(super) fn last_seconds(&self) -> Option<f64> {
        self.seconds.last().copied()
    }

    /// Writes the poses, with their times if the format has some. Returns the SHA-256 of the file,
    /// in hexadecimal digits.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn write(&self, to: impl Destination, format: TrajectoryFormat) -> Result<String, IoError> {
        let bytes = self.bytes(to.path(), format)?;
        write_whole(to, |out| out.write_all(&bytes))?;
        Ok(sha256(&bytes))
    }

    /// The bytes of the file that [`write`](Self::write) writes.
    ///
    /// # Errors
    /// Poses that are not rigid.
    pub fn bytes(&self, path: &Path, format: TrajectoryFormat) -> Result<Vec<u8>, IoError> {
        let poses = || Poses { poses: self.poses.clone(), times: Some(self.seconds.clone()), ..Poses::default() };
        match format {
            TrajectoryFormat::Kitti => pose_bytes(path, &poses(), PoseFormat::Kitti),
            TrajectoryFormat::Tum if self.stamps_ns.is_empty() => pose_bytes(path, &poses(), PoseFormat::Tum),
            TrajectoryFormat::Tum => stamped_pose_bytes(path, &self.poses, &self.stamps_ns),
            TrajectoryFormat::Csv => {
                let times = self.seconds.iter().enumerate().map(|(i, seconds)| match self.stamps_ns.get(i) {
                    Some(ns) => (decimal_seconds(*ns), (ns - self.stamps_ns[0]) as f64 / 1e9),
                    None => (seconds.to_string(), *seconds),
                });
                Ok(table(self.frames, &self.poses, &self.notes, &times.collect::<Vec<_>>()).into_bytes())
            }
        }
    }
}

/// The SHA-256 of the bytes of a file, in hexadecimal digits.
///
/// ```
/// assert!(pointmill_data::runs::sha256(b"abc").starts_with("ba7816bf"));
/// ```
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Metres between two poses.
fn distance(a: &Pose, b: &Pose) -> f64 {
    let by = a.inverse().compose(b).translation();
    by.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pushed: &[(f64, Option<i64>)]) -> (Vec<bool>, String) {
        let mut trajectory = Trajectory::default();
        let late = |(seconds, stamp): &(f64, Option<i64>)| {
            trajectory.push(Pose::IDENTITY, PoseNote::default(), *seconds, *stamp).is_late
        };
        let late = pushed.iter().map(late).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poses.txt");
        let sha256 = trajectory.write(&path, TrajectoryFormat::Tum).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sha256, digest);
        (late, text.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn times_are_those_of_the_stamps() {
        let at = |ns: i64| Some(1_700_000_000_000_000_000 + ns);
        assert_eq!(written(&[(0.0, None), (0.1, None)]), (vec![false; 2], "0 0.1".into()));
        let stamped = written(&[(0.0, at(1)), (0.1, at(100_000_002)), (0.2, at(300_000_003))]);
        assert_eq!(stamped, (vec![false; 3], "1700000000.000000001 1700000000.100000002 1700000000.300000003".into()));
        // Sweeps without a stamp, at the beginning and amid, and stamps that run back or stand
        // still.
        let mixed = written(&[(0.0, None), (0.1, at(0)), (0.2, None), (0.3, at(150_000_000)), (0.4, at(400_000_000))]);
        let wanted = "1699999999.9 1700000000 1700000000.1 1700000000.15 1700000000.4";
        assert_eq!(mixed, (vec![false; 5], wanted.into()));
        let back = written(&[(0.0, at(0)), (0.1, at(0)), (0.2, at(-1)), (0.3, at(500_000_000))]);
        let wanted = "1700000000 1700000000.1 1700000000.2 1700000000.5";
        assert_eq!(back, (vec![false, true, true, false], wanted.into()));
    }
}
