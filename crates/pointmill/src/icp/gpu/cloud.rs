//! Clouds about a centre of their own, on the device.

use crate::device::{Buffer, Stream, workspace};
use crate::icp::cloud::{CenteredCloud, around, too_far, unit_normal};
use crate::icp::result::Dropped;
use crate::{Argument, Result, Rows, memory};
use pointmill_kernels::icp::{self as kernels, Clouds, Head, Place4};
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::prim::{BLOCK, Length};
use std::mem::offset_of;
use std::ptr::{null, null_mut};
use std::slice::from_ref;

workspace! {
    /// The finite points of a cloud, or of clouds side by side, about the centre of each; each
    /// point with its index in its cloud.
    pub(super) struct Cloud(stream) {
        stream: Stream,
        /// Clouds of the host.
        staging: Vec<Buffer<u8>> = Vec::new(),
        kept: Buffer<u32>,
        tiles: Buffer<u32>,
        heads: Buffer<Head> = stream.alloc(1)?,
        /// One or more.
        known: Vec<Head> = vec![Head::default()],
        /// Places of each cloud.
        room: usize = 0,
        pub(super) points: Buffer<Place4>,
    }
}

impl Cloud {
    /// Queues all work on clouds, of which there is at least one; [`Cloud::finish`] waits for it.
    pub(super) fn begin(&mut self, clouds: &[Rows<'_>], drop_zeros: bool) -> Result<()> {
        self.keep(clouds, drop_zeros)?;
        if self.room == 0 {
            return Ok(());
        }
        let args = kernels::CentreArgs { clouds: self.clouds(), kept: self.kept.pointer() };
        // SAFETY: the points that stay are known.
        unsafe { self.stream.launch::<kernels::Centre>(3 * clouds.len() as u32, args) }?;
        self.localize(null_mut())
    }

    /// Queues all work on a cloud whose points are taken as they are, each with its row; they are
    /// put into `by_row` as well. [`Cloud::finish`] waits for it.
    pub(super) fn take_rows(&mut self, cloud: &Rows<'_>, by_row: &mut Buffer<Place4>) -> Result<()> {
        by_row.reserve(cloud.len())?;
        self.keep(from_ref(cloud), false)?;
        if self.room == 0 {
            return Ok(());
        }
        self.localize(by_row.pointer())
    }

    /// From here on there are no points.
    pub(super) fn forget(&mut self) {
        self.known = vec![Head::default()];
    }

    /// Lists the points that stay.
    fn keep(&mut self, clouds: &[Rows<'_>], drop_zeros: bool) -> Result<()> {
        self.known.clear();
        while self.staging.len() < clouds.len() {
            memory::push(&mut self.staging, self.stream.alloc(0)?)?;
        }
        for (cloud, staging) in clouds.iter().zip(&mut self.staging) {
            memory::push(&mut self.known, Head::of(cloud.staged(staging)?))?;
        }
        self.heads.put(&self.known)?;
        self.room = clouds.iter().map(Rows::len).max().unwrap_or(0);
        if self.room == 0 {
            return Ok(());
        }
        self.kept.reserve(self.places())?;
        self.points.reserve(self.places())?;
        let blocks = (self.room as u32).div_ceil(kernels::KEEP_TILE);
        let words = clouds.len() * Tiles::words(blocks) as usize;
        self.tiles.reserve(words)?;
        self.tiles.fill_words(0, words)?;
        let tiles = Tiles { words: self.tiles.pointer() };
        let (clouds, drop_zeros) = (self.clouds(), drop_zeros.into());
        let args = kernels::KeepArgs { clouds, drop_zeros, kept: self.kept.pointer(), tiles };
        // SAFETY: room was made for all points.
        unsafe { self.stream.launch::<kernels::Keep>(self.blocks(kernels::KEEP_TILE), args) }
    }

    /// Puts the points that stay about the centre.
    fn localize(&mut self, by_row: *mut Place4) -> Result<()> {
        let (clouds, kept, local) = (self.clouds(), self.kept.pointer(), self.points.pointer());
        let args = kernels::LocalArgs { clouds, kept, local, by_row };
        // SAFETY: room was made for all points.
        unsafe { self.stream.launch::<kernels::Local>(self.blocks(BLOCK), args) }
    }

    /// Waits for the numbers of points and where they are.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.heads.read_into(&mut self.known)
    }

    /// Refuses a cloud with a point too far from its middle.
    pub(super) fn check(&self, i: usize, argument: Argument) -> Result<()> {
        match self.known[i].far {
            u32::MAX => Ok(()),
            far => Err(too_far(argument, far as usize)),
        }
    }

    /// Takes finite points of the host, as they are.
    pub(super) fn upload(&mut self, points: &[[f32; 3]]) -> Result<()> {
        let places: Vec<Place4> = memory::collect(points.iter().enumerate().map(|(i, p)| place(*p, i as u32)))?;
        self.points.put(&places)?;
        let (low, high) = around(points.iter().copied());
        self.room = places.len();
        self.known = vec![Head { kept: places.len() as u32, ..Head::around(low, high) }];
        self.heads.write(&self.known)
    }

    /// The points on the host, to make fewer of them.
    pub(super) fn to_host(&self) -> Result<CenteredCloud> {
        let points = memory::collect(self.points.read(self.len(0))?.iter().map(|p| [p[0], p[1], p[2]]))?;
        Ok(CenteredCloud { points, centre: self.centre(0), dropped: self.dropped(0), ..CenteredCloud::default() })
    }

    /// The caller's normals of the points that stayed, of one for each point that there was.
    pub(super) fn normals_of(&self, normals: &[[f32; 3]]) -> Result<Vec<Place4>> {
        let kept = if self.len(0) == 0 { Vec::new() } else { self.kept.read(self.len(0))? };
        memory::collect(kept.into_iter().map(|i| place(unit_normal(normals[i as usize]), 0)))
    }

    /// Points of a cloud.
    pub(super) fn len(&self, i: usize) -> usize {
        self.known[i].kept as usize
    }

    pub(super) fn centre(&self, i: usize) -> [f64; 3] {
        self.known[i].centre
    }

    pub(super) fn dropped(&self, i: usize) -> Dropped {
        Dropped { non_finite: self.known[i].non_finite as usize, zeros: self.known[i].zeros as usize }
    }

    /// The number of clouds.
    pub(super) fn number(&self) -> usize {
        self.known.len()
    }

    /// Places that have points, of one cloud those before its end. The host need not know the
    /// number yet.
    pub(super) fn filled(&self) -> Length {
        let kept = self.heads.pointer().wrapping_byte_add(offset_of!(Head, kept)).cast::<u32>();
        let exact = if self.number() == 1 { kept.cast_const() } else { null() };
        Length { bound: self.places() as u32, exact }
    }

    /// Places of all clouds.
    pub(super) fn places(&self) -> usize {
        self.number() * self.room
    }

    /// Blocks of a launch over all clouds, if a block takes so many places.
    pub(super) fn blocks(&self, places: u32) -> u32 {
        self.number() as u32 * (self.room as u32).div_ceil(places)
    }

    /// The clouds as kernels take them.
    pub(super) fn clouds(&self) -> Clouds {
        Clouds { heads: self.heads.pointer(), room: self.room as u32 }
    }
}

/// A point with its index.
pub(super) const fn place(p: [f32; 3], index: u32) -> Place4 {
    [p[0], p[1], p[2], f32::from_bits(index)]
}
