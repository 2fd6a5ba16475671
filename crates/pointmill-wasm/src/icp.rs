//! `icp`.

use crate::clouds::Cloud;
use crate::output::{Output, timed};
use crate::params::params;
use crate::{stream, thrown};
use pointmill::Pose;
use pointmill::icp::{IcpParams, Registration, Target};
use pointmill_data::grouped;
use pointmill_data::inputs::rows;
use pointmill_io::{Scan, points_npz_bytes};
use pointmill_view::{Layer, Paint, Scene};
use wasm_bindgen::prelude::*;

/// Aligns a source with a target, as `pointmill icp SOURCE TARGET --out aligned.npz` does.
///
/// The file holds the source in the frame of the target; the report has `target_from_source`.
#[wasm_bindgen]
pub fn icp(source: &Cloud, target: &Cloud, given: Option<String>) -> Result<Output, JsError> {
    let (moved, _, found, ms) = align(source, target, given.as_deref())?;
    let file = points_npz_bytes("aligned.npz", &(&moved).into()).map_err(thrown)?;
    Output::new(file, &found, ms)
}

/// A page with the target and the aligned source.
#[wasm_bindgen(js_name = drawIcp)]
pub fn draw_icp(source: &Cloud, target: &Cloud, given: Option<String>) -> Result<Vec<u8>, JsError> {
    let (moved, target, found, _) = align(source, target, given.as_deref())?;
    let [points, onto] = [&moved, &target].map(|scan| grouped(scan.cloud.len()));
    let mut scene = Scene::new(&format!("{points} points onto {onto}: {}", found.status), Paint::Own);
    scene.push(Layer::points("target", &target.xyz()).colour([120, 132, 152]));
    scene.push(Layer::points("aligned source", &moved.xyz()).colour([255, 170, 60]));
    Ok(scene.page())
}

/// The source in the frame of the target, the target about the source's origin, and the alignment.
fn align(source: &Cloud, target: &Cloud, given: Option<&str>) -> Result<(Scan, Scan, Registration, f64), JsError> {
    let params = params(given, &IcpParams::default())?;
    let target = target.about(source.scan.cloud.origin());
    let align = || Target::new(&stream()?, rows(&target)?, &params)?.align(rows(&source.scan)?, &Pose::IDENTITY);
    let (found, ms) = timed(align).map_err(thrown)?;
    Ok((source.scan.transformed(&found.target_from_source, target.is_f64()), target, found, ms))
}
