//! `pointmill voxelize`: inputs through one voxelizer, one after the other.

use crate::args::{Global, VoxelizeArgs};
use crate::compare::{Lane, differences};
use crate::config::{Config, Mean, Order, Settings};
use crate::failure::Failure;
use crate::inputs::{Inputs, Loaded, Source};
use crate::outputs::{Outputs, write_arrays};
use crate::picture::Picture;
use crate::printer::Printer;
use crate::records::{Begin, ErrorRecord, Frame, FrameCpu, ParamsRecord, Run, Summary, SummaryCpu};
use crate::stats::{Times, milliseconds};
use crate::table::{Table, summary_lines};
use crate::{device, interrupt, say};
use pointmill::voxelize::{VoxelizeParams, Voxelizer};
use pointmill::{Device, Error};
use std::path::Path;
use std::time::Instant;

/// Everything that is settled before the work.
struct Plan {
    settings: Settings,
    params: VoxelizeParams,
    inputs: Inputs,
    outputs: Outputs,
    picture: Option<Picture>,
    lane: Lane,
    /// The CPU beside it.
    cpu: Option<Lane>,
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    done: usize,
    failed: usize,
    points: usize,
    voxels: usize,
    different: usize,
}

/// Why an input has no result.
enum Trouble {
    /// It is the input's fault: the others are still done.
    Input { class: &'static str, message: String },
    /// It is not.
    Fatal(Failure),
}

impl<T: Into<Failure>> From<T> for Trouble {
    fn from(e: T) -> Self {
        Self::Fatal(e.into())
    }
}

/// Runs the command.
pub(crate) fn run(args: &VoxelizeArgs, global: &Global, printer: &mut Printer) -> Result<(), Failure> {
    let config = args.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
    let flags = args.settings();
    flags.check("--")?;
    let settings = flags.or(&config.voxelize);
    let device = global.device.as_ref().or(config.device.as_ref()).map_or("auto", String::as_str);
    let params = settings.params();
    // The CPU's voxelizer checks parameters at once; a GPU takes a while to wake.
    Voxelizer::new(&Device::cpu().stream()?, &params)?;
    let options = settings.read_options()?;
    if args.print_config {
        let effect = Config { device: Some(device.into()), voxelize: settings.in_effect() };
        return printer.plain(effect.to_text()?.as_bytes());
    }
    let inputs = Inputs::find(&args.inputs, options)?;
    let picture = args.visualize.as_deref().map(|path| Picture::plan(path, inputs.sources.len())).transpose()?;
    let device = device::open(device)?;
    let outputs = Outputs::plan(args.out.as_deref(), &inputs.sources)?;
    let cpu = if args.cpu { Some(Lane::new(device::cpu_beside(&device)?, &params)?) } else { None };
    let lane = Lane::new(device, &params)?;
    Plan { settings, params, inputs, outputs, picture, lane, cpu }.run(args, printer)
}

impl Plan {
    fn run(mut self, args: &VoxelizeArgs, printer: &mut Printer) -> Result<(), Failure> {
        let sources = std::mem::take(&mut self.inputs.sources);
        let names: Vec<_> = sources.iter().map(Source::name).collect();
        let table = Table::new(&names, self.cpu.is_some(), args.verbose);
        printer.record("begin", &self.begin(sources.len())?)?;
        let progress = say::progress(sources.len(), printer.json());
        let mut head = table.head();
        let mut totals = Totals::default();
        for (index, source) in sources.iter().enumerate() {
            interrupt::check()?;
            if printer.is_closed() && args.out.is_none() && args.visualize.is_none() {
                return Ok(());
            }
            match self.one(index, source) {
                Ok(frame) => {
                    totals.add(&frame);
                    progress.suspend(|| {
                        for warning in &frame.warnings {
                            say::warning(format_args!("{}: {warning}", frame.input));
                        }
                        printer.record("frame", &frame)?;
                        head.take().into_iter().chain(table.row(&frame)).try_for_each(|line| printer.text(&line))
                    })?;
                }
                Err(Trouble::Input { class, message }) => {
                    totals.failed += 1;
                    let input = Some(source.name());
                    let record = ErrorRecord { index: Some(index), input, class, message, exit_code: None };
                    progress.suspend(|| {
                        say::error(&record.message);
                        printer.record("error", &record)
                    })?;
                }
                Err(Trouble::Fatal(failure)) => return Err(failure),
            }
            progress.inc(1);
        }
        progress.finish_and_clear();
        self.finish(&totals, sources.len(), printer)
    }

    /// One input, from reading to writing.
    fn one(&mut self, index: usize, source: &Source) -> Result<Frame, Trouble> {
        let start = Instant::now();
        let loaded = self.inputs.load(source);
        let Loaded { cloud, format, warnings } =
            loaded.map_err(|e| Trouble::Input { class: e.class(), message: e.to_string() })?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let name = source.name();
        tracing::info!("{name}: {} points of {} columns, {format}", cloud.len(), cloud.columns());
        let ms = self.lane.run(&cloud).map_err(|e| blame(e, &name))?;
        let report = self.lane.voxels.report()?;
        let out = self.outputs.of(index);
        let drawn = self.picture.as_mut().filter(|p| p.wants_more());
        let start = Instant::now();
        let mut cpu = None;
        let mut write_ms = None;
        if out.is_some() || drawn.is_some() || self.cpu.is_some() {
            let arrays = self.lane.voxels.read()?;
            if let Some(path) = out {
                interrupt::check()?;
                write_arrays(path, &arrays)?;
                write_ms = Some(milliseconds(start.elapsed()));
            }
            if let Some(lane) = &mut self.cpu {
                interrupt::check()?;
                let ms = lane.run(&cloud)?;
                let differs = differences(&arrays, &lane.voxels.read()?);
                cpu = Some(FrameCpu { threads: lane.device.threads(), ms, equal: differs.is_empty(), differs });
            }
            if let Some(picture) = drawn {
                interrupt::check()?;
                picture.add(&cloud, &arrays, &self.params)?;
            }
        }
        Ok(Frame {
            index,
            input: name,
            format,
            points: cloud.len(),
            columns: cloud.columns(),
            in_range: report.points - report.out_of_range - report.non_finite,
            voxels: report.voxels,
            report: (&report).into(),
            ms,
            read_ms,
            write_ms,
            out: out.map(shown),
            warnings,
            cpu,
        })
    }

    fn begin(&self, inputs: usize) -> Result<Begin, Failure> {
        let effect = self.settings.in_effect();
        let params = &self.params;
        let [[a, b, c], [d, e, f]] = [params.range.min, params.range.max];
        Ok(Begin {
            run: Run::new("voxelize", &self.lane.device),
            inputs,
            params: ParamsRecord {
                voxel_size: params.voxel_size,
                range: [a, b, c, d, e, f],
                grid: self.lane.grid(),
                max_voxels: params.max_voxels,
                max_points: params.max_points_per_voxel,
                order: effect.order.unwrap_or(Order::FirstSeen),
                strict_range: params.strict_range,
                mean: effect.mean.unwrap_or(Mean::F32),
                voxels: params.outputs.voxels,
            },
        })
    }

    fn finish(self, totals: &Totals, inputs: usize, printer: &mut Printer) -> Result<(), Failure> {
        interrupt::check()?;
        let picture = match &self.picture {
            Some(picture) => picture.write()?.map(shown),
            None => None,
        };
        let ms = Times::of(&self.lane.times);
        let cpu_ms = self.cpu.as_ref().and_then(|lane| Times::of(&lane.times));
        let cpu = self.cpu.as_ref().zip(cpu_ms).zip(ms).map(|((lane, cpu), ms)| SummaryCpu {
            threads: lane.device.threads(),
            ms: cpu,
            ratio: (1e4 * cpu.mean / ms.mean).round() / 1e4,
            equal: totals.different == 0,
        });
        let summary = Summary {
            run: Run::new("voxelize", &self.lane.device),
            inputs,
            done: totals.done,
            failed: totals.failed,
            points: totals.points,
            voxels: totals.voxels,
            ms,
            cpu,
            picture,
        };
        printer.record("summary", &summary)?;
        summary_lines(&summary).iter().try_for_each(|line| printer.text(line))?;
        if totals.different > 0 {
            let n = totals.different;
            return Err(Failure::No(format!("{} and the CPU differ on {n} input(s)", summary.run.device_name)));
        }
        if totals.failed > 0 {
            return Err(Failure::Inputs { failed: totals.failed, inputs });
        }
        Ok(())
    }
}

impl Totals {
    fn add(&mut self, frame: &Frame) {
        self.done += 1;
        self.points += frame.points;
        self.voxels += frame.voxels;
        self.different += usize::from(frame.cpu.as_ref().is_some_and(|cpu| !cpu.equal));
    }
}

/// Whose fault an error of a call is: what the library says about its arguments is about the input, since the parameters are checked.
fn blame(e: Error, name: &str) -> Trouble {
    let class = match &e {
        Error::Argument { .. } => "InvalidCloud",
        Error::Cloud(_) => "ShapeMismatch",
        _ => return e.into(),
    };
    Trouble::Input { class, message: pointmill_io::escape(&format!("{name}: {e}")) }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
