//! Points of a sensor that moves, each moved by the pose of its own time.

use super::of_input::pose_of_sweep;
use pointmill_core::Pose;
use pointmill_io::bag::TimeOrigin;
use pointmill_io::{Detail, IoError, Poses, Times};
use std::path::Path;

/// x, y, z of the points of a sweep in the frame of the poses, `[N, 3]` row-major: each point is
/// moved by the pose of its own time.
///
/// Between two poses the sensor moves and turns at constant speed, before the first and after the
/// last one as beside them. A point without a time becomes NaN.
///
/// **Clock**: times from 1e9 s on count from 1970, as the times of the poses then do. Other times
/// count from `stamp`, if there is one. Without a stamp the middle of the sweep has the time of the
/// pose of `index`, as `pointmill odometry` writes poses. `path` names the poses in errors.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_data::poses::deskew;
/// use pointmill_io::{Poses, Times};
/// let at = |x| Pose::exp(&[x, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// let poses = Poses { poses: vec![at(0.0), at(1.0)], times: Some(vec![7.0, 7.1]), ..Poses::default() };
/// let times = Times::new(0.0, vec![0.0, 0.05, 0.1]);
/// let moved = deskew(&poses, "poses.txt", [[5.0, 0.0, 0.0]; 3], &times, 1, None)?;
/// assert!([5.5, 6.0, 6.5].iter().enumerate().all(|(i, x)| (moved[3 * i] - x).abs() < 1e-9));
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
///
/// # Errors
/// Fewer than two poses with times, a sweep without a pose, a number of times that is not that of
/// the points, a sweep that is farther from the times of the poses than it is long, memory that is
/// refused.
pub fn deskew(
    poses: &Poses,
    path: impl AsRef<Path>,
    xyz: impl IntoIterator<Item = [f64; 3], IntoIter: ExactSizeIterator>,
    times: &Times,
    index: usize,
    stamp: Option<f64>,
) -> Result<Vec<f64>, IoError> {
    let (path, xyz) = (path.as_ref(), xyz.into_iter());
    let wrong = |wanted: String, found: String| IoError::MissingField(Detail::new(path, "times", wanted, found));
    let Some(of_poses) = poses.times.as_ref().filter(|times| times.len() == poses.poses.len() && times.len() > 1)
    else {
        let with = if poses.times.is_some() { "with" } else { "without" };
        return Err(wrong("two poses with times, or more".into(), format!("{} {with} times", poses.poses.len())));
    };
    if times.seconds.len() != xyz.len() {
        return Err(wrong(format!("{} times, one for each point", xyz.len()), times.seconds.len().to_string()));
    }
    let own = pose_of_sweep(poses, path, index, stamp, Some(times))?;
    let span = times.span();
    let start = match (TimeOrigin::of(times), stamp) {
        (TimeOrigin::Epoch, _) => times.start,
        (TimeOrigin::Stamp, Some(stamp)) => stamp + times.start,
        (TimeOrigin::Stamp, None) => of_poses[own] - 0.5 * span,
    };
    let (first, last) = (of_poses[0], of_poses[of_poses.len() - 1]);
    if !(start + span >= first - span && start <= last + span) {
        let wanted = format!("poses of the times {start:.6} to {:.6} s", start + span);
        return Err(wrong(wanted, format!("{first:.6} to {last:.6} s")));
    }
    let mut way = Way { poses: &poses.poses, times: of_poses, number: usize::MAX, twist: [0.0; 6] };
    // Points of one firing have one time.
    let mut known = (f64::NAN, Pose::IDENTITY);
    let mut moved = Vec::new();
    moved.try_reserve_exact(3 * xyz.len()).map_err(|_| {
        let bytes = size_of::<[f64; 3]>() * xyz.len();
        IoError::OutOfMemory(Detail::new(path, "memory", format!("{bytes} bytes"), "a refusal"))
    })?;
    for (point, &after) in xyz.zip(&times.seconds) {
        if after != known.0 {
            known = (after, way.at(start + after));
        }
        moved.extend(if after.is_finite() { known.1.apply(point) } else { [f64::NAN; 3] });
    }
    Ok(moved)
}

/// The way along poses, with the part of it that was asked for last.
struct Way<'a> {
    poses: &'a [Pose],
    times: &'a [f64],
    /// The pose before the last time, and the motion from it to the next pose.
    number: usize,
    twist: [f64; 6],
}

impl Way<'_> {
    /// The pose at a time.
    fn at(&mut self, time: f64) -> Pose {
        let number = self.times.partition_point(|known| *known <= time).clamp(1, self.times.len() - 1) - 1;
        let [before, after] = [number, number + 1].map(|i| &self.poses[i]);
        if self.number != number {
            (self.number, self.twist) = (number, before.inverse().compose(after).log());
        }
        let part = (time - self.times[number]) / (self.times[number + 1] - self.times[number]);
        before.compose(&Pose::exp(&self.twist.map(|x| part * x)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWIST: [f64; 6] = [10.0, -0.5, 0.1, 0.02, -0.05, 0.6];

    /// Where the sensor is at a time.
    fn sensor(time: f64) -> Pose {
        Pose::from_xyzrpy([3.0, 4e4, 1.0, 0.0, 0.0, 2.0]).unwrap().compose(&Pose::exp(&TWIST.map(|x| x * time)))
    }

    /// Points that stand still, seen by a sensor that moves, `[t, p]`; and where they stand.
    fn seen(times: impl Iterator<Item = f64>) -> (Vec<[f64; 3]>, Vec<f64>, Vec<f64>) {
        let (mut points, mut seconds, mut world) = (Vec::new(), Vec::new(), Vec::new());
        for (i, time) in times.enumerate() {
            let stands = [20.0 - i as f64, 4e4 + 3.0 * i as f64, 0.5];
            points.push(sensor(time).inverse().apply(stands));
            seconds.push(time);
            world.extend(stands);
        }
        (points, seconds, world)
    }

    fn near(found: &[f64], wanted: &[f64], within: f64) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < within), "{found:?} {wanted:?}");
    }

    /// A sweep before, over and after the poses, in each of the three clocks.
    #[test]
    fn points_stand_where_they_stood_whatever_the_clock() {
        let at: Vec<f64> = [0.0, 0.08, 0.2, 0.3].into();
        let of = |zero: f64| Poses {
            poses: at.iter().map(|t| sensor(*t)).collect(),
            times: Some(at.iter().map(|t| zero + t).collect()),
            ..Poses::default()
        };
        for (index, begin) in [-0.05, 0.03, 0.15, 0.25].into_iter().enumerate() {
            let (points, seconds, world) = seen((0..21).map(|i| begin + f64::from(i) * 0.005));
            let after: Vec<f64> = seconds.iter().map(|t| t - begin).collect();
            let epoch = deskew(&of(1.7e9), "p", points.clone(), &Times::new(1.7e9 + begin, after.clone()), index, None)
                .unwrap();
            near(&epoch, &world, 2e-5);
            let stamped = of(1.7e9);
            let stamp = 1.7e9 + at[index];
            let found =
                deskew(&stamped, "p", points.clone(), &Times::new(begin - at[index], after.clone()), 9, Some(stamp));
            near(&found.unwrap(), &world, 2e-5);
            if begin + 0.05 == at[index] {
                let middle = deskew(&of(5.0), "p", points.clone(), &Times::new(100.0, after), index, None).unwrap();
                near(&middle, &world, 1e-8);
            }
        }
    }

    #[test]
    fn what_has_no_time_or_no_pose_is_nan_or_an_error() {
        let poses = |times| Poses { poses: vec![Pose::IDENTITY; 2], times, ..Poses::default() };
        let with = poses(Some(vec![2e9, 2e9 + 0.1]));
        let of = |start: f64| Times::new(start, vec![0.0, f64::NAN, 0.1]);
        let points = [[1.0, 2.0, 3.0]; 3];
        let found = deskew(&with, "p", points, &of(2e9 - 0.19), 0, None).unwrap();
        assert!(found[0] == 1.0 && found[3..6].iter().all(|x| x.is_nan()) && found[8] == 3.0);
        let told = |poses: &Poses, times: &Times, index, stamp| {
            deskew(poses, "p", points, times, index, stamp).unwrap_err().to_string()
        };
        for far in [2e9 - 0.21, 2e9 + 0.21, f64::NAN] {
            let told = told(&with, &of(far), 0, Some(2e9));
            assert!(told.starts_with("p: times: expected poses of the times") || far.is_nan(), "{told}");
        }
        let none = told(&poses(None), &of(0.0), 0, None);
        assert_eq!(none, "p: times: expected two poses with times, or more, got 2 without times");
        assert!(
            told(&with, &Times::new(0.0, vec![0.0]), 0, None).contains("expected 3 times, one for each point, got 1")
        );
        assert!(told(&with, &of(0.0), 2, None).contains("expected a pose for input 2"));
    }
}
