//! Trajectories from sweeps, scans in maps, and how far they are from the truth.

mod localize;
mod odometry;
mod trajectory;

pub(crate) use localize::{Fix, Localizer};
pub(crate) use odometry::{Odometry, OdometryStep};
pub(crate) use trajectory::{ErrorStatistics, Evaluation, RelativeErrors, evaluate};
