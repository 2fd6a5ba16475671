//! Sums of an ndt map's cells as Arrow IPC files: columns that other programs read, and that come back as the same integers.
//!
//! A file has a row for each cell, with the columns `x`, `y`, `z` (`int32`), `count` (`uint32`), `sum_x`, `sum_y`, `sum_z`, `xx`, `xy`, `xz`, `yy`, `yz`, `zz`
//! (`int64`), none of them null. The metadata of its schema has the keys `format` (`pointmill.ndt.moments`), `version` (`1`), `inv` (the reciprocal of a cell's edge, the
//! eight hexadecimal digits of an `f32`), `resolution` (the edge in metres, for people), `points` and `nonfinite`.

mod columns;
mod read;
mod write;

pub use read::{read_ndt_moments, read_ndt_moments_within};
pub use write::write_ndt_moments;
pub(crate) use write::write_synced_moments;
