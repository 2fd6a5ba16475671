//! The local map: voxels with a few points each, changed by what enters and what leaves.

use crate::odometry::params::OdometryParams;
use crate::sampling::zeroed;
use pointmill::Result;
use pointmill::device::{Buffer, Stream};
use pointmill::internals::{Pairs, memory, passes_for, seed};
use pointmill::prim::Sorter;
use pointmill_core::hash::Seed;
use pointmill_core::odometry::cells::{leaves, place_in, spacing};
use pointmill_core::rigid::Rigid;
use pointmill_kernels::odometry::{self as kernels, Deskew, Map, MapHead, NONE, Place4, TILE, Timed, Voxel};
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::null_mut;

/// Points of the world by voxel, in memory of a device.
#[derive(Debug)]
pub(super) struct DeviceMap {
    stream: Stream,
    size: f64,
    cap: u32,
    seed: Seed,
    /// The cells of voxels, the voxel of each, and the first point of a new one.
    keys: Buffer<u64>,
    values: Buffer<u32>,
    firsts: Buffer<u32>,
    /// Entries minus one of the table.
    mask: u32,
    voxels: Buffer<Voxel>,
    free: Buffer<u32>,
    points: Buffer<Place4>,
    normals: Buffer<Place4>,
    made: Buffer<u32>,
    on_device: Buffer<MapHead>,
    /// At least as many places of voxels were taken as [`MapHead::slots`] says, and no more than
    /// this.
    slots: usize,
    changes: u32,
    work: Work,
    /// Points of voxels that were taken away, if they are kept.
    left: Option<Vec<[f64; 3]>>,
}

/// Memory of one change.
#[derive(Debug)]
struct Work {
    world: Buffer<[f64; 4]>,
    entries: Buffer<u32>,
    slots: Buffer<u32>,
    sorted: Buffer<u32>,
    order: Buffer<u32>,
    sorter: Sorter<u32>,
    tiles: Buffer<u32>,
}

impl DeviceMap {
    pub(super) fn new(stream: &Stream, params: &OdometryParams, voxel_size: f64) -> Result<Self> {
        let mut on_device = stream.alloc(1)?;
        on_device.write(&[MapHead::default()])?;
        Ok(Self {
            stream: stream.clone(),
            size: voxel_size,
            cap: params.max_points_per_voxel as u32,
            seed: seed(),
            keys: stream.alloc(0)?,
            values: stream.alloc(0)?,
            firsts: stream.alloc(0)?,
            mask: 0,
            voxels: stream.alloc(0)?,
            free: stream.alloc(0)?,
            points: stream.alloc(0)?,
            normals: stream.alloc(0)?,
            made: stream.alloc(0)?,
            on_device,
            slots: 0,
            changes: 0,
            work: Work {
                world: stream.alloc(0)?,
                entries: stream.alloc(0)?,
                slots: stream.alloc(0)?,
                sorted: stream.alloc(0)?,
                order: stream.alloc(0)?,
                sorter: Sorter::new(stream)?,
                tiles: stream.alloc(0)?,
            },
            left: params.keep_map.then(Vec::new),
        })
    }

    /// The map as kernels take it.
    pub(super) fn view(&self) -> Map {
        Map {
            size: self.size,
            keys: self.keys.pointer(),
            values: self.values.pointer(),
            mask: self.mask,
            seed: self.seed,
            cap: self.cap,
            voxels: self.voxels.pointer(),
            points: self.points.pointer(),
            normals: self.normals.pointer(),
            made: self.made.pointer(),
        }
    }

    /// Adds points in their order. Points of a full voxel, and those too near to one of the same
    /// voxel, are left out.
    pub(super) fn insert(&mut self, samples: &Buffer<Timed>, n: u32, deskew: Deskew, pose: &Rigid) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        // All memory is there before anything changes.
        self.make_room(self.slots + n as usize)?;
        // Above all voxels, and never one.
        let none = self.voxels.len() as u32;
        let passes = passes_for(u64::from(none));
        self.work.reserve(n, passes)?;
        let tiles = n.div_ceil(TILE);
        let state = zeroed(&mut self.work.tiles, tiles)?;
        self.changes += 1;
        self.slots += n as usize;
        let (map, work, head, firsts) = (self.view(), &mut self.work, self.on_device.pointer(), self.firsts.pointer());
        let (world, entries, slots) = (work.world.pointer(), work.entries.pointer(), work.slots.pointer());
        let sorted = Pairs { keys: work.sorted.pointer(), values: work.order.pointer() };
        // SAFETY: room was made for all points and for a voxel each.
        unsafe {
            let samples = samples.pointer();
            let args = kernels::InsertPointsArgs { samples, n, deskew, pose: *pose, map, firsts, world, entries };
            self.stream.launch::<kernels::InsertPoints>(n.div_ceil(BLOCK), args)?;
            let free = self.free.pointer();
            let args = kernels::AllocateVoxelsArgs { n, world, entries, map, firsts, free, head, tiles: state };
            self.stream.launch::<kernels::AllocateVoxels>(tiles, args)?;
            let args = kernels::AssignSlotsArgs { n, entries, values: map.values, slots, none, head };
            self.stream.launch::<kernels::AssignSlots>(n.div_ceil(BLOCK), args)?;
            let pairs = Pairs { keys: slots, values: null_mut() };
            work.sorter.enqueue(pairs, sorted, Length::known(n), passes)?;
            let spacing = spacing(self.size, self.cap);
            let (slots, order, changes) = (sorted.keys, sorted.values, self.changes);
            let args = kernels::FillArgs { slots, order, n, none, world, map, spacing, changes, head };
            self.stream.launch::<kernels::Fill>(n.div_ceil(BLOCK), args)
        }
    }

    /// Takes voxels away whose middle is farther than `radius` from a place.
    pub(super) fn trim(&mut self, middle: [f64; 3], radius: f64) -> Result<()> {
        if self.slots == 0 {
            return Ok(());
        }
        if let Some(mut left) = self.left.take() {
            let kept = self.points_of(&mut left, |cell| leaves(cell, self.size, middle, radius));
            self.left = Some(left);
            kept?;
        }
        let tiles = (self.slots as u32).div_ceil(TILE);
        let state = zeroed(&mut self.work.tiles, tiles)?;
        let (map, head) = (self.view(), self.on_device.pointer());
        // SAFETY: the map is whole, and there is a free place for each voxel.
        unsafe {
            let slots = Length { bound: self.slots as u32, exact: &raw const (*head).slots };
            let args = kernels::RemoveFarVoxelsArgs {
                map,
                slots,
                middle,
                radius,
                free: self.free.pointer(),
                head,
                tiles: state,
            };
            self.stream.launch::<kernels::RemoveFarVoxels>(tiles, args)?;
        }
        self.index()
    }

    /// Takes everything away; what left before is kept no longer.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.on_device.write(&[MapHead::default()])?;
        self.slots = 0;
        self.changes = 0;
        self.left.iter_mut().for_each(Vec::clear);
        self.empty_table()
    }

    /// The number of points and of voxels.
    pub(super) fn sizes(&mut self) -> Result<[usize; 2]> {
        let head = self.on_device.read(1)?[0];
        self.slots = head.slots as usize;
        Ok([head.points as usize, (head.slots - head.free) as usize])
    }

    /// All points: those of voxels that were taken away, if they are kept, then voxel by voxel.
    pub(super) fn all(&self) -> Result<Vec<[f64; 3]>> {
        let mut all = memory::collect(self.left.as_deref().unwrap_or_default().iter().copied())?;
        self.points_of(&mut all, |_| true)?;
        Ok(all)
    }

    /// The points of all voxels.
    pub(super) fn near(&self) -> Result<Vec<[f64; 3]>> {
        let mut all = Vec::new();
        self.points_of(&mut all, |_| true)?;
        Ok(all)
    }

    /// Appends the points of voxels whose cell is wanted.
    fn points_of(&self, to: &mut Vec<[f64; 3]>, wanted: impl Fn([i32; 3]) -> bool) -> Result<()> {
        let slots = self.on_device.read(1)?[0].slots as usize;
        let points = self.points.read(slots * self.cap as usize)?;
        for (voxel, points) in self.voxels.read(slots)?.iter().zip(points.chunks_exact(self.cap as usize)) {
            if wanted(voxel.cell) {
                let place = |[x, y, z, _]: &Place4| place_in([*x, *y, *z], voxel.cell, self.size);
                memory::extend(to, points[..voxel.count as usize].iter().map(place))?;
            }
        }
        Ok(())
    }

    /// Makes room for so many voxels.
    fn make_room(&mut self, slots: usize) -> Result<()> {
        if slots <= self.voxels.len() {
            return Ok(());
        }
        let (old, cap) = (self.slots, self.cap as usize);
        let room = slots.max(2 * self.voxels.len());
        let entries = (2 * room).next_power_of_two().max(4);
        let stream = &self.stream;
        let (voxels, free) = (grown(stream, &self.voxels, old, room)?, grown(stream, &self.free, old, room)?);
        let (points, normals) =
            (grown(stream, &self.points, old * cap, room * cap)?, grown(stream, &self.normals, old * cap, room * cap)?);
        let made = grown(stream, &self.made, old * cap, room * cap)?;
        self.keys.reserve(entries)?;
        self.values.reserve(entries)?;
        self.firsts.reserve(entries)?;
        (self.voxels, self.free, self.points, self.normals, self.made) = (voxels, free, points, normals, made);
        self.mask = entries as u32 - 1;
        self.firsts.fill_words(NONE, entries)?;
        self.index()
    }

    fn empty_table(&mut self) -> Result<()> {
        let entries = if self.keys.is_empty() { 0 } else { self.mask as usize + 1 };
        self.keys.fill_words(NONE, 2 * entries)?;
        self.values.fill_words(NONE, entries)
    }

    /// Makes the table of cells anew.
    fn index(&mut self) -> Result<()> {
        self.empty_table()?;
        let head = self.on_device.pointer();
        // SAFETY: the table has room for all voxels.
        unsafe {
            let slots = Length { bound: self.slots as u32, exact: &raw const (*head).slots };
            let args = kernels::RebuildIndexArgs { map: self.view(), slots, head };
            self.stream.launch::<kernels::RebuildIndex>((self.slots as u32).div_ceil(BLOCK).max(1), args)
        }
    }
}

impl Work {
    /// Makes room for a change by so many points.
    fn reserve(&mut self, n: u32, passes: u32) -> Result<()> {
        self.world.reserve(n as usize)?;
        for buffer in [&mut self.entries, &mut self.slots, &mut self.sorted, &mut self.order] {
            buffer.reserve(n as usize)?;
        }
        self.sorter.reserve(n, passes)
    }
}

/// A buffer with more room, and the first elements of another.
fn grown<T: bytemuck::Pod>(stream: &Stream, from: &Buffer<T>, len: usize, room: usize) -> Result<Buffer<T>> {
    let mut to = stream.alloc(room)?;
    to.copy_from(from, len)?;
    Ok(to)
}
