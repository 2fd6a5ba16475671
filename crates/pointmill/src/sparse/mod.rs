//! The front end of sparse detectors: one point of each cell, cells in the order of curves, larger
//! cells, pairs of convolutions, sweeps in one frame, features of pillars.
//!
//! [`grid_sample`] takes one point of each cell. [`serialize`] orders cells along curves that fill
//! the grid, as Point Transformer V3 takes them. [`pool_hierarchy`] makes larger and larger cells,
//! and [`patches`] groups rows for attention. [`index_pairs`] finds which input cell meets which output
//! cell at which offset of a kernel. [`densify`] moves points of several sweeps into one frame, and
//! [`pillar_features`] makes what a network of pillars sees. A [`GridSampler`], a [`Serializer`], a
//! [`Pooler`], an [`IndexPairs`], a [`Densifier`] and a [`PillarEncoder`] keep their memory between
//! calls. The same input gives the same bits on every device, in every run
//! and with any number of threads.
//!
//! # Waiting
//! On a GPU the methods of workers only queue work, and can be recorded in a graph, unless a
//! parameter says otherwise. Where only the device knows how many cells there are, see
//! [`Cells::counted`].

mod cells;
mod conv;
mod densify;
mod hierarchy;
mod patches;
mod pillars;
#[cfg(test)]
mod pillars_tests;
mod radix;
mod sample;
mod serialize;
#[cfg(test)]
mod tests;

pub use cells::Cells;
pub use conv::{
    CellCoords, ConvArray, ConvArrays, ConvKind, ConvPairs, ConvParams, ConvReport, IndexPairs, SparseCells,
    index_pairs,
};
pub use densify::{Densifier, densify};
pub use hierarchy::{Hierarchy, PoolParams, Pooler, Stage, StageArray, StageArrays};
pub use patches::{DevicePatches, Patches};
pub use pillars::{PillarEncoder, PillarParams, PillarPoints, pillar_features};
pub use sample::{
    GridOrigin, GridSampleParams, GridSampleReport, GridSampler, Pick, Sampled, SampledArray, SampledArrays,
};
pub use serialize::{
    MAX_DEPTH, MAX_ORDERS, Order, SerializeParams, Serialized, SerializedArray, SerializedArrays, Serializer,
};

use crate::{Device, Result, Rows};

/// Takes one point of each cell of a grid.
///
/// **Shapes**: points `[N, C]` of `f32`, x, y, z first, in metres; see [`SampledArrays`]. A batch is
/// given to [`GridSampler::run`].
///
/// **Arithmetic**: `floor((p - origin) / size)` in `f32`, as [`VoxelGrid`](crate::VoxelGrid).
///
/// **Order and determinism**: cells by their first point; see the [module](self). Points that are
/// not finite and points outside are in no cell, and are counted.
///
/// **Limits**: fewer than 2^30 points; from [`GridOrigin::Min`] 2^21 cells along an axis, fewer in a
/// batch, and points beyond are outside. Cells beyond the capacity are dropped, the last first.
///
/// # Errors
/// Parameters out of range, points of another type, out of memory, a lost device. Points outside of a
/// grid from the least coordinates are an error of [`Sampled::read`].
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{GridSampleParams, grid_sample};
/// let points = [[4.0f32, 1.0, 1.0], [1.0, 1.0, 1.0], [4.1, 1.1, 1.1]];
/// let sampled = grid_sample(&points, &GridSampleParams::new([0.5; 3]), &Device::cpu())?.read()?;
/// assert_eq!((sampled.rows, sampled.inverse), (vec![0, 1], vec![0, 1, 0]));
/// assert_eq!(sampled.grid_coord, [6, 0, 0, 0, 0, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn grid_sample<'a>(points: impl Into<Rows<'a>>, params: &GridSampleParams, device: &Device) -> Result<Sampled> {
    let mut sampler = GridSampler::new(&device.stream()?, params)?;
    let mut out = sampler.output()?;
    sampler.run(points, None, &mut out)?;
    Ok(out)
}

/// Makes larger and larger cells, as the pooling of Point Transformer V3 does.
///
/// **Shapes**: cells `[V, 3]`, and what [`serialize`] made of them; see [`StageArrays`].
///
/// **Arithmetic**: a stage with the stride `2^d` halves coordinates `d` times, and the code of a
/// larger cell is that of the cells that it holds without the lowest `3d` bits. A stage that needs
/// more bits than are left halves nothing.
///
/// **Order and determinism**: larger cells by their code on the first curve; the rows of each
/// ascend; see the [module](self).
///
/// **Limits**: where a stage has more larger cells than room, the last of the first order are
/// dropped and counted. Their rows have the cluster -1, and stand last in `indices`.
///
/// # Errors
/// Parameters out of range; cells of another number; out of memory, a lost device. Rows in memory of
/// a GPU that are no cells are told by [`Serialized::read`].
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, PoolParams, SerializeParams, pool_hierarchy, serialize};
/// let cells = Cells::new(&[[0, 0, 0], [7, 7, 7], [1, 1, 1]])?;
/// let serialized = serialize(cells, &SerializeParams::default(), &Device::cpu())?;
/// let stages = pool_hierarchy(cells, &serialized, &PoolParams::default(), &Device::cpu())?.read()?;
/// assert_eq!(stages[0].indptr, [0, 2, 3]);
/// assert_eq!(stages[3].grid_coord, [0, 0, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn pool_hierarchy(
    cells: Cells<'_>,
    serialized: &Serialized,
    params: &PoolParams,
    device: &Device,
) -> Result<Hierarchy> {
    let mut pooler = Pooler::new(&device.stream()?, params)?;
    let mut out = pooler.output()?;
    pooler.run(cells, serialized, &mut out)?;
    Ok(out)
}

/// Groups the rows of each item of a batch into patches of one size.
///
/// **Shapes**: where the items end, `[items]`; see [`Patches`]. The lists are made on the host and
/// copied to the device.
///
/// **Order and determinism**: an item of more rows than a patch is filled up to whole patches; the
/// last patch repeats rows of the patch before, those at the same places.
///
/// **Limits**: fewer than 2^30 rows, fewer than 2^31 places.
///
/// # Errors
/// A patch of no rows, ends that do not ascend, too many places, out of memory, a lost device.
///
/// ```
/// use pointmill::Device;
/// let made = pointmill::sparse::patches(&[3, 5], 2, &Device::cpu())?;
/// assert_eq!(made.pad.read(6)?, [0, 1, 2, 1, 3, 4]);
/// assert_eq!(made.unpad.read(5)?, [0, 1, 2, 4, 5]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn patches(offsets: &[usize], patch_size: usize, device: &Device) -> Result<DevicePatches> {
    patches::on_device(offsets, patch_size, device)
}

/// Orders cells along curves.
///
/// **Shapes**: cells `[V, 3]`; codes `[k, V]` of `u64`, orders and their inverses `[k, V]` of `u32`,
/// for k curves.
///
/// **Arithmetic**: a code is the item of the batch, above the position on the curve, which has three
/// times as many bits as the depth. See [`Order`].
///
/// **Order and determinism**: ascending by code, and of equal codes by row; see the [module](self).
///
/// **Limits**: fewer than 2^30 cells; a depth of at most 16; codes of at most 63 bits.
///
/// # Errors
/// Parameters out of range; a coordinate below 0 or beyond the depth; an item that is not of the
/// batch; codes of too many bits; out of memory, a lost device.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, Order, SerializeParams, serialize};
/// let cells = Cells::new(&[[1, 1, 1], [0, 0, 0], [1, 0, 0]])?;
/// let params = SerializeParams { orders: vec![Order::Z], ..SerializeParams::default() };
/// let serialized = serialize(cells, &params, &Device::cpu())?.read()?;
/// assert_eq!((serialized.codes, serialized.order), (vec![7, 0, 4], vec![1, 2, 0]));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn serialize(cells: Cells<'_>, params: &SerializeParams, device: &Device) -> Result<Serialized> {
    let mut serializer = Serializer::new(&device.stream()?, params)?;
    let mut out = serializer.output()?;
    serializer.run(cells, &mut out)?;
    Ok(out)
}
