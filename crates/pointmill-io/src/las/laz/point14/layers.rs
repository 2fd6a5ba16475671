//! The nine layers of a chunk's points, each the codes of one field or some.

use crate::las::header::u32_at;
use laz::decoders::ArithmeticDecoder;
use std::io::{Cursor, ErrorKind, Read, Result};

/// The number of layers.
const LAYERS: usize = 9;

/// Decodes what a layer holds.
pub(super) type Decoder = ArithmeticDecoder<Cursor<Vec<u8>>>;

/// The layers; without bytes there is none, and the field stays as it is.
#[derive(Default)]
pub(super) struct Layers {
    lengths: [u32; LAYERS],
    /// What changed, channels, returns, x and y.
    pub(super) first: Option<Decoder>,
    pub(super) z: Option<Decoder>,
    pub(super) classification: Option<Decoder>,
    pub(super) flags: Option<Decoder>,
    pub(super) intensity: Option<Decoder>,
    pub(super) angle: Option<Decoder>,
    pub(super) user: Option<Decoder>,
    pub(super) source: Option<Decoder>,
    pub(super) time: Option<Decoder>,
}

impl Layers {
    /// Reads how many bytes each has.
    pub(super) fn read_lengths(&mut self, src: &mut impl Read) -> Result<()> {
        let mut bytes = [0; 4 * LAYERS];
        src.read_exact(&mut bytes)?;
        self.lengths = std::array::from_fn(|i| u32_at(&bytes, 4 * i));
        Ok(())
    }

    /// Reads their bytes.
    pub(super) fn read(&mut self, src: &mut impl Read) -> Result<()> {
        let layers = [
            &mut self.first,
            &mut self.z,
            &mut self.classification,
            &mut self.flags,
            &mut self.intensity,
            &mut self.angle,
            &mut self.user,
            &mut self.source,
            &mut self.time,
        ];
        for (layer, length) in layers.into_iter().zip(self.lengths) {
            *layer = if length > 0 { Some(decoder(src, length)?) } else { None };
        }
        Ok(())
    }
}

/// A decoder of the next bytes. Memory is taken as they come, and not as `length` says.
fn decoder(src: &mut impl Read, length: u32) -> Result<Decoder> {
    let mut bytes = vec![];
    if src.take(length.into()).read_to_end(&mut bytes)? < length as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut decoder = ArithmeticDecoder::new(Cursor::new(bytes));
    decoder.read_init_bytes()?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_for_bytes_and_not_for_lengths() {
        let mut head = [0; 4 * LAYERS];
        head[32..].fill(0xff);
        let mut layers = Layers::default();
        layers.read_lengths(&mut &head[..]).unwrap();
        let used = allocation_counter::measure(|| {
            let e = layers.read(&mut &[7; 1000][..]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::UnexpectedEof);
        });
        assert!(used.bytes_max < 8192, "{} bytes", used.bytes_max);
    }
}
