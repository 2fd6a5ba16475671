//! Where the boxes are that were kept, so that a candidate meets few of them.

use crate::{Result, memory, par};
use pointmill_core::boxes::{MAX_EXTENT, near};
use std::ops::Range;

/// Candidates of a leaf.
const LEAF: usize = 8;
/// The row of a candidate that is not kept.
const NONE: u32 = u32::MAX;
/// The box around nothing.
const NOTHING: [f64; 4] = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];

/// A binary tree over all candidates, by class and then along a curve through the plane. Of those that
/// are kept it has the row, and each node the box around their circles.
#[derive(Debug)]
pub(super) struct Tree {
    /// Node 1 is the root, 2 i and 2 i + 1 are below node i; the leaves are the second half.
    around: Vec<[f64; 4]>,
    /// The row and the circle of each candidate that is kept.
    kept: Vec<(u32, [f64; 3])>,
    /// The place of each candidate.
    places: Vec<u32>,
    /// The classes, ascending, each with its first place.
    classes: Vec<(i32, usize)>,
}

impl Tree {
    /// Of candidates with a class and a circle each, of which none is kept.
    pub(super) fn new(len: usize, of: impl Fn(usize) -> (i32, [f64; 3])) -> Result<Self> {
        let key = |i: usize| {
            let (class, [x, y, _]) = of(i);
            (class, curve(x, y), i as u32)
        };
        let mut keys = memory::collect((0..len).map(key))?;
        par::sort_unstable_by(&mut keys, Ord::cmp);
        let mut places = memory::filled(len, 0)?;
        let mut classes: Vec<(i32, usize)> = Vec::new();
        for (place, &(class, _, i)) in keys.iter().enumerate() {
            places[i as usize] = place as u32;
            if classes.last().is_none_or(|last| last.0 != class) {
                memory::push(&mut classes, (class, place))?;
            }
        }
        let leaves = len.div_ceil(LEAF).next_power_of_two();
        let (around, kept) = (memory::filled(2 * leaves, NOTHING)?, memory::filled(len, (NONE, [0.0; 3]))?);
        Ok(Self { around, kept, places, classes })
    }

    /// Keeps a candidate, which is this row.
    pub(super) fn keep(&mut self, candidate: usize, row: u32, circle: [f64; 3]) {
        let place = self.places[candidate] as usize;
        self.kept[place] = (row, circle);
        let [x0, y0, x1, y1] = around(circle);
        let mut node = self.around.len() / 2 + place / LEAF;
        while node > 0 {
            let of = &mut self.around[node];
            *of = [of[0].min(x0), of[1].min(y0), of[2].max(x1), of[3].max(y1)];
            node /= 2;
        }
    }

    /// Calls `look` with the row of each kept one of a class whose circle meets this one, until it says
    /// no; whether it never did.
    pub(super) fn each_near(&self, class: i32, circle: [f64; 3], mut look: impl FnMut(u32) -> bool) -> bool {
        let wanted = self.places_of(class);
        let [x0, y0, x1, y1] = around(circle);
        let leaves = self.around.len() / 2;
        // A path down leaves at most one node beside it a level.
        let (mut open, mut left) = ([0usize; usize::BITS as usize], 0);
        let mut next = Some(1);
        while let Some(node) = next {
            let of = &self.around[node];
            let meets = (of[0] <= x1) & (of[2] >= x0) & (of[1] <= y1) & (of[3] >= y0);
            // The places below a node.
            let below = leaves >> node.ilog2();
            let first = (node * below - leaves) * LEAF;
            let places = first.max(wanted.start)..(first + below * LEAF).min(wanted.end);
            next = None;
            if meets && !places.is_empty() {
                if node < leaves {
                    (open[left], left) = (2 * node + 1, left + 1);
                    next = Some(2 * node);
                } else {
                    for &(row, other) in &self.kept[places] {
                        if row != NONE && near(circle, other) && !look(row) {
                            return false;
                        }
                    }
                }
            }
            if next.is_none() && left > 0 {
                left -= 1;
                next = Some(open[left]);
            }
        }
        true
    }

    /// The places of a class.
    fn places_of(&self, class: i32) -> Range<usize> {
        let at = self.classes.partition_point(|of| of.0 < class);
        let end = self.classes.get(at + 1).map_or(self.kept.len(), |of| of.1);
        self.classes.get(at).map_or(0..0, |of| of.1..end)
    }
}

/// The box around a circle, larger by more than what is rounded.
fn around([x, y, radius]: [f64; 3]) -> [f64; 4] {
    let reach = radius * (1.0 + 1e-9) + 1e-6;
    [x - reach, y - reach, x + reach, y + reach]
}

/// The place of a point along a curve that keeps neighbours together.
fn curve(x: f64, y: f64) -> u64 {
    let spread = |value: f64| {
        let part = ((value + MAX_EXTENT) / (2.0 * MAX_EXTENT)).clamp(0.0, 1.0);
        let mut bits = (part * f64::from(u32::MAX)) as u64;
        for (by, mask) in [
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ] {
            bits = (bits | bits << by) & mask;
        }
        bits
    };
    spread(x) | spread(y) << 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn what_is_near_equals_a_look_at_all() {
        for (len, extent, radius) in [(1, 5.0, 2.0), (7, 1e7, 1e6), (3000, 80.0, 3.0), (2000, 0.0, 1.0)] {
            let mut random = Random(len as u64);
            let mut circle = || {
                let [x, y] = [0, 1].map(|_| f64::from(random.between(-extent, extent)));
                [x, y, f64::from(random.between(0.0, radius))]
            };
            let circles: Vec<_> = (0..len).map(|_| circle()).collect();
            let class = |i: usize| i as i32 % 3 - 1;
            let mut tree = Tree::new(len, |i| (class(i), circles[i])).unwrap();
            let is_kept = |i: usize| i % 4 != 1;
            (0..len).filter(|&i| is_kept(i)).for_each(|i| tree.keep(i, i as u32, circles[i]));
            for i in 0..len.min(200) {
                let mut found = Vec::new();
                assert!(tree.each_near(class(i), circles[i], |row| {
                    found.push(row as usize);
                    true
                }));
                found.sort_unstable();
                let all = (0..len).filter(|&j| is_kept(j) && class(j) == class(i) && near(circles[i], circles[j]));
                assert_eq!(found, all.collect::<Vec<_>>(), "{len}, {i}");
                assert_eq!(tree.each_near(class(i), circles[i], |_| false), found.is_empty());
            }
            assert!(tree.each_near(7, circles[0], |_| false));
        }
    }
}
