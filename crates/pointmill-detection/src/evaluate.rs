//! The way in: parameters, checks, protocols.

use crate::report::DetectionReport;
use crate::rows::Frames;
use crate::{argoverse, kitti, nuscenes};
use pointmill_core::names;
use pointmill_io::detections::Detections;
use pointmill_io::{Detail, IoError};

/// Whose rules an evaluation follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// KITTI objects, 40 recalls: the benchmark since 2019.
    #[default]
    KittiR40,
    /// KITTI objects, 11 recalls.
    KittiR11,
    /// nuScenes' detection task, configuration `detection_cvpr_2019`.
    NuScenes,
    /// Argoverse 2's detection task, without pruning to the region of interest.
    Argoverse2,
}
names!(Protocol { KittiR40 = "kitti", KittiR11 = "kitti-r11", NuScenes = "nuscenes", Argoverse2 = "av2" });

/// What [`evaluate`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetectionParams {
    /// Whose rules it follows.
    pub protocol: Protocol,
}

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
/// same on both sides, and more than 500 predictions of a frame.
pub fn evaluate(
    predictions: &Detections,
    truth: &Detections,
    params: &DetectionParams,
) -> Result<DetectionReport, IoError> {
    let sides = [predictions, truth];
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
    let frames = Frames::of(sides);
    match params.protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => Ok(kitti::evaluate(sides, &frames, params.protocol)),
        Protocol::NuScenes => nuscenes::evaluate(sides, &frames),
        Protocol::Argoverse2 => Ok(argoverse::evaluate(sides, &frames)),
    }
}
