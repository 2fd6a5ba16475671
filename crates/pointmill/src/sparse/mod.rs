//! The front end of sparse detectors: pairs of a sparse convolution.
//!
//! [`index_pairs`] finds which input cell meets which output cell at which offset of the kernel; an
//! [`IndexPairs`] keeps its memory between calls. The same input gives the same bits on every
//! device, in every run and with any number of threads.

mod conv;

pub use conv::{
    CellCoords, ConvArrays, ConvKind, ConvPairs, ConvParams, ConvReport, IndexPairs, SparseCells, index_pairs,
};
