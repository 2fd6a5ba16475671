//! Trajectories from sweeps, scans in maps, and how far they are from the truth.

mod localize;
mod odometry;
mod trajectory;

pub(crate) use localize::{FIX, Localizer};
pub(crate) use odometry::{Odometry, STEP};
pub(crate) use trajectory::{ERROR_STATISTICS, EVALUATION, RELATIVE_ERRORS, evaluate};
