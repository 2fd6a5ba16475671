//! The files of each protocol.

use crate::protocol::Protocol;
use pointmill_io::detections::{Detections, check_same_kitti_files, read_argoverse, read_kitti, read_nuscenes};
use pointmill_io::{Detail, IoError, Limits};
use std::path::Path;

/// Reads boxes from the files of a protocol: for KITTI text, for nuScenes JSON, for Argoverse 2
/// Feather.
///
/// `truth` is where the truth lies if `path` has predictions: of KITTI both must have the same files.
/// Where it is none, `path` has the truth: if all its scores are -1, as nuScenes' devkit writes them,
/// they become 1.
///
/// # Errors
/// What [`read_kitti`], [`read_nuscenes`] and [`read_argoverse`] refuse; predictions without a score; a
/// file that only one of two folders of KITTI has.
pub fn read(path: &Path, truth: Option<&Path>, protocol: Protocol, limits: &Limits) -> Result<Detections, IoError> {
    let boxes = match protocol {
        Protocol::NuScenes => {
            let mut boxes = read_nuscenes(path, limits)?;
            // The devkit gives the score -1 to boxes of the truth, which have none.
            if truth.is_none() && boxes.scores.iter().all(|&score| score.total_cmp(&-1.0).is_eq()) {
                boxes.scores.fill(1.0);
            }
            boxes
        }
        Protocol::Argoverse2 => read_argoverse(path, limits)?,
        Protocol::KittiR40 | Protocol::KittiR11 => {
            truth.map_or(Ok(()), |truth| check_same_kitti_files(path, truth))?;
            read_kitti(path, limits)?
        }
    };
    match &boxes.unscored {
        Some((file, place)) if truth.is_some() => {
            let got = "none; give the results of a detector, or a score of 1 to each box if all are equally sure";
            let wanted = "a score for each prediction";
            Err(IoError::MissingField(Detail::new(file, format!("{place}: score"), wanted, got)))
        }
        _ => Ok(boxes),
    }
}
