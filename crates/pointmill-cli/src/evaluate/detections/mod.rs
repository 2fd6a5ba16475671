//! `pointmill evaluate detections`: how good 3D boxes are.

mod calibration;
mod command;
mod picture;
mod points;
pub(crate) mod records;
mod report;

pub(crate) use command::{DetectionsArgs, run};
