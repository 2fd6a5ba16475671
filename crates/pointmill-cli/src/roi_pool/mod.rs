//! `pointmill roi-pool`: features pooled in boxes, and points in boxes.

mod args;
mod command;
mod files;
mod picture;
pub(crate) mod records;
mod scenes;
mod worker;

pub(crate) use args::RoiPoolArgs;
pub(crate) use command::run;
