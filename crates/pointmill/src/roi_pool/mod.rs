//! RoI-aware pooling: the points in each oriented box, binned into the box's voxels, and their
//! features pooled. With it, points in boxes.
//!
//! A [`RoiPooler`] keeps its memory between calls; [`roi_pool`] is the one-shot form;
//! [`PointsInBoxes`] answers which points lie in which box. The same input gives the same bits on
//! every device, in every run and with any number of threads, gradients included.
//!
//! # Inside, and in which voxel
//! See [`OrientedBox`](pointmill_core::OrientedBox): `f32`, faces closed in z and open in x and y.
//! NaN and infinite points are outside. Boxes with a value that is not finite or a size that is not
//! positive hold nothing, and are counted.
//!
//! # Order and caps
//! The points of a voxel are listed by ascending index. The first `max_points_per_voxel` are kept;
//! with 0 none is. Points that are not kept are neither pooled nor given a gradient.
//!
//! # Waiting
//! On a GPU a call only queues work, with one exception: where boxes x points exceeds what the
//! memory for lists was made for, the call waits to learn how long the lists are, and is repeated
//! with more memory if there was too little. That memory is made for up to 2^24 pairs at first and
//! grows as needed.
//!
//! # Source
//! The semantics of mmcv's `roiaware_pool3d` (Shi et al., PartA2, 2020), without its defects:
//! 64-bit offsets, signed clamp, NaN outside, deterministic gradients.

mod arrays;
mod cpu;
mod gpu;
mod inside;
mod lists;
mod params;
mod query;
mod report;
mod result;
mod scene;
#[cfg(test)]
mod tests;

pub use arrays::{RoiArray, RoiArrays};
pub use inside::PointsInBoxes;
pub use lists::{BoxListArray, BoxLists};
pub use params::{BoxParams, MAX_VOXELS, PoolMode, RoiLayout, RoiPoolParams};
pub use query::{BoxArrays, BoxFound, BoxQuery, BoxReport};
pub use report::Report;
pub use result::RoiPooled;
pub use scene::{MAX_COLUMNS, MAX_LEN, Scene};

use crate::arrays::{AnyBuffer, ArraySpec, Arrays};
use crate::device::{Buffer, Device, Side, Stream};
use crate::{Argument, Dtype, Error, Result, Rows, ensure};
use arrays::Extent;
use scene::FEATURES;

/// Pools the features of the points in each box.
///
/// **Shapes**: see [`Scene`]; `features` `[N, C]`, C >= 1, of type `f32`, `f16` or `bf16`. The
/// result, in the features' type, is described at [`RoiLayout`].
///
/// **Units and frames**: see [`Scene`].
///
/// **Order and determinism**: see the [module](self). The maximum is the first of the largest
/// values; NaN and minus infinity never win, and where nothing wins the result is 0 with `argmax`
/// -1. The mean adds in `f32` in point order, divides once and is rounded once. Empty voxels are 0.
///
/// **Limits**: fewer than 2^31 boxes, points and channels, fewer than 2^32 voxels a box; offsets
/// are 64-bit.
///
/// # Errors
/// Parameters out of range, arrays that do not fit together, out of memory, a lost device.
///
/// ```
/// use pointmill::roi_pool::{RoiLayout, RoiPoolParams, Scene, roi_pool};
/// use pointmill::{Device, Rows};
///
/// let boxes = [0.0f32, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0];
/// let points = [1.5f32, 0.5, 0.5, /**/ 1.6, 0.4, 0.4, /**/ 3.0, 0.0, 0.0];
/// let features = [1.0f32, 5.0, 7.0];
/// let params = RoiPoolParams { out_size: [2, 2, 2], layout: RoiLayout::Sparse, ..RoiPoolParams::default() };
/// let scene = Scene::new(Rows::new(&boxes, 7)?, Rows::new(&points, 3)?);
/// let pooled = roi_pool(scene, Rows::new(&features, 1)?, &params, &Device::cpu())?.read()?;
/// assert_eq!(pooled.coords.unwrap(), [0, 1, 1, 0]); // box, ix, iy, iz
/// assert_eq!((pooled.indices.unwrap(), pooled.argmax.unwrap()), (vec![0, 1], vec![1]));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn roi_pool<'a>(
    scene: Scene<'a>,
    features: impl Into<Rows<'a>>,
    params: &RoiPoolParams,
    device: &Device,
) -> Result<RoiPooled> {
    let mut pooler = RoiPooler::new(&device.stream()?, params)?;
    let mut pooled = pooler.output()?;
    pooler.run(scene, features, &mut pooled)?;
    Ok(pooled)
}

/// Pools call after call, and keeps its memory.
///
/// On a GPU calls can be recorded in a graph ([`Stream::capture`]), but for the gradient of a
/// sparse result, which waits. A graph with `run` or `locate` locates its scene whenever it is
/// launched; the result recorded with it belongs to that scene, and results of calls after the
/// recording no longer to any: use another pooler for those.
///
/// [`RoiPooler::run`] does all at once. [`RoiPooler::locate`] finds the voxel of each point, after which [`RoiPooler::pool`] may be called any number of times, for other
/// features or the other mode, and [`RoiPooler::backward`] for the gradient.
///
/// ```
/// use pointmill::roi_pool::{PoolMode, RoiPoolParams, RoiPooler, Scene};
/// use pointmill::{AnyArray, AnyBuffer, Device, Dtype, Rows};
///
/// let stream = Device::auto().stream()?;
/// let mut pooler = RoiPooler::new(&stream, &RoiPoolParams { out_size: [1, 1, 1], ..RoiPoolParams::default() })?;
/// let (boxes, points) = ([0.0f32, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0], [0.5f32, 0.0, 1.0, 0.6, 0.0, 1.0]);
/// pooler.locate(Scene::new(Rows::new(&boxes, 7)?, Rows::new(&points, 3)?))?;
/// let (mut max, mut mean) = (pooler.output()?, pooler.output()?);
/// pooler.pool(Rows::new(&[1.0f32, 2.0], 1)?, PoolMode::Max, &mut max)?;
/// pooler.pool(Rows::new(&[1.0f32, 2.0], 1)?, PoolMode::Mean, &mut mean)?;
/// let mut gradient = AnyBuffer::new(&stream, Dtype::F32)?;
/// pooler.backward(&mean, Rows::new(&[1.0f32], 1)?, &mut gradient)?;
/// assert_eq!(gradient.read(2)?, AnyArray::F32(vec![0.5, 0.5]));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct RoiPooler {
    params: RoiPoolParams,
    stream: Stream,
    side: Side<cpu::Workspace, gpu::Workspace>,
    /// Boxes and points of the located scene.
    len: (usize, usize),
    /// The number of the located scene, from 1 on; 0 for none.
    scene: u64,
}

impl RoiPooler {
    /// A pooler whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &RoiPoolParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(cpu::Workspace::default()), || gpu::Workspace::new(stream))?;
        Ok(Self { params: params.clone(), stream: stream.clone(), side, len: (0, 0), scene: 0 })
    }

    /// The parameters.
    pub const fn params(&self) -> &RoiPoolParams {
        &self.params
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<RoiPooled> {
        RoiPooled::new(&self.stream, &self.params)
    }

    /// Finds the voxel of each point in each box.
    ///
    /// # Errors
    /// Boxes and points that are not such (see [`Scene`]), out of memory.
    pub fn locate(&mut self, scene: Scene<'_>) -> Result<()> {
        scene.check(&self.stream)?;
        let next = next_scene();
        let Self { params, stream, side, .. } = self;
        // Until all is done there is no located scene.
        self.scene = 0;
        side.run(
            stream,
            &scene.streams(),
            |workspace| workspace.locate(&scene, params),
            |workspace| workspace.locate(&scene, params),
        )?;
        (self.len, self.scene) = ((scene.num_boxes(), scene.num_points()), next);
        Ok(())
    }

    /// Pools features over the voxels of the located scene.
    ///
    /// # Errors
    /// No located scene; features of another number of rows or on another device, no channels;
    /// `pooled` from another device; out of memory.
    pub fn pool<'a>(&mut self, features: impl Into<Rows<'a>>, mode: PoolMode, pooled: &mut RoiPooled) -> Result<()> {
        let features = features.into();
        ensure(self.scene != 0, Argument::Scene, "a located scene (RoiPooler::locate)", "none")?;
        self.check_features(self.len.1, &features, pooled)?;
        let extent = self.extent(self.len, &features, mode);
        let Self { stream, side, .. } = self;
        pooled.clear();
        side.fill(
            stream,
            &[features.stream()],
            pooled,
            |workspace, pooled| workspace.pool(&features, &extent, pooled),
            |workspace, pooled| workspace.pool(&features, &extent, pooled),
        )?;
        pooled.extent = extent;
        Ok(())
    }

    /// [`RoiPooler::locate`] and [`RoiPooler::pool`] in one, with the mode of the parameters. On a GPU nothing waits between the two.
    ///
    /// # Errors
    /// As the two.
    pub fn run<'a>(&mut self, scene: Scene<'_>, features: impl Into<Rows<'a>>, pooled: &mut RoiPooled) -> Result<()> {
        self.run_checked(scene, features.into(), pooled, |_, _| Ok(()))
    }

    /// See [`interop::roi_pool_into`](crate::interop::roi_pool_into).
    pub(crate) fn run_into<E: From<Error>>(
        &mut self,
        scene: Scene<'_>,
        features: Rows<'_>,
        pooled: &mut RoiPooled,
        arrays: impl FnOnce(&[ArraySpec<RoiArray>]) -> std::result::Result<Arrays<RoiArray>, E>,
    ) -> std::result::Result<Arrays<RoiArray>, E> {
        self.run_checked(scene, features, pooled, |pooled, extent| {
            Ok(pooled.exchange(arrays(&extent.bound().collect::<Vec<_>>())?)?)
        })
    }

    /// Calls `arrays` once in the course of the call, before anything is written to the result, and
    /// returns what it does.
    fn run_checked<R, E: From<Error>>(
        &mut self,
        scene: Scene<'_>,
        features: Rows<'_>,
        pooled: &mut RoiPooled,
        arrays: impl FnOnce(&mut RoiPooled, &Extent) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        scene.check(&self.stream)?;
        self.check_features(scene.num_points(), &features, pooled)?;
        let next = next_scene();
        let len = (scene.num_boxes(), scene.num_points());
        let extent = Extent { scene: next, ..self.extent(len, &features, self.params.mode) };
        let Self { params, stream, side: Side::Gpu(workspace), scene: located, .. } = self else {
            pooled.clear();
            self.locate(scene)?;
            let made = arrays(pooled, &extent)?;
            self.pool(features, self.params.mode, pooled)?;
            return Ok(made);
        };
        let [boxes, points] = scene.streams();
        let made = stream.in_order_with(&[boxes, points, features.stream()], pooled, |pooled| {
            *located = 0;
            pooled.clear();
            workspace.run(&scene, params, &features, &extent, pooled, |pooled| arrays(pooled, &extent))
        })?;
        (self.len, self.scene) = (len, next);
        pooled.extent = extent;
        Ok(made)
    }

    /// See [`interop::located_scene`](crate::interop::located_scene).
    pub(crate) const fn scene(&self) -> Option<u64> {
        if self.scene == 0 { None } else { Some(self.scene) }
    }

    /// See [`interop::restore`](crate::interop::restore).
    pub(crate) fn restore(&self, pooled: &mut RoiPooled, dtype: Dtype, channels: usize, mode: PoolMode) -> Result<()> {
        ensure(self.scene != 0, Argument::Scene, "a located scene (RoiPooler::locate)", "none")?;
        ensure(self.params.layout != RoiLayout::Sparse, Argument::Layout, "dense or CSR", "sparse")?;
        let expected = format_args!("1 to {}", i32::MAX);
        ensure((1..=i32::MAX as usize).contains(&channels), Argument::Channels, expected, channels)?;
        self.stream.check_memory(Argument::Pooled, "memory of", pooled.stream())?;
        let extent = Extent { channels, dtype, mode, scene: self.scene, ..Extent::new(&self.params, self.len) };
        let values = if mode == PoolMode::Max { extent.voxels().saturating_mul(channels) } else { 0 };
        let room = pooled.arrays.get(RoiArray::Argmax).and_then(AnyBuffer::typed::<i32>).map_or(0, Buffer::len);
        ensure(room >= values, Argument::Argmax, format_args!("{values} values"), room)?;
        pooled.extent = extent;
        Ok(())
    }

    /// See [`interop::prepare_backward`](crate::interop::prepare_backward).
    pub(crate) fn prepare_backward(&mut self, pooled: &RoiPooled) -> Result<()> {
        self.check_scene(pooled)?;
        let Self { stream, side, .. } = self;
        side.run(stream, &[Some(pooled.stream())], |_| Ok(()), |workspace| workspace.prepare_backward(pooled))
    }

    /// The gradient of the features, `[N, C]`, from that of a result pooled from the located scene.
    ///
    /// **Shapes**: `grad_pooled` has the rows (`[B, ox, oy, oz, C]` or `[R, C]`) and the type of
    /// `pooled`.
    ///
    /// **Order and determinism**: the gradient of a maximum goes to the point it came from, that of
    /// a mean in equal parts to the kept points. A point's terms are added in `f32` in the order of
    /// the boxes, from zero, and rounded once.
    ///
    /// # Errors
    /// A result that is not of the located scene; a gradient of another shape, type or device; out
    /// of memory.
    pub fn backward<'a>(
        &mut self,
        pooled: &RoiPooled,
        grad_pooled: impl Into<Rows<'a>>,
        grad_features: &mut AnyBuffer,
    ) -> Result<()> {
        let grad = grad_pooled.into();
        let extent = &pooled.extent;
        self.check_scene(pooled)?;
        grad.check(Argument::GradPooled, &self.stream, &FEATURES)?;
        self.stream.check_memory(Argument::GradFeatures, "memory of", grad_features.stream())?;
        let expected = format_args!("{} channels", extent.channels);
        ensure(grad.columns() == extent.channels, Argument::GradPooled, expected, grad.columns())?;
        let expected = format_args!("values of type {}", extent.dtype);
        ensure(grad.dtype() == extent.dtype, Argument::GradPooled, expected, grad.dtype())?;
        // A sparse result's rows are counted on the device; a longer gradient is as good.
        let rows = if extent.layout == RoiLayout::Sparse { pooled.num_voxels()? } else { extent.voxels() };
        let fits = grad.len() == rows || (extent.layout == RoiLayout::Sparse && grad.len() > rows);
        ensure(fits, Argument::GradPooled, format_args!("{rows} rows"), grad.len())?;
        let Self { stream, side, .. } = self;
        side.fill(
            stream,
            &[grad.stream(), Some(pooled.stream())],
            grad_features,
            |workspace, out| workspace.backward(pooled, &grad, out),
            |workspace, out| workspace.backward(pooled, &grad, out),
        )
    }

    /// What a call with these features fills.
    fn extent(&self, len: (usize, usize), features: &Rows<'_>, mode: PoolMode) -> Extent {
        let extent = Extent::new(&self.params, len);
        Extent { channels: features.columns(), dtype: features.dtype(), mode, scene: self.scene, ..extent }
    }

    fn check_scene(&self, pooled: &RoiPooled) -> Result<()> {
        let known = self.scene != 0 && pooled.extent.scene == self.scene;
        let expected = "a result pooled from the scene that was located last";
        ensure(known, Argument::Pooled, expected, "one of another scene")
    }

    fn check_features(&self, points: usize, features: &Rows<'_>, pooled: &RoiPooled) -> Result<()> {
        let expected = format_args!("{points} rows, one for each point");
        ensure(features.len() == points, Argument::Features, expected, features.len())?;
        let expected = "fewer than 2^31 channels";
        ensure(i32::try_from(features.columns()).is_ok(), Argument::Features, expected, features.columns())?;
        features.check(Argument::Features, &self.stream, &FEATURES)?;
        self.stream.check_memory(Argument::Pooled, "memory of", pooled.stream())
    }
}

/// A number that no other scene of the process has.
fn next_scene() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
