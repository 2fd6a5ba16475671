//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the
//! kernels.

mod cells;
mod grid;
mod lines;
mod table;

pub(super) use grid::Grid;
pub(super) use table::Table;
