//! The local map: voxels with a few points each, changed by what enters and what leaves.

use super::cells::{Cells, beside, cell_of, key_of};
use crate::{Result, memory};
use rayon::prelude::*;

/// The map is trimmed after the sensor moved by this part of the radius.
const TRIM_EVERY: f64 = 0.05;
/// Voxels that a thread looks around at least.
const VOXELS: usize = 256;

/// The 26 neighbours of a voxel and, in the middle, the voxel itself.
pub(super) fn around() -> impl Iterator<Item = [i32; 3]> {
    (0..27).map(|d| [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1])
}

/// Points of the world by voxel.
///
/// A point is kept as `f32` beside the corner of its voxel, so that precision does not depend on how far the drive went.
#[derive(Debug)]
pub(super) struct LocalMap {
    /// Edge of a voxel in metres.
    pub(super) size: f64,
    /// Points that a voxel holds.
    pub(super) cap: usize,
    /// Square of the least distance of two points of a voxel.
    spacing: f32,
    pub(super) cells: Cells,
    pub(super) voxels: Vec<Voxel>,
    /// Voxels that were taken away, whose place is used again.
    free: Vec<u32>,
    /// `cap` for each voxel.
    pub(super) points: Vec<[f32; 3]>,
    /// Normals of points, as of the change in `made`.
    pub(super) normals: Vec<Normal>,
    pub(super) made: Vec<u32>,
    changes: u32,
    trimmed_at: Option<[f64; 3]>,
    len: usize,
    /// Points of voxels that were taken away, if they are kept.
    left: Option<Vec<[f64; 3]>>,
}

/// The normal of a point's surface; zeros where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Normal {
    pub(super) direction: [f32; 3],
    /// The variance of its tilt, in radians squared, that the scatter of the points about the surface gives.
    pub(super) tilt: f32,
}

/// A voxel of the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voxel {
    pub(super) cell: [i32; 3],
    /// Points in it; none where it was taken away.
    pub(super) count: u32,
    /// When points were last added to it or to a neighbour.
    pub(super) changed: u32,
}

impl LocalMap {
    pub(super) fn new(size: f64, cap: usize, keep: bool) -> Self {
        Self {
            size,
            cap,
            spacing: (size * size / cap as f64) as f32,
            cells: Cells::default(),
            voxels: Vec::new(),
            free: Vec::new(),
            points: Vec::new(),
            normals: Vec::new(),
            made: Vec::new(),
            changes: 0,
            trimmed_at: None,
            len: 0,
            left: keep.then(Vec::new),
        }
    }

    /// The number of points and of voxels.
    pub(super) const fn sizes(&self) -> [usize; 2] {
        [self.len, self.cells.len()]
    }

    /// A point in the world.
    #[inline]
    pub(super) fn point(&self, i: usize) -> [f64; 3] {
        let (cell, p) = (self.voxels[i / self.cap].cell, self.points[i]);
        [0, 1, 2].map(|k| f64::from(cell[k]) * self.size + f64::from(p[k]))
    }

    /// All points: those of voxels that were taken away, if they are kept, then voxel by voxel.
    pub(super) fn all(&self) -> Result<Vec<[f64; 3]>> {
        let mut all = Vec::new();
        let left = self.left.as_deref().unwrap_or_default();
        memory::room(&mut all, left.len() + self.len)?;
        all.extend_from_slice(left);
        for (slot, voxel) in self.voxels.iter().enumerate() {
            all.extend((0..voxel.count as usize).map(|i| self.point(slot * self.cap + i)));
        }
        Ok(all)
    }

    /// The points of a voxel, and the index of the first.
    #[inline]
    pub(super) fn points_of(&self, slot: u32) -> (usize, &[[f32; 3]]) {
        let first = slot as usize * self.cap;
        (first, &self.points[first..first + self.voxels[slot as usize].count as usize])
    }

    /// Adds points of the world in their order. Points of a full voxel, and those too near to one of the same voxel, are left out.
    pub(super) fn insert(&mut self, points: &[[f64; 3]]) -> Result<()> {
        self.changes += 1;
        let mut touched = Vec::new();
        for p in points {
            let Some(cell) = cell_of(*p, self.size) else { continue };
            let slot = self.voxel(cell)?;
            let first = slot as usize * self.cap;
            let local = [0, 1, 2].map(|k| (p[k] - f64::from(cell[k]) * self.size) as f32);
            let voxel = &mut self.voxels[slot as usize];
            let n = voxel.count as usize;
            let near = |q: &[f32; 3]| squared(*q, local) < self.spacing;
            if n == self.cap || self.points[first..first + n].iter().any(near) {
                continue;
            }
            self.points[first + n] = local;
            self.made[first + n] = 0;
            voxel.count += 1;
            self.len += 1;
            if voxel.changed != self.changes {
                voxel.changed = self.changes;
                memory::push(&mut touched, slot)?;
            }
        }
        // Normals reach into the neighbours.
        let (cells, voxels) = (&self.cells, &self.voxels);
        let near = |slot: &u32| {
            let cell = voxels[*slot as usize].cell;
            around().filter_map(move |by| cells.get(key_of(beside(cell, by))))
        };
        let parts = touched.par_chunks(VOXELS).map(|part| part.iter().flat_map(near).collect::<Vec<_>>());
        for slot in parts.collect::<Vec<_>>().into_iter().flatten() {
            self.voxels[slot as usize].changed = self.changes;
        }
        Ok(())
    }

    /// The voxel of a cell, made if there is none.
    fn voxel(&mut self, cell: [i32; 3]) -> Result<u32> {
        let next = self.free.last().copied().unwrap_or(self.voxels.len() as u32);
        if let Some(slot) = self.cells.get_or_put(key_of(cell), next)? {
            return Ok(slot);
        }
        let voxel = Voxel { cell, count: 0, changed: 0 };
        if self.free.pop().is_some() {
            self.voxels[next as usize] = voxel;
        } else {
            memory::push(&mut self.voxels, voxel)?;
            let len = self.voxels.len() * self.cap;
            memory::resize(&mut self.points, len, [0.0; 3])?;
            memory::resize(&mut self.normals, len, Normal::default())?;
            memory::resize(&mut self.made, len, 0)?;
        }
        Ok(next)
    }

    /// Takes voxels away whose middle is farther than `radius` from a place.
    pub(super) fn trim(&mut self, middle: [f64; 3], radius: f64) -> Result<()> {
        let apart = |a: [f64; 3]| (0..3).map(|k| (a[k] - middle[k]) * (a[k] - middle[k])).sum::<f64>().sqrt();
        if self.trimmed_at.is_some_and(|at| apart(at) < TRIM_EVERY * radius) {
            return Ok(());
        }
        self.trimmed_at = Some(middle);
        let before = self.free.len();
        for slot in 0..self.voxels.len() {
            let Voxel { cell, count, .. } = self.voxels[slot];
            if count == 0 || apart(cell.map(|c| (f64::from(c) + 0.5) * self.size)) <= radius {
                continue;
            }
            let first = slot * self.cap;
            if let Some(mut left) = self.left.take() {
                for i in first..first + count as usize {
                    memory::push(&mut left, self.point(i))?;
                }
                self.left = Some(left);
            }
            self.len -= count as usize;
            self.voxels[slot].count = 0;
            memory::push(&mut self.free, slot as u32)?;
        }
        if self.free.len() > before {
            self.cells.clear();
            for (slot, voxel) in self.voxels.iter().enumerate().filter(|(_, voxel)| voxel.count > 0) {
                self.cells.get_or_put(key_of(voxel.cell), slot as u32)?;
            }
        }
        Ok(())
    }

    /// Takes everything away.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.size, self.cap, self.left.is_some());
    }
}

/// The squared distance of two points.
#[inline]
pub(super) fn squared(a: [f32; 3], b: [f32; 3]) -> f32 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}
