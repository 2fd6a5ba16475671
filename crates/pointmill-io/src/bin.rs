//! Raw rows of little-endian `f32`, without a header: KITTI's `.bin`, nuScenes' `.pcd.bin`.

use crate::column_guess::{self, USUAL_COLUMNS};
use crate::error::{IoError, POINTS_BEFORE};
use crate::fault::fault;
use crate::field::{Field, XYZ};
use crate::files::write_to;
use crate::files::{Destination, Place};
use crate::limits::Bounds;
use crate::named_points::NamedPoints;
use crate::rows::Rows;
use crate::source::Source;
use crate::values::write_values;
use crate::warning::Warning;
use pointmill_core::Points;
use pointmill_core::array::Dtype;

/// Writes the rows of a cloud as raw little-endian `f32`, whole or not at all (see
/// [`write_whole`](crate::write_whole)).
///
/// # Errors
/// What the system refuses.
///
/// ```no_run
/// use pointmill_core::Points;
/// pointmill_io::write_bin("sweep.bin", Points::new(&[1.0, 2.0, 3.0, 0.5], 4)?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_bin(to: impl Destination, points: Points<'_>) -> Result<(), IoError> {
    write_to(&to, |out| write_values(out, points.data(), f32::to_le_bytes))
}

/// Writes the points of a cloud; the names of the columns are left out.
pub(crate) fn write_points(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write_bin(to, cloud.points)
}

/// Reads KITTI's rows of four values.
pub(crate) fn read_kitti(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    read_rows(source, bounds, 4, &["x", "y", "z", "intensity"])
}

/// Reads nuScenes' rows of five values.
pub(crate) fn read_nuscenes(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    read_rows(source, bounds, 5, &["x", "y", "z", "intensity", "time"])
}

/// Reads rows of any number of values, by default four.
pub(crate) fn read_any(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    read_rows(source, bounds, 4, XYZ)
}

/// Reads rows to the end, of `usual` values where no number of columns is asked for.
fn read_rows(source: &mut Source<'_>, bounds: &Bounds, usual: usize, names: &[&str]) -> Result<Rows, IoError> {
    let columns = bounds.columns.unwrap_or(usual);
    let row = 4 * columns as u64;
    let check_length = |source: &Source<'_>, length: u64| {
        if bounds.salvage { Ok(()) } else { check_length(source, length, columns) }
    };
    let rest;
    let mut data: Vec<f32> = match source.left() {
        Some(length) => {
            check_length(source, length)?;
            rest = length % row;
            bounds.check_points(source, length / row)?;
            let count = usize::try_from((length - rest) / 4).map_err(|_| {
                fault!(source, LimitExceeded, "length", "what fits the address space", "{length} bytes")
            })?;
            // A file that shrinks meanwhile ends before the count.
            source.values(count, false)?
        }
        None => {
            // One value more than allowed tells that there are more.
            let most =
                bounds.limits.max_points.map_or(u64::MAX, |n| n.saturating_mul(columns as u64).saturating_add(1));
            let (data, part) = source.until_end(most, false)?;
            bounds.check_points(source, (data.len() as u64).div_ceil(columns as u64))?;
            let length = 4 * data.len() as u64 + part as u64;
            check_length(source, length)?;
            rest = length % row;
            data
        }
    };
    data.truncate(data.len() / columns * columns);
    let mut warnings: Vec<_> = implausible(&data, columns).into_iter().collect();
    if warnings.is_empty() {
        warnings.extend(column_guess::check(&data, columns));
    }
    if rest > 0 {
        warnings.push(Warning::Salvaged { points: (data.len() / columns) as u64, declared: None });
    }
    let fields = Field::of_one_type(bounds.names.unwrap_or(names), columns, Dtype::F32);
    Ok(Rows { warnings, ..Rows::new(fields, data) })
}

/// A warning, if more than a hundredth of some points have coordinates that no sensor gives: beyond
/// 10,000 km, or so near zero that they are none. Bytes of other files look like that.
fn implausible(data: &[f32], columns: usize) -> Option<Warning> {
    const LEAST: usize = 16;
    const LOOKED_AT: usize = 1024;
    let all = data.len() / columns;
    let step = all.div_ceil(LOOKED_AT).max(1);
    let is_odd = |v: &f32| v.is_finite() && (v.abs() > 1e7 || (*v != 0.0 && v.abs() < 1e-20));
    let looked_at = data.chunks_exact(columns).step_by(step);
    let points = looked_at.len();
    let count = looked_at.filter(|row| row[..3].iter().any(is_odd)).count();
    (all >= LEAST && count * 100 > points).then_some(Warning::Implausible { count, points })
}

fn check_length(source: &Source<'_>, length: u64, columns: usize) -> Result<(), IoError> {
    let row = 4 * columns as u64;
    let remainder = length % row;
    if remainder == 0 {
        return Ok(());
    }
    let fits: Vec<_> = USUAL_COLUMNS.filter(|c| length.is_multiple_of(4 * *c as u64)).map(|c| c.to_string()).collect();
    let (first, last) = (USUAL_COLUMNS.start(), USUAL_COLUMNS.end());
    let none_fits = fits.is_empty();
    let fits = match &fits[..] {
        [] => format!("no column count from {first} to {last} fits"),
        [one] => format!("{one} columns would fit"),
        [some @ .., last] => format!("{} or {last} columns would fit", some.join(", ")),
    };
    let wanted = format!("a multiple of {row} bytes ({columns} columns of f32)");
    let found = format!("{length} bytes (remainder {remainder}); {fits}");
    let error = fault!(source, SizeMismatch, "length", wanted, found);
    // Else the number of columns is more likely wrong than the file cut.
    Err(if none_fits { error.salvageable(POINTS_BEFORE) } else { error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn bounds(max_points: Option<u64>) -> Bounds {
        Bounds { limits: Limits { max_points, ..Limits::default() }, ..Bounds::default() }
    }

    fn told(bytes: usize, known: bool, columns: usize, max_points: u64) -> String {
        let bytes = vec![0; bytes];
        let mut reader = &bytes[..];
        let mut source = Source::new("a".as_ref(), &mut reader, known.then_some(bytes.len() as u64));
        let bounds = bounds(Some(max_points));
        match read_rows(&mut source, &bounds, columns, XYZ) {
            Ok(rows) => format!("{} values", rows.data.len()),
            Err(e) => format!("{}: {e}", e.class()),
        }
    }

    #[test]
    fn wrong_lengths_name_what_would_fit() {
        for known in [true, false] {
            assert_eq!(told(32, known, 4, 9), "8 values");
            assert_eq!(told(0, known, 4, 9), "0 values");
            assert_eq!(
                told(24, known, 4, 9),
                "SizeMismatch: a: length: expected a multiple of 16 bytes (4 columns of f32), \
                 got 24 bytes (remainder 8); 3 or 6 columns would fit"
            );
            assert!(told(20, known, 4, 9).ends_with("; 5 columns would fit"));
            assert!(
                told(17, known, 4, 9).contains("17 bytes (remainder 1); no column count from 3 to 8 fits; --salvage")
            );
        }
    }

    #[test]
    fn bytes_that_are_no_rows_are_told() {
        let odd = |data: &[f32]| implausible(data, 4).is_some();
        let street: Vec<f32> = (0..4000).map(|i| (i % 977) as f32 * 0.1 - 40.0).collect();
        let mut far = street.clone();
        far.iter_mut().step_by(40).for_each(|v| *v = 3e9);
        let swapped: Vec<f32> = street.iter().map(|v| f32::from_bits(v.to_bits().swap_bytes())).collect();
        let zeros_and_nan = [[0.0; 64], [f32::NAN; 64]].concat();
        assert_eq!([&street, &far, &swapped, &zeros_and_nan].map(|data| odd(data)), [false, true, true, false]);
    }

    #[test]
    fn limits_hold_with_and_without_a_length() {
        for known in [true, false] {
            assert_eq!(told(160, known, 4, 10), "40 values");
            assert!(told(176, known, 4, 10).starts_with("LimitExceeded: a: points: expected at most 10"));
        }
    }

    #[test]
    fn a_file_that_shrinks_is_truncated() {
        let mut reader = &[0u8; 16][..];
        let bounds = bounds(None);
        let e = read_any(&mut Source::new("a".as_ref(), &mut reader, Some(32)), &bounds).err().unwrap();
        assert_eq!(e.to_string(), "a: data: expected 32 bytes, got 16 bytes");
    }
}
