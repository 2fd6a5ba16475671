//! The columns of a table: their names and what their values are.

use super::flat::{Broken, Table};
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::limits::MAX_COLUMNS;
use crate::records::checked_name;
use crate::values::whole_type;
use crate::window::Window;
use pointmill_core::array::Dtype;

/// The most columns around a column.
const MAX_DEPTH: usize = 32;

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) parts: Parts,
}

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Numbers; times and durations count as the whole numbers that they are.
    Numbers(Dtype),
    /// Texts of UTF-8. Of points they are left out.
    Text(Layout),
    /// Numbers that stand for the texts of the dictionary of this id. Of points they are left out.
    Categories { dtype: Dtype, id: i64, texts: Layout },
    /// Something else, left out.
    Other,
}

/// How texts lie in buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// Their ends of 32 bits, or of 64 if they are large, and all texts behind one another.
    Ends { is_large: bool },
    /// For each its length and, if it is short, itself; else where it is in one of some buffers.
    Views,
}

impl Layout {
    /// What a column of texts has in a batch.
    pub(super) const fn parts(self) -> Parts {
        match self {
            Self::Ends { .. } => Parts { nodes: 1, buffers: 3, views: 0 },
            Self::Views => Parts { nodes: 1, buffers: 2, views: 1 },
        }
    }
}

/// The nodes and buffers of a batch that a column and the columns inside it have; each of its views has a number
/// of buffers more that the batch says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub(super) nodes: usize,
    pub(super) buffers: usize,
    pub(super) views: usize,
}

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
    let mut nested = [0; 2];
    for (i, field) in fields.enumerate() {
        let field = field.map_err(broken)?;
        let name = checked_name(window, &format!("column {i}"), field.text(0).map_err(broken)?)?;
        columns.push(column(window, name, &field, &mut nested)?);
    }
    let mut metadata = vec![];
    for entry in schema.tables(2).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        metadata.push((entry.text(0).map_err(broken)?, entry.text(1).map_err(broken)?));
    }
    Ok((columns, metadata))
}

/// A column; `nested` are the columns inside of columns so far, and those around this one.
fn column(
    window: &Window<'_, '_>,
    name: String,
    field: &Table<'_>,
    nested: &mut [usize; 2],
) -> Result<Column, IoError> {
    let part = format!("column `{name}`");
    let broken = |e: Broken| e.error(window, &part);
    let (mut kind, mut parts) = kind(window, &name, field)?;
    let encoding = field.table(4).map_err(broken)?;
    if let Some(encoding) = &encoding {
        let index = encoding.table(1).map_err(broken)?;
        // An absent type of the numbers is one of 32 bits.
        let dtype = index.map_or(Ok(Some(Dtype::I32)), |index| Ok(integer(index.i32(0, 0)?, index.u8(1)? != 0)));
        let id = encoding.i64(0).map_err(broken)?;
        kind = match (kind, dtype.map_err(broken)?) {
            (Kind::Text(texts), Some(dtype)) => Kind::Categories { dtype, id, texts },
            _ => Kind::Other,
        };
        parts = Parts { nodes: 1, buffers: 2, views: 0 };
    }
    for inside in field.tables(5).map_err(broken)? {
        *nested = nested.map(|n| n + 1);
        if nested[0] > MAX_COLUMNS || nested[1] > MAX_DEPTH {
            let wanted = format!("at most {MAX_COLUMNS} nested columns, {MAX_DEPTH} deep");
            bail!(window, LimitExceeded, part, wanted, "more");
        }
        let inside = column(window, name.clone(), &inside.map_err(broken)?, nested)?.parts;
        nested[1] -= 1;
        // The numbers of a dictionary stand in the batches, and what they stand for elsewhere.
        if encoding.is_none() {
            parts.nodes += inside.nodes;
            parts.buffers += inside.buffers;
            parts.views += inside.views;
        }
    }
    Ok(Column { name, kind, parts })
}

/// What a column has, and what it has in a batch without the columns inside it.
fn kind(window: &Window<'_, '_>, name: &str, field: &Table<'_>) -> Result<(Kind, Parts), IoError> {
    let part = format!("column `{name}`");
    let broken = |e: Broken| e.error(window, &part);
    let number = field.u8(2).map_err(broken)?;
    let described = field.table(3).and_then(|table| table.ok_or(Broken)).map_err(broken)?;
    let with = |kind, buffers| Ok((kind, Parts { nodes: 1, buffers, views: 0 }));
    let of_texts = |layout: Layout| Ok((Kind::Text(layout), layout.parts()));
    let dtype = match number {
        2 => integer(described.i32(0, 0).map_err(broken)?, described.u8(1).map_err(broken)? != 0),
        3 => [Dtype::F16, Dtype::F32, Dtype::F64].get(described.i16(0, 0).map_err(broken)? as usize).copied(),
        // A date of days, or of milliseconds, which is what an absent unit means.
        8 => integer(if described.i16(0, 1).map_err(broken)? == 0 { 32 } else { 64 }, true),
        9 => integer(described.i32(1, 32).map_err(broken)?, true),
        10 | 18 => Some(Dtype::I64),
        // Null, and run-end encoded.
        1 | 22 => return with(Kind::Other, 0),
        // Struct, fixed-size list.
        13 | 16 => return with(Kind::Other, 1),
        // A dense union has also offsets.
        14 => return with(Kind::Other, if described.i16(0, 0).map_err(broken)? == 0 { 1 } else { 2 }),
        // Bool, decimal, interval, list, fixed-size binary, map, large list.
        6 | 7 | 11 | 12 | 15 | 17 | 21 => return with(Kind::Other, 2),
        // Binary, large binary, list views.
        4 | 19 | 25 | 26 => return with(Kind::Other, 3),
        5 | 20 => return of_texts(Layout::Ends { is_large: number == 20 }),
        23 => return Ok((Kind::Other, Parts { nodes: 1, buffers: 2, views: 1 })),
        24 => return of_texts(Layout::Views),
        _ => bail!(window, UnsupportedFormat, part, "a type of Arrow 1.4", "the type {number}"),
    };
    match dtype {
        Some(dtype) => with(Kind::Numbers(dtype), 2),
        None => Err(fault!(window, UnsupportedFormat, part, "numbers of 8 to 64 bits", "another width")),
    }
}

fn integer(bits: i32, signed: bool) -> Option<Dtype> {
    whole_type(u64::try_from(bits).ok().filter(|bits| bits % 8 == 0)? / 8, signed)
}
