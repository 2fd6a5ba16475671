//! All devices against plain programs, and against each other.

mod errors;
mod graphs;
mod serialize;
