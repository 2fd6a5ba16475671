//! Runs `pointmill ndt build` into a map by blocks.

use super::args::BuildArgs;
use super::records::{BuildBegin, BuildRow, CellsRecord, GridTotals};
use super::report;
use crate::batch::prelude::*;
use pointmill::Device;
use pointmill::ndt::NdtBuilder;
use pointmill_data::maps::{Added, Build, Item};
use pointmill_io::escape;
use std::path::Path;

/// Every input is split into the blocks of a map.
struct Split<'a> {
    args: &'a BuildArgs,
    build: Build,
    /// The name of each input in the map.
    names: Vec<String>,
    device: Device,
}

/// Runs `ndt build` into a map by blocks.
pub(super) fn build(args: &BuildArgs, out: &Path, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let (build, sources, names) = Build::plan(&args.of_map(out)?, &stderr::Stderr)?;
    let build = build.with_sensor_pose(args.sensor.pose(&sources)?);
    let device = device::open(device, &sources)?;
    let origin = Some(build.inputs().origin());
    let job = Job { out: Some(out), origin, in_turn: true, ..Job::on(&device, "ndt build", &sources, &args.work) };
    let record = CellsRecord { resolution: Some(args.resolution), params: args.cells.params() };
    let (block, deskew) = (Some(build.map().settings().block()), build.deskew());
    job.begin(BuildBegin { tiles: false, block, deskew, params: record }, printer)?;
    job.run(&Split { args, build, names, device: device.clone() }, printer)
}

impl Command for Split<'_> {
    type Worker = OperatorSlot<NdtBuilder>;
    type Row = BuildRow;
    type Totals = GridTotals;

    fn inputs(&self) -> Option<&Inputs> {
        Some(self.build.inputs())
    }

    fn worker(&self) -> Result<Self::Worker, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, false, |device| self.build.map().builder(device))
    }

    fn one(&self, slot: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<BuildRow>, InputError> {
        let item = Item { index, name: &self.names[index], source, version: None };
        if self.args.work.resume.resume && self.build.kept(&item)?.is_some() {
            return Err(InputError::AlreadyDone);
        }
        let (name, map) = (source.name(), self.build.map());
        let blame = |e| InputError::blame("BadValue", e, &name);
        let sum = |read: ReadInput| {
            let called = slot.call(
                &name,
                blame,
                |device| map.builder(device),
                |builder| {
                    builder.clear()?;
                    builder.add(rows(&read.scan)?)?;
                    builder.moments()
                },
            )?;
            let differs = |cpu: &Called<'_, _, _>| Ok(if cpu.found == called.found { vec![] } else { vec!["moments"] });
            let cpu = called.compare(differs).map_err(blame)?;
            let frame = called.on(report::build_frame(index, source, &read));
            Ok((called.found, Frame { cpu, ..frame }))
        };
        let added = self.build.one(&item, &stderr::Stderr, sum, InputError::reason).map_err(Failure::from)?;
        let Added { of: mut frame, row, ms } = added?;
        (frame.write_ms, frame.of.blocks) = (Some(ms), Some(row.blocks.len()));
        Ok(frame)
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<BuildRow>) -> Result<(), Failure> {
        totals.points += frame.of.points - frame.of.zeros;
        Ok(())
    }

    fn cells(&self, frame: &Frame<BuildRow>) -> Vec<Cell> {
        report::build_cells(&frame.of, false)
    }

    fn finish(&self, totals: &mut GridTotals, _: Vec<Self::Worker>, counts: Counts) -> Result<bool, Failure> {
        let map = self.build.map();
        totals.resolution = map.settings().resolution;
        if counts.kept == 0 {
            self.build.warn_of_unused_poses(&stderr::Stderr);
        }
        if self.args.no_merge {
            return Ok(true);
        }
        let limits = self.args.read.limits();
        let merged = || map.merge_all(&limits, &stderr::Stderr).map_err(InputError::from);
        let ((voxels, blocks), ms) = timed(merged)?;
        (totals.voxels, totals.blocks, totals.finish_ms) = (voxels, Some(blocks), Some(ms));
        Ok(true)
    }

    fn lines(&self, summary: &Summary<GridTotals>) -> Vec<String> {
        if self.args.no_merge {
            let (inputs, points) = (counted(summary.counts.done, "input"), grouped(summary.of.points));
            let on = format!("{}{}", summary.run.device_name(), percentiles(summary.ms.as_ref()));
            let map = escape(summary.out.as_deref().unwrap_or_default());
            return vec![format!("added {inputs}, {points} points on {on}; merge with `ndt merge {map}`")];
        }
        report::grid_lines(summary)
    }
}
