//! The edges of a polygon by y, so that few of many are looked at for a point.

use super::Edge;
use std::cmp::Ordering;

/// Fewer edges are looked at one by one.
const FEW: usize = 16;

/// The edges in a tree over y: an edge is with the largest spans of y between corners that it
/// crosses whole. In a span no edges meet, so that they have an order from left to right.
#[derive(Clone, PartialEq)]
pub(super) struct Slabs {
    /// The y of the corners, ascending.
    ys: Vec<f64>,
    /// The edges, and which each span has: node `n` has the halves `2 n` and `2 n + 1`, and the first
    /// is 1.
    edges: Vec<Edge>,
    nodes: Vec<Vec<u16>>,
    /// Spans of two neighbours in `ys`: the last nodes are these.
    leaves: usize,
}

impl Slabs {
    /// `None` of few edges. Each edge goes up.
    pub(super) fn new(edges: impl ExactSizeIterator<Item = Edge>) -> Option<Self> {
        if edges.len() < FEW {
            return None;
        }
        let edges: Vec<_> = edges.filter(|[low, high]| low[1] < high[1]).collect();
        let mut ys: Vec<_> = edges.iter().flat_map(|edge| edge.map(|corner| corner[1])).collect();
        ys.sort_unstable_by(f64::total_cmp);
        ys.dedup();
        let leaves = ys.len().next_power_of_two();
        let mut slabs = Self { nodes: vec![vec![]; 2 * leaves], ys, leaves, edges: vec![] };
        for (i, edge) in (0..).zip(&edges) {
            let [mut from, mut to] = edge.map(|corner| leaves + slabs.ys.partition_point(|y| *y < corner[1]));
            while from < to {
                if from % 2 == 1 {
                    slabs.nodes[from].push(i);
                    from += 1;
                }
                if to % 2 == 1 {
                    to -= 1;
                    slabs.nodes[to].push(i);
                }
                (from, to) = (from / 2, to / 2);
            }
        }
        for node in 1..2 * leaves {
            let span = slabs.span(node);
            let middle = span[0] / 2.0 + span[1] / 2.0;
            let x = |[low, high]: &Edge| low[0] + (middle - low[1]) * ((high[0] - low[0]) / (high[1] - low[1]));
            let x = |i: &u16| x(&edges[usize::from(*i)]);
            slabs.nodes[node].sort_by(|a, b| x(a).total_cmp(&x(b)));
        }
        Some(Self { edges, ..slabs })
    }

    /// The y between which a node is.
    fn span(&self, node: usize) -> [f64; 2] {
        let width = self.leaves >> node.ilog2();
        let first = (node - (1 << node.ilog2())) * width;
        [first, first + width].map(|i| self.ys[i.min(self.ys.len() - 1)])
    }

    /// How many edges a ray from a point towards larger x crosses.
    pub(super) fn crossed(&self, p: [f64; 2]) -> usize {
        let Some(leaf) = self.ys.partition_point(|y| *y <= p[1]).checked_sub(1) else { return 0 };
        let mut node = self.leaves + leaf;
        let mut crossed = 0;
        while node > 0 {
            let (edges, edge) = (&self.nodes[node], |i: &u16| &self.edges[usize::from(*i)]);
            node /= 2;
            if edges.is_empty() {
                continue;
            }
            // What is surely left of the point, what may be, and what is surely right of it.
            let near = edges.partition_point(|i| place(edge(i), p) == Some(Ordering::Less));
            let right = near + edges[near..].iter().take_while(|i| place(edge(i), p).is_none()).count();
            crossed += edges[near..right].iter().filter(|i| is_right(edge(i), p)).count() + edges.len() - right;
        }
        crossed
    }
}

/// Whether an edge is right of a point that is between its ends in y.
pub(super) fn is_right([low, high]: &Edge, [x, y]: [f64; 2]) -> bool {
    (x - low[0]) * (high[1] - low[1]) < (y - low[1]) * (high[0] - low[0])
}

/// Where an edge is of a point, if rounding cannot decide it.
fn place([low, high]: &Edge, [x, y]: [f64; 2]) -> Option<Ordering> {
    let (a, b) = ((x - low[0]) * (high[1] - low[1]), (y - low[1]) * (high[0] - low[0]));
    // Differences and products are rounded by 2^-53 each. Far more is taken, for the order of edges
    // that all but touch; and of numbers next to zero nothing is sure.
    let largest = x.abs().max(low[0].abs()).max(high[0].abs()) * (high[1] - low[1]);
    let unsure = 64.0 * f64::EPSILON * (a.abs() + b.abs() + largest) + f64::MIN_POSITIVE;
    if (a - b).abs() <= unsure { None } else { b.partial_cmp(&a) }
}
