//! The front end of sparse detectors: pairs of a sparse convolution, sweeps in one frame, features of
//! pillars.
//!
//! [`index_pairs`] finds which input cell meets which output cell at which offset of the kernel.
//! [`densify`] moves points of several sweeps into one frame. [`pillar_features`] makes what a network
//! of pillars sees of their points. An [`IndexPairs`], a [`Densifier`] and a [`PillarEncoder`] keep
//! their memory between calls. The same input gives the same bits on every device, in every run and
//! with any number of threads.

mod conv;
mod densify;
mod pillars;
#[cfg(test)]
mod pillars_tests;

pub use conv::{
    CellCoords, ConvArrays, ConvKind, ConvPairs, ConvParams, ConvReport, IndexPairs, SparseCells, index_pairs,
};
pub use densify::{Densifier, densify};
pub use pillars::{PillarEncoder, PillarFeatures, PillarParams, PillarPoints, pillar_features};
