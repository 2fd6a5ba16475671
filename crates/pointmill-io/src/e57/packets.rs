//! The points of a scan: packets, in which each value of a point has a stream of bits of its own.
//!
//! A stream may run ahead of the others; what is held of it are its bytes in the file.

use super::file::Pages;
use crate::bytes::u64_at;
use crate::error::IoError;
use crate::fault::{bail, fault};
use e57::{RecordDataType, RecordValue};
use std::path::Path;

/// Bytes of a section's header and of a packet's.
const SECTION: usize = 32;
const PACKET: usize = 4;

/// Kinds of packets: an index, data, and one to be passed over.
const INDEX: u8 = 0;
const DATA: u8 = 1;
const IGNORED: u8 = 2;

/// What may still be taken for scans.
#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes of packets: each belongs to one scan, so all have no more than the file.
    pub(super) packets: u64,
    /// Bytes of memory for streams that run ahead.
    pub(super) memory: u64,
}

/// The points of a scan, as they come.
pub(super) struct Packets<'a, 'r> {
    path: &'a Path,
    pages: &'a mut Pages<'r>,
    /// Where the next packet starts, in the content of the file.
    at: u64,
    types: &'a [RecordDataType],
    streams: Vec<Stream>,
    /// Points whose values are all there.
    ready: u64,
}

/// The bits of a value, the lowest first.
#[derive(Debug)]
struct Stream {
    width: usize,
    bytes: Vec<u8>,
    /// Bits that were taken.
    taken: usize,
}

impl<'a, 'r> Packets<'a, 'r> {
    /// Reads the header of the section at a place in the file.
    pub(super) fn new(
        path: &'a Path,
        pages: &'a mut Pages<'r>,
        offset: u64,
        types: &'a [RecordDataType],
        budget: &mut Budget,
    ) -> Result<Self, IoError> {
        let start = pages.place(path, offset, "a section")?;
        pages.restart();
        let header = pages.content(path, start, SECTION)?;
        let (id, length, data) = (header[0], u64_at(header, 8), u64_at(header, 16));
        if id != 1 || length % 4 != 0 {
            let found = format!("section {id} of {length} bytes");
            return Err(wrong(path, "section 1 of a multiple of 4 bytes", found));
        }
        let at = pages.place(path, data, "packets")?;
        spend(path, budget, SECTION as u64)?;
        let stream = |kind| Stream { width: bits(kind), bytes: vec![], taken: 0 };
        Ok(Self { path, pages, at, types, streams: types.iter().map(stream).collect(), ready: 0 })
    }

    /// The values of the next point.
    pub(super) fn next(&mut self, point: &mut Vec<RecordValue>, budget: &mut Budget) -> Result<(), IoError> {
        while self.ready == 0 {
            self.packet(budget)?;
            // Constants take no bits; some value takes some, else there would be no points.
            let there = self.streams.iter().filter_map(|stream| stream.left().checked_div(stream.width));
            self.ready = there.min().unwrap_or(0) as u64;
        }
        self.ready -= 1;
        point.clear();
        for (kind, stream) in self.types.iter().zip(&mut self.streams) {
            let bits = stream.take();
            point.push(match *kind {
                RecordDataType::Single { .. } => RecordValue::Single(f32::from_bits(bits as u32)),
                RecordDataType::Double { .. } => RecordValue::Double(f64::from_bits(bits)),
                RecordDataType::Integer { min, .. } => RecordValue::Integer(min.wrapping_add(bits as i64)),
                RecordDataType::ScaledInteger { min, .. } => RecordValue::ScaledInteger(min.wrapping_add(bits as i64)),
            });
        }
        Ok(())
    }

    /// Takes the next packet.
    fn packet(&mut self, budget: &mut Budget) -> Result<(), IoError> {
        let head = self.pages.content(self.path, self.at, PACKET)?;
        let (kind, length) = (head[0], usize::from(u16::from_le_bytes([head[2], head[3]])) + 1);
        if ![INDEX, DATA, IGNORED].contains(&kind) || length % 4 != 0 {
            let found = format!("kind {kind} of {length} bytes");
            return Err(wrong(self.path, "a packet of kind 0 to 2 of a multiple of 4 bytes", found));
        }
        let packet = self.pages.content(self.path, self.at, length)?;
        spend(self.path, budget, length as u64)?;
        self.at += length as u64;
        if kind == DATA {
            append(self.path, &packet[PACKET..], &mut self.streams, budget)?;
        }
        Ok(())
    }
}

/// Adds the bytes of a packet to the streams.
fn append(path: &Path, packet: &[u8], streams: &mut [Stream], budget: &Budget) -> Result<(), IoError> {
    let number = |at: usize| packet.get(at..at + 2).map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])));
    let count = number(0).unwrap_or(0);
    if count != streams.len() {
        return Err(wrong(path, &format!("a packet of {} streams", streams.len()), count.to_string()));
    }
    let mut at = 2 + 2 * count;
    for (i, stream) in streams.iter_mut().enumerate() {
        let length = number(2 + 2 * i).unwrap_or(usize::MAX);
        let Some(bytes) = at.checked_add(length).and_then(|end| packet.get(at..end)) else {
            let wanted = format!("streams in a packet of {} bytes", packet.len() + PACKET);
            return Err(wrong(path, &wanted, format!("{length} bytes behind {at}")));
        };
        stream.append(bytes).map_err(|bytes| fault!(path, OutOfMemory, "memory", "{bytes} bytes", "a refusal"))?;
        at += length;
    }
    let held = streams.iter().map(|stream| stream.bytes.capacity() as u64).sum::<u64>();
    if held > budget.memory {
        let wanted = format!("at most {} bytes more (the limit `max_memory`, --max-memory)", budget.memory);
        bail!(path, LimitExceeded, "memory", wanted, "{held} bytes of values that run ahead of others");
    }
    Ok(())
}

/// Counts bytes that were walked over.
fn spend(path: &Path, budget: &mut Budget, bytes: u64) -> Result<(), IoError> {
    budget.packets = budget.packets.checked_sub(bytes).ok_or_else(|| {
        let wanted = "packets of their own, which together have no more bytes than the file";
        fault!(path, SizeMismatch, "scans", wanted, "the same packets for several scans")
    })?;
    Ok(())
}

fn wrong(path: &Path, wanted: &str, found: String) -> IoError {
    fault!(path, BadHeader, "points", wanted, found)
}

/// The bits that a value takes in the file; a constant takes none.
pub(super) fn bits(kind: &RecordDataType) -> usize {
    match *kind {
        RecordDataType::Single { .. } => 32,
        RecordDataType::Double { .. } => 64,
        RecordDataType::ScaledInteger { min, max, .. } | RecordDataType::Integer { min, max } => {
            (u64::BITS - max.abs_diff(min).leading_zeros()) as usize
        }
    }
}

impl Stream {
    /// Bits that are there.
    fn left(&self) -> usize {
        8 * self.bytes.len() - self.taken
    }

    /// Adds bytes; else the number of bytes of memory that were refused.
    fn append(&mut self, bytes: &[u8]) -> Result<(), usize> {
        // Bytes that were taken go once they are more than half, so that each is moved once.
        let whole = self.taken / 8;
        if 2 * whole >= self.bytes.len() {
            self.bytes.drain(..whole);
            self.taken -= 8 * whole;
        }
        self.bytes.try_reserve(bytes.len()).map_err(|_| self.bytes.len() + bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The next bits, of which there are enough.
    fn take(&mut self) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let (at, shift) = (self.taken / 8, self.taken % 8);
        let rest = &self.bytes[at..];
        let mut bytes = [0; 16];
        match rest.first_chunk() {
            Some(chunk) => bytes = *chunk,
            None => bytes[..rest.len()].copy_from_slice(rest),
        }
        self.taken += self.width;
        (u128::from_le_bytes(bytes) >> shift) as u64 & (u64::MAX >> (64 - self.width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_whatever_packets_they_lie_in() {
        for width in [1, 7, 8, 20, 33, 63, 64] {
            let values: Vec<u64> = (0..200u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width)).collect();
            let mut bytes = vec![0u8; (width * values.len()).div_ceil(8)];
            for (i, bit) in values.iter().flat_map(|v| (0..width).map(move |bit| v >> bit & 1)).enumerate() {
                bytes[i / 8] |= (bit as u8) << (i % 8);
            }
            let (mut stream, mut found) = (Stream { width, bytes: vec![], taken: 0 }, vec![]);
            for part in bytes.chunks(5) {
                stream.append(part).unwrap();
                assert!(stream.bytes.len() < 32, "{}", stream.bytes.len());
                while stream.left() >= width && found.len() < values.len() {
                    found.push(stream.take());
                }
            }
            assert_eq!(found, values, "{width}");
        }
    }
}
