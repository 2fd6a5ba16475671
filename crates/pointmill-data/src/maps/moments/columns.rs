//! What the file is made of.

use arrow_schema::{DataType, Field, Schema};
use pointmill_core::ndt::NdtMomentsTable;
use std::collections::HashMap;
use std::sync::Arc;

/// The names of the columns, in the file's order.
pub(super) const NAMES: [&str; 13] = NdtMomentsTable::COLUMNS;

/// The type of a column: the cell, the count, and the sums.
pub(super) const fn kind(column: usize) -> DataType {
    match column {
        0..3 => DataType::Int32,
        3 => DataType::UInt32,
        _ => DataType::Int64,
    }
}

/// Bytes of a value of the column.
pub(super) fn width(column: usize) -> u64 {
    if matches!(kind(column), DataType::Int64) { 8 } else { 4 }
}

/// Bytes of a row.
pub(super) fn row() -> u64 {
    (0..NAMES.len()).map(width).sum()
}

/// Keys of the metadata, and what the first two say.
pub(super) const FORMAT: &str = "format";
pub(super) const VERSION: &str = "version";
pub(super) const INV: &str = "inv";
pub(super) const RESOLUTION: &str = "resolution";
pub(super) const POINTS: &str = "points";
pub(super) const NONFINITE: &str = "nonfinite";
/// The key of the origin, which is there unless that is zero.
pub(super) const ORIGIN: &str = "origin";
pub(super) const KEYS: [&str; 7] = [FORMAT, VERSION, INV, RESOLUTION, POINTS, NONFINITE, ORIGIN];
pub(super) const THIS_FORMAT: &str = "pointmill.ndt.moments";
pub(super) const THIS_VERSION: &str = "1";

/// The columns with metadata; the writer sorts its keys.
pub(super) fn schema(metadata: HashMap<String, String>) -> Arc<Schema> {
    let fields = NAMES.into_iter().enumerate().map(|(k, name)| Field::new(name, kind(k), false));
    let fields: Vec<Field> = fields.collect();
    Arc::new(Schema::new(fields).with_metadata(metadata))
}
