//! Odometry: a trajectory from sweeps alone.
//!
//! [`Odometry::push`] takes one sweep after the other and returns the pose of the sensor. Each sweep
//! is thinned out, aligned with a map of the sweeps before it, and added to the map. A sweep that
//! does not fit where the motion before takes it is looked for around, then where the sensor was
//! before. A pose comes with its doubt: a status, the share of the points that the map explains, the
//! number of directions that the surfaces determine, and a covariance.
//!
//! **Units and frames**: metres, radians, seconds. `world_from_sensor` takes points of the sensor's
//! frame to the world, which is the sensor's frame at the first pose.
//!
//! **Times of points**: without them a sweep is taken as it is. With them the motion within the
//! sweep is taken out ([`OdometryParams::deskew`]), and the pose belongs to the middle of the
//! times. They may be in any order, of one clock for all sweeps or from the start of each:
//! [`Step::times`] says what they were taken for.
//!
//! **Determinism**: everything but [`Step::timing`] is the same bits on every device and for any
//! number of threads.
//!
//! **Source**: Vizzo et al., KISS-ICP: In Defense of Point-to-Point ICP, 2023, for the prediction,
//! the two samplings, the adaptive threshold and the map of points; Chen and Medioni, Object
//! Modelling by Registration of Multiple Range Images, 1992, for the alignment.
//!
//! ```
//! use pointmill_slam::odometry::{Odometry, OdometryParams, SweepStatus};
//! use pointmill::{Device, Rows};
//!
//! // The walls, the floor and a step of a room, seen by a sensor that moves by 10 cm a sweep.
//! let room = |moved: f32| -> Vec<[f32; 3]> {
//!     let grid = (0..60).flat_map(|i| (0..60).map(move |j| (i as f32 * 0.1 - 3.0, j as f32 * 0.1 - 3.0)));
//!     grid.flat_map(|(a, b)| [[a, b, -1.0], [a, 3.0, b + 2.0], [a, -3.0, b + 2.0], [3.0, a, b + 2.0], [-3.0, a, b + 2.0]])
//!         .map(|[x, y, z]| [x - moved, y, z])
//!         .collect()
//! };
//! let params = OdometryParams { voxel_size: Some(0.5), min_range: 0.1, ..OdometryParams::default() };
//! let mut odometry = Odometry::new(&Device::cpu().stream()?, &params)?;
//! for i in 0..4 {
//!     let step = odometry.push(Rows::from(&room(0.1 * i as f32)[..]), None)?;
//!     assert!(matches!(step.status, SweepStatus::Started | SweepStatus::Tracked));
//!     assert!((step.world_from_sensor.translation()[0] - 0.1 * f64::from(i)).abs() < 0.01);
//! }
//! # Ok::<(), pointmill::Error>(())
//! ```

mod clock;
mod cpu;
mod drive;
mod engine;
mod gpu;
mod normal_equations;
mod params;
mod recover;
mod register;
mod rounds;
mod scale;
mod search;
mod step;
#[cfg(test)]
mod tests;

pub use clock::TimesUse;
pub use drive::Odometry;
pub use params::OdometryParams;
pub use register::SweepFit;
pub use step::{Step, StepTiming, SweepAlignment, SweepStatus};
