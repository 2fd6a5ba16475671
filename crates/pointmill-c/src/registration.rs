//! Poses, and results of alignments.

use crate::array::{lent, pointmill_array};
use crate::error::{Result, guard, pointmill_status};
use crate::handle::choice;
use crate::handle::{create, defaults, destroy, fill, flag, given_or, number, some, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::registration::global::{Refine, RegisterParams, Registered, Target, Verdict};
use pointmill::registration::{Registration, Status};
use pointmill::{Argument, Pose, Stream};

/// A rigid transform: the rows of a 4 x 4 matrix, one after the other.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct pointmill_pose {
    /// The rows.
    pub m: [f64; 16],
}

/// The pose of an argument.
pub(crate) fn pose(pose: &pointmill_pose) -> Result<Pose> {
    let rows = [0, 4, 8, 12].map(|at| [0, 1, 2, 3].map(|k| pose.m[at + k]));
    Ok(Pose::from_matrix(&rows).map_err(pointmill::Error::from)?)
}

/// A pose for C.
pub(crate) fn matrix(pose: &Pose) -> pointmill_pose {
    let mut m = [0.0; 16];
    m.copy_from_slice(pose.matrix().as_flattened());
    pointmill_pose { m }
}

pub(crate) fn flat(matrix: &[[f64; 6]; 6]) -> [f64; 36] {
    let mut values = [0.0; 36];
    values.copy_from_slice(matrix.as_flattened());
    values
}

/// Why an alignment ended. The pose is an answer after the first two.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_alignment_status {
    /// No pair changed.
    POINTMILL_FIXED = 0,
    /// A step was shorter than asked for.
    POINTMILL_STEP_BELOW = 1,
    /// The same pairs came back again and again.
    POINTMILL_CYCLE = 2,
    /// It made as many steps as allowed.
    POINTMILL_MAX_ITERATIONS = 3,
    /// No point has a pair.
    POINTMILL_NO_PAIRS = 4,
    /// The clouds do not determine the pose.
    POINTMILL_DEGENERATE = 5,
}

/// The pose that an alignment found, and how certain it is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_registration {
    /// sizeof(pointmill_registration)
    pub struct_size: usize,
    /// Always finite and rigid.
    pub target_from_source: pointmill_pose,
    /// A pointmill_alignment_status.
    pub status: u32,
    /// Whether the pose is an answer.
    pub converged: u32,
    /// Steps.
    pub iterations: u64,
    /// Second derivatives of the cost, 6 x 6.
    pub hessian: [f64; 36],
    /// The uncertainty of the six numbers of the pose, 6 x 6; zeros without.
    pub covariance: [f64; 36],
    /// Whether there is a covariance.
    pub has_covariance: u32,
    /// Directions that the pairs determine, of 6; of icp.
    pub rank: u32,
    /// Pairs of icp; of ndt the points with a cell within reach.
    pub pairs: u64,
    /// Of icp: pairs by source points.
    pub fitness: f64,
    /// Of icp: root mean square distance of the pairs in metres.
    pub inlier_rmse: f64,
    /// Of ndt: the score by the number of points.
    pub transform_probability: f64,
    /// Of ndt: nearest voxel transformation likelihood.
    pub nvtl: f64,
    /// Of ndt: the sum of all terms.
    pub score: f64,
    /// Of ndt: the largest number of steps in succession that turned back.
    pub oscillations: u64,
}
structs!(pointmill_registration);

impl pointmill_registration {
    /// What all alignments have.
    pub(crate) fn new<Fit>(found: &Registration<Fit>) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            target_from_source: matrix(&found.target_from_source),
            status: number(Status::ALL, &found.status),
            converged: flag(found.converged()),
            iterations: found.iterations as u64,
            hessian: flat(&found.hessian),
            covariance: found.covariance.as_ref().map_or([0.0; 36], flat),
            has_covariance: flag(found.covariance.is_some()),
            rank: 0,
            pairs: 0,
            fitness: 0.0,
            inlier_rmse: 0.0,
            transform_probability: 0.0,
            nvtl: 0.0,
            score: 0.0,
            oscillations: 0,
        }
    }
}

/// How the pose of a registration without a guess is refined.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_refine {
    POINTMILL_REFINE_GICP = 0,
    POINTMILL_REFINE_PLANE = 1,
    POINTMILL_REFINE_NONE = 2,
}

/// Whether a pose is an answer.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_verdict {
    /// The clouds fit at this pose, and at no other.
    POINTMILL_FOUND = 0,
    /// The clouds fit nearly as well at another pose, or can slide along each other.
    POINTMILL_AMBIGUOUS = 1,
    /// Too few points have a match.
    POINTMILL_TOO_FEW_MATCHES = 2,
    /// The clouds have too little in common.
    POINTMILL_LOW_OVERLAP = 3,
    /// With level: z is not up in both frames.
    POINTMILL_NOT_LEVEL = 4,
}

/// Parameters of a registration without a guess.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_register_params {
    /// sizeof(pointmill_register_params)
    pub struct_size: usize,
    /// Edge in metres of the cubes whose points are joined; default 0.3.
    pub voxel_size: f64,
    /// A pointmill_refine; default GICP.
    pub refine: u32,
    /// Not 0 where z is up in both frames: a search over x, y, z and yaw; default 0.
    pub level: u32,
}
structs!(pointmill_register_params);

/// What a registration without a guess found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_registered {
    /// sizeof(pointmill_registered)
    pub struct_size: usize,
    /// An answer if the verdict is POINTMILL_FOUND.
    pub target_from_source: pointmill_pose,
    /// A pointmill_verdict.
    pub verdict: u32,
    /// Whether a cap left matches out of the search.
    pub capped: u32,
    /// Matches of features; with level, points of the source that were looked at.
    pub matches: u64,
    /// Matches within two voxels at the pose; with level, points that meet the target.
    pub inliers: u64,
    /// Poses that were looked at.
    pub candidates: u64,
    /// Points of the source that were looked at, those near the target, and those that meet it.
    pub source_overlap: [u64; 3],
    /// The same of the target.
    pub target_overlap: [u64; 3],
    /// 1 - the score of the best other pose / the score of this one.
    pub margin: f64,
    /// The uncertainty of the pose, 6 x 6; zeros without.
    pub covariance: [f64; 36],
    /// Whether there is a covariance.
    pub has_covariance: u32,
    /// Directions that the clouds determine, of 6; 0 without a refinement.
    pub rank: u32,
}
structs!(pointmill_registered);

impl pointmill_registered {
    fn new(found: &Registered) -> Self {
        let [source_overlap, target_overlap] = [found.source_overlap, found.target_overlap]
            .map(|overlap| [overlap.probes, overlap.seen, overlap.met].map(|n| n as u64));
        Self {
            struct_size: size_of::<Self>(),
            target_from_source: matrix(&found.target_from_source),
            verdict: number(Verdict::ALL, &found.verdict),
            capped: flag(found.capped),
            matches: found.matches as u64,
            inliers: found.inliers as u64,
            candidates: found.candidates as u64,
            source_overlap,
            target_overlap,
            margin: found.margin,
            covariance: found.covariance.as_ref().map_or([0.0; 36], flat),
            has_covariance: flag(found.covariance.is_some()),
            rank: found.observability.as_ref().map_or(0, |seen| seen.rank() as u32),
        }
    }
}

impl pointmill_register_params {
    fn new() -> Self {
        let RegisterParams { voxel_size, level, refine } = RegisterParams::default();
        Self { struct_size: size_of::<Self>(), voxel_size, refine: number(Refine::ALL, &refine), level: flag(level) }
    }
}

/// A target that sources are registered to without a guess.
#[derive(Debug)]
pub struct pointmill_register_target {
    stream: Stream,
    target: Target,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_register_params_init(params: *mut pointmill_register_params) -> pointmill_status {
    defaults(params, pointmill_register_params::new)
}

/// Makes a cloud [N, 3 or more] of f32 or f64 ready on the device of the stream. Parameters of null are
/// the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_register_target_create(
    stream: Option<&pointmill_stream>,
    cloud: *const pointmill_array,
    params: *const pointmill_register_params,
    target: Option<&mut *mut pointmill_register_target>,
) -> pointmill_status {
    guard(|| {
        create(target, || {
            let stream = of(stream)?.clone();
            let params = given_or(params, pointmill_register_params::new)?;
            let refine = choice(Refine::ALL, params.refine, "refine")?;
            let params = RegisterParams { voxel_size: params.voxel_size, level: params.level != 0, refine };
            let cloud = lent(cloud, Argument::Target, &stream)?;
            Ok(pointmill_register_target { target: Target::new(cloud.rows()?, &params, &stream.device())?, stream })
        })
    })
}

/// The pose that brings a source onto the target, and a verdict. Several threads may call it at a time.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_register_target_register(
    target: Option<&pointmill_register_target>,
    source: *const pointmill_array,
    registered: *mut pointmill_registered,
) -> pointmill_status {
    guard(|| {
        let target = some(target, "target")?;
        let source = lent(source, Argument::Source, &target.stream)?;
        fill(registered, pointmill_registered::new(&target.target.register(source.rows()?)?))
    })
}

/// Destroys the target and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_register_target_destroy(target: Option<Box<pointmill_register_target>>) {
    destroy(target);
}
