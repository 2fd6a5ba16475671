//! The way in: checks, and a protocol for the rest.

use crate::protocol::{DetectionParams, Protocol};
use crate::report::DetectionReport;
use crate::rows::Frames;
use crate::{argoverse, filters, kitti, memory, nuscenes};
use pointmill_io::detections::Detections;
use pointmill_io::{Detail, IoError};

/// Compares predictions with the truth.
///
/// Frames are joined by name. A frame that only one side has counts: its predictions are false, its
/// truth is missed.
///
/// **Order and determinism**: predictions of equal score have the order of frames and rows. Any number
/// of threads gives the same bits.
///
/// **Source**: KITTI's `evaluate_object.cpp`, nuscenes-devkit 1.2.0, av2 0.3.6. One rule differs: where
/// KITTI has fewer than 41 boxes of truth to count, one of them stands for all the recalls that it
/// reaches, so that the truth against itself has the average precision 1. KITTI's own program leaves
/// such recalls at precision 0. From 41 on both have the same recalls. Bicycle racks of nuScenes and
/// the maps of Argoverse 2 are not read.
///
/// # Errors
/// [`IoError::InvalidArgument`]: columns of different lengths, an index out of range, a number that is
/// not finite, a column that the protocol needs and a side lacks; for nuScenes frames that are not the
/// same on both sides, none at all, and more than 500 predictions of a frame.
/// [`IoError::LimitExceeded`]: so many boxes that their fates may need more memory than
/// [`DetectionParams::max_memory`]. [`IoError::OutOfMemory`].
pub fn evaluate(
    predictions: &Detections,
    truth: &Detections,
    params: &DetectionParams,
) -> Result<DetectionReport, IoError> {
    evaluate_watched(predictions, truth, params, &|| {})
}

/// [`evaluate`], which calls `watch` from all its threads between parts of its work that take some
/// milliseconds at most. A `watch` that unwinds ends the work.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_watched(
    predictions: &Detections,
    truth: &Detections,
    params: &DetectionParams,
    watch: &(dyn Fn() + Sync),
) -> Result<DetectionReport, IoError> {
    let sides = [predictions, truth];
    check(sides, params)?;
    let frames = Frames::of(sides)?;
    memory::check(sides, frames.count, params)?;
    watch();
    let (mut report, far) = match params.protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => (kitti::evaluate(sides, &frames, params.protocol, watch)?, None),
        Protocol::NuScenes => {
            let far = [nuscenes::distances(sides, 0, &frames)?, nuscenes::distances(sides, 1, &frames)?];
            (nuscenes::evaluate(sides, &frames, &far, watch)?, Some(far))
        }
        Protocol::Argoverse2 => (argoverse::evaluate(sides, &frames, watch)?, None),
    };
    let reason = |side: usize, row: usize| match (params.protocol, &far) {
        (Protocol::NuScenes, Some(far)) => nuscenes::reason(sides, far, side, row),
        (Protocol::Argoverse2, _) => argoverse::reason(sides, side, row),
        _ => kitti::reason(sides, side, row),
    };
    let told = [("predictions", predictions), ("truth", truth)]
        .map(|(name, of)| of.warnings.iter().map(move |told| format!("{name}: {told}")).collect::<Vec<_>>());
    report.warnings = told.into_iter().flatten().collect();
    report.warnings.extend(filters::warnings(params.protocol, sides, &reason, watch));
    report.warnings.extend(filters::empty(&report));
    Ok(report)
}

/// Checks that both sides have the columns of a protocol, and values that can be used.
pub(crate) fn check(sides: [&Detections; 2], params: &DetectionParams) -> Result<(), IoError> {
    for (side, name) in sides.into_iter().zip(["predictions", "truth"]) {
        side.validate(name)?;
        let (column, length) = match (params.protocol, name) {
            (Protocol::KittiR40 | Protocol::KittiR11, _) => ("image", side.image.len()),
            (Protocol::NuScenes, _) => ("states", side.states.len()),
            (Protocol::Argoverse2, "truth") => ("num_points", side.num_points.len()),
            (Protocol::Argoverse2, _) => ("boxes", side.len()),
        };
        if length != side.len() {
            let expected = format!("{} rows, which the protocol {} needs", side.len(), params.protocol);
            return Err(IoError::InvalidArgument(Detail::new(name, column, expected, "none")));
        }
    }
    Ok(())
}
