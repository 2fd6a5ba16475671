//! Flags that several commands share. This module knows no command.

pub(crate) mod config;
mod global;
mod parse;
mod read;
mod work;

pub(crate) use global::Global;
pub(crate) use parse::{message, names, parse_numbers, parse_out_size, parse_voxel_size};
pub(crate) use read::{MemoryArgs, ReadArgs};
pub(crate) use work::{BatchArgs, ConfigArgs, OnOom, ResumeArgs, WorkArgs};
