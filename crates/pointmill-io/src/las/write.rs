//! Writes LAS 1.1 to 1.4 and, with the feature `laz`, compressed LAS (LAZ).

use super::extra;
use super::extra_column::{ExtraColumn, value};
use super::grid::coordinate;
use super::header::{Header, MAGIC, NEWEST_WRITTEN, least_record, newest_format};
use super::layout::{MAX_EXTRA, columns};
use super::vlr::{CRS, described, extended, vlr};
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::files::Place;
use crate::files::write_to;
use crate::format::Format;
use crate::named_points::{Long, NamedPoints};
use crate::names;
use crate::parts::{Parts, dtypes, each_row};
use crate::records::{Coding, Entry};
use crate::survey::{Grid, Record, Survey};
use crate::values::whole_range;
use pointmill_core::array::Dtype;
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The formats for points of other files, of which the first that holds the columns is taken.
const FORMATS: [u8; 7] = [0, 1, 2, 3, 6, 7, 8];
/// Bits of the global encoding that say nothing of waveforms.
const ENCODING: u16 = 0b1_1001;

/// The columns of a cloud in point records.
struct Records<'a> {
    cloud: &'a dyn Parts,
    dtypes: Vec<Dtype>,
    grid: Grid,
    format: u8,
    /// The fields of the format that the cloud has, by column.
    known: Vec<(usize, Entry)>,
    /// The columns that LAS does not know.
    extra: Vec<ExtraColumn>,
    /// The minor version.
    minor: u8,
    /// Bytes of a record.
    record: usize,
}

/// Writes the points; compressed if the name ends in `.laz`.
pub(crate) fn write_points(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write_parts(to, cloud)
}

/// As [`write_points`], part by part.
pub(crate) fn write_parts(to: Place<'_>, cloud: &dyn Parts) -> Result<(), IoError> {
    cloud.check(to.path)?;
    let compressed = to.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("laz"));
    let name = to.path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if name.ends_with(".copc.laz") {
        bail!(to.path, UnsupportedFormat, "ending", ".laz without .copc; COPC is only read", ".copc.laz");
    }
    if compressed && !cfg!(feature = "laz") {
        bail!(to.path, UnsupportedFormat, "format", "las, or a build with the feature `laz`", "laz");
    }
    let survey = cloud.survey().cloned().unwrap_or_default();
    let records = Records::new(cloud, to.path, &survey, compressed)?;
    let head = records.head(&survey, compressed)?;
    write_to(&to, |out| {
        out.write_all(&head)?;
        if compressed {
            records.pack(out)?;
        } else {
            records.each(&mut |record| out.write_all(record))?;
        }
        let behind: Vec<_> = survey.kept.iter().filter(|record| record.is_extended).collect();
        if behind.is_empty() {
            return Ok(());
        }
        let start = out.stream_position()?;
        behind.iter().try_for_each(|record| out.write_all(&extended(record)))?;
        out.seek(SeekFrom::Start(235))?;
        out.write_all(&start.to_le_bytes())?;
        out.write_all(&(behind.len() as u32).to_le_bytes())
    })
}

impl<'a> Records<'a> {
    fn new(cloud: &'a dyn Parts, path: &Path, survey: &Survey, compressed: bool) -> Result<Self, IoError> {
        let grid = Grid::of(cloud, path, survey.grid)?;
        let fields = |format| columns(&Header { format, ..Header::default() });
        let is_known = |name: &str| [3, 8].into_iter().flat_map(fields).any(|entry| entry.name == name);
        let (known, extra): (Vec<_>, Vec<_>) =
            (3..cloud.fields().len()).partition(|&j| is_known(&cloud.fields()[j].name));
        let dtypes = dtypes(cloud, Long::Always)?;
        let extra =
            extra.into_iter().map(|j| ExtraColumn::of(cloud, &dtypes, j, survey)).collect::<Result<Vec<_>, _>>()?;
        let more: usize = extra.iter().map(|extra| extra.dtype.bytes()).sum();
        let most = usize::from(u16::MAX) / extra::EACH;
        if compressed && more > MAX_EXTRA {
            let wanted = format!("at most {MAX_EXTRA} in .laz; write .las or .ply, or fewer columns");
            bail!(path, LimitExceeded, "bytes of columns that LAS does not know", wanted, more);
        }
        if extra.len() > most {
            let wanted = format!("at most {most} that LAS does not know; write .ply, or fewer");
            bail!(path, LimitExceeded, "columns", wanted, (extra.len()));
        }
        let mut records =
            Self { cloud, dtypes, grid, format: 0, known: vec![], extra, minor: NEWEST_WRITTEN, record: 0 };
        let mut reason = None;
        for format in survey.format.map(without_waves).into_iter().chain(FORMATS) {
            let mut fields = fields(format);
            let entry = |&j: &usize| {
                let place = fields.iter().position(|entry| entry.name == cloud.fields()[j].name)?;
                Some((j, fields.swap_remove(place)))
            };
            let Some(entries) = known.iter().map(entry).collect::<Option<Vec<_>>>() else { continue };
            (records.format, records.known) = (format, entries);
            records.record = least_record(format).unwrap_or_default() + more;
            match records.check(path) {
                Ok(()) => {
                    records.minor = records.minor_for(survey);
                    return Ok(records);
                }
                Err(e) => reason = Some(e),
            }
        }
        // The last format has all columns.
        Err(reason.unwrap_or_else(|| fault!(path, InvalidArgument, "columns", "those of a point format", "others")))
    }

    /// Checks that the fields hold every value.
    fn check(&self, path: &Path) -> Result<(), IoError> {
        let mut record = vec![0; self.record];
        self.cloud.each(&mut |before, part| {
            let columns = part.as_columns(&self.dtypes);
            for i in 0..part.points.len() {
                for (j, entry) in &self.known {
                    let value = value(part, &columns, i, *j);
                    if value.is_some_and(|v| put(entry, v, &mut record)) {
                        continue;
                    }
                    let (name, i) = (&entry.name, before + i);
                    let short = |v: f64| if f64::from(v as f32) == v { (v as f32).to_string() } else { v.to_string() };
                    let found = value.map_or_else(|| "a number that no f64 holds".into(), short);
                    let wanted = format!(
                        "{}; write .ply, which holds any number, or scale or round the column first",
                        wanted(entry)
                    );
                    bail!(path, InvalidArgument, "`{name}` of point {i}", wanted, found);
                }
            }
            Ok(true)
        })
    }

    /// Makes all records, one after the other.
    fn each(&self, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut record = Vec::with_capacity(self.record);
        let has = |name: &str| self.known.iter().any(|(_, entry)| entry.name == name);
        // A point of no known return is the only one of its pulse.
        let second = if self.format < 6 { 3 } else { 4 };
        let returns = u8::from(!has("return_number")) | (u8::from(!has("number_of_returns")) << second);
        let known = least_record(self.format).unwrap_or_default();
        each_row(self.cloud, &self.dtypes, &mut |part, columns, i| {
            record.clear();
            record.resize(known, 0);
            for axis in 0..3 {
                let step = self.step(part, i, axis);
                record[4 * axis..4 * axis + 4].copy_from_slice(&step.to_le_bytes());
            }
            record[14] = returns;
            for (j, entry) in &self.known {
                put(entry, value(part, columns, i, *j).unwrap_or_default(), &mut record);
            }
            for extra in &self.extra {
                extra.put(part, columns, i, &mut record);
            }
            take(&record)
        })
    }

    /// The whole number of a coordinate, which the grid has.
    fn step(&self, part: &NamedPoints<'_>, i: usize, axis: usize) -> i32 {
        self.grid.step(axis, coordinate(part, i, axis)).unwrap_or_default()
    }

    /// The version of the file that was read, if it has room for what is written, else the newest.
    fn minor_for(&self, survey: &Survey) -> u8 {
        let has_extended = survey.kept.iter().any(|record| record.is_extended);
        let few = u32::try_from(self.cloud.points()).is_ok();
        match survey.minor {
            minor @ 1..4 if few && !has_extended && self.format <= newest_format(minor) => minor,
            _ => NEWEST_WRITTEN,
        }
    }

    /// All before the points.
    fn head(&self, survey: &Survey, compressed: bool) -> Result<Vec<u8>, IoError> {
        let mut records: Vec<_> = survey.crs.iter().map(|crs| vlr((CRS, crs.id), &crs.data)).collect();
        let others = survey.kept.iter().filter(|record| !record.is_extended);
        records.extend(others.map(|of| described((&of.user, of.id), &of.description, &of.data)));
        if !self.extra.is_empty() {
            records.push(vlr(extra::RECORD, &self.extra_bytes()));
        }
        #[cfg(feature = "laz")]
        if compressed {
            let mut packing = vec![];
            // A vector takes all that is written.
            self.packing().write_to(&mut packing).ok();
            records.push(vlr((b"laszip encoded", 22204), &packing));
        }
        let has = |id| survey.crs.iter().any(|crs| crs.id == id);
        // Of a file that has both, the one that counted counts.
        let is_wkt = has(Record::WKT) && (survey.encoding & Survey::IS_WKT != 0 || !has(Record::KEYS));
        // Version 1.2 has the first of these bits, 1.4 that of the system.
        let encoding = match self.minor {
            ..2 => 0,
            2..4 => survey.encoding & ENCODING,
            _ => {
                (survey.encoding & ENCODING & !Survey::IS_WKT)
                    | if self.format >= 6 || is_wkt { Survey::IS_WKT } else { 0 }
            }
        };
        let ([min, max], returns) = self.counted()?;
        let n = self.cloud.points();
        let size = Header::size(self.minor);
        let mut head = vec![0; size];
        let mut set = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        set(26, b"pointmill");
        set(0, &survey.head);
        set(0, MAGIC);
        set(6, &encoding.to_le_bytes());
        set(24, &[1, self.minor]);
        set(58, &[0; 32]);
        set(58, b"pointmill");
        set(94, &(size as u16).to_le_bytes());
        let offset = size + records.iter().map(Vec::len).sum::<usize>();
        set(96, &(offset as u32).to_le_bytes());
        set(100, &(records.len() as u32).to_le_bytes());
        set(104, &[self.format | if compressed { 0x80 } else { 0 }]);
        set(105, &(self.record as u16).to_le_bytes());
        if let Some(n) = u32::try_from(n).ok().filter(|_| self.format < 6) {
            // Fields of earlier versions.
            set(107, &n.to_le_bytes());
            (0..5).for_each(|i| set(111 + 4 * i, &(returns[i] as u32).to_le_bytes()));
        }
        for axis in 0..3 {
            set(131 + 8 * axis, &self.grid.scale[axis].to_le_bytes());
            set(155 + 8 * axis, &self.grid.shift[axis].to_le_bytes());
            set(179 + 16 * axis, &max[axis].to_le_bytes());
            set(187 + 16 * axis, &min[axis].to_le_bytes());
        }
        if self.minor >= 4 {
            set(247, &(n as u64).to_le_bytes());
            (0..15).for_each(|i| set(255 + 8 * i, &returns[i].to_le_bytes()));
        }
        head.extend(records.concat());
        Ok(head)
    }

    /// The box of the coordinates as they are read, and the number of points of each return, from
    /// the first on.
    fn counted(&self) -> Result<([[f64; 3]; 2], [u64; 15]), IoError> {
        let (mut min, mut max, mut counts) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3], [0; 15]);
        let column = self.known.iter().find(|(_, entry)| entry.name == "return_number").map(|(j, _)| *j);
        self.cloud.each(&mut |_, part| {
            let columns = part.as_columns(&self.dtypes);
            for i in 0..part.points.len() {
                for axis in 0..3 {
                    let v = self.grid.at(axis, self.step(part, i, axis));
                    (min[axis], max[axis]) = (min[axis].min(v), max[axis].max(v));
                }
                let number = column.map_or(Some(1.0), |j| value(part, &columns, i, j)).unwrap_or_default() as usize;
                if let Some(count) = number.checked_sub(1).and_then(|i| counts.get_mut(i)) {
                    *count += 1;
                }
            }
            Ok(true)
        })?;
        let bounds = if self.cloud.points() == 0 { [[0.0; 3]; 2] } else { [min, max] };
        Ok((bounds, counts))
    }

    /// What the columns are that LAS does not know.
    fn extra_bytes(&self) -> Vec<u8> {
        let names = names::written(self.cloud.fields(), Format::Las);
        let mut told = vec![0; extra::EACH * self.extra.len()];
        for (to, extra) in told.chunks_exact_mut(extra::EACH).zip(&self.extra) {
            let name = &names[extra.column];
            to.copy_from_slice(&extra.told);
            to[4..4 + name.len()].copy_from_slice(name.as_bytes());
        }
        told
    }

    #[cfg(feature = "laz")]
    fn packing(&self) -> laz::LazVlr {
        let more = self.record - least_record(self.format).unwrap_or_default();
        let items = laz::LazItemRecordBuilder::default_for_point_format_id(self.format, more as u16);
        laz::LazVlr::from_laz_items(items.expect("one of FORMATS"))
    }

    #[cfg(feature = "laz")]
    fn pack(&self, out: &mut BufWriter<File>) -> io::Result<()> {
        let mut packer = laz::LasZipCompressor::new(out, self.packing()).map_err(io::Error::other)?;
        self.each(&mut |record| packer.compress_one(record))?;
        packer.done()
    }

    #[cfg(not(feature = "laz"))]
    fn pack(&self, _: &mut BufWriter<File>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The format of the same fields without wave packets, which are not read.
fn without_waves(format: u8) -> u8 {
    match format {
        4 => 1,
        5 => 3,
        9 => 6,
        10 => 8,
        _ => format,
    }
}

/// Puts a value into a record; false if its field does not hold it.
fn put(entry: &Entry, v: f64, record: &mut [u8]) -> bool {
    let at = entry.field.start;
    let Some((min, max)) = range(entry) else {
        record[at..at + 8].copy_from_slice(&v.to_le_bytes());
        return true;
    };
    let (steps, is_held) = match entry.coding {
        Coding::Scaled { scale, .. } => {
            let steps = (v / scale).round();
            (steps, (steps * scale) as f32 == v as f32)
        }
        _ => (v, v.fract() == 0.0),
    };
    if !is_held || !(min as f64..=max as f64).contains(&steps) {
        return false;
    }
    let bytes = (steps as i64).to_le_bytes();
    match entry.coding {
        Coding::Bits { lowest, .. } => record[at] |= bytes[0] << lowest,
        Coding::Scaled { .. } => record[at..at + 2].copy_from_slice(&bytes[..2]),
        Coding::Plain | Coding::Linear { .. } => {
            record[at..at + entry.dtype.bytes()].copy_from_slice(&bytes[..entry.dtype.bytes()]);
        }
    }
    true
}

/// The type of a field that has whole numbers in every point format that has it.
pub(crate) fn whole_field(name: &str) -> Option<Dtype> {
    let fields = [3, 8].into_iter().flat_map(|format| columns(&Header { format, ..Header::default() }));
    let named: Vec<_> = fields.filter(|entry| entry.name == name).collect();
    let is_whole = |entry: &Entry| range(entry).is_some() && !matches!(entry.coding, Coding::Scaled { .. });
    named.last().filter(|_| named.iter().all(is_whole)).map(|entry| entry.dtype)
}

/// The whole numbers of a field; `None` if it has any `f64`.
fn range(entry: &Entry) -> Option<(i128, i128)> {
    match entry.coding {
        Coding::Plain => whole_range(entry.dtype),
        Coding::Bits { count, .. } => Some((0, (1 << count) - 1)),
        Coding::Linear { .. } => None,
        Coding::Scaled { .. } => whole_range(Dtype::I16),
    }
}

/// What a field holds.
fn wanted(entry: &Entry) -> String {
    let (min, max) = range(entry).unwrap_or_default();
    match entry.coding {
        Coding::Scaled { scale, .. } => format!("a multiple of {scale} from {min} to {max} of it"),
        _ => format!("a whole number from {min} to {max}"),
    }
}
