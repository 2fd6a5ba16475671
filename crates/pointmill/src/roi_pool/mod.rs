//! RoI-aware pooling: the points in each oriented box, binned into the box's voxels, and their features pooled. With it, points in boxes.
//!
//! A [`RoiPooler`] keeps its memory between calls; [`roi_pool`] is the one-shot form; [`PointsInBoxes`] answers which points lie in which box. The same input
//! gives the same bits on every device, in every run and with any number of threads, gradients included.
//!
//! # Inside, and in which voxel
//! See [`OrientedBox`](pointmill_core::OrientedBox): `f32`, faces closed in z and open in x and y. NaN and infinite points are outside. Boxes with a value that is not
//! finite or a size that is not positive hold nothing, and are counted.
//!
//! # Order and caps
//! The points of a voxel are listed by ascending index. The first `max_points_per_voxel - 1` are kept, as in mmcv, whose layout has the count in the first of
//! M slots; with 1 none is kept. Points that are not kept are neither pooled nor given a gradient.
//!
//! # Waiting
//! On a GPU a call only queues work, with one exception: where boxes x points exceeds what the memory for lists was made for, the call waits to learn how long the
//! lists are, and is repeated with more memory if there was too little. That memory is made for up to 2^24 pairs at first and grows as needed.
//!
//! # Source
//! The semantics of mmcv's `roiaware_pool3d` (Shi et al., PartA2, 2020), without its defects: 64-bit offsets, signed clamp, NaN outside, deterministic gradients.

mod arrays;
mod cpu;
mod gpu;
mod inside;
mod params;
mod result;
mod scene;
#[cfg(test)]
mod tests;

pub use arrays::RoiArrays;
pub use inside::{BoxLists, PointsInBoxes};
pub use params::{BoxParams, MAX_VOXELS, PoolMode, RoiLayout, RoiPoolParams};
pub use result::{FeatureArray, FeatureBuffer, Report, RoiBuffers, RoiPooled};
pub use scene::{MAX_COLUMNS, MAX_LEN, Scene};

use crate::device::{Device, Stream};
use crate::{Argument, Error, Result, Rows};
use result::Shape;
use scene::FEATURES;

/// Pools the features of the points in each box.
///
/// **Shapes**: see [`Scene`]; `features` `[N, C]`, C >= 1, of type `f32`, `f16` or `bf16`. The result, in the features' type, is described at [`RoiLayout`].
///
/// **Units and frames**: see [`Scene`].
///
/// **Order and determinism**: see the [module](self). The maximum is the first of the largest values; NaN and minus infinity never win, and where nothing wins the
/// result is 0 with `argmax` -1. The mean adds in `f32` in point order, divides once and is rounded once. Empty voxels are 0.
///
/// **Limits**: fewer than 2^31 boxes, points and channels, fewer than 2^32 voxels a box; offsets are 64-bit.
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
/// On a GPU calls can be recorded in a graph ([`Stream::capture`]), but for the gradient of a sparse result, which waits. A graph with `run` or `locate` locates its scene whenever
/// it is launched; the result recorded with it belongs to that scene, and results of calls after the recording no longer to any: use another pooler for those.
///
/// [`RoiPooler::run`] does all at once. [`RoiPooler::locate`] finds the voxel of each point, after which [`RoiPooler::pool`] may be called any number of times, for other
/// features or the other mode, and [`RoiPooler::backward`] for the gradient.
///
/// ```
/// use pointmill::roi_pool::{FeatureArray, FeatureBuffer, PoolMode, RoiPoolParams, RoiPooler, Scene};
/// use pointmill::{Device, ElementType, Rows};
///
/// let stream = Device::auto().stream()?;
/// let mut pooler = RoiPooler::new(&stream, &RoiPoolParams { out_size: [1, 1, 1], ..RoiPoolParams::default() })?;
/// let (boxes, points) = ([0.0f32, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0], [0.5f32, 0.0, 1.0, 0.6, 0.0, 1.0]);
/// pooler.locate(Scene::new(Rows::new(&boxes, 7)?, Rows::new(&points, 3)?))?;
/// let (mut max, mut mean) = (pooler.output()?, pooler.output()?);
/// pooler.pool(Rows::new(&[1.0f32, 2.0], 1)?, PoolMode::Max, &mut max)?;
/// pooler.pool(Rows::new(&[1.0f32, 2.0], 1)?, PoolMode::Mean, &mut mean)?;
/// let mut gradient = FeatureBuffer::new(&stream, ElementType::F32)?;
/// pooler.backward(&mean, Rows::new(&[1.0f32], 1)?, &mut gradient)?;
/// assert_eq!(gradient.read(2)?, FeatureArray::F32(vec![0.5, 0.5]));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct RoiPooler {
    params: RoiPoolParams,
    stream: Stream,
    path: Path,
    /// Boxes and points of the located scene.
    len: (usize, usize),
    /// The number of the located scene, from 1 on; 0 for none.
    scene: u64,
}

#[derive(Debug)]
enum Path {
    Cpu(Box<cpu::Workspace>),
    Gpu(Box<gpu::Workspace>),
}

impl RoiPooler {
    /// A pooler whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &RoiPoolParams) -> Result<Self> {
        params.check()?;
        let path = if stream.device().is_cpu() {
            Path::Cpu(Box::default())
        } else {
            Path::Gpu(Box::new(gpu::Workspace::new(stream)?))
        };
        Ok(Self { params: params.clone(), stream: stream.clone(), path, len: (0, 0), scene: 0 })
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
        let Self { params, stream, path, scene: located, .. } = self;
        stream.in_order(&scene.streams(), || {
            // Until all is done there is no located scene.
            *located = 0;
            match path {
                Path::Cpu(workspace) => stream.device().install(|| workspace.locate(&scene, params)),
                Path::Gpu(workspace) => workspace.locate(&scene, params),
            }
        })?;
        (self.len, self.scene) = ((scene.num_boxes(), scene.num_points()), next);
        Ok(())
    }

    /// Pools features over the voxels of the located scene.
    ///
    /// # Errors
    /// No located scene; features of another number of rows or on another device, no channels; `pooled` from another device; out of memory.
    pub fn pool<'a>(&mut self, features: impl Into<Rows<'a>>, mode: PoolMode, pooled: &mut RoiPooled) -> Result<()> {
        let features = features.into();
        if self.scene == 0 {
            return Err(Error::argument(Argument::Scene, "a located scene (RoiPooler::locate)", "none"));
        }
        self.check_features(self.len.1, &features, pooled)?;
        let shape = self.shape(&features, mode);
        let Self { stream, path, .. } = self;
        stream.in_order_with(&[features.stream()], pooled, |pooled| {
            pooled.clear();
            match path {
                Path::Cpu(workspace) => stream.device().install(|| workspace.pool(&features, &shape, pooled)),
                Path::Gpu(workspace) => workspace.pool(&features, &shape, pooled),
            }
        })?;
        pooled.shape = shape;
        Ok(())
    }

    /// [`RoiPooler::locate`] and [`RoiPooler::pool`] in one, with the mode of the parameters. On a GPU nothing waits between the two.
    ///
    /// # Errors
    /// As the two.
    pub fn run<'a>(&mut self, scene: Scene<'_>, features: impl Into<Rows<'a>>, pooled: &mut RoiPooled) -> Result<()> {
        self.run_checked(scene, features.into(), pooled, |_| Ok(()))
    }

    /// [`RoiPooler::run`] into arrays that `arrays` makes when a GPU already works on the scene, so that their making takes no time of its own. Returns those in whose place they
    /// come; see [`RoiPooled::exchange`]. They belong to the pooler's stream.
    ///
    /// # Errors
    /// As [`RoiPooler::run`] and [`RoiPooled::exchange`], and those of `arrays`.
    pub fn run_into<'a, E: From<Error>>(
        &mut self,
        scene: Scene<'_>,
        features: impl Into<Rows<'a>>,
        pooled: &mut RoiPooled,
        arrays: impl FnOnce() -> std::result::Result<RoiBuffers, E>,
    ) -> std::result::Result<RoiBuffers, E> {
        self.run_checked(scene, features.into(), pooled, |pooled| Ok(pooled.exchange(arrays()?)?))
    }

    /// Calls `arrays` once in the course of the call, before anything is written to the result, and returns what it does.
    fn run_checked<R, E: From<Error>>(
        &mut self,
        scene: Scene<'_>,
        features: Rows<'_>,
        pooled: &mut RoiPooled,
        arrays: impl FnOnce(&mut RoiPooled) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        scene.check(&self.stream)?;
        self.check_features(scene.num_points(), &features, pooled)?;
        let next = next_scene();
        let len = (scene.num_boxes(), scene.num_points());
        let shape = Shape { scene: next, ..shape(&self.params, len, &features, self.params.mode) };
        let Self { params, stream, path: Path::Gpu(workspace), scene: located, .. } = self else {
            pooled.clear();
            self.locate(scene)?;
            let made = arrays(pooled)?;
            self.pool(features, self.params.mode, pooled)?;
            return Ok(made);
        };
        let [boxes, points] = scene.streams();
        let made = stream.in_order_with(&[boxes, points, features.stream()], pooled, |pooled| {
            *located = 0;
            pooled.clear();
            workspace.run(&scene, params, &features, &shape, pooled, arrays)
        })?;
        (self.len, self.scene) = (len, next);
        pooled.shape = shape;
        Ok(made)
    }

    /// The number of the scene that was located last, which no other scene of the process has; `None` if there is none.
    pub const fn scene(&self) -> Option<u64> {
        if self.scene == 0 { None } else { Some(self.scene) }
    }

    /// Makes `pooled` a result of the located scene again, of `channels` channels and without pooling: for the gradient of a result of a scene that was located before, whose
    /// boxes and points have been located once more.
    ///
    /// Its `argmax` must be that of the result, put there with [`RoiPooled::exchange`]; nothing else of it is needed for [`RoiPooler::backward`] or looked at.
    ///
    /// # Errors
    /// No located scene, a sparse layout, an argmax that is too short, no channels, a result on another device.
    pub fn restore(&self, pooled: &mut RoiPooled, channels: usize, mode: PoolMode) -> Result<()> {
        if self.scene == 0 {
            return Err(Error::argument(Argument::Scene, "a located scene (RoiPooler::locate)", "none"));
        }
        if self.params.layout == RoiLayout::Sparse {
            return Err(Error::argument(Argument::Layout, "dense or CSR", "sparse"));
        }
        if !(1..=i32::MAX as usize).contains(&channels) {
            return Err(Error::argument(Argument::Channels, format!("1 to {}", i32::MAX), channels));
        }
        check_same_device(Argument::Pooled, pooled.stream(), &self.stream)?;
        let shape = Shape { channels, mode, scene: self.scene, ..shape_of(&self.params, self.len) };
        let values = if mode == PoolMode::Max { shape.voxels().saturating_mul(channels) } else { 0 };
        if pooled.argmax.len() < values {
            return Err(Error::argument(Argument::Argmax, format!("{values} values"), pooled.argmax.len()));
        }
        pooled.shape = shape;
        Ok(())
    }

    /// Queues what [`RoiPooler::backward`] of this result needs besides its gradient, on a GPU: for a caller who knows that it will come and does something else before.
    ///
    /// # Errors
    /// A result that is not of the located scene; out of memory.
    pub fn prepare_backward(&mut self, pooled: &RoiPooled) -> Result<()> {
        self.check_scene(pooled)?;
        let Self { stream, path, .. } = self;
        match path {
            Path::Cpu(_) => Ok(()),
            Path::Gpu(workspace) => stream.in_order(&[Some(pooled.stream())], || workspace.prepare_backward(pooled)),
        }
    }

    /// The gradient of the features, `[N, C]`, from that of a result pooled from the located scene.
    ///
    /// **Shapes**: `grad_pooled` has the rows (`[B, ox, oy, oz, C]` or `[R, C]`) and the type of `pooled`.
    ///
    /// **Order and determinism**: the gradient of a maximum goes to the point it came from, that of a mean in equal parts to the kept points. A point's terms are added in
    /// `f32` in the order of the boxes, from zero, and rounded once.
    ///
    /// # Errors
    /// A result that is not of the located scene; a gradient of another shape, type or device; out of memory.
    pub fn backward<'a>(
        &mut self,
        pooled: &RoiPooled,
        grad_pooled: impl Into<Rows<'a>>,
        grad_features: &mut FeatureBuffer,
    ) -> Result<()> {
        let grad = grad_pooled.into();
        let shape = &pooled.shape;
        self.check_scene(pooled)?;
        grad.check(Argument::GradPooled, &self.stream, &FEATURES)?;
        check_same_device(Argument::GradFeatures, grad_features.stream(), &self.stream)?;
        if grad.columns() != shape.channels {
            return Err(Error::argument(Argument::GradPooled, format!("{} channels", shape.channels), grad.columns()));
        }
        if grad.element() != pooled.pooled.element() {
            let expected = format!("values of type {}", pooled.pooled.element().name());
            return Err(Error::argument(Argument::GradPooled, expected, grad.element().name()));
        }
        // A sparse result's rows are counted on the device; a longer gradient is as good.
        let rows = if shape.layout == RoiLayout::Sparse { pooled.num_voxels()? } else { shape.voxels() };
        if grad.len() < rows || (shape.layout != RoiLayout::Sparse && grad.len() > rows) {
            return Err(Error::argument(Argument::GradPooled, format!("{rows} rows"), grad.len()));
        }
        let Self { stream, path, .. } = self;
        stream.in_order_with(&[grad.stream(), Some(pooled.stream())], grad_features, |out| match path {
            Path::Cpu(workspace) => stream.device().install(|| workspace.backward(pooled, &grad, out)),
            Path::Gpu(workspace) => workspace.backward(pooled, &grad, out),
        })
    }

    fn shape(&self, features: &Rows<'_>, mode: PoolMode) -> Shape {
        Shape { scene: self.scene, ..shape(&self.params, self.len, features, mode) }
    }

    fn check_scene(&self, pooled: &RoiPooled) -> Result<()> {
        if self.scene == 0 || pooled.shape.scene != self.scene {
            let expected = "a result pooled from the scene that was located last";
            return Err(Error::argument(Argument::Pooled, expected, "one of another scene"));
        }
        Ok(())
    }

    fn check_features(&self, points: usize, features: &Rows<'_>, pooled: &RoiPooled) -> Result<()> {
        if features.len() != points {
            return Err(Error::argument(
                Argument::Features,
                format!("{points} rows, one for each point"),
                features.len(),
            ));
        }
        if i32::try_from(features.columns()).is_err() {
            return Err(Error::argument(Argument::Features, "fewer than 2^31 channels", features.columns()));
        }
        features.check(Argument::Features, &self.stream, &FEATURES)?;
        check_same_device(Argument::Pooled, pooled.stream(), &self.stream)
    }
}

fn shape(params: &RoiPoolParams, len: (usize, usize), features: &Rows<'_>, mode: PoolMode) -> Shape {
    Shape { channels: features.columns(), mode, ..shape_of(params, len) }
}

/// The shape of a result without features.
fn shape_of(params: &RoiPoolParams, (boxes, points): (usize, usize)) -> Shape {
    Shape {
        boxes,
        points,
        channels: 1,
        out_size: params.out_size,
        max_points: params.max_points_per_voxel as usize,
        layout: params.layout,
        lists: params.lists,
        mode: params.mode,
        scene: 0,
    }
}

/// A number that no other scene of the process has.
fn next_scene() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

fn check_same_device(argument: Argument, own: &Stream, stream: &Stream) -> Result<()> {
    if own.device().same_memory(&stream.device()) {
        return Ok(());
    }
    Err(Error::argument(argument, format!("memory of {}", stream.device()), own.device()))
}
