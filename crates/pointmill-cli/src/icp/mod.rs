//! `pointmill icp`: sources aligned with a target.

mod args;
mod command;
mod iterations;
mod picture;
mod plot;
pub(crate) mod records;
mod report;
mod target;

pub(crate) use args::IcpArgs;
pub(crate) use command::run;
pub(crate) use picture::{distances, draw_alignment};
