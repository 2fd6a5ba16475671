//! What every format's reader returns.

use crate::field::Field;
use crate::warning::Warning;
use crate::wide::WideColumn;
use pointmill_core::array::Dtype;

/// The rows of a cloud as a format's reader returns them.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) data: Vec<f32>,
    pub(crate) columns: usize,
    /// The type of all values in the file, where there is one for all.
    pub(crate) dtype: Dtype,
    /// The names of the columns, where they are known without the file.
    pub(crate) names: Option<&'static [&'static str]>,
    /// The columns, where the file or its format names them.
    pub(crate) fields: Option<Vec<Field>>,
    /// x, y, z of every row, where the file's types hold more than an `f32` does.
    pub(crate) xyz_f64: Option<Vec<f64>>,
    /// Columns behind z whose type holds more than an `f32` does, in order.
    pub(crate) wide: Vec<WideColumn>,
    /// The decimals of coordinates that are decimal numbers of so many, where the file says so.
    pub(crate) decimals: Option<u8>,
    /// The box that the file gives, where it gives one.
    pub(crate) bbox: Option<[[f64; 3]; 2]>,
    pub(crate) warnings: Vec<Warning>,
}

impl Rows {
    /// Makes rows that are about an origin rows about zero, as those of every reader are.
    pub(crate) fn move_to_zero(&mut self, origin: [f64; 3]) {
        let xyz = self.xyz_f64.take().unwrap_or_else(|| {
            let rows = self.data.chunks_exact(self.columns);
            rows.flat_map(|row| [0, 1, 2].map(|axis| origin[axis] + f64::from(row[axis]))).collect()
        });
        for (row, point) in self.data.chunks_exact_mut(self.columns).zip(xyz.as_chunks::<3>().0) {
            row.iter_mut().zip(point).for_each(|(v, &exact)| *v = exact as f32);
        }
        self.xyz_f64 = Some(xyz);
    }

    /// The rows with a warning if they are fewer than the file declares, or if something else of it
    /// `is_lost`.
    pub(crate) fn salvaged(mut self, points: u64, declared: u64, is_lost: bool) -> Self {
        if points < declared || is_lost {
            self.warnings.push(Warning::Salvaged { points, declared: Some(declared) });
        }
        self
    }

    /// No rows: what a reader fills in the fields of that it knows.
    pub(crate) const EMPTY: Self = Self {
        data: vec![],
        columns: 3,
        dtype: Dtype::F32,
        names: None,
        fields: None,
        xyz_f64: None,
        wide: vec![],
        decimals: None,
        bbox: None,
        warnings: vec![],
    };
}
