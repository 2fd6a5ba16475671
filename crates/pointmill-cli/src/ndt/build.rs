//! `pointmill ndt build`: clouds into a grid, or each into one of its own.

use super::args::{BuildArgs, Model};
use super::cloud::Cloud;
use super::picture::{self, MapPicture};
use super::records::{BuildBegin, BuildFrame, BuildSummary, ParamsRecord};
use super::table::{BuildTable, build_lines};
use super::targets::{self, Targets};
use super::{Trouble, blame, check, shown, tell, warn_if_empty};
use crate::failure::Failure;
use crate::inputs::{Inputs, Source};
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::{Times, milliseconds};
use crate::{interrupt, say};
use pointmill::Device;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams};
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "ndt build";

/// Everything that is settled before the work.
struct Plan {
    params: NdtParams,
    drop_zeros: bool,
    inputs: Inputs,
    targets: Targets,
    picture: Option<MapPicture>,
    device: Device,
    builder: NdtBuilder,
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    done: usize,
    failed: usize,
    points: usize,
    voxels: usize,
    times: Vec<f64>,
}

/// Runs the command.
pub(super) fn run(
    args: &BuildArgs,
    open: impl FnOnce() -> Result<Device, Failure>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let model = args.covariance.unwrap_or(Model::Unbiased);
    let params = args.cells.params(model);
    check(args.resolution, &params)?;
    let mut inputs = Inputs::find(&args.inputs, args.read.options())?;
    let sources = std::mem::take(&mut inputs.sources);
    let tiles = targets::tiles(args)?;
    args.visualize.as_deref().map(|path| picture::plan(path, &["png"])).transpose()?;
    let device = open()?;
    let targets = Targets::plan(args, tiles, &sources)?;
    let builder = NdtBuilder::new(&device.stream()?, args.resolution)?;
    printer.record(
        "begin",
        &BuildBegin {
            run: Run::new(COMMAND, &device),
            inputs: sources.len(),
            tiles,
            params: ParamsRecord::new(Some(args.resolution), model, &args.cells),
        },
    )?;
    let picture = args.visualize.as_deref().map(MapPicture::new);
    Plan { params, drop_zeros: args.drop_zeros, inputs, targets, picture, device, builder }.run(&sources, printer)
}

impl Plan {
    fn run(mut self, sources: &[Source], printer: &mut Printer) -> Result<(), Failure> {
        let names: Vec<_> = sources.iter().map(Source::name).collect();
        let table = BuildTable::new(&names, matches!(self.targets, Targets::Tiles { .. }));
        let progress = say::progress(sources.len(), printer.json());
        let mut head = table.head();
        let mut totals = Totals::default();
        for (index, source) in sources.iter().enumerate() {
            interrupt::check()?;
            if printer.is_closed() && self.targets.asked().is_empty() && self.picture.is_none() {
                return Ok(());
            }
            match self.one(index, source, &mut totals) {
                Ok(frame) => progress.suspend(|| {
                    for warning in &frame.warnings {
                        say::warning(format_args!("{}: {warning}", frame.input));
                    }
                    printer.record("frame", &frame)?;
                    head.take().into_iter().chain(table.row(&frame)).try_for_each(|line| printer.text(&line))
                })?,
                Err(Trouble::Input(refused)) => {
                    totals.failed += 1;
                    progress.suspend(|| tell(printer, index, &names[index], refused))?;
                }
                Err(Trouble::Fatal(failure)) => return Err(failure),
            }
            progress.inc(1);
        }
        progress.finish_and_clear();
        self.finish(totals, sources.len(), printer)
    }

    /// One input: its points added, and where it has a grid of its own that written.
    fn one(&mut self, index: usize, source: &Source, totals: &mut Totals) -> Result<BuildFrame, Trouble> {
        let start = Instant::now();
        let mut read = self.inputs.load_exact(source)?;
        let name = source.name();
        let (format, warnings) = (std::mem::take(&mut read.format), std::mem::take(&mut read.warnings));
        let points = read.cloud.len();
        let (cloud, zeros) = Cloud::new(read, self.drop_zeros)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        tracing::info!("{name}: {points} points of {}, {format}", cloud.element());
        let files = self.targets.of(index);
        let start = Instant::now();
        if files.is_some() {
            self.builder.clear()?;
        }
        self.builder.add(cloud.view()?).map_err(|e| blame(e, &name))?;
        let grid = if files.is_some() { Some(self.builder.finish(&self.params)?) } else { None };
        let ms = milliseconds(start.elapsed());
        if let (Some(files), Some(grid)) = (&files, &grid) {
            interrupt::check()?;
            warn_if_empty(&name, grid);
            files.write(&mut self.builder, grid)?;
            totals.voxels += grid.len();
        }
        if let Some(picture) = &mut self.picture {
            match &grid {
                None => picture.add_points(&cloud),
                // Of tiles the first is drawn.
                Some(grid) if totals.done == 0 => {
                    picture.add_points(&cloud);
                    picture.write(grid)?;
                }
                Some(_) => {}
            }
        }
        totals.done += 1;
        totals.points += cloud.len();
        totals.times.push(ms);
        let [out, moments] = files.map_or([None, None], |files| files.names());
        Ok(BuildFrame {
            index,
            input: name,
            format,
            element: cloud.element(),
            points,
            zeros,
            report: grid.as_ref().map(|grid| grid.report().into()),
            ms,
            read_ms,
            out,
            moments,
            warnings,
        })
    }

    fn finish(mut self, mut totals: Totals, inputs: usize, printer: &mut Printer) -> Result<(), Failure> {
        interrupt::check()?;
        let mut all: Option<(NdtGrid, f64)> = None;
        // Where every input failed there is no grid, rather than one of nothing.
        if let (Targets::One(files), 1..) = (&self.targets, totals.done) {
            let start = Instant::now();
            let grid = self.builder.finish(&self.params)?;
            let ms = milliseconds(start.elapsed());
            warn_if_empty("all inputs", &grid);
            files.write(&mut self.builder, &grid)?;
            if let Some(picture) = &self.picture {
                interrupt::check()?;
                picture.write(&grid)?;
            }
            totals.voxels = grid.len();
            all = Some((grid, ms));
        }
        let written = if totals.done > 0 { self.targets.asked().names() } else { [None, None] };
        let [out, moments] = written;
        let summary = BuildSummary {
            run: Run::new(COMMAND, &self.device),
            inputs,
            done: totals.done,
            failed: totals.failed,
            points: totals.points,
            resolution: self.builder.lattice().unit(),
            voxels: totals.voxels,
            report: all.as_ref().map(|(grid, _)| grid.report().into()),
            ms: Times::of(&totals.times),
            finish_ms: all.map(|(_, ms)| ms),
            out,
            moments,
            picture: self.picture.filter(|_| totals.done > 0).map(|picture| shown(picture.path())),
        };
        printer.record("summary", &summary)?;
        build_lines(&summary).iter().try_for_each(|line| printer.text(line))?;
        if totals.failed > 0 {
            return Err(Failure::Inputs { failed: totals.failed, inputs });
        }
        Ok(())
    }
}
