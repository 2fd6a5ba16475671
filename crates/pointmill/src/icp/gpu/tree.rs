//! Trees of boxes on the device.

use super::cloud::Cloud;
use super::kdtree;
use crate::Result;
use crate::device::{Buffer, Stream};
use crate::icp::params::Search;
use crate::prim::{Pairs, Sorter};
use pointmill_core::icp::nearest::FARTHEST;
use pointmill_kernels::icp::{self as kernels, Half, Node, Place4};
use pointmill_kernels::prim::sum::TREE;
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::null_mut;

/// Passes of a sort of codes: 63 bits, 8 a pass.
const PASSES: u32 = 8;

/// Points along the Morton curve.
#[derive(Debug)]
pub(super) struct Curve {
    stream: Stream,
    codes: Buffer<u64>,
    pub(super) order: Buffer<u32>,
    /// Whether points of one code are to be put in order.
    mixed: Buffer<u32>,
    sorter: Sorter<u64>,
    pub(super) points: Buffer<Place4>,
}

impl Curve {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            codes: stream.alloc(0)?,
            order: stream.alloc(0)?,
            mixed: stream.alloc(1)?,
            sorter: Sorter::new(stream)?,
            points: stream.alloc(0)?,
        })
    }

    /// Sorts the points of a cloud, of which there is at least one.
    pub(super) fn sort(&mut self, cloud: &Cloud) -> Result<()> {
        let n = cloud.len() as u32;
        self.codes.reserve(n as usize)?;
        self.order.reserve(n as usize)?;
        self.points.reserve(n as usize)?;
        self.sorter.reserve(n, PASSES)?;
        let (codes, order) = (self.codes.pointer(), self.order.pointer());
        let points = cloud.points.pointer().cast_const();
        // SAFETY: room was made for n points, and the number of passes is even.
        unsafe {
            let args = kernels::CodesArgs { points, n, head: cloud.head(), codes, mixed: self.mixed.pointer() };
            self.stream.launch::<kernels::Codes>(n.div_ceil(BLOCK), args)?;
            let input = Pairs { keys: codes, values: null_mut() };
            self.sorter.enqueue(input, Pairs { keys: codes, values: order }, Length::known(n), PASSES)?;
        }
        self.gather(cloud)
    }

    /// Puts the points of the cloud that was sorted in the order of their codes, of one code in that of their indices.
    pub(super) fn gather(&self, cloud: &Cloud) -> Result<()> {
        let args = kernels::GatherArgs {
            points: cloud.points.pointer(),
            order: self.order.pointer(),
            n: cloud.len() as u32,
            sorted: self.points.pointer(),
            codes: self.codes.pointer(),
            mixed: self.mixed.pointer(),
        };
        // SAFETY: room was made for all points.
        unsafe { self.stream.launch::<kernels::Gather>(args.n.div_ceil(BLOCK), args) }
    }
}

/// Points made ready for searches.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) curve: Curve,
    nodes: Buffer<Node>,
    ends: Buffer<u32>,
    root: Buffer<Half>,
    /// Points of a tree that was made on the host.
    uploaded: Buffer<Place4>,
    search: Search,
}

impl Tree {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            curve: Curve::new(stream)?,
            nodes: stream.alloc(0)?,
            ends: stream.alloc(0)?,
            root: stream.alloc(1)?,
            uploaded: stream.alloc(0)?,
            search: Search::Brute,
        })
    }

    /// Makes a cloud ready, which has at least one point, and for a tree along the curve is sorted. Its points along the curve may then have another order.
    pub(super) fn build(&mut self, cloud: &Cloud, search: Search) -> Result<()> {
        self.search = search;
        match search {
            Search::Brute => Ok(()),
            Search::KdTree => self.upload(cloud),
            _ => self.build_along_curve(cloud),
        }
    }

    fn build_along_curve(&mut self, cloud: &Cloud) -> Result<()> {
        let n = cloud.len() as u32;
        // There is a pointer even where the only leaf has no node.
        self.nodes.reserve(n as usize)?;
        self.ends.reserve(n as usize)?;
        self.ends.fill_words(u32::MAX, n as usize)?;
        let stream = self.root.stream();
        let cubes = kernels::OrderCubesArgs {
            codes: self.curve.codes.pointer(),
            n,
            points: self.curve.points.pointer(),
            mixed: self.curve.mixed.pointer(),
        };
        // SAFETY: the points were put in order.
        unsafe { stream.launch::<kernels::OrderCubes>(n.div_ceil(BLOCK), cubes) }?;
        let args = kernels::BuildArgs {
            codes: self.curve.codes.pointer(),
            points: self.curve.points.pointer(),
            n,
            nodes: self.nodes.pointer(),
            ends: self.ends.pointer(),
            root: self.root.pointer(),
        };
        // SAFETY: room was made.
        unsafe { stream.launch::<kernels::Build>(n.div_ceil(BLOCK), args) }
    }

    /// A kd-tree is made on the host.
    fn upload(&mut self, cloud: &Cloud) -> Result<()> {
        let made = kdtree::build(&cloud.points.read(cloud.len())?)?;
        self.nodes.reserve(made.nodes.len().max(1))?;
        self.nodes.write(&made.nodes)?;
        self.uploaded.reserve(made.points.len())?;
        self.uploaded.write(&made.points)?;
        self.root.write(&[made.root])
    }

    /// Queues the normals of the points by index, with neighbours from an array by index. There is room for as many as there are indices.
    pub(super) fn normals(
        &self,
        cloud: &Cloud,
        by_index: &Buffer<Place4>,
        k: usize,
        normals: &Buffer<Place4>,
    ) -> Result<()> {
        let args = kernels::NormalsArgs {
            tree: self.get(cloud),
            k: k as u32,
            limit: FARTHEST,
            cloud: by_index.pointer(),
            normals: normals.pointer(),
        };
        // SAFETY: the caller made room, and neighbours are among the points by index.
        unsafe { self.root.stream().launch::<kernels::Normals>(args.tree.n.div_ceil(TREE), args) }
    }

    /// The tree as kernels take it; without nodes, if every point is looked at.
    pub(super) fn get(&self, cloud: &Cloud) -> kernels::Tree {
        let (nodes, points) = match self.search {
            Search::Brute => (null_mut(), &cloud.points),
            Search::KdTree => (self.nodes.pointer(), &self.uploaded),
            _ => (self.nodes.pointer(), &self.curve.points),
        };
        kernels::Tree { nodes, points: points.pointer(), root: self.root.pointer(), n: cloud.len() as u32 }
    }
}
