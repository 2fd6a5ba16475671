//! Sweeps into voxels.

use crate::array::{Outcome, View, give, lent, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, flag, given_or, number, some, splits, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::interop::num_voxels_device;
use pointmill::voxelize::{MeanType, Outputs, Pick, RowOrder, VoxelizeParams, Voxelizer, Voxels};
use pointmill::{Aabb, Argument, Stream};
use std::ffi::c_char;

/// The order of voxels.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_row_order {
    /// By their first point.
    POINTMILL_FIRST_SEEN = 0,
    /// By the id of the cell.
    POINTMILL_SORTED = 1,
}

/// The type of means.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_mean_type {
    /// f32
    POINTMILL_MEAN_F32 = 0,
    /// f16
    POINTMILL_MEAN_F16 = 1,
    /// No means.
    POINTMILL_MEAN_NONE = 2,
}

/// Which points of a full voxel stay, in input order.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_voxel_pick {
    /// The first.
    POINTMILL_VOXEL_PICK_FIRST = 0,
    /// A choice by chance, decided by the seed `pick_value`, the sample and the cell.
    POINTMILL_VOXEL_PICK_RANDOM = 1,
    /// One of each value of the column `pick_value` in turn.
    POINTMILL_VOXEL_PICK_ROUND_ROBIN = 2,
}

/// Parameters of voxelization.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_voxelize_params {
    /// sizeof(pointmill_voxelize_params)
    pub struct_size: usize,
    /// Edges of a voxel along x, y, z in metres; default 0.2.
    pub voxel_size: [f32; 3],
    /// Least x, y, z, then largest; default -54, -54, -5, 54, 54, 3.
    pub range: [f32; 6],
    /// Most voxels of each sample; default 160000.
    pub max_voxels: u32,
    /// Most points of a voxel; 0 keeps all of them; default 10.
    pub max_points_per_voxel: u32,
    /// A pointmill_row_order; default by the first point.
    pub order: u32,
    /// Whether points must also lie in the range; default 0.
    pub strict_range: u32,
    /// A pointmill_mean_type; default f32.
    pub mean: u32,
    /// Whether the kept points are an output; default 1. Not where all points are kept.
    pub voxels: u32,
    /// Whether the voxel of each point is an output; default 1.
    pub point_to_voxel: u32,
    /// Whether lists of points are an output; default 0.
    pub lists: u32,
    /// Whether outputs have max_voxels rows, so that nobody waits for the number; default 1.
    pub padded: u32,
    /// A pointmill_voxel_pick; default the first.
    pub pick: u32,
    /// The seed or the column of the pick.
    pub pick_value: u64,
}
structs!(pointmill_voxelize_params);

impl pointmill_voxelize_params {
    fn new() -> Self {
        let p = VoxelizeParams::default();
        let [[a, b, c], [d, e, f]] = [p.range.min, p.range.max];
        Self {
            struct_size: size_of::<Self>(),
            voxel_size: p.voxel_size,
            range: [a, b, c, d, e, f],
            max_voxels: p.max_voxels,
            max_points_per_voxel: p.max_points_per_voxel.unwrap_or(0),
            order: number(RowOrder::ALL, &p.order),
            strict_range: flag(p.strict_range),
            mean: p.outputs.mean.map_or(2, |mean| number(MeanType::ALL, &mean)),
            voxels: flag(p.outputs.voxels),
            point_to_voxel: flag(p.outputs.point_to_voxel),
            lists: flag(p.outputs.lists),
            padded: 1,
            pick: 0,
            pick_value: 0,
        }
    }

    fn params(&self) -> Result<VoxelizeParams> {
        let [a, b, c, d, e, f] = self.range;
        let mean = [Some(MeanType::F32), Some(MeanType::F16), None];
        let column = u32::try_from(self.pick_value);
        let picks = [
            Pick::First,
            Pick::Random { seed: self.pick_value },
            Pick::RoundRobin { column: column.unwrap_or(u32::MAX) },
        ];
        let pick = choice(&picks, self.pick, "pick")?;
        if matches!(pick, Pick::RoundRobin { .. }) && column.is_err() {
            let expected = "a column below 2^32 for POINTMILL_VOXEL_PICK_ROUND_ROBIN";
            return Err(Fault::new("pick_value", expected, self.pick_value));
        }
        Ok(VoxelizeParams {
            voxel_size: self.voxel_size,
            range: Aabb::new([a, b, c], [d, e, f]),
            max_voxels: self.max_voxels,
            max_points_per_voxel: Some(self.max_points_per_voxel).filter(|&most| most > 0),
            pick,
            order: choice(RowOrder::ALL, self.order, "order")?,
            strict_range: self.strict_range != 0,
            outputs: Outputs {
                mean: choice(&mean, self.mean, "mean")?,
                voxels: self.voxels != 0,
                point_to_voxel: self.point_to_voxel != 0,
                lists: self.lists != 0,
                padded: self.padded != 0,
            },
        })
    }
}

/// Voxelizes sweep after sweep, and keeps its memory.
#[derive(Debug)]
pub struct pointmill_voxelizer {
    stream: Stream,
    worker: Voxelizer,
    voxels: Voxels,
    outcome: Outcome,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_voxelize_params_init(params: *mut pointmill_voxelize_params) -> pointmill_status {
    defaults(params, pointmill_voxelize_params::new)
}

/// A voxelizer whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_voxelizer_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_voxelize_params,
    voxelizer: Option<&mut *mut pointmill_voxelizer>,
) -> pointmill_status {
    guard(|| {
        create(voxelizer, || {
            let stream = of(stream)?;
            let params = given_or(params, pointmill_voxelize_params::new)?.params()?;
            let worker = Voxelizer::new(stream, &params)?;
            let outcome = Outcome::none("pointmill_voxelizer_run");
            Ok(pointmill_voxelizer { voxels: worker.output()?, worker, stream: stream.clone(), outcome })
        })
    })
}

/// Voxelizes points [N, C] of f32, x, y, z first. With `row_splits`, `num_splits` ascending numbers
/// from 0 to N, the points are those of several samples. On a GPU it only queues work.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_voxelizer_run(
    voxelizer: Option<&mut pointmill_voxelizer>,
    points: *const pointmill_array,
    row_splits: *const u64,
    num_splits: u64,
) -> pointmill_status {
    guard(|| {
        let pointmill_voxelizer { stream, worker, voxels, outcome } = some(voxelizer, "voxelizer")?;
        outcome.of(|| {
            let points = lent(points, Argument::Points, stream)?;
            match splits(row_splits, num_splits)? {
                None => worker.run(points.rows()?, voxels)?,
                Some(splits) => worker.run_batch(points.rows()?, &splits, voxels)?,
            }
            Ok(())
        })
    })
}

/// An array of the last call: "coords" [V, 3] of i32, z, y, x (of several samples [V, 4], the sample
/// first); "num_points" [V] of i32; "voxels" [V, M * C] of f32; "mean" [V, C]; "point_to_voxel" [N] of
/// i32; "row_splits", "indices" and "voxel_splits" of u32. Of padded outputs V is max_voxels, and rows
/// behind the voxels have coordinates -1. "counts" [6] of u32: voxels, occupied cells, points that are
/// not finite, out of range, of cells beyond max_voxels, and kept.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_voxelizer_array(
    voxelizer: Option<&pointmill_voxelizer>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_voxelizer { stream, voxels, outcome, .. } = some(voxelizer, "voxelizer")?;
        outcome.check(name)?;
        let mut views = vec![("counts", View::words(num_voxels_device(voxels), 6))];
        for spec in voxels.specs()? {
            if let Some(buffer) = voxels.array(spec.array) {
                views.push((spec.array.as_str(), View::any(buffer, &spec.shape)?));
            }
        }
        give(&views, name, stream, array)
    })
}

/// Destroys the voxelizer and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_voxelizer_destroy(voxelizer: Option<Box<pointmill_voxelizer>>) {
    destroy(voxelizer);
}
