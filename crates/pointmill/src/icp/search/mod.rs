//! Exact nearest neighbours, the same from every search.

mod brute;
mod kdtree;
mod keep;
mod lbvh;
mod tree;

pub(super) use kdtree::{middle, order};
pub use keep::MAX_NEIGHBOURS;
pub(super) use keep::Several;
pub(super) use lbvh::order_along_curve;
pub(super) use tree::{Entry, Looks};

use super::cloud::check_number;
use super::gpu;
use crate::Coordinates;
use crate::device::{Buffer, Stream, on_threads};
use crate::prim::BLOCK;
use crate::{Argument, Error, Result, memory};
use brute::Brute;
use pointmill_core::icp::keep::Nearest;
use pointmill_core::icp::nearest::{FARTHEST, distance_of, index_of, limit};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use tree::{Tree, Waiting};

/// Most points of a search.
pub const MAX_POINTS: usize = (1 << 30) - 1;
/// How neighbours are searched for. All of them find the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// The fastest: on the CPU the kd-tree, on a GPU the LBVH. Measured on one core of an AMD EPYC, as many queries as points, the first was at every size from 8 to 262,144
    /// points, and on an H200 the second in alignments of 1,000 to 40,000, making it ready included.
    #[default]
    Auto,
    /// Every point is looked at: what the trees are tested against.
    Brute,
    /// A tree split at medians: the fewest steps a query.
    KdTree,
    /// A tree along the Morton curve, as a GPU can build it; about as fast.
    Lbvh,
}

/// A neighbour of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The index of the point.
    pub index: u32,
    /// Its squared distance, in square metres, as `f32` arithmetic makes it.
    pub distance_squared: f32,
}

/// Points made ready for queries.
///
/// **Exactness**: the nearest point is the one of smallest squared distance `(dx*dx + dy*dy) + dz*dz` in `f32`, of equal ones that of the lowest index; all searches give
/// the same, bit by bit. **Limits**: fewer than 2^30 points. Points and queries that are not finite have no neighbours, nor have distances whose square overflows.
/// **Time**: by a tree a query looks at a number of points that grows with the logarithm of their number, also where many of them are copies or some are far away. A query that is equally far
/// from all points but for rounding, such as the centre of a sphere, looks at all of them.
///
/// ```
/// use pointmill::icp::{Search, Searcher};
/// let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [f32::NAN, 0.0, 0.0]];
/// let searcher = Searcher::new(&points, Search::KdTree)?;
/// let found = searcher.nearest(&[[0.8, 0.0, 0.0], [0.0, 9.0, 0.0]], Some(2.0))?;
/// assert_eq!(found[0].unwrap().index, 1); // of two at one place the first
/// assert_eq!(found[1], None); // farther than two metres
/// let two = searcher.neighbours(&[[0.1, 0.0, 0.0]], 2, None)?;
/// assert_eq!(two[0].iter().map(|n| n.index).collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher {
    kind: Kind,
    search: Search,
    len: usize,
}

#[derive(Debug)]
enum Kind {
    Brute(Brute),
    Tree(Tree),
    Gpu(Box<gpu::Searcher>),
}

impl Searcher {
    /// Makes points ready on the CPU.
    ///
    /// # Errors
    /// Too many points; out of memory.
    pub fn new(points: &[[f32; 3]], search: Search) -> Result<Self> {
        check_number(Argument::Points, points.len())?;
        let finite = |p: &[f32; 3]| p.iter().all(|x| x.is_finite());
        let mut entries: Vec<Entry> = Vec::new();
        memory::room(&mut entries, points.len())?;
        let all = (0..).zip(points).filter(|(_, p)| finite(p));
        entries.extend(all.map(|(index, point)| Entry { point: *point, index }));
        let search = match search {
            Search::Auto => Search::KdTree,
            asked => asked,
        };
        let kind = on_threads(|| {
            Ok::<_, Error>(match search {
                Search::Brute => Kind::Brute(Brute::new(&entries)?),
                Search::Lbvh => Kind::Tree(lbvh::build(&entries)?),
                _ => Kind::Tree(kdtree::build(entries)?),
            })
        })?;
        Ok(Self { kind, search, len: points.len() })
    }

    /// Makes points ready on the device of a stream, to which all work goes. On a GPU the tree along the curve is made there, a kd-tree on the CPU, and each call copies
    /// queries there and answers back.
    ///
    /// # Errors
    /// Too many points; out of memory, a lost device.
    pub fn on(stream: &Stream, points: &[[f32; 3]], search: Search) -> Result<Self> {
        if stream.device().is_cpu() {
            return stream.device().install(|| Self::new(points, search));
        }
        Self::on_a_gpu(stream, &Coordinates::f32(points.as_flattened(), 3)?, search)
    }

    fn on_a_gpu(stream: &Stream, rows: &Coordinates<'_>, search: Search) -> Result<Self> {
        check_number(Argument::Points, rows.len())?;
        let mut on = gpu::Searcher::new(stream, search)?;
        on.take(rows)?;
        Ok(Self { search: on.search(), len: rows.len(), kind: Kind::Gpu(Box::new(on)) })
    }

    /// Makes the first `len` rows of `columns` values of a buffer ready, on its device and stream; x, y, z come first, and indices are rows.
    ///
    /// # Errors
    /// As [`Searcher::on`]; fewer than three columns, a buffer that has fewer values.
    ///
    /// ```
    /// use pointmill::Device;
    /// use pointmill::icp::{Search, Searcher};
    /// let points = Device::auto().stream()?.upload(&[0.0f32, 0.0, 0.0, 7.0, 1.0, 0.0, 0.0, 7.0])?;
    /// let searcher = Searcher::of(&points, 2, 4, Search::Auto)?;
    /// assert_eq!(searcher.nearest(&[[0.9, 0.0, 0.0]], None)?[0].unwrap().index, 1);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn of(points: &Buffer<f32>, len: usize, columns: usize, search: Search) -> Result<Self> {
        let rows = Coordinates::on_device(points, len, columns)?;
        let stream = points.stream();
        rows.check_points(Argument::Points, stream)?;
        if let Some(values) = points.as_slice() {
            let points = memory::collect(values.chunks_exact(columns).take(len).map(|p| [p[0], p[1], p[2]]))?;
            return Self::on(stream, &points, search);
        }
        Self::on_a_gpu(stream, &rows, search)
    }

    /// Makes other points ready, as [`Searcher::of`], in the memory of those before where they are on the same GPU.
    ///
    /// # Errors
    /// As [`Searcher::of`]. Where the device failed there are no points then.
    pub fn update(&mut self, points: &Buffer<f32>, len: usize, columns: usize) -> Result<()> {
        if let Kind::Gpu(on) = &mut self.kind {
            let rows = Coordinates::on_device(points, len, columns)?;
            check_number(Argument::Points, len)?;
            rows.check_points(Argument::Points, on.stream())?;
            let stream = on.stream().clone();
            self.len = 0;
            stream.in_order(&[rows.stream()], || on.take(&rows))?;
            (self.search, self.len) = (on.search(), len);
            return Ok(());
        }
        *self = Self::of(points, len, columns, self.search)?;
        Ok(())
    }

    /// Which search it is; never [`Search::Auto`].
    pub const fn search(&self) -> Search {
        self.search
    }

    /// The number of points, those that are not finite among them.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no points.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The nearest point of each query, within an inclusive distance in metres if there is one. The order is that of the queries.
    ///
    /// # Errors
    /// A distance that is negative or NaN; out of memory.
    pub fn nearest(&self, queries: &[[f32; 3]], max_distance: Option<f64>) -> Result<Vec<Option<Neighbour>>> {
        let limit = limit_of(max_distance)?;
        if let Kind::Gpu(on) = &self.kind {
            let keys = on.nearest(queries, limit)?;
            return memory::collect(keys.into_iter().map(|key| (key < limit).then(|| neighbour(key))));
        }
        let mut found = memory::filled(queries.len(), None)?;
        let parts = found.par_chunks_mut(BLOCK).zip(queries.par_chunks(BLOCK));
        let work = |scratch: &mut Scratch, (found, queries): (&mut [Option<Neighbour>], &[[f32; 3]])| {
            for (found, q) in found.iter_mut().zip(queries) {
                let mut nearest = Nearest::below(limit);
                self.find(*q, &mut nearest, scratch);
                *found = (nearest.best < limit).then(|| neighbour(nearest.best));
            }
        };
        on_threads(|| parts.for_each_init(Scratch::default, work));
        Ok(found)
    }

    /// The `k` nearest points of each query, the nearest first; fewer where there are fewer within the inclusive distance. The order is that of the queries.
    ///
    /// # Errors
    /// A `k` that is not 1 to [`MAX_NEIGHBOURS`], or a distance that is negative or NaN; out of memory.
    pub fn neighbours(&self, queries: &[[f32; 3]], k: usize, max_distance: Option<f64>) -> Result<Vec<Vec<Neighbour>>> {
        let limit = limit_of(max_distance)?;
        if !(1..=MAX_NEIGHBOURS).contains(&k) {
            return Err(Error::argument(Argument::K, format!("1 to {MAX_NEIGHBOURS}"), k));
        }
        if let Kind::Gpu(on) = &self.kind {
            let keys = on.several(queries, k, limit)?;
            let mut found = Vec::new();
            memory::room(&mut found, queries.len())?;
            for keys in keys.chunks_exact(k) {
                found.push(list(keys.iter().copied().take_while(|key| *key < limit), k)?);
            }
            return Ok(found);
        }
        let refused = AtomicBool::new(false);
        let found = queries.par_iter().with_min_len(BLOCK).map_init(Scratch::default, |scratch, q| {
            let mut several = Several::below(limit, k);
            self.find(*q, &mut several, scratch);
            list(several.found(), k).unwrap_or_else(|_| {
                refused.store(true, Ordering::Relaxed);
                Vec::new()
            })
        });
        let found = on_threads(|| memory::collect_parallel(found))?;
        if refused.into_inner() { Err(memory::refused::<Neighbour>(k)) } else { Ok(found) }
    }

    /// The searcher of a GPU, if it is one.
    pub(super) const fn on_gpu(&self) -> Option<&gpu::Searcher> {
        match &self.kind {
            Kind::Gpu(on) => Some(on),
            _ => None,
        }
    }

    /// One query.
    #[inline]
    pub(super) fn find(&self, q: [f32; 3], keep: &mut impl Looks, scratch: &mut Scratch) {
        match &self.kind {
            Kind::Brute(brute) => brute.walk(q, keep),
            Kind::Tree(tree) => tree.walk(q, keep, &mut scratch.0),
            Kind::Gpu(_) => unreachable!("a search of the CPU"),
        }
    }

    /// Groups of points that lie near each other.
    pub(super) fn groups(&self) -> usize {
        match &self.kind {
            Kind::Brute(brute) => brute.groups(),
            Kind::Tree(tree) => tree.leaves(),
            Kind::Gpu(_) => unreachable!("a search of the CPU"),
        }
    }

    /// Calls `visit` with the points of a group and their indices.
    pub(super) fn each_of(&self, group: usize, mut visit: impl FnMut([f32; 3], u32)) {
        match &self.kind {
            Kind::Brute(brute) => brute.entries(group).for_each(|e| visit(e.point, e.index)),
            Kind::Tree(tree) => tree.entries(group).for_each(|e| visit(e.point, e.index)),
            Kind::Gpu(_) => unreachable!("a search of the CPU"),
        }
    }
}

/// What a thread keeps between queries.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch(Waiting);

/// At most `k` neighbours.
fn list(keys: impl Iterator<Item = u64>, k: usize) -> Result<Vec<Neighbour>> {
    let mut found = Vec::new();
    memory::room(&mut found, k)?;
    found.extend(keys.map(neighbour));
    Ok(found)
}

fn neighbour(key: u64) -> Neighbour {
    Neighbour { index: index_of(key), distance_squared: distance_of(key) }
}

/// The key that neighbours are below.
pub(super) fn limit_of(max_distance: Option<f64>) -> Result<u64> {
    match max_distance {
        None => Ok(FARTHEST),
        Some(distance) if distance >= 0.0 => Ok(limit(distance)),
        Some(distance) => Err(Error::argument(Argument::MaxDistance, "0 m or more", distance)),
    }
}
