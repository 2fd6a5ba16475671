//! Means of the points of voxels, in the order of the voxels.

use crate::centre::{centre_of, unless_far};
use crate::{Argument, Result, Rows, ensure, memory, par};

/// Most that a cell's number may be on an axis.
const FARTHEST: f64 = (1u64 << 40) as f64;
/// Most voxels from most of the points to the middle of the bounds: `f32` still has digits for them.
const MOST_ASIDE: f64 = 4096.0;

/// A cloud with one point for each voxel, about a centre of its own.
#[derive(Debug)]
pub(super) struct Thin {
    /// Means about the centre, by cell: z first, then y, then x.
    pub(super) points: Vec<[f32; 3]>,
    /// The middle of the cloud's bounds in whole voxels, where most of the points are near it; else the
    /// middle of most of them.
    pub(super) centre: [f64; 3],
    /// Points that are finite and not all zero.
    pub(super) usable: usize,
}

impl Thin {
    pub(super) fn new(cloud: &Rows<'_>, voxel: f64, argument: Argument) -> Result<Self> {
        let mut all: Vec<[f64; 3]> = Vec::new();
        memory::room(&mut all, cloud.len())?;
        let wanted = |p: &[f64; 3]| p.iter().all(|x| x.is_finite()) && *p != [0.0; 3];
        all.extend((0..cloud.len()).map(|i| cloud.point(i)).filter(wanted));
        let bounds = all.iter().fold([[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]], |[low, high], p| {
            [[0, 1, 2].map(|k| low[k].min(p[k])), [0, 1, 2].map(|k| high[k].max(p[k]))]
        });
        if all.is_empty() {
            return Ok(Self { points: Vec::new(), centre: [0.0; 3], usable: 0 });
        }
        let middle = [0, 1, 2].map(|k| bounds[0][k] / 2.0 + bounds[1][k] / 2.0);
        let centre = unless_far(middle, centre_of(&all), MOST_ASIDE * voxel).map(|x| (x / voxel).round() * voxel);
        let widest = [0, 1, 2].map(|k| bounds[1][k] - bounds[0][k]).into_iter().fold(0.0, f64::max);
        let expected = "points within 2^40 voxels of each other";
        ensure(widest / voxel < FARTHEST, argument, expected, format_args!("{widest} m at voxels of {voxel} m"))?;
        let cell = |p: &[f64; 3]| [2, 1, 0].map(|k| ((p[k] - centre[k]) / voxel).floor() as i64);
        let mut keyed = memory::collect(all.iter().enumerate().map(|(i, p)| (cell(p), i as u32)))?;
        par::sort_unstable_by(&mut keyed, Ord::cmp);
        let mut points = Vec::new();
        for run in keyed.chunk_by(|a, b| a.0 == b.0) {
            let mut sum = [0.0; 3];
            for (_, i) in run {
                (0..3).for_each(|k| sum[k] += all[*i as usize][k] - centre[k]);
            }
            memory::push(&mut points, sum.map(|x| (x / run.len() as f64) as f32))?;
        }
        Ok(Self { points, centre, usable: all.len() })
    }
}
