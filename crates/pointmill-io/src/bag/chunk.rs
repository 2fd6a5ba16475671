//! A chunk's content, unpacked and compared with its checksum.

use super::file::File;
use crate::error::{IoError, WHOLE_CHUNKS};
use crate::fault::fault;
use crate::limits::Limits;
use crate::lz4;
use crate::source::Source;
use crate::zstd::Zstd;
use bzip2::bufread::BzDecoder;
use std::io::Read;

/// How a chunk is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Lz4,
    Zstd,
    Bz2,
}

/// A chunk as it lies in its file.
pub(super) struct Packed<'a> {
    /// Where it starts.
    pub(super) at: u64,
    /// The bytes that it says it unpacks to.
    pub(super) size: u64,
    /// The checksum of these; 0 says that there is none.
    pub(super) sum: u32,
    pub(super) compression: Compression,
    pub(super) data: &'a [u8],
}

impl Packed<'_> {
    /// The content, while `held` bytes of this and other chunks are held.
    pub(super) fn unpack(&self, file: &File<'_>, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
        let &Self { at, size, mut data, .. } = self;
        limits.check_unpacked(&file.at(at), "chunk unpacked", size, file.length)?;
        let prefix = format!("chunk at byte {at}: ");
        let broken = |format: &str, found: String| {
            let wanted = format!("one {format}");
            fault!(file.at(at), Decompress, "{prefix}data", wanted, found).salvageable(WHOLE_CHUNKS)
        };
        let behind = |count: u64| format!("{count} bytes behind it");
        let left = limits.max_memory.map(|most| most.saturating_sub(held));
        let all = |reader: &mut dyn Read, window: u64| self.all(file, reader, window, &prefix, left);
        let bytes = match self.compression {
            Compression::None => all(&mut data, 0)?,
            Compression::Lz4 => {
                const FRAME: &str = "frame of LZ4";
                let (mut reader, rest) =
                    lz4::frame(data, size).ok_or_else(|| broken(FRAME, "something else".into()))?;
                if !rest.is_empty() {
                    return Err(broken(FRAME, behind(rest.len() as u64)));
                }
                all(&mut reader, 0)?
            }
            Compression::Zstd => {
                let mut zstd = Zstd::new(data, size);
                let window = zstd.window();
                all(&mut zstd, window)?
            }
            Compression::Bz2 => {
                let mut decoder = BzDecoder::new(data);
                let bytes = all(&mut decoder, bzip2_block(data))?;
                let rest = (data.len() as u64).saturating_sub(decoder.total_in());
                if rest > 0 {
                    return Err(broken("stream of bzip2", behind(rest)));
                }
                bytes
            }
        };
        let sum = crc32fast::hash(&bytes);
        if self.sum != 0 && self.sum != sum {
            let wanted = format!("the checksum {:08x}", self.sum);
            let field = format!("{prefix}data");
            return Err(fault!(file.at(at), Decompress, field, wanted, "{sum:08x}").salvageable(WHOLE_CHUNKS));
        }
        Ok(bytes)
    }

    /// All bytes of a decoder that takes memory for a window, which are as many as the chunk says.
    fn all(
        &self,
        file: &File<'_>,
        reader: &mut dyn Read,
        window: u64,
        prefix: &str,
        left: Option<u64>,
    ) -> Result<Vec<u8>, IoError> {
        let mut source = Source::part(file.path, reader, self.size, false, prefix.to_owned()).within(left);
        source.take(usize::try_from(window).unwrap_or(usize::MAX))?;
        let bytes = source.values::<u8>(usize::try_from(self.size).unwrap_or(usize::MAX), false);
        // Fewer bytes than said are no cut: the chunk itself is whole.
        let bytes = bytes.map_err(|e| match e {
            IoError::Truncated(d) | IoError::Decompress(d) => IoError::Decompress(d).salvageable(WHOLE_CHUNKS),
            e => e,
        })?;
        if !source.drain()? {
            return Err(fault!(source, Decompress, "data", ("{} bytes", self.size), "more"));
        }
        Ok(bytes)
    }
}

/// Bytes of memory that the decoder of bzip2 takes: four for each of a block, whose hundreds of
/// thousands are the fourth letter.
fn bzip2_block(data: &[u8]) -> u64 {
    let hundreds = data.get(3).map_or(0, |letter| u64::from(letter.saturating_sub(b'0')).min(9));
    hundreds * 400_000 + (64 << 10)
}
