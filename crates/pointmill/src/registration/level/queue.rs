//! What is not looked at yet, the best first.

use crate::{Result, memory};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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

/// A heap whose memory is asked for.
#[derive(Debug, Default)]
pub(super) struct Queue(BinaryHeap<Node>);

impl Queue {
    pub(super) fn new(nodes: Vec<Node>) -> Self {
        Self(nodes.into())
    }

    pub(super) fn peek(&self) -> Option<&Node> {
        self.0.peek()
    }

    pub(super) fn pop(&mut self) -> Option<Node> {
        self.0.pop()
    }

    pub(super) fn push(&mut self, node: Node) -> Result<()> {
        if self.0.len() == self.0.capacity() {
            let mut nodes = std::mem::take(&mut self.0).into_vec();
            let room = 2 * nodes.len() + 64;
            memory::room(&mut nodes, room)?;
            // These are in the order of a heap, so that this moves none.
            self.0 = nodes.into();
        }
        self.0.push(node);
        Ok(())
    }
}
