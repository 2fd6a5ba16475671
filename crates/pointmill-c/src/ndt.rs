//! Maps of normal distributions.

use crate::array::{give, host_views, lent, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, fill_all, given_or, list, number, some, structs};
use crate::registration::{pointmill_pose, pointmill_registration, pose};
use crate::stream::{of, pointmill_stream};
use pointmill::interop::NamedCells;
use pointmill::ndt::{
    Covariance, NdtAlignParams, NdtBuilder, NdtGrid, NdtMoments, NdtParams, NdtRegistration, NdtRegularization,
};
use pointmill::{Argument, Device, Stream};
use std::ffi::c_char;
use std::sync::Arc;

/// The covariance of a cell.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_covariance {
    POINTMILL_UNBIASED = 0,
    POINTMILL_AUTOWARE = 1,
    POINTMILL_POPULATION = 2,
}

/// How cells become normal distributions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_ndt_params {
    /// sizeof(pointmill_ndt_params)
    pub struct_size: usize,
    /// A pointmill_covariance; default Autoware's.
    pub covariance: u32,
    /// Cells of fewer points are left out; default 6.
    pub min_points: u32,
    /// Eigenvalues below this part of the largest are raised to it; default 0.01.
    pub eigen_ratio: f64,
}

/// Parameters of an alignment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_ndt_align_params {
    /// sizeof(pointmill_ndt_align_params)
    pub struct_size: usize,
    /// Most steps; default 30.
    pub max_iterations: u64,
    /// Longest step; default 0.1.
    pub step_size: f64,
    /// A shorter step ends the alignment; default 0.01.
    pub epsilon: f64,
    /// Whether the pose is held near `base` along the way that it faces; default 0.
    pub has_base: u32,
    /// Where the vehicle is by another source.
    pub base: pointmill_pose,
    /// The part of the score that a metre from the base costs; Autoware's is 0.01.
    pub scale: f64,
}
structs!(pointmill_ndt_params, pointmill_ndt_align_params);

impl pointmill_ndt_params {
    pub(crate) fn new() -> Self {
        let NdtParams { covariance, min_points, eigen_ratio } = NdtParams::default();
        let covariance = number(Covariance::ALL, &covariance);
        Self { struct_size: size_of::<Self>(), covariance, min_points, eigen_ratio }
    }

    pub(crate) fn params(&self) -> Result<NdtParams> {
        let covariance = choice(Covariance::ALL, self.covariance, "covariance")?;
        Ok(NdtParams { covariance, min_points: self.min_points, eigen_ratio: self.eigen_ratio })
    }
}

impl pointmill_ndt_align_params {
    pub(crate) fn new() -> Self {
        let NdtAlignParams { max_iterations, step_size, epsilon, .. } = NdtAlignParams::default();
        let base = crate::registration::matrix(&pointmill::Pose::IDENTITY);
        let (struct_size, max_iterations) = (size_of::<Self>(), max_iterations as u64);
        Self { struct_size, max_iterations, step_size, epsilon, has_base: 0, base, scale: 0.01 }
    }

    pub(crate) fn params(&self) -> Result<NdtAlignParams> {
        let held = || -> Result<_> { Ok(NdtRegularization { base: pose(&self.base)?, scale: self.scale }) };
        Ok(NdtAlignParams {
            max_iterations: self.max_iterations as usize,
            step_size: self.step_size,
            epsilon: self.epsilon,
            regularization: (self.has_base != 0).then(held).transpose()?,
        })
    }
}

/// Sums over the points of each cell, on the host. They can be added up and taken away again.
#[derive(Debug)]
pub struct pointmill_ndt_moments(pub(crate) NdtMoments);

/// Cells on a device, to match scans against.
#[derive(Debug)]
pub struct pointmill_ndt_grid {
    stream: Stream,
    pub(crate) grid: Arc<NdtGrid>,
    /// The cells on the host, where they were asked for.
    read: Option<pointmill::ndt::NdtCells>,
}

impl pointmill_ndt_grid {
    pub(crate) fn new(grid: NdtGrid, stream: Stream) -> Self {
        Self { grid: Arc::new(grid), stream, read: None }
    }
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_params_init(params: *mut pointmill_ndt_params) -> pointmill_status {
    defaults(params, pointmill_ndt_params::new)
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_align_params_init(params: *mut pointmill_ndt_align_params) -> pointmill_status {
    defaults(params, pointmill_ndt_align_params::new)
}

/// No points yet, in cells of `resolution` metres about an origin; null is zero.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_create(
    resolution: f64,
    origin: Option<&[f64; 3]>,
    moments: Option<&mut *mut pointmill_ndt_moments>,
) -> pointmill_status {
    guard(|| {
        create(moments, || {
            Ok(pointmill_ndt_moments(NdtMoments::new(resolution)?.about(origin.copied().unwrap_or_default())?))
        })
    })
}

/// Adds points [N, 3 or more] of f32 or f64 of the host, in the frame of the map.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_add(
    moments: Option<&mut pointmill_ndt_moments>,
    points: *const pointmill_array,
) -> pointmill_status {
    guard(|| {
        let moments = some(moments, "moments")?;
        let points = lent(points, Argument::Points, &Device::cpu().stream()?)?;
        Ok(moments.0.add(points.rows()?)?)
    })
}

/// Adds a tile.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_merge(
    moments: Option<&mut pointmill_ndt_moments>,
    tile: Option<&pointmill_ndt_moments>,
) -> pointmill_status {
    guard(|| Ok(some(moments, "moments")?.0.merge(&some(tile, "tile")?.0)?))
}

/// Takes a tile away that was added.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_subtract(
    moments: Option<&mut pointmill_ndt_moments>,
    tile: Option<&pointmill_ndt_moments>,
) -> pointmill_status {
    guard(|| Ok(some(moments, "moments")?.0.subtract(&some(tile, "tile")?.0)?))
}

/// The number of occupied cells.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_len(moments: Option<&pointmill_ndt_moments>) -> u64 {
    moments.map_or(0, |moments| moments.0.len() as u64)
}

/// Destroys the sums and frees their memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_moments_destroy(moments: Option<Box<pointmill_ndt_moments>>) {
    destroy(moments);
}

/// A grid of the points so far, on the device of the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_create(
    stream: Option<&pointmill_stream>,
    moments: Option<&pointmill_ndt_moments>,
    params: *const pointmill_ndt_params,
    grid: Option<&mut *mut pointmill_ndt_grid>,
) -> pointmill_status {
    guard(|| {
        create(grid, || {
            let (stream, moments) = (of(stream)?.clone(), &some(moments, "moments")?.0);
            let params = given_or(params, pointmill_ndt_params::new)?.params()?;
            let lattice = moments.lattice();
            let mut builder = NdtBuilder::new(&stream, lattice.unit(), &params)?.about(lattice.origin())?;
            builder.merge(moments)?;
            Ok(pointmill_ndt_grid::new(builder.finish()?, stream))
        })
    })
}

/// The number of cells.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_len(grid: Option<&pointmill_ndt_grid>) -> u64 {
    grid.map_or(0, |grid| grid.grid.len() as u64)
}

/// An array of the cells, of the host: "coords" [V, 3] of i32, x, y, z; "counts" [V] of u32; "mean"
/// [V, 3], "covariance" and "inv_covariance" [V, 6], "eigenvalues" and "normal" [V, 3] of f64.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_array(
    grid: Option<&mut pointmill_ndt_grid>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let grid = some(grid, "grid")?;
        if grid.read.is_none() {
            grid.read = Some(grid.grid.read()?);
        }
        let views = grid.read.as_ref().map(|cells| host_views(&NamedCells(cells))).unwrap_or_default();
        give(&views, name, &Device::cpu().stream()?, array)
    })
}

fn result(found: &NdtRegistration) -> pointmill_registration {
    pointmill_registration {
        pairs: found.fit.hits as u64,
        transform_probability: found.fit.transform_probability,
        nvtl: found.fit.nvtl,
        score: found.fit.score,
        oscillations: found.fit.oscillations as u64,
        ..pointmill_registration::new(found)
    }
}

fn poses(poses: *const pointmill_pose, count: u64, name: &str) -> Result<Vec<pointmill::Pose>> {
    list(poses, count, name)?.iter().map(pose).collect()
}

/// The poses near `num_guesses` guesses at which a scan [N, 3 or more] of f32 or f64 fits best, in as
/// many structs, each with its size. It waits for the results.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_align(
    grid: Option<&pointmill_ndt_grid>,
    scan: *const pointmill_array,
    guesses: *const pointmill_pose,
    num_guesses: u64,
    params: *const pointmill_ndt_align_params,
    registrations: *mut pointmill_registration,
) -> pointmill_status {
    pointmill_ndt_grid_align_many(grid, scan, guesses, &num_guesses, 1, params, registrations)
}

/// The same of several scans in one call: `num_guesses` says how many of the guesses belong to each.
/// An invalid scan fails the call.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_align_many(
    grid: Option<&pointmill_ndt_grid>,
    scans: *const pointmill_array,
    guesses: *const pointmill_pose,
    num_guesses: *const u64,
    num_scans: u64,
    params: *const pointmill_ndt_align_params,
    registrations: *mut pointmill_registration,
) -> pointmill_status {
    guard(|| {
        let grid = some(grid, "grid")?;
        let params = given_or(params, pointmill_ndt_align_params::new)?.params()?;
        if num_scans == 1 {
            crate::handle::given(scans).map_err(|fault| fault.about("scan"))?;
        }
        let (scans, counts) = (list(scans, num_scans, "scans")?, list(num_guesses, num_scans, "num_guesses")?);
        let total = counts.iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
        let total = total.ok_or_else(|| Fault::new("num_guesses", "fewer than 2^64 in all", "more"))?;
        let guesses = poses(guesses, total, "guesses")?;
        let lent = scans.iter().map(|scan| lent(scan, Argument::Scan, &grid.stream)).collect::<Result<Vec<_>>>()?;
        let mut left = &guesses[..];
        let tasks = lent.iter().zip(counts).map(|(lent, &count)| {
            let (own, rest) = left.split_at(count as usize);
            left = rest;
            Ok((lent.rows()?, own))
        });
        let tasks = tasks.collect::<Result<Vec<_>>>()?;
        let mut results = Vec::new();
        for found in grid.grid.align_many(&tasks, &params)? {
            results.extend(found?.iter().map(result));
        }
        fill_all(registrations, total, &results)
    })
}

/// How well a scan fits at `num_poses` poses: transform_probability, nvtl, score and hits of each, in
/// `fits` [4 * num_poses].
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_score(
    grid: Option<&pointmill_ndt_grid>,
    scan: *const pointmill_array,
    poses: *const pointmill_pose,
    num_poses: u64,
    fits: *mut f64,
) -> pointmill_status {
    guard(|| {
        let grid = some(grid, "grid")?;
        let scan = lent(scan, Argument::Scan, &grid.stream)?;
        let poses = self::poses(poses, num_poses, "poses")?;
        // Checked as a list, before anything is done.
        list(fits.cast_const(), num_poses.saturating_mul(4), "fits")?;
        for (i, fit) in grid.grid.score(scan.rows()?, &poses)?.iter().enumerate() {
            let row = [fit.transform_probability, fit.nvtl, fit.score, fit.hits as f64];
            // SAFETY: there is memory for four numbers of each pose, which was checked to be aligned.
            unsafe { fits.cast::<[f64; 4]>().add(i).write(row) };
        }
        Ok(())
    })
}

/// Destroys the grid and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_ndt_grid_destroy(grid: Option<Box<pointmill_ndt_grid>>) {
    destroy(grid);
}
