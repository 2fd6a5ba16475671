//! Some of the points of a scan, and means of them.

use super::Scan;
use crate::error::IoError;
use crate::memory::{collect, extend, push, refused};
use crate::region::Region;
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use pointmill_core::PointCloud;
use pointmill_core::array::Dtype;
use std::collections::TryReserveError;
use std::path::Path;
use std::sync::Arc;

impl Scan {
    /// The points with these numbers, in this order and with every bit.
    ///
    /// ```
    /// use pointmill_core::PointCloud;
    /// let scan = pointmill_io::Scan::from(PointCloud::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3)?);
    /// assert_eq!(scan.select(&[1])?.cloud.data(), [4.0, 5.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Memory that the system refuses.
    ///
    /// # Panics
    /// A number that is not below the number of points.
    pub fn select(&self, rows: &[u32]) -> Result<Self, IoError> {
        self.try_select(rows).map_err(self.refused(rows.len()))
    }

    fn try_select(&self, rows: &[u32]) -> Result<Self, TryReserveError> {
        let (points, origin) = (self.cloud.points(), self.cloud.origin());
        let values = rows.iter().flat_map(|&row| points.row(row as usize).iter().copied());
        let mut data = Vec::new();
        extend(&mut data, rows.len() * points.columns(), values)?;
        let cloud = PointCloud::new(data, points.columns()).expect("rows as wide as before").with_origin(origin);
        let xyz_f64 = self.xyz_f64.as_ref().map(|xyz| {
            let mut exact = Vec::new();
            let points = rows.iter().flat_map(|&row| xyz.as_chunks::<3>().0[row as usize]);
            extend(&mut exact, 3 * rows.len(), points).map(|()| exact)
        });
        let wide = self.wide.iter().map(|wide| wide.select(rows).map(Arc::new));
        let counts = |w: &Warning| matches!(w, Warning::NonFinite { .. } | Warning::NoFinitePoint { .. });
        Ok(Self {
            cloud,
            format: self.format,
            fields: self.fields.clone(),
            xyz_f64: xyz_f64.transpose()?,
            warnings: self.warnings.iter().filter(|w| !counts(w)).cloned().collect(),
            wide: wide.collect::<Result<_, _>>()?,
            decimals: self.decimals,
            survey: self.survey.clone(),
        })
    }

    /// The error for memory that is refused.
    pub(crate) fn refused<E>(&self, rows: usize) -> impl Fn(E) -> IoError {
        refused(Path::new("points"), rows, self.cloud.columns())
    }

    /// The points in a region, in order and with every bit. `zero` is where zero of the region's
    /// frame is in that of the file.
    ///
    /// ```
    /// use pointmill_core::PointCloud;
    /// use pointmill_io::{Region, Scan};
    /// let scan = Scan::from(PointCloud::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3)?);
    /// let region = Region { bounds: Some([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]), ..Region::default() };
    /// assert_eq!(scan.crop(&region, [3.0; 3])?.cloud.data(), [4.0, 5.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Memory that the system refuses.
    pub fn crop(&self, region: &Region, zero: [f64; 3]) -> Result<Self, IoError> {
        let is_inside = |p: [f64; 3]| region.contains([0, 1, 2].map(|axis| p[axis] - zero[axis]));
        let mut rows = Vec::new();
        let mut inside = (0..).zip(self.iter_xyz()).filter(|(_, p)| is_inside(*p)).map(|(row, _)| row);
        inside.try_for_each(|row| push(&mut rows, row)).map_err(self.refused(self.cloud.len()))?;
        self.select(&rows)
    }

    /// A point for each of some lists of points: the mean of their coordinates and of their columns
    /// of floating-point type; of columns of whole numbers, such as classes and rings, the value of
    /// the point nearest to the mean.
    ///
    /// **Shapes**: `means` `[V, C]`, of all columns of [`Scan::cloud`] and about its origin;
    /// `lists` are `[V + 1]` numbers that say where each list starts, and the points of all lists,
    /// at least one in each.
    ///
    /// **Arithmetic**: coordinates are those of `means`; columns that an `f32` does not hold are
    /// added in `f64` in the order of the list, and divided once. Distances to the mean are of `f32` in
    /// `f64`; of several nearest points the first counts.
    ///
    /// # Errors
    /// Memory that the system refuses.
    ///
    /// # Panics
    /// Arrays of other lengths.
    pub fn with_means(&self, means: &[f32], lists: [&[u32]; 2]) -> Result<Self, IoError> {
        self.try_with_means(means, lists).map_err(self.refused(lists[0].len()))
    }

    fn try_with_means(&self, means: &[f32], [splits, indices]: [&[u32]; 2]) -> Result<Self, TryReserveError> {
        let spans = || splits.windows(2).map(|span| &indices[span[0] as usize..span[1] as usize]);
        let columns = self.cloud.columns();
        let far = |i: u32, mean: &[f32]| {
            let offsets =
                self.cloud.points().xyz(i as usize).into_iter().zip(mean).map(|(v, m)| f64::from(v) - f64::from(*m));
            offsets.map(|v| v * v).sum::<f64>()
        };
        let nearest = spans().zip(means.chunks_exact(columns)).map(|(list, mean)| {
            let first = (list[0], far(list[0], mean));
            list[1..].iter().map(|&i| (i, far(i, mean))).fold(first, |a, b| if b.1 < a.1 { b } else { a }).0
        });
        let mut scan = self.try_select(&collect(nearest)?)?;
        let averaged: Vec<_> = (0..columns)
            .filter(|&j| j < 3 || matches!(self.fields[j].dtype, Dtype::F16 | Dtype::F32 | Dtype::F64))
            .collect();
        for (row, mean) in scan.cloud.rows_mut().zip(means.chunks_exact(columns)) {
            averaged.iter().for_each(|&j| row[j] = mean[j]);
        }
        let origin = scan.cloud.origin();
        let global = |p: [f32; 3]| [0, 1, 2].map(|axis| origin[axis] + f64::from(p[axis]));
        if let Some(exact) = &mut scan.xyz_f64 {
            let means = scan.cloud.points().iter_xyz().map(global);
            exact.as_chunks_mut().0.iter_mut().zip(means).for_each(|(to, mean): (&mut [f64; 3], _)| *to = mean);
        }
        scan.decimals = None;
        for (to, from) in scan.wide.iter_mut().zip(&self.wide).filter(|(to, _)| averaged.contains(&to.column)) {
            let mean = |list: &[u32]| list.iter().map(|&i| from.double(i as usize)).sum::<f64>() / list.len() as f64;
            let wide = WideColumn::new(to.column, collect(spans().map(mean))?);
            for (row, mean) in scan.cloud.rows_mut().zip(&wide.values) {
                row[wide.column] = *mean as f32;
            }
            *to = wide.into();
        }
        Ok(scan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Format, NamedPoints, ReadOptions, WriteOptions, read, write};
    use pointmill_core::{LocalOrigin, Points};

    #[test]
    fn points_and_means_keep_what_f32_does_not_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ply");
        let xyz = [691_764.1, 5_335_880.1, 520.1, 691_765.1, 5_335_880.1, 521.1, 691_700.0, 5_335_800.0, 500.0];
        let times = vec![300_000_000.25, 300_000_000.75, 300_000_009.5];
        let cast = |i: usize| [xyz[3 * i] as f32, xyz[3 * i + 1] as f32, xyz[3 * i + 2] as f32];
        let rows: Vec<f32> = (0..3)
            .flat_map(|i| [&cast(i)[..], &[[2.0, 5.0, 9.0][i], times[i] as f32, 0.5 * i as f32]].concat())
            .collect();
        let names = ["x", "y", "z", "classification", "gps_time", "amplitude"];
        let mut cloud = NamedPoints::new(Points::new(&rows, 6).unwrap(), &names);
        cloud.fields.to_mut()[3] = Field { name: names[3].into(), dtype: Dtype::U8 };
        (cloud.xyz_f64, cloud.wide) = (Some(&xyz[..]), vec![WideColumn::new(4, times.clone()).into()]);
        write(&path, cloud, &WriteOptions::default()).unwrap();
        let origin = LocalOrigin::At([691_000.0, 5_335_000.0, 0.0]);
        let scan = read(&path, &ReadOptions { origin, ..ReadOptions::default() }).unwrap();
        let times_of = |scan: &Scan| scan.wide().map(|wide| wide.to_vec()).collect::<Vec<_>>();

        let last = scan.select(&[2, 0]).unwrap();
        assert_eq!(last.xyz(), [[691_700.0, 5_335_800.0, 500.0], [691_764.1, 5_335_880.1, 520.1]]);
        assert_eq!(times_of(&last), [[times[2], times[0]]]);
        assert_eq!((last.cloud.points().row(0)[3], last.format), (9.0, Format::Ply));

        let local = |i: usize, j: usize| scan.cloud.points().row(i)[j];
        let mean: Vec<f32> = (0..6).map(|j| (local(0, j) + local(1, j)) / 2.0).collect();
        let means = scan.with_means(&[&mean, scan.cloud.points().row(2)].concat(), [&[0, 2, 3], &[0, 1, 2]]).unwrap();
        let point = means.xyz()[0];
        assert!((point[0] - 691_764.6).abs() < 1e-4 && (point[2] - 520.6).abs() < 1e-4, "{point:?}");
        // The class of one of two points that are as far, the mean of times and amplitudes.
        assert!([2.0, 5.0].contains(&means.cloud.points().row(0)[3]) && means.cloud.points().row(0)[5] == 0.25);
        assert_eq!(times_of(&means), [[300_000_000.5, 300_000_009.5]]);
        assert!(scan.select(&[]).unwrap().cloud.is_empty());
    }

    #[test]
    fn whole_numbers_are_those_of_the_point_nearest_to_the_mean() {
        // Two lists: the mean (2, 0, 0) is nearest to the third point; (1, 0, 0) is as far from both.
        let data = [0.0, 0.0, 0.0, 7.0, 4.0, 0.0, 0.0, 8.0, 2.0, 0.5, 0.0, 9.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 4.0];
        let mut scan = Scan::from(PointCloud::new(data.to_vec(), 4).unwrap());
        scan.fields[3] = Field { name: "classification".into(), dtype: Dtype::U8 };
        let means = [2.0, 0.0, 0.0, 8.0, 1.0, 0.0, 0.0, 3.5];
        let class = |scan: &Scan, lists| {
            let left = scan.with_means(&means, lists).unwrap();
            assert_eq!(left.cloud.points().iter_xyz().collect::<Vec<_>>(), [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]);
            [0, 1].map(|i| left.cloud.points().row(i)[3])
        };
        assert_eq!(class(&scan, [&[0, 3, 5], &[0, 1, 2, 3, 4]]), [9.0, 3.0]);
        assert_eq!(class(&scan, [&[0, 3, 5], &[2, 1, 0, 4, 3]]), [9.0, 4.0]);
        scan.fields[3].dtype = Dtype::F32;
        assert_eq!(class(&scan, [&[0, 3, 5], &[0, 1, 2, 3, 4]]), [8.0, 3.5]);
    }
}
