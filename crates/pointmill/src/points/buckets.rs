//! Points of an item in buckets of neighbours, each within a box, for samples and balls on the CPU.

use super::input::{Values, is_finite};
use crate::{Result, memory};
use pointmill_core::points::{curve_place, least_squared_distance, squared_distance};
use std::ops::Range;

/// Points of a bucket.
pub(super) const BUCKET: usize = 32;
/// Buckets of a group.
pub(super) const GROUP: usize = 16;

/// The finite points of an item along a curve. Behind them are NaN up to a whole bucket.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    axes: [Vec<f32>; 3],
    /// The row of each point.
    pub(super) rows: Vec<u32>,
    buckets: Vec<Bounds>,
    groups: Vec<Bounds>,
    places: Vec<u64>,
}

/// A box around points.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    min: [f32; 3],
    max: [f32; 3],
}

impl Bounds {
    const NONE: Self = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

    fn of(points: impl Iterator<Item = [f32; 3]>) -> Self {
        points.fold(Self::NONE, |all, p| all.with(&Self { min: p, max: p }))
    }

    fn with(self, other: &Self) -> Self {
        let [min, max] =
            [[0, 1, 2].map(|k| self.min[k].min(other.min[k])), [0, 1, 2].map(|k| self.max[k].max(other.max[k]))];
        Self { min, max }
    }

    fn away(&self, p: [f32; 3]) -> f32 {
        least_squared_distance(self.min, self.max, p)
    }
}

impl Buckets {
    /// Fills the buckets with the finite points of these rows. Their numbers count from the first row.
    pub(super) fn fill(&mut self, values: &Values<'_>, range: Range<usize>) -> Result<()> {
        let first = range.start;
        let finite = || range.clone().map(|i| (i, values.point(i))).filter(|(_, p)| is_finite(*p));
        let all = Bounds::of(finite().map(|(_, p)| p));
        self.places.clear();
        memory::room(&mut self.places, range.len())?;
        let places = finite().map(|(i, p)| u64::from(curve_place(all.min, all.max, p)) << 32 | (i - first) as u64);
        self.places.extend(places);
        self.places.sort_unstable();
        let len = self.places.len().next_multiple_of(BUCKET);
        self.rows.clear();
        memory::resize(&mut self.rows, len, u32::MAX)?;
        for axis in &mut self.axes {
            axis.clear();
            memory::resize(axis, len, f32::NAN)?;
        }
        for (at, place) in self.places.iter().enumerate() {
            let row = *place as u32;
            let p = values.point(first + row as usize);
            self.rows[at] = row;
            self.axes.iter_mut().zip(p).for_each(|(axis, c)| axis[at] = c);
        }
        self.buckets.clear();
        let count = self.places.len();
        let bounds = (0..len / BUCKET).map(|bucket| {
            Bounds::of(
                (bucket * BUCKET..count.min((bucket + 1) * BUCKET)).map(|at| self.axes.each_ref().map(|a| a[at])),
            )
        });
        memory::extend(&mut self.buckets, bounds)?;
        self.groups.clear();
        let group = |buckets: &[Bounds]| buckets.iter().fold(Bounds::NONE, Bounds::with);
        memory::extend(&mut self.groups, self.buckets.chunks(GROUP).map(group))
    }

    /// How many buckets and groups there are.
    pub(super) const fn counts(&self) -> [usize; 2] {
        [self.buckets.len(), self.groups.len()]
    }

    /// The least distance that a point of a bucket can have.
    pub(super) fn away(&self, bucket: usize, p: [f32; 3]) -> f32 {
        self.buckets[bucket].away(p)
    }

    /// The least distance that a point of a group can have.
    pub(super) fn group_away(&self, group: usize, p: [f32; 3]) -> f32 {
        self.groups[group].away(p)
    }

    /// The buckets of a group.
    pub(super) fn of_group(&self, group: usize) -> Range<usize> {
        group * GROUP..self.buckets.len().min((group + 1) * GROUP)
    }

    /// The squared distance of each point of a bucket; NaN behind the last.
    pub(super) fn distances(&self, bucket: usize, p: [f32; 3]) -> [f32; BUCKET] {
        let [x, y, z] = self.axes.each_ref().map(|axis| &axis[bucket * BUCKET..][..BUCKET]);
        std::array::from_fn(|j| squared_distance([x[j], y[j], z[j]], p))
    }

    /// Calls `visit` with each point at most as far as `within`. Of a centre that is not finite
    /// nothing is near.
    pub(super) fn search(&self, centre: [f32; 3], within: f32, mut visit: impl FnMut(f32, u32)) {
        if !is_finite(centre) {
            return;
        }
        let groups = (0..self.groups.len()).filter(|&group| self.group_away(group, centre) <= within);
        for bucket in groups.flat_map(|group| self.of_group(group)) {
            if self.away(bucket, centre) <= within {
                let distances = self.distances(bucket, centre);
                // Most buckets that are looked at have none: all their points at once.
                if distances.iter().map(|d| u32::from(*d <= within)).sum::<u32>() == 0 {
                    continue;
                }
                let near = distances.into_iter().zip(&self.rows[bucket * BUCKET..]).filter(|(d, _)| *d <= within);
                near.for_each(|(d, row)| visit(d, *row));
            }
        }
    }
}
