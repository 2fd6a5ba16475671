//! The evaluation.

use super::Trajectory;
use super::align::Similarity;
use super::associate::associate;
use super::errors::{Beside, apart, lengths, motions_apart, statistics};
use super::params::EvaluationParams;
use super::result::{Evaluation, Frame};
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
/// estimate) takes the nearest pose of the other, of equally near ones the earlier. The estimate is
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
    let pairs = associate(estimate, truth, params.max_time_difference)?;
    let mut moved = memory::collect(pairs.iter().map(|[i, _]| estimate.poses()[*i]))?;
    let true_poses = memory::collect(pairs.iter().map(|[_, j]| truth.poses()[*j]))?;
    let (alignment, warning) = Similarity::between(&moved, &true_poses, params.alignment);
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
            rotation,
            step_translation,
            step_rotation,
        }
    };
    let segment_lengths = match params.segment_lengths.as_slice() {
        [] => default_lengths(length),
        lengths => lengths.to_vec(),
    };
    Ok(Evaluation {
        alignment,
        length,
        absolute: statistics(&errors)?,
        relative: params.deltas.iter().map(|delta| beside.relative(*delta)).collect::<Result<_>>()?,
        drift: beside.drift(&segment_lengths, params.segment_every),
        frames: memory::collect((0..pairs.len()).map(frame))?,
        warnings: warning.into_iter().collect(),
    })
}

/// 100 to 800 m, or a tenth, a hundredth and so on of these, so that the shortest fits the way.
fn default_lengths(way: f64) -> Vec<f64> {
    let [mut shortest, least] = SHORTEST;
    while shortest >= way && shortest > least {
        shortest /= 10.0;
    }
    (1..=LENGTHS).map(|n| n as f64 * shortest).collect()
}
