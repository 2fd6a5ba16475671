//! LZ4 frames, decoded with a block no larger than the data need.
//!
//! The decoder clears a block of the size that a frame names, up to 4 MiB, whatever comes. Where
//! that is larger than what is to come, the header is replaced by one that names a smaller block.

use lz4_flex::frame::FrameDecoder;
use std::io::{Cursor, Read};

/// How every frame starts.
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// A reader of the frame that bytes begin with, which unpacks to `size` bytes, and the bytes behind
/// the frame; `None` if no frame is there.
pub(crate) fn frame(bytes: &[u8], size: u64) -> Option<(impl Read + '_, &[u8])> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let &[flags, block, ..] = rest else { return None };
    // Behind the two bytes: the size of the content, a dictionary, the checksum of what stands
    // before it.
    let described = 2 + if flags & 8 != 0 { 8 } else { 0 } + if flags & 1 != 0 { 4 } else { 0 };
    let (description, rest) = rest.split_at_checked(described)?;
    let (&sum, blocks) = rest.split_first()?;
    if sum != checksum(description) {
        return None;
    }
    // 4 to 7 are 64 KiB to 4 MiB, each four times the one before.
    let smallest = (4..7).find(|n| 1 << (2 * n + 8) >= size).unwrap_or(7);
    let mut description = description.to_vec();
    description[1] = block & 0x8f | (block >> 4 & 7).min(smallest) << 4;
    let sum = checksum(&description);
    let head = [&MAGIC[..], &description, &[sum]].concat();
    let (blocks, behind) = blocks.split_at(length(blocks, flags));
    Some((FrameDecoder::new(Cursor::new(head).chain(blocks)), behind))
}

/// Bytes of a frame's blocks up to its end, or to the end of the bytes.
fn length(blocks: &[u8], flags: u8) -> usize {
    let sum = if flags & 0x10 != 0 { 4 } else { 0 };
    let mut at = 0usize;
    while let Some(head) = blocks.get(at..).and_then(<[u8]>::first_chunk) {
        let block = u32::from_le_bytes(*head);
        at += 4;
        if block == 0 {
            return (at + if flags & 4 != 0 { 4 } else { 0 }).min(blocks.len());
        }
        // The highest bit says that the block is as it was.
        at = at.saturating_add((block & 0x7fff_ffff) as usize + sum);
    }
    blocks.len()
}

/// The byte that protects a header of fewer than 16 bytes: the second of their xxHash of 32 bits.
fn checksum(bytes: &[u8]) -> u8 {
    const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = PRIMES[4].wrapping_add(bytes.len() as u32);
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(PRIMES[2]));
        hash = hash.rotate_left(17).wrapping_mul(PRIMES[3]);
    }
    for &byte in rest {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(PRIMES[4]));
        hash = hash.rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(PRIMES[1]);
    hash = (hash ^ hash >> 13).wrapping_mul(PRIMES[2]);
    ((hash ^ hash >> 16) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;

    fn packed(info: FrameInfo, data: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, vec![]);
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn frames_of_every_kind_come_back_and_end_where_they_end() {
        let long: Vec<u8> = (0..300_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        for size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
            for data in [&long[..4], &long[..70_000], &long] {
                for mode in [BlockMode::Independent, BlockMode::Linked] {
                    for checked in [false, true] {
                        let info = FrameInfo::new().block_size(size).block_mode(mode).block_checksums(checked);
                        let info = info.content_checksum(checked).content_size(checked.then_some(data.len() as u64));
                        let mut bytes = packed(info, data);
                        bytes.extend(b"behind");
                        let (mut reader, behind) = frame(&bytes, data.len() as u64).unwrap();
                        let mut out = vec![];
                        reader.read_to_end(&mut out).unwrap();
                        assert!(out == data && behind == b"behind");
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_are_no_larger_than_the_data() {
        let bytes = packed(FrameInfo::new().block_size(BlockSize::Max4MB), &[1, 2, 3, 4]);
        let mut out = [0; 4];
        let used = allocation_counter::measure(|| frame(&bytes, 4).unwrap().0.read_exact(&mut out).unwrap());
        assert!(out == [1, 2, 3, 4] && used.bytes_max < 256 << 10, "{} bytes", used.bytes_max);
        // A header that is not as it was written, and none.
        let mut other = bytes.clone();
        other[4] ^= 8;
        assert!(frame(&other, 4).is_none() && frame(&bytes[..6], 4).is_none() && frame(b"", 4).is_none());
        // A frame that is cut ends with its bytes.
        assert!(frame(&bytes[..bytes.len() - 5], 4).unwrap().1.is_empty());
    }
}
