//! Odometry.

use crate::array::{View, give, lent, lent_or_none, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, fill, flag, given_or, number, some, structs, text};
use crate::registration::{flat, matrix, pointmill_pose};
use crate::stream::{of, pointmill_stream};
use pointmill::icp::Metric;
use pointmill::internals::memory::room;
use pointmill::{Argument, Device, Stream};
use pointmill_slam::odometry::{Odometry, OdometryParams, Step, SweepStatus};
use std::ffi::c_char;

/// What became of a sweep.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the guides")]
pub enum pointmill_sweep_status {
    POINTMILL_SWEEP_STARTED = 0,
    POINTMILL_SWEEP_TRACKED = 1,
    POINTMILL_SWEEP_DEGENERATE = 2,
    POINTMILL_SWEEP_NOT_CONVERGED = 3,
    POINTMILL_SWEEP_REPEATED = 4,
    POINTMILL_SWEEP_TOO_FEW_POINTS = 5,
    POINTMILL_SWEEP_LOST = 6,
    POINTMILL_SWEEP_RECOVERED = 7,
    POINTMILL_SWEEP_AMBIGUOUS = 8,
}

/// Parameters of odometry.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_odometry_params {
    /// sizeof(pointmill_odometry_params)
    pub struct_size: usize,
    /// Edge of a voxel of the map in metres; default 0: the largest up to 1 m that leaves the
    /// first sweep enough voxels.
    pub voxel_size: f64,
    /// Nearer points are left out; default 1 m.
    pub min_range: f64,
    /// Farther points are left out; default 100 m.
    pub max_range: f64,
    /// Points that a voxel of the map keeps, 1 to 64; default 20.
    pub max_points_per_voxel: u64,
    /// A pointmill_metric, but for GICP; default point-to-plane.
    pub metric: u32,
    /// Whether motion within a sweep is taken out where points have times; default 1.
    pub deskew: u32,
    /// Width of the weights in metres; default 0.1.
    pub robust_width: f64,
    /// Most steps of an alignment; default 500.
    pub max_iterations: u64,
    /// Whether the array "map" has the points that left the map out of range too; default 0.
    pub keep_map: u32,
}

/// What became of a sweep, and where the sensor was.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_step {
    /// sizeof(pointmill_step)
    pub struct_size: usize,
    /// The number of the sweep, from 0.
    pub index: u64,
    /// A pointmill_sweep_status.
    pub status: u32,
    /// Whether there is a covariance.
    pub has_covariance: u32,
    /// The pose of the sensor in the frame of the first pose; always finite and rigid.
    pub world_from_sensor: pointmill_pose,
    /// The uncertainty of a translation and a rotation vector about `pivot`, 6 x 6; zeros without.
    pub covariance: [f64; 36],
    /// The mean of the aligned points in the world.
    pub pivot: [f64; 3],
    /// Points of the sweep.
    pub points: u64,
    /// Points that are finite and in range.
    pub usable: u64,
    /// Points that were aligned.
    pub aligned: u64,
    /// Points that have a neighbour in the map.
    pub pairs: u64,
    /// Root mean square distance of the pairs in metres.
    pub rmse: f64,
    /// Steps.
    pub iterations: u64,
    /// Directions that the surfaces determine, of 6.
    pub rank: u64,
    /// Points of the map.
    pub map_points: u64,
    /// The share of the aligned points that the map explains; 0 where there was no alignment.
    pub explained: f64,
    /// Edge in metres of the voxels of the map.
    pub voxel_size: f64,
    /// The middle of the times of the points, in seconds of their clock, which the pose belongs to; NaN
    /// without times.
    pub seconds: f64,
}
structs!(pointmill_odometry_params, pointmill_step);

impl pointmill_odometry_params {
    fn new() -> Self {
        let p = OdometryParams::default();
        Self {
            struct_size: size_of::<Self>(),
            voxel_size: p.voxel_size.unwrap_or(0.0),
            min_range: p.min_range,
            max_range: p.max_range,
            max_points_per_voxel: p.max_points_per_voxel as u64,
            metric: number(Metric::ALL, &p.metric),
            deskew: flag(p.deskew),
            robust_width: p.robust_width,
            max_iterations: p.max_iterations as u64,
            keep_map: flag(p.keep_map),
        }
    }

    fn params(&self) -> Result<OdometryParams> {
        Ok(OdometryParams {
            voxel_size: Some(self.voxel_size).filter(|size| *size != 0.0),
            min_range: self.min_range,
            max_range: self.max_range,
            max_points_per_voxel: self.max_points_per_voxel as usize,
            metric: choice(Metric::ALL, self.metric, Argument::Metric)?,
            robust_width: self.robust_width,
            deskew: self.deskew != 0,
            max_iterations: self.max_iterations as usize,
            keep_map: self.keep_map != 0,
        })
    }
}

impl pointmill_step {
    fn new(step: &Step) -> Self {
        let found = step.alignment();
        let or_0 = |n: Option<usize>| n.unwrap_or(0) as u64;
        Self {
            struct_size: size_of::<Self>(),
            index: step.index as u64,
            status: number(SweepStatus::ALL, &step.status),
            has_covariance: flag(found.covariance.is_some()),
            world_from_sensor: matrix(&step.world_from_sensor),
            covariance: found.covariance.as_ref().map_or([0.0; 36], flat),
            pivot: found.pivot.unwrap_or_default(),
            points: step.points as u64,
            usable: step.usable as u64,
            aligned: step.aligned as u64,
            pairs: or_0(found.pairs),
            rmse: found.rmse.unwrap_or(0.0),
            iterations: or_0(found.iterations),
            rank: or_0(found.rank),
            map_points: step.map_points as u64,
            explained: step.explained.unwrap_or(0.0),
            voxel_size: step.voxel_size,
            seconds: step.time.unwrap_or(f64::NAN),
        }
    }
}

/// A trajectory from sweeps.
#[derive(Debug)]
pub struct pointmill_odometry {
    stream: Stream,
    odometry: Odometry,
    trajectory: Trajectory,
    /// The points of the map, where they were asked for since the last sweep.
    map: Option<Vec<[f64; 3]>>,
}

/// A value of each sweep.
#[derive(Debug, Default)]
struct Trajectory {
    poses: Vec<[f64; 16]>,
    seconds: Vec<f64>,
    status: Vec<u32>,
}

impl Trajectory {
    /// Makes room for one more sweep, so that none is lost after it was pushed.
    fn reserve(&mut self) -> Result<()> {
        let len = self.poses.len() + 1;
        room(&mut self.poses, len)?;
        room(&mut self.seconds, len)?;
        Ok(room(&mut self.status, len)?)
    }

    fn push(&mut self, step: &pointmill_step) {
        self.poses.push(step.world_from_sensor.m);
        self.seconds.push(step.seconds);
        self.status.push(step.status);
    }
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_params_init(params: *mut pointmill_odometry_params) -> pointmill_status {
    defaults(params, pointmill_odometry_params::new)
}

/// Odometry on the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_odometry_params,
    odometry: Option<&mut *mut pointmill_odometry>,
) -> pointmill_status {
    guard(|| {
        create(odometry, || {
            let stream = of(stream)?.clone();
            let params = given_or(params, pointmill_odometry_params::new)?.params()?;
            let odometry = Odometry::new(&stream, &params)?;
            Ok(pointmill_odometry { odometry, stream, trajectory: Trajectory::default(), map: None })
        })
    })
}

/// Takes the next sweep [N, 3 or more] of f32 or f64, and the times of its points [N] of f64 in seconds
/// on the host, or null. It waits for the result.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_push(
    odometry: Option<&mut pointmill_odometry>,
    points: *const pointmill_array,
    times: *const pointmill_array,
    step: *mut pointmill_step,
) -> pointmill_status {
    guard(|| {
        let pointmill_odometry { stream, odometry, trajectory, map } = some(odometry, "odometry")?;
        trajectory.reserve()?;
        *map = None;
        let points = lent(points, Argument::Points, stream)?;
        let times = lent_or_none(times, Argument::Times, stream)?;
        let of_f64 = |rows: &pointmill::Rows<'_>| rows.dtype() == pointmill::Dtype::F64 && rows.stream().is_none();
        if let Some(times) = &times
            && !of_f64(&times.rows()?)
        {
            return Err(Fault::new(Argument::Times, "values of f64 on the host", "others"));
        }
        let made = odometry.push(points.rows()?, times.as_ref().map(pointmill::interop::Lent::host))?;
        let made = pointmill_step::new(&made);
        trajectory.push(&made);
        fill(step, made)
    })
}

/// The number of sweeps so far.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_len(odometry: Option<&pointmill_odometry>) -> u64 {
    odometry.map_or(0, |odometry| odometry.trajectory.poses.len() as u64)
}

/// An array of the host. Of the sweeps so far, in their order: "poses" [N, 16] of f64, as `m` of
/// `world_from_sensor`; "seconds" [N] of f64; "status" [N] of u32, each a pointmill_sweep_status. "map"
/// [M, 3] of f64: the points of the map in the world.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_array(
    odometry: Option<&mut pointmill_odometry>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_odometry { odometry, trajectory, map, .. } = some(odometry, "odometry")?;
        let is_map = !name.is_null() && text(name, "name")? == "map";
        if is_map && map.is_none() {
            *map = Some(odometry.map()?);
        }
        let points = map.as_deref().unwrap_or_default();
        let views = [
            ("poses", View::rows(&trajectory.poses)),
            ("seconds", View::of_values(&trajectory.seconds, 1)),
            ("status", View::of_values(&trajectory.status, 1)),
            ("map", View::rows(points)),
        ];
        give(&views, name, &Device::cpu().stream()?, array)
    })
}

/// Destroys the odometry and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_destroy(odometry: Option<Box<pointmill_odometry>>) {
    destroy(odometry);
}
