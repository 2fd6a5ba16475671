//! Records of named numbers into rows of a cloud: a format describes its columns, and one loop
//! fills rows from them.

mod columns;
mod fill;
mod numbers;
mod table;

pub(crate) use columns::{
    Coding, Columns, Entry, LONGEST_NAME, MAX_RECORD, bad_line, checked_name, name, whole_number,
};
pub(crate) use fill::{Order, Part, Strided};
pub(crate) use numbers::split;
pub(crate) use table::{Table, declared_records, next_values, records};
