//! The points of a sweep that are used.

use super::zeroed;
use crate::odometry::engine::Sampled;
use crate::odometry::params::{MAP_SAMPLING, OdometryParams};
use pointmill::device::{Buffer, Stream};
use pointmill::internals::seed;
use pointmill::{Result, Rows};
use pointmill_kernels::odometry::{self as kernels, Firsts, Head, NONE, TILE, Timed};
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::null;

/// Map points and keypoints of a sweep.
#[derive(Debug)]
pub(super) struct DeviceSweep {
    stream: Stream,
    staging: Buffer<u8>,
    times: Buffer<f64>,
    /// Cells of map points, and of keypoints.
    cells: [Table; 2],
    tiles: Buffer<u32>,
    on_device: Buffer<Head>,
    /// For the map.
    pub(super) map_points: Buffer<Timed>,
    /// For the alignment.
    pub(super) keypoints: Buffer<Timed>,
    /// What is known of the sweep.
    pub(super) head: Head,
}

/// A table of cells, and the entry of each point.
#[derive(Debug)]
struct Table {
    keys: Buffer<u64>,
    firsts: Buffer<u32>,
    entries: Buffer<u32>,
}

impl Table {
    fn new(stream: &Stream) -> Result<Self> {
        Ok(Self { keys: stream.alloc(0)?, firsts: stream.alloc(0)?, entries: stream.alloc(0)? })
    }

    /// An empty table for so many points.
    fn empty(&mut self, points: usize) -> Result<Firsts> {
        let entries = (2 * points).next_power_of_two().max(4);
        self.keys.reserve(entries)?;
        self.firsts.reserve(entries)?;
        self.entries.reserve(points)?;
        self.keys.fill_words(NONE, 2 * entries)?;
        self.firsts.fill_words(NONE, entries)?;
        let (keys, firsts) = (self.keys.pointer(), self.firsts.pointer());
        Ok(Firsts { keys, firsts, mask: entries as u32 - 1, seed: seed() })
    }
}

impl DeviceSweep {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            staging: stream.alloc(0)?,
            times: stream.alloc(0)?,
            cells: [Table::new(stream)?, Table::new(stream)?],
            tiles: stream.alloc(0)?,
            on_device: stream.alloc(1)?,
            map_points: stream.alloc(0)?,
            keypoints: stream.alloc(0)?,
            head: Head::NOTHING,
        })
    }

    pub(super) fn sample(
        &mut self,
        points: &Rows<'_>,
        times: Option<&[f64]>,
        params: &OdometryParams,
    ) -> Result<Sampled> {
        self.head = Head::NOTHING;
        if !points.is_empty() {
            self.queue(points, times, params)?;
            self.head = self.on_device.read(1)?[0];
        }
        let Head { usable, keys, mark, .. } = self.head;
        let times = times.filter(|_| usable > 0).map(|_| self.head.span());
        Ok(Sampled { keypoints: keys as usize, usable: usable as usize, times, mark })
    }

    /// Queues all work on a sweep that has points.
    fn queue(&mut self, points: &Rows<'_>, times: Option<&[f64]>, params: &OdometryParams) -> Result<()> {
        let n = points.len();
        self.map_points.reserve(n)?;
        self.keypoints.reserve(n)?;
        self.on_device.write(&[Head::NOTHING])?;
        let points = points.staged(&mut self.staging)?;
        let times = match times {
            None => null(),
            Some(times) => {
                self.times.reserve(n)?;
                self.times.write(times)?;
                self.times.pointer().cast_const()
            }
        };
        let [of_map_points, of_keypoints] = &mut self.cells;
        let (cells, key_cells) = (of_map_points.empty(n)?, of_keypoints.empty(n)?);
        let (entries, key_entries) = (of_map_points.entries.pointer(), of_keypoints.entries.pointer());
        let (samples, keys, head) = (self.map_points.pointer(), self.keypoints.pointer(), self.on_device.pointer());
        let ranges = [params.min_range, params.max_range].map(|range| range * range);
        let tiles = (n as u32).div_ceil(TILE);
        let size = MAP_SAMPLING * params.voxel_size;
        // SAFETY: room was made for all points, and tables have twice as many entries.
        unsafe {
            let args = kernels::SampleArgs { points, times, ranges, size, cells, entries, head };
            self.stream.launch::<kernels::Sample>((n as u32).div_ceil(BLOCK), args)?;
            let args = kernels::ThinArgs {
                points,
                times,
                cells,
                entries,
                samples,
                key_size: params.voxel_size,
                key_cells,
                key_entries,
                head,
                tiles: zeroed(&mut self.tiles, tiles)?,
            };
            self.stream.launch::<kernels::Thin>(tiles, args)?;
            let args = kernels::KeysArgs {
                samples,
                n: Length { bound: n as u32, exact: &raw const (*head).samples },
                cells: key_cells,
                entries: key_entries,
                keys,
                head,
                tiles: zeroed(&mut self.tiles, tiles)?,
            };
            self.stream.launch::<kernels::Keys>(tiles, args)
        }
    }
}
