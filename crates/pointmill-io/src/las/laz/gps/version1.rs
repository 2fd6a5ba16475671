//! The field of version 1: one sequence, no negative factors.

use super::sequence::{SIZE, Sequence};
use crate::bytes::u64_at;
use laz::decoders::ArithmeticDecoder;
use laz::decompressors::{IntegerDecompressor, IntegerDecompressorBuilder};
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use laz::record::FieldDecompressor;
use std::io::{Read, Result};

/// The largest factor. The codes after it are: the whole time follows; the time equals the previous time.
const MOST: u32 = 509;
const WHOLE: u32 = MOST + 1;
const SAME: u32 = MOST + 2;

/// The last time, and the models of the codes: one if the last difference is 0, one otherwise.
pub(in crate::las::laz) struct GpsTime1 {
    last: Sequence,
    firsts: ArithmeticModel,
    factors: ArithmeticModel,
    differences: IntegerDecompressor,
}

impl GpsTime1 {
    pub(in crate::las::laz) fn new() -> Self {
        Self {
            last: Sequence::default(),
            firsts: ArithmeticModelBuilder::new(3).build(),
            factors: ArithmeticModelBuilder::new(SAME + 1).build(),
            differences: IntegerDecompressorBuilder::new().bits(32).contexts(6).build_initialized(),
        }
    }

    /// Decodes a time if the last difference is 0.
    fn first(&mut self, decoder: &mut ArithmeticDecoder<impl Read>) -> Result<()> {
        match decoder.decode_symbol(&mut self.firsts)? {
            0 => {}
            1 => {
                self.last.difference = self.differences.decompress(decoder, 0, 0)?;
                self.last.advance(self.last.difference);
            }
            _ => self.last.time = decoder.read_int_64()? as i64,
        }
        Ok(())
    }

    /// Decodes a factor of the last difference, and the difference near that multiple.
    fn further(&mut self, decoder: &mut ArithmeticDecoder<impl Read>) -> Result<()> {
        let code = decoder.decode_symbol(&mut self.factors)?;
        let last = self.last.difference;
        let (near, context) = match code {
            0 => (last / 4, 2),
            1 => (last, 1),
            2..10 => (last.wrapping_mul(code as i32), 3),
            10..50 => (last.wrapping_mul(code as i32), 4),
            50..=MOST => (last.wrapping_mul(code as i32), 5),
            WHOLE => {
                self.last.time = decoder.read_int_64()? as i64;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let difference = self.differences.decompress(decoder, near, context)?;
        self.last.advance(difference);
        match code {
            1 => (self.last.difference, self.last.strained) = (difference, 0),
            0 | MOST => self.last.strain(difference),
            _ => {}
        }
        Ok(())
    }
}

impl<R: Read> FieldDecompressor<R> for GpsTime1 {
    fn size_of_field(&self) -> usize {
        SIZE
    }

    fn decompress_first(&mut self, src: &mut R, first_point: &mut [u8]) -> Result<()> {
        src.read_exact(first_point)?;
        self.last.time = u64_at(first_point, 0) as i64;
        Ok(())
    }

    fn decompress_with(&mut self, decoder: &mut ArithmeticDecoder<R>, buf: &mut [u8]) -> Result<()> {
        if self.last.difference == 0 {
            self.first(decoder)?;
        } else {
            self.further(decoder)?;
        }
        buf.copy_from_slice(&self.last.time.to_le_bytes());
        Ok(())
    }
}
