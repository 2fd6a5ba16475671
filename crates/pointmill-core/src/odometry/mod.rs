//! Odometry: cells of the local map, surfaces about its points, what pairs say of a motion, and
//! motion within a sweep.
//!
//! - [`cells`]: which cell a place falls into, where it lies in it, and how far a cell beside is;
//! - [`surface`]: the normal of a point of the map, and how sure it is;
//! - [`pairs`]: what a pair adds to the sums of an alignment, and what it sees of a direction;
//! - [`order`]: the order of keypoints;
//! - [`motion`]: points of a sweep as they are seen from one moment;
//! - [`view`]: in which direction a sensor sees a point.

pub mod cells;
pub mod motion;
pub mod order;
pub mod pairs;
pub mod surface;
pub mod view;
