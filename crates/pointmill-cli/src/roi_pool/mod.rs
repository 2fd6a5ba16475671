//! `pointmill roi-pool`: features pooled in boxes, and points in boxes.

mod args;
mod command;
mod files;
mod lane;
mod picture;
pub(crate) mod records;
mod scenes;

pub(crate) use args::RoiPoolArgs;
pub(crate) use command::run;
