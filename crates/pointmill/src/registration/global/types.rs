//! What the work on the CPU and where kernels run is given.

/// Radii of neighbourhoods in metres.
#[derive(Clone, Copy, Debug)]
pub(super) struct Radii {
    pub(super) normal: f64,
    pub(super) feature: f64,
}

impl Radii {
    /// The square of the radius of a normal.
    pub(super) fn near(self) -> f32 {
        (self.normal * self.normal) as f32
    }
}

/// Lengths in metres that matches are held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most that the distances of two matches differ.
    pub(super) tolerance: f32,
    /// Shortest distance.
    pub(super) shortest: f32,
    /// Most that an inlier is off.
    pub(super) width: f64,
}

/// A point that is looked at.
pub(super) type Probe = [f32; 3];
/// An inclusive distance in metres.
pub(super) type Limit = f64;
