//! An E57 file as the decoder sees it, and the decoder's errors as ours.

use super::xml;
use crate::bytes::u64_at;
use crate::error::{Detail, IoError};
use crate::fault::{At, bail, fault};
use crate::source::ReadSeek;
use e57::{E57Reader, Error, PointCloud};
use std::error::Error as _;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of the header, and where in it stand the length of the file and of its XML.
const HEADER: usize = 48;
const LENGTHS: [usize; 2] = [16, 32];

/// How every E57 file starts.
pub(super) const MAGIC: &[u8; 8] = b"ASTM-E57";

/// Bytes of a page, and of its content, behind which is a checksum.
const PAGE: u64 = 1024;
const CONTENT: u64 = 1020;

/// Bytes of content that are read together: at first a few, then more and more, up to a packet and
/// the header of the next.
const TOGETHER: [usize; 2] = [2 << 10, 68 << 10];

/// A reader that seeks only where it is not yet: the decoder seeks before each page, and a buffer
/// would be filled anew.
pub(super) struct Pages<'a> {
    reader: &'a mut dyn ReadSeek,
    at: u64,
    /// Bytes of the file.
    length: u64,
    /// Content that was read, and where it starts.
    buffer: Vec<u8>,
    start: u64,
    together: usize,
}

impl Pages<'_> {
    /// Where a place in the file is in its content.
    pub(super) fn place(&self, path: &Path, offset: u64, what: &str) -> Result<u64, IoError> {
        if offset < self.length && offset % PAGE < CONTENT {
            return Ok(offset / PAGE * CONTENT + offset % PAGE);
        }
        Err(fault!(path, BadHeader, "points", ("{what} in the {} bytes of the file", self.length), "at {offset}"))
    }

    /// Reads little at first again.
    pub(super) fn restart(&mut self) {
        self.together = TOGETHER[0];
    }

    /// Bytes of the content, whose checksums were verified.
    pub(super) fn content(&mut self, path: &Path, at: u64, count: usize) -> Result<&[u8], IoError> {
        let whole = self.length / PAGE * CONTENT;
        let there = at.checked_sub(self.start).filter(|from| from + count as u64 <= self.buffer.len() as u64);
        let from = match there {
            Some(from) => from as usize,
            None => {
                let left = whole.saturating_sub(at);
                if left < count as u64 {
                    bail!(path, Truncated, "points", "{count} bytes at {at}", "{left} bytes");
                }
                self.fill(at, (count.max(self.together) as u64).min(left)).map_err(IoError::io(path, "read"))?;
                self.together = TOGETHER[1].min(2 * self.together);
                0
            }
        };
        Ok(&self.buffer[from..from + count])
    }

    /// Fills the buffer with content, which lies in the file.
    fn fill(&mut self, at: u64, count: u64) -> io::Result<()> {
        let physical = |at: u64| at / CONTENT * PAGE + at % CONTENT;
        let (first, last) = (physical(at), physical(at + count - 1) + 1);
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.resize((last - first) as usize, 0);
        self.seek(SeekFrom::Start(first))?;
        self.read_exact(&mut bytes)?;
        // The content of the pages one after the other, over their checksums.
        let mut end = ((CONTENT - at % CONTENT) as usize).min(bytes.len());
        let mut from = end + (PAGE - CONTENT) as usize;
        while from < bytes.len() {
            let part = (CONTENT as usize).min(bytes.len() - from);
            bytes.copy_within(from..from + part, end);
            (end, from) = (end + part, from + PAGE as usize);
        }
        bytes.truncate(end);
        (self.buffer, self.start) = (bytes, at);
        Ok(())
    }
}

impl Read for Pages<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Seek for Pages<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Start(self.at) {
            self.at = self.reader.seek(to)?;
        }
        Ok(self.at)
    }
}

/// Opens a file: its length is checked, then all checksums, then its description is checked and
/// parsed. Its scans, and its length.
pub(super) fn open<'a>(
    path: &Path,
    reader: &'a mut dyn ReadSeek,
    max_memory: Option<u64>,
) -> Result<(Vec<PointCloud>, Pages<'a>, u64), IoError> {
    let length = reader.seek(SeekFrom::End(0)).map_err(IoError::io(path, "seek"))?;
    let at = reader.seek(SeekFrom::Start(0)).map_err(IoError::io(path, "seek"))?;
    let mut pages = Pages { reader, at, length, buffer: vec![], start: 0, together: TOGETHER[0] };
    let mut header = [0; HEADER];
    if length < HEADER as u64 {
        return Err(fault!(path, Truncated, "header", "{HEADER} bytes", "{length} bytes").at(Some(length)));
    }
    pages.read_exact(&mut header).map_err(IoError::io(path, "read"))?;
    if !header.starts_with(MAGIC) {
        return Err(fault!(path, BadHeader, "header", "ASTM-E57", header[..MAGIC.len()].escape_ascii()).at(Some(0)));
    }
    let [declared, xml] = LENGTHS.map(|at| u64_at(&header, at));
    if declared != length {
        let at = At { path, offset: Some(length.min(declared)) };
        if length < declared {
            bail!(at, Truncated, "length", "{declared} bytes", "{length} bytes");
        }
        bail!(at, SizeMismatch, "length", "{declared} bytes", "{length} bytes");
    }
    // Before memory is taken for as much.
    if xml > length {
        let wanted = format!("at most {length} bytes, as the file has");
        return Err(fault!(path, BadHeader, "XML", wanted, "{xml} bytes").at(Some(LENGTHS[1] as u64)));
    }
    pages.seek(SeekFrom::Start(0)).map_err(IoError::io(path, "seek"))?;
    E57Reader::validate_crc(&mut pages).map_err(|e| refused(path, "pages", &e))?;
    let xml = E57Reader::raw_xml(&mut pages).map_err(|e| refused(path, "description", &e))?;
    xml::check(path, &xml, max_memory)?;
    drop(xml);
    pages.seek(SeekFrom::Start(0)).map_err(IoError::io(path, "seek"))?;
    let scans = E57Reader::new(&mut pages).map_err(|e| refused(path, "description", &e))?.pointclouds();
    Ok((scans, pages, length))
}

/// The decoder's error: what the system refused, a checksum, an end too early, or what is not
/// valid.
pub(super) fn refused(path: &Path, field: &str, error: &Error) -> IoError {
    let mut found = error.to_string();
    let mut cause = error.source();
    let mut kind = None;
    while let Some(e) = cause {
        if let Some(e) = e.downcast_ref::<io::Error>() {
            if let Some(code) = e.raw_os_error() {
                return IoError::io(path, "read")(io::Error::from_raw_os_error(code));
            }
            kind = Some(e.kind());
        }
        found = format!("{found}: {e}");
        cause = e.source();
    }
    let detail = Detail::new(path, field, "a valid E57 file", found);
    match (error, kind) {
        (_, Some(ErrorKind::InvalidData)) => IoError::Decompress(detail),
        (_, Some(ErrorKind::UnexpectedEof)) => IoError::Truncated(detail),
        (Error::NotImplemented { .. }, _) => IoError::UnsupportedFormat(detail),
        _ => IoError::BadHeader(detail),
    }
}
