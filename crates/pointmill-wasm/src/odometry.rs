//! `odometry`, sweep by sweep.

use crate::clouds::{Clouds, options};
use crate::output::Output;
use crate::params::params;
use crate::{stream, thrown};
use pointmill_data::inputs::{Inputs, Source};
use pointmill_data::poses::Deskew;
use pointmill_data::runs::{OdometryRun, TrajectoryFormat};
use pointmill_io::{LocalOrigin, Scan};
use pointmill_slam::odometry::OdometryParams;
use pointmill_view::DriveScene;
use serde::Serialize;
use std::path::Path;
use wasm_bindgen::prelude::*;

/// The trajectory of a sensor, of sweeps in the order in which they were taken.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Odometry {
    params: OdometryParams,
    run: Option<(OdometryRun, Inputs)>,
    /// Sweeps before the first that can be read, which decides the origin of the run.
    unread: Vec<Source>,
    drive: DriveScene,
    ms: f64,
}

/// What became of a sweep.
#[derive(Serialize)]
struct Row {
    name: String,
    points: usize,
    status: Option<&'static str>,
    /// x, y, z of the sensor in metres.
    place: [f64; 3],
    ms: f64,
    warnings: Vec<String>,
    /// Why the sweep cannot be used; its pose is the one that was expected.
    error: Option<String>,
}

/// Metres along the poses, and how many sweeps have each status.
#[derive(Serialize)]
struct Report {
    sweeps: usize,
    length: f64,
    statuses: String,
}

#[wasm_bindgen]
impl Odometry {
    /// A run without sweeps; `sweeps` is about how many there will be.
    #[wasm_bindgen(constructor)]
    pub fn new(sweeps: usize, given: Option<String>) -> Result<Self, JsError> {
        let params = params(given.as_deref(), &OdometryParams { keep_map: true, ..OdometryParams::default() })?;
        params.validate().map_err(thrown)?;
        Ok(Self { params, run: None, unread: Vec::new(), drive: DriveScene::new(sweeps), ms: 0.0 })
    }

    /// Takes the sweeps of a file: one, or those of a bag. Returns what became of each, as JSON. A
    /// sweep that cannot be used has the pose that was expected, as in the command.
    pub fn push(&mut self, clouds: Clouds) -> Result<String, JsError> {
        let (sources, inputs) = clouds.into_parts();
        let mut rows = Vec::new();
        for source in sources {
            rows.push(self.push_source(source, &inputs)?);
        }
        serde_json::to_string(&rows).map_err(thrown)
    }

    fn push_source(&mut self, source: Source, own: &Inputs) -> Result<Row, JsError> {
        if matches!(source, Source::Sweep(_)) && self.run.is_none() {
            let (_, inputs) = Clouds::drive().into_parts();
            self.start(inputs)?;
        }
        if self.run.is_none() {
            if let Err(e) = own.read(&source) {
                let row = Row::unread(source.name(), e.to_string());
                self.unread.push(source);
                return Ok(row);
            }
            self.start(Inputs::of(std::slice::from_ref(&source), options()))?;
        }
        self.step(&source)
    }

    /// Starts the run, with the sweeps that could not be read.
    fn start(&mut self, inputs: Inputs) -> Result<(), JsError> {
        let run = stream().and_then(|stream| OdometryRun::new(&stream, &self.params, Deskew::Auto, &inputs));
        self.run = Some((run.map_err(thrown)?, inputs));
        for source in std::mem::take(&mut self.unread) {
            self.step(&source)?;
        }
        Ok(())
    }

    fn step(&mut self, source: &Source) -> Result<Row, JsError> {
        let (run, inputs) = self.run.as_mut().expect("a run that was started");
        let step = run.push(inputs, source, &()).map_err(thrown)?;
        self.ms += step.ms;
        let name = source.name();
        let place = step.found.world_from_sensor.translation();
        let row = match step.scan {
            Ok(scan) => {
                self.drive.push(&name, &scan.cloud, Scan::intensity(&scan));
                let status = Some(step.found.status.as_str());
                let points = scan.cloud.len();
                Row { name, points, status, place, ms: step.ms, warnings: step.warnings, error: None }
            }
            Err(e) => Row { place, ..Row::unread(name, e.to_string()) },
        };
        Ok(row)
    }

    /// The poses so far, as `pointmill odometry FILE... --out poses.txt` writes them, in the format
    /// of KITTI.
    pub fn finish(&mut self) -> Result<Output, JsError> {
        let ms = self.ms;
        let run = self.started()?;
        let trajectory = run.trajectory();
        let file = trajectory.bytes(Path::new("poses.txt"), TrajectoryFormat::Kitti).map_err(thrown)?;
        let (sweeps, length) = (trajectory.poses().len(), trajectory.length());
        Output::new(file, &Report { sweeps, length, statuses: run.statuses().to_string() }, ms)
    }

    /// The page that `--visualize drive.html` writes.
    pub fn draw(&mut self) -> Result<Vec<u8>, JsError> {
        let drive = self.drive.clone();
        let run = self.started()?;
        let (map, poses) = (run.map().map_err(thrown)?, run.trajectory().poses());
        let title = format!("{} sweeps, {:.1} m", poses.len(), run.trajectory().length());
        Ok(drive.finish(&title, &map, poses).page())
    }

    fn started(&mut self) -> Result<&OdometryRun, JsError> {
        if self.run.is_none() {
            self.start(Inputs::of(&[], pointmill_io::ReadOptions { origin: LocalOrigin::None, ..options() }))?;
        }
        Ok(&self.run.as_ref().expect("a run that was started").0)
    }
}

impl Row {
    fn unread(name: String, error: String) -> Self {
        Self { name, points: 0, status: None, place: [0.0; 3], ms: 0.0, warnings: Vec::new(), error: Some(error) }
    }
}
