//! A zip archive read with care: what it claims is checked before it is believed.

use crate::error::{Detail, IoError};
use crate::limits::Limits;
use crate::npy::Header;
use crate::source::Source;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// The most members of an archive.
const MAX_MEMBERS: usize = 10_000;

/// What an archive may always hold unpacked, in bytes, and by which factor it may otherwise grow. Measured, sweeps of KITTI
/// and nuScenes deflate by 1.8 and 2.5, their padded voxels by 3.9 and 7.7; a file of zeros, the "zip bomb", deflates by a
/// thousand, and members that share their bytes by any factor.
const FREE_UNPACKED: u64 = 256 << 20;
const MAX_GROWTH: u64 = 100;

/// A zip archive that is read with care.
pub(super) struct Archive<'a, R> {
    path: &'a Path,
    zip: ZipArchive<R>,
    length: u64,
    /// Memory that members may still take, in bytes.
    memory: Option<u64>,
}

impl<'a, R: Read + Seek> Archive<'a, R> {
    /// Opens an archive of which all members together are to be read within the limits.
    pub(super) fn open(path: &'a Path, mut reader: R, limits: &Limits) -> Result<Self, IoError> {
        let length = reader.seek(SeekFrom::End(0)).map_err(IoError::io(path, "seek"))?;
        if length == 0 {
            return Err(IoError::Truncated(Detail::new(path, "archive", "a zip archive", "an empty file")));
        }
        check_end(path, &mut reader, length)?;
        let zip = ZipArchive::new(reader).map_err(|e| zip_error(path, "archive", e))?;
        if zip.len() > MAX_MEMBERS {
            let wanted = format!("at most {MAX_MEMBERS}");
            return Err(IoError::LimitExceeded(Detail::new(path, "members", wanted, zip.len().to_string())));
        }
        let mut archive = Self { path, zip, length, memory: limits.max_memory };
        archive.check_growth(limits)?;
        Ok(archive)
    }

    /// Checks what the members claim to be unpacked, all together, against the limit given, else against the length of the file.
    fn check_growth(&mut self, limits: &Limits) -> Result<(), IoError> {
        let mut sum = 0u64;
        for index in 0..self.zip.len() {
            let member = self.zip.by_index_data(index).map_err(|e| zip_error(self.path, "archive", e))?;
            sum = sum.saturating_add(member.size());
        }
        let growth = FREE_UNPACKED.max(self.length.saturating_mul(MAX_GROWTH));
        limits.check_decoded(|w, f| Detail::new(self.path, "archive unpacked", w, f), sum, growth, "100 times the file")
    }

    /// The arrays: index and name, in the archive's order.
    pub(super) fn names(&self) -> Result<Vec<(usize, String)>, IoError> {
        let mut names = Vec::new();
        for index in 0..self.zip.len() {
            let member = self.zip.by_index_data(index).map_err(|e| zip_error(self.path, "archive", e))?;
            let name = member.name().map_err(|e| zip_error(self.path, "member name", e))?;
            if let Some(name) = name.strip_suffix(".npy") {
                names.push((index, name.to_string()));
            }
        }
        Ok(names)
    }

    /// Hands the bytes of a member to `read`, then checks that they end where they should and have the right checksum.
    pub(super) fn member<T>(
        &mut self,
        index: usize,
        name: &str,
        read: impl FnOnce(&mut Source<'_>) -> Result<T, IoError>,
    ) -> Result<T, IoError> {
        let (path, length) = (self.path, self.length);
        let field = format!("array `{name}`");
        let mut member = self.zip.by_index(index).map_err(|e| zip_error(path, &field, e))?;
        let size = member.size();
        let stored = member.compression() == CompressionMethod::Stored;
        if stored && member.compressed_size() != size {
            let [wanted, found] = [size, member.compressed_size()].map(|n| format!("{n} bytes"));
            return Err(IoError::SizeMismatch(Detail::new(path, format!("{field}: stored size"), wanted, found)));
        }
        let there = member.data_start().map_or(0, |start| length.saturating_sub(start));
        if member.compressed_size() > there {
            let [wanted, found] = [member.compressed_size(), there].map(|n| format!("{n} bytes"));
            return Err(IoError::Truncated(Detail::new(path, field, wanted, found)));
        }
        let mut source = Source::member(path, &mut member, size, stored, name).within(self.memory);
        let value = read(&mut source)?;
        self.memory = self.memory.map(|left| left.saturating_sub(source.taken()));
        if source.drain()? {
            return Ok(value);
        }
        let wanted = format!("{size} bytes unpacked");
        Err(IoError::SizeMismatch(Detail::new(path, format!("{field}: size"), wanted, "more")))
    }

    /// The only array of two axes, as its header says.
    pub(super) fn only_matrix(
        &mut self,
        names: Vec<(usize, String)>,
        points: &str,
    ) -> Result<(usize, String), IoError> {
        let mut seen = Vec::new();
        let mut matrices = Vec::new();
        for (index, name) in names {
            let header = {
                let field = format!("array `{name}`");
                let mut member = self.zip.by_index(index).map_err(|e| zip_error(self.path, &field, e))?;
                let size = member.size();
                Header::read(&mut Source::member(self.path, &mut member, size, false, &name))
            };
            match header {
                Ok(header) => {
                    seen.push(format!("`{name}` {} {:?}", header.dtype, header.shape));
                    if header.shape.len() == 2 {
                        matrices.push((index, name));
                    }
                }
                // Something beside the points, such as text; it does not stand in the way.
                Err(IoError::UnsupportedFormat(_)) => seen.push(format!("`{name}`")),
                Err(e) => return Err(e),
            }
        }
        if matrices.len() == 1 {
            return Ok(matrices.remove(0));
        }
        const SHOWN: usize = 8;
        let more = seen.len().saturating_sub(SHOWN);
        seen.truncate(SHOWN);
        let mut found = if seen.is_empty() { "no array".into() } else { seen.join(", ") };
        if more > 0 {
            found += &format!(" and {more} more");
        }
        let wanted = format!("an array `{points}`, or only one of two axes");
        Err(IoError::MissingField(Detail::new(self.path, "archive", wanted, found)))
    }
}

/// The crate's error, sorted into ours.
fn zip_error(path: &Path, field: &str, e: ZipError) -> IoError {
    let detail = |wanted: &str, found: String| Detail::new(path, field, wanted, found);
    match e {
        ZipError::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            IoError::Truncated(detail("a whole zip archive", "its end".into()))
        }
        ZipError::Io(e) if e.raw_os_error().is_some() => IoError::io(path, "read")(e),
        ZipError::Io(e) => IoError::BadHeader(detail("a valid zip archive", e.to_string())),
        ZipError::InvalidArchive(what) => IoError::BadHeader(detail("a valid zip archive", what.into_owned())),
        ZipError::FileNotFound => IoError::MissingField(detail("a member", "none".into())),
        e => IoError::UnsupportedFormat(detail("a member stored or deflated, not encrypted", e.to_string())),
    }
}

/// Checks the end records of an archive with 64-bit sizes. The zip crate takes memory for as many members as they claim, up
/// to ten times the length of the file, before it has seen one.
fn check_end(path: &Path, reader: &mut (impl Read + Seek), length: u64) -> Result<(), IoError> {
    // Before the end record, which a comment of up to 65535 bytes may follow, stands a locator, and before that its record.
    const RECORD: usize = 56;
    const LOCATOR: usize = 20;
    const END: usize = 22;
    let tail_length = length.min((RECORD + LOCATOR + END + 0xffff) as u64);
    let tail_start = length - tail_length;
    reader.seek(SeekFrom::Start(tail_start)).map_err(IoError::io(path, "seek"))?;
    let mut tail = Vec::new();
    reader.take(tail_length).read_to_end(&mut tail).map_err(IoError::io(path, "read"))?;
    for at in 0..tail.len().saturating_sub(LOCATOR) {
        if !tail[at..].starts_with(b"PK\x06\x07") || !tail[at + LOCATOR..].starts_with(b"PK\x05\x06") {
            continue;
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| tail[at + i]));
        // All writers put the record right before the locator, which tells its place.
        let record = at.checked_sub(RECORD).filter(|&record| {
            tail[record..].starts_with(b"PK\x06\x06") && number(at + 8) == tail_start + record as u64
        });
        let Some(record) = record else {
            let wanted = "the record of 64-bit sizes right before its locator";
            return Err(IoError::BadHeader(Detail::new(path, "archive", wanted, "none")));
        };
        let members = number(record + 32);
        if members > MAX_MEMBERS as u64 {
            let wanted = format!("at most {MAX_MEMBERS}");
            return Err(IoError::LimitExceeded(Detail::new(path, "members", wanted, members.to_string())));
        }
    }
    Ok(())
}
