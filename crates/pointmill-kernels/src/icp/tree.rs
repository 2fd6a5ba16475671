//! A binary tree of boxes over points in order, and the walk through it.
//!
//! A node stands between two neighbouring points, where its points part, and is stored at the index
//! of the first of these; it holds the boxes of both parts. Parts of up to
//! [`LEAF`] points are leaves. [`Build`] makes the tree over Morton codes; one made on the host, of whatever order, looks the same.
//!
//! Source: Apetrei, Fast and Simple Agglomerative LBVH Construction, 2014.

use super::*;
use pointmill_core::icp::nearest::{bound, key, squared_distance};
use pointmill_core::icp::neighbour_set::NeighbourSet;

/// Most points of a leaf.
pub const LEAF: u32 = 8;
/// A child that is a leaf has this bit.
const IS_LEAF: u32 = 1 << 31;
/// Bits of a place and of an index: there are fewer than 2^30 points. Those above them hold the
/// rest.
const PLACE_BITS: u32 = 30;
const PLACE: u32 = (1 << PLACE_BITS) - 1;
/// Nodes that can wait, one for each level of the deepest tree: codes part at 63 bits, and equal
/// codes at the 30 bits of their places, of which the last three are leaves.
const WAITING: u32 = 63 + 27;
/// Words of shared memory that the walks of a block of `threads` take.
pub(crate) const fn waiting_words(threads: u32) -> u32 {
    WAITING * threads
}
/// Unvisited nodes are all ones. No valid word is, because coordinates are never NaN.
const NOBODY: u32 = u32::MAX;
/// Height of the gaps before the first and behind the last point: above all others.
const OUTSIDE: u32 = u32::MAX;

/// One part of a node: the box around it, where it is, and the lowest index of its points, which
/// decides between equally near ones.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Half {
    /// Least coordinates.
    pub low: [f32; 3],
    /// A node; or [`IS_LEAF`], below it the highest bit of the number of points less one, and the
    /// place of the first.
    child: u32,
    /// Largest coordinates.
    pub high: [f32; 3],
    /// The two other bits of that number, and the lowest index.
    lowest: u32,
}

impl Half {
    /// A part that is a node, with a box.
    #[inline(always)]
    pub const fn of_node(low: [f32; 3], high: [f32; 3], node: u32, lowest: u32) -> Self {
        Self { low, child: node, high, lowest }
    }

    /// A part of 1 to [`LEAF`] points, with a box.
    #[inline(always)]
    pub const fn of_leaf(low: [f32; 3], high: [f32; 3], first: u32, count: u32, lowest: u32) -> Self {
        let less = count - 1;
        Self { low, child: IS_LEAF | less >> 2 << PLACE_BITS | first, high, lowest: less << PLACE_BITS | lowest }
    }

    /// The lowest index of its points.
    #[inline(always)]
    pub const fn lowest(&self) -> u32 {
        self.lowest & PLACE
    }

    /// Whether all its points lie at one place.
    #[inline(always)]
    fn is_one_place(&self) -> bool {
        self.low[0] == self.high[0] && self.low[1] == self.high[1] && self.low[2] == self.high[2]
    }
}

/// Both parts.
pub type Node = [Half; 2];

/// A tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// `[n - 1]`, of which some are used.
    pub nodes: *const Node,
    /// Points in order, each with its index in the cloud.
    pub points: *const Place4,
    /// The first node or only leaf.
    pub root: *const Half,
    /// The number of points.
    pub n: u32,
}

impl Tree {
    /// The tree of a cloud, where this is the first of trees side by side with `room` places each.
    /// The number of points is not known.
    #[inline(always)]
    pub(super) const fn of(&self, cloud: usize, room: u32) -> Self {
        let first = cloud * room as usize;
        let nodes = if self.nodes.is_null() { self.nodes } else { self.nodes.wrapping_add(first) };
        Self { nodes, points: self.points.wrapping_add(first), root: self.root.wrapping_add(cloud), n: self.n }
    }
}

/// Arguments of [`Build`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BuildArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Sorted.
    pub codes: *const u64,
    /// Points in the order of their codes.
    pub points: *const Place4,
    /// A node for each place.
    pub nodes: *mut Node,
    /// For each place the part that comes to its node first; all bits set, before and after.
    pub waiting: *mut Half,
    /// For each place the far end of that part, and above it the height of the gap there; all bits
    /// set, before and after.
    pub ends: *mut u64,
    /// Where the first node of each cloud goes.
    pub root: *mut Half,
}

/// How high the gap between points `i` and `i + 1` stands in the tree: by the highest bit in which
/// their codes differ, below those of their places where the codes are equal. The two gaps beside a
/// part are never of one height.
#[inline(always)]
unsafe fn height(codes: *const u64, i: u32) -> u32 {
    // SAFETY: the caller's promise: i + 1 < n.
    let differ = unsafe { *codes.add(i as usize) ^ *codes.add(i as usize + 1) };
    if differ == 0 { u32::BITS - (i ^ (i + 1)).leading_zeros() } else { u32::BITS + u64::BITS - differ.leading_zeros() }
}

#[inline(always)]
unsafe fn store_half(to: *mut Half, half: Half) {
    let (l, h) = (half.low, half.high);
    // SAFETY: the caller's promise that `to` is valid.
    unsafe {
        store_relaxed_x4(to.cast(), [l[0].to_bits(), l[1].to_bits(), l[2].to_bits(), half.child]);
        store_relaxed_x4(to.cast::<u32>().add(4), [h[0].to_bits(), h[1].to_bits(), h[2].to_bits(), half.lowest]);
    }
}

/// The words of a part that another block may be writing.
#[inline(always)]
unsafe fn load_words(from: *const Half) -> [[u32; 4]; 2] {
    // SAFETY: the caller's promise that `from` is valid.
    unsafe { [load_relaxed_x4(from.cast()), load_relaxed_x4(from.cast::<u32>().add(4))] }
}

/// The part that came to a node first, which it leaves empty for the next launch. `words` are what
/// was read there.
///
/// Each word of a part differs from an empty one, so that the words themselves say when they are
/// there, and no fence is needed.
#[inline(always)]
unsafe fn take_half(from: *mut Half, mut words: [[u32; 4]; 2]) -> Half {
    let mut tries = 0;
    loop {
        let [l, h] = words;
        let mut there = true;
        for k in 0..4 {
            there &= l[k] != NOBODY && h[k] != NOBODY;
        }
        if there {
            break;
        }
        back_off(tries);
        tries += 1;
        // SAFETY: the caller's promise that `from` is valid.
        words = unsafe { load_words(from) };
    }
    let [l, h] = words;
    // SAFETY: as above; nobody else comes to the node.
    unsafe {
        store_relaxed_x4(from.cast(), [NOBODY; 4]);
        store_relaxed_x4(from.cast::<u32>().add(4), [NOBODY; 4]);
    }
    Half {
        low: [f32::from_bits(l[0]), f32::from_bits(l[1]), f32::from_bits(l[2])],
        child: l[3],
        high: [f32::from_bits(h[0]), f32::from_bits(h[1]), f32::from_bits(h[2])],
        lowest: h[3],
    }
}

kernel! {
    /// Makes the tree over sorted codes, from the points up. One thread a point: of two that meet
    /// at a node, the second goes on with both.
    Build = "icp_build", block BLOCK, shared 0, cooperative false,
    fn(a: BuildArgs) {
        let share = a.clouds.share(BLOCK);
        let (i, n) = (share.index(), share.n());
        if i >= n {
            return;
        }
        let codes = a.codes.add(share.first);
        let (p, index) = load4(a.points.add(share.first + i as usize));
        let mut part = Half::of_leaf(p, p, i, 1, index);
        // The first and the last point of the part, and the gaps before and behind it.
        let (mut first, mut last) = (i, i);
        let mut before = if i == 0 { OUTSIDE } else { height(codes, i - 1) };
        let mut behind = if i == n - 1 { OUTSIDE } else { height(codes, i) };
        while before != behind {
            // The part beyond the lower gap is the other one of the node.
            let is_left = behind < before;
            let (node, end, gap) = if is_left { (last, first, before) } else { (first - 1, last, behind) };
            let at = share.first + node as usize;
            // Both are under way at once. What the other part left is mostly there by now.
            let words = load_words(a.waiting.add(at));
            let other_end = compare_and_swap_u64(a.ends.add(at), u64::MAX, (gap as u64) << 32 | end as u64);
            if other_end == u64::MAX {
                store_half(a.waiting.add(at), part);
                return;
            }
            let other = take_half(a.waiting.add(at), words);
            store_relaxed(a.ends.add(at).cast(), NOBODY);
            store_relaxed(a.ends.add(at).cast::<u32>().add(1), NOBODY);
            if is_left {
                (last, behind) = (other_end as u32, (other_end >> 32) as u32);
            } else {
                (first, before) = (other_end as u32, (other_end >> 32) as u32);
            }
            let (mut low, mut high) = (part.low, part.high);
            for k in 0..3 {
                low[k] = if other.low[k] < low[k] { other.low[k] } else { low[k] };
                high[k] = if other.high[k] > high[k] { other.high[k] } else { high[k] };
            }
            let lowest = if other.lowest() < part.lowest() { other.lowest() } else { part.lowest() };
            let count = last - first + 1;
            if count <= LEAF {
                part = Half::of_leaf(low, high, first, count, lowest);
            } else {
                // Nodes within a leaf are never looked at.
                let halves = a.nodes.add(at).cast::<Half>();
                store_half(halves, if is_left { part } else { other });
                store_half(halves.add(1), if is_left { other } else { part });
                part = Half::of_node(low, high, node, lowest);
            }
        }
        store_half(a.root.add(share.cloud), part);
    }
}

#[inline(always)]
fn bound_of(q: [f32; 3], half: &Half) -> f32 {
    bound(q, half.low, half.high)
}

/// Shows `keep` every point that may count for it, near ones first. `waiting` has [`waiting_words`]
/// words.
///
/// # Safety
/// The tree is valid and has a point.
#[inline(always)]
pub(crate) unsafe fn walk(tree: &Tree, q: [f32; 3], keep: &mut impl NeighbourSet, waiting: Shared) {
    if !(q[0].is_finite() && q[1].is_finite() && q[2].is_finite()) {
        return;
    }
    let mut depth = 0;
    // SAFETY: children are nodes or leaves of the tree, as the caller promised.
    unsafe {
        // Of a part only these words are kept: where it is, and how many points it has.
        let (mut at, mut rest) = ((*tree.root).child, (*tree.root).lowest);
        loop {
            if at & IS_LEAF == 0 {
                note_looks(2);
                let (a, b) = ((*tree.nodes.add(at as usize))[0], (*tree.nodes.add(at as usize))[1]);
                let (to_a, to_b) = (bound_of(q, &a), bound_of(q, &b));
                // Of equally near parts the one with the lowest index comes first.
                let second = (to_b < to_a) | ((to_b == to_a) & (b.lowest() < a.lowest()));
                let (near, far) = if second { (to_b, to_a) } else { (to_a, to_b) };
                let reach = keep.max_distance();
                // Indices are looked at when a part that waits gets its turn: doing so here too
                // made passes a quarter slower on an H200, and copies wait once a level.
                if far <= reach {
                    waiting.set(depth * block_size() + thread_index(), at << 1 | if second { 0 } else { 1 });
                    depth += 1;
                } else {
                    keep.prune(far);
                }
                if near <= reach {
                    (at, rest) = if second { (b.child, b.lowest) } else { (a.child, a.lowest) };
                    continue;
                }
                keep.prune(near);
            } else {
                note_looks(LEAF);
                let count = (at >> PLACE_BITS & 1) << 2 | rest >> PLACE_BITS;
                leaf(tree, at & PLACE, count + 1, q, keep);
            }
            loop {
                if depth == 0 {
                    return;
                }
                depth -= 1;
                let entry = waiting.get(depth * block_size() + thread_index());
                let half = (*tree.nodes.add((entry >> 1) as usize))[(entry & 1) as usize];
                // What counts may be less than it was.
                if keep.should_visit(bound_of(q, &half), half.lowest(), || half.is_one_place()) {
                    (at, rest) = (half.child, half.lowest);
                    break;
                }
            }
        }
    }
}

/// Shows `keep` the points of a leaf.
#[inline(always)]
unsafe fn leaf(tree: &Tree, first: u32, count: u32, q: [f32; 3], keep: &mut impl NeighbourSet) {
    let mut squares = [f32::INFINITY; LEAF as usize];
    let mut indices = [u32::MAX; LEAF as usize];
    let mut least = f32::INFINITY;
    // All reads first, so that they are in flight together; what is beyond the leaf is its last
    // point once more, and not shown.
    for k in 0..LEAF {
        let at = first + if k < count { k } else { count - 1 };
        // SAFETY: the caller's promise: a leaf has a point.
        let (p, index) = unsafe { load4(tree.points.add(at as usize)) };
        squares[k as usize] = squared_distance(q, p);
        indices[k as usize] = index;
        least = if squares[k as usize] < least { squares[k as usize] } else { least };
    }
    if least > keep.max_distance() {
        keep.prune(least);
        return;
    }
    for k in 0..LEAF {
        if k < count {
            keep.insert(key(squares[k as usize], indices[k as usize]));
        }
    }
}

/// Shows `keep` all points.
#[inline(always)]
pub(super) unsafe fn all(tree: &Tree, q: [f32; 3], keep: &mut impl NeighbourSet) {
    let mut i = 0;
    while i < tree.n {
        // SAFETY: the caller's promise: i < n.
        let (p, index) = unsafe { load4(tree.points.add(i as usize)) };
        keep.insert(key(squared_distance(q, p), index));
        i += 1;
    }
}
