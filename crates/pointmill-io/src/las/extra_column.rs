//! Columns that LAS does not know, as extra bytes of points that are written.

use super::extra;
use crate::error::IoError;
use crate::named_points::{Column, NamedPoints};
use crate::parts::Parts;
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
    pub(super) fn of(cloud: &dyn Parts, dtypes: &[Dtype], j: usize, survey: &Survey) -> Result<Self, IoError> {
        let told = survey.described.iter().find(|told| told.column == cloud.fields()[j].name);
        let coded = told.and_then(|told| Some((extra::coding(&told.told)?, told)));
        if let Some(((dtype, scale, shift), told)) = coded {
            let extra = Self { column: j, dtype, scale, shift, told: told.told.clone() };
            if (dtype == dtypes[j] && extra.is_plain()) || extra.holds_all(cloud, dtypes)? {
                return Ok(extra);
            }
        }
        let mut own = vec![0; extra::EACH];
        own[2] = extra::number_of(dtypes[j]).unwrap_or(9); // f32
        Ok(Self { column: j, dtype: dtypes[j], scale: 1.0, shift: 0.0, told: own })
    }

    fn is_plain(&self) -> bool {
        (self.scale, self.shift) == (1.0, 0.0)
    }

    /// The number that a value is stored as.
    fn stored(&self, v: f64) -> f64 {
        let steps = (v - self.shift) / self.scale;
        if whole_range(self.dtype).is_some() { steps.round() } else { steps }
    }

    /// Whether every value comes back as it is.
    fn holds_all(&self, cloud: &dyn Parts, dtypes: &[Dtype]) -> Result<bool, IoError> {
        let mut holds = true;
        cloud.each(&mut |_, part| {
            let columns = part.as_columns(dtypes);
            holds =
                (0..part.points.len()).all(|i| value(part, &columns, i, self.column).is_some_and(|v| self.holds(v)));
            Ok(holds)
        })?;
        Ok(holds)
    }

    /// Whether a value comes back as it is.
    fn holds(&self, v: f64) -> bool {
        let stored = self.stored(v);
        let fits = match whole_range(self.dtype) {
            Some((least, most)) => (least as f64..=most as f64).contains(&stored),
            None => self.dtype == Dtype::F64 || f64::from(stored as f32) == stored,
        };
        fits && stored * self.scale + self.shift == v
    }

    /// Adds the bytes of a row.
    pub(super) fn put(&self, part: &NamedPoints<'_>, columns: &[Column<'_>], i: usize, record: &mut Vec<u8>) {
        let j = self.column;
        if self.is_plain() && self.dtype == columns[j].dtype {
            return part.value(i, j, &columns[j], record);
        }
        let stored = self.stored(value(part, columns, i, j).unwrap_or_default());
        match self.dtype {
            Dtype::F32 => record.extend((stored as f32).to_le_bytes()),
            Dtype::F64 => record.extend(stored.to_le_bytes()),
            whole => record.extend(&(stored as i128).to_le_bytes()[..whole.bytes()]),
        }
    }
}

/// The value of a column; `None` of a whole number that an `f64` does not hold.
pub(super) fn value(part: &NamedPoints<'_>, columns: &[Column<'_>], i: usize, j: usize) -> Option<f64> {
    let Some(wide) = columns[j].wide else { return Some(f64::from(part.points.row(i)[j])) };
    let v = wide.double(i);
    (!wide.is_whole(i) || v as i128 == wide.whole(i)).then_some(v)
}
