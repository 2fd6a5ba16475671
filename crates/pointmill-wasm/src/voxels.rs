//! `voxelize` and `downsample`.

use crate::clouds::Cloud;
use crate::output::{Output, timed};
use crate::params::params;
use crate::{stream, thrown};
use pointmill::downsample::{DownsampleParams, DownsampleReport, Downsampler};
use pointmill::voxelize::{MeanType, VoxelArrays, VoxelizeParams, Voxelizer, Voxels};
use pointmill::{AnyArray, Points, VoxelGrid};
use pointmill_data::{grouped, result_bytes, thinned};
use pointmill_io::{About, Scan, points_npz_bytes};
use pointmill_view::{Layer, Paint, Scene, VoxelScene};
use std::cell::RefCell;
use std::path::Path;
use wasm_bindgen::prelude::*;

thread_local! {
    /// The worker of the last call, which keeps its memory for clouds with the same parameters.
    static KEPT: RefCell<Option<(VoxelizeParams, Voxelizer, Voxels)>> = const { RefCell::new(None) };
}

/// Divides a cloud into voxels, as `pointmill voxelize FILE --out voxels.npz` does.
///
/// `params` is JSON with the names that `--json` prints. `auto_range` is `--range auto`.
#[wasm_bindgen]
pub fn voxelize(cloud: &Cloud, given: Option<String>, auto_range: Option<bool>) -> Result<Output, JsError> {
    let (arrays, _, ms) = voxels(cloud, given.as_deref(), auto_range)?;
    let about = About { result: &arrays, origin: cloud.scan.cloud.origin() };
    let file = result_bytes(Path::new("voxels.npz"), &about, &arrays.report).map_err(thrown)?;
    Output::new(file, &arrays.report, ms)
}

/// The page that `pointmill voxelize FILE --visualize page.html` writes.
#[wasm_bindgen(js_name = drawVoxels)]
pub fn draw_voxels(cloud: &Cloud, given: Option<String>, auto_range: Option<bool>) -> Result<Vec<u8>, JsError> {
    let (arrays, params, _) = voxels(cloud, given.as_deref(), auto_range)?;
    let points = &cloud.scan.cloud;
    let Some(AnyArray::F32(mean)) = &arrays.mean else { return Err(thrown("mean: expected f32, got another")) };
    let means = Points::new(mean, arrays.columns).map_err(thrown)?;
    let [input, output] = [points.len(), means.len()].map(grouped);
    let captions = [&*format!("input: {input} points"), &*format!("voxel means: {output} voxels")];
    let mut scene = VoxelScene::new("voxelize", 1);
    scene.about(points.origin());
    let label = format!("{}; {}; {}", cloud.name, captions[0], captions[1]);
    scene.push(&label, captions, points.points(), means, params.voxel_size, params.range);
    Ok(scene.scene().page())
}

fn voxels(
    cloud: &Cloud,
    given: Option<&str>,
    auto: Option<bool>,
) -> Result<(VoxelArrays, VoxelizeParams, f64), JsError> {
    let mut defaults = VoxelizeParams::default();
    defaults.outputs.mean = Some(MeanType::F32);
    let mut params = params(given, &defaults)?;
    let auto = auto.unwrap_or(false);
    let points = &cloud.scan.cloud;
    if let Some(bounds) = auto.then(|| points.bounds()).flatten() {
        params.range = *VoxelGrid::around(params.voxel_size, bounds).map_err(thrown)?.range();
    }
    KEPT.with_borrow_mut(|kept| {
        let (_, voxelizer, voxels) = match kept {
            Some(kept) if kept.0 == params => kept,
            none => {
                let voxelizer = stream().and_then(|stream| Voxelizer::new(&stream, &params)).map_err(thrown)?;
                let voxels = voxelizer.output().map_err(thrown)?;
                none.insert((params.clone(), voxelizer, voxels))
            }
        };
        let ((), ms) = timed(|| voxelizer.run(points, voxels)).map_err(thrown)?;
        Ok((voxels.read().map_err(thrown)?, params, ms))
    })
}

/// Keeps one point for each voxel, as `pointmill downsample FILE --out thin.npz` does.
#[wasm_bindgen]
pub fn downsample(cloud: &Cloud, given: Option<String>) -> Result<Output, JsError> {
    let (thin, report, ms) = thin(cloud, given.as_deref())?;
    let file = points_npz_bytes("thin.npz", &(&thin).into()).map_err(thrown)?;
    Output::new(file, &report, ms)
}

/// A page with the points that are left.
#[wasm_bindgen(js_name = drawDownsampled)]
pub fn draw_downsampled(cloud: &Cloud, given: Option<String>) -> Result<Vec<u8>, JsError> {
    let (thin, ..) = thin(cloud, given.as_deref())?;
    let [before, after] = [&cloud.scan, &thin].map(|scan| grouped(scan.cloud.len()));
    let mut scene = Scene::new(&format!("downsample: {after} of {before} points"), Paint::Height);
    scene.push(Layer::points("points", &thin.xyz()));
    Ok(scene.page())
}

fn thin(cloud: &Cloud, given: Option<&str>) -> Result<(Scan, DownsampleReport, f64), JsError> {
    let params = params(given, &DownsampleParams::new([0.2; 3]))?;
    let (thin, ms) = timed(|| Downsampler::new(&stream()?, &params)?.run(&cloud.scan.cloud)).map_err(thrown)?;
    Ok((thinned(&cloud.scan, &thin, params.keep).map_err(thrown)?, thin.report(), ms))
}
