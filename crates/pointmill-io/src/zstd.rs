//! Zstandard, with a window no larger than the data need, for which memory is asked first.
//!
//! The decoder takes the window that a frame names, and panics if that is refused. Where the window
//! is larger than what is to come, the header is replaced by one that says just that.

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::hint::black_box;
use std::io::{self, Chain, Cursor, ErrorKind, Read};

/// How every frame starts.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Windows of fewer bytes are not asked for.
const SMALL: u64 = 256 << 10;

/// The decoder of a frame: of a header that replaces its own, and of what follows.
type Decoder<'a> = StreamingDecoder<Chain<Cursor<Vec<u8>>, &'a [u8]>, FrameDecoder>;

/// Frames, one after the other, that unpack to a number of bytes that is known.
pub(crate) struct Zstd<'a> {
    rest: &'a [u8],
    decoder: Option<Decoder<'a>>,
    /// Bytes that are still to come.
    left: u64,
    /// The window of the first frame.
    window: u64,
}

impl<'a> Zstd<'a> {
    /// Frames that unpack to `size` bytes.
    pub(crate) fn new(frames: &'a [u8], size: u64) -> Self {
        let window = window(frames).map_or(0, |(_, window)| window.min(size));
        Self { rest: frames, decoder: None, left: size, window }
    }

    /// Bytes of memory that the decoder takes for its window.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// The decoder of the next frame.
    fn next(&self) -> io::Result<Decoder<'a>> {
        let (mut head, mut rest) = (vec![], self.rest);
        if let Some((length, window)) = window(rest) {
            if window > self.left {
                let (old, behind) = rest.split_at(length);
                // One segment, whose window is its content of 64 bits; checksum and dictionary
                // stay.
                head.extend(MAGIC);
                head.push(old[4] & 0x1f | 0xe0);
                let dictionary = 5 + usize::from(old[4] & 0x20 == 0);
                head.extend(&old[dictionary..dictionary + dictionary_bytes(old[4])]);
                head.extend(self.left.to_le_bytes());
                rest = behind;
            }
            let window = window.min(self.left);
            if window > self.window {
                let told = format!("a frame with a window of {window} bytes after one of {}", self.window);
                return Err(io::Error::other(told));
            }
            ask(window)?;
        }
        StreamingDecoder::new(Cursor::new(head).chain(rest)).map_err(io::Error::other)
    }
}

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut decoder = match self.decoder.take() {
                Some(decoder) => decoder,
                None if self.rest.is_empty() || buffer.is_empty() => return Ok(0),
                None => self.next()?,
            };
            let got = decoder.read(buffer)?;
            self.left = self.left.saturating_sub(got as u64);
            if got > 0 {
                self.decoder = Some(decoder);
                return Ok(got);
            }
            self.rest = decoder.into_inner().into_inner().1;
        }
    }
}

/// Asks for the memory that the decoder will take for a window, and gives it back: its buffer
/// doubles, is copied, and holds a block more.
fn ask(window: u64) -> io::Result<()> {
    if window < SMALL {
        return Ok(());
    }
    let bytes = usize::try_from(window.saturating_mul(3).saturating_add(2 * SMALL)).unwrap_or(usize::MAX);
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    black_box(&memory);
    Ok(())
}

fn dictionary_bytes(flags: u8) -> usize {
    [0, 1, 2, 4][usize::from(flags & 3)]
}

/// Bytes of a frame's header and its window; `None` if there is none.
fn window(frame: &[u8]) -> Option<(usize, u64)> {
    let flags = *frame.strip_prefix(&MAGIC)?.first()?;
    let is_single = flags & 0x20 != 0;
    let content = if flags < 0x40 { usize::from(is_single) } else { 1 << (flags >> 6) };
    let length = 5 + usize::from(!is_single) + dictionary_bytes(flags) + content;
    let head = frame.get(..length)?;
    if is_single {
        let mut number = [0; 8];
        number[..content].copy_from_slice(&head[length - content..]);
        // Two bytes start where one ends.
        return Some((length, u64::from_le_bytes(number).saturating_add(if content == 2 { 256 } else { 0 })));
    }
    let base = 1 << (10 + (head[5] >> 3));
    Some((length, base + base / 8 * u64::from(head[5] & 7)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of zeros in blocks of a byte each that asks for a window: the descriptor's exponent
    /// from 2^10 on.
    fn zeros(exponent: u8, blocks: u32) -> Vec<u8> {
        let mut frame = [&MAGIC[..], &[0, exponent << 3]].concat();
        for i in 0..blocks {
            let head = (128 << 10) << 3 | 1 << 1 | u32::from(i + 1 == blocks);
            frame.extend([&head.to_le_bytes()[..3], &[0]].concat());
        }
        frame
    }

    #[test]
    fn windows_are_no_larger_than_the_data() {
        let size = 256 << 10;
        // A window of 2 GiB and one of a block.
        for exponent in [21, 7] {
            let frames = [zeros(exponent, 1), zeros(exponent, 1)].concat();
            let mut out = vec![];
            let mut zstd = Zstd::new(&frames, size);
            assert_eq!(zstd.window(), size.min(1 << (10 + exponent)));
            let used = allocation_counter::measure(|| {
                zstd.read_to_end(&mut out).unwrap();
            });
            assert!(out.len() == size as usize && out.iter().all(|&v| v == 0), "{}", out.len());
            assert!(used.bytes_max < 3 << 20, "{} bytes", used.bytes_max);
        }
        // More than was said ends with the first block.
        let frame = zeros(21, 4000);
        let used = allocation_counter::measure(|| assert!(Zstd::new(&frame, 1000).read_to_end(&mut vec![]).is_err()));
        assert!(used.bytes_max < 3 << 20, "{} bytes", used.bytes_max);
    }

    #[test]
    fn memory_is_asked_for_before_it_is_taken() {
        // More than any machine has: the decoder itself would panic.
        let frame = [&MAGIC[..], &[0xe0], &(1u64 << 62).to_le_bytes(), &[1, 0, 0]].concat();
        let e = Zstd::new(&frame, 1 << 62).read(&mut [0; 8]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::OutOfMemory);
    }

    #[test]
    fn headers_of_every_kind_are_understood() {
        let head = |rest: &[u8]| window(&[&MAGIC[..], rest, &[9; 12]].concat());
        assert_eq!(head(&[0x20, 77]), Some((6, 77)));
        assert_eq!(head(&[0x60, 1, 1]), Some((7, 513)));
        assert_eq!(head(&[0xa3, 1, 2, 3, 4, 1, 1, 0, 0]), Some((13, 257)));
        assert_eq!(head(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0]), Some((13, 1 << 32)));
        assert_eq!(head(&[0x40, 0x51, 0, 0]), Some((8, 1152 << 10)));
        assert_eq!((window(&MAGIC), window(b"PK\x03\x04 ...")), (None, None));
    }
}
