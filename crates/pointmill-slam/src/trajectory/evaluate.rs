//! The evaluation.

use super::Trajectory;
use super::align::Similarity;
use super::associate::associate;
use super::errors::{Beside, apart, lengths, motions_apart, statistics};
use super::params::EvaluationParams;
use super::result::{Drift, Evaluation, Frame, PoseErrors};
use pointmill::internals::memory;
use pointmill::{Argument, Error, Result};

/// Lengths of the KITTI benchmark by the shortest of them.
const LENGTHS: usize = 8;
/// The shortest length of the KITTI benchmark in metres, and the shortest that it is divided down
/// to.
const SHORTEST: [f64; 2] = [100.0, 0.1];

/// How far an estimate is from the truth.
///
/// **Semantics**: poses belong together by their times where both trajectories have some, else by
/// their index. By times, each pose of the trajectory with fewer poses (of equally long ones the
/// estimate) takes the nearest pose of the other, of equally near ones the earlier. Of poses of one
/// trajectory at one time the first counts; times need not ascend. The estimate is
/// then moved by the [`Alignment`](super::Alignment), which looks at positions, and where these do
/// not determine a turn at orientations. The error of a pose is the distance of the positions and
/// the angle between the rotations; the error of a motion from pose `i` to pose `j` is that of
/// `(truth_i^-1 truth_j)^-1 (estimate_i^-1 estimate_j)`. Relative errors take all pairs `i < j`
/// that are as far apart as asked for in the truth. A segment of the drift ends at the first pose
/// that is farther along the truth than its length.
///
/// # Errors
/// Parameters out of range; trajectories without a pose; numbers of poses that differ without
/// times; times that have no partner. Out of memory.
///
/// ```
/// use pointmill::Pose;
/// use pointmill_slam::trajectory::{Alignment, EvaluationParams, Trajectory, evaluate};
/// let truth: Vec<Pose> = (0..50).map(|i| Pose::from_translation([f64::from(i), f64::from(i % 7), 0.0])).collect();
/// let map_from_world = Pose::from_xyzrpy([5.0, 2.0, 1.0, 0.1, 0.2, 3.0])?;
/// let estimate = truth.iter().map(|pose| map_from_world * *pose).collect();
/// let params = EvaluationParams { alignment: Alignment::Se3, ..EvaluationParams::default() };
/// let found = evaluate(&Trajectory::new(estimate)?, &Trajectory::new(truth)?, &params)?;
/// assert!(found.absolute.translation.max < 1e-12 && found.frames.len() == 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate(estimate: &Trajectory, truth: &Trajectory, params: &EvaluationParams) -> Result<Evaluation> {
    params.validate()?;
    for (trajectory, argument) in [(estimate, Argument::Estimate), (truth, Argument::Truth)] {
        if trajectory.is_empty() {
            return Err(Error::argument(argument, "at least one pose", "none"));
        }
    }
    let mut warnings = vec![];
    let pairs = associate(estimate, truth, params.max_time_difference, &mut warnings)?;
    let has_rotations = !(estimate.positions_only() || truth.positions_only());
    if !has_rotations {
        warnings.push(unknown_rotations(estimate, truth));
    }
    let mut moved = memory::collect(pairs.iter().map(|[i, _]| estimate.poses()[*i]))?;
    let true_poses = memory::collect(pairs.iter().map(|[_, j]| truth.poses()[*j]))?;
    let (alignment, warning) = Similarity::between([&moved, &true_poses], params.alignment, has_rotations);
    warnings.extend(warning);
    moved.iter_mut().for_each(|pose| *pose = alignment.apply(pose));
    let along = memory::collect(lengths(&true_poses))?;
    let length = along[along.len() - 1];
    let beside = Beside { estimate: &moved, truth: &true_poses, lengths: &along };

    let errors = memory::collect(moved.iter().zip(&true_poses).map(|(a, b)| apart(a, b)))?;
    let frame = |k: usize| {
        let [estimate, of_truth] = pairs[k];
        let [translation, rotation] = errors[k];
        let [step_translation, step_rotation] = match k.checked_sub(1) {
            Some(before) => motions_apart([&moved[before], &moved[k]], [&true_poses[before], &true_poses[k]]),
            None => [0.0; 2],
        };
        let time = truth.times().map(|times| times[of_truth]);
        Frame {
            estimate,
            truth: of_truth,
            time,
            length: along[k],
            translation,
            rotation: has_rotations.then_some(rotation),
            step_translation: has_rotations.then_some(step_translation),
            step_rotation: has_rotations.then_some(step_rotation),
        }
    };
    let segment_lengths = match params.segment_lengths.as_slice() {
        [] => default_lengths(length),
        lengths => lengths.to_vec(),
    };
    let absolute = statistics(&errors)?;
    let deltas = if has_rotations { &params.deltas[..] } else { &[] };
    Ok(Evaluation {
        alignment,
        length,
        absolute: PoseErrors { rotation: absolute.rotation.filter(|_| has_rotations), ..absolute },
        relative: deltas.iter().map(|delta| beside.relative(*delta)).collect::<Result<_>>()?,
        drift: if has_rotations { beside.drift(&segment_lengths, params.segment_every) } else { Drift::default() },
        frames: memory::collect((0..pairs.len()).map(frame))?,
        estimate_poses: estimate.len(),
        truth_poses: truth.len(),
        warnings,
    })
}

/// What is said of errors without rotations.
fn unknown_rotations(estimate: &Trajectory, truth: &Trajectory) -> String {
    let who = match (estimate.positions_only(), truth.positions_only()) {
        (true, true) => "both have",
        (true, false) => "the estimate has",
        _ => "the truth has",
    };
    format!("{who} positions alone: errors of rotations, relative errors and the drift are not known")
}

/// 100 to 800 m, or a tenth, a hundredth and so on of these, so that the shortest fits the way.
fn default_lengths(way: f64) -> Vec<f64> {
    let [mut shortest, least] = SHORTEST;
    while shortest >= way && shortest > least {
        shortest /= 10.0;
    }
    (1..=LENGTHS).map(|n| n as f64 * shortest).collect()
}
