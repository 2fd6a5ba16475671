//! Flags that several commands share. This module knows no command.

pub(crate) mod config;
mod global;
mod parse;
mod read;
mod work;

pub(crate) use global::Global;
pub(crate) use parse::{message, names, parse_bytes, parse_numbers, parse_out_size, parse_voxel_size};
pub(crate) use read::ReadArgs;
pub(crate) use work::{BatchArgs, ConfigArgs, OnOom, ResumeArgs, WorkArgs};
