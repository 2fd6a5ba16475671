//! Trajectories from sweeps, scans in maps, how far they are from the truth, and how good detections
//! are.

mod detections;
mod localize;
mod odometry;
mod trajectory;

pub(crate) use detections::{
    AVERAGE_PRECISION, CHANGE, CLASS_ERRORS, DETECTION_REPORT, curves_of_kitti, evaluate_detections,
};
pub(crate) use localize::{FIX, Localizer};
pub(crate) use odometry::{Odometry, STEP};
pub(crate) use trajectory::{ERROR_STATISTICS, EVALUATION, RELATIVE_ERRORS, evaluate};
