//! Sums of an ndt map's cells as Arrow IPC files: columns that other programs read, and that come
//! back as the same integers.
//!
//! A file has a row for each cell, with the columns `x`, `y`, `z` (`int32`), `count` (`uint32`),
//! `sum_x`, `sum_y`, `sum_z`, `xx`, `xy`, `xz`, `yy`, `yz`, `zz` (`int64`), none of them null. The
//! metadata of its schema has the keys `format` (`pointmill.ndt.moments`), `version` (`2`), `inv`
//! (the reciprocal of a cell's edge, the eight hexadecimal digits of an `f32`), `resolution` (the
//! edge in metres, for people), `points` and `nonfinite`; and `origin`, unless it is zero.

use pointmill_core::LocalOrigin;
use pointmill_core::array::Dtype;
use pointmill_core::ndt::{Moments, NdtLattice, NdtMomentsTable, NdtTableError};
use pointmill_io::files::{Layout, excerpt, read_table, write_table};
use pointmill_io::{Destination, Detail, IoError, Limits, Place};
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: &str = "pointmill.ndt.moments";
const VERSION: &str = "2";
const NAMES: [&str; 13] = NdtMomentsTable::COLUMNS;

/// The columns: the cell, the count, and the sums.
fn columns() -> [(&'static str, Dtype); 13] {
    std::array::from_fn(|k| {
        let dtype = match k {
            0..3 => Dtype::I32,
            3 => Dtype::U32,
            _ => Dtype::I64,
        };
        (NAMES[k], dtype)
    })
}

/// Writes sums as an Arrow IPC file, whole or not at all (see
/// [`write_whole`](pointmill_io::write_whole)).
///
/// The file has a row for each cell: its coordinates, the count of its points, the sums of their
/// offsets and of the products of these. The lattice and the numbers of points are metadata of the
/// schema.
///
/// **Determinism**: equal tables give equal bytes.
///
/// # Errors
/// A table that [`read_ndt_moments`] would refuse, as [`IoError::InvalidArgument`]; what the system
/// refuses.
///
/// ```
/// use pointmill_core::ndt::{Moments, NdtLattice};
/// use pointmill_data::{NdtMomentsTable, read_ndt_moments, write_ndt_moments};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.arrow", std::process::id()));
/// let cells = vec![([40_000, 21_000, 0], Moments::of([1, -2, 3]))];
/// let table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 2, non_finite: 1, cells };
/// write_ndt_moments(&path, &table)?;
/// assert_eq!(read_ndt_moments(&path)?, table);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_ndt_moments(to: impl Destination, table: &NdtMomentsTable) -> Result<(), IoError> {
    write_synced_moments(to, true, table)
}

/// As [`write_ndt_moments`]. Without `sync` the file may be shorter after a crash, which its
/// readers find.
pub(crate) fn write_synced_moments(to: impl Destination, sync: bool, table: &NdtMomentsTable) -> Result<(), IoError> {
    table.check().map_err(|e| IoError::InvalidArgument(detail(to.path(), e)))?;
    let lattice = &table.lattice;
    let mut metadata = vec![
        ("format", FORMAT.to_owned()),
        ("version", VERSION.to_owned()),
        ("inv", format!("{:08x}", lattice.inv().to_bits())),
        ("resolution", format!("{:?}", lattice.unit())),
        ("points", table.points.to_string()),
        ("nonfinite", table.non_finite.to_string()),
    ];
    if lattice.origin() != [0.0; 3] {
        metadata.push(("origin", LocalOrigin::At(lattice.origin()).to_string()));
    }
    let layout = Layout { metadata: &metadata, columns: &columns(), rows: table.cells.len() };
    write_table(&to, sync, &layout, |row, column, bytes| {
        let (cell, moments) = &table.cells[row];
        match column {
            0..3 => bytes.extend(cell[column].to_le_bytes()),
            3 => bytes.extend(moments.count.to_le_bytes()),
            4..7 => bytes.extend(moments.sum[column - 4].to_le_bytes()),
            _ => bytes.extend(moments.products[column - 7].to_le_bytes()),
        }
    })
}

/// Reads the sums of an Arrow IPC file, as [`write_ndt_moments`] makes it, within
/// [`Limits::default`].
///
/// Files of other programs are read too, if they have these columns and this metadata, in one
/// record batch or several.
///
/// # Errors
/// Any class of [`IoError`] about files: what is no such file, ends early, has another column, a
/// null, cells out of order or out of the lattice, or sums that no points have.
pub fn read_ndt_moments(path: impl AsRef<Path>) -> Result<NdtMomentsTable, IoError> {
    read_ndt_moments_within(Place::named(path.as_ref()), &Limits::default())
}

/// Reads the sums of an Arrow IPC file as [`read_ndt_moments`] does, within limits of the caller's;
/// of them
/// [`Limits::max_memory`] counts, for what is held of the file and once more for its rows, 96 bytes for each.
///
/// # Errors
/// As [`read_ndt_moments`].
///
/// ```
/// use pointmill_core::ndt::NdtLattice;
/// use pointmill_data::{NdtMomentsTable, read_ndt_moments_within, write_ndt_moments};
/// use pointmill_io::Limits;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-within.arrow", std::process::id()));
/// let table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 0, non_finite: 0, cells: vec![] };
/// write_ndt_moments(&path, &table)?;
/// let limits = Limits { max_memory: Some(100), ..Limits::default() };
/// assert_eq!(read_ndt_moments_within(&path, &limits).unwrap_err().class(), "LimitExceeded");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_ndt_moments_within(from: impl Destination, limits: &Limits) -> Result<NdtMomentsTable, IoError> {
    let path = from.path();
    let mut head = None;
    let mut cells: Vec<([i32; 3], Moments)> = Vec::new();
    let begin = |metadata: &BTreeMap<String, String>| {
        head = Some(empty_table(path, metadata)?);
        Ok(())
    };
    read_table(&from, limits, columns(), begin, |rows, columns| {
        let all = cells.len().saturating_add(rows);
        let bytes = all.saturating_mul(size_of::<([i32; 3], Moments)>()) as u64;
        if let Some(most) = limits.max_memory.filter(|most| bytes > *most) {
            let wanted = format!("at most {most} bytes (the limit `max_memory`, --max-memory)");
            let found = format!("{bytes} bytes or more");
            return Err(IoError::LimitExceeded(Detail::new(path, "memory", wanted, found)));
        }
        cells
            .try_reserve(rows)
            .map_err(|_| IoError::OutOfMemory(Detail::new(path, "rows", format!("memory for {rows} rows"), "none")))?;
        let four = |column: usize, row: usize| std::array::from_fn(|b| columns[column][4 * row + b]);
        let long =
            |column: usize, row: usize| i64::from_le_bytes(std::array::from_fn(|b| columns[column][8 * row + b]));
        cells.extend((0..rows).map(|row| {
            let moments = Moments {
                count: u32::from_le_bytes(four(3, row)),
                sum: [4, 5, 6].map(|column| long(column, row)),
                products: [7, 8, 9, 10, 11, 12].map(|column| long(column, row)),
            };
            ([0, 1, 2].map(|column| i32::from_le_bytes(four(column, row))), moments)
        }));
        Ok(())
    })?;
    let none = || IoError::MissingField(Detail::new(path, "schema", "the metadata of moments", "none"));
    let table = NdtMomentsTable { cells, ..head.ok_or_else(none)? };
    table.check_cells().map_err(|e| IoError::LimitExceeded(detail(path, e)))?;
    table.check_points().map_err(|e| IoError::SizeMismatch(detail(path, e)))?;
    Ok(table)
}

/// What is wrong with a table.
fn detail(path: &Path, NdtTableError { field, expected, got }: NdtTableError) -> Box<Detail> {
    Detail::new(path, field, expected, got)
}

/// A table without cells, with what the metadata say.
fn empty_table(path: &Path, metadata: &BTreeMap<String, String>) -> Result<NdtMomentsTable, IoError> {
    let value = |key: &str| {
        let value = metadata.get(key).map(String::as_str);
        value.ok_or_else(|| IoError::MissingField(Detail::new(path, "metadata", format!("the key `{key}`"), "none")))
    };
    let wrong = |key: &str, wanted: String, found: &str| Detail::new(path, format!("metadata `{key}`"), wanted, found);
    let quoted = |text: &str| excerpt(text.as_bytes());
    for (key, wanted) in [("format", FORMAT), ("version", VERSION)] {
        let found = value(key)?;
        if found != wanted {
            let wrong = wrong(key, format!("`{wanted}`"), &quoted(found));
            return Err(IoError::UnsupportedFormat(wrong));
        }
    }
    let bad = |key: &str, wanted: String, found: &str| IoError::BadHeader(wrong(key, wanted, found));
    // What parses and is written alike: no signs, no zeros before it.
    let text = value("inv")?;
    let inv = u32::from_str_radix(text, 16).ok().filter(|bits| format!("{bits:08x}") == text).map(f32::from_bits);
    let inv = inv.ok_or_else(|| bad("inv", "8 lower-case hexadecimal digits".into(), &quoted(text)))?;
    let lattice = NdtLattice::new(1.0 / f64::from(inv)).ok().filter(|lattice| lattice.inv() == inv);
    let lattice = lattice.ok_or_else(|| bad("inv", "a normal f32 above 0".into(), &format!("{inv:e}")))?;
    let (unit, found) = (format!("{:?}", lattice.unit()), value("resolution")?);
    if found != unit {
        return Err(bad("resolution", format!("`{unit}`, as `inv` says"), &quoted(found)));
    }
    let number = |key: &str| {
        let text = value(key)?;
        let number = text.parse::<u64>().ok().filter(|n| n.to_string() == text);
        number.ok_or_else(|| bad(key, "a number below 2^64".into(), &quoted(text)))
    };
    let (points, non_finite) = (number("points")?, number("nonfinite")?);
    let origin = match metadata.get("origin") {
        None => [0.0; 3],
        Some(text) => match text.parse() {
            Ok(origin @ LocalOrigin::At(xyz)) if origin.to_string() == *text => xyz,
            _ => {
                let wanted = "three finite numbers with commas between them";
                return Err(bad("origin", wanted.into(), &quoted(text)));
            }
        },
    };
    Ok(NdtMomentsTable { lattice: lattice.about(origin), points, non_finite, cells: Vec::new() })
}
