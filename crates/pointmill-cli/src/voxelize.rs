//! `pointmill voxelize`: inputs through voxelizers, each of which keeps its memory from one to the next.

use crate::args::{Global, VoxelizeArgs};
use crate::batch::{Batch, Counts, Trouble};
use crate::compare::{Lane, differences};
use crate::config::{Config, Mean, Order, Settings};
use crate::device::OnOom;
use crate::failure::Failure;
use crate::inputs::{Inputs, Loaded, Source, may_be_many};
use crate::outputs::{Outputs, write_arrays};
use crate::picture::Picture;
use crate::printer::Printer;
use crate::records::{Begin, Frame, FrameCpu, ParamsRecord, Run, Summary, SummaryCpu};
use crate::stats::{Times, milliseconds};
use crate::table::{Table, summary_lines};
use crate::{device, interrupt, say};
use pointmill::voxelize::{VoxelizeParams, Voxelizer};
use pointmill::{Device, Error, PointCloud};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Everything that is settled before the work.
struct Plan {
    settings: Settings,
    params: VoxelizeParams,
    inputs: Inputs,
    outputs: Outputs,
    on_oom: OnOom,
    picture: Option<Mutex<Picture>>,
}

/// What works on one input at a time.
struct Station {
    lane: Lane,
    /// The CPU beside it.
    cpu: Option<Lane>,
    /// The CPU instead of it, once its memory was short.
    spare: Option<Lane>,
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    points: usize,
    voxels: usize,
    different: usize,
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
    let decides = format!("voxelize {params:?} {options:?}");
    let mut inputs = Inputs::find(&args.inputs, options)?;
    let sources = std::mem::take(&mut inputs.sources);
    let picture = args.visualize.as_deref().map(|path| Picture::plan(path, sources.len())).transpose()?;
    args.batch.check(args.resume.resume, args.visualize.is_some())?;
    let device = device::open(device)?;
    let plan = if may_be_many(&args.inputs) { Outputs::of_many } else { Outputs::plan };
    let outputs = plan(args.out.as_deref(), &sources)?;
    let ledger = outputs.ledger(&decides, args.resume.resume)?;
    let lanes = args.batch.lanes(sources.len());
    let stations = (0..lanes).map(|_| Station::new(&device, &params, args.cpu)).collect::<Result<_, _>>()?;
    let writes = args.out.is_some() || args.visualize.is_some();
    let batch = Batch { sources: &sources, args: args.batch, ledger, writes };
    let picture = picture.map(Mutex::new);
    Plan { settings, params, inputs, outputs, on_oom: args.on_oom.on_oom, picture }.run(&batch, stations, args, printer)
}

impl Station {
    fn new(device: &Device, params: &VoxelizeParams, beside: bool) -> Result<Self, Failure> {
        let cpu = if beside { Some(Lane::new(device::cpu_beside(device)?, params, true)?) } else { None };
        Ok(Self { lane: Lane::new(device.clone(), params, beside)?, cpu, spare: None })
    }
}

impl Plan {
    fn run(
        self,
        batch: &Batch<'_>,
        stations: Vec<Station>,
        args: &VoxelizeArgs,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let names: Vec<_> = batch.sources.iter().map(Source::name).collect();
        let table = Table::new(&names, args.cpu, args.verbose);
        let lane = &stations[0].lane;
        let begin = self.begin(Run::new("voxelize", &lane.device), lane.grid(), names.len());
        printer.record("begin", &begin)?;
        let mut head = table.head();
        let mut totals = Totals::default();
        let one = |station: &mut Station, index: usize, source: &Source| self.one(station, index, source);
        let ran = batch.run(stations, printer, one, |printer, frame: Frame| {
            totals.add(&frame);
            for warning in &frame.warnings {
                say::warning(format_args!("{}: {warning}", frame.input));
            }
            printer.record("frame", &frame)?;
            head.take().into_iter().chain(table.row(&frame)).try_for_each(|line| printer.text(&line))
        })?;
        match ran {
            Some((stations, counts)) => self.finish(&stations, &totals, counts, printer),
            None => Ok(()),
        }
    }

    /// One input, from reading to writing.
    fn one(&self, station: &mut Station, index: usize, source: &Source) -> Result<Frame, Trouble> {
        let start = Instant::now();
        let Loaded { cloud, format, warnings } = self.inputs.load(source)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let name = source.name();
        let blame = |e| Trouble::blame("ShapeMismatch", e, &name);
        let Station { lane, cpu: beside, spare } = station;
        let (ms, lane) = self.call(lane, spare, &name, &cloud).map_err(blame)?;
        let report = lane.voxels.report()?;
        let device = lane.device.to_string();
        let out = self.outputs.of(index);
        let drawn = self.picture.as_ref().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner));
        let drawn = drawn.filter(|p| p.wants_more());
        let start = Instant::now();
        let mut cpu = None;
        let mut write_ms = None;
        if out.is_some() || drawn.is_some() || beside.is_some() {
            let arrays = lane.voxels.read().map_err(blame)?;
            if let Some(to) = self.outputs.place(index) {
                interrupt::check()?;
                write_arrays(to, &arrays)?;
                write_ms = Some(milliseconds(start.elapsed()));
            }
            if let Some(lane) = beside {
                interrupt::check()?;
                let ms = lane.run(&cloud).map_err(blame)?;
                let differs = differences(&arrays, &lane.voxels.read().map_err(blame)?);
                cpu = Some(FrameCpu { threads: lane.device.threads(), ms, equal: differs.is_empty(), differs });
            }
            if let Some(mut picture) = drawn {
                interrupt::check()?;
                picture.add(&cloud, &arrays, &self.params)?;
            }
        }
        tracing::info!(
            "{name}: {} points of {} columns, {format}; read {read_ms} ms, {device} {ms} ms, written {} ms",
            cloud.len(),
            cloud.columns(),
            write_ms.unwrap_or(0.0)
        );
        Ok(Frame {
            index,
            input: name,
            format,
            device,
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

    /// Voxelizes on the device, or where its memory is short and that is asked for, on the CPU; who has the result.
    fn call<'a>(
        &self,
        lane: &'a mut Lane,
        spare: &'a mut Option<Lane>,
        name: &str,
        cloud: &PointCloud,
    ) -> Result<(f64, &'a Lane), Error> {
        match lane.run(cloud) {
            Ok(ms) => return Ok((ms, lane)),
            Err(e) if self.on_oom.redoes(&e, &lane.device) => device::say_redone(name, &e),
            Err(e) => return Err(e),
        }
        let spare = match spare {
            Some(spare) => spare,
            none => none.insert(Lane::new(Device::cpu(), &self.params, false)?),
        };
        Ok((spare.run(cloud)?, spare))
    }

    fn begin(&self, run: Run, grid: [u32; 3], inputs: usize) -> Begin {
        let effect = self.settings.in_effect();
        let params = &self.params;
        let [[a, b, c], [d, e, f]] = [params.range.min, params.range.max];
        Begin {
            run,
            inputs,
            params: ParamsRecord {
                voxel_size: params.voxel_size,
                range: [a, b, c, d, e, f],
                grid,
                max_voxels: params.max_voxels,
                max_points: params.max_points_per_voxel,
                order: effect.order.unwrap_or(Order::FirstSeen),
                strict_range: params.strict_range,
                mean: effect.mean.unwrap_or(Mean::F32),
                voxels: params.outputs.voxels,
            },
        }
    }

    fn finish(
        self,
        stations: &[Station],
        totals: &Totals,
        counts: Counts,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let picture = match self.picture.map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            Some(picture) => picture.write()?.map(shown),
            None => None,
        };
        let times = |of: &dyn Fn(&Station) -> Option<&Lane>| {
            let all: Vec<f64> = stations.iter().filter_map(of).flat_map(|lane| &lane.times).copied().collect();
            Times::of(&all)
        };
        let ms = times(&|station| Some(&station.lane));
        let beside = stations[0].cpu.as_ref().zip(times(&|station| station.cpu.as_ref())).zip(ms);
        let equal = totals.different == 0;
        let cpu = beside.map(|((lane, cpu), ms)| SummaryCpu::new(lane.device.threads(), cpu, &ms, equal));
        let summary = Summary {
            run: Run::new("voxelize", &stations[0].lane.device),
            counts,
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
        counts.verdict()
    }
}

impl Totals {
    fn add(&mut self, frame: &Frame) {
        self.points += frame.points;
        self.voxels += frame.voxels;
        self.different += usize::from(frame.cpu.as_ref().is_some_and(|cpu| !cpu.equal));
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill::TwinFault;

    /// Voxelizes a cloud on the twin, which fails after so many allocations or launches; the frame, and the bytes that were written.
    fn failing(on_oom: OnOom, fault: (TwinFault, usize)) -> Result<(Frame, Vec<u8>), Trouble> {
        let folder = tempfile::tempdir().unwrap();
        let [input, out] = ["a.bin", "a.npz"].map(|name| folder.path().join(name));
        let points = (0..300).flat_map(|i| [0.1 * i as f32, 0.0, 0.0, 1.0]);
        pointmill_io::write_bin(&input, PointCloud::new(points.collect(), 4).unwrap().points()).unwrap();
        let settings = Settings::default();
        let params = VoxelizeParams { max_voxels: 1000, ..settings.params() };
        let inputs = Inputs::find(&[input.to_str().unwrap().into()], settings.read_options().unwrap()).unwrap();
        let outputs = Outputs::plan(Some(&out), &inputs.sources).unwrap();
        let mut station = Station::new(&Device::twin(), &params, false).unwrap();
        let plan = Plan { settings, params, inputs, outputs, on_oom, picture: None };
        Device::fail_twin(Some(fault));
        let done = plan.one(&mut station, 0, &plan.inputs.sources[0]);
        Device::fail_twin(None);
        done.map(|frame| (frame, std::fs::read(out).unwrap()))
    }

    #[test]
    fn short_memory_of_a_device_is_an_input_that_fails_or_is_done_on_the_cpu() {
        let short = (TwinFault::OutOfMemory, 0);
        let Err(Trouble::Input(refused)) = failing(OnOom::Fail, short) else { panic!("no refusal") };
        assert!(format!("{refused:?}").contains("\"OutOfMemory\""), "{refused:?}");
        let (redone, redone_bytes) = failing(OnOom::Cpu, short).unwrap();
        let (whole, whole_bytes) = failing(OnOom::Cpu, (TwinFault::OutOfMemory, 10_000)).unwrap();
        assert_eq!((redone.device.as_str(), whole.device.as_str()), ("cpu", "twin"));
        assert!(redone_bytes == whole_bytes);
    }

    #[test]
    fn a_lost_device_ends_the_command() {
        let lost = failing(OnOom::Cpu, (TwinFault::Lost, 0)).unwrap_err();
        assert!(matches!(&lost, Trouble::Fatal(failure) if failure.exit_code() == 5), "{lost:?}");
    }
}
