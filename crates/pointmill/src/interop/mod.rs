//! What bindings need and nobody else: arguments in the caller's memory ([`RawRows`]), results
//! there, addresses on the device,
//! gradients of results that were made earlier, and reductions and weighted sums by row numbers of the caller's
//! ([`RowLists`], [`gather`]).
//!
//! A binding lends memory of its own library for a result ([`Arrays::set`] with
//! [`Buffer::from_raw_cuda`](crate::Buffer::from_raw_cuda)), runs the operator into it
//! ([`voxelize_into`], [`roi_pool_into`]), or takes what the operator made without a copy
//! ([`exchange_voxels`], [`exchange_pooled`]).

mod raw;

pub use raw::{Lent, RawRows};

pub use crate::arrays::{ArrayLender, ArrayName, ArraySpec, Arrays, Counted, DeviceArrays, Shape};
pub use crate::ndt::NamedCells;
pub use crate::points::gather::{Gather, GatherWorker, Gathered, gather, gather_gradient, weights_gradient};
pub use crate::scatter::{
    Reduction, RowLists, RowNumber, RowsOf, Scatter, ScatterWorker, Scattered, spread, spread_lists,
};

use crate::roi_pool::{PoolMode, RoiArray, RoiPooled, RoiPooler, Scene};
use crate::voxelize::{VoxelArray, Voxelizer, Voxels};
use crate::{Dtype, Error, Result, Rows};

/// [`Voxelizer::run`] or, with `row_splits`, [`Voxelizer::run_batch`], into arrays that `arrays` makes when a GPU already works on the points, so that their making takes no time of its
/// own. `arrays` learns the size that each array can have at most. Returns the arrays that the
/// result had before; see [`exchange_voxels`].
///
/// ```
/// use pointmill::interop::{Arrays, voxelize_into};
/// use pointmill::voxelize::{VoxelArray, VoxelizeParams, Voxelizer};
/// use pointmill::{Device, Error, Rows};
///
/// let stream = Device::cpu().stream()?;
/// let mut voxelizer = Voxelizer::new(&stream, &VoxelizeParams::default())?;
/// let mut voxels = voxelizer.output()?;
/// let points = [[1.0f32, 2.0, 0.0]];
/// voxelize_into::<Error>(&mut voxelizer, Rows::from(&points), None, &mut voxels, |bounds| {
///     assert!(bounds.iter().any(|spec| spec.array == VoxelArray::Coords && *spec.shape == [1, 3]));
///     Ok(Arrays::new(&stream))
/// })?;
/// assert_eq!(voxels.num_voxels()?, 1);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As [`Voxelizer::run`] and [`exchange_voxels`], and those of `arrays`.
pub fn voxelize_into<E: From<Error>>(
    voxelizer: &mut Voxelizer,
    points: Rows<'_>,
    row_splits: Option<&[usize]>,
    voxels: &mut Voxels,
    arrays: impl FnOnce(&[ArraySpec<VoxelArray>]) -> std::result::Result<Arrays<VoxelArray>, E>,
) -> std::result::Result<Arrays<VoxelArray>, E> {
    voxelizer.run_into(points, row_splits, voxels, arrays)
}

/// [`RoiPooler::run`] into arrays that `arrays` makes when a GPU already works on the scene. Returns the arrays that the result had before; see [`exchange_pooled`].
///
/// # Errors
/// As [`RoiPooler::run`] and [`exchange_pooled`], and those of `arrays`.
pub fn roi_pool_into<E: From<Error>>(
    pooler: &mut RoiPooler,
    scene: Scene<'_>,
    features: Rows<'_>,
    pooled: &mut RoiPooled,
    arrays: impl FnOnce(&[ArraySpec<RoiArray>]) -> std::result::Result<Arrays<RoiArray>, E>,
) -> std::result::Result<Arrays<RoiArray>, E> {
    pooler.run_into(scene, features, pooled, arrays)
}

/// Puts other arrays in place of those of a result and returns these: to take what a call made
/// without a copy, or to have the next call write to memory of the caller's. Until that call the
/// result has no rows.
///
/// **Shapes**: a call makes arrays that are not there, and makes its own buffers longer. Memory
/// that is not pointmill's own must have the type and the room of the bounds that
/// [`voxelize_into`] gives.
///
/// ```
/// use pointmill::Device;
/// use pointmill::interop::{Arrays, exchange_voxels};
/// use pointmill::voxelize::{VoxelArray, VoxelizeParams, Voxelizer};
///
/// let stream = Device::cpu().stream()?;
/// let mut voxelizer = Voxelizer::new(&stream, &VoxelizeParams::default())?;
/// let mut voxels = voxelizer.output()?;
/// voxelizer.run(&[[1.0f32, 2.0, 0.0]], &mut voxels)?;
/// let mut made = exchange_voxels(&mut voxels, Arrays::new(&stream))?;
/// let counts = made.take(VoxelArray::NumPoints).and_then(|buffer| buffer.into_typed::<i32>());
/// assert_eq!(counts.and_then(|buffer| buffer.into_vec()), Some(vec![1]));
/// assert_eq!(voxels.num_voxels()?, 0);
/// # Ok::<(), pointmill::Error>(())
/// ```
///
/// # Errors
/// Arrays of another stream; then the result is as it was.
pub fn exchange_voxels(voxels: &mut Voxels, arrays: Arrays<VoxelArray>) -> Result<Arrays<VoxelArray>> {
    voxels.exchange(arrays)
}

/// [`exchange_voxels`] for a result of pooling. Lent memory for `pooled` must have room for an even number of values.
///
/// # Errors
/// Arrays of another stream; then the result is as it was.
pub fn exchange_pooled(pooled: &mut RoiPooled, arrays: Arrays<RoiArray>) -> Result<Arrays<RoiArray>> {
    pooled.exchange(arrays)
}

/// The address on the device of the number of rows, a `u32`.
pub fn num_voxels_device(voxels: &Voxels) -> u64 {
    voxels.num_voxels_device()
}

/// The number of the scene that was located last, which no other scene of the process has; `None`
/// if there is none.
pub fn located_scene(pooler: &RoiPooler) -> Option<u64> {
    pooler.scene()
}

/// Makes `pooled` a result of the located scene again, of `channels` channels of this type and
/// without pooling: for the gradient of a result of a scene that was located before, whose boxes
/// and points have been located once more.
///
/// Its `argmax` must be the one of the result, put there with [`exchange_pooled`].
/// [`RoiPooler::backward`] needs nothing else of it.
///
/// # Errors
/// No located scene, a sparse layout, an argmax that is too short, no channels, a result on another
/// device.
pub fn restore(
    pooler: &RoiPooler,
    pooled: &mut RoiPooled,
    dtype: Dtype,
    channels: usize,
    mode: PoolMode,
) -> Result<()> {
    pooler.restore(pooled, dtype, channels, mode)
}

/// Queues what [`RoiPooler::backward`] of this result needs besides its gradient, on a GPU: for a
/// caller who knows that it will come and does something else before.
///
/// # Errors
/// A result that is not of the located scene; out of memory.
pub fn prepare_backward(pooler: &mut RoiPooler, pooled: &RoiPooled) -> Result<()> {
    pooler.prepare_backward(pooled)
}
