//! Exact nearest neighbours on any device.

mod radius;
mod several;

pub use radius::NeighbourLists;
pub(crate) use several::{HostIndex, Kept};

use super::cpu::{Index, Scratch, normals_of};
use super::gpu;
pub(crate) use super::gpu::Searched;
use super::params::{Search, check_number, limit_of};
use crate::centre::centre_of;
use crate::device::{Device, Stream};
use crate::prim::BLOCK;
use crate::{Argument, Dtype, Result, Rows, ensure, memory, par};
use pointmill_core::icp::nearest::{distance_of, index_of};
use pointmill_core::icp::neighbour_set::{MAX_NEIGHBOURS, Nearest};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most neighbours of a query on the CPU; on a GPU they are [`MAX_NEIGHBOURS`].
pub const MAX_NEIGHBOURS_ON_CPU: usize = 1 << 16;

/// A neighbour of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Neighbour {
    /// The index of the point.
    pub index: u32,
    /// The squared distance in square metres, as `f32` arithmetic computes it.
    pub distance_squared: f32,
}

/// Points made ready for queries, on the device of a stream.
///
/// **Shapes, units and frames**: points are rows of which the first three columns are x, y, z;
/// queries are `[Q, 3]` in the same unit and frame. Indices are rows.
///
/// **Exactness**: the nearest point is the one of smallest squared distance
/// `(dx*dx + dy*dy) + dz*dz` in `f32`, and of equally near ones the one of the lowest index. All
/// searches return the same bits on every device.
///
/// **Large coordinates**: points of `f64` are searched about a [`centre`](Searcher::centre) of
/// their own, which is subtracted before they become `f32`; points of `f32` about an origin are
/// searched about that origin. Queries are relative to it too: [`Searcher::relative`] makes them of
/// coordinates of `f64`.
///
/// **Limits**: fewer than 2^30 points; points of `f64` are in host memory. Points and queries that
/// are not finite have no neighbours, nor have distances whose square overflows.
///
/// **Time**: with a tree a query looks at a number of points that grows with the logarithm of their
/// number, also where many of them are copies or some are far away. A query that is equally far
/// from all points but for rounding, such as the centre of a sphere, looks at all of them. On a GPU
/// each call copies the queries there and the answers back.
///
/// ```
/// use pointmill::icp::{Search, Searcher};
/// use pointmill::Device;
/// let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [f32::NAN, 0.0, 0.0]];
/// let searcher = Searcher::new(&Device::auto().stream()?, &points, Search::Auto)?;
/// let found = searcher.nearest(&[[0.8, 0.0, 0.0], [0.0, 9.0, 0.0]], Some(2.0))?;
/// assert_eq!(found[0].unwrap().index, 1); // the first of two points at one place
/// assert_eq!(found[1], None); // farther than two metres
/// let two = searcher.neighbours(&[[0.1, 0.0, 0.0]], 2, None)?;
/// assert_eq!(two[0].iter().map(|n| n.index).collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher {
    stream: Stream,
    side: Side,
    len: usize,
    centre: [f64; 3],
}

#[derive(Debug)]
enum Side {
    Host { points: Vec<[f32; 3]>, index: Index },
    Device(Box<gpu::Searcher>),
}

impl Searcher {
    /// Makes the points of a cloud ready on the device of `stream`, to which all work goes. The
    /// cloud is on the host or in memory of the device.
    ///
    /// # Errors
    /// A cloud of `f64` in memory of a GPU, too many points, memory of another device; out of
    /// memory, a lost device.
    pub fn new<'a>(stream: &Stream, cloud: impl Into<Rows<'a>>, search: Search) -> Result<Self> {
        let (cloud, mut moved) = (cloud.into(), Vec::new());
        check(&cloud, stream)?;
        let (cloud, centre) = centred(&cloud, &mut moved)?;
        let side = if stream.device().is_cpu() {
            stream.device().install(|| Side::host(&cloud, search))?
        } else {
            let mut on = gpu::Searcher::new(stream, search)?;
            stream.in_order(&[cloud.stream()], || on.take(&cloud))?;
            Side::Device(Box::new(on))
        };
        Ok(Self { stream: stream.clone(), side, len: cloud.len(), centre })
    }

    /// Makes other points ready, as [`Searcher::new`]; on a GPU in the memory of the points before.
    ///
    /// # Errors
    /// As [`Searcher::new`]. After a failure of the device the searcher has no points.
    pub fn update<'a>(&mut self, cloud: impl Into<Rows<'a>>) -> Result<()> {
        let (cloud, mut moved) = (cloud.into(), Vec::new());
        check(&cloud, &self.stream)?;
        let (cloud, centre) = centred(&cloud, &mut moved)?;
        match &mut self.side {
            Side::Host { index, .. } => {
                let search = index.search();
                self.side = self.stream.device().install(|| Side::host(&cloud, search))?;
            }
            Side::Device(on) => {
                self.len = 0;
                self.stream.in_order(&[cloud.stream()], || on.take(&cloud))?;
            }
        }
        (self.len, self.centre) = (cloud.len(), centre);
        Ok(())
    }

    /// The search that is used; never [`Search::Auto`].
    pub const fn search(&self) -> Search {
        match &self.side {
            Side::Host { index, .. } => index.search(),
            Side::Device(on) => on.search(),
        }
    }

    /// What points and queries are relative to: zero for points of `f32` without an origin.
    pub const fn centre(&self) -> [f64; 3] {
        self.centre
    }

    /// Queries of coordinates in the frame of the points: these less the centre, in `f32`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn relative(&self, queries: &[[f64; 3]]) -> Result<Vec<[f32; 3]>> {
        memory::collect(queries.iter().map(|q| less(*q, self.centre)))
    }

    /// The points of the host about the centre, those that are not finite included; none on a GPU.
    pub fn points(&self) -> Option<&[[f32; 3]]> {
        match &self.side {
            Side::Host { points, .. } => Some(points),
            Side::Device(_) => None,
        }
    }

    /// What kernels search in; none on the CPU.
    pub(crate) fn on_device(&self) -> Option<Searched<'_>> {
        match &self.side {
            Side::Host { .. } => None,
            Side::Device(on) => Some(on.on_device()),
        }
    }

    /// The stream that the work goes to.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The number of points, those that are not finite included.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no points.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The nearest point of each query, within an inclusive distance in metres if there is one.
    /// **Order**: as the queries.
    ///
    /// # Errors
    /// A distance that is negative or NaN; out of memory, a lost device.
    pub fn nearest(&self, queries: &[[f32; 3]], max_distance: Option<f64>) -> Result<Vec<Option<Neighbour>>> {
        let limit = limit_of(max_distance)?;
        let index = match &self.side {
            Side::Host { index, .. } => index,
            Side::Device(on) => {
                let keys = on.nearest(queries, limit)?;
                return memory::collect(keys.into_iter().map(|key| (key < limit).then(|| neighbour(key))));
            }
        };
        let mut found = memory::filled(queries.len(), None)?;
        let parts = found.par_chunks_mut(BLOCK).zip(queries.par_chunks(BLOCK));
        let work = |scratch: &mut Scratch, (found, queries): (&mut [Option<Neighbour>], &[[f32; 3]])| {
            for (found, q) in found.iter_mut().zip(queries) {
                par::check();
                let mut nearest = Nearest::below(limit);
                index.find(*q, &mut nearest, scratch);
                *found = (nearest.best < limit).then(|| neighbour(nearest.best));
            }
        };
        self.stream.device().install(|| parts.with_min_len(par::grain(1)).for_each_init(Scratch::default, work));
        Ok(found)
    }

    /// The `k` nearest points of each query, the nearest first; fewer where fewer lie within the
    /// inclusive distance. **Order**: as the queries.
    ///
    /// # Errors
    /// A `k` that is not 1 to [`MAX_NEIGHBOURS_ON_CPU`], on a GPU to [`MAX_NEIGHBOURS`], a distance
    /// that is negative or NaN; out of memory, a lost device.
    pub fn neighbours(&self, queries: &[[f32; 3]], k: usize, max_distance: Option<f64>) -> Result<Vec<Vec<Neighbour>>> {
        let limit = limit_of(max_distance)?;
        self.check_number_of(k)?;
        let index = match &self.side {
            Side::Host { index, .. } => index,
            Side::Device(on) => {
                let keys = on.several(queries, k, limit)?;
                let mut found = Vec::new();
                memory::room(&mut found, queries.len())?;
                for keys in keys.chunks_exact(k) {
                    found.push(list(keys.iter().copied().take_while(|key| *key < limit), k)?);
                }
                return Ok(found);
            }
        };
        let refused = AtomicBool::new(false);
        let found = queries.par_iter().map_init(<(Kept, Vec<u64>)>::default, |(kept, keys), q| {
            par::check();
            keys.clear();
            let found = memory::room(keys, k.min(self.len))
                .and_then(|()| several::several(index, *q, (k, limit), kept, |key| keys.push(key)))
                .and_then(|()| list(keys.iter().copied(), keys.len()));
            found.unwrap_or_else(|_| {
                refused.store(true, Ordering::Relaxed);
                Vec::new()
            })
        });
        let found = self.stream.device().install(|| memory::collect_parallel(found.with_min_len(par::grain(BLOCK))))?;
        if refused.into_inner() { Err(memory::refused::<Neighbour>(k)) } else { Ok(found) }
    }

    /// Checks a number of neighbours.
    fn check_number_of(&self, k: usize) -> Result<()> {
        let (most, expected) = match self.side {
            Side::Host { .. } => (MAX_NEIGHBOURS_ON_CPU, format!("1 to {MAX_NEIGHBOURS_ON_CPU}")),
            Side::Device(_) => (
                MAX_NEIGHBOURS,
                format!("1 to {MAX_NEIGHBOURS} on a GPU (the CPU finds up to {MAX_NEIGHBOURS_ON_CPU})"),
            ),
        };
        ensure((1..=most).contains(&k), Argument::K, expected, k)
    }

    /// The normal of each point from its `k` nearest points, itself included; see [`normals`].
    ///
    /// # Errors
    /// A `k` that is not 1 to [`MAX_NEIGHBOURS`]; out of memory, a lost device.
    pub fn normals(&self, k: usize) -> Result<Vec<[f32; 3]>> {
        check_k(k)?;
        match &self.side {
            Side::Host { points, index } => self.stream.device().install(|| normals_of(points, index, k)),
            Side::Device(on) => on.normals(k),
        }
    }
}

impl Side {
    fn host(cloud: &Rows<'_>, search: Search) -> Result<Self> {
        // Values of f32 go through f64 and back unchanged.
        let points = memory::collect((0..cloud.len()).map(|i| cloud.point(i).map(|x| x as f32)))?;
        let index = Index::new(&points, search)?;
        Ok(Self::Host { points, index })
    }
}

/// The normal of each point of a cloud from its `k` nearest points, itself included: the direction
/// in which these spread least.
///
/// **Shapes**: `[N, 3]` in metres to `[N, 3]` of length one. The sign is arbitrary. A point whose
/// neighbourhood is no plane (fewer than three points, all at one place, or along a line), or that
/// is not finite, gets zeros. **Determinism**: the same bits on every device, for any number of
/// threads. **Limits**: those of [`Searcher`], which returns normals too, where the points get
/// queries as well.
///
/// # Errors
/// A `k` that is not 1 to [`MAX_NEIGHBOURS`]; else as [`Searcher::new`].
///
/// ```
/// use pointmill::Device;
/// use pointmill::icp::normals;
/// let floor: Vec<[f32; 3]> = (0..100).map(|i| [(i % 10) as f32, (i / 10) as f32, 2.0]).collect();
/// let up = normals(floor.as_slice(), 9, &Device::auto())?;
/// assert!(up.iter().all(|n| n.map(f32::abs) == [0.0, 0.0, 1.0]));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn normals<'a>(cloud: impl Into<Rows<'a>>, k: usize, device: &Device) -> Result<Vec<[f32; 3]>> {
    check_k(k)?;
    Searcher::new(&device.stream()?, cloud, Search::Auto)?.normals(k)
}

/// Checks a cloud that is searched in `f32`.
fn check(cloud: &Rows<'_>, stream: &Stream) -> Result<()> {
    cloud.check_points(Argument::Points, stream)?;
    let searched = cloud.dtype() != Dtype::F64 || cloud.stream().is_none();
    let expected = "points of f32 on a GPU, or points of f64 in host memory";
    ensure(searched, Argument::Points, expected, "points of f64 on a GPU")?;
    check_number(Argument::Points, cloud.len())
}

/// The points as they are searched, and what they are about; those of `f64` are put into `moved`.
fn centred<'a>(cloud: &Rows<'a>, moved: &'a mut Vec<[f32; 3]>) -> Result<(Rows<'a>, [f64; 3])> {
    if cloud.dtype() == Dtype::F32 {
        let origin = cloud.shift().unwrap_or_default();
        return Ok((cloud.relative_to(origin), origin));
    }
    let all = memory::collect((0..cloud.len()).map(|i| cloud.point(i)))?;
    let mut finite = Vec::new();
    memory::room(&mut finite, all.len())?;
    finite.extend(all.iter().copied().filter(|p| p.iter().all(|x| x.is_finite())));
    let centre = centre_of(&finite);
    *moved = memory::collect(all.iter().map(|p| less(*p, centre)))?;
    Ok((Rows::from(&moved[..]), centre))
}

/// A point about a centre.
fn less(p: [f64; 3], centre: [f64; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| (p[axis] - centre[axis]) as f32)
}

fn check_k(k: usize) -> Result<()> {
    ensure((1..=MAX_NEIGHBOURS).contains(&k), Argument::K, format_args!("1 to {MAX_NEIGHBOURS}"), k)
}

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
