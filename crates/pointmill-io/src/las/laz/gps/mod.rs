//! GPS times of point formats 1, 3, 4 and 5: decoders of our own in place of the crate's.
//!
//! The crate's decoder of version 2, and its like for formats 6 to 10, calls itself for each code that says "of another sequence", so that a crafted file
//! overflows the stack. A writer changes the sequence once at most for a point, since it has seen before that the time is near the other
//! one; here a second change is an error.
//!
//! Source: M. Isenburg, "LASzip: lossless compression of LiDAR data", Photogrammetric Engineering and Remote Sensing 79 (2013), and the
//! specification of LASzip for LAS 1.4. A time is the 64 bits of its `f64`, taken as a whole number; all sums wrap around.

mod sequences;
mod version1;

pub(super) use sequences::Sequences;
pub(super) use version1::GpsTime1;

use crate::las::header::u64_at;
use laz::decoders::ArithmeticDecoder;
use laz::record::FieldDecompressor;
use std::io::{Read, Result};

/// Bytes of a time.
const SIZE: usize = 8;

/// After how many factors at an end of their range the difference that they multiply is replaced.
const PATIENCE: u8 = 3;

/// A time, and by how much it grew.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    time: i64,
    /// What factors multiply; 0 before there was one.
    difference: i32,
    /// Factors at an end of their range since the last good one.
    strained: u8,
}

impl Sequence {
    fn advance(&mut self, difference: i32) {
        self.time = self.time.wrapping_add(difference.into());
    }

    /// Counts a factor at an end of its range, with which `difference` was told.
    fn strain(&mut self, difference: i32) {
        self.strained += 1;
        if self.strained > PATIENCE {
            (self.difference, self.strained) = (difference, 0);
        }
    }
}

/// The field of version 2.
pub(super) struct GpsTime2(Sequences);

impl GpsTime2 {
    pub(super) fn new() -> Self {
        Self(Sequences::new(true))
    }
}

impl<R: Read> FieldDecompressor<R> for GpsTime2 {
    fn size_of_field(&self) -> usize {
        SIZE
    }

    fn decompress_first(&mut self, src: &mut R, first_point: &mut [u8]) -> Result<()> {
        src.read_exact(first_point)?;
        self.0.start(u64_at(first_point, 0) as i64);
        Ok(())
    }

    fn decompress_with(&mut self, decoder: &mut ArithmeticDecoder<R>, buf: &mut [u8]) -> Result<()> {
        buf.copy_from_slice(&self.0.next(decoder)?.to_le_bytes());
        Ok(())
    }
}
