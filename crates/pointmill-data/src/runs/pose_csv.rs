//! Poses as a table with the fields of `nav_msgs/Odometry`, and what became of each.

use super::covariance::of_xyzrpy;
use pointmill::Pose;

/// Who moves where: the parent and the child frame of poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoseFrames {
    /// `odom` for odometry, `map` in a map.
    pub parent: &'static str,
    /// `sensor`, or `base_link` where the pose of the sensor on it is known.
    pub child: &'static str,
}

impl PoseFrames {
    /// Of a run whose poses are those of the vehicle, if the pose of the sensor on it is known.
    pub const fn new(parent: &'static str, sensor: Option<Pose>) -> Self {
        Self { parent, child: if sensor.is_some() { "base_link" } else { "sensor" } }
    }
}

impl Default for PoseFrames {
    fn default() -> Self {
        Self::new("odom", None)
    }
}

/// What is known of a pose beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseNote {
    /// What became of its input, by the name of the pipeline.
    pub status: &'static str,
    /// How sure it is: x, y, z of its origin in metres, then rotations about the fixed axes of the
    /// parent frame in radians.
    pub covariance: Option<[[f64; 6]; 6]>,
}

impl PoseNote {
    /// Of a pose that is fixed to one that was found, with the covariance of its x, y, z, roll,
    /// pitch, yaw.
    pub fn of_fix(status: &'static str, found: &Pose, covariance: Option<[[f64; 6]; 6]>, pose: &Pose) -> Self {
        Self { status, covariance: covariance.map(|known| of_xyzrpy(&known, found, pose.translation())) }
    }
}

/// The table: a header, and a line for each pose with its time as it is written.
///
/// The twist of a pose is the constant one in the child frame that leads to it from the pose
/// before; the first pose has none. Cells of what is not known are empty.
pub(super) fn table(frames: PoseFrames, poses: &[Pose], notes: &[PoseNote], times: &[(String, f64)]) -> String {
    let mut out = String::from("time,frame_id,child_frame_id");
    for (name, axes) in [("position", "xyz"), ("orientation", "xyzw"), ("linear", "xyz"), ("angular", "xyz")] {
        axes.chars().for_each(|axis| out.push_str(&format!(",{name}_{axis}")));
    }
    out.push_str(",status");
    (0..36).for_each(|i| out.push_str(&format!(",covariance_{i}")));
    out.push('\n');
    for (i, (pose, note)) in poses.iter().zip(notes).enumerate() {
        out.push_str(&format!("{},{},{}", times[i].0, frames.parent, frames.child));
        cells(&mut out, 7, Some(pose.translation().into_iter().chain(pose.quaternion())));
        let twist = i.checked_sub(1).map(|before| {
            let seconds = times[i].1 - times[before].1;
            poses[before].inverse().compose(pose).log().map(|part| part / seconds)
        });
        cells(&mut out, 6, twist.filter(|twist| twist.iter().all(|part| part.is_finite())));
        out.push_str(&format!(",{}", note.status));
        cells(&mut out, 36, note.covariance.map(|rows| rows.into_iter().flatten()));
        out.push('\n');
    }
    out
}

/// So many cells: numbers that read back as the same `f64`, or none.
fn cells(out: &mut String, count: usize, numbers: Option<impl IntoIterator<Item = f64>>) {
    match numbers {
        None => out.extend(std::iter::repeat_n(',', count)),
        Some(numbers) => numbers.into_iter().for_each(|x| out.push_str(&format!(",{x}"))),
    }
}
