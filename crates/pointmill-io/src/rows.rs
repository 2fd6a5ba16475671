//! What every format's reader returns.

use crate::field::Field;
use crate::memory::extend;
use crate::survey::Survey;
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use std::collections::TryReserveError;
use std::sync::Arc;

/// The rows of a cloud as a format's reader returns them.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) data: Vec<f32>,
    /// The columns.
    pub(crate) fields: Vec<Field>,
    /// x, y, z of every row, where the file's types hold more than an `f32` does.
    pub(crate) xyz_f64: Option<Vec<f64>>,
    /// Columns behind z whose type holds more than an `f32` does, in order.
    pub(crate) wide: Vec<WideColumn>,
    /// The decimals of coordinates that are decimal numbers of so many, where the file says so.
    pub(crate) decimals: Option<u8>,
    /// The box that the file gives, where it gives one.
    pub(crate) bbox: Option<[[f64; 3]; 2]>,
    pub(crate) warnings: Vec<Warning>,
    /// What a LAS file says of its points.
    pub(crate) survey: Option<Arc<Survey>>,
}

impl Rows {
    /// Makes rows that are about an origin rows about zero, as those of every reader are.
    pub(crate) fn move_to_zero(&mut self, origin: [f64; 3]) -> Result<(), TryReserveError> {
        let mut xyz = self.xyz_f64.take().unwrap_or_default();
        if xyz.is_empty() {
            let rows = self.data.chunks_exact(self.columns());
            let points = rows.flat_map(|row| [0, 1, 2].map(|axis| origin[axis] + f64::from(row[axis])));
            extend(&mut xyz, 3 * self.len(), points)?;
        }
        let columns = self.columns();
        for (row, point) in self.data.chunks_exact_mut(columns).zip(xyz.as_chunks::<3>().0) {
            row.iter_mut().zip(point).for_each(|(v, &exact)| *v = exact as f32);
        }
        self.xyz_f64 = Some(xyz);
        Ok(())
    }

    /// The rows with a warning if they are fewer than the file declares, or if something else of it
    /// `is_lost`.
    pub(crate) fn salvaged(mut self, points: u64, declared: u64, is_lost: bool) -> Self {
        if points < declared || is_lost {
            self.warnings.push(Warning::Salvaged { points, declared: Some(declared) });
        }
        self
    }

    /// Rows with nothing else to say of them.
    pub(crate) fn new(fields: Vec<Field>, data: Vec<f32>) -> Self {
        Self { data, fields, xyz_f64: None, wide: vec![], decimals: None, bbox: None, warnings: vec![], survey: None }
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.fields.len()
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.data.len() / self.columns()
    }
}
