//! `pointmill odometry`: a trajectory from sweeps.

mod args;
mod command;
mod files;
pub(crate) mod records;

pub(crate) use args::OdometryArgs;
pub(crate) use command::run;
