//! Every point is looked at: what the trees are tested against.

use super::tree::{Entry, Looks};
use crate::{Result, memory};
use pointmill_core::icp::nearest::{key, squared_distance};

/// Points that are looked at together.
const LANES: usize = 16;

/// Points axis by axis, in groups; those that are not there lie at infinity.
#[derive(Clone, Debug, Default)]
pub(in crate::icp) struct Brute {
    groups: Vec<[[f32; LANES]; 3]>,
    /// The index of each.
    index: Vec<[u32; LANES]>,
}

impl Brute {
    pub(super) fn new(entries: &[Entry]) -> Result<Self> {
        let mut brute = Self::default();
        let groups = entries.len().div_ceil(LANES);
        memory::room(&mut brute.groups, groups)?;
        memory::room(&mut brute.index, groups)?;
        for part in entries.chunks(LANES) {
            let mut group = [[f32::INFINITY; LANES]; 3];
            let mut index = [u32::MAX; LANES];
            for (lane, entry) in part.iter().enumerate() {
                index[lane] = entry.index;
                (0..3).for_each(|axis| group[axis][lane] = entry.point[axis]);
            }
            brute.groups.push(group);
            brute.index.push(index);
        }
        Ok(brute)
    }

    /// Shows `keep` every group that has a point within its reach.
    pub(super) fn walk(&self, q: [f32; 3], keep: &mut impl Looks) {
        if !q.iter().all(|x| x.is_finite()) {
            return;
        }
        for (group, index) in self.groups.iter().zip(&self.index) {
            keep.points(LANES);
            let squares: [f32; LANES] =
                std::array::from_fn(|i| squared_distance(q, [group[0][i], group[1][i], group[2][i]]));
            let least = squares.iter().fold(f32::INFINITY, |least, d| if *d < least { *d } else { least });
            if least > keep.max_distance() {
                keep.prune(least);
                continue;
            }
            for i in 0..LANES {
                keep.insert(key(squares[i], index[i]));
            }
        }
    }

    pub(super) fn entries(&self, group: usize) -> impl Iterator<Item = Entry> + '_ {
        let (points, index) = (&self.groups[group], &self.index[group]);
        let entry = |lane: usize| Entry { point: [0, 1, 2].map(|a| points[a][lane]), index: index[lane] };
        (0..LANES).map(entry).filter(|e| e.index != u32::MAX)
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }
}
