//! Poses as they come, and what becomes of their times at the end.

use super::columns::Columns;
use super::{PoseWarning, Poses};
use crate::error::IoError;
use crate::fault::fault;
use crate::source::Source;
use pointmill_core::Pose;
use pointmill_core::rigid::{NotRigid, TOLERANCE};

/// How far the length of a quaternion may be from one: what rounding to one digit makes of it.
const FARTHEST: f64 = 0.1;

/// The poses of the lines read so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) poses: Vec<Pose>,
    /// The time of each as the file has it.
    times: Option<Vec<f64>>,
    /// Quaternions that were scaled, and the length farthest from one.
    scaled: usize,
    length: f64,
}

impl Draft {
    /// The pose of a translation and a quaternion of few digits perhaps.
    pub(super) fn pose(&mut self, translation: [f64; 3], quaternion: [f64; 4]) -> Result<Pose, NotRigid> {
        let made = Pose::from_quaternion(translation, quaternion);
        let Err(NotRigid::Quaternion(length)) = made else { return made };
        if !((length - 1.0).abs() > TOLERANCE && (length - 1.0).abs() <= FARTHEST) {
            return made;
        }
        self.scaled += 1;
        if self.scaled == 1 || (length - 1.0).abs() > (self.length - 1.0).abs() {
            self.length = length;
        }
        Pose::from_quaternion(translation, quaternion.map(|part| part / length))
    }

    /// Adds a pose with its time, if the file has times.
    pub(super) fn push(&mut self, source: &Source<'_>, pose: Pose, time: Option<f64>) -> Result<(), IoError> {
        if let Some(time) = time {
            let times = self.times.get_or_insert_default();
            source.reserve(times, 1)?;
            times.push(time);
        }
        source.reserve(&mut self.poses, 1)?;
        self.poses.push(pose);
        Ok(())
    }

    /// Brings times to seconds that ascend.
    pub(super) fn finish(self, source: &Source<'_>, columns: &Columns) -> Result<Poses, IoError> {
        let mut warnings = vec![];
        if columns.rotation.is_none() && !self.poses.is_empty() {
            warnings.push(PoseWarning::PositionsOnly);
        }
        if self.scaled > 0 {
            warnings.push(PoseWarning::Normalized { count: self.scaled, length: self.length });
        }
        let mut out =
            Poses { poses: self.poses, times: self.times, warnings, positions_only: columns.rotation.is_none() };
        let Poses { poses, times: Some(times), warnings, .. } = &mut out else { return Ok(out) };
        let (per_second, told) = columns.per_second(times).map_err(|at| {
            let wanted = "times of seconds up to 1e11 or of nanoseconds with 18 or 19 digits, or the unit behind the \
                time in the header, such as timestamp [us]";
            fault!(source, BadValue, "pose {at}: time", wanted, times[at])
        })?;
        warnings.extend(told);
        times.iter_mut().for_each(|time| *time /= per_second);
        let count = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        if count > 0 {
            sort(source, poses, times)?;
            warnings.push(PoseWarning::Sorted { count });
        }
        if let Some(first) = times.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]) {
            let before = times.len();
            let mut is_kept = {
                let mut last = None;
                let times = &times[..];
                (0..before).map(move |at| last.replace(times[at]) != Some(times[at]))
            };
            poses.retain(|_| is_kept.next().unwrap_or(true));
            times.dedup();
            warnings.push(PoseWarning::EqualTimes { count: before - times.len(), first });
        }
        Ok(out)
    }
}

/// Sorts poses by time; those of one time stay in their order.
fn sort(source: &Source<'_>, poses: &mut Vec<Pose>, times: &mut Vec<f64>) -> Result<(), IoError> {
    let mut order: Vec<usize> = source.room(times.len())?;
    order.extend(0..times.len());
    // Equal places do not exist, so this is the stable order without its memory.
    order.sort_unstable_by(|&a, &b| times[a].total_cmp(&times[b]).then(a.cmp(&b)));
    let (mut sorted_poses, mut sorted_times) = (source.room(poses.len())?, source.room(times.len())?);
    sorted_poses.extend(order.iter().map(|&at| poses[at]));
    sorted_times.extend(order.iter().map(|&at| times[at]));
    (*poses, *times) = (sorted_poses, sorted_times);
    Ok(())
}
