//! Clouds about a centre of their own, on the device.

use crate::device::{Buffer, Stream};
use crate::icp::cloud::{CenteredCloud, too_far, unit_normal};
use crate::icp::result::Dropped;
use crate::{Argument, Result, Rows, memory};
use pointmill_kernels::icp::{self as kernels, Head, Place4};
use pointmill_kernels::points::Points;
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::prim::scan::Tiles;
use std::ptr::null_mut;

/// The finite points of a cloud, about its centre, each with its index among them.
#[derive(Debug)]
pub(super) struct Cloud {
    stream: Stream,
    staging: Buffer<u8>,
    kept: Buffer<u32>,
    tiles: Buffer<u32>,
    head: Buffer<Head>,
    known: Head,
    pub(super) points: Buffer<Place4>,
}

impl Cloud {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            staging: stream.alloc(0)?,
            kept: stream.alloc(0)?,
            tiles: stream.alloc(0)?,
            head: stream.alloc(1)?,
            known: Head::default(),
            points: stream.alloc(0)?,
        })
    }

    /// Queues all work on a cloud; [`Cloud::finish`] waits for it.
    pub(super) fn begin(&mut self, cloud: &Rows<'_>, drop_zeros: bool) -> Result<()> {
        self.reset()?;
        if cloud.is_empty() {
            return Ok(());
        }
        let points = cloud.staged(&mut self.staging)?;
        self.keep(points, drop_zeros)?;
        let args = kernels::CentreArgs { points, kept: self.kept.pointer(), head: self.head.pointer() };
        // SAFETY: the points that stay are known.
        unsafe { self.stream.launch::<kernels::Centre>(3, args) }?;
        self.localize(points, null_mut())
    }

    /// Takes points of device memory as they are, each with its row, and waits; they are put into `by_row` as well.
    pub(super) fn take_rows(&mut self, cloud: &Rows<'_>, by_row: &mut Buffer<Place4>) -> Result<()> {
        self.reset()?;
        by_row.reserve(cloud.len())?;
        if !cloud.is_empty() {
            let points = cloud.staged(&mut self.staging)?;
            self.keep(points, false)?;
            self.localize(points, by_row.pointer())?;
        }
        self.known = self.head.read(1)?[0];
        Ok(())
    }

    /// From here on there are no points.
    pub(super) fn forget(&mut self) {
        self.known = Head::default();
    }

    /// Forgets what is known of the cloud before.
    fn reset(&mut self) -> Result<()> {
        self.head.write(&[Head { far: u32::MAX, bounds: [u32::MAX; 6], ..Head::default() }])
    }

    /// Lists the points that stay.
    fn keep(&mut self, points: Points, drop_zeros: bool) -> Result<()> {
        self.kept.reserve(points.n as usize)?;
        self.points.reserve(points.n as usize)?;
        let blocks = points.n.div_ceil(kernels::KEEP_TILE);
        let words = Tiles::words(blocks) as usize;
        self.tiles.reserve(words)?;
        self.tiles.fill_words(0, words)?;
        let (kept, head) = (self.kept.pointer(), self.head.pointer());
        let tiles = Tiles { words: self.tiles.pointer() };
        let args = kernels::KeepArgs { points, drop_zeros: drop_zeros.into(), kept, head, tiles };
        // SAFETY: room was made for all points.
        unsafe { self.stream.launch::<kernels::Keep>(blocks, args) }
    }

    /// Puts the points that stay about the centre.
    fn localize(&mut self, points: Points, by_row: *mut Place4) -> Result<()> {
        let (kept, head, local) = (self.kept.pointer(), self.head.pointer(), self.points.pointer());
        let args = kernels::LocalArgs { points, kept, head, local, by_row };
        // SAFETY: room was made for all points.
        unsafe { self.stream.launch::<kernels::Local>(points.n.div_ceil(BLOCK), args) }
    }

    /// Waits for the number of points and where they are.
    pub(super) fn finish(&mut self, argument: Argument) -> Result<()> {
        self.known = self.head.read(1)?[0];
        if self.known.far != u32::MAX {
            return Err(too_far(argument, self.known.far as usize));
        }
        Ok(())
    }

    /// Takes finite points of the host, as they are.
    pub(super) fn upload(&mut self, points: &[[f32; 3]]) -> Result<()> {
        let places: Vec<Place4> = memory::collect(points.iter().enumerate().map(|(i, p)| place(*p, i as u32)))?;
        self.points.reserve(places.len())?;
        self.points.write(&places)?;
        let mut low = [f32::INFINITY; 3];
        let mut high = [f32::NEG_INFINITY; 3];
        for p in points {
            for axis in 0..3 {
                low[axis] = low[axis].min(p[axis]);
                high[axis] = high[axis].max(p[axis]);
            }
        }
        self.known = Head { kept: places.len() as u32, ..Head::around(low, high) };
        self.head.write(&[self.known])
    }

    /// The points on the host, to make fewer of them.
    pub(super) fn to_host(&self) -> Result<CenteredCloud> {
        let points = memory::collect(self.points.read(self.len())?.iter().map(|p| [p[0], p[1], p[2]]))?;
        Ok(CenteredCloud { points, centre: self.centre(), dropped: self.dropped(), ..CenteredCloud::default() })
    }

    /// The caller's normals of the points that stayed, of one for each point that there was.
    pub(super) fn normals_of(&self, normals: &[[f32; 3]]) -> Result<Vec<Place4>> {
        let kept = if self.len() == 0 { Vec::new() } else { self.kept.read(self.len())? };
        memory::collect(kept.into_iter().map(|i| place(unit_normal(normals[i as usize]), 0)))
    }

    pub(super) const fn len(&self) -> usize {
        self.known.kept as usize
    }

    pub(super) const fn centre(&self) -> [f64; 3] {
        self.known.centre
    }

    pub(super) const fn dropped(&self) -> Dropped {
        Dropped { non_finite: self.known.non_finite as usize, zeros: self.known.zeros as usize }
    }

    pub(super) fn head(&self) -> *const Head {
        self.head.pointer()
    }
}

/// A point with its index.
pub(super) const fn place(p: [f32; 3], index: u32) -> Place4 {
    [p[0], p[1], p[2], f32::from_bits(index)]
}
