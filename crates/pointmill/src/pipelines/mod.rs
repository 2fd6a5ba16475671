//! Pipelines on top of the operators.
//!
//! - [`odometry`]: a trajectory from sweeps alone;
//! - [`trajectory`]: how far estimated poses are from true ones.

pub mod odometry;
pub mod trajectory;
