//! Where the sensor is on the vehicle.

use super::parse_places;
use crate::failure::Failure;
use crate::inputs::Source;
use clap::Args;
use pointmill::Pose;

/// The pose of the sensor on the vehicle.
#[derive(Clone, Debug, Args)]
pub struct SensorArgs {
    /// Pose of the sensor on the vehicle in metres and radians, with the angles of URDF: roll, then
    /// pitch, then yaw about fixed axes. Or a frame such as `base_link`, if the inputs are clouds of
    /// a bag whose static transforms (`/tf_static`) lead there. Poses are then those of the vehicle
    #[arg(
        long = "sensor-pose",
        value_name = "X,Y,Z,ROLL,PITCH,YAW|FRAME",
        allow_hyphen_values = true,
        value_parser = parse_sensor_pose
    )]
    sensor: Option<SensorPose>,
}

/// A pose, or the frame whose static transforms tell it.
#[derive(Clone, Debug)]
enum SensorPose {
    Given(Pose),
    Of(String),
}

impl SensorArgs {
    /// Checks that a pose comes with poses of the vehicle, for commands that take them.
    pub fn require_poses(&self, are_given: bool) -> Result<(), Failure> {
        match self.sensor {
            Some(_) if !are_given => Err(Failure::Usage("--sensor-pose: needs --poses of the vehicle".into())),
            _ => Ok(()),
        }
    }

    /// The pose, if it is asked for: of a frame that of the first cloud in it.
    pub fn pose(&self, sources: &[Source]) -> Result<Option<Pose>, Failure> {
        let frame = match &self.sensor {
            None => return Ok(None),
            Some(SensorPose::Given(pose)) => return Ok(Some(*pose)),
            Some(SensorPose::Of(frame)) => frame,
        };
        let Some(cloud) =
            sources.iter().find_map(|source| if let Source::Cloud(cloud) = source { Some(cloud) } else { None })
        else {
            let wanted = "expected X,Y,Z,ROLL,PITCH,YAW, as no input is a cloud of a bag";
            return Err(Failure::Usage(format!("--sensor-pose {frame}: {wanted}")));
        };
        let pose = cloud.pose_in(frame);
        pose.map(Some).map_err(|e| Failure::Usage(format!("--sensor-pose {frame}: {e}")))
    }
}

fn parse_sensor_pose(text: &str) -> Result<SensorPose, String> {
    if text.starts_with(|c: char| c.is_alphabetic() || "/_".contains(c)) && !text.contains(',') {
        return Ok(SensorPose::Of(text.into()));
    }
    let numbers = parse_places(text).map_err(|e| format!("{e}: X,Y,Z,ROLL,PITCH,YAW, or the name of a frame"))?;
    let pose = Pose::from_urdf(numbers).map_err(|e| format!("expected {}, got {e}", e.expected()))?;
    Ok(SensorPose::Given(pose))
}
