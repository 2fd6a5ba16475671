//! Columns in full, in arrays beside the points.

use crate::array::{Array, ArrayData};
use crate::field::Field;
use crate::memory::collect;
use crate::named_points::{Column, Long, NamedPoints};
use crate::rows::Rows;
use crate::values::Raw;
use crate::wide_column::WideColumn;
use pointmill_core::array::Dtype;
use std::collections::TryReserveError;

/// What stands behind the name of the column.
const ENDINGS: [(&str, Dtype); 3] = [("_f64", Dtype::F64), ("_i64", Dtype::I64), ("_u64", Dtype::U64)];

/// The arrays of the columns that `points` does not hold.
pub(super) fn arrays(cloud: &NamedPoints<'_>) -> Result<Vec<(String, Array)>, TryReserveError> {
    let columns = cloud.columns(Long::Always);
    let wide =
        columns.iter().zip(cloud.fields.iter()).filter_map(|(column, field)| Some((column, column.wide?, field)));
    let array = |(column, wide, field): (&Column<'_>, &WideColumn, &Field)| {
        let rows = 0..wide.len();
        let (ending, data) = match column.dtype {
            Dtype::I32 | Dtype::I64 => ("_i64", ArrayData::I64(collect(rows.map(|i| wide.whole(i) as i64))?)),
            Dtype::U32 | Dtype::U64 => ("_u64", ArrayData::U64(collect(rows.map(|i| wide.whole(i) as u64))?)),
            _ => ("_f64", ArrayData::F64(collect(rows.map(|i| wide.double(i)))?)),
        };
        // A column of no name, or of one that means something else.
        let is_free = !field.name.is_empty() && field.name != "xyz" && !field.name.contains('\0');
        let name = if is_free { field.name.clone() } else { format!("column{}", wide.column) };
        let array = Array::new(vec![wide.len()], data).expect("a shape of all values");
        Ok((name + ending, array))
    };
    wide.map(array).collect()
}

/// The name of the column that an array has in full.
pub(super) fn column_of(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|(ending, _)| name.strip_suffix(ending))
}

/// Takes a column from an array, if its values are those of a column of the rows before their cast.
/// Another array is not the cloud's.
pub(super) fn take(rows: &mut Rows, name: &str, array: &Array, is_named: bool) {
    let n = rows.len();
    if array.shape() != [n] || n == 0 {
        return;
    }
    let found = match array.data() {
        ArrayData::F64(values) => find(rows, values),
        ArrayData::I64(values) => find(rows, values),
        ArrayData::U64(values) => find(rows, values),
        _ => None,
    };
    let Some(wide) = found else { return };
    let fields = &mut rows.fields;
    fields[wide.column].dtype = array.dtype();
    if is_named && !fields.iter().any(|field| field.name == name) {
        fields[wide.column].name = name.into();
    }
    rows.wide.push(wide);
}

/// The column that values are after their cast, if it is not known in full.
fn find<T: Raw>(rows: &Rows, values: &[T]) -> Option<WideColumn> {
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    let is_known = |j: usize| rows.wide.iter().any(|wide| wide.column == j);
    let is_it = |j: &usize| {
        let column = rows.data.iter().skip(*j).step_by(rows.columns());
        !is_known(*j) && column.zip(values).all(|(&v, wide)| same(v, wide.to_f32()))
    };
    let column = (3..rows.columns()).find(is_it)?;
    Some(WideColumn::from_values(column, Vec::new(), values.iter().copied()))
}
