//! Bytes into values, with memory taken only for bytes that are there.

use crate::error::{Detail, IoError};
use crate::fault::{Context, bail, fault};
use crate::values::Raw;
use bytemuck::cast_slice_mut;
use std::cell::Cell;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

/// Bytes read at a time. It fits the second-level cache, so clearing the memory before the read
/// costs little; and where the length is only claimed, it is all that a lie can make us take.
const CHUNK: usize = 256 << 10;

/// A stream of bytes, its name, and what is known of its length.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    reader: &'a mut dyn Read,
    /// Bytes left by a length that was checked (a file's own, not one that a header claims).
    left: Option<u64>,
    /// For a member of an archive, whose errors are the archive's and not the system's: bytes left
    /// as the archive claims. No more are read, but so many need not come.
    claimed: Option<u64>,
    /// Said before the names of fields: the array's name in an archive.
    prefix: String,
    /// Bytes got so far.
    position: u64,
    /// Memory that may be taken, and memory taken so far, in bytes.
    max_memory: u64,
    taken: Cell<u64>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &'a Path, reader: &'a mut dyn Read, length: Option<u64>) -> Self {
        Self {
            path,
            reader,
            left: length,
            claimed: None,
            prefix: String::new(),
            position: 0,
            max_memory: u64::MAX,
            taken: Cell::new(0),
        }
    }

    /// The source with a limit on the memory that is taken for it.
    pub(crate) fn within(self, max_memory: Option<u64>) -> Self {
        Self { max_memory: max_memory.unwrap_or(u64::MAX), ..self }
    }

    /// The source, of a file of which so many bytes were read before.
    #[cfg(feature = "laz")]
    pub(crate) fn starting(self, position: u64) -> Self {
        Self { position, ..self }
    }

    /// A part of a file with positions of its own that claims to have `size` bytes; `stored` if
    /// they are known to be there. Errors name `prefix` before their fields.
    pub(crate) fn part(path: &'a Path, reader: &'a mut dyn Read, size: u64, stored: bool, prefix: String) -> Self {
        Self { claimed: Some(size), prefix, ..Self::new(path, reader, stored.then_some(size)) }
    }

    /// How many bytes were read; `None` in an archive.
    pub(crate) fn position(&self) -> Option<u64> {
        self.claimed.is_none().then_some(self.position)
    }

    /// Counts memory that is about to be taken for what the file says, and refuses what is above
    /// the limit.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), IoError> {
        let taken = self.taken.get().saturating_add(bytes as u64);
        if taken > self.max_memory {
            let wanted = format!("at most {} bytes (the limit `max_memory`, --max-memory)", self.max_memory);
            bail!(self, LimitExceeded, "memory", wanted, "{taken} bytes or more");
        }
        self.taken.set(taken);
        Ok(())
    }

    /// The memory that was counted so far, in bytes.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// An empty vector with room for `count` values, counted.
    pub(crate) fn room<T>(&self, count: usize) -> Result<Vec<T>, IoError> {
        let bytes = count.saturating_mul(size_of::<T>());
        self.take(bytes)?;
        let mut room = Vec::new();
        room.try_reserve_exact(count).map_err(|_| self.out_of_memory(bytes))?;
        Ok(room)
    }

    /// The most bytes that can come, if that is known or claimed.
    pub(crate) fn at_most(&self) -> Option<u64> {
        self.left.or(self.claimed)
    }

    /// Reads what is left of a member, with which its checksum is compared; whether it is no more
    /// than claimed.
    pub(crate) fn drain(&mut self) -> Result<bool, IoError> {
        let mut rest = [0; 4096];
        let mut left = self.claimed.replace(u64::MAX).unwrap_or(u64::MAX);
        loop {
            let got = self.fill(&mut rest)? as u64;
            if got == 0 || got > left {
                return Ok(got == 0);
            }
            left -= got;
        }
    }

    pub(crate) fn left(&self) -> Option<u64> {
        self.left
    }

    /// Fills `buffer` as far as there are bytes; the number of bytes got.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, IoError> {
        let most = self.claimed.map_or(buffer.len(), |claimed| claimed.min(buffer.len() as u64) as usize);
        let buffer = &mut buffer[..most];
        let mut got = 0;
        while got < buffer.len() {
            match self.reader.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(e)),
            }
        }
        self.advance(got as u64);
        Ok(got)
    }

    /// Appends `count` bytes to `out`, as far as there are as many; the number of bytes got. The
    /// memory is not cleared before.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, count: u64) -> Result<u64, IoError> {
        let count = self.claimed.map_or(count, |claimed| claimed.min(count));
        let mut done = 0;
        while done < count && self.left != Some(0) {
            // What is known to be there at once.
            let step = self.left.unwrap_or(CHUNK as u64).min(count - done);
            self.reserve(out, usize::try_from(step).unwrap_or(usize::MAX))?;
            let got = (&mut *self.reader).take(step).read_to_end(out).map_err(|e| self.failed(e))? as u64;
            self.advance(got);
            done += got;
            if got < step {
                break;
            }
        }
        Ok(done)
    }

    /// Counts bytes that were got.
    fn advance(&mut self, got: u64) {
        self.position += got;
        self.left = self.left.map(|left| left.saturating_sub(got));
        self.claimed = self.claimed.map(|claimed| claimed - got);
    }

    /// What a reader's error means.
    fn failed(&self, e: std::io::Error) -> IoError {
        if e.kind() == ErrorKind::OutOfMemory && e.raw_os_error().is_none() {
            return self.out_of_memory(usize::try_from(self.at_most().unwrap_or_default()).unwrap_or(usize::MAX));
        }
        if self.claimed.is_some() && e.raw_os_error().is_none() {
            return fault!(self, Decompress, "data", "a valid compressed stream", e);
        }
        IoError::io(self.path, "read")(e)
    }

    /// Reads `count` values.
    pub(crate) fn values<T: Raw>(&mut self, count: usize, big_endian: bool) -> Result<Vec<T>, IoError> {
        let (out, rest) = self.at_most_values(count as u64, big_endian)?;
        if out.len() < count {
            let [wanted, found] = [count, out.len()].map(|n: usize| n as u64 * size_of::<T>() as u64);
            bail!(self, Truncated, "data", "{wanted} bytes", ("{} bytes", found + rest as u64));
        }
        Ok(out)
    }

    /// Reads to the end, or until `at_least` values are there; the values and the number of bytes
    /// after the last whole one.
    pub(crate) fn until_end<T: Raw>(&mut self, at_least: u64, big_endian: bool) -> Result<(Vec<T>, usize), IoError> {
        let chunk = (CHUNK / size_of::<T>()) as u64;
        self.at_most_values(at_least.div_ceil(chunk).saturating_mul(chunk), big_endian)
    }

    /// Reads `most` values, or as many as come; the values and the number of bytes after the last
    /// whole one. Takes all the memory at once if the bytes are known to be there.
    fn at_most_values<T: Raw>(&mut self, most: u64, big_endian: bool) -> Result<(Vec<T>, usize), IoError> {
        let each = size_of::<T>();
        let is_there = self.left.is_some_and(|left| u128::from(left) >= u128::from(most) * each as u128);
        let mut out = if is_there { self.room(most as usize)? } else { vec![] };
        while (out.len() as u64) < most {
            let start = out.len();
            let step = (most - start as u64).min((CHUNK / each) as u64) as usize;
            self.reserve(&mut out, step)?;
            out.resize(start + step, T::zeroed());
            let got = self.fill(cast_slice_mut(&mut out[start..]))?;
            out.truncate(start + got / each);
            order(&mut out[start..], big_endian);
            if got < step * each {
                return Ok((out, got % each));
            }
        }
        Ok((out, 0))
    }

    pub(crate) fn reserve<T>(&self, out: &mut Vec<T>, more: usize) -> Result<(), IoError> {
        // What there is was counted when it was made.
        let room = out.capacity();
        let beyond = (out.len() + more).saturating_sub(room);
        self.take(beyond * size_of::<T>())?;
        out.try_reserve(more).map_err(|_| self.out_of_memory((out.len() + more) * size_of::<T>()))?;
        // Vectors double, which is more than was asked for.
        let doubled = (out.capacity() - room).saturating_sub(beyond) * size_of::<T>();
        self.taken.set(self.taken.get() + doubled as u64);
        Ok(())
    }

    pub(crate) fn out_of_memory(&self, bytes: usize) -> IoError {
        fault!(self, OutOfMemory, "memory", "{bytes} bytes", "a refusal")
    }
}

impl Context for Source<'_> {
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        Detail::new(self.path, format!("{}{field}", self.prefix), wanted, found).at(self.position())
    }
}

/// A reader that can go back.
pub(crate) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Puts values as read into the machine's byte order.
fn order<T: Raw>(values: &mut [T], big_endian: bool) {
    if big_endian != cfg!(target_endian = "big") {
        for v in values {
            *v = v.swapped();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, and an interruption before each.
    struct Slow(Vec<u8>, bool);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            if self.0.is_empty() {
                return Ok(0);
            }
            buffer[0] = self.0.remove(0);
            Ok(1)
        }
    }

    #[test]
    fn slow_readers_give_the_same() {
        let mut reader = Slow(vec![0, 1, 0, 2, 9], false);
        let mut source = Source::new(Path::new("s"), &mut reader, None);
        assert_eq!(source.values::<u16>(2, true).unwrap(), [1, 2]);
        let e = source.values::<u16>(1, true).unwrap_err();
        assert_eq!(e.to_string(), "s: data: expected 2 bytes, got 1 bytes");
    }

    #[test]
    fn a_claimed_length_takes_no_memory() {
        // 2^59 values of 8 bytes, of which none is there: more than any machine has.
        for reading in [
            Source::new(Path::new("s"), &mut [].as_slice(), None).values::<f64>(1 << 59, false).map(drop),
            Source::new(Path::new("s"), &mut [].as_slice(), None).values::<u32>(1 << 59, true).map(drop),
        ] {
            assert_eq!(reading.unwrap_err().class(), "Truncated");
        }
    }

    #[test]
    fn ends_between_values_are_told() {
        let bytes: Vec<u8> = (0..CHUNK + 7).map(|i| i as u8).collect();
        let mut reader = &bytes[..];
        let (values, rest) = Source::new(Path::new("s"), &mut reader, None).until_end::<u32>(u64::MAX, false).unwrap();
        assert_eq!((values.len(), rest), (CHUNK / 4 + 1, 3));
        assert_eq!(values[1], 0x0706_0504);
    }
}
