//! Which sweeps are deskewed.

use crate::inputs::{Inputs, Source};
use pointmill_core::names;

/// When the motion of the sensor within a sweep is compensated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deskew {
    /// Where points have times and the sweeps were not published deskewed.
    Auto,
    /// Always: a sweep without times fails.
    On,
    /// Never.
    Off,
}

impl Deskew {
    /// Whether sweeps with times are deskewed. What was taken out before they were published is not
    /// taken out again.
    pub fn applies_to(self, sources: &[Source], inputs: &Inputs) -> bool {
        match self {
            Self::Auto => !sources.iter().any(|source| inputs.is_deskewed(source)),
            Self::On => true,
            Self::Off => false,
        }
    }
}

names!(Deskew { Auto = "auto", On = "on", Off = "off" });
