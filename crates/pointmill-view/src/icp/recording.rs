//! A recording for rerun, to be turned and stepped through.

use super::V3;
use super::iteration::IcpIteration;
use crate::ViewError;
use crate::file::write_whole;
use crate::quantiles::quantiles;
use rerun::{Color, Points3D, RecordingStreamBuilder, Scalars, TextDocument, Transform3D};
use std::error::Error;
use std::path::Path;

const TARGET: [u8; 3] = super::TARGET;
const SOURCE: [u8; 3] = super::SOURCE;

/// Writes a recording (`.rrd`) for rerun, whole or not at all: both clouds, the source moving with
/// the timeline `iteration`, and its `rmse` and `pairs` as curves. With the feature `rerun`.
///
/// **Shapes.** As [`icp_scene`](super::icp_scene). **Units and frames.** Metres about the middle of
/// the target, which the text `origin` tells: the viewer has `f32`. **Order and determinism.**
/// Recordings have the time of day in them; no two have the same bytes.
///
/// # Errors
/// The file cannot be written; the error names it.
pub fn write_icp_recording(
    path: impl AsRef<Path>,
    source: &[V3],
    target: &[V3],
    iterations: &[IcpIteration],
) -> Result<(), ViewError> {
    let path = path.as_ref();
    let failed =
        |e: Box<dyn Error>| ViewError::Write { path: path.to_owned(), source: std::io::Error::other(e.to_string()) };
    write_whole(path, &encode(source, target, iterations).map_err(failed)?)
}

fn encode(source: &[V3], target: &[V3], iterations: &[IcpIteration]) -> Result<Vec<u8>, Box<dyn Error>> {
    let middle = |cloud: &[V3], k: usize| quantiles(cloud.iter().map(|p| p[k]).collect(), 0.5).map_or(0.0, |q| q[1]);
    let (onto, from) = ([0, 1, 2].map(|k| middle(target, k)), [0, 1, 2].map(|k| middle(source, k)));
    let points = |cloud: &[V3], origin: V3, [r, g, b]: [u8; 3]| {
        let local = cloud.iter().map(|p| [0, 1, 2].map(|k| (p[k] - origin[k]) as f32));
        Points3D::new(local).with_colors([Color::from_rgb(r, g, b)])
    };
    let (stream, memory) = RecordingStreamBuilder::new("pointmill_icp").memory()?;
    stream.log_static("origin", &TextDocument::new(format!("{onto:?} m")))?;
    stream.log_static("target", &points(target, onto, TARGET))?;
    stream.log_static("source", &points(source, from, SOURCE))?;
    for (i, iteration) in iterations.iter().enumerate() {
        stream.set_time_sequence("iteration", i as i64);
        let pose = &iteration.target_from_source;
        // Of points about the middle of the source to points about that of the target.
        let middle = pose.apply(from);
        let shift = [0, 1, 2].map(|r| (middle[r] - onto[r]) as f32);
        // By columns.
        let turn = [0, 1, 2].map(|c| pose.rotation().map(|row| row[c] as f32));
        stream.log("source", &Transform3D::from_translation_mat3x3(shift, turn))?;
        stream.log("rmse", &Scalars::single(iteration.rmse))?;
        stream.log("pairs", &Scalars::single(iteration.pairs as f64))?;
    }
    Ok(memory.drain_as_bytes()?)
}
