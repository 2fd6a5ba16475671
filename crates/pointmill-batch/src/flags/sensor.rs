//! Where the sensor is on the vehicle.

use super::parse_places;
use clap::Args;
use pointmill::Pose;

/// The pose of the sensor on the vehicle.
#[derive(Clone, Copy, Debug, Args)]
pub struct SensorArgs {
    /// Pose of the sensor on the vehicle (`base_link`) in metres and radians, with the angles of URDF:
    /// roll, then pitch, then yaw about fixed axes. Poses are then those of the vehicle
    #[arg(
        long = "sensor-pose",
        value_name = "X,Y,Z,ROLL,PITCH,YAW",
        allow_hyphen_values = true,
        value_parser = parse_sensor_pose
    )]
    pub pose: Option<Pose>,
}

fn parse_sensor_pose(text: &str) -> Result<Pose, String> {
    let numbers = parse_places(text).map_err(|e| format!("{e}: X,Y,Z,ROLL,PITCH,YAW"))?;
    Pose::from_urdf(numbers).map_err(|e| format!("expected {}, got {e}", e.expected()))
}
