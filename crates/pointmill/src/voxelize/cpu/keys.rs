//! Cells of points as keys.

use super::Sample;
use pointmill_core::VoxelGrid;
use pointmill_core::hash::{RUN, Seed, first_slot};
use std::ops::Range;

/// Points whose cells are found together.
const LANES: usize = 64;

/// A cell's id: 32 bits where the grid allows it, because a table of half the size misses the cache
/// less often.
pub(super) trait Key: Copy + Default + Eq + Ord + Send + Sync + std::fmt::Debug {
    /// In place of an id: the point is in no cell.
    const NONE: Self;
    fn new(id: u64) -> Self;
    fn id(self) -> u64;
    /// Keys of points, coordinate after coordinate.
    fn find(grid: &VoxelGrid, points: &[[f32; LANES]; 3], keys: &mut [Self; LANES]);

    /// Which of `parts` parts the key is dealt to, the same for all keys of a run: by a secret
    /// factor, with which the parts' tables have nothing to do.
    #[inline(always)]
    fn part(self, parts: usize, seed: Seed) -> usize {
        let place = (self.id() / RUN).wrapping_mul(seed.factor()) >> 48;
        ((place * parts as u64) >> 16) as usize
    }

    /// Where a table of `1 << bits` slots starts looking. Runs are scattered by the golden ratio:
    /// of cells side by side, along any axis, it makes neighbours in the table less often than
    /// chance does, and needs one multiplication. Who knows it can choose cells that it leaves in
    /// one place.
    #[inline(always)]
    fn even_slot(self, bits: u32) -> usize {
        let scattered = (self.id() / RUN).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (scattered >> (64 - bits)) as usize & !(RUN as usize - 1) | (self.id() % RUN) as usize
    }

    /// The same by a secret: what a table does once too many keys met in one place.
    #[inline(always)]
    fn secret_slot(self, bits: u32, seed: Seed) -> usize {
        first_slot(self.id(), ((1u64 << bits) - 1) as u32, seed) as usize
    }
}

impl Key for u32 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn new(id: u64) -> Self {
        id as Self
    }
    #[inline(always)]
    fn id(self) -> u64 {
        u64::from(self)
    }

    /// What [`VoxelGrid::cell`] and [`VoxelGrid::id`] compute, in a form that becomes vector code:
    /// there is no vector conversion of `f32` to `u32` that is safe for every value.
    #[inline(always)]
    fn find(grid: &VoxelGrid, points: &[[f32; LANES]; 3], keys: &mut [Self; LANES]) {
        const WHOLE: f32 = (1 << 23) as f32;
        let (min, size, dims) = (grid.range().min, grid.size(), grid.dims());
        for i in 0..LANES {
            let (mut key, mut inside) = (0u32, true);
            for axis in [2, 1, 0] {
                let q = (points[axis][i] - min[axis]) / size[axis];
                inside &= (q >= 0.0) & (q < dims[axis] as f32);
                // From 2^23 on, `f32` has no fraction: adding it rounds, and its bits count up by
                // one.
                let rounded = q + WHOLE;
                let up = u32::from(rounded - WHOLE > q);
                let cell = rounded.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_sub(up);
                key = key.wrapping_mul(dims[axis]).wrapping_add(cell);
            }
            keys[i] = if inside { key } else { Self::NONE };
        }
    }
}

impl Key for u64 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn new(id: u64) -> Self {
        id
    }
    #[inline(always)]
    fn id(self) -> u64 {
        self
    }

    #[inline(always)]
    fn find(grid: &VoxelGrid, points: &[[f32; LANES]; 3], keys: &mut [Self; LANES]) {
        for i in 0..LANES {
            keys[i] = grid.cell(points.map(|p| p[i])).map_or(Self::NONE, |cell| grid.id(cell));
        }
    }
}

/// Whether a grid's keys can have 32 bits: the largest number stands for no cell, and cells along
/// an axis can be counted in the bits of an `f32`.
pub(super) fn narrow(grid: &VoxelGrid) -> bool {
    u32::try_from(grid.num_cells()).is_ok() && grid.dims().iter().all(|&d| d <= 1 << 23)
}

/// Points that are in no cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outside {
    pub(super) non_finite: u32,
    pub(super) out_of_range: u32,
}

impl std::ops::AddAssign for Outside {
    fn add_assign(&mut self, other: Self) {
        self.non_finite += other.non_finite;
        self.out_of_range += other.out_of_range;
    }
}

impl Sample<'_> {
    /// Keys of some of the points; returns how many have none.
    pub(super) fn keys<K: Key>(&self, points: Range<usize>, keys: &mut [K]) -> Outside {
        let columns = self.points.columns();
        let data = &self.points.data()[points.start * columns..points.end * columns];
        match columns {
            4 => self.keys_of::<K, 4>(data, keys),
            5 => self.keys_of::<K, 5>(data, keys),
            _ => self.keys_of::<K, 0>(data, keys),
        }
    }

    /// `C` columns, or any number if `C` is 0.
    fn keys_of<K: Key, const C: usize>(&self, data: &[f32], keys: &mut [K]) -> Outside {
        let columns = if C == 0 { self.points.columns() } else { C };
        // A copy that no store can change.
        let grid: VoxelGrid = *self.grid;
        let mut outside = Outside::default();
        let mut found = [K::NONE; LANES];
        let mut coords = [[0.0; LANES]; 3];
        for (keys, data) in keys.chunks_mut(LANES).zip(data.chunks(LANES * columns)) {
            for (i, p) in data.chunks_exact(columns).enumerate() {
                (coords[0][i], coords[1][i], coords[2][i]) = (p[0], p[1], p[2]);
            }
            K::find(&grid, &coords, &mut found);
            keys.copy_from_slice(&found[..keys.len()]);
            if self.strict {
                for (key, p) in keys.iter_mut().zip(data.chunks_exact(columns)) {
                    *key = if grid.range().contains([p[0], p[1], p[2]]) { *key } else { K::NONE };
                }
            }
            let none = keys.iter().map(|&key| u32::from(key == K::NONE)).sum::<u32>();
            if none > 0 {
                let finite = |i: usize| coords[0][i].is_finite() & coords[1][i].is_finite() & coords[2][i].is_finite();
                let non_finite = (0..keys.len()).map(|i| u32::from(!finite(i))).sum::<u32>();
                outside.non_finite += non_finite;
                outside.out_of_range += none - non_finite;
            }
        }
        outside
    }
}

/// Coordinates of keys, without divisions.
#[derive(Clone, Copy)]
pub(super) struct Coords<'a> {
    grid: &'a VoxelGrid,
    /// `2^64 / dims`, rounded up, for x and y: for 32-bit ids the product's upper half is the
    /// quotient.
    inverse: Option<[u64; 2]>,
    batch_index: Option<i32>,
}

impl<'a> Coords<'a> {
    pub(super) fn new(sample: &Sample<'a>) -> Self {
        let [x, y, _] = sample.grid.dims().map(u64::from);
        let narrow = sample.grid.num_cells() <= 1 << 32 && x > 1 && y > 1;
        let inverse = narrow.then(|| [x, y].map(|d| u64::MAX / d + 1));
        Self { grid: sample.grid, inverse, batch_index: sample.batch_index.map(|i| i as i32) }
    }

    /// Writes the coordinates of a cell.
    #[inline(always)]
    pub(super) fn write(&self, id: u64, coords: &mut [i32]) {
        let [x, y, z] = match self.inverse {
            Some(inverse) => {
                let [dims_x, dims_y, _] = self.grid.dims();
                let over = |id: u64, inverse: u64| ((u128::from(id) * u128::from(inverse)) >> 64) as u64;
                let row = over(id, inverse[0]);
                let z = over(row, inverse[1]);
                [id - row * u64::from(dims_x), row - z * u64::from(dims_y), z].map(|c| c as u32)
            }
            None => self.grid.cell_of_id(id),
        };
        let zyx = [z as i32, y as i32, x as i32];
        match self.batch_index {
            None => coords.copy_from_slice(&zyx),
            Some(index) => {
                coords[0] = index;
                coords[1..].copy_from_slice(&zyx);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aabb;
    use proptest::prelude::*;

    fn sample<'a>(grid: &'a VoxelGrid, data: &'a [f32]) -> Sample<'a> {
        let points = crate::Points::new(data, 3).unwrap();
        let (range, max_voxels, max_points, seed) = (0..points.len(), 1, 1, Seed::new(1));
        Sample {
            points,
            range,
            batch_index: None,
            grid,
            strict: false,
            sorted: false,
            max_voxels,
            max_points,
            chosen: None,
            seed,
        }
    }

    proptest! {
        /// 32-bit keys are the grid's ids, and coordinates come back from them.
        #[test]
        fn narrow_keys_are_ids(
            values in prop::collection::vec(prop_oneof![any::<f32>(), -60.0f32..60.0, (-600i32..600).prop_map(|v| v as f32 * 0.1)], 3..300),
            size in prop::array::uniform3(prop_oneof![Just(0.1f32), 0.05f32..200.0]),
        ) {
            let grid = VoxelGrid::new(size, Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]));
            let Ok(grid) = grid else { return Ok(()) };
            prop_assert!(narrow(&grid));
            let data = &values[..values.len() / 3 * 3];
            let sample = sample(&grid, data);
            let mut keys = vec![0u32; data.len() / 3];
            let mut wide = vec![0u64; data.len() / 3];
            let outside = sample.keys(0..keys.len(), &mut keys);
            let outside_wide = sample.keys(0..keys.len(), &mut wide);
            prop_assert_eq!(format!("{outside:?}"), format!("{outside_wide:?}"));
            for ((&key, &wide), p) in keys.iter().zip(&wide).zip(data.chunks_exact(3)) {
                let cell = grid.cell([p[0], p[1], p[2]]);
                prop_assert_eq!(cell.map(|c| grid.id(c)), (key != u32::NONE).then_some(key.id()));
                prop_assert_eq!(cell.map(|c| grid.id(c)), (wide != u64::NONE).then_some(wide));
                if let Some([x, y, z]) = cell {
                    let mut coords = [0; 3];
                    Coords::new(&sample).write(key.id(), &mut coords);
                    prop_assert_eq!(coords, [z as i32, y as i32, x as i32]);
                }
            }
        }
    }
}
