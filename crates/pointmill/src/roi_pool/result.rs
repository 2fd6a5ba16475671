//! The result on its device.

use super::{PoolMode, RoiArrays, RoiLayout, RoiPoolParams};
use crate::device::{Buffer, Output, Stream};
use crate::{Argument, ElementType, Error, Result, bf16, f16};
use pointmill_kernels::roi_pool::Totals;

/// What a call counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Boxes, B.
    pub boxes: usize,
    /// Boxes that hold nothing because a value is not finite or a size is not positive.
    pub empty_boxes: usize,
    /// Points, N.
    pub points: usize,
    /// Voxels with at least one kept point.
    pub voxels: usize,
    /// Pairs of a box and a point in it; a point in two boxes makes two.
    pub inside: usize,
    /// Pairs whose voxel keeps the point.
    pub kept: usize,
    /// Pairs whose voxel was full.
    pub dropped: usize,
}

impl Report {
    pub(super) fn new(boxes: usize, points: usize, totals: &Totals) -> Self {
        let [voxels, inside, kept] = [totals.rows, totals.inside, totals.kept].map(|n| n as usize);
        let empty_boxes = totals.empty_boxes as usize;
        Self { boxes, empty_boxes, points, voxels, inside, kept, dropped: inside - kept }
    }
}

/// An array in the features' type.
#[derive(Debug)]
pub enum FeatureBuffer {
    /// `f32`.
    F32(Buffer<f32>),
    /// IEEE half precision.
    F16(Buffer<f16>),
    /// The upper half of an `f32`.
    Bf16(Buffer<bf16>),
}

/// An array in the features' type, on the host.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureArray {
    /// `f32`.
    F32(Vec<f32>),
    /// IEEE half precision.
    F16(Vec<f16>),
    /// The upper half of an `f32`.
    Bf16(Vec<bf16>),
}

/// Runs an expression for the buffer of any type.
macro_rules! each {
    ($buffer:expr, $b:ident => $e:expr) => {
        match $buffer {
            FeatureBuffer::F32($b) => $e,
            FeatureBuffer::F16($b) => $e,
            FeatureBuffer::Bf16($b) => $e,
        }
    };
}

impl FeatureBuffer {
    /// An empty buffer, to be filled by a call.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, element: ElementType) -> Result<Self> {
        Ok(match element {
            ElementType::F32 => Self::F32(stream.alloc(0)?),
            ElementType::F16 => Self::F16(stream.alloc(0)?),
            ElementType::Bf16 => Self::Bf16(stream.alloc(0)?),
        })
    }

    /// The type of the values.
    pub const fn element(&self) -> ElementType {
        match self {
            Self::F32(_) => ElementType::F32,
            Self::F16(_) => ElementType::F16,
            Self::Bf16(_) => ElementType::Bf16,
        }
    }

    /// The stream that the buffer belongs to.
    pub const fn stream(&self) -> &Stream {
        each!(self, b => b.stream())
    }

    /// The address on the device.
    pub fn device_pointer(&self) -> u64 {
        each!(self, b => b.device_pointer())
    }

    /// The first `len` values, copied to the host once all earlier work of the stream is done.
    ///
    /// # Errors
    /// More values than there are, whatever the earlier work ran into, or no memory.
    pub fn read(&self, len: usize) -> Result<FeatureArray> {
        Ok(match self {
            Self::F32(b) => FeatureArray::F32(b.read(len)?),
            Self::F16(b) => FeatureArray::F16(b.read(len)?),
            Self::Bf16(b) => FeatureArray::Bf16(b.read(len)?),
        })
    }

    /// Makes this a buffer of `element` with room for at least `len` values. Memory of somebody else must be both before.
    pub(super) fn reserve(&mut self, element: ElementType, len: usize) -> Result<()> {
        if self.element() != element {
            if each!(self, b => b.is_foreign()) {
                let expected = format!("memory of type {}, as it is not pointmill's own", element.name());
                return Err(Error::argument(Argument::Buffer, expected, self.element().name()));
            }
            *self = Self::new(self.stream(), element)?;
        }
        each!(self, b => b.reserve(len).map(drop))
    }

    /// The vector of a CPU buffer of this type.
    pub(super) fn host_mut<E: crate::rows::Feature>(&mut self) -> Option<&mut [E]> {
        match self {
            Self::F32(b) if E::TYPE == ElementType::F32 => b.host_mut().map(|v| bytemuck::cast_slice_mut(v)),
            Self::F16(b) if E::TYPE == ElementType::F16 => b.host_mut().map(|v| bytemuck::cast_slice_mut(v)),
            Self::Bf16(b) if E::TYPE == ElementType::Bf16 => b.host_mut().map(|v| bytemuck::cast_slice_mut(v)),
            _ => None,
        }
    }
}

/// The result of RoI-aware pooling, on the device that made it.
///
/// **Shapes**: see [`RoiLayout`]. The buffers can be longer than that: they are used again by later calls. After a call that failed on the way the result is that of no
/// boxes and no points.
#[derive(Debug)]
pub struct RoiPooled {
    pub(super) pooled: FeatureBuffer,
    pub(super) argmax: Buffer<i32>,
    pub(super) point_indices: Buffer<i32>,
    pub(super) row_splits: Buffer<i64>,
    pub(super) indices: Buffer<i32>,
    pub(super) coords: Buffer<i32>,
    pub(super) totals: Buffer<Totals>,
    pub(super) shape: Shape,
}

/// The arrays of a result, as [`RoiPooled::exchange`] gives and takes them; those that the parameters do not ask for are empty.
#[derive(Debug)]
pub struct RoiBuffers {
    /// The pooled features.
    pub pooled: FeatureBuffer,
    /// The point that each maximum came from.
    pub argmax: Buffer<i32>,
    /// Dense layout: count and kept points.
    pub point_indices: Buffer<i32>,
    /// CSR and sparse layouts: where each row's points start.
    pub row_splits: Buffer<i64>,
    /// CSR and sparse layouts: the points of all rows.
    pub indices: Buffer<i32>,
    /// Sparse layout: box, ix, iy, iz.
    pub coords: Buffer<i32>,
}

impl RoiBuffers {
    /// Empty arrays, which a call makes as long as it needs.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, element: ElementType) -> Result<Self> {
        Ok(Self {
            pooled: FeatureBuffer::new(stream, element)?,
            argmax: stream.alloc(0)?,
            point_indices: stream.alloc(0)?,
            row_splits: stream.alloc(0)?,
            indices: stream.alloc(0)?,
            coords: stream.alloc(0)?,
        })
    }

    fn streams(&self) -> [&Stream; 6] {
        let Self { pooled, argmax, point_indices, row_splits, indices, coords } = self;
        let rest = [argmax.stream(), point_indices.stream(), row_splits.stream(), indices.stream(), coords.stream()];
        let [a, b, c, d, e] = rest;
        [pooled.stream(), a, b, c, d, e]
    }
}

/// What the buffers of the last call hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) boxes: usize,
    pub(super) points: usize,
    pub(super) channels: usize,
    pub(super) out_size: [u32; 3],
    pub(super) max_points: usize,
    pub(super) layout: RoiLayout,
    pub(super) lists: bool,
    pub(super) mode: PoolMode,
    /// Which located scene this was pooled from; zero for none.
    pub(super) scene: u64,
}

impl Shape {
    /// Voxels of all boxes.
    pub(super) fn voxels(&self) -> usize {
        self.out_size.iter().fold(self.boxes, |n, &out| n.saturating_mul(out as usize))
    }

    /// Rows that `pooled` has, given the number of non-empty voxels.
    pub(super) fn rows(&self, voxels: usize) -> usize {
        if self.layout == RoiLayout::Sparse { voxels } else { self.voxels() }
    }
}

impl RoiPooled {
    pub(super) fn new(stream: &Stream, params: &RoiPoolParams) -> Result<Self> {
        let mut totals = Buffer::alloc_shared(stream, 1)?;
        totals.write(&[Totals::default()])?;
        Ok(Self {
            pooled: FeatureBuffer::new(stream, ElementType::F32)?,
            argmax: stream.alloc(0)?,
            point_indices: stream.alloc(0)?,
            row_splits: stream.alloc(0)?,
            indices: stream.alloc(0)?,
            coords: stream.alloc(0)?,
            totals,
            shape: Shape {
                boxes: 0,
                points: 0,
                channels: 1,
                out_size: params.out_size,
                max_points: params.max_points_per_voxel as usize,
                layout: params.layout,
                lists: params.lists,
                mode: params.mode,
                scene: 0,
            },
        })
    }

    /// Puts other arrays in place of those of this result and returns these: to take what a call made without a copy, or to have the next call write to memory of the
    /// caller's ([`Buffer::from_raw_cuda`]). Until that call the result is that of no boxes and no points.
    ///
    /// **Shapes**: memory that is not pointmill's own must have room for all that a call can write, and `pooled` for an even number of values; own buffers grow.
    ///
    /// # Errors
    /// Arrays of another stream; then the result is as it was.
    pub fn exchange(&mut self, arrays: RoiBuffers) -> Result<RoiBuffers> {
        let own = self.stream();
        let foreign = |other: &&Stream| !(own.same_queue(other) && own.device().same_memory(&other.device()));
        if arrays.streams().iter().any(foreign) {
            return Err(Error::argument(
                Argument::Arrays,
                "arrays of the stream of the result",
                "arrays of another one",
            ));
        }
        self.clear();
        let RoiBuffers { pooled, argmax, point_indices, row_splits, indices, coords } = arrays;
        Ok(RoiBuffers {
            pooled: std::mem::replace(&mut self.pooled, pooled),
            argmax: std::mem::replace(&mut self.argmax, argmax),
            point_indices: std::mem::replace(&mut self.point_indices, point_indices),
            row_splits: std::mem::replace(&mut self.row_splits, row_splits),
            indices: std::mem::replace(&mut self.indices, indices),
            coords: std::mem::replace(&mut self.coords, coords),
        })
    }

    /// From here on the result is that of no boxes and no points, until a call has succeeded.
    pub(super) const fn clear(&mut self) {
        (self.shape.boxes, self.shape.points, self.shape.scene) = (0, 0, 0);
    }

    /// The stream that the result belongs to.
    pub const fn stream(&self) -> &Stream {
        self.argmax.stream()
    }

    /// The pooled features: `[B, ox, oy, oz, C]`, or `[R, C]` in the sparse layout.
    pub const fn pooled(&self) -> &FeatureBuffer {
        &self.pooled
    }

    /// For maxima, the point each came from, or -1; shaped as `pooled`.
    pub fn argmax(&self) -> Option<&Buffer<i32>> {
        (self.shape.mode == PoolMode::Max).then_some(&self.argmax)
    }

    /// Dense layout: `[B, ox, oy, oz, M]`, count and kept points.
    pub fn point_indices(&self) -> Option<&Buffer<i32>> {
        (self.shape.lists && self.shape.layout == RoiLayout::Dense).then_some(&self.point_indices)
    }

    /// CSR and sparse layouts: where each row's points start, and the points of all rows, ascending in each.
    pub fn lists(&self) -> Option<(&Buffer<i64>, &Buffer<i32>)> {
        (self.shape.lists && self.shape.layout != RoiLayout::Dense).then_some((&self.row_splits, &self.indices))
    }

    /// Sparse layout: `[R, 4]`, box, ix, iy, iz; ascending.
    pub fn coords(&self) -> Option<&Buffer<i32>> {
        (self.shape.layout == RoiLayout::Sparse).then_some(&self.coords)
    }

    /// The number of non-empty voxels, R. On a GPU this waits for the call to finish.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn num_voxels(&self) -> Result<usize> {
        Ok(self.totals()?.rows as usize)
    }

    /// The number of rows that a call under way asks for. On a GPU this waits for what is queued.
    pub(super) fn rows_asked_for(&self) -> Result<usize> {
        Ok(self.totals_of_device()?.rows as usize)
    }

    /// What the call counted. On a GPU this waits for the call to finish.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn report(&self) -> Result<Report> {
        Ok(Report::new(self.shape.boxes, self.shape.points, &self.totals()?))
    }

    fn totals(&self) -> Result<Totals> {
        if self.shape.scene == 0 {
            return Ok(Totals::default());
        }
        self.totals_of_device()
    }

    fn totals_of_device(&self) -> Result<Totals> {
        let mut totals = [Totals::default()];
        self.totals.read_into(&mut totals)?;
        Ok(totals[0])
    }

    /// Copies everything to the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<RoiArrays> {
        let s = &self.shape;
        let report = self.report()?;
        let rows = s.rows(report.voxels);
        let values = values_of(rows, s.channels)?;
        // The splits of a result that no call has filled are not written.
        let splits = |splits: &Buffer<i64>| if s.scene == 0 { Ok(vec![0]) } else { splits.read(rows + 1) };
        Ok(RoiArrays {
            boxes: s.boxes,
            out_size: s.out_size,
            channels: s.channels,
            max_points: s.max_points,
            layout: s.layout,
            pooled: self.pooled.read(values)?,
            argmax: self.argmax().map(|b| b.read(values)).transpose()?,
            point_indices: self.point_indices().map(|b| b.read(values_of(rows, s.max_points)?)).transpose()?,
            row_splits: self.lists().map(|(buffer, _)| splits(buffer)).transpose()?,
            indices: self.lists().map(|(_, indices)| indices.read(report.kept)).transpose()?,
            coords: self.coords().map(|b| b.read(rows * 4)).transpose()?,
            report,
        })
    }
}

impl Output for FeatureBuffer {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        each!(self, b => b.set_stream(stream));
    }
}

impl Output for RoiPooled {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        let Self { pooled, argmax, point_indices, row_splits, indices, coords, totals, shape: _ } = self;
        pooled.set_stream(stream);
        for buffer in [argmax, point_indices, indices, coords] {
            buffer.set_stream(stream);
        }
        row_splits.set_stream(stream);
        totals.set_stream(stream);
    }
}

/// The number of values of an array of the result.
///
/// # Errors
/// More than an array can have on any device.
pub(super) fn values_of(rows: usize, of_row: usize) -> Result<usize> {
    rows.checked_mul(of_row).filter(|n| *n < usize::MAX / 8).ok_or_else(|| {
        let got = format!("{rows} rows of {of_row}");
        Error::argument(Argument::Scene, format!("a result of fewer than {} values", usize::MAX / 8), got)
    })
}
