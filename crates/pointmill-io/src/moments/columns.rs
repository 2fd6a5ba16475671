//! What the file is made of.

use arrow_schema::{DataType, Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;

/// Name and type of each column, in the file's order.
pub(super) const COLUMNS: [(&str, DataType); 13] = [
    ("x", DataType::Int32),
    ("y", DataType::Int32),
    ("z", DataType::Int32),
    ("count", DataType::UInt32),
    ("sum_x", DataType::Int64),
    ("sum_y", DataType::Int64),
    ("sum_z", DataType::Int64),
    ("xx", DataType::Int64),
    ("xy", DataType::Int64),
    ("xz", DataType::Int64),
    ("yy", DataType::Int64),
    ("yz", DataType::Int64),
    ("zz", DataType::Int64),
];

/// Bytes of a value of the column.
pub(super) fn width(column: usize) -> u64 {
    if matches!(COLUMNS[column].1, DataType::Int64) { 8 } else { 4 }
}

/// Bytes of a row.
pub(super) fn row() -> u64 {
    (0..COLUMNS.len()).map(width).sum()
}

/// Keys of the metadata, and what the first two say.
pub(super) const FORMAT: &str = "format";
pub(super) const VERSION: &str = "version";
pub(super) const INV: &str = "inv";
pub(super) const RESOLUTION: &str = "resolution";
pub(super) const POINTS: &str = "points";
pub(super) const NONFINITE: &str = "nonfinite";
pub(super) const KEYS: [&str; 6] = [FORMAT, VERSION, INV, RESOLUTION, POINTS, NONFINITE];
pub(super) const THIS_FORMAT: &str = "pointmill.ndt.moments";
pub(super) const THIS_VERSION: &str = "1";

/// The columns with metadata; the writer sorts its keys.
pub(super) fn schema(metadata: HashMap<String, String>) -> Arc<Schema> {
    let fields: Vec<Field> = COLUMNS.into_iter().map(|(name, kind)| Field::new(name, kind, false)).collect();
    Arc::new(Schema::new(fields).with_metadata(metadata))
}
