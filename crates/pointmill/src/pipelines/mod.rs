//! Pipelines on top of the operators.
//!
//! - [`trajectory`]: how far estimated poses are from true ones.

pub mod trajectory;
