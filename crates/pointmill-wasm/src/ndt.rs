//! `ndt build` and `ndt align`.

use crate::clouds::Cloud;
use crate::output::{Output, timed};
use crate::params::params;
use crate::{stream, thrown};
use pointmill::Pose;
use pointmill::ndt::{NdtAlignParams, NdtBuilder, NdtParams};
use pointmill_data::inputs::rows;
use pointmill_data::ndt_map_bytes;
use pointmill_data::runs::{PoseNote, Trajectory, TrajectoryFormat};
use pointmill_view::{NdtEllipsoids, ndt_map_scene};
use std::path::Path;
use wasm_bindgen::prelude::*;

/// A map of normal distributions.
#[wasm_bindgen]
#[derive(Debug)]
pub struct NdtMap {
    resolution: f64,
    params: NdtParams,
    /// None before the first cloud, whose origin is that of the map.
    builder: Option<NdtBuilder>,
}

#[wasm_bindgen]
impl NdtMap {
    /// A map without clouds, with cells of `resolution` metres; the command's default is 2.
    #[wasm_bindgen(constructor)]
    pub fn new(resolution: f64, given: Option<String>) -> Result<Self, JsError> {
        let params = params(given.as_deref(), &NdtParams::default())?;
        NdtBuilder::new(&stream().map_err(thrown)?, resolution, &params).map_err(thrown)?;
        Ok(Self { resolution, params, builder: None })
    }

    /// Adds a cloud, in the frame of the map.
    pub fn add(&mut self, cloud: &Cloud) -> Result<(), JsError> {
        let builder = match &mut self.builder {
            Some(builder) => builder,
            none => {
                let empty = NdtBuilder::new(&stream().map_err(thrown)?, self.resolution, &self.params);
                none.insert(empty.and_then(|empty| empty.about(cloud.scan.cloud.origin())).map_err(thrown)?)
            }
        };
        let scan = cloud.about(builder.lattice().origin());
        rows(&scan).and_then(|rows| builder.add(rows)).map_err(thrown)
    }

    /// The map so far, as `pointmill ndt build FILE... --out map.npz` writes it.
    pub fn build(&mut self) -> Result<Output, JsError> {
        let builder = self.builder()?;
        let (grid, ms) = timed(|| builder.finish()).map_err(thrown)?;
        let cells = grid.read().map_err(thrown)?;
        let file = ndt_map_bytes(Path::new("map.npz"), &cells, grid.lattice()).map_err(thrown)?;
        Output::new(file, grid.report(), ms)
    }

    /// Aligns a scan with the map from the identity, as
    /// `pointmill ndt align SCAN --map FILE... --out poses.txt` does.
    pub fn align(&mut self, scan: &Cloud, given: Option<String>) -> Result<Output, JsError> {
        let params = params(given.as_deref(), &NdtAlignParams::default())?;
        let grid = self.builder()?.finish().map_err(thrown)?;
        let align = || grid.align(rows(&scan.scan)?, &[Pose::IDENTITY], &params);
        let (found, ms) = timed(align).map_err(thrown)?;
        let mut trajectory = Trajectory::default();
        trajectory.push_scan(found[0].target_from_source, PoseNote::default(), None);
        let file = trajectory.bytes(Path::new("poses.txt"), TrajectoryFormat::Kitti).map_err(thrown)?;
        Output::new(file, &found[0], ms)
    }

    /// A page with the cells.
    pub fn draw(&mut self) -> Result<Vec<u8>, JsError> {
        let grid = self.builder()?.finish().map_err(thrown)?;
        let cells = grid.read().map_err(thrown)?;
        let ellipsoids = NdtEllipsoids { means: &cells.mean, covariances: &cells.covariance };
        let title = format!("{} cells of {} m", cells.len(), self.resolution);
        let mut scene = ndt_map_scene(&title, &[], ellipsoids);
        scene.about(grid.lattice().origin());
        Ok(scene.page())
    }

    fn builder(&mut self) -> Result<&mut NdtBuilder, JsError> {
        self.builder.as_mut().ok_or_else(|| thrown("map: expected a cloud, got none; add one first"))
    }
}
