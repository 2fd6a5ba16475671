//! A chunk's content, unpacked and compared with its checksum.

use super::record::{File, Head, Record, parse};
use crate::error::{IoError, WHOLE_CHUNKS, excerpt};
use crate::fault::{bail, fault};
use crate::limits::Limits;
use crate::lz4;
use crate::source::Source;
use crate::zstd::Zstd;
use std::io::Read;

/// Reads the content of a chunk, while `held` bytes of others are held.
pub(super) fn unpack(file: &mut File<'_>, head: &Head, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
    let packed = file.content(head)?;
    let Record::Chunk { size, sum: wanted, compression, data } = parse(file.path, head.at, head.op, &packed)? else {
        bail!(file.at(head.at), BadValue, "record", "a chunk", ("opcode {}", head.op));
    };
    limits.check_unpacked(&file.at(head.at), "chunk unpacked", size, file.length)?;
    let prefix = format!("chunk at byte {}: ", head.at);
    let broken = |found: String| {
        fault!(file.at(head.at), Decompress, "{prefix}data", "one frame of LZ4", found).salvageable(WHOLE_CHUNKS)
    };
    // What is held of the file counts too.
    let left = limits.max_memory.map(|most| most.saturating_sub(packed.len() as u64 + held));
    let bytes = {
        let mut window = 0;
        let mut reader: Box<dyn Read> = match compression {
            "" => Box::new(data),
            "lz4" => {
                let (reader, behind) = lz4::frame(data, size).ok_or_else(|| broken("something else".into()))?;
                if !behind.is_empty() {
                    return Err(broken(format!("{} bytes behind it", behind.len())));
                }
                Box::new(reader)
            }
            "zstd" => {
                let zstd = Zstd::new(data, size);
                window = zstd.window();
                Box::new(zstd)
            }
            other => {
                let wanted = "none, lz4 or zstd";
                bail!(file.at(head.at), UnsupportedFormat, "compression", wanted, excerpt(other.as_bytes()));
            }
        };
        let mut source = Source::part(file.path, &mut *reader, size, false, prefix.clone()).within(left);
        source.take(usize::try_from(window).unwrap_or(usize::MAX))?;
        let bytes = source.values::<u8>(usize::try_from(size).unwrap_or(usize::MAX), false);
        // Fewer bytes than said are no cut: the chunk itself is whole.
        let bytes = bytes.map_err(|e| match e {
            IoError::Truncated(d) | IoError::Decompress(d) => IoError::Decompress(d).salvageable(WHOLE_CHUNKS),
            e => e,
        })?;
        if !source.drain()? {
            bail!(source, Decompress, "data", "{size} bytes", "more");
        }
        bytes
    };
    let sum = crc32fast::hash(&bytes);
    // 0 says that there is none.
    if wanted != 0 && wanted != sum {
        let wanted = format!("the checksum {wanted:08x}");
        let field = format!("{prefix}data");
        return Err(fault!(file.at(head.at), Decompress, field, wanted, "{sum:08x}").salvageable(WHOLE_CHUNKS));
    }
    Ok(bytes)
}
