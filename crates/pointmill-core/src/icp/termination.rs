//! Termination criteria.

use super::pairs::{HEAD, POINT_TERMS, STEP_TERMS};
use super::pose::{closest, stepped};
use super::spread::Spread;
use crate::rigid::Rigid;

/// Sums over pairs, by what their metric needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sums {
    /// Of point-to-point.
    Points([f64; POINT_TERMS]),
    /// Of point-to-plane or GICP.
    Steps([f64; STEP_TERMS]),
}

impl Sums {
    /// What all metrics have.
    #[inline(always)]
    pub const fn head(&self) -> [f64; HEAD] {
        match self {
            Self::Points(t) => [t[0], t[1], t[2], t[3]],
            Self::Steps(t) => [t[0], t[1], t[2], t[3]],
        }
    }

    /// The number of pairs.
    #[inline(always)]
    pub const fn pairs(&self) -> f64 {
        self.head()[0]
    }

    /// Root mean square distance of the pairs.
    #[inline(always)]
    pub fn rmse(&self) -> f64 {
        rmse(&self.head())
    }

    /// The next pose, if the pairs ask for one.
    #[inline(always)]
    pub fn next(&self, pose: &Rigid, spread: &Spread, guess: &Rigid) -> Option<Rigid> {
        match self {
            Self::Points(terms) => closest(terms, guess),
            Self::Steps(terms) => stepped(terms, &spread.at(*pose)),
        }
    }
}

/// Root mean square distance of pairs, of the first of their sums.
#[inline(always)]
pub fn rmse(head: &[f64; HEAD]) -> f64 {
    if head[0] > 0.0 { crate::float::sqrt(head[1] / head[0]) } else { 0.0 }
}

/// Why a stage is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There is no pair.
    NoPairs,
    /// No pair changed, and the pose is a function of the pairs.
    Fixed,
    /// The last step was short.
    Step,
    /// There were as many steps as allowed.
    Iterations,
}

/// What ends a stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Shortest step, as a part of the size of the source.
    pub step_tolerance: f64,
    /// Most steps.
    pub max_iterations: u64,
    /// Not zero where the next pose is a function of the pairs alone: point-to-point without
    /// weights.
    pub closed: u64,
}

impl Rules {
    /// Whether a stage is over that has seen `pairs`, of which `changed` are not what they were,
    /// after `steps` of which the last was `step` metres.
    #[inline(always)]
    pub fn end(&self, pairs: f64, changed: u64, steps: u64, step: f64, size: f64) -> Option<End> {
        if pairs == 0.0 {
            Some(End::NoPairs)
        } else if self.closed != 0 && steps > 0 && changed == 0 {
            Some(End::Fixed)
        } else if steps > 0 && step <= self.step_tolerance * size {
            Some(End::Step)
        } else if steps == self.max_iterations {
            Some(End::Iterations)
        } else {
            None
        }
    }
}
