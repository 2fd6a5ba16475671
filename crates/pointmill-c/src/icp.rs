//! Iterative closest point: one target, many sources.

use crate::array::{lent, pointmill_array};
use crate::error::{Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, fill, flag, given_or, number, some, structs};
use crate::registration::{pointmill_pose, pointmill_registration, pose};
use crate::stream::{of, pointmill_stream};
use pointmill::icp::{IcpParams, Metric, Registration, Robust, Target};
use pointmill::{Argument, Pose, Stream};

/// The error metric of an alignment.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_metric {
    POINTMILL_POINT_TO_POINT = 0,
    POINTMILL_POINT_TO_PLANE = 1,
    POINTMILL_GICP = 2,
}

/// Weights of pairs by their residuals.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_robust {
    POINTMILL_ROBUST_NONE = 0,
    POINTMILL_HUBER = 1,
    POINTMILL_CAUCHY = 2,
    POINTMILL_GEMAN_MCCLURE = 3,
    POINTMILL_TUKEY = 4,
}

/// Parameters of icp.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_icp_params {
    /// sizeof(pointmill_icp_params)
    pub struct_size: usize,
    /// A pointmill_metric; default point-to-plane.
    pub metric: u32,
    /// A pointmill_robust; default none.
    pub robust: u32,
    /// The width of the weights in metres.
    pub robust_width: f64,
    /// Greatest distance of a pair in metres; default infinity.
    pub max_distance: f64,
    /// Most steps; default 100.
    pub max_iterations: u64,
    /// A shorter step ends the alignment; default 1e-6.
    pub step_tolerance: f64,
    /// Points that a normal is made from, 3 to 32; default 20.
    pub neighbours: u64,
    /// Whether points at exactly (0, 0, 0) are left out; default 0.
    pub drop_zeros: u32,
}
structs!(pointmill_icp_params);

impl pointmill_icp_params {
    fn new() -> Self {
        let p = IcpParams::default();
        Self {
            struct_size: size_of::<Self>(),
            metric: number(Metric::ALL, &p.metric),
            robust: 0,
            robust_width: 0.0,
            max_distance: p.max_distance.unwrap_or(f64::INFINITY),
            max_iterations: p.max_iterations as u64,
            step_tolerance: p.step_tolerance,
            neighbours: p.neighbours as u64,
            drop_zeros: flag(p.drop_zeros),
        }
    }

    fn params(&self) -> Result<IcpParams> {
        let width = self.robust_width;
        let robust = [
            Robust::None,
            Robust::Huber(width),
            Robust::Cauchy(width),
            Robust::GemanMcClure(width),
            Robust::Tukey(width),
        ];
        Ok(IcpParams {
            metric: choice(Metric::ALL, self.metric, Argument::Metric)?,
            robust: choice(&robust, self.robust, Argument::Robust)?,
            max_distance: Some(self.max_distance).filter(|&most| most != f64::INFINITY),
            max_iterations: self.max_iterations as usize,
            step_tolerance: self.step_tolerance,
            neighbours: self.neighbours as usize,
            drop_zeros: self.drop_zeros != 0,
            ..IcpParams::default()
        })
    }
}

/// A target that many sources are aligned to.
#[derive(Debug)]
pub struct pointmill_icp_target {
    stream: Stream,
    target: Target,
}

fn result(found: &Registration) -> pointmill_registration {
    pointmill_registration {
        rank: found.fit.observability.rank() as u32,
        pairs: found.fit.num_inliers as u64,
        fitness: found.fit.fitness,
        inlier_rmse: found.fit.inlier_rmse,
        ..pointmill_registration::new(found)
    }
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_icp_params_init(params: *mut pointmill_icp_params) -> pointmill_status {
    defaults(params, pointmill_icp_params::new)
}

/// Makes a cloud [N, 3 or more] of f32 or f64 ready on the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_icp_target_create(
    stream: Option<&pointmill_stream>,
    cloud: *const pointmill_array,
    params: *const pointmill_icp_params,
    target: Option<&mut *mut pointmill_icp_target>,
) -> pointmill_status {
    guard(|| {
        create(target, || {
            let stream = of(stream)?.clone();
            let params = given_or(params, pointmill_icp_params::new)?.params()?;
            let cloud = lent(cloud, Argument::Target, &stream)?;
            Ok(pointmill_icp_target { target: Target::new(&stream, cloud.rows()?, &params)?, stream })
        })
    })
}

/// The pose that brings a source onto the target, from a guess; null is the identity. It waits for the
/// result. Several threads may call it at a time.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_icp_target_align(
    target: Option<&pointmill_icp_target>,
    source: *const pointmill_array,
    guess: Option<&pointmill_pose>,
    registration: *mut pointmill_registration,
) -> pointmill_status {
    guard(|| {
        let target = some(target, "target")?;
        let guess = guess.map_or(Ok(Pose::IDENTITY), pose)?;
        let source = lent(source, Argument::Source, &target.stream)?;
        fill(registration, result(&target.target.align(source.rows()?, &guess)?))
    })
}

/// Destroys the target and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_icp_target_destroy(target: Option<Box<pointmill_icp_target>>) {
    destroy(target);
}
