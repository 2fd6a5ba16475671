//! GPS times of point formats 1, 3, 4 and 5: decoders of our own in place of the crate's.
//!
//! The crate's decoder of version 2, and its like for formats 6 to 10, calls itself for each code that says "of another sequence", so that a crafted file
//! overflows the stack. A writer changes the sequence once at most for a point, since it has seen before that the time is near the other
//! one; here a second change is an error.
//!
//! Source: M. Isenburg, "LASzip: lossless compression of LiDAR data", Photogrammetric Engineering and Remote Sensing 79 (2013), and the
//! specification of LASzip for LAS 1.4. A time is the 64 bits of its `f64`, taken as a whole number; all sums wrap around.

mod sequence;
mod sequences;
mod version1;
mod version2;

pub(super) use sequences::Sequences;
pub(super) use version1::GpsTime1;
pub(super) use version2::GpsTime2;
