//! Point clouds: rows of `f32`, borrowed or owned.

use thiserror::Error;

/// Why an array is not a point cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CloudError {
    /// Fewer than the three columns x, y, z.
    #[error("columns: expected at least 3 (x, y, z), got {got}")]
    Columns {
        /// The number of columns given.
        got: usize,
    },
    /// The length is not a whole number of rows.
    #[error("points: expected a multiple of {columns} values ([N, {columns}] row-major), got {len}")]
    Length {
        /// The number of values given.
        len: usize,
        /// The number of columns given.
        columns: usize,
    },
}

/// A borrowed cloud: `[N, C]` row-major `f32`, the first three columns x, y, z in metres.
///
/// ```
/// use pointmill_core::Points;
/// let points = Points::new(&[1.0, 2.0, 3.0, 0.5, 4.0, 5.0, 6.0, 0.7], 4)?;
/// assert_eq!((points.len(), points.xyz(1)), (2, [4.0, 5.0, 6.0]));
/// assert!(Points::new(&[1.0, 2.0, 3.0, 0.5, 4.0], 4).is_err());
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points<'a> {
    data: &'a [f32],
    columns: usize,
}

impl<'a> Points<'a> {
    /// Views `data` as rows of `columns` values.
    ///
    /// # Errors
    /// Fewer than 3 columns, or a length that is not a whole number of rows.
    pub const fn new(data: &'a [f32], columns: usize) -> Result<Self, CloudError> {
        if columns < 3 {
            return Err(CloudError::Columns { got: columns });
        }
        if !data.len().is_multiple_of(columns) {
            return Err(CloudError::Length { len: data.len(), columns });
        }
        Ok(Self { data, columns })
    }

    /// The number of points, N.
    pub const fn len(&self) -> usize {
        self.data.len() / self.columns
    }

    /// Whether there is no point.
    pub const fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The number of values a point has, C.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// All values, row-major.
    pub const fn data(&self) -> &'a [f32] {
        self.data
    }

    /// The values of point `i`. Panics if there is no such point.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// x, y, z of point `i`. Panics if there is no such point.
    #[inline]
    pub fn xyz(&self, i: usize) -> [f32; 3] {
        let p = self.row(i);
        [p[0], p[1], p[2]]
    }

    /// x, y, z of every point in order.
    pub fn iter_xyz(&self) -> impl Iterator<Item = [f32; 3]> + 'a {
        self.data.chunks_exact(self.columns).map(|p| [p[0], p[1], p[2]])
    }

    /// The number of points with a NaN or an infinity in x, y or z.
    pub fn non_finite(&self) -> usize {
        self.iter_xyz().filter(|p| !p.iter().all(|v| v.is_finite())).count()
    }
}

#[cfg(feature = "alloc")]
pub use owned::PointCloud;

#[cfg(feature = "alloc")]
mod owned {
    use super::{CloudError, Points};
    use crate::{Aabb, half};
    use alloc::vec::Vec;

    /// An owned cloud: `[N, C]` row-major `f32`, the first three columns x, y, z in metres.
    ///
    /// Other element types are cast once, here at the border: `f64` is rounded to the nearest
    /// `f32`, `f16` is exact.
    ///
    /// Coordinates of maps are too large for an `f32`. The points of such a cloud are about an
    /// origin of `f64`: each stands for `origin + point`.
    ///
    /// ```
    /// use pointmill_core::PointCloud;
    /// let cloud = PointCloud::new(vec![1.0, 2.0, 3.0, 0.5], 4)?;
    /// assert_eq!((cloud.len(), cloud.columns()), (1, 4));
    /// # Ok::<(), pointmill_core::CloudError>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct PointCloud {
        data: Vec<f32>,
        columns: usize,
        origin: [f64; 3],
    }

    impl PointCloud {
        /// Takes `data` as rows of `columns` values.
        ///
        /// # Errors
        /// Fewer than 3 columns, or a length that is not a whole number of rows.
        pub fn new(data: Vec<f32>, columns: usize) -> Result<Self, CloudError> {
            Points::new(&data, columns)?;
            Ok(Self { data, columns, origin: [0.0; 3] })
        }

        /// The same values about another origin, in metres.
        ///
        /// ```
        /// use pointmill_core::PointCloud;
        /// let cloud = PointCloud::new(vec![1.0, 2.0, 3.0], 3)?.with_origin([515_000.0, 4_918_000.0, 0.0]);
        /// assert_eq!(cloud.origin(), [515_000.0, 4_918_000.0, 0.0]);
        /// # Ok::<(), pointmill_core::CloudError>(())
        /// ```
        #[must_use]
        pub fn with_origin(self, origin: [f64; 3]) -> Self {
            Self { origin, ..self }
        }

        /// The point that x, y, z are about, in metres; zero unless [`PointCloud::with_origin`] or
        /// a reader set another.
        pub const fn origin(&self) -> [f64; 3] {
            self.origin
        }

        /// Casts `f64` values, each rounded once to the nearest `f32`.
        ///
        /// # Errors
        /// As [`PointCloud::new`].
        pub fn from_f64(data: &[f64], columns: usize) -> Result<Self, CloudError> {
            Self::new(data.iter().map(|&v| v as f32).collect(), columns)
        }

        /// Casts the bits of `f16` values; every one is exact in `f32`.
        ///
        /// # Errors
        /// As [`PointCloud::new`].
        pub fn from_f16_bits(data: &[u16], columns: usize) -> Result<Self, CloudError> {
            Self::new(data.iter().map(|&v| half::f32_from_f16_bits(v)).collect(), columns)
        }

        /// The cloud as a borrowed view, which has the reading methods too.
        pub fn points(&self) -> Points<'_> {
            Points { data: &self.data, columns: self.columns }
        }

        /// The number of points, N.
        pub fn len(&self) -> usize {
            self.points().len()
        }

        /// Whether there is no point.
        pub fn is_empty(&self) -> bool {
            self.data.is_empty()
        }

        /// The number of values a point has, C.
        pub fn columns(&self) -> usize {
            self.columns
        }

        /// All values, row-major.
        pub fn data(&self) -> &[f32] {
            &self.data
        }

        /// The values of each point in order, to be changed.
        pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [f32]> {
            self.data.chunks_exact_mut(self.columns)
        }

        /// Gives the values away.
        pub fn into_data(self) -> Vec<f32> {
            self.data
        }

        /// The smallest box around the finite points; `None` if there are none.
        pub fn bounds(&self) -> Option<Aabb> {
            Aabb::around(self.points().iter_xyz())
        }
    }

    impl<'a> From<&'a PointCloud> for Points<'a> {
        fn from(cloud: &'a PointCloud) -> Self {
            cloud.points()
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::{string::ToString, vec};

    #[test]
    fn lengths_and_columns_are_checked() {
        assert_eq!(PointCloud::new(vec![], 2), Err(CloudError::Columns { got: 2 }));
        let e = PointCloud::new(vec![0.0; 7], 4).unwrap_err();
        assert_eq!(e.to_string(), "points: expected a multiple of 4 values ([N, 4] row-major), got 7");
        assert!(PointCloud::new(vec![], 3).unwrap().is_empty());
    }

    #[test]
    fn casts_happen_once() {
        let cloud = PointCloud::from_f64(&[0.1, 1e300, -0.0], 3).unwrap();
        assert_eq!(cloud.data()[0], 0.1f32);
        assert_eq!(cloud.data()[1], f32::INFINITY);
        assert!(cloud.data()[2].is_sign_negative());
        let cloud = PointCloud::from_f16_bits(&[0x3c00, 0x7c00, 0x0001], 3).unwrap();
        assert_eq!(cloud.data(), [1.0, f32::INFINITY, 2.0f32.powi(-24)]);
    }

    #[test]
    fn non_finite_points_are_counted_once() {
        let cloud = PointCloud::new(vec![f32::NAN, f32::INFINITY, 0.0, 1.0, 2.0, 3.0], 3).unwrap();
        assert_eq!(cloud.points().non_finite(), 1);
    }
}
