//! Pipelines on top of the operators.
//!
//! - [`localize`]: where a sensor is in a map, with and without a guess;
//! - [`odometry`]: a trajectory from sweeps alone;
//! - [`trajectory`]: how far estimated poses are from true ones.

pub mod localize;
pub mod odometry;
pub mod trajectory;
