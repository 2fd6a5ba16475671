//! Trees of boxes on the device.

use super::cloud::Cloud;
use super::kdtree;
use crate::Result;
use crate::device::{Buffer, Stream, workspace};
use crate::icp::params::Search;
use crate::prim::{Pairs, Sorter, passes_for};
use pointmill_core::icp::nearest::FARTHEST;
use pointmill_kernels::icp::{self as kernels, Half, Node, Place4};
use pointmill_kernels::prim::sum::TREE;
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::{null, null_mut};

/// Passes of a sort of codes: 63 bits, 8 a pass.
const PASSES: u32 = 8;

workspace! {
    /// Points along the Morton curve, of each cloud by itself.
    pub(super) struct Curve(stream) {
        stream: Stream,
        codes: Buffer<u64>,
        pub(super) order: Buffer<u32>,
        /// Whether points of one code are to be put in order.
        mixed: Buffer<u32> = stream.alloc(1)?,
        sorter: Sorter<u64>,
        /// Brings the codes of several clouds back to their clouds.
        by_cloud: Sorter<u32>,
        owners: Buffer<u32>,
        pub(super) points: Buffer<Place4>,
    }
}

impl Curve {
    /// Sorts the points of clouds, of which one has a place. The host need not know the numbers of
    /// points yet.
    pub(super) fn sort(&mut self, cloud: &Cloud) -> Result<()> {
        // Places without a point are sorted too, unless they are those at the end.
        let filled = cloud.filled();
        let n = filled.bound;
        self.codes.reserve(cloud.places())?;
        self.order.reserve(n as usize)?;
        self.points.reserve(cloud.places())?;
        self.sorter.reserve(n, PASSES)?;
        let (codes, order) = (self.codes.pointer(), self.order.pointer());
        let input = Pairs { keys: codes, values: null_mut() };
        let codes = |order: *const u32| kernels::CodesArgs {
            clouds: cloud.clouds(),
            points: cloud.points.pointer(),
            order,
            codes,
            mixed: self.mixed.pointer(),
        };
        // SAFETY: room was made for n points, and the number of passes is even.
        unsafe {
            self.stream.launch::<kernels::Codes>(cloud.blocks(BLOCK), codes(null()))?;
            let sorted = Pairs { keys: input.keys, values: order };
            self.sorter.enqueue(input, sorted, filled, PASSES)?;
        }
        if cloud.number() > 1 {
            // All codes are in one order now. A stable sort by cloud brings each cloud's together,
            // and its places without a point to their end.
            let passes = passes_for(cloud.number() as u64 - 1).next_multiple_of(2);
            self.by_cloud.reserve(n, passes)?;
            self.owners.reserve(n as usize)?;
            let owners = self.owners.pointer();
            let args = kernels::OwnersArgs { order, n, room: cloud.clouds().room, owners };
            let pairs = Pairs { keys: owners, values: order };
            // SAFETY: as above; the order holds places of the clouds.
            unsafe {
                self.stream.launch::<kernels::Owners>(n.div_ceil(BLOCK), args)?;
                self.by_cloud.enqueue(pairs, pairs, Length::known(n), passes)?;
                self.stream.launch::<kernels::Codes>(cloud.blocks(BLOCK), codes(order))?;
            }
        }
        self.gather(cloud)
    }

    /// Puts the points of the clouds that were sorted in the order of their codes, of one code in
    /// that of their indices.
    pub(super) fn gather(&self, cloud: &Cloud) -> Result<()> {
        let args = kernels::GatherArgs {
            clouds: cloud.clouds(),
            points: cloud.points.pointer(),
            order: self.order.pointer(),
            sorted: self.points.pointer(),
            codes: self.codes.pointer(),
            mixed: self.mixed.pointer(),
        };
        // SAFETY: room was made for all points.
        unsafe { self.stream.launch::<kernels::Gather>(cloud.blocks(BLOCK), args) }
    }
}

workspace! {
    /// Points made ready for searches.
    pub(super) struct Tree(stream) {
        pub(super) curve: Curve,
        nodes: Buffer<Node>,
        /// Parts that wait for the other one of their node, and their ends: empty between calls, if
        /// they are clean.
        waiting: Buffer<Half>,
        ends: Buffer<u64>,
        clean: bool = true,
        root: Buffer<Half> = stream.alloc(1)?,
        /// Points of a tree that was made on the host.
        uploaded: Buffer<Place4>,
        search: Search = Search::Brute,
    }
}

impl Tree {
    /// Makes clouds ready, of which one has a point, or for a tree along the curve a place and
    /// which then are sorted; of several clouds trees along the curve alone. Its points along the
    /// curve may then have another order.
    pub(super) fn build(&mut self, cloud: &Cloud, search: Search) -> Result<()> {
        self.search = search;
        match search {
            Search::Brute => Ok(()),
            Search::KdTree => self.upload(cloud),
            _ => self.build_along_curve(cloud),
        }
    }

    fn build_along_curve(&mut self, cloud: &Cloud) -> Result<()> {
        // There is a pointer even where the only leaf has no node.
        self.nodes.reserve(cloud.places())?;
        self.root.reserve(cloud.number())?;
        self.empty(cloud.places())?;
        let (clouds, blocks, stream) = (cloud.clouds(), cloud.blocks(BLOCK), self.root.stream());
        let cubes = kernels::OrderCubesArgs {
            clouds,
            codes: self.curve.codes.pointer(),
            points: self.curve.points.pointer(),
            mixed: self.curve.mixed.pointer(),
        };
        // SAFETY: the points were put in order.
        unsafe { stream.launch::<kernels::OrderCubes>(blocks, cubes) }?;
        let args = kernels::BuildArgs {
            clouds,
            codes: self.curve.codes.pointer(),
            points: self.curve.points.pointer(),
            nodes: self.nodes.pointer(),
            waiting: self.waiting.pointer(),
            ends: self.ends.pointer(),
            root: self.root.pointer(),
        };
        // SAFETY: room was made, and nothing waits.
        unsafe { stream.launch::<kernels::Build>(blocks, args) }?;
        self.clean = true;
        Ok(())
    }

    /// Makes room for parts that wait. There are none after a build, which takes all of them.
    fn empty(&mut self, places: usize) -> Result<()> {
        let clean = std::mem::replace(&mut self.clean, false);
        // Both, whichever was too short.
        let grown = self.waiting.reserve(places)? | self.ends.reserve(places)?;
        if grown || !clean {
            self.waiting.fill_words(u32::MAX, self.waiting.len() * size_of::<Half>() / 4)?;
            self.ends.fill_words(u32::MAX, self.ends.len() * 2)?;
        }
        Ok(())
    }

    /// A kd-tree is made on the host.
    fn upload(&mut self, cloud: &Cloud) -> Result<()> {
        let made = kdtree::build(&cloud.points.read(cloud.len(0))?)?;
        self.nodes.reserve(made.nodes.len().max(1))?;
        self.nodes.write(&made.nodes)?;
        self.uploaded.put(&made.points)?;
        self.root.write(&[made.root])
    }

    /// Queues the normals of the points by index, with neighbours from an array by index. There is
    /// room for as many as there are indices.
    pub(super) fn normals(
        &self,
        cloud: &Cloud,
        by_index: &Buffer<Place4>,
        k: usize,
        normals: &Buffer<Place4>,
    ) -> Result<()> {
        let args = kernels::NormalsArgs {
            clouds: cloud.clouds(),
            tree: self.get(cloud),
            k: k as u32,
            limit: FARTHEST,
            cloud: by_index.pointer(),
            normals: normals.pointer(),
        };
        // SAFETY: the caller made room, and neighbours are among the points by index.
        unsafe { self.root.stream().launch::<kernels::Normals>(cloud.blocks(TREE), args) }
    }

    /// The trees as kernels take them, the first of them; without nodes, if every point is looked
    /// at.
    pub(super) fn get(&self, cloud: &Cloud) -> kernels::Tree {
        let (nodes, points) = match self.search {
            Search::Brute => (null_mut(), &cloud.points),
            Search::KdTree => (self.nodes.pointer(), &self.uploaded),
            _ => (self.nodes.pointer(), &self.curve.points),
        };
        kernels::Tree { nodes, points: points.pointer(), root: self.root.pointer(), n: cloud.len(0) as u32 }
    }
}
