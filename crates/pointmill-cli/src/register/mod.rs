//! `pointmill register`: sources aligned with a target without a guess.

mod args;
mod command;
pub(crate) mod records;
mod report;

pub(crate) use args::RegisterArgs;
pub(crate) use command::run;
