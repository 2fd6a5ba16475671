//! Iterative closest point: which point is nearest, what a pair says of the pose, and the pose that many pairs ask for.
//!
//! - [`nearest`]: squared distances and the bounds of boxes, which decide about neighbours;
//! - [`keep`]: what a search keeps of the points that it is shown;
//! - [`known`]: what is known of a pair from the pose before, which often saves the search;
//! - [`morton`]: an order along which near points are near, and where a tree over it splits;
//! - [`neighbourhood`]: normals from the points around a point;
//! - [`pairs`]: what a pair adds to the sums of each metric, and [`Robust`]s that weigh it;
//! - [`pose`]: the step or the pose that the sums ask for;
//! - [`spread`]: how far a change of the pose moves the source;
//! - [`turn`]: when it is over.

pub mod keep;
pub mod known;
pub mod morton;
pub mod nearest;
pub mod neighbourhood;
pub mod pairs;
pub mod pose;
mod robust;
pub mod spread;
pub mod turn;

pub use robust::Robust;
