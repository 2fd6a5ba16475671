//! Inputs: which ones arguments name, in which order, about which origin, and how each is read.

mod ahead;
mod all;
mod arguments;
mod find;
mod frames;
mod in_time;
mod order;
mod pattern;
mod source;

pub use all::{Inputs, ReadInput, rows, tidy};
pub use arguments::{
    files, is_bag, is_one_file, is_stdin, may_be_many, open_bag, read_cloud, require_format, stdin_twice,
};
pub use find::find_inputs;
pub use frames::{FrameRange, Frames};
pub use order::{natural_order, sort_naturally};
pub use source::{BagCloud, STDIN, SYNTHETIC, Source, Stamped, shown, stem};
