//! What a look at the points of a cloud finds.

use crate::threads::{SHARE, on_threads};
use crate::warning::Warning;
use pointmill_core::{PointCloud, about, corner};
use std::iter;

/// What is odd about points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Points with a NaN or an infinity.
    pub(crate) non_finite: usize,
    /// Whether a coordinate is not what the file has.
    pub(crate) lost: bool,
    /// How far a coordinate is from what the file has, at most, for each axis.
    by: [f64; 3],
    /// The smallest coordinate on each axis, of those that are finite as `f32`.
    least: [f64; 3],
    /// Points outside the box that the file gives, where it gives one.
    pub(crate) outside: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Self { non_finite: 0, lost: false, by: [0.0; 3], least: [f64::INFINITY; 3], outside: 0 }
    }
}

impl Seen {
    /// Looks at all points and at what the file has of each; `exact` is empty where that is the
    /// cloud itself. Points are outside of the `bbox` or inside, corners included.
    pub(crate) fn of(cloud: &PointCloud, exact: &[f64], bbox: Option<[[f64; 3]; 2]>) -> Self {
        let (columns, origin) = (cloud.columns(), cloud.origin());
        let exact = exact.as_chunks::<3>().0.chunks(SHARE).chain(iter::repeat(&[][..]));
        let shares = cloud.data().chunks(SHARE * columns).zip(exact).collect();
        let seen = on_threads(shares, |(rows, exact): (&[f32], &[[f64; 3]])| {
            let mut seen = Self::default();
            let odd = |row: &[f32]| usize::from(!(row[0].is_finite() & row[1].is_finite() & row[2].is_finite()));
            seen.non_finite = rows.chunks_exact(columns).map(odd).sum();
            if let Some([min, max]) = bbox {
                let is_outside = |p: &&[f64; 3]| !(0..3).all(|axis| (min[axis]..=max[axis]).contains(&p[axis]));
                seen.outside = exact.iter().filter(is_outside).count();
            }
            rows.chunks_exact(columns).zip(exact).for_each(|(row, &point)| seen.cast(row, about(point, origin)));
            seen
        });
        seen.into_iter().fold(Self::default(), Self::and)
    }

    /// Compares a row with what its coordinates were before the cast. Without branches and for each
    /// axis by itself.
    #[inline(always)]
    fn cast(&mut self, row: &[f32], exact: [f64; 3]) {
        let cast = [row[0], row[1], row[2]].map(f64::from);
        for axis in 0..3 {
            let (cast, exact, by, least) = (cast[axis], exact[axis], self.by[axis], self.least[axis]);
            // Of NaN no more is wanted than that it stays one.
            self.lost |= (cast != exact) & !(cast.is_nan() & exact.is_nan());
            self.by[axis] = farther(by, cast, exact);
            self.least[axis] = if (exact < least) & (cast.abs() < f64::INFINITY) { exact } else { least };
        }
    }

    /// Looks at how far rows are from what their coordinates were before the cast, and at nothing
    /// else.
    pub(crate) fn moved<'r>(casts: impl Iterator<Item = (&'r [f32], [f64; 3])>) -> Self {
        let mut by = [0.0; 3];
        casts.for_each(|(row, exact)| {
            (0..3).for_each(|axis| by[axis] = farther(by[axis], f64::from(row[axis]), exact[axis]));
        });
        Self { by, ..Self::default() }
    }

    /// What both have seen.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            non_finite: self.non_finite + other.non_finite,
            lost: self.lost | other.lost,
            by: [0, 1, 2].map(|axis| self.by[axis].max(other.by[axis])),
            least: [0, 1, 2].map(|axis| self.least[axis].min(other.least[axis])),
            outside: self.outside + other.outside,
        }
    }

    /// A warning if a coordinate moved far.
    pub(crate) fn rounded(&self, origin: [f64; 3]) -> Option<Warning> {
        let by = self.by.into_iter().fold(0.0, f64::max);
        (by >= Warning::WORTH_TELLING).then_some(Warning::Rounded { by, origin })
    }

    /// The origin that [`LocalOrigin::Auto`](pointmill_core::LocalOrigin::Auto) takes for rows
    /// about zero, if they need one.
    pub(crate) fn auto_origin(&self) -> Option<[f64; 3]> {
        self.rounded([0.0; 3]).map(|_| corner(&[self.least]))
    }
}

/// How far coordinates moved when they were cast, this one included. An infinity that was none did
/// not move by metres.
#[inline(always)]
fn farther(by: f64, cast: f64, exact: f64) -> f64 {
    let moved = (cast - exact).abs();
    if (moved > by) & (moved < f64::INFINITY) { moved } else { by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedPoints, ReadOptions, WriteOptions, read, write};
    use pointmill_core::Points;
    use pointmill_core::array::Dtype;

    #[test]
    fn readers_warn_of_what_is_odd() {
        let folder = std::env::temp_dir().join(format!("pointmill-seen-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut exact: Vec<f64> = (0..30_000).map(|i| f64::from(i) * 0.001 + f64::from(i % 3) * 100_000.0).collect();
        exact[15_000] = f64::NAN;
        exact[21_001] = f64::INFINITY;
        exact[27_002] = 1_234_567.8;
        let data: Vec<f32> = exact.iter().map(|&v| v as f32).collect();
        let wanted = Seen::of(&PointCloud::new(data.clone(), 3).unwrap(), &exact, None);
        assert_eq!((wanted.non_finite, wanted.lost), (2, true));
        for ending in ["ply", "pcd", "xyz", "feather"] {
            let mut points = NamedPoints::new(Points::new(&data, 3).unwrap(), &["x", "y", "z"]);
            points.fields.to_mut().iter_mut().for_each(|field| field.dtype = Dtype::F64);
            points.xyz_f64 = Some(&exact);
            let path = folder.join(format!("a.{ending}"));
            write(&path, points, &WriteOptions::default()).unwrap();
            let scan = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!(scan.xyz_f64.as_ref().map(Vec::len), Some(exact.len()), "{ending}");
            let warnings = [Some(Warning::NonFinite { count: 2, points: 10_000 }), wanted.rounded([0.0; 3])];
            assert!(
                warnings.iter().flatten().all(|warning| scan.warnings.contains(warning)),
                "{ending}: {:?}",
                scan.warnings
            );
        }
        std::fs::remove_dir_all(folder).ok();
    }
}
