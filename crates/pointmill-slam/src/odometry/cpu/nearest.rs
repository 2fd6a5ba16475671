//! Nearest points of the local map, and their normals.

use super::NONE;
use super::map::LocalMap;
use pointmill::Result;
use pointmill::internals::{memory, par};
use pointmill_core::icp::nearest::{distance_of, index_of, key};
use pointmill_core::odometry::cells::{AROUND, around, beside, cell_of, gap, key_of, offset_in, seen_from, squared};
use pointmill_core::odometry::surface::{Near, Normal};
use rayon::prelude::*;

/// Points whose normals a thread makes at least.
const NORMALS: usize = 64;

impl LocalMap {
    /// The nearest point within a distance, in voxels no more than `reach` beside; of equally near
    /// ones that with the lowest index; [`NONE`] if there is none.
    ///
    /// What was found for a place nearby is mostly near, so that few voxels are left to look at. It
    /// changes nothing of the answer.
    #[inline]
    pub(super) fn nearest(&self, place: [f64; 3], within: f32, reach: i32, hint: u32) -> u32 {
        let Some(cell) = cell_of(place, self.size) else { return NONE };
        let size = self.size as f32;
        let at = offset_in(place, cell, self.size);
        let mut best = key(within * within, NONE);
        if hint != NONE {
            let other = self.voxels[hint as usize / self.cap].cell;
            let by = [0, 1, 2].map(|k| other[k] - cell[k]);
            if by.iter().all(|by| by.abs() <= reach) {
                best = best.min(key(squared(self.points[hint as usize], seen_from(at, by, size)), hint));
            }
        }
        let look = |by: [i32; 3], best: &mut u64| {
            let Some(slot) = self.cells.get(key_of(beside(cell, by))) else { return };
            let q = seen_from(at, by, size);
            let (first, points) = self.points_of(slot);
            for (i, p) in (first as u32..).zip(points) {
                *best = (*best).min(key(squared(*p, q), i));
            }
        };
        look([0; 3], &mut best);
        for z in -reach..=reach {
            let far_z = gap(at[2], z, size);
            if far_z > distance_of(best) {
                continue;
            }
            for y in -reach..=reach {
                let far_y = gap(at[1], y, size);
                if far_y + far_z > distance_of(best) {
                    continue;
                }
                for x in -reach..=reach {
                    // In the order of `squared`, so that rounding makes no difference.
                    if gap(at[0], x, size) + far_y + far_z <= distance_of(best) && [x, y, z] != [0; 3] {
                        look([x, y, z], &mut best);
                    }
                }
            }
        }
        index_of(best)
    }

    /// Makes the normals of these points anew where points came near since they were made.
    pub(super) fn refresh_normals(&mut self, of: impl Iterator<Item = u32>) -> Result<()> {
        let mut stale = Vec::new();
        for i in of {
            let changed = self.voxels[i as usize / self.cap].changed;
            if self.made[i as usize] < changed {
                self.made[i as usize] = changed;
                memory::push(&mut stale, i as usize)?;
            }
        }
        let normals =
            memory::collect_parallel(stale.par_iter().with_min_len(par::grain(NORMALS)).map(|i| self.normal(*i)))?;
        stale.into_iter().zip(normals).for_each(|(i, normal)| self.normals[i] = normal);
        Ok(())
    }

    /// The normal of a point from its nearest points within the size of a voxel, of equally near
    /// ones those that are found first: in its own voxel, then in those around.
    fn normal(&self, i: usize) -> Normal {
        let (cell, at, size) = (self.voxels[i / self.cap].cell, self.points[i], self.size as f32);
        let mut near = Near::new(at, size);
        for by in (0..AROUND).map(around) {
            if near.reaches(by, size)
                && let Some(slot) = self.cells.get(key_of(beside(cell, by)))
            {
                self.points_of(slot).1.iter().for_each(|p| near.offer(seen_from(*p, by.map(|by| -by), size)));
            }
        }
        near.surface()
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::Voxel;
    use super::*;
    use pointmill::internals::testing::Random;
    use pointmill_core::odometry::cells::FARTHEST;

    /// Points of a patch, some of which lie together.
    fn patch(random: &mut Random, n: usize, middle: [f32; 3]) -> Vec<[f64; 3]> {
        (0..n).map(|_| middle.map(|m| f64::from(m + random.between(-4.0, 4.0)))).collect()
    }

    /// The indices of all points.
    fn indices(map: &LocalMap) -> Vec<u32> {
        let of = |(slot, voxel): (usize, &Voxel)| {
            let first = (slot * map.cap) as u32;
            first..first + voxel.count
        };
        map.voxels.iter().enumerate().flat_map(of).collect()
    }

    #[test]
    fn neighbours_are_those_of_a_look_at_all_points() {
        let mut random = Random(7);
        let mut map = LocalMap::new(0.7, 9, false);
        map.insert(patch(&mut random, 3000, [0.0; 3])).unwrap();
        map.insert(patch(&mut random, 3000, [3.0, -1.0, 2.0])).unwrap();
        map.trim([0.0; 3], 3.0).unwrap();
        map.insert(patch(&mut random, 500, [-3.0, 0.0, 0.0])).unwrap();
        let all = map.all().unwrap();
        assert!(all.len() == map.sizes()[0] && all.len() > 500);
        for voxel in &map.voxels {
            assert!(voxel.count <= 9);
        }
        let mut found = 0;
        for _ in 0..2000 {
            let q = patch(&mut random, 1, [0.0; 3])[0];
            let within = random.between(0.05, 2.0);
            let reach = (within / 0.7).ceil() as i32;
            let got = map.nearest(q, within, reach, NONE);
            // Whatever is known before.
            let hint = map.nearest(patch(&mut random, 1, [0.0; 3])[0], 2.0, 3, NONE);
            assert_eq!(map.nearest(q, within, reach, hint), got);
            let apart = |p: &[f64; 3]| squared([0, 1, 2].map(|k| (p[k] - q[k]) as f32), [0.0; 3]).sqrt();
            let best = all.iter().map(apart).fold(f32::INFINITY, f32::min);
            if got == NONE {
                assert!(best > within - 1e-5);
            } else {
                assert!((apart(&map.point(got)) - best).abs() < 1e-5);
                found += 1;
            }
        }
        assert!(found > 500);
        assert_eq!(map.nearest([FARTHEST; 3], 1.0, 2, NONE), NONE);
        assert_eq!(map.nearest([f64::NAN; 3], 1.0, 2, NONE), NONE);
    }

    #[test]
    fn points_that_leave_the_map_are_kept_if_asked_for() {
        let mut random = Random(8);
        let points = patch(&mut random, 2000, [0.0; 3]);
        let run = |keep: bool| {
            let mut map = LocalMap::new(0.7, 9, keep);
            map.insert(points.clone()).unwrap();
            let before = map.all().unwrap();
            map.trim([0.0; 3], 2.0).unwrap();
            (before, map.all().unwrap(), map.sizes())
        };
        let ((all, less, sizes), (_, mut kept, sizes_kept)) = (run(false), run(true));
        assert_eq!((less.len(), sizes), (sizes[0], sizes_kept));
        assert!(less.len() > 100 && less.len() < all.len() && kept.ends_with(&less));
        let sorted = |points: &mut Vec<[f64; 3]>| points.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let mut all = all;
        sorted(&mut all);
        sorted(&mut kept);
        assert_eq!(kept, all);
    }

    #[test]
    fn normals_are_those_of_a_map_made_at_once() {
        let mut random = Random(9);
        let parts = [0.0, 1.0, 0.0].map(|x| {
            let mut points = patch(&mut random, 1500, [x, 0.0, 0.0]);
            points.iter_mut().for_each(|p| p[2] = 0.1 * p[0] + 0.01 * p[2]);
            points
        });
        let (mut grown, mut at_once) = (LocalMap::new(1.0, 20, false), LocalMap::new(1.0, 20, false));
        for part in &parts {
            grown.insert(part.clone()).unwrap();
            let every: Vec<u32> = indices(&grown);
            grown.refresh_normals(every.into_iter()).unwrap();
        }
        at_once.insert(parts.concat()).unwrap();
        let every: Vec<u32> = indices(&at_once);
        at_once.refresh_normals(every.iter().copied()).unwrap();
        assert_eq!(grown.points, at_once.points);
        assert_eq!(grown.normals, at_once.normals);
        let tilt = (1.01f64).sqrt();
        let straight = every
            .iter()
            .filter(|i| (f64::from(at_once.normals[**i as usize].direction[2].abs()) - 1.0 / tilt).abs() < 0.05)
            .count();
        assert!(straight > every.len() * 8 / 10, "{straight} of {}", every.len());
    }
}
