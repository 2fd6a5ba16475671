//! Why a sweep was not tracked, for people.

use crate::{Observer, grouped};
use pointmill::PointCloud;
use pointmill_slam::odometry::{OdometryParams, SweepStatus};

/// Why a sweep of this status was not tracked, if it was not.
pub(super) fn reason(
    status: SweepStatus,
    cloud: &PointCloud,
    params: &OdometryParams,
    observer: &dyn Observer,
) -> Option<String> {
    let reason = match status {
        SweepStatus::TooFewPoints => return Some(too_few(cloud, params, observer)),
        SweepStatus::Degenerate => "its surfaces do not determine all directions",
        SweepStatus::NotConverged => "the last step of the alignment was not short",
        SweepStatus::Lost => "the map explains too little of it, here and where the sensor was before",
        SweepStatus::Ambiguous => "the map explains as much of it at another place",
        _ => return None,
    };
    Some(reason.into())
}

/// Why a sweep has too few points: what is wrong with all of them, where none can be used.
fn too_few(cloud: &PointCloud, params: &OdometryParams, observer: &dyn Observer) -> String {
    let OdometryParams { min_range: near, max_range: far, .. } = *params;
    let mut counts = [0; 3];
    for p in cloud.points().iter_xyz() {
        let range = p.map(|x| f64::from(x).powi(2)).iter().sum::<f64>().sqrt();
        let whys = [range > far, range < near, range.is_nan()];
        counts.iter_mut().zip(whys).for_each(|(count, why)| *count += usize::from(why));
    }
    let whys = [
        format!("farther than {} {far} m", observer.option("max_range")),
        format!("nearer than {} {near} m", observer.option("min_range")),
        "NaN".to_owned(),
    ];
    let found: Vec<_> = counts.into_iter().zip(whys).filter(|(count, _)| *count > 0).collect();
    match &found[..] {
        [(count, why)] if *count == cloud.len() => format!("too few points: all points are {why}"),
        [_, ..] if counts.iter().sum::<usize>() == cloud.len() => {
            let found: Vec<_> = found.iter().map(|(count, why)| format!("{} are {why}", grouped(*count))).collect();
            format!("too few points: {}", found.join(", "))
        }
        _ => "too few points".into(),
    }
}
