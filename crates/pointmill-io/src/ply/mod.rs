//! Reads PLY files: the scalar properties of the element `vertex`, as text or binary of either byte
//! order.
//!
//! The reader skips other elements and all lists. They must be complete, because the following data
//! begin where they end.

mod header;
mod write;

pub(crate) use write::write_parts;
pub use write::write_ply;

use crate::error::{IoError, POINTS_BEFORE, excerpt};
use crate::fault::{bail, fault};
use crate::limits::Bounds;
use crate::records::{Columns, Entry, Order, Table, next_values, records};
use crate::rows::Rows;
use crate::source::Source;
use crate::warning::Warning;
use crate::window::Window;
use header::{Element, Encoding, Header};
use pointmill_core::array::Dtype;
use std::ops::Range;

/// The first bytes of PLY files. Some writers put a blank after `ply`.
pub(crate) const SIGNATURES: &[&[u8]] = &[b"ply\n", b"ply\r", b"ply ", b"ply\t"];

/// The element that holds the points.
const VERTEX: &str = "vertex";

/// Reads the rows of the element `vertex`.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut window = Window::new(source);
    window.begin_text()?;
    let header = Header::read(&mut window)?;
    let Some(vertex) = header.elements.iter().find(|e| e.name == VERTEX) else {
        let found: Vec<_> = header.elements.iter().take(8).map(|e| format!("`{}`", e.name)).collect();
        let found = if found.is_empty() { "no element".into() } else { found.join(", ") };
        bail!(window, MissingField, "element", "`{VERTEX}`", found);
    };
    let mut table = Table::new(columns(&window, bounds, vertex)?);
    let mut is_cut = false;
    for element in &header.elements {
        // Check the limits before memory is allocated or a loop runs for the declared rows. For
        // text, memory is allocated while lines are read, until the lines end.
        let each = element.least_bytes();
        let is_vertex = element.name == VERTEX;
        // What comes before the points must be whole; what comes behind them need not be there.
        let is_binary = header.encoding != Encoding::Ascii;
        let salvageable = is_binary && (is_vertex || table.len() as u64 == vertex.count);
        let salvage = bounds.salvage && salvageable;
        let missing = |left: &u64| u128::from(element.count) * u128::from(each) > u128::from(*left);
        let short = window.left().filter(|left| is_binary && !salvage && missing(left));
        if is_vertex && short.is_none() {
            bounds.check_points(window.source(), element.count)?;
        }
        let rows = is_vertex.then_some(&mut table);
        let done = match (short, header.encoding) {
            (Some(left), _) => Err(too_short(&window, element, each, left)),
            (None, Encoding::Ascii) => text(&mut window, element, rows),
            (None, Encoding::Binary { big_endian }) => binary(&mut window, element, rows, big_endian, salvage),
        };
        match done {
            Err(IoError::Truncated(_)) if salvage => is_cut = true,
            Err(e @ IoError::Truncated(_)) if salvageable => return Err(e.salvageable(POINTS_BEFORE)),
            done => done?,
        }
        is_cut |= is_vertex && (table.len() as u64) < element.count;
        if is_cut {
            break;
        }
    }
    let rest = match header.encoding {
        Encoding::Ascii => window.rest_of_text()?,
        Encoding::Binary { .. } => window.rest()?,
    };
    let points = table.len() as u64;
    Ok(table.into_rows(rest).salvaged(points, vertex.count, is_cut))
}

/// Returns the scalar properties as columns. Their record is the row without its lists.
fn columns(window: &Window<'_, '_>, bounds: &Bounds, vertex: &Element) -> Result<Columns, IoError> {
    let mut record = 0;
    let scalars = vertex.properties.iter().filter(|p| p.list.is_none());
    let entries = scalars.enumerate().map(|(token, p)| {
        let entry = Entry::new(&*p.name, p.dtype, token, record);
        record = entry.field.end;
        entry
    });
    let known = vertex.properties.iter().filter(|p| p.list.is_none()).map(|p| !p.unknown);
    let entries = entries.zip(known).filter_map(|(entry, is_known)| is_known.then_some(entry)).collect();
    let mut columns = Columns::new(window, bounds, entries, record)?;
    for property in vertex.properties.iter().filter(|p| p.unknown) {
        Warning::left_out(&mut columns.warnings, &*property.name, "of an unknown type");
    }
    Ok(columns)
}

/// The error for a file with fewer bytes than its rows need.
fn too_short(window: &Window<'_, '_>, element: &Element, each: u64, found: u64) -> IoError {
    let Element { name, count, .. } = element;
    let more = if element.has_lists() { " or more" } else { "" };
    let wanted = u128::from(*count) * u128::from(each);
    let wanted = format!("{wanted} bytes (the header declares {count} rows of {each} bytes{more})");
    fault!(window, Truncated, "element `{name}`", wanted, ("{found} bytes ({} rows)", found / each.max(1)))
}

/// Reads or skips the rows of an element written as text, one per line.
fn text(window: &mut Window<'_, '_>, element: &Element, mut rows: Option<&mut Table>) -> Result<(), IoError> {
    if element.properties.is_empty() {
        return Ok(());
    }
    let (mut tokens, mut scalars) = (vec![], vec![]);
    for row in 0..element.count {
        let Some(line) = next_values(window, &mut tokens)? else {
            let Element { name, count, .. } = element;
            bail!(window, Truncated, "element `{name}`", "{count} rows, as the header declares", "{row} rows");
        };
        without_lists(window, window.at(&line), element, &tokens, &mut scalars)?;
        if let Some(table) = &mut rows {
            table.push_text(window, window.at(&line), &scalars)?;
        }
    }
    Ok(())
}

/// Removes the lists from a line, and checks that the line has the right number of values.
fn without_lists(
    window: &Window<'_, '_>,
    line: &[u8],
    element: &Element,
    tokens: &[Range<usize>],
    scalars: &mut Vec<Range<usize>>,
) -> Result<(), IoError> {
    let wrong = |wanted: String, found: String| {
        Err(fault!(window, BadValue, ("line {}: `{}`", window.line_number(), element.name), wanted, found))
    };
    scalars.clear();
    let mut at = 0usize;
    for property in &element.properties {
        let Some(token) = tokens.get(at) else {
            return wrong(format!("a value for `{}`", property.name), format!("{} values", tokens.len()));
        };
        at += 1;
        if property.list.is_none() {
            scalars.push(token.clone());
            continue;
        }
        let text = &line[token.clone()];
        let Some(length) = str::from_utf8(text).ok().and_then(|t| t.parse::<u32>().ok()) else {
            return wrong(format!("the length of list `{}`", property.name), excerpt(text));
        };
        at = at.saturating_add(length as usize);
    }
    if at != tokens.len() {
        return wrong(format!("{at} values"), format!("{}", tokens.len()));
    }
    Ok(())
}

/// Reads or skips the rows of an element written as binary.
fn binary(
    window: &mut Window<'_, '_>,
    element: &Element,
    rows: Option<&mut Table>,
    big_endian: bool,
    salvage: bool,
) -> Result<(), IoError> {
    let each = element.least_bytes();
    // Rows without properties have no bytes, so there is nothing to skip, whatever their number.
    if each == 0 {
        return Ok(());
    }
    if element.has_lists() {
        return with_lists(window, element, rows, big_endian);
    }
    match rows {
        Some(table) => records(window, table, element.count, each as usize, big_endian, salvage, |window, found| {
            too_short(window, element, each, found)
        })
        .map(drop),
        None => {
            // If the length of the source is unknown, the product may overflow; then it is larger
            // than any source.
            let bytes = element.count.saturating_mul(each);
            let found = window.skip(bytes)?;
            if found < bytes { Err(too_short(window, element, each, found)) } else { Ok(()) }
        }
    }
}

/// Reads rows that differ in length, because they have lists.
fn with_lists(
    window: &mut Window<'_, '_>,
    element: &Element,
    mut rows: Option<&mut Table>,
    big_endian: bool,
) -> Result<(), IoError> {
    let mut record = vec![];
    for row in 0..element.count {
        record.clear();
        for property in &element.properties {
            let told = |window: &Window<'_, '_>, wanted: u64, found: u64| {
                let field = format!("element `{}`: row {row}: `{}`", element.name, property.name);
                fault!(window, Truncated, field, "{wanted} bytes", "{found} bytes")
            };
            let first = property.list.unwrap_or(property.dtype).bytes();
            let taken = window.bytes(first)?;
            if taken.len() < first {
                return Err(told(window, first as u64, taken.len() as u64));
            }
            let Some(length) = property.list else {
                record.extend_from_slice(window.at(&taken));
                continue;
            };
            let Some(length) = list_length(window.at(&taken), length, big_endian) else {
                let wanted = "a length of 0 or more";
                let found = "a negative one";
                let field = format!("element `{}`: row {row}: list `{}`", element.name, property.name);
                bail!(window, BadValue, field, wanted, found);
            };
            let wanted = length * property.dtype.bytes() as u64;
            let found = window.skip(wanted)?;
            if found < wanted {
                return Err(told(window, wanted, found));
            }
        }
        if let Some(table) = &mut rows {
            table.push(window, &record, 1, Order::Records, big_endian)?;
        }
    }
    Ok(())
}

/// Returns the length of a list, at most 2^32 - 1, or `None` if it is negative.
fn list_length(bytes: &[u8], dtype: Dtype, big_endian: bool) -> Option<u64> {
    let mut wide = [0; 8];
    for (to, &from) in wide.iter_mut().zip(bytes.iter().rev()) {
        *to = from;
    }
    if !big_endian {
        wide[..bytes.len()].reverse();
    }
    let length = u64::from_le_bytes(wide);
    let signed = matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32);
    let negative = signed && length >> (8 * bytes.len() - 1) == 1;
    (!negative).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_lists_have_a_type_and_an_order() {
        assert_eq!(list_length(&[200], Dtype::U8, false), Some(200));
        assert_eq!(list_length(&[200], Dtype::I8, true), None);
        assert_eq!(list_length(&[1, 2], Dtype::I16, false), Some(0x0201));
        assert_eq!(list_length(&[1, 2], Dtype::U16, true), Some(0x0102));
        assert_eq!(list_length(&[0xff; 4], Dtype::U32, true), Some(u64::from(u32::MAX)));
        assert_eq!(list_length(&[0, 0, 0, 0x80], Dtype::I32, false), None);
        assert_eq!(list_length(&[0, 0, 0, 0x80], Dtype::I32, true), Some(0x80));
    }
}
