//! Trajectories from sweeps, and how far they are from the truth.

mod odometry;
mod trajectory;

pub(crate) use odometry::{Odometry, OdometryStep};
pub(crate) use trajectory::{ErrorStatistics, Evaluation, RelativeErrors, evaluate};
