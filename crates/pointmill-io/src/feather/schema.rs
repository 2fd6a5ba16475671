//! The columns of a table: their names and what their values are.

use super::flat::{Broken, Table};
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::limits::MAX_COLUMNS;
use crate::records::checked_name;
use crate::values::whole_type;
use crate::window::Window;
use pointmill_core::array::Dtype;

/// A column of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Numbers; times and durations count as the whole numbers that they are.
    Numbers(Dtype),
    /// Texts of UTF-8, whose ends have 32 bits, or 64 if it is large. Of points they are left out.
    Text { is_large: bool },
    /// Something else, left out: the number of its buffers.
    Other(usize),
}

/// The types that a field may have, by their number in the format; those left out are numbers or
/// refused.
const NAMES: [&str; 27] = [
    "none",
    "null",
    "int",
    "float",
    "binary",
    "utf8",
    "bool",
    "decimal",
    "date",
    "time",
    "timestamp",
    "interval",
    "list",
    "struct",
    "union",
    "fixed-size binary",
    "fixed-size list",
    "map",
    "duration",
    "large binary",
    "large utf8",
    "large list",
    "run-end encoded",
    "binary view",
    "utf8 view",
    "list view",
    "large list view",
];

/// Keys and values of a schema, as they are in the file.
pub(super) type Metadata<'b> = Vec<(&'b [u8], &'b [u8])>;

/// Reads a schema: its columns and its metadata.
pub(super) fn read<'b>(window: &Window<'_, '_>, schema: &Table<'b>) -> Result<(Vec<Column>, Metadata<'b>), IoError> {
    let broken = |e: Broken| e.error(window, "schema");
    if schema.i16(0, 0).map_err(broken)? != 0 {
        bail!(window, UnsupportedFormat, "schema: byte order", "little-endian", "big-endian");
    }
    let fields = schema.tables(1).map_err(broken)?;
    if fields.len() > MAX_COLUMNS {
        bail!(window, LimitExceeded, "columns", "at most {MAX_COLUMNS}", fields.len());
    }
    let mut columns = Vec::with_capacity(fields.len());
    for (i, field) in fields.enumerate() {
        let field = field.map_err(broken)?;
        let name = checked_name(window, &format!("column {i}"), field.text(0).map_err(broken)?)?;
        let kind = kind(window, &name, &field)?;
        columns.push(Column { name, kind });
    }
    let mut metadata = vec![];
    for entry in schema.tables(2).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        metadata.push((entry.text(0).map_err(broken)?, entry.text(1).map_err(broken)?));
    }
    Ok((columns, metadata))
}

/// What a column has; columns of columns and of references to a dictionary are refused by name.
fn kind(window: &Window<'_, '_>, name: &str, field: &Table<'_>) -> Result<Kind, IoError> {
    let part = format!("column `{name}`");
    let broken = |e: Broken| e.error(window, &part);
    let refused =
        |found: String| Err(fault!(window, UnsupportedFormat, part, "numbers, or another type of plain values", found));
    let number = field.u8(2).map_err(broken)?;
    let called = NAMES.get(usize::from(number)).copied().unwrap_or("an unknown type");
    if field.table(4).map_err(broken)?.is_some() {
        return refused("references to a dictionary".into());
    }
    if field.tables(5).map_err(broken)?.len() > 0 {
        return refused(format!("nested columns ({called})"));
    }
    let described = field.table(3).and_then(|table| table.ok_or(Broken)).map_err(broken)?;
    let dtype = match number {
        2 => integer(described.i32(0, 0).map_err(broken)?, described.u8(1).map_err(broken)? != 0),
        3 => [Dtype::F16, Dtype::F32, Dtype::F64].get(described.i16(0, 0).map_err(broken)? as usize).copied(),
        // A date of days, or of milliseconds, which is what an absent unit means.
        8 => integer(if described.i16(0, 1).map_err(broken)? == 0 { 32 } else { 64 }, true),
        9 => integer(described.i32(1, 32).map_err(broken)?, true),
        10 | 18 => Some(Dtype::I64),
        1 => return Ok(Kind::Other(0)),
        6 | 7 | 11 | 15 => return Ok(Kind::Other(2)),
        4 | 19 => return Ok(Kind::Other(3)),
        5 | 20 => return Ok(Kind::Text { is_large: number == 20 }),
        _ => return refused(called.into()),
    };
    dtype.map_or_else(|| refused(format!("{called} of an unknown width")), |dtype| Ok(Kind::Numbers(dtype)))
}

fn integer(bits: i32, signed: bool) -> Option<Dtype> {
    whole_type(u64::try_from(bits).ok().filter(|bits| bits % 8 == 0)? / 8, signed)
}
