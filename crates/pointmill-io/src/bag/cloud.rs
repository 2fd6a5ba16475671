//! Messages of the type `sensor_msgs/PointCloud2` into rows.

use super::fields::{FieldParts, Fields, PointField, is_axis};
use super::wire::{Encoding, Wire};
use crate::error::IoError;
use crate::fault::{Context, bail, fault};
use crate::field::{Field, XYZ};
use crate::limits::Bounds;
use crate::records::{Columns, Entry, MAX_RECORD, Table, records};
use crate::rows::Rows;
use crate::source::Source;
use crate::warning::Warning;
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::path::Path;

/// How many fields may have a byte of a point, on average.
const SHARED: u64 = 4;

/// A message `sensor_msgs/PointCloud2` or `CustomMsg`, with its sizes checked and its points still in bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PointCloud2<'a> {
    /// The time of its header, in nanoseconds since 1970.
    pub stamp_ns: i64,
    /// The frame that x, y, z are in.
    pub frame: String,
    /// Rows of an organized cloud, else 1.
    pub height: u32,
    /// Points of a row.
    pub width: u32,
    /// The fields, in the order of the message.
    pub fields: Vec<PointField>,
    /// Whether the numbers of the points have their highest byte first.
    pub big_endian: bool,
    /// Bytes of a point.
    pub point_step: u32,
    /// Bytes of a row.
    pub row_step: u32,
    /// Whether the writer says that all points are finite.
    pub dense: bool,
    /// The points.
    pub data: &'a [u8],
    /// What is odd about the message.
    pub(super) warnings: Vec<Warning>,
    /// Bytes behind the message.
    pub(super) rest: usize,
}

/// The parts of a message `sensor_msgs/PointCloud2` that say where its points are.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names are those of the message")]
pub struct CloudParts<'a> {
    pub height: u32,
    pub width: u32,
    pub fields: Vec<FieldParts<'a>>,
    pub big_endian: bool,
    pub point_step: u32,
    pub row_step: u32,
    pub data: &'a [u8],
}

impl<'a> PointCloud2<'a> {
    /// Reads a message; `name` stands for it in errors.
    ///
    /// Fields other than x, y, z that cannot be read are left out with a warning: those of an
    /// unknown type, those that end behind their point, those past 1024 numbers. A height, point
    /// step or row step that the other sizes and the number of bytes contradict does not count, and
    /// [`PointCloud2`] has what they give.
    ///
    /// # Limits
    /// Nothing is taken but memory for the fields: a point has at most 64 KiB, and all fields
    /// together at most 1024 numbers.
    ///
    /// # Errors
    /// A message that ends early; x, y or z of an unknown type or behind its point; a point step of
    /// 0 with points that have no whole number of bytes; fields that together have more than four
    /// times the bytes of a point; rows shorter than their points with bytes between them; fewer
    /// bytes than the points need.
    ///
    /// ```
    /// use pointmill_io::bag::{Encoding, PointCloud2};
    /// let e = PointCloud2::read(&[0, 1, 0, 0], Encoding::Cdr, "message").unwrap_err();
    /// assert_eq!(e.to_string(), "message: header.stamp: expected 4 bytes, got 0 bytes");
    /// ```
    pub fn read(bytes: &'a [u8], encoding: Encoding, name: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = name.as_ref();
        let mut wire = Wire::new(path, bytes, encoding)?;
        let (stamp_ns, frame) = wire.header()?;
        let (height, width) = (wire.u32("height")?, wire.u32("width")?);
        let Fields { fields, warnings, .. } = Fields::read(&mut wire)?;
        let big_endian = wire.bool("is_bigendian")?;
        let (point_step, row_step) = (wire.u32("point_step")?, wire.u32("row_step")?);
        let data = wire.sized("data")?;
        let dense = wire.bool("is_dense")?;
        let rest = wire.left();
        let mut cloud = Self {
            stamp_ns,
            frame: frame.to_owned(),
            height,
            width,
            fields,
            big_endian,
            point_step,
            row_step,
            dense,
            data,
            warnings,
            rest,
        };
        cloud.settle();
        cloud.check(&wire)?;
        Ok(cloud)
    }

    /// A message that another program has taken apart, such as one that ROS hands to a node, with its
    /// sizes checked as [`PointCloud2::read`] does; `name` stands for it in errors.
    ///
    /// # Errors
    /// As those of [`PointCloud2::read`], of fields and sizes.
    pub fn of_parts(parts: CloudParts<'a>, name: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = name.as_ref();
        let CloudParts { height, width, fields, big_endian, point_step, row_step, data } = parts;
        let mut taken = Fields::default();
        for (i, field) in fields.into_iter().enumerate() {
            taken.add(path, i, field)?;
        }
        let Fields { fields, warnings, .. } = taken;
        let (stamp_ns, frame, dense, rest) = (0, String::new(), false, 0);
        let mut cloud = Self {
            stamp_ns,
            frame,
            height,
            width,
            fields,
            big_endian,
            point_step,
            row_step,
            dense,
            data,
            warnings,
            rest,
        };
        cloud.settle();
        cloud.check(path)?;
        Ok(cloud)
    }

    /// The number of points.
    pub fn points(&self) -> u64 {
        u64::from(self.height) * u64::from(self.width)
    }

    /// Corrects sizes that the others and the number of bytes contradict.
    fn settle(&mut self) {
        let bytes = self.data.len() as u64;
        let overruled = |field: &str, said: u32, used: u64, why: String| Warning::Overruled {
            field: field.into(),
            said: said.to_string(),
            used: format!("{used} ({why})"),
        };
        let (width, step) = (u64::from(self.width), u64::from(self.point_step));
        if self.height == 0 && width * step == bytes && bytes > 0 {
            self.warnings.push(overruled("height", 0, 1, format!("{width} points of {step} bytes")));
            self.height = 1;
        }
        let points = self.points();
        let each =
            bytes.checked_div(points).filter(|each| each * points == bytes && (1..=MAX_RECORD as u64).contains(each));
        if let Some(each) = each.filter(|_| step == 0) {
            self.warnings.push(overruled("point_step", 0, each, format!("{points} points in {bytes} bytes")));
            self.point_step = each as u32;
        }
        let (rows, row) = (u64::from(self.height), width * u64::from(self.point_step));
        let whole = u128::from(row) * u128::from(rows);
        let least = u128::from(self.row_step) * u128::from(rows.saturating_sub(1)) + u128::from(row);
        let is_wrong = u64::from(self.row_step) < row || u128::from(bytes) < least;
        // Of one row, and of rows without bytes between them, the places are known all the same.
        let is_known = u128::from(bytes) == whole || (rows == 1 && u128::from(bytes) >= whole);
        if points > 0
            && is_wrong
            && is_known
            && let Ok(used) = u32::try_from(row)
        {
            let why = format!("{width} points of {} bytes", self.point_step);
            self.warnings.push(overruled("row_step", self.row_step, row, why));
            self.row_step = used;
        }
    }

    /// Checks sizes and places against each other and against the bytes.
    fn check(&mut self, wire: &(impl Context + ?Sized)) -> Result<(), IoError> {
        let step = self.point_step;
        if self.fields.is_empty() && self.points() == 0 {
            return Ok(()); // A message that nothing was put into.
        }
        if step == 0 {
            bail!(wire, BadValue, "point_step", "1 or more", "0");
        }
        if step as usize > MAX_RECORD {
            bail!(wire, LimitExceeded, "point_step", "at most {MAX_RECORD} bytes", step);
        }
        let length = |field: &PointField| u64::from(field.count) * field.dtype.bytes() as u64;
        let is_placed = |field: &PointField| u64::from(field.offset) + length(field) <= u64::from(step);
        for field in self.fields.iter().filter(|field| !is_placed(field)) {
            let found = format!("{} bytes from {} on", length(field), field.offset);
            if is_axis(&field.name) {
                let wanted = format!("a place in the {step} bytes of a point");
                bail!(wire, BadValue, ("field `{}`", field.name), wanted, found);
            }
            Warning::left_out(&mut self.warnings, &*field.name, format!("{found}, of {step} of a point"));
        }
        self.fields.retain(is_placed);
        // Two fields may be two names of the same bytes. A thousand would make a thousand columns
        // of each byte.
        let all: u64 = self.fields.iter().map(length).sum();
        let most = SHARED * u64::from(step);
        if all > most {
            let wanted = format!("at most {most} bytes in a point of {step} bytes");
            bail!(wire, LimitExceeded, "fields", wanted, "{all} bytes, which overlap");
        }
        let row = u64::from(self.width) * u64::from(step);
        // The last row may lack what stands between rows.
        let need =
            u64::from(self.row_step).max(row) as u128 * u128::from(self.height.saturating_sub(1)) + u128::from(row);
        if self.points() > 0 && (self.data.len() as u128) < need {
            let wanted = format!("{need} bytes ({} rows of {} points)", self.height, self.width);
            bail!(wire, Truncated, "data", wanted, ("{} bytes", self.data.len()));
        }
        if self.points() > 0 && u64::from(self.row_step) < row {
            let wanted = format!("{row} bytes or more ({} points of {step} bytes)", self.width);
            bail!(wire, SizeMismatch, "row_step", wanted, self.row_step);
        }
        Ok(())
    }

    /// The points as rows.
    pub(super) fn rows(&self, path: &Path, bounds: &Bounds) -> Result<Rows, IoError> {
        if self.fields.is_empty() && self.points() == 0 {
            let fields = Field::of_one_type(XYZ, bounds.columns.unwrap_or(3), Dtype::F32);
            return Ok(Rows::new(fields, vec![]));
        }
        let (step, width) = (self.point_step as usize, u64::from(self.width));
        let mut data = self.data;
        let length = data.len() as u64;
        let mut source = Source::part(path, &mut data, length, true, String::new()).within(bounds.limits.max_memory);
        let mut window = Window::new(&mut source);
        let mut table = Table::new(Columns::new(&window, bounds, self.entries(), step)?);
        bounds.check_points(window.source(), self.points())?;
        table.reserve(&window, self.points())?;
        let gap = u64::from(self.row_step).saturating_sub(width * step as u64);
        let rows = if self.points() == 0 { 0 } else { self.height };
        for _ in 0..rows {
            records(&mut window, &mut table, width, step, self.big_endian, false, |window, found| {
                fault!(window, Truncated, "data", ("{} points", self.points()), "{found} bytes of a row")
            })?;
            window.skip(gap)?;
        }
        // CDR may be filled up to whole words.
        let rest = window.rest()? + if self.rest > 3 { self.rest as u64 } else { 0 };
        let mut rows = table.into_rows(rest);
        rows.warnings.splice(0..0, self.warnings.iter().cloned());
        Ok(rows)
    }

    /// A column for each number of each field.
    fn entries(&self) -> Vec<Entry> {
        let entries = |field: &PointField| {
            Entry::of_field(&field.name, field.dtype, field.count as usize, 0, field.offset as usize)
                .collect::<Vec<_>>()
        };
        self.fields.iter().flat_map(entries).collect()
    }
}
