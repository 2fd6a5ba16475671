//! Flags that several commands share. This module knows no command.

mod frames;
mod global;
mod parse;
pub mod paths;
mod read;
mod sensor;
mod work;

pub use frames::FrameArgs;
pub use global::Global;
pub use parse::{
    Range, message, names, parse_box, parse_distance, parse_numbers, parse_out_size, parse_places, parse_range,
    parse_voxel_size,
};
pub use read::{MemoryArgs, ReadArgs};
pub use sensor::SensorArgs;
pub use work::{BatchArgs, Jobs, OnOom, ResumeArgs, WorkArgs};
