//! Reads LAS files of versions 1.0 to 1.4 and, with the feature `laz`, compressed LAS files (LAZ).
//!
//! A coordinate is a 32-bit integer that the reader scales and shifts in `f64`. If `f32` loses a
//! bit of it, as in most maps, the reader also keeps the `f64` coordinates as
//! [`Scan::xyz_f64`](crate::Scan::xyz_f64).
//!
//! The header, all variable length records and all extended records must be inside the file. The
//! reader skips the data of these records, except for the record that describes the compression of
//! the points.

mod header;
mod layout;
#[cfg(feature = "laz")]
mod laz;
mod points;
mod vlr;

#[cfg(feature = "laz")]
pub use laz::hush_decoder_panics;

/// Does nothing: without the feature `laz` there is no LAZ decoder.
#[cfg(not(feature = "laz"))]
pub fn hush_decoder_panics() {}

use crate::error::IoError;
use crate::limits::Bounds;
use crate::records::too_short;
use crate::rows::Rows;
use crate::source::Source;
use crate::window::{WINDOW, Window};
use header::Header;
use points::Points;
use vlr::Records;

/// The first bytes of every LAS and LAZ file.
pub(crate) const SIGNATURES: &[&[u8]] = &[header::MAGIC];

/// Reads the points of a file.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut window = Window::new(source);
    let mut header = Header::read(&mut window, bounds.salvage)?;
    let records = vlr::read(&mut window, &mut header, bounds.salvage)?;
    let mut is_damaged = header.is_damaged;
    let mut points = Points::new(window.source(), bounds, &header)?;
    if header.compressed {
        return compressed(&mut window, bounds, &header, records, points);
    }
    // Check the limits before memory for the points is allocated.
    let size = u128::from(header.points) * header.record as u128;
    if let Some(left) = window.left().filter(|&left| !bounds.salvage && u128::from(left) < size) {
        return Err(too_short(&window, header.points, header.record, left));
    }
    bounds.check_points(window.source(), header.points)?;
    if let Some(left) = window.left() {
        points.reserve(window.source(), header.points.min(left / header.record as u64))?;
    }
    let mut done = 0;
    while done < header.points {
        let step = (header.points - done).min((WINDOW / header.record) as u64);
        let wanted = step as usize * header.record;
        let taken = window.bytes(wanted)?;
        if taken.len() < wanted {
            if !bounds.salvage {
                let found = done * header.record as u64 + taken.len() as u64;
                return Err(too_short(&window, header.points, header.record, found));
            }
            let whole = taken.len() / header.record;
            points.push(window.source(), &window.at(&taken)[..whole * header.record])?;
            return Ok(points.into_rows(0).salvaged(done + whole as u64, header.points, is_damaged));
        }
        points.push(window.source(), window.at(&taken))?;
        done += step;
    }
    // The bytes have been read, so the product does not overflow.
    let end = header.offset + size as u64;
    let rest = match vlr::read_extended(&mut window, &header, end) {
        Err(IoError::BadHeader(_) | IoError::Truncated(_)) if bounds.salvage => {
            is_damaged = true;
            0
        }
        rest => rest?,
    };
    // What follows points whose records were left out is these records.
    let rest = if is_damaged { 0 } else { rest };
    Ok(points.into_rows(rest).salvaged(header.points, header.points, is_damaged))
}

#[cfg(feature = "laz")]
fn compressed(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &Header,
    records: Records,
    points: Points<'_>,
) -> Result<Rows, IoError> {
    laz::read_rows(window, bounds, header, records, points)
}

#[cfg(not(feature = "laz"))]
fn compressed(window: &mut Window<'_, '_>, _: &Bounds, _: &Header, _: Records, _: Points<'_>) -> Result<Rows, IoError> {
    let wanted = "points that are not compressed, or a build with the feature `laz`";
    Err(crate::fault::fault!(window, UnsupportedFormat, "point format", wanted, "LAZ"))
}
