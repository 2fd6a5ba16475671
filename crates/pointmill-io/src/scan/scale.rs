//! A column of a scan times a number.

use super::Scan;
use crate::error::IoError;
use crate::fault::{bail, fault};
use crate::format::Format;
use crate::las;
use crate::memory::collect;
use crate::values::whole_range;
use crate::wide_column::WideColumn;
use pointmill_core::PointCloud;
use pointmill_core::array::Dtype;
use std::path::Path;

impl Scan {
    /// The scan with a column behind z times a number, for a file of a format. Values of a type of
    /// whole numbers, and those of a field of whole numbers of LAS, are rounded to the nearest; such
    /// a field gives the column its type. `path` names the scan in errors.
    ///
    /// # Errors
    /// A column that is not there; a factor that is not finite; a whole number that the type does not
    /// hold; memory that is refused.
    ///
    /// ```
    /// use pointmill_core::Points;
    /// use pointmill_io::{Format, NamedPoints, Scan};
    /// let points = Points::new(&[1.0, 2.0, 3.0, 0.5], 4)?;
    /// let scan = Scan::of_points(&NamedPoints::new(points, &["x", "y", "z", "intensity"]), Format::Bin)?;
    /// let scan = scan.with_column_scaled("intensity", 65535.0, Format::Las, "a.bin".as_ref())?;
    /// assert_eq!(scan.cloud.data()[3], 32768.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_column_scaled(mut self, name: &str, factor: f64, format: Format, path: &Path) -> Result<Self, IoError> {
        let Some(j) = self.fields.iter().skip(3).position(|field| field.name == name).map(|j| j + 3) else {
            let names: Vec<_> = self.fields.iter().skip(3).map(|field| &*field.name).collect();
            let names = if names.is_empty() { "none".into() } else { names.join(", ") };
            bail!(path, InvalidArgument, "column", "one behind x, y, z: {names}", "`{name}`");
        };
        if !factor.is_finite() {
            bail!(path, InvalidArgument, "factor", "a finite number", factor);
        }
        if let Some(dtype) = las::whole_field(name).filter(|_| format == Format::Las) {
            self.fields[j].dtype = dtype;
        }
        let (dtype, columns, count) = (self.fields[j].dtype, self.cloud.columns(), self.cloud.len());
        let own = self.wide.iter().position(|wide| wide.column == j).map(|at| self.wide.remove(at));
        let value = |i: usize| own.as_ref().map_or_else(|| f64::from(self.cloud.points().row(i)[j]), |w| w.double(i));
        let mut values = collect((0..count).map(|i| value(i) * factor)).map_err(self.refused(count))?;
        let range = whole_range(dtype);
        if let Some((min, max)) = range {
            for (i, v) in values.iter_mut().enumerate() {
                *v = v.round();
                // The largest of 64 bits become the next power of two.
                if !(min as f64 <= *v && *v < max as f64 + 1.0) {
                    let wanted =
                        format!("a number from {min} to {max}, as {dtype} has, after it is scaled by {factor}");
                    return Err(fault!(path, InvalidArgument, "`{name}` of point {i}", wanted, value(i)));
                }
            }
        }
        let is_short = values.iter().all(|v| f64::from(*v as f32) == *v || v.is_nan());
        let needs_more = !is_short && (range.is_some() || own.is_some());
        let origin = self.cloud.origin();
        let mut data =
            std::mem::replace(&mut self.cloud, PointCloud::new(vec![], columns).expect("no row")).into_data();
        data.chunks_exact_mut(columns).zip(&values).for_each(|(row, v)| row[j] = *v as f32);
        self.cloud = PointCloud::new(data, columns).expect("rows as wide as before").with_origin(origin);
        if needs_more {
            let wide = match (range, dtype) {
                (None, _) => WideColumn::new(j, values),
                (_, Dtype::U64) => WideColumn::from_values(j, vec![], values.iter().map(|v| *v as u64)),
                _ => WideColumn::from_values(j, vec![], values.iter().map(|v| *v as i64)),
            };
            self.wide.push(wide.into());
            self.wide.sort_by_key(|wide| wide.column);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::rows::Rows;

    fn scan(dtype: Dtype, values: &[f32], wide: Vec<WideColumn>) -> Scan {
        let names = [("x", Dtype::F32), ("y", Dtype::F32), ("z", Dtype::F32), ("intensity", dtype)];
        let fields = names.map(|(name, dtype)| Field { name: name.into(), dtype }).to_vec();
        let data = values.iter().flat_map(|v| [1.0, 2.0, 3.0, *v]).collect();
        Scan::new(Rows { wide, ..Rows::new(fields, data) }, "a".as_ref(), Format::Ply).unwrap().0
    }

    fn scaled(of: Scan, factor: f64, format: Format) -> Result<(Vec<f64>, Dtype), String> {
        let of = of.with_column_scaled("intensity", factor, format, "a".as_ref()).map_err(|e| e.to_string())?;
        let short = || of.cloud.data().chunks_exact(4).map(|row| f64::from(row[3])).collect();
        Ok((of.wide.first().map_or_else(short, |wide| wide.to_vec()), of.fields[3].dtype))
    }

    #[test]
    fn whole_numbers_are_rounded_and_must_fit() {
        let of = |dtype, values: &[f32]| scan(dtype, values, vec![]);
        let halves = [0.0, 0.5, 1.0, 0.25];
        assert_eq!(
            scaled(of(Dtype::F32, &halves), 65_535.0, Format::Las),
            Ok((vec![0.0, 32_768.0, 65_535.0, 16_384.0], Dtype::U16))
        );
        let plain = scaled(of(Dtype::F32, &halves), 65_535.0, Format::Ply).unwrap();
        assert_eq!(plain, (vec![0.0, 32_767.5, 65_535.0, 16_383.75], Dtype::F32));
        // A byte of another file fits the field, and not the type of its own.
        assert_eq!(scaled(of(Dtype::U8, &[255.0]), 257.0, Format::Las), Ok((vec![65_535.0], Dtype::U16)));
        let told = scaled(of(Dtype::U8, &[0.0, 255.0]), 257.0, Format::Ply).unwrap_err();
        assert_eq!(
            told,
            "a: `intensity` of point 1: expected a number from 0 to 255, as u8 has, after it is scaled by 257, got 255"
        );
        for (v, factor) in [(1.1, 65_535.0), (-1.0, 1.0), (f32::NAN, 1.0), (f32::INFINITY, 1.0), (65_535.5, 1.0)] {
            assert!(scaled(of(Dtype::F32, &[v]), factor, Format::Las).is_err(), "{v}");
        }
        assert_eq!(scaled(of(Dtype::F32, &[65_535.4]), 1.0, Format::Las).unwrap().0, [65_535.0]);
        assert!(scaled(of(Dtype::F32, &[1.0]), f64::NAN, Format::Ply).is_err());
        assert_eq!(scaled(of(Dtype::F32, &[]), 2.0, Format::Las).unwrap().0, [0.0; 0]);
        let told = of(Dtype::F32, &[1.0]).with_column_scaled("x", 2.0, Format::Ply, "a".as_ref()).unwrap_err();
        assert_eq!(told.to_string(), "a: column: expected one behind x, y, z: intensity, got `x`");
    }

    #[test]
    fn values_in_full_stay_so() {
        let stamp = 1_700_000_000_000_000_000_i64;
        let of = |dtype| scan(dtype, &[stamp as f32], vec![WideColumn::from_values(3, vec![], [stamp].into_iter())]);
        assert_eq!(scaled(of(Dtype::I64), 2.0, Format::Ply), Ok((vec![3.4e18], Dtype::I64)));
        assert_eq!(scaled(of(Dtype::I64), 1e-9, Format::Ply), Ok((vec![1_700_000_000.0], Dtype::I64)));
        assert!(scaled(of(Dtype::I64), 10.0, Format::Ply).is_err());
        let double = scan(Dtype::F64, &[0.1], vec![WideColumn::new(3, vec![0.1])]);
        assert_eq!(scaled(double, 0.1, Format::Ply), Ok((vec![0.1 * 0.1], Dtype::F64)));
        let far = scan(Dtype::U64, &[0.5 * u64::MAX as f32], vec![]);
        assert_eq!(scaled(far, 1.5, Format::Ply), Ok((vec![0.75 * u64::MAX as f64], Dtype::U64)));
    }
}
