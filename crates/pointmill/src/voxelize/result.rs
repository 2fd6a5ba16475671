//! The result on its device.

use super::{MeanArray, MeanType, VoxelArrays, VoxelizeParams};
use crate::device::{Buffer, Notice, Output, Stream};
use crate::{Argument, Error, Result};
use pointmill_kernels::voxelize::{Counters, LOST};

/// What a call counted. Every input point is in exactly one of `points_kept`, the two `points_dropped_..`, `out_of_range` and `non_finite`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Input points.
    pub points: usize,
    /// Rows of the result, V.
    pub voxels: usize,
    /// Cells with at least one point.
    pub voxels_found: usize,
    /// Cells that got no row because of `max_voxels`.
    pub voxels_dropped: usize,
    /// Points that a row keeps.
    pub points_kept: usize,
    /// Points of a row that was full.
    pub points_dropped_full_voxel: usize,
    /// Points of a cell that got no row.
    pub points_dropped_dropped_voxel: usize,
    /// Finite points outside the grid.
    pub out_of_range: usize,
    /// Points with a NaN or an infinity in x, y or z.
    pub non_finite: usize,
}

impl Report {
    pub(super) fn new(points: usize, c: &Counters) -> Self {
        let [voxels, found, non_finite, out_of_range, dropped, kept] =
            [c.voxels, c.found, c.non_finite, c.out_of_range, c.dropped_voxel, c.kept].map(|v| v as usize);
        Self {
            points,
            voxels,
            voxels_found: found,
            voxels_dropped: found - voxels,
            points_kept: kept,
            points_dropped_full_voxel: points - non_finite - out_of_range - dropped - kept,
            points_dropped_dropped_voxel: dropped,
            out_of_range,
            non_finite,
        }
    }
}

/// The result of voxelization, on the device that made it.
///
/// **Shapes**: with V rows, M points a voxel and C columns: `coords` `[V, 3]` z, y, x or `[V, 4]` with the sample in front, `num_points` `[V]`, `voxels`
/// `[V, M, C]` zero-padded, `mean` `[V, C]`, `point_to_voxel` `[N]` with -1 for points without a row, lists: `row_splits` `[V + 1]` and `indices`. The buffers
/// can be longer than that: they are used again by later calls. After a call that failed on the way the result has no rows and is of no points.
#[derive(Debug)]
pub struct Voxels {
    pub(super) coords: Buffer<i32>,
    pub(super) num_points: Buffer<i32>,
    pub(super) voxels: Option<Buffer<f32>>,
    pub(super) mean: Option<Mean>,
    pub(super) point_to_voxel: Option<Buffer<i32>>,
    pub(super) lists: Option<Lists>,
    pub(super) voxel_splits: Buffer<u32>,
    pub(super) counters: Buffer<Counters>,
    pub(super) for_host: Notice,
    pub(super) shape: Shape,
    /// Whether a call filled the arrays. Else the result has no rows, whatever is in them.
    pub(super) filled: bool,
}

/// The arrays of a result, as [`Voxels::exchange`] gives and takes them; which of them there are is what [`Outputs`](super::Outputs) asks for.
#[derive(Debug)]
pub struct VoxelBuffers {
    /// Cells, z, y, x.
    pub coords: Buffer<i32>,
    /// Kept points of each row.
    pub num_points: Buffer<i32>,
    /// The kept points.
    pub voxels: Option<Buffer<f32>>,
    /// The means.
    pub mean: Option<Mean>,
    /// The row of each point.
    pub point_to_voxel: Option<Buffer<i32>>,
    /// The points of each row.
    pub lists: Option<Lists>,
}

/// What the buffers of the last call hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) points: usize,
    pub(super) columns: usize,
    pub(super) max_points: usize,
    pub(super) coord_columns: usize,
    pub(super) samples: usize,
    /// No call can have more rows than this.
    pub(super) rows_bound: usize,
    /// Whether the arrays have `rows_bound` rows whatever V is.
    pub(super) padded: bool,
}

/// Means in either element type.
#[derive(Debug)]
pub enum Mean {
    /// `f32`.
    F32(Buffer<f32>),
    /// The bits of `f16`.
    F16(Buffer<u16>),
}

/// The points of each voxel, without padding.
#[derive(Debug)]
pub struct Lists {
    /// `[V + 1]`: where each row's points start.
    pub row_splits: Buffer<u32>,
    /// The points of all rows, row after row, ascending in each.
    pub indices: Buffer<u32>,
}

impl VoxelBuffers {
    /// Empty arrays, which a call makes as long as it needs.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, params: &VoxelizeParams) -> Result<Self> {
        let outputs = &params.outputs;
        Ok(Self {
            coords: stream.alloc(0)?,
            num_points: stream.alloc(0)?,
            voxels: outputs.voxels.then(|| stream.alloc(0)).transpose()?,
            mean: match outputs.mean {
                None => None,
                Some(MeanType::F32) => Some(Mean::F32(stream.alloc(0)?)),
                Some(MeanType::F16) => Some(Mean::F16(stream.alloc(0)?)),
            },
            point_to_voxel: outputs.point_to_voxel.then(|| stream.alloc(0)).transpose()?,
            lists: params
                .needs_lists()
                .then(|| Ok::<_, Error>(Lists { row_splits: stream.alloc(0)?, indices: stream.alloc(0)? }))
                .transpose()?,
        })
    }

    /// Which arrays there are.
    const fn kinds(&self) -> [bool; 5] {
        let Self { voxels, mean, point_to_voxel, lists, .. } = self;
        kinds(voxels, mean, point_to_voxel, lists)
    }

    /// Whether all arrays belong to this stream.
    fn belong_to(&self, stream: &Stream) -> bool {
        let Self { coords, num_points, voxels, mean, point_to_voxel, lists } = self;
        let own = |other: &Stream| stream.same_queue(other) && stream.device().same_memory(&other.device());
        own(coords.stream())
            && own(num_points.stream())
            && voxels.iter().all(|b| own(b.stream()))
            && mean.iter().all(|m| match m {
                Mean::F32(b) => own(b.stream()),
                Mean::F16(b) => own(b.stream()),
            })
            && point_to_voxel.iter().all(|b| own(b.stream()))
            && lists.iter().all(|l| own(l.row_splits.stream()) && own(l.indices.stream()))
    }
}

impl Voxels {
    pub(super) fn new(stream: &Stream, params: &VoxelizeParams) -> Result<Self> {
        let VoxelBuffers { coords, num_points, voxels, mean, point_to_voxel, lists } =
            VoxelBuffers::new(stream, params)?;
        Ok(Self {
            coords,
            num_points,
            voxels,
            mean,
            point_to_voxel,
            lists,
            voxel_splits: stream.alloc(0)?,
            counters: stream.upload(&[Counters::default()])?,
            for_host: Notice::new(stream)?,
            shape: Shape::default(),
            filled: false,
        })
    }

    /// Puts other arrays in place of those of this result and returns these: to take what a call made without a copy, or to have the next call write to memory of the
    /// caller's ([`Buffer::from_raw_cuda`]). Until that call the result has no rows.
    ///
    /// **Shapes**: memory that is not pointmill's own must have room for min(N, `max_voxels` for each sample) rows, padded results for `max_voxels` rows a sample; own buffers grow.
    ///
    /// ```
    /// use pointmill::voxelize::{VoxelBuffers, VoxelizeParams, Voxelizer};
    /// use pointmill::{Device, Points};
    ///
    /// let (stream, params) = (Device::cpu().stream()?, VoxelizeParams::default());
    /// let mut voxelizer = Voxelizer::new(&stream, &params)?;
    /// let mut voxels = voxelizer.output()?;
    /// voxelizer.run(Points::new(&[1.0, 2.0, 0.0], 3)?, &mut voxels)?;
    /// let made = voxels.exchange(VoxelBuffers::new(&stream, &params)?)?;
    /// assert_eq!(made.num_points.into_vec(), Some(vec![1]));
    /// assert_eq!(voxels.num_voxels()?, 0);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// Other arrays than the parameters ask for, or of another stream; then the result is as it was.
    pub fn exchange(&mut self, arrays: VoxelBuffers) -> Result<VoxelBuffers> {
        if !arrays.belong_to(self.stream()) {
            return Err(Error::argument(
                Argument::Arrays,
                "arrays of the stream of the result",
                "arrays of another one",
            ));
        }
        if arrays.kinds() != self.kinds() {
            return Err(Error::argument(Argument::Arrays, "the arrays that the parameters ask for", "others"));
        }
        let own = VoxelBuffers {
            coords: std::mem::replace(&mut self.coords, arrays.coords),
            num_points: std::mem::replace(&mut self.num_points, arrays.num_points),
            voxels: self.voxels.take(),
            mean: self.mean.take(),
            point_to_voxel: self.point_to_voxel.take(),
            lists: self.lists.take(),
        };
        (self.voxels, self.mean) = (arrays.voxels, arrays.mean);
        (self.point_to_voxel, self.lists) = (arrays.point_to_voxel, arrays.lists);
        self.clear();
        Ok(own)
    }

    /// From here on the result has no rows and is of no points, until a call has succeeded.
    pub(super) const fn clear(&mut self) {
        self.filled = false;
        (self.shape.points, self.shape.samples, self.shape.rows_bound) = (0, 0, 0);
    }

    /// Which arrays there are.
    const fn kinds(&self) -> [bool; 5] {
        kinds(&self.voxels, &self.mean, &self.point_to_voxel, &self.lists)
    }

    /// The stream that the result belongs to.
    pub const fn stream(&self) -> &Stream {
        self.coords.stream()
    }

    /// The number of points that went in, N.
    pub const fn num_input_points(&self) -> usize {
        self.shape.points
    }

    /// The number of rows, V. On a GPU this waits until the call has counted them, while it may still write them: whoever reads them does so in the stream's order, as always.
    /// Where no wait is wanted, [`Voxels::num_voxels_device`] has it.
    ///
    /// # Errors
    /// Whatever the queued work ran into so far.
    pub fn num_voxels(&self) -> Result<usize> {
        if !self.filled {
            return Ok(0);
        }
        let told = self.for_host.wait()?;
        // Only a report says how many.
        if told & LOST > 0 {
            self.counters()?;
        }
        Ok((told & !LOST) as usize)
    }

    /// The address on the device of the number of rows, a `u32`.
    pub fn num_voxels_device(&self) -> u64 {
        self.counters.device_pointer()
    }

    /// What the call counted. On a GPU this waits for the call to finish.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn report(&self) -> Result<Report> {
        if !self.filled {
            return Ok(Report::default());
        }
        Ok(Report::new(self.shape.points, &self.counters()?))
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = [Counters::default()];
        self.counters.read_into(&mut counters)?;
        let [counters] = counters;
        check_lost(counters.lost)?;
        Ok(counters)
    }

    /// Cells, z, y, x.
    pub const fn coords(&self) -> &Buffer<i32> {
        &self.coords
    }

    /// Kept points of each row.
    pub const fn num_points(&self) -> &Buffer<i32> {
        &self.num_points
    }

    /// The kept points, if asked for.
    pub const fn voxels(&self) -> Option<&Buffer<f32>> {
        self.voxels.as_ref()
    }

    /// The means, if asked for.
    pub const fn mean(&self) -> Option<&Mean> {
        self.mean.as_ref()
    }

    /// The row of each point, if asked for.
    pub const fn point_to_voxel(&self) -> Option<&Buffer<i32>> {
        self.point_to_voxel.as_ref()
    }

    /// The points of each row, if asked for.
    pub const fn lists(&self) -> Option<&Lists> {
        self.lists.as_ref()
    }

    /// For batches: where each sample's rows start, `[B + 1]`.
    pub const fn voxel_splits(&self) -> Option<&Buffer<u32>> {
        if self.shape.coord_columns == 4 { Some(&self.voxel_splits) } else { None }
    }

    /// Takes over the lengths of the vectors that the CPU path filled.
    pub(super) fn sync_len(&mut self) {
        self.coords.sync_len();
        self.num_points.sync_len();
        self.voxel_splits.sync_len();
        self.voxels.iter_mut().for_each(Buffer::sync_len);
        self.point_to_voxel.iter_mut().for_each(Buffer::sync_len);
        match &mut self.mean {
            Some(Mean::F32(b)) => b.sync_len(),
            Some(Mean::F16(b)) => b.sync_len(),
            None => {}
        }
        if let Some(lists) = &mut self.lists {
            lists.row_splits.sync_len();
            lists.indices.sync_len();
        }
    }

    /// Copies everything to the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<VoxelArrays> {
        let s = &self.shape;
        let report = self.report()?;
        let rows = if s.padded { s.rows_bound } else { report.voxels };
        Ok(VoxelArrays {
            num_voxels: report.voxels,
            coord_columns: s.coord_columns,
            columns: s.columns,
            max_points: s.max_points,
            coords: self.coords.read(rows * s.coord_columns)?,
            num_points: self.num_points.read(rows)?,
            voxels: self.voxels.as_ref().map(|b| b.read(rows * s.max_points * s.columns)).transpose()?,
            mean: match &self.mean {
                None => None,
                Some(Mean::F32(b)) => Some(MeanArray::F32(b.read(rows * s.columns)?)),
                Some(Mean::F16(b)) => Some(MeanArray::F16(b.read(rows * s.columns)?)),
            },
            point_to_voxel: self.point_to_voxel.as_ref().map(|b| b.read(s.points)).transpose()?,
            lists: self
                .lists
                .as_ref()
                .map(|l| match self.filled {
                    false => Ok((vec![0], Vec::new())),
                    true => {
                        Ok::<_, Error>((l.row_splits.read(report.voxels + 1)?, l.indices.read(report.points_kept)?))
                    }
                })
                .transpose()?,
            voxel_splits: self
                .voxel_splits()
                .map(|b| if self.filled { b.read(s.samples + 1) } else { Ok(vec![0]) })
                .transpose()?,
            report,
        })
    }
}

impl Output for Voxels {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        let Self {
            coords,
            num_points,
            voxels,
            mean,
            point_to_voxel,
            lists,
            voxel_splits,
            counters,
            for_host,
            shape: _,
            filled: _,
        } = self;
        for buffer in [coords, num_points].into_iter().chain(point_to_voxel) {
            buffer.set_stream(stream);
        }
        voxels.iter_mut().for_each(|b| b.set_stream(stream));
        match mean {
            Some(Mean::F32(b)) => b.set_stream(stream),
            Some(Mean::F16(b)) => b.set_stream(stream),
            None => {}
        }
        if let Some(lists) = lists {
            lists.row_splits.set_stream(stream);
            lists.indices.set_stream(stream);
        }
        voxel_splits.set_stream(stream);
        counters.set_stream(stream);
        for_host.set_stream(stream);
    }
}

const fn kinds(
    voxels: &Option<Buffer<f32>>,
    mean: &Option<Mean>,
    point_to_voxel: &Option<Buffer<i32>>,
    lists: &Option<Lists>,
) -> [bool; 5] {
    let half = matches!(mean, Some(Mean::F16(_)));
    [voxels.is_some(), mean.is_some(), half, point_to_voxel.is_some(), lists.is_some()]
}

fn check_lost(lost: u32) -> Result<()> {
    if lost == 0 { Ok(()) } else { Err(Error::Internal { what: format!("{lost} cells found the table full") }) }
}
