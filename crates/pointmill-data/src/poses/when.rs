//! Which sweeps are deskewed.

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

names!(Deskew { Auto = "auto", On = "on", Off = "off" });
