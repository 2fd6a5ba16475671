//! Tables of fixed columns, for files of other crates.

use super::read::read;
use super::schema::{Column, Kind};
use crate::destination::{Destination, Place};
use crate::error::{Detail, IoError, excerpt};
use crate::fault::bail;
use crate::limits::{Bounds, Limits};
use crate::source::{Source, open_at};
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::collections::BTreeMap;

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
    let bounds = Bounds { limits: limits.clone(), ..Bounds::default() };
    let mut memory: [Vec<u8>; N] = std::array::from_fn(|_| vec![]);
    let metadata = |_: &Window<'_, '_>, found: &Vec<(&[u8], &[u8])>| {
        let mut metadata = BTreeMap::new();
        for (key, value) in found {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if metadata.insert(text(key), text(value)).is_some() {
                let field = format!("metadata {}", excerpt(key));
                return Err(IoError::BadHeader(Detail::new(path, field, "one value", "two")));
            }
        }
        begin(&metadata)
    };
    let rest = read(&mut window, &bounds, metadata, |window, columns, batches| {
        check(window, columns, &expected)?;
        for batch in batches {
            for (place, (name, _)) in expected.iter().enumerate() {
                if batch.has_nulls(place) {
                    bail!(window, BadValue, "column `{name}`", "a value in each row", "nulls");
                }
            }
            let found = batch.find(window, columns, &std::array::from_fn::<_, N, _>(|place| place))?;
            for ([found, _], memory) in found.iter().zip(&mut memory) {
                found.unpack(memory)?;
            }
            take(batch.rows, std::array::from_fn(|j| found[j][0].bytes(&memory[j])))?;
        }
        Ok(())
    })?;
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
            Kind::Other(_) => bail!(window, DtypeMismatch, "column `{name}`", dtype, "another type"),
        }
    }
    if columns.len() != expected.len() {
        bail!(window, ShapeMismatch, "schema", ("{} columns", expected.len()), ("{} columns", columns.len()));
    }
    Ok(())
}
