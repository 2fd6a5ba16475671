//! GPS times of version 2 of the field and of formats 6 to 10: own decoders that replace those of
//! the crate.
//!
//! Upstream: laz 0.13.0, the newest, still recurses here; once it does not, this folder and
//! `point14` can go.
//!
//! The decoder of version 2 of the crate, and its decoder for formats 6 to 10, call themselves for
//! each code "of another sequence", so a crafted file overflows the stack. A writer changes the
//! sequence at most once per point, because it knows that the time is near the new sequence. Here a
//! second change is an error.
//!
//! Source: M. Isenburg, "LASzip: lossless compression of LiDAR data", Photogrammetric Engineering
//! and Remote Sensing 79 (2013), and the specification of LASzip for LAS 1.4. A time is the 64 bits
//! of its `f64`, read as an integer; all sums wrap around.

mod sequences;
mod version2;

pub(super) use sequences::Sequences;
pub(super) use version2::GpsTime2;
