//! From sums to a file.

use super::columns;
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema};
use pointmill_core::LocalOrigin;
use pointmill_core::ndt::{Moments, NdtMomentsTable};
use pointmill_io::Destination;
use pointmill_io::files::write_synced;
use pointmill_io::{Detail, IoError};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a record batch: columns are copied by so many, not all at once.
const BATCH: usize = 1 << 16;
/// Bytes that columns start at multiples of, as the format advises. Said here, so that another default of the crate changes no file.
const ALIGNMENT: usize = 64;

/// Writes sums as an Arrow IPC file, whole or not at all (see [`write_whole`](crate::write_whole)).
///
/// The file has a row for each cell: its coordinates, the count of its points, the sums of their offsets and of the products of these. The lattice and the numbers of
/// points are metadata of the schema.
///
/// **Determinism**: equal tables give equal bytes.
///
/// # Errors
/// A table that [`read_ndt_moments`](crate::read_ndt_moments) would refuse, as [`IoError::InvalidArgument`]; what the system refuses.
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

/// As [`write_ndt_moments`]; see [`write_synced`] for `sync`.
pub(crate) fn write_synced_moments(to: impl Destination, sync: bool, table: &NdtMomentsTable) -> Result<(), IoError> {
    let path = to.path();
    table.check().map_err(|e| IoError::InvalidArgument(Detail::new(path, e.field, e.expected, e.got)))?;
    write_synced(&to, sync, |out| write(out, table).map_err(io_error))
}

fn write(out: &mut impl Write, table: &NdtMomentsTable) -> Result<(), ArrowError> {
    let schema = columns::schema(metadata(table));
    let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
    let mut writer = FileWriter::try_new_with_options(out, &schema, options)?;
    for cells in table.cells.chunks(BATCH) {
        writer.write(&batch(&schema, cells)?)?;
    }
    writer.finish()
}

fn metadata(table: &NdtMomentsTable) -> HashMap<String, String> {
    let origin = table.lattice.origin();
    let values = [
        columns::THIS_FORMAT.into(),
        columns::THIS_VERSION.into(),
        format!("{:08x}", table.lattice.inv().to_bits()),
        format!("{:?}", table.lattice.unit()),
        table.points.to_string(),
        table.non_finite.to_string(),
    ];
    let origin = (origin != [0.0; 3]).then(|| LocalOrigin::At(origin).to_string());
    columns::KEYS.map(String::from).into_iter().zip(values.into_iter().chain(origin)).collect()
}

fn batch(schema: &Arc<Schema>, cells: &[([i32; 3], Moments)]) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(columns::NAMES.len());
    for k in 0..3 {
        columns.push(Arc::new(Int32Array::from_iter_values(cells.iter().map(|(cell, _)| cell[k]))));
    }
    columns.push(Arc::new(UInt32Array::from_iter_values(cells.iter().map(|(_, m)| m.count))));
    for k in 0..3 {
        columns.push(Arc::new(Int64Array::from_iter_values(cells.iter().map(|(_, m)| m.sum[k]))));
    }
    for k in 0..6 {
        columns.push(Arc::new(Int64Array::from_iter_values(cells.iter().map(|(_, m)| m.products[k]))));
    }
    RecordBatch::try_new(schema.clone(), columns)
}

/// The system's answer out of the crate's error.
fn io_error(e: ArrowError) -> io::Error {
    match e {
        ArrowError::IoError(_, e) => e,
        e => io::Error::other(e),
    }
}
