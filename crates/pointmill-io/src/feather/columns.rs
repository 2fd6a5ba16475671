//! Some columns of a table as rows of numbers.

use super::read::{expect_points, read};
use super::schema::Kind;
use crate::error::IoError;
use crate::fault::bail;
use crate::limits::Bounds;
use crate::window::Window;
use pointmill_core::array::Dtype;

/// The values of the columns of these names, row after row, as `f64`.
pub(crate) fn read_columns<const N: usize>(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    names: [&str; N],
) -> Result<Vec<[f64; N]>, IoError> {
    let mut rows: Vec<[f64; N]> = vec![];
    let mut memory: [Vec<u8>; N] = std::array::from_fn(|_| vec![]);
    read(window, bounds, expect_points, |window, columns, batches| {
        let (mut places, mut dtypes) = ([0; N], [Dtype::F64; N]);
        for (j, name) in names.into_iter().enumerate() {
            let field = format!("column `{name}`");
            let Some(at) = columns.iter().position(|column| column.name == name) else {
                let found: Vec<_> = columns.iter().take(16).map(|column| &*column.name).collect();
                bail!(window, MissingField, field, (names.join(", ")), found.join(", "));
            };
            let Kind::Numbers(dtype @ (Dtype::F32 | Dtype::F64 | Dtype::I64 | Dtype::U64)) = columns[at].kind else {
                bail!(window, DtypeMismatch, field, "numbers of f32, f64, i64 or u64", "another type");
            };
            if batches.iter().any(|batch| batch.has_nulls(at)) {
                bail!(window, BadValue, field, "a value in each row", "nulls");
            }
            (places[j], dtypes[j]) = (at, dtype);
        }
        for batch in batches {
            bounds.check_points(window.source(), (rows.len() + batch.rows) as u64)?;
            window.source().reserve(&mut rows, batch.rows)?;
            let found = batch.find(window, columns, &places)?;
            for ([found, _], memory) in found.iter().zip(&mut memory) {
                found.unpack(memory)?;
            }
            rows.extend((0..batch.rows).map(|i| {
                std::array::from_fn(|j| {
                    let bytes = found[j][0].bytes(&memory[j]);
                    let eight = || std::array::from_fn(|k| bytes[8 * i + k]);
                    match dtypes[j] {
                        Dtype::F32 => f64::from(f32::from_le_bytes(std::array::from_fn(|k| bytes[4 * i + k]))),
                        Dtype::F64 => f64::from_le_bytes(eight()),
                        Dtype::I64 => i64::from_le_bytes(eight()) as f64,
                        _ => u64::from_le_bytes(eight()) as f64,
                    }
                })
            }));
        }
        Ok(())
    })?;
    Ok(rows)
}
