//! The buffers of a batch: where they are in its body, and what they unpack to.

use crate::error::IoError;
use crate::fault::{At, bail, fault};
use crate::lz4;
use crate::window::Window;
use crate::zstd::Zstd;
use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};

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

/// The buffers of a batch.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) body: Vec<u8>,
    /// Where each starts, and its bytes.
    pub(super) places: Vec<[i64; 2]>,
    pub(super) codec: Option<Codec>,
    /// The number of the batch, for messages.
    pub(super) batch: usize,
}

impl Buffers {
    /// The bytes of a buffer as they lie in the body.
    fn packed(&self, window: &Window<'_, '_>, i: usize, field: &str) -> Result<&[u8], IoError> {
        let [start, length] = self.places[i].map(|n| usize::try_from(n).ok());
        let range = start.and_then(|start| Some(start..start.checked_add(length?)?));
        range.and_then(|range| self.body.get(range)).ok_or_else(|| {
            let [start, length] = self.places[i];
            fault!(window, BadHeader, field, ("a place in {} bytes", self.body.len()), "{length} bytes at {start}")
        })
    }

    /// The bytes that a compressed buffer says it becomes, of which no more count than it can give.
    pub(super) fn unpacked(&self, i: usize) -> u64 {
        let [start, length] = self.places[i].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let packed = self.body.get(start..start.saturating_add(length)).and_then(<[u8]>::split_first_chunk);
        let (Some((said, packed)), Some(codec)) = (packed, self.codec) else { return 0 };
        let said = u64::try_from(i64::from_le_bytes(*said)).unwrap_or(0);
        said.min((packed.len() as u64).saturating_mul(codec.growth()))
    }

    /// Where the first `wanted` bytes of what a buffer holds come from. Memory that they need is
    /// counted.
    pub(super) fn find<'b, 'w: 'b>(
        &'b self,
        window: &Window<'_, 'w>,
        i: usize,
        wanted: usize,
        column: &str,
    ) -> Result<Found<'b>, IoError> {
        let field = format!("batch {}: column `{column}`", self.batch);
        let packed = self.packed(window, i, &field)?;
        let short = |found: String| fault!(window, SizeMismatch, field, "{wanted} bytes", found);
        let Some(codec) = self.codec.filter(|_| !packed.is_empty()) else {
            let bytes = packed.get(..wanted).ok_or_else(|| short(format!("{} bytes", packed.len())))?;
            return Ok(Found::Plain(bytes));
        };
        // Before the compressed bytes stands how many they become, or -1 if they are as they were.
        let Some((length, packed)) = packed.split_first_chunk() else {
            return Err(short(format!("{} bytes, too few to say their length", packed.len())));
        };
        let length = i64::from_le_bytes(*length);
        if length == -1 {
            let bytes = packed.get(..wanted).ok_or_else(|| short(format!("{} bytes", packed.len())))?;
            return Ok(Found::Plain(bytes));
        }
        if usize::try_from(length).ok().is_none_or(|length| length < wanted) {
            return Err(short(format!("{length} bytes uncompressed")));
        }
        if wanted as u64 > (packed.len() as u64).saturating_mul(codec.growth()) {
            let wanted = format!("compressed data of {wanted} bytes");
            bail!(window, Decompress, field, wanted, ("{} bytes, which cannot give as many", packed.len()));
        }
        window.source().take(wanted)?;
        let said = length as u64;
        if codec == Codec::Zstd {
            window.source().take(usize::try_from(Zstd::new(packed, said).window()).unwrap_or(usize::MAX))?;
        }
        Ok(Found::Packed(Packed { bytes: packed, wanted, said, codec, at: window.here(), field }))
    }
}

/// What a buffer holds, or what it unpacks from.
#[derive(Debug)]
pub(super) enum Found<'b> {
    Plain(&'b [u8]),
    Packed(Packed<'b>),
}

/// Compressed bytes, to be unpacked on any thread.
#[derive(Debug)]
pub(super) struct Packed<'b> {
    bytes: &'b [u8],
    wanted: usize,
    /// What all of it becomes.
    said: u64,
    codec: Codec,
    /// Where errors are, and of which column.
    at: At<'b>,
    field: String,
}

impl<'b> Found<'b> {
    /// Unpacks the bytes that are wanted and no more into memory that is used again; nothing where
    /// they are plain.
    pub(super) fn unpack(&self, memory: &mut Vec<u8>) -> Result<(), IoError> {
        if let Self::Packed(packed) = self { packed.unpack(packed.wanted, memory) } else { Ok(()) }
    }

    /// The bytes, after they were unpacked into `memory`.
    pub(super) fn bytes<'m>(&'m self, memory: &'m [u8]) -> &'m [u8] {
        if let Self::Plain(bytes) = self { bytes } else { memory }
    }

    /// The first bytes.
    pub(super) fn first(&self, count: usize) -> Result<Cow<'b, [u8]>, IoError> {
        match self {
            Self::Plain(bytes) => Ok(Cow::Borrowed(&bytes[..count.min(bytes.len())])),
            Self::Packed(packed) => {
                let mut memory = vec![];
                packed.unpack(count.min(packed.wanted), &mut memory)?;
                Ok(Cow::Owned(memory))
            }
        }
    }
}

impl Packed<'_> {
    fn unpack(&self, wanted: usize, out: &mut Vec<u8>) -> Result<(), IoError> {
        let Self { at, wanted: all, .. } = self;
        let refused = || fault!(at, OutOfMemory, "memory", "{all} bytes", "a refusal");
        out.try_reserve_exact(wanted.saturating_sub(out.len())).map_err(|_| refused())?;
        out.resize(wanted, 0);
        let done = match self.codec {
            Codec::Lz4 => lz4::frame(self.bytes, self.said)
                .ok_or_else(|| io::Error::other("no frame of LZ4"))
                .and_then(|(mut reader, _)| reader.read_exact(out)),
            Codec::Zstd => Zstd::new(self.bytes, self.said).read_exact(out),
        };
        done.map_err(|e| match e.kind() {
            ErrorKind::OutOfMemory => refused(),
            _ => fault!(at, Decompress, (self.field), "compressed data of {all} bytes", e),
        })
    }
}
