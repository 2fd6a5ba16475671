//! LAS files: reads versions 1.0 to 1.5 and, with the feature `laz`, compressed LAS files (LAZ);
//! writes the version of the file that was read, up to 1.4.
//!
//! A coordinate is a 32-bit integer that the reader scales and shifts in `f64`. If `f32` loses a
//! bit of it, as in most maps, the reader also keeps the `f64` coordinates as
//! [`Scan::xyz_f64`](crate::Scan::xyz_f64).
//!
//! The header, all variable length records and all extended records must be inside the file. The
//! reader uses those that describe the compression of the points, extra bytes and the coordinate
//! reference system; others are kept as they are, for a file that is written.

mod classes;
mod coordinates;
mod extra;
mod extra_column;
mod grid;
mod header;
mod layout;
#[cfg(feature = "laz")]
mod laz;
mod survey;
mod vlr;
mod write;

#[cfg(feature = "laz")]
pub use laz::hush_decoder_panics;

pub use classes::class_name;
pub(crate) use grid::rounding;
pub(crate) use survey::{lost, lost_when_moved};
pub(crate) use write::{whole_field, write_parts, write_points};

/// Does nothing: without the feature `laz` there is no LAZ decoder.
#[cfg(not(feature = "laz"))]
pub fn hush_decoder_panics() {}

use crate::error::IoError;
use crate::limits::{Bounds, MAX_COLUMNS};
use crate::records::{Columns, Table, declared_records};
use crate::rows::Rows;
use crate::source::Source;
use crate::survey::Survey;
use crate::window::Window;
use header::Header;
use std::sync::Arc;
use vlr::Records;

/// The first bytes of every LAS and LAZ file.
pub(crate) const SIGNATURES: &[&[u8]] = &[header::MAGIC];

/// Reads the points of a file.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut window = Window::new(source);
    let mut header = Header::read(&mut window, bounds.salvage)?;
    let odd = std::mem::take(&mut header.warnings);
    let mut rows = read_points(&mut window, bounds, header)?;
    rows.warnings.splice(0..0, odd);
    Ok(rows)
}

/// Reads what follows the header.
fn read_points(window: &mut Window<'_, '_>, bounds: &Bounds, mut header: Header) -> Result<Rows, IoError> {
    let mut records = vlr::read(window, &mut header, bounds.salvage)?;
    let mut columns = layout::columns(&header);
    let known = header::least_record(header.format).unwrap_or_default();
    let room = MAX_COLUMNS.saturating_sub(columns.len());
    let extra = extra::columns(&records.extra, known, header.record, room);
    columns.extend(extra.entries);
    let mut survey = Survey { extra: extra.lost, described: extra.described, ..survey::of(&header, &mut records) };
    let mut is_damaged = header.is_damaged;
    let mut table = Table::new(Columns::new(window, bounds, columns, header.record)?);
    if header.compressed {
        let rows = compressed(window, bounds, &header, records, table, &mut survey)?;
        return Ok(with_survey(rows, &header, survey));
    }
    let points = declared_records(window, bounds, &mut table, header.points)?;
    let into_rows = |table: Table, rest, is_damaged, survey| {
        with_survey(table.into_rows(rest), &header, survey).salvaged(points, header.points, is_damaged)
    };
    if points < header.points {
        return Ok(into_rows(table, 0, is_damaged, survey));
    }
    // The bytes have been read, so the product does not overflow.
    let end = header.offset + points * header.record as u64;
    let rest = match vlr::read_extended(window, &header, end, &mut survey) {
        Err(IoError::BadHeader(_) | IoError::Truncated(_)) if bounds.salvage => {
            is_damaged = true;
            0
        }
        rest => rest?,
    };
    // What follows points whose records were left out is these records.
    let rest = if is_damaged { 0 } else { rest };
    Ok(into_rows(table, rest, is_damaged, survey))
}

/// The rows with what the file says of all its points.
fn with_survey(rows: Rows, header: &Header, survey: Survey) -> Rows {
    let survey = Some(Arc::new(survey));
    Rows { decimals: header.decimals(), bbox: header.bbox(), survey, ..rows }
}

#[cfg(feature = "laz")]
fn compressed(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &Header,
    records: Records,
    table: Table,
    survey: &mut Survey,
) -> Result<Rows, IoError> {
    laz::read_rows(window, bounds, header, records, table, survey)
}

#[cfg(not(feature = "laz"))]
fn compressed(
    window: &mut Window<'_, '_>,
    _: &Bounds,
    _: &Header,
    _: Records,
    _: Table,
    _: &mut Survey,
) -> Result<Rows, IoError> {
    let wanted = "points that are not compressed, or a build with the feature `laz`";
    Err(crate::fault::fault!(window, UnsupportedFormat, "point format", wanted, "LAZ"))
}
