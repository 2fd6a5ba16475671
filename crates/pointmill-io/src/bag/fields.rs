//! Fields of messages of the type `sensor_msgs/PointCloud2`.

use super::wire::Wire;
use crate::error::IoError;
use crate::fault::{Context, bail};
use crate::field::XYZ;
use crate::records::LONGEST_NAME;
use crate::warning::Warning;
use pointmill_core::array::Dtype;

/// The most numbers of a point.
const MOST: u64 = 1024;

/// A field of a [`PointCloud2`](super::PointCloud2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointField {
    /// Its name. A column has the same name; of a field of several numbers the columns are
    /// `name_0`, `name_1`, ...
    pub name: String,
    /// Where it starts in a point, in bytes.
    pub offset: u32,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// How many numbers it has. A message that says 0 means 1.
    pub count: u32,
}

/// A field as a message has it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the message")]
pub struct FieldParts<'a> {
    pub name: &'a str,
    pub offset: u32,
    pub datatype: u8,
    pub count: u32,
}

/// The fields that are read, and warnings of those that are left out.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) fields: Vec<PointField>,
    pub(super) warnings: Vec<Warning>,
    numbers: u64,
}

impl Fields {
    /// Reads the fields of a message.
    pub(super) fn read(wire: &mut Wire<'_, '_>) -> Result<Self, IoError> {
        let declared = wire.u32("fields")?;
        let mut fields = Self::default();
        for i in 0..declared as usize {
            let at = |part: &str| format!("fields[{i}].{part}");
            let name = wire.text(&at("name"))?;
            let offset = wire.u32(&at("offset"))?;
            let datatype = wire.u8(&at("datatype"))?;
            let count = wire.u32(&at("count"))?;
            fields.add(wire, i, FieldParts { name, offset, datatype, count })?;
        }
        Ok(fields)
    }

    /// Adds a field, or warns that it is left out.
    pub(super) fn add(&mut self, of: &(impl Context + ?Sized), i: usize, field: FieldParts<'_>) -> Result<(), IoError> {
        let FieldParts { name, offset, datatype, count } = field;
        let at = |part: &str| format!("fields[{i}].{part}");
        let (count, warnings) = (count.max(1), &mut self.warnings);
        if name.len() > LONGEST_NAME {
            let start = &name[..name.floor_char_boundary(32)];
            Warning::left_out(warnings, format!("{start}..."), format!("a name of {} bytes", name.len()));
            return Ok(());
        }
        let Some(dtype) = dtype(datatype) else {
            if is_axis(name) {
                bail!(of, BadValue, (at("datatype")), "1 to 11", datatype);
            }
            Warning::left_out(warnings, name, format!("of the unknown type {datatype}"));
            return Ok(());
        };
        let numbers = self.numbers + u64::from(count);
        if numbers > MOST {
            if is_axis(name) {
                bail!(of, LimitExceeded, (at("count")), "at most {MOST} numbers in a point", numbers);
            }
            Warning::left_out(warnings, name, format!("{count} numbers, past {MOST} of a point"));
            return Ok(());
        }
        self.numbers = numbers;
        self.fields.push(PointField { name: name.to_owned(), offset, dtype, count });
        Ok(())
    }
}

/// Whether a field may be x, y or z.
pub(super) fn is_axis(name: &str) -> bool {
    XYZ.iter().any(|axis| name.eq_ignore_ascii_case(axis))
}

/// The type of a field by its number in `sensor_msgs/PointField`. Later versions have whole numbers
/// of 64 bits and booleans, which are a byte.
const fn dtype(number: u8) -> Option<Dtype> {
    Some(match number {
        1 => Dtype::I8,
        2 | 11 => Dtype::U8,
        3 => Dtype::I16,
        4 => Dtype::U16,
        5 => Dtype::I32,
        6 => Dtype::U32,
        7 => Dtype::F32,
        8 => Dtype::F64,
        9 => Dtype::I64,
        10 => Dtype::U64,
        _ => return None,
    })
}
