//! ICP arithmetic: nearest-neighbour distances, residuals and Jacobians of correspondences, and the
//! pose update.
//!
//! - [`nearest`]: squared distances and the bounds of boxes, which decide about neighbours;
//! - [`neighbour_set`]: the neighbours that a search keeps;
//! - [`correspondence`]: the pair of a point, cached from pose to pose, which often saves the
//!   search;
//! - [`morton`]: an order along which near points are near, and where a tree over it splits;
//! - [`neighbourhood`]: normals from the points around a point;
//! - [`pairs`]: what a pair adds to the sums of each metric, and [`Robust`]s that weigh it;
//! - [`pose`]: the step or the pose that the sums ask for;
//! - [`spread`]: how far a change of the pose moves the source;
//! - [`termination`]: termination criteria.

pub mod correspondence;
pub mod morton;
pub mod nearest;
pub mod neighbour_set;
pub mod neighbourhood;
pub mod pairs;
pub mod pose;
mod robust;
pub mod spread;
pub mod termination;

pub use robust::Robust;
