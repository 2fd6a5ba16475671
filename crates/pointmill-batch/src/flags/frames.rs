//! Flags that take some of many inputs.

use clap::Args;
use pointmill_data::inputs::{FrameRange, Frames};
use std::num::NonZeroUsize;

/// Which inputs are taken.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Many inputs")]
pub struct FrameArgs {
    /// Take only inputs A to B - 1, counted from 0 in their order: the files of folders, the clouds
    /// of bags. A: takes all from A on, :B the first B
    #[arg(
        long = "frames",
        value_name = "A:B",
        default_value = ":",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    frames: FrameRange,
    /// Of these take the first, and each N-th after it
    #[arg(long, value_name = "N", default_value = "1", value_parser = every)]
    every: NonZeroUsize,
}

impl FrameArgs {
    /// The inputs of the library.
    pub const fn frames(&self) -> Frames {
        Frames { range: self.frames, every: self.every }
    }
}

fn every(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a whole number, 1 or more".to_owned())
}
