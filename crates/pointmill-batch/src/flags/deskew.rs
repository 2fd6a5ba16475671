//! `--deskew`

use clap::ValueEnum;

/// When the motion of the sensor within a sweep is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deskew {
    /// Where points have times.
    Auto,
    /// Always: a sweep without times fails.
    On,
    /// Never.
    Off,
}
