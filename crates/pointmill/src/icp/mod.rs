//! Iterative closest point.

mod search;
#[cfg(test)]
mod tests;

pub use search::{MAX_NEIGHBOURS, MAX_POINTS, Neighbour, Search, Searcher};
