//! The local map: voxels with a few points each, changed by what enters and what leaves.

use crate::sampling::cells::Cells;
use pointmill::Result;
use pointmill::internals::{memory, par};
use pointmill_core::odometry::cells::{
    AROUND, around, beside, cell_of, key_of, leaves, offset_in, place_in, spacing, squared,
};
use pointmill_core::odometry::surface::Normal;
use rayon::prelude::*;

/// Voxels that a thread looks around at least.
const VOXELS: usize = 256;

/// Points of the world by voxel.
///
/// A point is kept as an offset of `f32` from the corner of its voxel, so that precision does not
/// depend on how far the drive went.
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
    len: usize,
    /// Points of voxels that were taken away, if they are kept.
    left: Option<Vec<[f64; 3]>>,
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
            spacing: spacing(size, cap as u32),
            cells: Cells::default(),
            voxels: Vec::new(),
            free: Vec::new(),
            points: Vec::new(),
            normals: Vec::new(),
            made: Vec::new(),
            changes: 0,
            len: 0,
            left: keep.then(Vec::new),
        }
    }

    /// The number of points and of voxels.
    pub(super) const fn sizes(&self) -> [usize; 2] {
        [self.len, self.cells.count()]
    }

    /// A point in the world.
    #[inline]
    pub(super) fn point(&self, i: u32) -> [f64; 3] {
        place_in(self.points[i as usize], self.voxels[i as usize / self.cap].cell, self.size)
    }

    /// All points: those of voxels that were taken away, if they are kept, then voxel by voxel.
    pub(super) fn all(&self) -> Result<Vec<[f64; 3]>> {
        self.after(self.left.as_deref().unwrap_or_default())
    }

    /// The points of all voxels.
    pub(super) fn near(&self) -> Result<Vec<[f64; 3]>> {
        self.after(&[])
    }

    /// Points, then those of all voxels.
    fn after(&self, left: &[[f64; 3]]) -> Result<Vec<[f64; 3]>> {
        let mut all = Vec::new();
        memory::room(&mut all, left.len() + self.len)?;
        all.extend_from_slice(left);
        for (slot, voxel) in self.voxels.iter().enumerate() {
            all.extend((0..voxel.count).map(|i| self.point((slot * self.cap) as u32 + i)));
        }
        Ok(all)
    }

    /// The points of a voxel, and the index of the first.
    #[inline]
    pub(super) fn points_of(&self, slot: u32) -> (usize, &[[f32; 3]]) {
        let first = slot as usize * self.cap;
        (first, &self.points[first..first + self.voxels[slot as usize].count as usize])
    }

    /// Adds points of the world in their order. Points of a full voxel, and those too near to one
    /// of the same voxel, are left out.
    pub(super) fn insert(&mut self, points: impl IntoIterator<Item = [f64; 3]>) -> Result<()> {
        self.changes += 1;
        let mut touched = Vec::new();
        for p in points {
            let Some(cell) = cell_of(p, self.size) else { continue };
            let slot = self.voxel(cell)?;
            let first = slot as usize * self.cap;
            let offset = offset_in(p, cell, self.size);
            let voxel = &mut self.voxels[slot as usize];
            let n = voxel.count as usize;
            let near = |q: &[f32; 3]| squared(*q, offset) < self.spacing;
            if n == self.cap || self.points[first..first + n].iter().any(near) {
                continue;
            }
            self.points[first + n] = offset;
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
            (0..AROUND).filter_map(move |i| cells.get(key_of(beside(cell, around(i)))))
        };
        let parts = touched
            .par_chunks(VOXELS)
            .with_min_len(par::grain(1))
            .map(|part| part.iter().flat_map(near).collect::<Vec<_>>());
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
        let before = self.free.len();
        for slot in 0..self.voxels.len() {
            let Voxel { cell, count, .. } = self.voxels[slot];
            if count == 0 || !leaves(cell, self.size, middle, radius) {
                continue;
            }
            if let Some(mut left) = self.left.take() {
                let first = (slot * self.cap) as u32;
                memory::extend(&mut left, (first..first + count).map(|i| self.point(i)))?;
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
