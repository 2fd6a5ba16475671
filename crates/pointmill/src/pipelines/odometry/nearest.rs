//! Nearest points of the local map, and their normals.

use super::cells::{beside, cell_of, key_of};
use super::map::{LocalMap, Normal, around, squared};
use crate::{Result, memory};
use pointmill_core::eigen::eigen;
use pointmill_core::icp::neighbourhood::Neighbourhood;
use rayon::prelude::*;

/// Points that a normal is made from at most, and at least.
const NEIGHBOURS: usize = 12;
const FEWEST: usize = 5;
/// A neighbourhood is no surface if its least spread is more than this part of the second.
const FLAT: f64 = 0.25;
/// Points whose normals a thread makes at least.
const NORMALS: usize = 64;

impl LocalMap {
    /// The nearest point within a distance, of equally near ones that with the lowest index.
    #[inline]
    pub(super) fn nearest(&self, place: [f64; 3], within: f32) -> Option<usize> {
        let cell = cell_of(place, self.size)?;
        let size = self.size as f32;
        let local = [0, 1, 2].map(|k| (place[k] - f64::from(cell[k]) * self.size) as f32);
        let mut best = (within * within, usize::MAX);
        let look = |by: [i32; 3], best: &mut (f32, usize)| {
            let Some(slot) = self.cells.get(key_of(beside(cell, by))) else { return };
            let q = [0, 1, 2].map(|k| local[k] - by[k] as f32 * size);
            let (first, points) = self.points_of(slot);
            for (i, p) in points.iter().enumerate() {
                let here = (squared(*p, q), first + i);
                if here < *best {
                    *best = here;
                }
            }
        };
        look([0; 3], &mut best);
        let reach = (within / size).ceil() as i32;
        let gap = |axis: usize, by: i32| gap(local[axis], by, size);
        for x in -reach..=reach {
            let far_x = gap(0, x);
            if far_x > best.0 {
                continue;
            }
            for y in -reach..=reach {
                let far_xy = far_x + gap(1, y);
                if far_xy > best.0 {
                    continue;
                }
                for z in -reach..=reach {
                    if far_xy + gap(2, z) <= best.0 && [x, y, z] != [0; 3] {
                        look([x, y, z], &mut best);
                    }
                }
            }
        }
        (best.1 != usize::MAX).then_some(best.1)
    }

    /// Makes the normals of these points anew where points came near since they were made.
    pub(super) fn refresh_normals(&mut self, of: impl Iterator<Item = usize>) -> Result<()> {
        let mut stale = Vec::new();
        for i in of {
            let changed = self.voxels[i / self.cap].changed;
            if self.made[i] < changed {
                self.made[i] = changed;
                memory::push(&mut stale, i)?;
            }
        }
        let normals = memory::collect_parallel(stale.par_iter().with_min_len(NORMALS).map(|i| self.normal(*i)))?;
        stale.into_iter().zip(normals).for_each(|(i, normal)| self.normals[i] = normal);
        Ok(())
    }

    /// The normal of a point from its nearest points within the size of a voxel, of equally near ones those that are found first.
    fn normal(&self, i: usize) -> Normal {
        let (cell, at, size) = (self.voxels[i / self.cap].cell, self.points[i], self.size as f32);
        let mut near = [(size * size, [0.0; 3]); NEIGHBOURS];
        let mut n = 0;
        // The own voxel first, so that others need no look.
        for by in std::iter::once([0; 3]).chain(around().filter(|by| *by != [0; 3])) {
            if (0..3).map(|k| gap(at[k], by[k], size)).sum::<f32>() > near[NEIGHBOURS - 1].0 {
                continue;
            }
            let Some(slot) = self.cells.get(key_of(beside(cell, by))) else { continue };
            for p in self.points_of(slot).1 {
                let p = [0, 1, 2].map(|k| p[k] + by[k] as f32 * size);
                let here = squared(p, at);
                if here < near[NEIGHBOURS - 1].0 {
                    let to = near[..n].partition_point(|(other, _)| *other <= here);
                    n = (n + 1).min(NEIGHBOURS);
                    near.copy_within(to..NEIGHBOURS - 1, to + 1);
                    near[to] = (here, p);
                }
            }
        }
        if n < FEWEST {
            return Normal::default();
        }
        let mut neighbourhood = Neighbourhood::default();
        near[..n].iter().for_each(|(_, p)| neighbourhood.add(at, *p));
        let [least, second, _] = eigen(neighbourhood.covariance()).values;
        if least > FLAT * second {
            return Normal::default();
        }
        Normal { direction: neighbourhood.normal(), tilt: (least.max(0.0) / (second * n as f64)) as f32 }
    }
}

/// The square of the distance along an axis from a place within its voxel to the voxel so many farther.
#[inline]
fn gap(at: f32, by: i32, size: f32) -> f32 {
    let gap = match by {
        0 => 0.0,
        by if by > 0 => by as f32 * size - at,
        by => at - (by + 1) as f32 * size,
    };
    gap * gap
}

#[cfg(test)]
mod tests {
    use super::super::cells::FARTHEST;
    use super::*;
    use crate::testing::Random;

    /// Points of a patch, some of which lie together.
    fn patch(random: &mut Random, n: usize, middle: [f32; 3]) -> Vec<[f64; 3]> {
        (0..n).map(|_| middle.map(|m| f64::from(m + random.between(-4.0, 4.0)))).collect()
    }

    #[test]
    fn neighbours_are_those_of_a_look_at_all_points() {
        let mut random = Random(7);
        let mut map = LocalMap::new(0.7, 9, false);
        map.insert(&patch(&mut random, 3000, [0.0; 3])).unwrap();
        map.insert(&patch(&mut random, 3000, [3.0, -1.0, 2.0])).unwrap();
        map.trim([0.0; 3], 3.0).unwrap();
        map.insert(&patch(&mut random, 500, [-3.0, 0.0, 0.0])).unwrap();
        let all = map.all().unwrap();
        assert!(all.len() == map.sizes()[0] && all.len() > 500);
        for voxel in &map.voxels {
            assert!(voxel.count <= 9);
        }
        let mut found = 0;
        for _ in 0..2000 {
            let q = patch(&mut random, 1, [0.0; 3])[0];
            let within = random.between(0.05, 2.0);
            let got = map.nearest(q, within);
            let apart = |p: &[f64; 3]| squared([0, 1, 2].map(|k| (p[k] - q[k]) as f32), [0.0; 3]).sqrt();
            let best = all.iter().map(apart).fold(f32::INFINITY, f32::min);
            match got {
                Some(i) => {
                    assert!((apart(&map.point(i)) - best).abs() < 1e-5);
                    found += 1;
                }
                None => assert!(best > within - 1e-5),
            }
        }
        assert!(found > 500);
        assert_eq!(map.nearest([FARTHEST; 3], 1.0), None);
        assert_eq!(map.nearest([f64::NAN; 3], 1.0), None);
    }

    #[test]
    fn points_that_leave_the_map_are_kept_if_asked_for() {
        let mut random = Random(8);
        let points = patch(&mut random, 2000, [0.0; 3]);
        let run = |keep: bool| {
            let mut map = LocalMap::new(0.7, 9, keep);
            map.insert(&points).unwrap();
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
            grown.insert(part).unwrap();
            let every: Vec<usize> =
                (0..grown.points.len()).filter(|i| grown.voxels[i / 20].count as usize > i % 20).collect();
            grown.refresh_normals(every.into_iter()).unwrap();
        }
        at_once.insert(&parts.concat()).unwrap();
        let every: Vec<usize> =
            (0..at_once.points.len()).filter(|i| at_once.voxels[i / 20].count as usize > i % 20).collect();
        at_once.refresh_normals(every.iter().copied()).unwrap();
        assert_eq!(grown.points, at_once.points);
        assert_eq!(grown.normals, at_once.normals);
        let tilt = (1.01f64).sqrt();
        let straight = every
            .iter()
            .filter(|i| (f64::from(at_once.normals[**i].direction[2].abs()) - 1.0 / tilt).abs() < 0.05)
            .count();
        assert!(straight > every.len() * 8 / 10, "{straight} of {}", every.len());
    }
}
