//! Tables of fixed columns of numbers without nulls.

use super::read::{expect_points, read};
use super::schema::{Column, Kind, Metadata};
use crate::bytes::{f64_at, u32_at, u64_at};
use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::files::open_at;
use crate::files::{Destination, Place};
use crate::limits::{Bounds, Limits};
use crate::source::Source;
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::array::from_fn;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Reads a table: `find` returns where its columns are, `take` gets the rows of a batch, as their
/// number and the little-endian bytes of each column. Returns the number of bytes behind a stream.
fn read_fixed<'w, 's, const N: usize>(
    window: &mut Window<'w, 's>,
    bounds: &Bounds,
    begin: impl FnOnce(&Window<'w, 's>, &Metadata<'_>) -> Result<(), IoError>,
    find: impl Fn(&Window<'w, 's>, &[Column]) -> Result<[usize; N], IoError>,
    mut take: impl FnMut(&Window<'w, 's>, usize, [&[u8]; N]) -> Result<(), IoError>,
) -> Result<u64, IoError> {
    let (mut memory, mut all): ([Vec<u8>; N], u64) = (from_fn(|_| vec![]), 0);
    read(window, bounds, begin, |window, columns, batches, _| {
        let places = find(window, columns)?;
        for batch in batches {
            if let Some(at) = places.into_iter().find(|&at| batch.has_nulls(at)) {
                bail!(window, BadValue, ("column `{}`", columns[at].name), "a value in each row", "nulls");
            }
            all += batch.rows as u64;
            bounds.check_points(window.source(), all)?;
            let found = batch.find(window, columns, &places)?;
            for ([found, _], memory) in found.iter().zip(&mut memory) {
                found.unpack(memory)?;
            }
            take(window, batch.rows, from_fn(|j| found[j][0].bytes(&memory[j])))?;
        }
        Ok(())
    })
}

/// The values of the columns of these names, row after row, as `f64`.
pub(crate) fn read_columns<const N: usize>(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    names: [&str; N],
) -> Result<Vec<[f64; N]>, IoError> {
    let (mut rows, dtypes) = (vec![], Cell::new([Dtype::F64; N]));
    let find = |window: &Window<'_, '_>, columns: &[Column]| {
        let (mut places, mut found) = ([0; N], [Dtype::F64; N]);
        for (j, name) in names.into_iter().enumerate() {
            let field = format!("column `{name}`");
            let Some(at) = columns.iter().position(|column| column.name == name) else {
                let found: Vec<_> = columns.iter().take(16).map(|column| &*column.name).collect();
                bail!(window, MissingField, field, (names.join(", ")), found.join(", "));
            };
            let Kind::Numbers(dtype @ (Dtype::F32 | Dtype::F64 | Dtype::I64 | Dtype::U64)) = columns[at].kind else {
                bail!(window, DtypeMismatch, field, "numbers of f32, f64, i64 or u64", "another type");
            };
            (places[j], found[j]) = (at, dtype);
        }
        dtypes.set(found);
        Ok(places)
    };
    read_fixed(window, bounds, expect_points, find, |window, count, columns| {
        window.source().reserve(&mut rows, count)?;
        rows.extend((0..count).map(|i| {
            from_fn(|j| match dtypes.get()[j] {
                Dtype::F32 => f64::from(f32::from_bits(u32_at(columns[j], 4 * i))),
                Dtype::F64 => f64_at(columns[j], 8 * i),
                Dtype::I64 => u64_at(columns[j], 8 * i).cast_signed() as f64,
                _ => u64_at(columns[j], 8 * i) as f64,
            })
        }));
        Ok(())
    })?;
    Ok(rows)
}

/// Reads an Arrow IPC file or stream that has these columns, in this order, and no others.
///
/// `begin` gets the metadata of the table. `take` gets the rows of a batch: their number, and for
/// each column the little-endian bytes of its values. Of [`Limits`] the memory and the unpacked
/// bytes count; `take` counts what it makes of the rows.
///
/// # Errors
/// Any class of [`IoError`] about files: what is no such file, ends early, has another column or a
/// null; what `begin` and `take` return.
pub fn read_table<const N: usize>(
    from: &impl Destination,
    limits: &Limits,
    expected: [(&str, Dtype); N],
    begin: impl FnOnce(&BTreeMap<String, String>) -> Result<(), IoError>,
    mut take: impl FnMut(usize, [&[u8]; N]) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let path = from.path();
    let (mut file, length) = open_at(Place::of(from))?;
    let mut source = Source::new(path, &mut file, length).within(limits.max_memory);
    let mut window = Window::new(&mut source);
    let bounds = Bounds { limits: Limits { max_points: None, ..limits.clone() }, ..Bounds::default() };
    let begin = |window: &Window<'_, '_>, found: &Metadata<'_>| {
        let mut metadata = BTreeMap::new();
        for (key, value) in found {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if metadata.insert(text(key), text(value)).is_some() {
                bail!(window.source().path, BadHeader, ("metadata {}", excerpt(key)), "one value", "two");
            }
        }
        begin(&metadata)
    };
    let find = |window: &Window<'_, '_>, columns: &[Column]| {
        check(window, columns, &expected)?;
        Ok(from_fn(|place| place))
    };
    let rest = read_fixed(&mut window, &bounds, begin, find, |_, rows, columns| take(rows, columns))?;
    if rest > 0 {
        bail!(window, SizeMismatch, "end", "the end of the table", "{rest} more bytes");
    }
    Ok(())
}

/// Checks that the columns of a table are those that are expected.
fn check(window: &Window<'_, '_>, columns: &[Column], expected: &[(&str, Dtype)]) -> Result<(), IoError> {
    for (place, ((name, dtype), column)) in expected.iter().zip(columns).enumerate() {
        if column.name != *name {
            bail!(window, MissingField, "column {place}", "`{name}`", excerpt(column.name.as_bytes()));
        }
        match column.kind {
            Kind::Numbers(found) if found == *dtype => {}
            Kind::Numbers(found) => bail!(window, DtypeMismatch, "column `{name}`", dtype, found),
            _ => bail!(window, DtypeMismatch, "column `{name}`", dtype, "another type"),
        }
    }
    if columns.len() != expected.len() {
        bail!(window, ShapeMismatch, "schema", ("{} columns", expected.len()), ("{} columns", columns.len()));
    }
    Ok(())
}
