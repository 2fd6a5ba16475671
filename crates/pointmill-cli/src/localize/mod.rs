//! `pointmill localize`: where scans are in a map.

mod args;
mod command;
mod map;
pub(crate) mod records;

pub(crate) use args::LocalizeArgs;
pub(crate) use command::run;
