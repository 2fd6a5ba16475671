//! A deterministic synthetic drive of a laser scanner, boxes with points in them, two scans of a
//! figure, and sampled surfaces.
//!
//! Operators need points to be shown, tested and timed on, and recorded data sets come with
//! downloads and licences. This crate makes its own:
//!
//! - [`Drive`]: a car with a spinning 64-beam sensor in a street of houses, cars, people and trees,
//!   round a block or through a tunnel, sweeps of about 120,000 points with the pose at every
//!   moment;
//! - [`RoiScene`]: boxes around the objects of a street, and points, for operators that look into
//!   boxes;
//! - [`RabbitScans`]: two scans of a small figure and the pose between them, for operators that
//!   align clouds;
//! - [`surfaces`]: planes, spheres, boxes and cylinders of n points, with known normals and
//!   distances.
//!
//! The same seed gives the same bits on every machine, on any number of threads, in any order of
//! sweeps.
//!
//! ```
//! use pointmill_synth::{Drive, DriveParams};
//! let drive = Drive::new(DriveParams { azimuth_steps: 500, ..DriveParams::default() });
//! let sweep = drive.sweep(0);
//! // x, y, z, intensity, ring, time; the road is 1.73 m below the sensor.
//! let low = sweep.points().iter_xyz().filter(|p| (p[2] + 1.73).abs() < 0.2).count();
//! assert!(low > sweep.len() / 3);
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod block;
mod drive;
mod facade;
mod hash;
mod material;
mod props;
mod rabbit;
mod road;
mod roi;
mod shape;
mod solids;
mod street;
pub mod surfaces;
mod tunnel;
mod world;

pub use drive::{Drive, DriveParams, SENSOR_HEIGHT};
pub use rabbit::RabbitScans;
pub use roi::RoiScene;
pub use world::Scene;

/// x, y and z.
type V3 = [f64; 3];
