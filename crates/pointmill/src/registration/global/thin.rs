//! Means of the points of voxels, in the order of the voxels.

use crate::centre::{centre_of, unless_far};
use crate::{Argument, Result, Rows, ensure, memory, par};
use pointmill_core::registration::voxel::cell;

/// Most that a cell's number may be on an axis.
const FARTHEST: f64 = (1u64 << 40) as f64;
/// Most voxels from most of the points to the middle of the bounds: `f32` still has digits for them.
const MOST_ASIDE: f64 = 4096.0;

/// The corners of a box.
pub(super) type Corners = [[f64; 3]; 2];

/// A cloud with one point for each voxel, about a centre of its own.
#[derive(Debug, Default, PartialEq)]
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
    /// Of a checked cloud, on the host.
    pub(super) fn new(cloud: &Rows<'_>, voxel: f64, argument: Argument) -> Result<Self> {
        cloud.on_host(|cloud| Self::of_host(cloud, voxel, argument))
    }

    fn of_host(cloud: &Rows<'_>, voxel: f64, argument: Argument) -> Result<Self> {
        let mut all: Vec<[f64; 3]> = Vec::new();
        memory::room(&mut all, cloud.len())?;
        let wanted = |p: &[f64; 3]| p.iter().all(|x| x.is_finite()) && *p != [0.0; 3];
        all.extend((0..cloud.len()).map(|i| cloud.point(i)).filter(wanted));
        if all.is_empty() {
            return Ok(Self::default());
        }
        // In the order of floats, in which zeros of both signs differ, so that a kernel finds the same.
        let least = |a: f64, b: f64| if b.total_cmp(&a).is_lt() { b } else { a };
        let most = |a: f64, b: f64| if b.total_cmp(&a).is_gt() { b } else { a };
        let corners = all.iter().fold([[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]], |[low, high], p| {
            [[0, 1, 2].map(|k| least(low[k], p[k])), [0, 1, 2].map(|k| most(high[k], p[k]))]
        });
        let centre = centre_between(corners, centre_of(&all), voxel, argument)?;
        let cells = |p: &[f64; 3]| [2, 1, 0].map(|k| cell(p[k], centre[k], voxel));
        let mut keyed = memory::collect(all.iter().enumerate().map(|(i, p)| (cells(p), i as u32)))?;
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

/// The centre of a cloud between these corners, most of which is near a point. Refuses a cloud whose
/// voxels are too many.
pub(super) fn centre_between(corners: Corners, near: [f64; 3], voxel: f64, argument: Argument) -> Result<[f64; 3]> {
    let [low, high] = corners;
    let middle = [0, 1, 2].map(|k| low[k] / 2.0 + high[k] / 2.0);
    let widest = [0, 1, 2].map(|k| high[k] - low[k]).into_iter().fold(0.0, f64::max);
    let expected = "points within 2^40 voxels of each other";
    ensure(widest / voxel < FARTHEST, argument, expected, format_args!("{widest} m at voxels of {voxel} m"))?;
    Ok(unless_far(middle, near, MOST_ASIDE * voxel).map(|x| (x / voxel).round() * voxel))
}
