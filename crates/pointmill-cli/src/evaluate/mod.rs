//! `pointmill evaluate`: how far a trajectory is from the truth.

mod command;
pub(crate) mod records;
mod report;

pub(crate) use command::{EvaluateArgs, run};
