//! Localization in a map.

use crate::array::{lent, pointmill_array};
use crate::error::{Fault, guard, pointmill_status};
use crate::handle::{create, defaults, destroy, fill, flag, given_or, number, some, structs};
use crate::ndt::pointmill_ndt_grid;
use crate::registration::{flat, matrix, pointmill_pose, pose};
use crate::stream::{of, pointmill_stream};
use pointmill::{Argument, Stream};
use pointmill_slam::localize::{Fix, FixStatus, Localizer, LocalizerParams, Rejection};

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
