//! Colours and extra bytes of version 1, as LASzip wrote them in 2011. The decoders of the crate
//! return wrong values for them: they keep old bits in the upper bytes of a colour, and they decode
//! extra bytes as in version 2. Upstream: laz 0.13.0, the newest, still does.
//!
//! Both fields are bytes. Each byte is coded by its difference from the previous one and has its
//! own model.

use laz::decoders::ArithmeticDecoder;
use laz::decompressors::{IntegerDecompressor, IntegerDecompressorBuilder};
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use laz::record::FieldDecompressor;
use std::io::{Read, Result};

/// Number of bytes of a colour: the lower and the upper byte of red, green and blue.
const COLOUR: usize = 6;

/// The last bytes, and the models of their differences.
struct Bytes {
    last: Vec<u8>,
    differences: IntegerDecompressor,
}

impl Bytes {
    fn new(count: usize) -> Self {
        let differences = IntegerDecompressorBuilder::new().bits(8).contexts(count as u32).build_initialized();
        Self { last: vec![0; count], differences }
    }

    fn first(&mut self, src: &mut impl Read, first_point: &mut [u8]) -> Result<()> {
        src.read_exact(first_point)?;
        self.last.copy_from_slice(first_point);
        Ok(())
    }

    /// Decodes byte `at`.
    fn next(&mut self, decoder: &mut ArithmeticDecoder<impl Read>, at: usize) -> Result<()> {
        self.last[at] = self.differences.decompress(decoder, self.last[at].into(), at as u32)? as u8;
        Ok(())
    }
}

/// The field of colours.
pub(super) struct Colour1 {
    bytes: Bytes,
    /// The model of the code that tells which bytes change, one bit per byte.
    changes: ArithmeticModel,
}

impl Colour1 {
    pub(super) fn new() -> Self {
        Self { bytes: Bytes::new(COLOUR), changes: ArithmeticModelBuilder::new(1 << COLOUR).build() }
    }
}

impl<R: Read> FieldDecompressor<R> for Colour1 {
    fn size_of_field(&self) -> usize {
        COLOUR
    }

    fn decompress_first(&mut self, src: &mut R, first_point: &mut [u8]) -> Result<()> {
        self.bytes.first(src, first_point)
    }

    fn decompress_with(&mut self, decoder: &mut ArithmeticDecoder<R>, buf: &mut [u8]) -> Result<()> {
        let changes = decoder.decode_symbol(&mut self.changes)?;
        for at in (0..COLOUR).filter(|at| changes >> at & 1 != 0) {
            self.bytes.next(decoder, at)?;
        }
        buf.copy_from_slice(&self.bytes.last);
        Ok(())
    }
}

/// The field of extra bytes.
pub(super) struct Extra1(Bytes);

impl Extra1 {
    pub(super) fn new(count: u16) -> Self {
        Self(Bytes::new(count.into()))
    }
}

impl<R: Read> FieldDecompressor<R> for Extra1 {
    fn size_of_field(&self) -> usize {
        self.0.last.len()
    }

    fn decompress_first(&mut self, src: &mut R, first_point: &mut [u8]) -> Result<()> {
        self.0.first(src, first_point)
    }

    fn decompress_with(&mut self, decoder: &mut ArithmeticDecoder<R>, buf: &mut [u8]) -> Result<()> {
        for at in 0..self.0.last.len() {
            self.0.next(decoder, at)?;
        }
        buf.copy_from_slice(&self.0.last);
        Ok(())
    }
}
