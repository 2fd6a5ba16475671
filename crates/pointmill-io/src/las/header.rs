//! The header of a LAS file: a fixed layout, all numbers little-endian.
//!
//! The texts in the header (system, software) may be any bytes. This module compares counts and
//! offsets with each other and with the file before any of them is used to allocate or to loop.

use crate::bytes::{f64_at, u16_at, u32_at, u64_at};
use crate::error::{IoError, POINTS_BEFORE, excerpt};
use crate::fault::{bail, fault};
use crate::warning::Warning;
use crate::window::Window;

/// The first bytes of every LAS file.
pub(crate) const MAGIC: &[u8] = b"LASF";

/// Sizes in bytes of a header: up to version 1.2, of version 1.3 and of version 1.4.
const LEAST: usize = 227;
const LEAST_1_3: usize = 235;
pub(super) const LEAST_1_4: usize = 375;
/// The newest minor version that is known.
pub(super) const NEWEST_MINOR: u8 = 5;
/// The newest that is written.
pub(super) const NEWEST_WRITTEN: u8 = 4;
/// The bit of the global encoding of version 1.5 that times are relative to an offset.
pub(super) const OFFSET_TIME: u16 = 1 << 6;
/// Sizes in bytes of the head of a variable length record and of an extended one. The data of a
/// record follow its head.
pub(super) const VLR_HEAD: usize = 54;
pub(super) const EVLR_HEAD: usize = 60;

/// Size in bytes of a record without extra bytes, for each format.
const RECORDS: [usize; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// First bytes of a header, up to the day of the file.
const DESCRIBED: usize = 94;

/// What a salvage reads if records before the points are wrong.
pub(super) const POINTS_THERE: &str = "the points where the header says that they are";

/// The minimum size of a record in bytes. `None` if the format does not exist.
pub(super) fn least_record(format: u8) -> Option<usize> {
    RECORDS.get(usize::from(format)).copied()
}

/// The newest point format that a minor version of LAS 1 may have. All earlier formats are accepted
/// too, because files use some formats before the version that defines them: there are files of
/// version 1.1 with colours.
pub(super) const fn newest_format(minor: u8) -> u8 {
    match minor {
        0..=2 => 3,
        3 => 5,
        _ => 10,
    }
}

/// The values of a header.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Offset of the points in the file.
    pub(super) offset: u64,
    /// The bits of the global encoding.
    pub(super) encoding: u16,
    /// The number of variable length records before the points.
    pub(super) vlrs: u64,
    /// The minor version; the major version is 1.
    pub(super) minor: u8,
    /// The point data record format, 0 to 10.
    pub(super) format: u8,
    /// Whether the points are compressed (LAZ).
    pub(super) compressed: bool,
    /// Size of a point record in bytes.
    pub(super) record: usize,
    pub(super) points: u64,
    /// A coordinate is its integer times `scale`, plus `shift`. The unit is metres or the unit of
    /// the projection of the file.
    pub(super) scale: [f64; 3],
    pub(super) shift: [f64; 3],
    /// The bounding box that the file declares. Readers use it for a warning only.
    pub(super) min: [f64; 3],
    pub(super) max: [f64; 3],
    /// Offset and number of the extended records, which follow the points.
    pub(super) extended: Option<(u64, u64)>,
    /// Whether waveform data may follow the points.
    pub(super) waveforms: bool,
    /// Whether records of a damaged file are left out, which only a salvage does.
    pub(super) is_damaged: bool,
    /// Its first bytes.
    pub(super) head: Vec<u8>,
    /// What is odd about the header.
    pub(super) warnings: Vec<Warning>,
}

impl Header {
    /// Reads the header. The window is then right after it. If `salvage`, the number of variable
    /// length records may be wrong, and extended records that are not in the file are left out.
    pub(super) fn read(window: &mut Window<'_, '_>, salvage: bool) -> Result<Self, IoError> {
        let length = window.left();
        let taken = window.bytes(LEAST)?;
        let mut bytes = window.at(&taken).to_vec();
        if !bytes.starts_with(&MAGIC[..MAGIC.len().min(bytes.len())]) {
            bail!(window, BadHeader, "signature", (excerpt(MAGIC)), excerpt(&bytes[..MAGIC.len().min(bytes.len())]));
        }
        if bytes.len() < LEAST {
            return Err(short(window, LEAST, bytes.len()));
        }
        let (major, minor) = (bytes[24], bytes[25]);
        let least = match (major, minor) {
            (1, 0..=2) => LEAST,
            (1, 3) => LEAST_1_3,
            // The times that version 1.5 adds are not needed.
            (1, 4..) => LEAST_1_4,
            _ => {
                bail!(window, UnsupportedFormat, "version", "1.0 to 1.5", "{major}.{minor}");
            }
        };
        // Later versions keep the fields of earlier ones.
        let (said, minor) = (minor, minor.min(NEWEST_MINOR));
        let size = usize::from(u16_at(&bytes, 94));
        if size < least {
            let wanted = format!("at least {least} bytes for version {major}.{minor}");
            bail!(window, BadHeader, "header size", wanted, "{size} bytes");
        }
        let more = window.bytes(size - LEAST)?;
        bytes.extend_from_slice(window.at(&more));
        if bytes.len() < size {
            return Err(short(window, size, bytes.len()));
        }
        let mut header = Self::parse(&bytes, minor);
        if said > minor {
            header.warnings.insert(0, Warning::LaterVersion { said: format!("1.{said}"), read: format!("1.{minor}") });
        }
        header.check(window, length, size as u64)?;
        // An offset to the points is at least the size of the header.
        let room = (header.offset - size as u64) / VLR_HEAD as u64;
        if header.vlrs > room {
            let wanted = format!("at most {room}, which fit before the points");
            let reason = fault!(window, SizeMismatch, "number of variable length records", wanted, header.vlrs);
            header.leave_out(salvage, reason.salvageable(POINTS_THERE))?;
            header.vlrs = room;
        }
        if let Err(e) = header.check_extended(window, length) {
            header.leave_out(salvage, e)?;
            header.extended = None;
        }
        Ok(header)
    }

    /// Notes that something of the file is left out, if that is wanted; else returns the reason as
    /// an error.
    pub(super) fn leave_out(&mut self, salvage: bool, reason: IoError) -> Result<(), IoError> {
        self.is_damaged |= salvage;
        if salvage { Ok(()) } else { Err(reason) }
    }

    /// The size of the header of a minor version that is written.
    pub(super) const fn size(minor: u8) -> usize {
        match minor {
            0..=2 => LEAST,
            3 => LEAST_1_3,
            _ => LEAST_1_4,
        }
    }

    fn parse(bytes: &[u8], minor: u8) -> Self {
        let three = |at: usize| std::array::from_fn(|axis| f64_at(bytes, at + 8 * axis));
        let bounds: [f64; 6] = std::array::from_fn(|i| f64_at(bytes, 179 + 8 * i));
        let extended = (minor >= 4).then(|| (u64_at(bytes, 235), u64::from(u32_at(bytes, 243))));
        // Compressors set the highest bit of the format, which no format uses.
        let (format, compressed) = (bytes[104] & 0x7f, bytes[104] & 0x80 != 0);
        let old = u64::from(u32_at(bytes, 107));
        let (offset, record) = (u64::from(u32_at(bytes, 96)), usize::from(u16_at(bytes, 105)));
        let mut warnings = vec![];
        let points = if minor < 4 {
            old
        } else {
            // Formats before 6 have the number of points in both fields; later formats have 0 in the
            // old field. It counts where the new one has none.
            let new = u64_at(bytes, 247);
            let points = if new == 0 { old } else { new };
            if old != 0 && old != new {
                let (field, said) = if points == old {
                    ("number of points", new)
                } else {
                    ("number of points of earlier versions", old)
                };
                warnings.push(Warning::Overruled {
                    field: field.into(),
                    said: said.to_string(),
                    used: points.to_string(),
                });
            }
            points
        };
        Self {
            offset,
            encoding: u16_at(bytes, 6),
            vlrs: u64::from(u32_at(bytes, 100)),
            minor,
            format,
            compressed,
            record,
            points,
            scale: three(131),
            shift: three(155),
            min: [bounds[1], bounds[3], bounds[5]],
            max: [bounds[0], bounds[2], bounds[4]],
            extended: extended.filter(|&(_, count)| count > 0),
            waveforms: minor >= 3 && u64_at(bytes, 227) > 0,
            is_damaged: false,
            head: bytes[..DESCRIBED].to_vec(),
            warnings,
        }
    }

    /// Compares the numbers with each other, with the size of the header and, if it is known, with
    /// the length of the file.
    fn check(&self, window: &Window<'_, '_>, length: Option<u64>, size: u64) -> Result<(), IoError> {
        let bad = |field: &str, wanted: String, found: String| Err(fault!(window, BadHeader, field, wanted, found));
        let Some(least) = least_record(self.format) else {
            bail!(window, UnsupportedFormat, "point format", "a format from 0 to 10", self.format);
        };
        let newest = newest_format(self.minor);
        if self.format > newest {
            let wanted = format!("at most {newest}, the newest of version 1.{}", self.minor);
            return bad("point format", wanted, self.format.to_string());
        }
        if self.record < least {
            let wanted = format!("at least {least} bytes for point format {}", self.format);
            return bad("point record length", wanted, format!("{} bytes", self.record));
        }
        if self.offset < size {
            let wanted = format!("at least {size}, the header's size");
            return bad("offset to point data", wanted, self.offset.to_string());
        }
        if let Some(length) = length.filter(|&length| length < self.offset) {
            bail!(window, Truncated, "offset to point data", "at most {length}, the file's length", self.offset);
        }
        for axis in 0..3 {
            let name = ["x", "y", "z"][axis];
            let (scale, shift) = (self.scale[axis], self.shift[axis]);
            if !scale.is_finite() || scale == 0.0 {
                return bad(&format!("{name} scale factor"), "a finite number other than 0".into(), scale.to_string());
            }
            if !shift.is_finite() {
                return bad(&format!("{name} offset"), "a finite number".into(), shift.to_string());
            }
            // The largest coordinate that any integer gives. Above the largest f64 it would be
            // infinite.
            let farthest = f64::from(i32::MIN).abs() * scale.abs() + shift.abs();
            if !farthest.is_finite() {
                let wanted = "one that makes finite coordinates of whole numbers of 32 bits".into();
                return bad(&format!("{name} scale factor"), wanted, format!("{scale:e}"));
            }
        }
        Ok(())
    }

    /// Compares the place of the extended records with the offset to the points and, if it is
    /// known, with the length of the file.
    fn check_extended(&self, window: &Window<'_, '_>, length: Option<u64>) -> Result<(), IoError> {
        let Some((start, count)) = self.extended else { return Ok(()) };
        if start < self.offset {
            let wanted = format!("at least {}, the offset to point data", self.offset);
            let field = "start of extended records";
            return Err(fault!(window, BadHeader, field, wanted, start).salvageable(POINTS_THERE));
        }
        let end = start.checked_add(count * EVLR_HEAD as u64);
        if let Some(length) = length.filter(|&length| end.is_none_or(|end| end > length)) {
            let wanted = format!("{count} from {start} on, {EVLR_HEAD} bytes or more each");
            let found = format!("{} bytes", length.saturating_sub(start));
            let field = "extended variable length records";
            return Err(fault!(window, Truncated, field, wanted, found).salvageable(POINTS_BEFORE));
        }
        Ok(())
    }
}

fn short(window: &Window<'_, '_>, wanted: usize, found: usize) -> IoError {
    let found = if found == 0 { "an empty file".into() } else { format!("{found} bytes") };
    fault!(window, Truncated, "header", "{wanted} bytes", found)
}
