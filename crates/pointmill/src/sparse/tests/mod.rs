//! All devices against plain programs, and against each other.

mod errors;
mod fixtures;
mod graphs;
mod hierarchy;
mod lent;
mod patches;
mod sample;
mod serialize;
