//! Clouds about a centre of their own, in `f32`.

use super::Metric;
use super::result::Dropped;
use super::search::{MAX_POINTS, order_along_curve};
use crate::device::on_threads;
use crate::{Argument, Coordinates, Device, Error, Result, memory};
use pointmill_core::ndt::{MAX_CELL, NdtLattice};
use pointmill_core::rigid::unit;
use rayon::prelude::*;

/// Points that a centre is made from.
const SAMPLE: usize = 1023;
/// Largest distance from the centre along an axis. Squares of such distances are still numbers.
const FARTHEST: f64 = 1e18;

/// The finite points of a cloud, about its centre.
#[derive(Clone, Debug, Default)]
pub(super) struct Local {
    pub(super) points: Vec<[f32; 3]>,
    /// The caller's normals of these points; empty if there are none.
    pub(super) normals: Vec<[f32; 3]>,
    /// What was taken off, in metres.
    pub(super) centre: [f64; 3],
    pub(super) dropped: Dropped,
}

impl Local {
    /// Takes the points of a cloud in order.
    pub(super) fn new(argument: Argument, cloud: &Coordinates<'_>, drop_zeros: bool) -> Result<Self> {
        cloud.check_points(argument, &Device::cpu().stream()?)?;
        check_number(argument, cloud.len())?;
        let mut local = Self::default();
        let mut kept: Vec<[f64; 3]> = Vec::new();
        memory::room(&mut kept, cloud.len())?;
        for i in 0..cloud.len() {
            let p = cloud.point(i);
            if !p.iter().all(|x| x.is_finite()) {
                local.dropped.nonfinite += 1;
            } else if drop_zeros && p == [0.0; 3] {
                local.dropped.zeros += 1;
            } else {
                kept.push(p);
            }
        }
        local.centre = centre(&kept);
        let centre = local.centre;
        local.points = memory::collect_parallel(kept.par_iter().map(|p| [0, 1, 2].map(|i| (p[i] - centre[i]) as f32)))?;
        if let Some(i) = local.points.iter().position(|p| p.iter().any(|x| f64::from(x.abs()) > FARTHEST)) {
            return Err(too_far(argument, i));
        }
        Ok(local)
    }

    /// Takes the caller's normals, one for each point of `cloud`, which this was made of.
    pub(super) fn take_normals(
        &mut self,
        cloud: &Coordinates<'_>,
        normals: &[[f32; 3]],
        drop_zeros: bool,
    ) -> Result<()> {
        let stays = |i: &usize| {
            let p = cloud.point(*i);
            p.iter().all(|x| x.is_finite()) && !(drop_zeros && p == [0.0; 3])
        };
        memory::room(&mut self.normals, self.points.len())?;
        self.normals.extend((0..cloud.len()).filter(stays).map(|i| unit_normal(normals[i])));
        Ok(())
    }

    /// One point, their mean, for the points of each cube of `size` metres; in the order of the first points of cubes.
    pub(super) fn downsampled(&self, argument: Argument, size: f64) -> Result<Vec<[f32; 3]>> {
        let lattice = NdtLattice::new(size)
            .map_err(|_| Error::argument(Argument::VoxelSize, "0, or a size whose reciprocal is a normal f32", size))?;
        let mut cells: Vec<([i32; 3], u32)> = Vec::new();
        memory::room(&mut cells, self.points.len())?;
        for (p, i) in self.points.iter().zip(0..) {
            let Some(place) = lattice.place(*p) else {
                let expected = format!("a cloud of at most {MAX_CELL} cells of {size} m each way");
                return Err(Error::argument(argument, expected, format!("{p:?} from its middle")));
            };
            cells.push((place.cell, i));
        }
        on_threads(|| cells.par_sort_unstable());
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

/// Checks the number of points of a cloud.
pub(super) fn check_number(argument: Argument, n: usize) -> Result<()> {
    if n > MAX_POINTS {
        return Err(Error::argument(argument, format!("at most {MAX_POINTS} points"), n));
    }
    Ok(())
}

/// Checks the caller's normals of a target.
pub(super) fn check_normals(cloud: &Coordinates<'_>, normals: &[[f32; 3]], metric: Metric) -> Result<()> {
    if metric == Metric::PointToPoint {
        let expected = "none: point-to-point does not use normals";
        return Err(Error::argument(Argument::TargetNormals, expected, format!("{} normals", normals.len())));
    }
    if normals.len() != cloud.len() {
        return Err(Error::argument(
            Argument::TargetNormals,
            format!("{} rows, as the target", cloud.len()),
            normals.len(),
        ));
    }
    Ok(())
}

/// A normal of length one; zeros, which is none, for what has no direction.
pub(super) fn unit_normal(normal: [f32; 3]) -> [f32; 3] {
    let unit = unit(normal.map(f64::from));
    if unit.iter().all(|x| x.is_finite()) { unit.map(|x| x as f32) } else { [0.0; 3] }
}

/// The error of a cloud with a point too far from its middle.
pub(super) fn too_far(argument: Argument, index: usize) -> Error {
    let expected = format!("coordinates within {FARTHEST:e} m of the middle of the cloud");
    Error::argument(argument, expected, format!("point {index} of those that are finite"))
}

/// The median, axis by axis, of points that are evenly spaced in the cloud. Unlike a mean or the middle of a box it stays where most points are when a few are far away.
fn centre(points: &[[f64; 3]]) -> [f64; 3] {
    if points.is_empty() {
        return [0.0; 3];
    }
    let n = points.len().min(SAMPLE);
    let mut values = [0.0; SAMPLE];
    [0, 1, 2].map(|axis| {
        let values = &mut values[..n];
        values.iter_mut().enumerate().for_each(|(i, value)| *value = points[i * points.len() / n][axis]);
        *values.select_nth_unstable_by(n / 2, f64::total_cmp).1
    })
}

/// Points in the order of the Morton curve, with what belongs to each.
pub(super) fn along_curve(points: &[[f32; 3]]) -> Result<Vec<u32>> {
    memory::collect(order_along_curve(points.len(), |i| points[i])?.into_iter().map(|(_, i)| i))
}
