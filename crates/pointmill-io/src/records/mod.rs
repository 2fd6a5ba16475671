//! Records of named numbers, as PLY and PCD have them, into rows of a cloud.

mod columns;
mod fill;
mod numbers;
mod table;

pub(crate) use columns::{Columns, Entry, LONGEST_NAME, MAX_RECORD, bad_line, checked_name, name, whole_number};
pub(crate) use fill::{Part, Strided};
pub(crate) use numbers::split;
pub(crate) use table::{Order, Table, next_values, records, too_short};
