//! The field of version 2: up to four sequences.

use super::sequences::Sequences;
use crate::bytes::u64_at;
use laz::decoders::ArithmeticDecoder;
use laz::record::FieldDecompressor;
use std::io::{Read, Result};

/// Size of a time in bytes.
const SIZE: usize = 8;

/// The field of version 2.
pub(in crate::las::laz) struct GpsTime2(Sequences);

impl GpsTime2 {
    pub(in crate::las::laz) fn new() -> Self {
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
