//! PCD files of the Point Cloud Library: named fields, as text, binary, or compressed by LZF.
//!
//! Fields called `_` are padding and are left out. A field with several numbers becomes several
//! columns: `normal` with three numbers becomes `normal_0`, `normal_1` and `normal_2`. The
//! viewpoint is not applied.

mod header;
mod lzf;
mod write;

pub(crate) use write::write_parts;
pub use write::write_pcd;

use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::limits::Bounds;
use crate::records::{Columns, Entry, Order, Table, declared_records, next_values};
use crate::rows::Rows;
use crate::source::Source;
use crate::window::Window;
use header::{Encoding, Header};

/// The first bytes of PCD files: a comment, or the first line of the header.
pub(crate) const SIGNATURES: &[&[u8]] = &[b"# .PCD", b"VERSION "];

/// Reads the rows of a file.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut window = Window::new(source);
    window.begin_text()?;
    let mut header = Header::read(&mut window)?;
    let mut table = Table::new(columns(&window, bounds, &header)?);
    let done = match header.encoding {
        Encoding::Ascii => {
            // Text: memory is allocated while lines are read, until the lines end.
            bounds.check_points(window.source(), header.points)?;
            text(&mut window, bounds, &mut header, &mut table)?;
            header.points
        }
        Encoding::Binary => binary(&mut window, bounds, &mut header, &mut table)?,
        Encoding::Compressed => {
            compressed(&mut window, bounds, &mut header, &mut table)?;
            header.points
        }
    };
    let rest = match header.encoding {
        Encoding::Ascii => window.rest_of_text()?,
        _ => window.rest()?,
    };
    let mut rows = table.into_rows(rest);
    rows.warnings.splice(0..0, header.warnings);
    Ok(rows.salvaged(done, header.points, false))
}

/// Reads binary points. Where the header has two numbers of points, the one counts behind which the
/// file ends. Returns how many were read.
fn binary(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &mut Header,
    table: &mut Table,
) -> Result<u64, IoError> {
    let Some(product) = header.product else { return declared_records(window, bounds, table, header.points) };
    let (record, points) = (header.record as u64, header.points);
    if let Some(left) = window.left() {
        header.decide(window, |points| u128::from(points) * u128::from(record) == u128::from(left))?;
        return declared_records(window, bounds, table, header.points);
    }
    let (few, many) = (points.min(product), points.max(product));
    declared_records(window, bounds, table, few)?;
    if window.rest()? > 0 {
        declared_records(window, bounds, table, many - few)?;
    }
    let (read, is_end) = (table.len() as u64, window.rest()? == 0);
    header.decide(window, |points| is_end && points == read)?;
    Ok(read)
}

/// Returns a column for each number of each field, except padding.
fn columns(window: &Window<'_, '_>, bounds: &Bounds, header: &Header) -> Result<Columns, IoError> {
    let (mut entries, mut token) = (vec![], 0);
    for field in &header.fields {
        if let Some(name) = &field.name {
            entries.extend(Entry::of_field(name, field.dtype, field.count, token, field.place.start));
        }
        token += field.count;
    }
    Columns::new(window, bounds, entries, header.record)
}

/// Reads points written as text, one per line. Where the header has two numbers of points, the
/// number of lines decides.
fn text(window: &mut Window<'_, '_>, bounds: &Bounds, header: &mut Header, table: &mut Table) -> Result<(), IoError> {
    let wanted = header.fields.iter().map(|f| f.count).sum::<usize>();
    let mut tokens = vec![];
    let most = header.points.max(header.product.unwrap_or_default());
    let mut point = 0;
    while point < most {
        let Some(line) = next_values(window, &mut tokens)? else {
            header.decide(window, |points| points == point)?;
            if point == header.points {
                return Ok(());
            }
            bail!(window, Truncated, "data", ("{} points, as the header declares", header.points), "{point} points");
        };
        if tokens.len() != wanted {
            bail!(window, BadValue, ("line {}", window.line_number()), "{wanted} values", tokens.len());
        }
        bounds.check_points(window.source(), point + 1)?;
        table.push_text(window, window.at(&line), &tokens)?;
        point += 1;
    }
    header.decide(window, |points| points == point)
}

/// Reads compressed points, which are stored field by field.
fn compressed(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &mut Header,
    table: &mut Table,
) -> Result<(), IoError> {
    // Nothing is compressed, and some writers then omit the sizes too.
    if window.rest()? == 0 {
        header.decide(window, |points| points == 0)?;
    }
    if header.points == 0 && window.rest()? == 0 {
        return Ok(());
    }
    let sizes = window.bytes(8)?;
    let &[a, b, c, d, e, f, g, h] = window.at(&sizes) else {
        bail!(window, Truncated, "data", "8 bytes of sizes", ("{} bytes", sizes.len()));
    };
    let (packed, declared) = (u64::from(u32::from_le_bytes([a, b, c, d])), u32::from_le_bytes([e, f, g, h]));
    let record = header.record;
    header.decide(window, |points| u128::from(points) * record as u128 == u128::from(declared))?;
    let points = header.points;
    let size = u128::from(points) * record as u128;
    if u128::from(declared) != size {
        let wanted = format!("{size} bytes (the header declares {points} points of {record} bytes)");
        bail!(window, SizeMismatch, "uncompressed size", wanted, "{declared} bytes");
    }
    let size = declared as usize;
    let wanted = format!("{packed} bytes of compressed data");
    if let Some(left) = window.left().filter(|&left| left < packed) {
        bail!(window, Truncated, "data", wanted, "{left} bytes");
    }
    bounds.limits.check_decoded(window, "data unpacked", u64::from(declared), u64::MAX, "")?;
    bounds.check_points(window.source(), points)?;
    if u64::from(declared) > packed.saturating_mul(lzf::MAX_GROWTH) {
        let wanted = format!("{declared} bytes uncompressed");
        bail!(window, Decompress, "data", wanted, "{packed} bytes, which cannot give as many");
    }
    // Memory is allocated while bytes are read: if the length of the source is unknown, `packed`
    // cannot be checked before.
    let mut bytes: Vec<u8> = vec![];
    let found = window.read_into(&mut bytes, packed)?;
    if found < packed {
        bail!(window, Truncated, "data", wanted, "{found} bytes");
    }
    let mut out = window.source().room(size)?;
    lzf::unpack(&bytes, size, &mut out)
        .map_err(|found| fault!(window, Decompress, "data", "LZF data of {size} bytes", found))?;
    drop(bytes);
    table.reserve(window, points)?;
    table.push(window, &out, points as usize, Order::Fields, false)
}
