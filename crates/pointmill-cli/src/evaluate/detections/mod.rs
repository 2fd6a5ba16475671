//! `pointmill evaluate detections`: how good 3D boxes are.

mod command;
mod picture;
pub(crate) mod records;
mod report;

pub(crate) use command::{DetectionsArgs, run};
