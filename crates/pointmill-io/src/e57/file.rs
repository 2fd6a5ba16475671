//! An E57 file as the decoder sees it, and the decoder's errors as ours.

use crate::error::{Detail, IoError};
use crate::source::ReadSeek;
use e57::{E57Reader, Error};
use std::error::Error as _;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of the header, and where in it stand the length of the file and of its XML.
const HEADER: usize = 48;
const LENGTHS: [usize; 2] = [16, 32];

/// How every E57 file starts.
pub(super) const MAGIC: &[u8; 8] = b"ASTM-E57";

/// A reader that seeks only where it is not yet: the decoder seeks before each page, and a buffer would be filled anew.
pub(super) struct Pages<'a> {
    reader: &'a mut dyn ReadSeek,
    at: u64,
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

/// Opens a file: its length is checked, then all checksums, then its description is parsed.
pub(super) fn open<'a>(path: &Path, reader: &'a mut dyn ReadSeek) -> Result<(E57Reader<Pages<'a>>, u64), IoError> {
    let length = reader.seek(SeekFrom::End(0)).map_err(IoError::io(path, "seek"))?;
    let at = reader.seek(SeekFrom::Start(0)).map_err(IoError::io(path, "seek"))?;
    let mut pages = Pages { reader, at };
    let mut header = [0; HEADER];
    if length < HEADER as u64 {
        let detail = Detail::new(path, "header", format!("{HEADER} bytes"), format!("{length} bytes"));
        return Err(IoError::Truncated(detail.at(Some(length))));
    }
    pages.read_exact(&mut header).map_err(IoError::io(path, "read"))?;
    if !header.starts_with(MAGIC) {
        let found = header[..MAGIC.len()].escape_ascii().to_string();
        return Err(IoError::BadHeader(Detail::new(path, "header", "ASTM-E57", found).at(Some(0))));
    }
    let [declared, xml] = LENGTHS.map(|at| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&header[at..at + 8]);
        u64::from_le_bytes(eight)
    });
    if declared != length {
        let detail = Detail::new(path, "length", format!("{declared} bytes"), format!("{length} bytes"));
        let detail = detail.at(Some(length.min(declared)));
        return Err(if length < declared { IoError::Truncated(detail) } else { IoError::SizeMismatch(detail) });
    }
    // Before memory is taken for as much.
    if xml > length {
        let detail =
            Detail::new(path, "XML", format!("at most {length} bytes, as the file has"), format!("{xml} bytes"));
        return Err(IoError::BadHeader(detail.at(Some(LENGTHS[1] as u64))));
    }
    pages.seek(SeekFrom::Start(0)).map_err(IoError::io(path, "seek"))?;
    E57Reader::validate_crc(&mut pages).map_err(|e| refused(path, "pages", &e))?;
    pages.seek(SeekFrom::Start(0)).map_err(IoError::io(path, "seek"))?;
    Ok((E57Reader::new(pages).map_err(|e| refused(path, "description", &e))?, length))
}

/// The decoder's error: what the system refused, a checksum, an end too early, or what is not valid.
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
