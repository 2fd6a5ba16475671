//! A kd-tree as kernels walk it, made on the host.

use super::super::search::{Entry, middle, order};
use super::cloud::place;
use crate::device::on_threads;
use crate::{Result, memory};
use pointmill_kernels::icp::{Half, IS_LEAF, LEAF, Node, Place4};

/// What is made.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) nodes: Vec<Node>,
    pub(super) points: Vec<Place4>,
    pub(super) root: Half,
}

/// The tree over points, at least one, each with its index.
pub(super) fn build(places: &[Place4]) -> Result<Made> {
    let entry = |p: &Place4| Entry { point: [p[0], p[1], p[2]], index: p[3].to_bits() };
    let mut entries = memory::collect(places.iter().map(entry))?;
    on_threads(|| order(&mut entries));
    let points = memory::collect(entries.iter().map(|e| place(e.point, e.index)))?;
    let mut made = Made { points, ..Made::default() };
    made.root = made.part(&entries, 0)?;
    Ok(made)
}

impl Made {
    /// The part of entries that start at a place, with its box.
    fn part(&mut self, entries: &[Entry], first: u32) -> Result<Half> {
        if entries.len() <= LEAF as usize {
            let mut half = Half {
                low: [f32::INFINITY; 3],
                high: [f32::NEG_INFINITY; 3],
                child: IS_LEAF | first,
                count: entries.len() as u32,
            };
            for entry in entries {
                widen(&mut half, entry.point, entry.point);
            }
            return Ok(half);
        }
        let node = self.nodes.len();
        memory::push(&mut self.nodes, Node::default())?;
        let (left, right) = entries.split_at(middle(entries.len()));
        let both = [self.part(left, first)?, self.part(right, first + left.len() as u32)?];
        self.nodes[node] = both;
        let mut half = Half { child: node as u32, count: entries.len() as u32, ..both[0] };
        widen(&mut half, both[1].low, both[1].high);
        Ok(half)
    }
}

fn widen(half: &mut Half, low: [f32; 3], high: [f32; 3]) {
    for axis in 0..3 {
        half.low[axis] = half.low[axis].min(low[axis]);
        half.high[axis] = half.high[axis].max(high[axis]);
    }
}
