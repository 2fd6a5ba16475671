//! The steps of the coordinates of a LAS file: a coordinate is a whole number of 32 bits times the
//! scale, plus the offset.

use crate::error::IoError;
use crate::fault::bail;
use crate::field::XYZ;
use crate::named_points::NamedPoints;
use crate::parts::Parts;
use crate::survey::Grid;
use std::path::Path;

/// The decimals of scales that are chosen.
const DECIMALS: std::ops::RangeInclusive<i32> = 3..=9;

impl Grid {
    /// The grid that is known, if it has every coordinate of a cloud; else the coarsest decimal one
    /// that has; else the finest decimal one with the box of the cloud.
    pub(super) fn of(cloud: &dyn Parts, path: &Path, known: Option<Self>) -> Result<Self, IoError> {
        let (mut min, mut max) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        cloud.each(&mut |before, part| {
            for i in 0..part.points.len() {
                for (axis, name) in XYZ.iter().enumerate() {
                    let v = coordinate(part, i, axis);
                    if !v.is_finite() {
                        let wanted = "a finite number, since LAS has no other; leave the point out, or write .ply";
                        let i = before + i;
                        bail!(path, InvalidArgument, "{name} of point {i}", wanted, v);
                    }
                    (min[axis], max[axis]) = (min[axis].min(v), max[axis].max(v));
                }
            }
            Ok(true)
        })?;
        if cloud.points() == 0 {
            (min, max) = ([0.0; 3], [0.0; 3]);
        }
        if let Some(known) = known
            && known.holds_all(cloud)?
        {
            return Ok(known);
        }
        let mut finest = None;
        for grid in DECIMALS.map_while(|decimals| Self::around(min, max, decimals)) {
            if grid.holds_all(cloud)? {
                return Ok(grid);
            }
            finest = Some(grid);
        }
        if let Some(finest) = finest {
            return Ok(finest);
        }
        let widths: Vec<_> = (0..3).map(|axis| format!("{:.0}", max[axis] - min[axis])).collect();
        let wanted = "x, y, z that span at most 4294967 m, as 32 bits of 0.001 m do; write parts, or .ply";
        bail!(path, InvalidArgument, "points", wanted, ("{} m", widths.join(", ")));
    }

    /// A grid of so many decimals that reaches all of a box. The offset is 0 where it can be.
    fn around(min: [f64; 3], max: [f64; 3], decimals: i32) -> Option<Self> {
        let scale = 1.0 / 10_f64.powi(decimals);
        let mut grid = Self { scale: [scale; 3], shift: [0.0; 3] };
        let reaches = |grid: &Self, axis| [min, max].iter().all(|v| grid.step(axis, v[axis]).is_some());
        for axis in 0..3 {
            if !reaches(&grid, axis) {
                grid.shift[axis] = (min[axis] / 2.0 + max[axis] / 2.0).round();
                if !reaches(&grid, axis) {
                    return None;
                }
            }
        }
        Some(grid)
    }

    /// The whole number that is nearest to a coordinate.
    pub(super) fn step(&self, axis: usize, v: f64) -> Option<i32> {
        let step = ((v - self.shift[axis]) / self.scale[axis]).round();
        (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&step).then_some(step as i32)
    }

    /// The coordinate of a whole number, as readers have it.
    pub(super) fn at(&self, axis: usize, step: i32) -> f64 {
        f64::from(step) * self.scale[axis] + self.shift[axis]
    }

    /// As [`Grid::holds`], for all parts.
    fn holds_all(&self, cloud: &dyn Parts) -> Result<bool, IoError> {
        let mut holds = true;
        cloud.each(&mut |_, part| {
            holds = self.holds(part);
            Ok(holds)
        })?;
        Ok(holds)
    }

    /// Whether all coordinates come back: as the same `f32` where the cloud has no others, else but
    /// for the last bits of the arithmetic.
    fn holds(&self, cloud: &NamedPoints<'_>) -> bool {
        let is_held = |i: usize, axis: usize| {
            let v = coordinate(cloud, i, axis);
            let Some(back) = self.step(axis, v).map(|step| self.at(axis, step)) else { return false };
            if cloud.xyz_f64.is_some() {
                (back - v).abs() <= 4.0 * f64::EPSILON * v.abs().max(self.shift[axis].abs())
            } else {
                (back - cloud.origin[axis]) as f32 == cloud.points.row(i)[axis]
            }
        };
        (0..cloud.points.len()).all(|i| (0..3).all(|axis| is_held(i, axis)))
    }
}

/// The farthest that a coordinate of `f64` moves when the cloud is written, in metres; `None`
/// where all come back.
pub(crate) fn rounding(cloud: &NamedPoints<'_>) -> Option<f64> {
    let (xyz, known) = (cloud.xyz_f64?, cloud.survey.as_ref().and_then(|survey| survey.grid));
    let grid = Grid::of(cloud, Path::new(""), known).ok().filter(|grid| !grid.holds(cloud))?;
    let moved = |(i, v): (usize, &f64)| grid.step(i % 3, *v).map_or(0.0, |step| (grid.at(i % 3, step) - v).abs());
    Some(xyz.iter().enumerate().map(moved).fold(0.0, f64::max))
}

/// A coordinate about zero.
pub(super) fn coordinate(cloud: &NamedPoints<'_>, i: usize, axis: usize) -> f64 {
    match cloud.xyz_f64 {
        Some(xyz) => xyz[3 * i + axis],
        None => cloud.origin[axis] + f64::from(cloud.points.row(i)[axis]),
    }
}
