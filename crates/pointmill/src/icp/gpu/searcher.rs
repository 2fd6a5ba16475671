//! Neighbours of queries from the host.

use super::cloud::{Cloud, place};
use super::tree::Tree;
use super::{chosen, nearest_brute};
use crate::device::{Buffer, Stream, workspace};
use crate::icp::params::Search;
use crate::{Result, Rows, memory};
use pointmill_kernels::icp::{self as kernels, Place4};
use pointmill_kernels::prim::sum::TREE;
use std::sync::{Mutex, PoisonError};

/// Points on a device, made ready for queries.
#[derive(Debug)]
pub(in crate::icp) struct Searcher {
    stream: Stream,
    /// All points by index, those that are not finite among them.
    all: Buffer<Place4>,
    cloud: Cloud,
    search: Search,
    tree: Tree,
    len: usize,
    work: Mutex<Work>,
}

/// Points on a device as kernels search them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searched<'a> {
    /// A tree of those that are finite; of none it has no root.
    pub(crate) tree: kernels::Tree,
    /// All points by index.
    pub(crate) points: &'a Buffer<Place4>,
}

workspace! {
    /// Memory that calls use again.
    struct Work(stream) {
        queries: Buffer<Place4>,
        keys: Buffer<u64>,
    }
}

impl Searcher {
    pub(in crate::icp) fn new(stream: &Stream, search: Search) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            all: stream.alloc(0)?,
            cloud: Cloud::new(stream)?,
            search: chosen(search),
            tree: Tree::new(stream)?,
            len: 0,
            work: Mutex::new(Work::new(stream)?),
        })
    }

    /// Makes points ready, in the memory of those before. Where that fails there are no points.
    pub(in crate::icp) fn take(&mut self, cloud: &Rows<'_>) -> Result<()> {
        self.len = cloud.len();
        self.take_all(cloud).inspect_err(|_| {
            // What there is now belongs partly to these points and partly to those before: no walk
            // may begin.
            self.len = 0;
            self.cloud.forget();
        })
    }

    fn take_all(&mut self, cloud: &Rows<'_>) -> Result<()> {
        self.cloud.take_rows(cloud, &mut self.all)?;
        if self.search == Search::Lbvh && self.cloud.places() > 0 {
            // All of it is queued before the host waits.
            self.tree.curve.sort(&self.cloud)?;
            self.tree.build(&self.cloud, self.search)?;
            return self.cloud.finish();
        }
        self.cloud.finish()?;
        if self.cloud.len(0) > 0 { self.tree.build(&self.cloud, self.search) } else { Ok(()) }
    }

    pub(in crate::icp) fn on_device(&self) -> Searched<'_> {
        Searched { tree: self.tree.get(&self.cloud), points: &self.all }
    }

    pub(in crate::icp) const fn search(&self) -> Search {
        self.search
    }

    /// The keys of the nearest points; the limit where there is none.
    pub(in crate::icp) fn nearest(&self, queries: &[[f32; 3]], limit: u64) -> Result<Vec<u64>> {
        let mut keys = memory::filled(queries.len(), limit)?;
        if self.cloud.len(0) == 0 || queries.is_empty() {
            return Ok(keys);
        }
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.take(queries)?;
        work.keys.put(&keys)?;
        let (len, n) = (queries.len() as u32, self.cloud.len(0) as u32);
        let (queries, to) = (work.queries.pointer().cast_const(), work.keys.pointer());
        let tree = self.tree.get(&self.cloud);
        // SAFETY: room was made for all queries, and the tree has points.
        unsafe {
            if self.search() == Search::Brute {
                for stride in [kernels::SPARSE, 1] {
                    let args = kernels::NearestBruteArgs { points: tree.points, n, queries, len, stride, keys: to };
                    nearest_brute(&self.stream, args)?;
                }
            } else {
                let args = kernels::NearestTreeArgs { tree, queries, len, keys: to };
                self.stream.launch::<kernels::NearestTree>(len.div_ceil(TREE), args)?;
            }
        }
        work.keys.read_into(&mut keys)?;
        Ok(keys)
    }

    /// The keys of the `k` nearest points of each query, ascending; the limit where there are
    /// fewer.
    pub(in crate::icp) fn several(&self, queries: &[[f32; 3]], k: usize, limit: u64) -> Result<Vec<u64>> {
        if self.cloud.len(0) == 0 || queries.is_empty() {
            return memory::filled(queries.len() * k, limit);
        }
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.take(queries)?;
        work.keys.reserve(queries.len() * k)?;
        let args = kernels::SeveralArgs {
            tree: self.tree.get(&self.cloud),
            k: k as u32,
            limit,
            queries: work.queries.pointer(),
            len: queries.len() as u32,
            keys: work.keys.pointer(),
        };
        // SAFETY: as above.
        unsafe { self.stream.launch::<kernels::Several>(args.len.div_ceil(TREE), args) }?;
        work.keys.read(queries.len() * k)
    }

    /// The normal of each point from its `k` nearest; zeros where there is none.
    pub(in crate::icp) fn normals(&self, k: usize) -> Result<Vec<[f32; 3]>> {
        let mut normals: Buffer<Place4> = self.stream.alloc(self.len.max(1))?;
        normals.fill_words(0, self.len * 4)?;
        if self.cloud.len(0) > 0 {
            self.tree.normals(&self.cloud, &self.all, k, &normals)?;
        }
        memory::collect(normals.read(self.len)?.iter().map(|n| [n[0], n[1], n[2]]))
    }
}

impl Work {
    fn take(&mut self, queries: &[[f32; 3]]) -> Result<()> {
        let places: Vec<Place4> = memory::collect(queries.iter().map(|q| place(*q, 0)))?;
        self.queries.put(&places)
    }
}
