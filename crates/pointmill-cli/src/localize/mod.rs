//! `pointmill localize`: where scans are in a map.

mod args;
mod command;
pub(crate) mod records;

pub(crate) use args::LocalizeArgs;
pub(crate) use command::run;
