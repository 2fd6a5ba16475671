//! Odometry and localization.

use crate::array::{lent, lent_or_none, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, fill, flag, given_or, number, some, structs};
use crate::ndt::pointmill_ndt_grid;
use crate::registration::{flat, matrix, pointmill_pose, pose};
use crate::stream::{of, pointmill_stream};
use pointmill::icp::Metric;
use pointmill::{Argument, Stream};
use pointmill_slam::localize::{Fix, FixStatus, Localizer, LocalizerParams, Rejection};
use pointmill_slam::odometry::{Odometry, OdometryParams, Step, SweepStatus};

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
            keep_map: false,
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
        }
    }
}

/// A trajectory from sweeps.
#[derive(Debug)]
pub struct pointmill_odometry {
    stream: Stream,
    odometry: Odometry,
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
            Ok(pointmill_odometry { odometry: Odometry::new(&stream, &params)?, stream })
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
        let pointmill_odometry { stream, odometry } = some(odometry, "odometry")?;
        let points = lent(points, Argument::Points, stream)?;
        let times = lent_or_none(times, Argument::Times, stream)?;
        let of_f64 = |rows: &pointmill::Rows<'_>| rows.dtype() == pointmill::Dtype::F64 && rows.stream().is_none();
        if let Some(times) = &times
            && !of_f64(&times.rows()?)
        {
            return Err(Fault::new(Argument::Times, "values of f64 on the host", "others"));
        }
        let made = odometry.push(points.rows()?, times.as_ref().map(pointmill::interop::Lent::host))?;
        fill(step, pointmill_step::new(&made))
    })
}

/// Destroys the odometry and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_odometry_destroy(odometry: Option<Box<pointmill_odometry>>) {
    destroy(odometry);
}

/// What became of a scan. The pose is a fix after the first two.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the guides")]
pub enum pointmill_fix_status {
    POINTMILL_FIX_TRACKED = 0,
    POINTMILL_FIX_FOUND = 1,
    POINTMILL_FIX_REJECTED = 2,
    POINTMILL_FIX_LOST = 3,
}

/// Why a scan has no fix.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the guides")]
pub enum pointmill_rejection {
    POINTMILL_REJECTED_TOO_FEW_POINTS = 0,
    POINTMILL_REJECTED_OUTSIDE_MAP = 1,
    POINTMILL_REJECTED_NOT_CONVERGED = 2,
    POINTMILL_REJECTED_LOW_LIKELIHOOD = 3,
    POINTMILL_REJECTED_FAR_FROM_PREDICTION = 4,
    POINTMILL_REJECTED_UNEXPLAINED = 5,
    POINTMILL_REJECTED_CONTRADICTED = 6,
    POINTMILL_REJECTED_AMBIGUOUS = 7,
    POINTMILL_NOT_REJECTED = 8,
}

/// Parameters of localization.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_localizer_params {
    /// sizeof(pointmill_localizer_params)
    pub struct_size: usize,
    /// A scan is thinned out to one point of each cube of this edge; default 1 m.
    pub voxel_size: f64,
    /// Most points that are aligned; default 5000.
    pub max_points: u64,
    /// Nearer points are left out; default 1 m.
    pub min_range: f64,
    /// Farther points are left out; default 100 m.
    pub max_range: f64,
    /// Least nearest voxel transformation likelihood of a fix; default 2.3.
    pub min_nvtl: f64,
    /// Metres that a fix is from its prediction at most; default 3.
    pub max_distance: f64,
    /// So many rejections in succession end the tracking; default 5.
    pub max_rejections: u64,
    /// Whether searches look in `region` alone; default 0.
    pub has_region: u32,
    /// Least x and y, then largest, in metres of the map.
    pub region: [f64; 4],
    /// Half the edge of the square around the last pose that is searched; default 20 m.
    pub search_radius: f64,
    /// The share of the scan above the ground, where the map covers the place, that the map explains
    /// at least; default 0.6.
    pub min_explained: f64,
    /// The share of the map that the scan confirms at least, of what it confirms or sees through;
    /// default 0.7.
    pub min_confirmed: f64,
    /// The part by which a fix that no fix led to is better than the best other place at least; half
    /// of the share of the scan that the map does not cover is added; default 0.1.
    pub min_margin: f64,
}

/// What became of a scan, and where the sensor was.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_fix {
    /// sizeof(pointmill_fix)
    pub struct_size: usize,
    /// The number of the scan, from 0.
    pub index: u64,
    /// A pointmill_fix_status.
    pub status: u32,
    /// A pointmill_rejection.
    pub rejection: u32,
    /// The pose of the sensor in the map; always finite and rigid. A fix if the status says so.
    pub map_from_sensor: pointmill_pose,
    /// The uncertainty of x, y, z, roll, pitch, yaw, 6 x 6; zeros without.
    pub covariance: [f64; 36],
    /// Whether there is a covariance.
    pub has_covariance: u32,
    /// Whether the pose is a fix.
    pub is_fix: u32,
    /// Nearest voxel transformation likelihood of the alignment; 0 without.
    pub nvtl: f64,
    /// The same by all points; 0 without.
    pub transform_probability: f64,
    /// How clearly the place won; -1 where no other was looked at.
    pub margin: f64,
    /// Points that are finite and in range.
    pub usable: u64,
    /// Points that were aligned.
    pub aligned: u64,
    /// Scans in succession that were rejected.
    pub rejections: u64,
}
structs!(pointmill_localizer_params, pointmill_fix);

impl pointmill_localizer_params {
    fn new() -> Self {
        let p = LocalizerParams::default();
        Self {
            struct_size: size_of::<Self>(),
            voxel_size: p.voxel_size,
            max_points: p.max_points as u64,
            min_range: p.min_range,
            max_range: p.max_range,
            min_nvtl: p.min_nvtl,
            max_distance: p.max_distance,
            max_rejections: p.max_rejections as u64,
            has_region: 0,
            region: [0.0; 4],
            search_radius: p.search_radius,
            min_explained: p.min_explained,
            min_confirmed: p.min_confirmed,
            min_margin: p.min_margin,
        }
    }

    fn params(&self) -> LocalizerParams {
        LocalizerParams {
            voxel_size: self.voxel_size,
            max_points: self.max_points as usize,
            min_range: self.min_range,
            max_range: self.max_range,
            min_nvtl: self.min_nvtl,
            max_distance: self.max_distance,
            max_rejections: self.max_rejections as usize,
            region: (self.has_region != 0).then_some(self.region),
            search_radius: self.search_radius,
            min_explained: self.min_explained,
            min_confirmed: self.min_confirmed,
            min_margin: self.min_margin,
            ..LocalizerParams::default()
        }
    }
}

impl pointmill_fix {
    fn new(fix: &Fix) -> Self {
        let fit = fix.registration.as_ref().map(|found| found.fit).unwrap_or_default();
        Self {
            struct_size: size_of::<Self>(),
            index: fix.index as u64,
            status: number(FixStatus::ALL, &fix.status),
            rejection: fix.rejection.map_or(Rejection::ALL.len() as u32, |why| number(Rejection::ALL, &why)),
            map_from_sensor: matrix(&fix.map_from_sensor),
            covariance: fix.covariance.as_ref().map_or([0.0; 36], flat),
            has_covariance: flag(fix.covariance.is_some()),
            is_fix: flag(fix.status.is_fix()),
            nvtl: fit.nvtl,
            transform_probability: fit.transform_probability,
            margin: fix.margin.unwrap_or(-1.0),
            usable: fix.usable as u64,
            aligned: fix.aligned as u64,
            rejections: fix.rejections as u64,
        }
    }
}

/// Where a sensor is in a map.
#[derive(Debug)]
pub struct pointmill_localizer {
    stream: Stream,
    localizer: Localizer,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_localizer_params_init(params: *mut pointmill_localizer_params) -> pointmill_status {
    defaults(params, pointmill_localizer_params::new)
}

/// A localizer in a grid, which it keeps. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_localizer_create(
    stream: Option<&pointmill_stream>,
    grid: Option<&pointmill_ndt_grid>,
    params: *const pointmill_localizer_params,
    localizer: Option<&mut *mut pointmill_localizer>,
) -> pointmill_status {
    guard(|| {
        create(localizer, || {
            let stream = of(stream)?.clone();
            let params = given_or(params, pointmill_localizer_params::new)?.params();
            let grid = some(grid, "grid")?.grid.clone();
            Ok(pointmill_localizer { localizer: Localizer::new(&stream, grid, &params)?, stream })
        })
    })
}

/// Says where the sensor is, in place of a search.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_localizer_start(
    localizer: Option<&mut pointmill_localizer>,
    map_from_sensor: Option<&pointmill_pose>,
) -> pointmill_status {
    guard(|| {
        let at = pose(map_from_sensor.ok_or_else(|| Fault::new(Argument::Pose, "a pose", "null"))?)?;
        Ok(some(localizer, "localizer")?.localizer.start(&at)?)
    })
}

/// Takes the next scan [N, 3 or more] of f32 or f64, and its time in seconds; NaN where it
/// is not known. It waits for the result.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_localizer_push(
    localizer: Option<&mut pointmill_localizer>,
    points: *const pointmill_array,
    seconds: f64,
    fix: *mut pointmill_fix,
) -> pointmill_status {
    guard(|| {
        let pointmill_localizer { stream, localizer } = some(localizer, "localizer")?;
        let points = lent(points, Argument::Points, stream)?;
        let made = localizer.push(points.rows()?, Some(seconds).filter(|seconds| !seconds.is_nan()))?;
        fill(fix, pointmill_fix::new(&made))
    })
}

/// Destroys the localizer and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_localizer_destroy(localizer: Option<Box<pointmill_localizer>>) {
    destroy(localizer);
}
