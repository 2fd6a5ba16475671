//! A zip archive read with care: what it claims is checked before it is believed.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::{Detail, IoError};
use crate::fault::{bail, fault};
use crate::limits::Limits;
use crate::npy::Header;
use crate::source::Source;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// The most members of an archive.
const MAX_MEMBERS: usize = 10_000;

/// The most end records that are tried. Writers make one; a comment or a member may hold the bytes
/// of another. Each that is tried may cost as much as reading the whole file.
const MAX_ENDS: usize = 8;
/// Bytes of an end record, and how it begins.
const END: usize = 22;
const END_MAGIC: &[u8] = b"PK\x05\x06";

/// What an archive may always hold unpacked, in bytes, and by which factor it may otherwise grow.
/// Measured, sweeps of KITTI and nuScenes deflate by 1.8 and 2.5, their padded voxels by 3.9 and
/// 7.7; a file of zeros, the "zip bomb", deflates by a thousand, and members that share their bytes
/// by any factor.
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
            bail!(path, Truncated, "archive", "a zip archive", "an empty file");
        }
        check_end(path, &mut reader, length)?;
        let zip = ZipArchive::new(reader).map_err(|e| zip_error(path, "archive", e))?;
        if zip.len() > MAX_MEMBERS {
            bail!(path, LimitExceeded, "members", "at most {MAX_MEMBERS}", zip.len());
        }
        let mut archive = Self { path, zip, length, memory: limits.max_memory };
        archive.check_growth(limits)?;
        Ok(archive)
    }

    /// Checks what the members claim to be unpacked, all together, against the limit given, else
    /// against the length of the file.
    fn check_growth(&mut self, limits: &Limits) -> Result<(), IoError> {
        let mut sum = 0u64;
        for index in 0..self.zip.len() {
            let member = self.zip.by_index_data(index).map_err(|e| zip_error(self.path, "archive", e))?;
            sum = sum.saturating_add(member.size());
        }
        let growth = FREE_UNPACKED.max(self.length.saturating_mul(MAX_GROWTH));
        limits.check_decoded(self.path, "archive unpacked", sum, growth, "100 times the file")
    }

    /// The arrays: index and name, in the archive's order.
    pub(super) fn names(&self) -> Result<Vec<(usize, String)>, IoError> {
        let mut names = Vec::new();
        for index in 0..self.zip.len() {
            let member = self.zip.by_index_data(index).map_err(|e| zip_error(self.path, "archive", e))?;
            let name = member.name().map_err(|e| zip_error(self.path, "member name", e))?;
            if let Some(name) = name.strip_suffix(".npy") {
                names.push((index, name.to_owned()));
            }
        }
        Ok(names)
    }

    /// Hands the bytes of a member to `read`, then checks that they end where they should and have
    /// the right checksum.
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
            bail!(path, SizeMismatch, "{field}: stored size", wanted, found);
        }
        let there = member.data_start().map_or(0, |start| length.saturating_sub(start));
        if member.compressed_size() > there {
            let [wanted, found] = [member.compressed_size(), there].map(|n| format!("{n} bytes"));
            bail!(path, Truncated, field, wanted, found);
        }
        let mut source = Source::part(path, &mut member, size, stored, format!("{field}: ")).within(self.memory);
        let value = read(&mut source)?;
        self.memory = self.memory.map(|left| left.saturating_sub(source.taken()));
        if source.drain()? {
            return Ok(value);
        }
        Err(fault!(path, SizeMismatch, "{field}: size", "{size} bytes unpacked", "more"))
    }

    /// The only array of two axes, as its header says.
    pub(super) fn only_matrix(
        &mut self,
        names: Vec<(usize, String)>,
        points: &str,
    ) -> Result<(usize, String), IoError> {
        let is_voxels = ["coords", "num_points"].iter().all(|array| names.iter().any(|(_, name)| name == array));
        let mut seen = Vec::new();
        let mut matrices = Vec::new();
        for (index, name) in names {
            let header = {
                let field = format!("array `{name}`");
                let mut member = self.zip.by_index(index).map_err(|e| zip_error(self.path, &field, e))?;
                let size = member.size();
                Header::read(&mut Source::part(self.path, &mut member, size, false, format!("{field}: ")))
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
        if is_voxels {
            found = format!("the output of `pointmill voxelize`, which is neither a cloud nor a map: {found}");
        }
        let wanted = format!("an array `{points}`, or exactly one array with two axes");
        Err(fault!(self.path, MissingField, "archive", wanted, found))
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

/// Checks the end records, before the zip crate sees them. It takes memory for as many members as
/// 64-bit ones claim, up to ten times the length of the file, before it has seen one; and it tries
/// one end record after the other, from the last, until the members of one can be listed.
fn check_end(path: &Path, reader: &mut (impl Read + Seek), length: u64) -> Result<(), IoError> {
    // Before the end record, which a comment of up to 65535 bytes may follow, stands a locator, and
    // before that its record.
    const RECORD: usize = 56;
    const LOCATOR: usize = 20;
    let tail_length = length.min((RECORD + LOCATOR + END + 0xffff) as u64);
    let tail_start = length - tail_length;
    reader.seek(SeekFrom::Start(tail_start)).map_err(IoError::io(path, "seek"))?;
    let mut tail = Vec::new();
    reader.take(tail_length).read_to_end(&mut tail).map_err(IoError::io(path, "read"))?;
    for at in 0..tail.len().saturating_sub(LOCATOR) {
        if !tail[at..].starts_with(b"PK\x06\x07") || !tail[at + LOCATOR..].starts_with(b"PK\x05\x06") {
            continue;
        }
        // All writers put the record right before the locator, which tells its place.
        let record = at.checked_sub(RECORD).filter(|&record| {
            tail[record..].starts_with(b"PK\x06\x06") && u64_at(&tail, at + 8) == tail_start + record as u64
        });
        let Some(record) = record else {
            bail!(path, BadHeader, "archive", "the record of 64-bit sizes right before its locator", "none");
        };
        let members = u64_at(&tail, record + 32);
        if members > MAX_MEMBERS as u64 {
            bail!(path, LimitExceeded, "members", "at most {MAX_MEMBERS}", members);
        }
    }
    let mut tried = 0;
    for at in (0..tail.len().saturating_sub(END - 1)).rev().filter(|&at| tail[at..].starts_with(END_MAGIC)) {
        tried += 1;
        if tried > MAX_ENDS {
            bail!(path, LimitExceeded, "end records", "at most {MAX_ENDS}", "more");
        }
        if ends_search(path, reader, &tail[at..], tail_start + at as u64)? {
            break;
        }
    }
    Ok(())
}

/// Whether the zip crate goes past an end record at `at` in no case: one of 32-bit sizes whose
/// comment is whole, with the list of members right before it.
fn ends_search(path: &Path, reader: &mut (impl Read + Seek), record: &[u8], at: u64) -> Result<bool, IoError> {
    let (two, four) = (|at: usize| u16_at(record, at), |at: usize| u32_at(record, at));
    let (disks, members, [size, offset]) = ([two(4), two(6)], [two(8), two(10)], [four(12), four(16)]);
    let plain = disks == [0, 0] && members[0] == members[1] && (1..u16::MAX).contains(&members[0]);
    let placed = size < u32::MAX && offset < u32::MAX && u64::from(offset) + u64::from(size) == at && size > 0;
    if !plain || !placed || END + usize::from(two(20)) > record.len() {
        return Ok(false);
    }
    let mut first = [0; 4];
    reader.seek(SeekFrom::Start(offset.into())).map_err(IoError::io(path, "seek"))?;
    reader.read_exact(&mut first).map_err(IoError::io(path, "read"))?;
    Ok(first == *b"PK\x01\x02")
}

/// What makes bad archives for other tests too.
#[cfg(test)]
#[path = "../../tests/common/ends.rs"]
mod ends;

#[cfg(test)]
mod tests {
    use super::ends::{end, many_ends};
    use super::*;
    use std::io::Cursor;

    /// A reader that counts the bytes that were read.
    struct Counted(Cursor<Vec<u8>>, u64);

    impl Read for Counted {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let got = self.0.read(out)?;
            self.1 += got as u64;
            Ok(got)
        }
    }

    impl Seek for Counted {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    /// Opens an archive; the error, if there is one, and the bytes that were read.
    fn open(bytes: Vec<u8>) -> (Option<IoError>, u64) {
        let mut reader = Counted(Cursor::new(bytes), 0);
        let opened = Archive::open(Path::new("a.npz"), &mut reader, &Limits::default()).map(drop);
        (opened.err(), reader.1)
    }

    #[test]
    fn many_end_records_are_refused_before_the_list_of_members_is_read() {
        let bytes = many_ends(1 << 20, 1000);
        let length = bytes.len() as u64;
        let (e, read) = open(bytes);
        let told = e.unwrap().to_string();
        assert!(told.contains("end records: expected at most 8, got more"), "{told}");
        assert!(read < 2 * length, "{read} of {length} bytes");
        // As many as are allowed cost their number of times, and no more.
        let bytes = many_ends(1 << 20, MAX_ENDS);
        let (e, read) = open(bytes);
        assert!(e.is_some());
        assert!(read < 2 * MAX_ENDS as u64 * length, "{read} of {length} bytes");
    }

    #[test]
    fn end_records_inside_of_a_member_are_nobodys() {
        let mut zip = zip::ZipWriter::new(Cursor::new(vec![]));
        let stored = zip::write::SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Stored);
        zip.start_file("bytes.npy", stored).unwrap();
        io::Write::write_all(&mut zip, &end(1, 46, 0, 0).repeat(100)).unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        assert!(open(bytes.clone()).0.is_none());
        // With a comment behind the true one, in which it stands more than the allowed number of
        // times.
        let at = bytes.len() - 22;
        let strays = end(1, 46, 0, 0).repeat(MAX_ENDS);
        let mut commented = bytes[..at].to_vec();
        commented.extend(&bytes[at..at + 20]);
        commented.extend((strays.len() as u16).to_le_bytes());
        commented.extend(&strays);
        assert_eq!(open(commented).0.unwrap().class(), "LimitExceeded");
    }
}
