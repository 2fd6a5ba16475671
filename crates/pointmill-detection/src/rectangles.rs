//! Which rectangles meet others, without a look at all pairs.

use crate::memory::{Result, collect, filled};

/// Left, low, right, high.
pub(crate) type Rectangle = [f64; 4];

/// The axis along which rectangles spread the most: it parts them best.
pub(crate) fn axis(of: &[Rectangle]) -> usize {
    let spread = |axis: usize| {
        let [least, most] = of.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], rectangle| {
            [least.min(rectangle[axis]), most.max(rectangle[axis])]
        });
        most - least
    };
    usize::from(spread(1) > spread(0))
}

/// Rectangles in a tree over their intervals along an axis.
pub(crate) struct Rectangles<'a> {
    of: &'a [Rectangle],
    axis: usize,
    /// The rectangles in the order of where their intervals begin.
    order: Vec<u32>,
    /// The farthest end of the intervals of each node of a binary tree over that order; the children
    /// of node `i` are `2 i` and `2 i + 1`, the root is 1.
    ends: Vec<f64>,
    leaves: usize,
}

impl<'a> Rectangles<'a> {
    pub(crate) fn new(of: &'a [Rectangle]) -> Result<Self> {
        let axis = axis(of);
        let mut order = collect(0..of.len() as u32)?;
        let begin = |at: u32| of[at as usize][axis];
        order.sort_unstable_by(|&a, &b| begin(a).total_cmp(&begin(b)).then(a.cmp(&b)));
        let leaves = of.len().next_power_of_two();
        let mut ends = filled(f64::NEG_INFINITY, 2 * leaves)?;
        for (at, &row) in order.iter().enumerate() {
            ends[leaves + at] = of[row as usize][axis + 2];
        }
        for node in (1..leaves).rev() {
            ends[node] = ends[2 * node].max(ends[2 * node + 1]);
        }
        Ok(Self { of, axis, order, ends, leaves })
    }

    /// Calls `meet` with each rectangle that meets another one, in no order.
    pub(crate) fn meeting(&self, other: &Rectangle, meet: &mut impl FnMut(usize) -> Result<()>) -> Result<()> {
        let begin = |at: &u32| self.of[*at as usize][self.axis];
        let before = self.order.partition_point(|at| begin(at) <= other[self.axis + 2]);
        if before > 0 { self.look(1, [0, self.leaves], before, other, meet) } else { Ok(()) }
    }

    /// Looks at the places of a node, of which those below `before` begin early enough.
    fn look(
        &self,
        node: usize,
        [first, end]: [usize; 2],
        before: usize,
        other: &Rectangle,
        meet: &mut impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        if first >= before || self.ends[node] < other[self.axis] {
            return Ok(());
        }
        if end - first > 1 {
            let middle = first.midpoint(end);
            self.look(2 * node, [first, middle], before, other, meet)?;
            return self.look(2 * node + 1, [middle, end], before, other, meet);
        }
        let at = self.order[first] as usize;
        let across = 1 - self.axis;
        let apart = self.of[at][across] > other[across + 2] || self.of[at][across + 2] < other[across];
        if apart { Ok(()) } else { meet(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_meet_are_found_and_no_others() {
        let number = |i: usize, k: usize| ((i * 7919 + k * 104_729 + i * i * 31) % 1000) as f64;
        for count in [0, 1, 2, 5, 64, 65, 300] {
            let rectangle = |i: usize| {
                let [x, y] = [number(i, 1), number(i, 2)];
                // One is as long as all others together.
                let long = if i == 3 { 2000.0 } else { 0.0 };
                [x - long, y, x + number(i, 3) / 20.0 + long, y + number(i, 4) / 20.0]
            };
            let of: Vec<_> = (0..count).map(rectangle).collect();
            let tree = Rectangles::new(&of).unwrap();
            for other in (0..50).map(|i| rectangle(i + 1000)) {
                let mut found = vec![];
                let mut meet = |at| {
                    found.push(at);
                    Ok(())
                };
                tree.meeting(&other, &mut meet).unwrap();
                found.sort_unstable();
                let meets = |at: &usize| (0..2).all(|k| of[*at][k] <= other[k + 2] && of[*at][k + 2] >= other[k]);
                assert_eq!(found, (0..count).filter(meets).collect::<Vec<_>>());
            }
        }
    }
}
