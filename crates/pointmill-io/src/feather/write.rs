//! Tables into Arrow IPC files, which are Feather 2, uncompressed.

use super::flat::{Builder, Slot};
use super::{FILE, STREAM};
use crate::error::IoError;
use crate::files::{Destination, Place};
use crate::files::{write_synced, write_to};
use crate::format::Format;
use crate::named_points::{Long, NamedPoints};
use crate::names;
use pointmill_core::array::Dtype;
use std::io::{self, Write};

/// Rows of a batch: as many are copied at a time.
const BATCH: usize = 1 << 16;
/// Bytes that columns start at multiples of, as the format advises.
const ALIGNMENT: usize = 64;

/// Kinds of messages, and of numbers.
const SCHEMA: u8 = 1;
const RECORDS: u8 = 3;
const INT: u8 = 2;
const FLOAT: u8 = 3;
/// The version that messages and footers say, which is V5.
const VERSION: Slot = Slot::I16(4);

/// Writes the points with the names and types of their columns.
pub(crate) fn write_points(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    cloud.check(to.path)?;
    let columns = cloud.columns(Long::Always);
    let names = names::written(&cloud.fields, Format::Feather);
    let named: Vec<_> = names.iter().zip(&columns).map(|(name, column)| (&**name, column.dtype)).collect();
    let layout = Layout { metadata: &[], columns: &named, rows: cloud.points.len() };
    write_to(&to, |out| write(out, &layout, |i, j, body| cloud.value(i, j, &columns[j], body)))
}

/// What a table is made of.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// Keys and values about the whole table.
    pub metadata: &'a [(&'a str, String)],
    /// The names of the columns and their types.
    pub columns: &'a [(&'a str, Dtype)],
    /// The number of rows.
    pub rows: usize,
}

/// Writes a table of numbers as an Arrow IPC file, whole or not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// `value` appends the little-endian bytes of a row's value of a column. Without `sync` the file
/// may be shorter after a crash of the machine, which its readers must find.
///
/// **Determinism**: the same values give the same bytes.
///
/// # Errors
/// What the system refuses.
pub fn write_table(
    to: &impl Destination,
    sync: bool,
    layout: &Layout<'_>,
    value: impl Fn(usize, usize, &mut Vec<u8>),
) -> Result<(), IoError> {
    write_synced(to, sync, |out| write(out, layout, value))
}

fn write(out: &mut dyn Write, layout: &Layout<'_>, value: impl Fn(usize, usize, &mut Vec<u8>)) -> io::Result<()> {
    let Layout { columns, rows, .. } = *layout;
    out.write_all(FILE)?;
    out.write_all(&[0; 2])?;
    let mut at = 8 + message(out, SCHEMA, 0, |builder, from| schema(builder, from, layout))?;
    let mut blocks = vec![];
    for first in (0..rows).step_by(BATCH) {
        let count = BATCH.min(rows - first);
        let mut body = vec![];
        let mut buffers = vec![];
        for j in 0..columns.len() {
            // Which values are null: none.
            buffers.push([body.len() as i64, 0]);
            let start = body.len();
            (first..first + count).for_each(|i| value(i, j, &mut body));
            buffers.push([start as i64, (body.len() - start) as i64]);
            body.resize(body.len().next_multiple_of(ALIGNMENT), 0);
        }
        let head = message(out, RECORDS, body.len() as i64, |builder, from| {
            let later = builder.table(from, &[Slot::I64(count as i64), Slot::Later, Slot::Later]);
            builder.structs(later[0], &vec![[count as i64, 0]; columns.len()]);
            builder.structs(later[1], &buffers);
        })?;
        out.write_all(&body)?;
        blocks.push([at as i64, head as i64, body.len() as i64]);
        at += head + body.len();
    }
    out.write_all(STREAM)?;
    out.write_all(&[0; 4])?;
    let mut builder = Builder::new();
    let later = builder.table(0, &[VERSION, Slot::Later, Slot::Absent, Slot::Later]);
    schema(&mut builder, later[0], layout);
    builder.structs(later[1], &blocks);
    out.write_all(&builder.bytes)?;
    out.write_all(&(builder.bytes.len() as i32).to_le_bytes())?;
    out.write_all(FILE)
}

/// Writes the description of a message with `body` bytes behind it; its bytes.
fn message(out: &mut dyn Write, kind: u8, body: i64, header: impl FnOnce(&mut Builder, usize)) -> io::Result<usize> {
    let mut builder = Builder::new();
    let later = builder.table(0, &[VERSION, Slot::U8(kind), Slot::Later, Slot::I64(body)]);
    header(&mut builder, later[0]);
    let mut bytes = builder.bytes;
    bytes.resize((bytes.len() + 8).next_multiple_of(ALIGNMENT) - 8, 0);
    out.write_all(STREAM)?;
    out.write_all(&(bytes.len() as i32).to_le_bytes())?;
    out.write_all(&bytes)?;
    Ok(8 + bytes.len())
}

/// The columns, none of which has nulls, and the metadata.
fn schema(builder: &mut Builder, from: usize, layout: &Layout<'_>) {
    let metadata = if layout.metadata.is_empty() { Slot::Absent } else { Slot::Later };
    let later = builder.table(from, &[Slot::I16(0), Slot::Later, metadata]);
    let fields = builder.references(later[0], layout.columns.len());
    for (from, (name, dtype)) in fields.into_iter().zip(layout.columns) {
        let bits = 8 * dtype.bytes() as i32;
        let (kind, described) = match dtype {
            Dtype::F32 => (FLOAT, [Slot::I16(1), Slot::Absent]),
            Dtype::F64 => (FLOAT, [Slot::I16(2), Slot::Absent]),
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => (INT, [Slot::I32(bits), Slot::U8(1)]),
            _ => (INT, [Slot::I32(bits), Slot::U8(0)]),
        };
        let slots = [Slot::Later, Slot::U8(0), Slot::U8(kind), Slot::Later, Slot::Absent, Slot::Later];
        let later = builder.table(from, &slots);
        builder.text(later[0], name);
        builder.table(later[1], &described);
        builder.references(later[2], 0);
    }
    let entries = later.get(1).map(|from| builder.references(*from, layout.metadata.len()));
    for (from, (key, value)) in entries.into_iter().flatten().zip(layout.metadata) {
        let later = builder.table(from, &[Slot::Later, Slot::Later]);
        builder.text(later[0], key);
        builder.text(later[1], value);
    }
}
