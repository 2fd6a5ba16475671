//! `--deskew`

use clap::ValueEnum;
use serde::Serialize;

/// When the motion of the sensor within a sweep is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Deskew {
    /// Where points have times and the sweeps were not published deskewed.
    Auto,
    /// Always: a sweep without times fails.
    On,
    /// Never.
    Off,
}
