//! A chunk's content, unpacked and compared with its checksum.

use super::record::{File, Head, Record, parse};
use crate::error::{IoError, WHOLE_CHUNKS, excerpt};
use crate::limits::Limits;
use crate::source::Source;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, Read};

/// What a chunk may unpack to without a limit given: so many bytes, or so many times its own.
const DECODED: (u64, u64) = (256 << 20, 100);

/// The window of Zstandard that is always allowed, as its format asks of decoders.
const WINDOW: u64 = 8 << 20;

/// Reads the content of a chunk.
pub(super) fn unpack(file: &mut File<'_>, head: &Head, limits: &Limits) -> Result<Vec<u8>, IoError> {
    let packed = file.content(head)?;
    let Record::Chunk { size, sum: wanted, compression, data } = parse(file.path, head.at, head.op, &packed)? else {
        return Err(IoError::BadValue(file.detail(head.at, "record", "a chunk", format!("opcode {}", head.op))));
    };
    let most = DECODED.0.max(DECODED.1.saturating_mul(data.len() as u64));
    limits.check_decoded(
        |w, f| file.detail(head.at, "chunk unpacked", w, f),
        size,
        most,
        "256 MiB or 100 times the chunk",
    )?;
    let prefix = format!("chunk at byte {}: ", head.at);
    // What is held of the file counts too.
    let left = limits.max_memory.map(|most| most.saturating_sub(packed.len() as u64));
    let bytes = {
        let mut reader: Box<dyn Read> = match compression {
            "" => Box::new(data),
            "lz4" => Box::new(lz4_flex::frame::FrameDecoder::new(data)),
            "zstd" => Box::new(Zstd { rest: data, decoder: None, window: WINDOW.max(size) }),
            other => {
                let found = excerpt(other.as_bytes());
                let wanted = "none, lz4 or zstd";
                return Err(IoError::UnsupportedFormat(file.detail(head.at, "compression", wanted, found)));
            }
        };
        let mut source = Source::part(file.path, &mut *reader, size, false, prefix.clone()).within(left);
        let bytes = source.values::<u8>(usize::try_from(size).unwrap_or(usize::MAX), false);
        // Fewer bytes than said are no cut: the chunk itself is whole.
        let bytes = bytes.map_err(|e| match e {
            IoError::Truncated(d) | IoError::Decompress(d) => IoError::Decompress(d.salvageable(WHOLE_CHUNKS)),
            e => e,
        })?;
        if !source.drain()? {
            return Err(IoError::Decompress(source.detail("data", format!("{size} bytes"), "more")));
        }
        bytes
    };
    let sum = crc32fast::hash(&bytes);
    // 0 says that there is none.
    if wanted != 0 && wanted != sum {
        let wanted = format!("the checksum {wanted:08x}");
        let found = format!("{sum:08x}");
        let detail = file.detail(head.at, &format!("{prefix}data"), wanted, found);
        return Err(IoError::Decompress(detail.salvageable(WHOLE_CHUNKS)));
    }
    Ok(bytes)
}

/// Frames of zstd, one after the other.
struct Zstd<'a> {
    rest: &'a [u8],
    decoder: Option<StreamingDecoder<&'a [u8], FrameDecoder>>,
    /// The largest window that a frame may have.
    window: u64,
}

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut decoder = match self.decoder.take() {
                Some(decoder) => decoder,
                None if self.rest.is_empty() || buffer.is_empty() => return Ok(0),
                None => {
                    let mut decoder = FrameDecoder::new();
                    decoder.set_max_window_size(self.window);
                    StreamingDecoder::new_with_decoder(self.rest, decoder).map_err(io::Error::other)?
                }
            };
            let got = decoder.read(buffer)?;
            if got > 0 {
                self.decoder = Some(decoder);
                return Ok(got);
            }
            self.rest = decoder.into_inner();
        }
    }
}
