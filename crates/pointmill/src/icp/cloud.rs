//! Clouds about a centre of their own, in `f32`.

use super::params::Metric;
use super::result::Dropped;
use crate::centre::centre_of;
use crate::device::on_threads;
use crate::{Argument, Error, Result, Rows, ensure, memory, par};
use pointmill_core::ndt::{MAX_CELL, NdtLattice};
use pointmill_core::rigid::unit;
use rayon::prelude::*;

/// Points that a thread takes at a time, where little is done with each.
const SHARE: usize = 4096;
/// Largest distance from the centre along an axis. Squares of such distances are still numbers.
const FARTHEST: f64 = 1e18;

/// The finite points of a cloud, about its centre.
#[derive(Clone, Debug, Default)]
pub(super) struct CenteredCloud {
    pub(super) points: Vec<[f32; 3]>,
    /// The caller's normals of these points; empty if there are none.
    pub(super) normals: Vec<[f32; 3]>,
    /// The centre in metres, which was subtracted from each point.
    pub(super) centre: [f64; 3],
    pub(super) dropped: Dropped,
}

impl CenteredCloud {
    /// The finite points of a cloud of the host, in their order.
    pub(super) fn new(argument: Argument, cloud: &Rows<'_>, drop_zeros: bool) -> Result<Self> {
        let mut local = Self::default();
        let mut kept: Vec<[f64; 3]> = Vec::new();
        memory::room(&mut kept, cloud.len())?;
        for i in 0..cloud.len() {
            let p = cloud.point(i);
            if !p.iter().all(|x| x.is_finite()) {
                local.dropped.non_finite += 1;
            } else if drop_zeros && p == [0.0; 3] {
                local.dropped.zeros += 1;
            } else {
                kept.push(p);
            }
        }
        local.centre = centre_of(&kept);
        let centre = local.centre;
        local.points = memory::collect_parallel(
            kept.par_iter().with_min_len(par::grain(SHARE)).map(|p| [0, 1, 2].map(|i| (p[i] - centre[i]) as f32)),
        )?;
        if let Some(i) = local.points.iter().position(|p| p.iter().any(|x| f64::from(x.abs()) > FARTHEST)) {
            return Err(too_far(argument, i));
        }
        Ok(local)
    }

    /// Takes the caller's normals, one for each point of `cloud`, from which this cloud was made.
    pub(super) fn take_normals(&mut self, cloud: &Rows<'_>, normals: &[[f32; 3]], drop_zeros: bool) -> Result<()> {
        let is_kept = |i: &usize| {
            let p = cloud.point(*i);
            p.iter().all(|x| x.is_finite()) && !(drop_zeros && p == [0.0; 3])
        };
        memory::room(&mut self.normals, self.points.len())?;
        self.normals.extend((0..cloud.len()).filter(is_kept).map(|i| unit_normal(normals[i])));
        Ok(())
    }

    /// The mean of the points of each cube of `size` metres, in the order of the first points of
    /// the cubes.
    pub(super) fn downsampled(&self, argument: Argument, size: f64) -> Result<Vec<[f32; 3]>> {
        let lattice = NdtLattice::new(size)
            .map_err(|_| Error::argument(Argument::VoxelSize, "0, or a size in metres, 3e-39 to 8.5e37", size))?;
        let mut cells: Vec<([i32; 3], u32)> = Vec::new();
        memory::room(&mut cells, self.points.len())?;
        for (p, i) in self.points.iter().zip(0..) {
            let Some(place) = lattice.place(*p) else {
                let expected = format!("a cloud of at most {MAX_CELL} cells of {size} m each way");
                return Err(Error::argument(argument, expected, format!("{p:?} from its middle")));
            };
            cells.push((place.cell, i));
        }
        on_threads(|| par::sort_unstable_by(&mut cells, Ord::cmp));
        let mut means: Vec<(u32, [f32; 3])> = Vec::new();
        for cell in cells.chunk_by(|a, b| a.0 == b.0) {
            let mut sum = [0.0; 3];
            for (_, i) in cell {
                (0..3).for_each(|axis| sum[axis] += f64::from(self.points[*i as usize][axis]));
            }
            memory::push(&mut means, (cell[0].1, sum.map(|x| (x / cell.len() as f64) as f32)))?;
        }
        means.sort_unstable_by_key(|(first, _)| *first);
        memory::collect(means.into_iter().map(|(_, mean)| mean))
    }
}

/// Checks the caller's normals of a target.
pub(super) fn check_normals(cloud: &Rows<'_>, normals: &[[f32; 3]], metric: Metric) -> Result<()> {
    let expected = "none: point-to-point does not use normals";
    let got = format_args!("{} normals", normals.len());
    ensure(metric != Metric::PointToPoint, Argument::TargetNormals, expected, got)?;
    let expected = format_args!("{} rows, as the target", cloud.len());
    ensure(normals.len() == cloud.len(), Argument::TargetNormals, expected, normals.len())
}

/// A normal of length one; zeros, which stand for no normal, for a vector without a direction.
pub(super) fn unit_normal(normal: [f32; 3]) -> [f32; 3] {
    let unit = unit(normal.map(f64::from));
    if unit.iter().all(|x| x.is_finite()) { unit.map(|x| x as f32) } else { [0.0; 3] }
}

/// The error of a cloud with a point too far from its middle.
pub(super) fn too_far(argument: Argument, index: usize) -> Error {
    let expected = format!("coordinates within {FARTHEST:e} m of the middle of the cloud");
    Error::argument(argument, expected, format!("point {index} of those that are finite"))
}

/// The corners of the box around points; of none it is inside out.
#[inline]
pub(super) fn around(points: impl Iterator<Item = [f32; 3]>) -> ([f32; 3], [f32; 3]) {
    points.fold(([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]), |(low, high), p| {
        ([0, 1, 2].map(|i| low[i].min(p[i])), [0, 1, 2].map(|i| high[i].max(p[i])))
    })
}
