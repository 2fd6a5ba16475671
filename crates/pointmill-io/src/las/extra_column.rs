//! Columns that LAS does not know, as extra bytes of points that are written.

use super::extra;
use crate::named_points::{Column, NamedPoints};
use crate::survey::Survey;
use crate::values::whole_range;
use pointmill_core::array::Dtype;

/// A column that LAS does not know.
#[derive(Debug)]
pub(super) struct ExtraColumn {
    pub(super) column: usize,
    /// Its type, and the scale and the offset of its values.
    pub(super) dtype: Dtype,
    scale: f64,
    shift: f64,
    /// What a record says of it; its name is missing.
    pub(super) told: Vec<u8>,
}

impl ExtraColumn {
    /// A column as the file that was read described it, where that has every value; else in its own
    /// type.
    pub(super) fn of(cloud: &NamedPoints<'_>, column: &Column<'_>, j: usize, survey: &Survey) -> Self {
        let told = survey.described.iter().find(|told| told.column == cloud.fields[j].name);
        let coded = told.and_then(|told| Some((extra::coding(&told.told)?, told)));
        if let Some(((dtype, scale, shift), told)) = coded {
            let extra = Self { column: j, dtype, scale, shift, told: told.told.clone() };
            if (dtype == column.dtype && extra.is_plain()) || extra.holds_all(cloud, column) {
                return extra;
            }
        }
        let mut own = vec![0; extra::EACH];
        own[2] = extra::number_of(column.dtype).unwrap_or(9); // f32
        Self { column: j, dtype: column.dtype, scale: 1.0, shift: 0.0, told: own }
    }

    fn is_plain(&self) -> bool {
        (self.scale, self.shift) == (1.0, 0.0)
    }

    /// The number that a value is stored as.
    fn stored(&self, v: f64) -> f64 {
        let steps = (v - self.shift) / self.scale;
        if whole_range(self.dtype).is_some() { steps.round() } else { steps }
    }

    /// The value of a row in `f64`, if that is all of it.
    fn value(&self, cloud: &NamedPoints<'_>, column: &Column<'_>, i: usize) -> Option<f64> {
        let Some(wide) = column.wide else { return Some(f64::from(cloud.points.row(i)[self.column])) };
        let v = wide.double(i);
        (!wide.is_whole(i) || v as i128 == wide.whole(i)).then_some(v)
    }

    /// Whether every value comes back as it is.
    fn holds_all(&self, cloud: &NamedPoints<'_>, column: &Column<'_>) -> bool {
        (0..cloud.points.len()).all(|i| {
            self.value(cloud, column, i).is_some_and(|v| {
                let stored = self.stored(v);
                let fits = match whole_range(self.dtype) {
                    Some((least, most)) => (least as f64..=most as f64).contains(&stored),
                    None => self.dtype == Dtype::F64 || f64::from(stored as f32) == stored,
                };
                fits && stored * self.scale + self.shift == v
            })
        })
    }

    /// Adds the bytes of a row.
    pub(super) fn put(&self, cloud: &NamedPoints<'_>, column: &Column<'_>, i: usize, record: &mut Vec<u8>) {
        if self.is_plain() && self.dtype == column.dtype {
            return cloud.value(i, self.column, column, record);
        }
        let stored = self.stored(self.value(cloud, column, i).unwrap_or_default());
        match self.dtype {
            Dtype::F32 => record.extend((stored as f32).to_le_bytes()),
            Dtype::F64 => record.extend(stored.to_le_bytes()),
            whole => record.extend(&(stored as i128).to_le_bytes()[..whole.bytes()]),
        }
    }
}
