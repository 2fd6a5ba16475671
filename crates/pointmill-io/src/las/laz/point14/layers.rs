//! The nine layers of the points of a chunk. A layer has the codes of one or several fields.

use crate::bytes::u32_at;
use laz::decoders::ArithmeticDecoder;
use std::io::{Cursor, ErrorKind, Read, Result};

/// The number of layers.
const LAYERS: usize = 9;

/// The decoder of a layer.
pub(super) type Decoder = ArithmeticDecoder<Cursor<Vec<u8>>>;

/// The layers. A layer without bytes is `None`; its fields do not change.
#[derive(Default)]
pub(super) struct Layers {
    lengths: [u32; LAYERS],
    /// The layer of changes, channels, returns, x and y.
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
    /// Reads the number of bytes of each layer.
    pub(super) fn read_lengths(&mut self, src: &mut impl Read) -> Result<()> {
        let mut bytes = [0; 4 * LAYERS];
        src.read_exact(&mut bytes)?;
        self.lengths = std::array::from_fn(|i| u32_at(&bytes, 4 * i));
        Ok(())
    }

    /// Reads the bytes of the layers.
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

/// Creates a decoder of the next `length` bytes. It allocates memory for the bytes that it reads,
/// not for `length`.
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
