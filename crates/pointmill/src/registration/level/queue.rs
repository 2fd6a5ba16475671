//! What is not looked at yet, the best first.

use super::field::WIDE;
use crate::{Result, memory};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Blocks that are opened at a time; of a fixed number the same are opened by any number of threads.
pub(super) const AT_ONCE: usize = 64;

/// The scores of the 8 x 8 places of a block, rows of y; or the bounds of as many blocks.
pub(super) type Sums = [u16; WIDE];

/// A place, or the places of a block or of a wide block at one yaw and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The score, or the bound of the scores.
    pub(super) score: u16,
    /// 0 of a place, 1 of a block, 2 of a wide block.
    pub(super) level: u8,
    pub(super) yaw: u32,
    /// The first place along y and x.
    pub(super) y: u32,
    pub(super) x: u32,
    /// In steps.
    pub(super) height: i32,
}

impl Node {
    /// By score; of equal ones what has to be opened, and then by index, the first greatest.
    fn key(&self) -> impl Ord + use<> {
        (self.score, self.level, Reverse((self.yaw, self.y, self.x, self.height)))
    }
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Nodes, and of some the sums of what is in them.
#[derive(Debug)]
pub(super) struct Queue {
    nodes: Parts,
    /// Those with sums, and where these are.
    known: Heap<(Node, usize)>,
    sums: Vec<Sums>,
    /// Where sums are that nobody needs.
    free: Vec<usize>,
}

impl Queue {
    pub(super) fn new(nodes: Vec<Node>) -> Result<Self> {
        let rest = memory::collect((0..PARTS).map(|_| Vec::new()))?;
        let mut parts = Parts { best: Heap::default(), part: 0, rest };
        nodes.into_iter().try_for_each(|node| parts.push(node))?;
        Ok(Self { nodes: parts, known: Heap::default(), sums: Vec::new(), free: Vec::new() })
    }

    pub(super) fn peek(&self) -> Option<&Node> {
        self.nodes.best.0.peek().max(self.known.0.peek().map(|(node, _)| node))
    }

    /// The best node, and its sums where they are known.
    pub(super) fn pop(&mut self) -> Result<Option<(Node, Option<Sums>)>> {
        if self.nodes.best.0.peek() > self.known.0.peek().map(|(node, _)| node) {
            return Ok(self.nodes.pop().map(|node| (node, None)));
        }
        let Some((node, at)) = self.known.0.pop() else { return Ok(None) };
        memory::push(&mut self.free, at)?;
        Ok(Some((node, Some(self.sums[at]))))
    }

    /// Takes the best of the nodes without sums, at most so many.
    pub(super) fn without_sums(&mut self, most: usize) -> impl Iterator<Item = Node> {
        std::iter::from_fn(|| self.nodes.pop()).take(most)
    }

    pub(super) fn push(&mut self, node: Node) -> Result<()> {
        self.nodes.push(node)
    }

    pub(super) fn push_with(&mut self, node: Node, sums: Sums) -> Result<()> {
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                memory::push(&mut self.sums, sums)?;
                self.sums.len() - 1
            }
        };
        self.sums[at] = sums;
        self.known.push((node, at))
    }
}

/// Nodes by score: a heap of the best, and below it nodes in no order. Most are never the best.
#[derive(Debug)]
struct Parts {
    best: Heap<Node>,
    /// The part of the best; those above it are empty.
    part: usize,
    rest: Vec<Vec<Node>>,
}

/// Scores of a part.
const OF_PART: usize = 64;
const PARTS: usize = (u16::MAX as usize + 1) / OF_PART;

impl Parts {
    fn push(&mut self, node: Node) -> Result<()> {
        let part = usize::from(node.score) / OF_PART;
        if part < self.part {
            return memory::push(&mut self.rest[part], node);
        }
        if part > self.part {
            self.rest[self.part] = std::mem::take(&mut self.best.0).into_vec();
            self.part = part;
        }
        self.best.push(node)
    }

    fn pop(&mut self) -> Option<Node> {
        let node = self.best.0.pop();
        while self.best.0.is_empty() && self.part > 0 {
            self.part -= 1;
            self.best.0 = std::mem::take(&mut self.rest[self.part]).into();
        }
        node
    }
}

/// A heap whose memory is asked for.
#[derive(Debug)]
struct Heap<T>(BinaryHeap<T>);

impl<T: Ord> Default for Heap<T> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<T: Ord> Heap<T> {
    fn push(&mut self, value: T) -> Result<()> {
        if self.0.len() == self.0.capacity() {
            let mut values = std::mem::take(&mut self.0).into_vec();
            let room = 2 * values.len() + 64;
            memory::room(&mut values, room)?;
            // These are in the order of a heap, so that this moves none.
            self.0 = values.into();
        }
        self.0.push(value);
        Ok(())
    }
}
