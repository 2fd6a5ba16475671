//! Poses of LiDAR sweeps, on CPU and GPU with the same bits, on top of the operators of
//! [`pointmill`].
//!
//! - [`localize`]: where a sensor is in a map, with and without a guess;
//! - [`odometry`]: a trajectory from sweeps alone;
//! - [`trajectory`]: how far estimated poses are from true ones.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod localize;
pub mod odometry;
mod sampling;
pub mod trajectory;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
