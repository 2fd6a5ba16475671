//! Coders of version 1 that follow the format where the coders of the crate do not.

use laz::compressors::{IntegerCompressor, IntegerCompressorBuilder};
use laz::encoders::ArithmeticEncoder;
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use laz::record::FieldCompressor;
use std::io::{Result, Write};

/// Codes bytes by their differences. With a model of changes it codes only the bytes that change.
pub(super) struct BytesCoder {
    last: Vec<u8>,
    changes: Option<ArithmeticModel>,
    differences: IntegerCompressor,
}

impl BytesCoder {
    pub(super) fn new(count: usize, sparse: bool) -> Self {
        Self {
            last: vec![0; count],
            changes: sparse.then(|| ArithmeticModelBuilder::new(1 << count).build()),
            differences: IntegerCompressorBuilder::new().bits(8).contexts(count as u32).build_initialized(),
        }
    }
}

impl<W: Write> FieldCompressor<W> for BytesCoder {
    fn size_of_field(&self) -> usize {
        self.last.len()
    }

    fn compress_first(&mut self, dst: &mut W, buf: &[u8]) -> Result<()> {
        self.last.copy_from_slice(buf);
        dst.write_all(buf)
    }

    fn compress_with(&mut self, encoder: &mut ArithmeticEncoder<W>, buf: &[u8]) -> Result<()> {
        let differs = |i: usize| buf[i] != self.last[i];
        let mut coded = (1 << buf.len()) - 1;
        if let Some(model) = &mut self.changes {
            coded = (0..buf.len()).map(|i| u32::from(differs(i)) << i).sum();
            encoder.encode_symbol(model, coded)?;
        }
        for i in (0..buf.len()).filter(|i| coded >> i & 1 != 0) {
            self.differences.compress(encoder, self.last[i].into(), buf[i].into(), i as u32)?;
        }
        self.last.copy_from_slice(buf);
        Ok(())
    }
}
