//! The buffers of a batch: where they are in its body, and what they unpack to.

use crate::error::IoError;
use crate::window::Window;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::borrow::Cow;
use std::io::Read;

/// How buffers are compressed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Codec {
    Lz4,
    Zstd,
}

impl Codec {
    /// The most bytes that one of compressed data becomes.
    pub(super) const fn growth(self) -> u64 {
        match self {
            Self::Lz4 => 255,
            // Blocks of 128 KiB that are one byte, and 3 of their head.
            Self::Zstd => (128 << 10) / 4,
        }
    }
}

/// The window of ZSTD that is always allowed, as its format asks of decoders.
const WINDOW: u64 = 8 << 20;

/// The buffers of a batch.
#[derive(Debug)]
pub(super) struct Buffers<'b> {
    pub(super) body: &'b [u8],
    /// Where each starts, and its bytes.
    pub(super) places: &'b [[i64; 2]],
    pub(super) codec: Option<Codec>,
    /// The number of the batch, for messages.
    pub(super) batch: usize,
}

impl<'b> Buffers<'b> {
    /// The bytes of a buffer as they lie in the body.
    fn packed(&self, window: &Window<'_, '_>, i: usize, field: &str) -> Result<&'b [u8], IoError> {
        let [start, length] = self.places[i].map(|n| usize::try_from(n).ok());
        let range = start.and_then(|start| Some(start..start.checked_add(length?)?));
        range.and_then(|range| self.body.get(range)).ok_or_else(|| {
            let [start, length] = self.places[i];
            let wanted = format!("a place in {} bytes", self.body.len());
            IoError::BadHeader(window.detail(field, wanted, format!("{length} bytes at {start}")))
        })
    }

    /// The first `wanted` bytes of what a buffer holds.
    pub(super) fn get(
        &self,
        window: &Window<'_, '_>,
        i: usize,
        wanted: usize,
        column: &str,
    ) -> Result<Cow<'b, [u8]>, IoError> {
        let field = format!("batch {}: column `{column}`", self.batch);
        let packed = self.packed(window, i, &field)?;
        let short = |found: String| IoError::SizeMismatch(window.detail(&field, format!("{wanted} bytes"), found));
        let Some(codec) = self.codec.filter(|_| !packed.is_empty()) else {
            let bytes = packed.get(..wanted).ok_or_else(|| short(format!("{} bytes", packed.len())))?;
            return Ok(bytes.into());
        };
        // Before the compressed bytes stands how many they become, or -1 if they are as they were.
        let Some((length, packed)) = packed.split_first_chunk() else {
            return Err(short(format!("{} bytes, too few to say their length", packed.len())));
        };
        let length = i64::from_le_bytes(*length);
        if length == -1 {
            let bytes = packed.get(..wanted).ok_or_else(|| short(format!("{} bytes", packed.len())))?;
            return Ok(bytes.into());
        }
        if usize::try_from(length).ok().is_none_or(|length| length < wanted) {
            return Err(short(format!("{length} bytes uncompressed")));
        }
        self.unpack(window, codec, packed, wanted, &field).map(Into::into)
    }

    /// Unpacks `wanted` bytes and no more.
    fn unpack(
        &self,
        window: &Window<'_, '_>,
        codec: Codec,
        packed: &[u8],
        wanted: usize,
        field: &str,
    ) -> Result<Vec<u8>, IoError> {
        let failed = |found: String| {
            let wanted = format!("compressed data of {wanted} bytes");
            IoError::Decompress(window.detail(field, wanted, found))
        };
        if wanted as u64 > (packed.len() as u64).saturating_mul(codec.growth()) {
            return Err(failed(format!("{} bytes, which cannot give as many", packed.len())));
        }
        let mut out = window.source().room(wanted)?;
        out.resize(wanted, 0);
        let read = match codec {
            Codec::Lz4 => lz4_flex::frame::FrameDecoder::new(packed).read_exact(&mut out).map_err(|e| e.to_string()),
            Codec::Zstd => {
                let mut decoder = FrameDecoder::new();
                decoder.set_max_window_size(WINDOW.max(wanted as u64));
                StreamingDecoder::new_with_decoder(packed, decoder)
                    .map_err(|e| e.to_string())
                    .and_then(|mut decoder| decoder.read_exact(&mut out).map_err(|e| e.to_string()))
            }
        };
        read.map_err(failed)?;
        Ok(out)
    }
}
