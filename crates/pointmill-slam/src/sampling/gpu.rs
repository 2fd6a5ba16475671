//! The GPU path.

use super::{Sampled, Sampling};
use pointmill::device::{Buffer, Stream};
use pointmill::internals::{memory, seed};
use pointmill::{Argument, Error, Result, Rows};
use pointmill_core::odometry::view;
use pointmill_kernels::odometry::{self as kernels, Firsts, Head, NONE, Reach, TILE, Timed};
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::null;

/// Points of a sweep, exclusive: kernels give a warp to a keypoint, and threads have numbers of 32
/// bits.
const MAX_POINTS: usize = 1 << 27;

/// Samples and keypoints of a sweep, in the order of the sweep.
#[derive(Debug)]
pub(crate) struct DeviceSampler {
    stream: Stream,
    staging: Buffer<u8>,
    times: Buffer<f64>,
    /// Cells of samples, and of keypoints.
    cells: [Table; 2],
    tiles: Buffer<u32>,
    /// What is seen in each direction.
    view: Buffer<Reach>,
    on_device: Buffer<Head>,
    pub(crate) samples: Buffer<Timed>,
    pub(crate) keypoints: Buffer<Timed>,
    /// What is known of the sweep.
    pub(crate) head: Head,
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

impl DeviceSampler {
    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            staging: stream.alloc(0)?,
            times: stream.alloc(0)?,
            cells: [Table::new(stream)?, Table::new(stream)?],
            tiles: stream.alloc(0)?,
            view: stream.alloc(0)?,
            on_device: stream.alloc(1)?,
            samples: stream.alloc(0)?,
            keypoints: stream.alloc(0)?,
            head: Head::NOTHING,
        })
    }

    pub(crate) fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>, sampling: &Sampling) -> Result<Sampled> {
        if points.len() >= MAX_POINTS {
            let expected = format!("fewer than {MAX_POINTS} points on a GPU");
            return Err(Error::argument(Argument::Points, expected, points.len()));
        }
        self.head = Head::NOTHING;
        if sampling.view {
            self.view.reserve(view::BINS)?;
            self.view.fill_words(NONE, 4 * view::BINS)?;
        }
        if !points.is_empty() {
            self.queue(points, times, sampling)?;
            self.head = self.on_device.read(1)?[0];
        }
        let Head { usable, samples, keys, mark, .. } = self.head;
        let times = times.filter(|_| usable > 0).map(|_| self.head.span());
        Ok(Sampled { samples: samples as usize, keypoints: keys as usize, usable: usable as usize, times, mark })
    }

    /// Queues all work on a sweep that has points.
    fn queue(&mut self, points: &Rows<'_>, times: Option<&[f64]>, sampling: &Sampling) -> Result<()> {
        let n = points.len();
        self.samples.reserve(n)?;
        self.keypoints.reserve(n)?;
        self.on_device.write(&[Head::NOTHING])?;
        let points = points.staged_through_host(&mut self.staging)?;
        let times = match times {
            None => null(),
            Some(times) => {
                self.times.reserve(n)?;
                self.times.write(times)?;
                self.times.pointer().cast_const()
            }
        };
        let [of_samples, of_keypoints] = &mut self.cells;
        let (cells, key_cells) = (of_samples.empty(n)?, of_keypoints.empty(n)?);
        let (entries, key_entries) = (of_samples.entries.pointer(), of_keypoints.entries.pointer());
        let (samples, keys, head) = (self.samples.pointer(), self.keypoints.pointer(), self.on_device.pointer());
        let (ranges, size) = (sampling.squares(), sampling.cell_size);
        let tiles = (n as u32).div_ceil(TILE);
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
                key_size: sampling.keypoint_cell_size.unwrap_or(size),
                key_cells,
                key_entries,
                head,
                tiles: zeroed(&mut self.tiles, tiles)?,
            };
            self.stream.launch::<kernels::Thin>(tiles, args)?;
            if sampling.view {
                let step = view::step(n) as u32;
                let args = kernels::SeeArgs { points, step, ranges, bins: self.view.pointer() };
                self.stream.launch::<kernels::See>((n as u32).div_ceil(step).div_ceil(BLOCK), args)?;
            }
            if sampling.keypoint_cell_size.is_none() {
                return Ok(());
            }
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

    pub(super) fn view(&self) -> Result<Vec<[f64; 2]>> {
        let seen = self.view.read(view::BINS)?;
        let reach = |[least, most]: Reach| match least {
            u64::MAX => [f64::INFINITY, 0.0],
            _ => [f64::from_bits(least), f64::from_bits(!most)],
        };
        memory::collect(seen.into_iter().map(reach))
    }

    pub(super) fn samples(&self) -> Result<Vec<[f64; 3]>> {
        let samples = self.samples.read(self.head.samples as usize)?;
        memory::collect(samples.iter().map(|[x, y, z, _]| [*x, *y, *z]))
    }
}

/// Zeroed state for a pass over so many tiles.
pub(crate) fn zeroed(buffer: &mut Buffer<u32>, tiles: u32) -> Result<Tiles> {
    let words = Tiles::words(tiles) as usize;
    buffer.reserve(words)?;
    buffer.fill_words(0, words)?;
    Ok(Tiles { words: buffer.pointer() })
}
