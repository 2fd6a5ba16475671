//! The front end of sparse detectors: cells, their order, larger cells, pairs, sweeps, pillars.

mod cells;
mod order;
mod pairs;
mod pillars;
mod sample;

pub(crate) use cells::cells_of;
pub(crate) use order::{CACHE as ORDERS, PATCHES, SERIALIZED, STAGE, patches, pool_hierarchy, serialize};
pub(crate) use pairs::{CACHE as PAIRS, PAIRS as CONV_PAIRS, index_pairs};
pub(crate) use pillars::{DENSIFY, PILLARS, densify, pillar_features};
pub(crate) use sample::{CACHE as SAMPLES, SAMPLED, grid_sample};
