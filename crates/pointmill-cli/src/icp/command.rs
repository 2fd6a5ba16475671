//! Runs `pointmill icp`. A source is an input; the target is prepared once for each device.

use super::args::IcpArgs;
use super::picture::{EXTENSIONS, Picture};
use super::records::{Begin, Row, Totals};
use super::target::{Onto, rows, warnings};
use super::{plot, report};
use crate::batch::{Called, Cell, Command, Job, Ledger, Station, Trouble, state_of};
use crate::device;
use crate::failure::Failure;
use crate::inputs::{Inputs, STDIN, Source, one_file, require_format};
use crate::interrupt::{self, undivided};
use crate::json::{Counts, Frame, Summary, differences};
use crate::outputs::{Outputs, is_folder, plan_file};
use crate::picture::require_one;
use crate::printer::Printer;
use crate::stats::milliseconds;
use crate::text::shown;
use pointmill::icp::{Registration, Target};
use pointmill::{Device, Error};
use pointmill_io::{Format, ReadOptions, WriteOptions, write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "icp";
/// The extensions of files that keep names and `f64`; the first is the one of files in folders.
const ALIGNED: [&str; 3] = ["ply", "pcd", "npz"];

/// Everything that is decided before the work.
struct Icp<'a> {
    args: &'a IcpArgs,
    device: Device,
    onto: Onto,
    inputs: Inputs,
    outputs: Outputs,
    files: Files<'a>,
}

/// The files of a source alone, with their extensions.
#[derive(Debug, Default)]
struct Files<'a> {
    out: Option<&'static str>,
    picture: Option<Picture<'a>>,
    plot: Option<(&'a Path, &'static str)>,
}

/// Runs the command.
pub(crate) fn run(args: &IcpArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let (options, params) = (args.read.options(), args.params());
    let resume = args.work.resume.resume;
    let alone = one_file(std::slice::from_ref(&args.source)).is_some();
    let files = if alone {
        if resume {
            return Err(Failure::Usage("--resume: expected a folder that outputs go to, got one source".into()));
        }
        Files::plan(args, &options)?
    } else {
        require_one("--visualize", args.visualize.as_deref(), "source")?;
        require_one("--plot", args.plot.as_deref(), "source")?;
        if args.target == STDIN {
            require_format(&options)?;
        }
        if resume && args.target == STDIN {
            let told = "--resume: expected a target that is a file, since the standard input may be another each time";
            return Err(Failure::Usage(told.into()));
        }
        Files::default()
    };
    params.validate()?;
    let mut inputs = Inputs::find(std::slice::from_ref(&args.source), options.clone())?;
    let sources = std::mem::take(&mut inputs.sources);
    let device = device::open(device)?;
    let outputs = if alone { Outputs::one(args.out.as_deref()) } else { folder(args, &sources)? };
    // Before they are read: a run that resumes sees a file that changes meanwhile.
    let beside = [Some(Path::new(&args.target)), args.guess.as_deref()].map(|path| path.and_then(state_of));
    let decides = format!("{COMMAND} {params:?} {options:?} {beside:?}");
    let job = Job {
        name: COMMAND,
        device: Some(&device),
        sources: &sources,
        batch: args.work.batch,
        verbose: args.work.verbose,
        ledger: Ledger::of(&[&outputs], &decides, resume)?,
        out: args.out.as_deref(),
        picture: args.visualize.as_deref(),
        writes: args.plot.is_some(),
    };
    let begin = Begin {
        source: args.source.clone(),
        target: args.target.clone(),
        guess: args.guess.as_deref().map(shown),
        params: params.clone(),
    };
    job.begin(begin, printer)?;
    let onto = Onto::load(args, params, &device, sources.len(), printer)?;
    interrupt::check()?;
    job.run(&Icp { args, device: device.clone(), onto, inputs, outputs, files }, printer)
}

/// A folder of aligned sources, or nothing.
fn folder(args: &IcpArgs, sources: &[Source]) -> Result<Outputs, Failure> {
    let Some(out) = args.out.as_deref() else { return Outputs::plan(None, sources) };
    let named = out.extension().and_then(|e| e.to_str()).is_some_and(|e| ALIGNED.contains(&e));
    if named && !is_folder(out) {
        let told = format!("--out {}: expected a folder, since there may be several sources", out.display());
        return Err(Failure::Usage(told));
    }
    let outputs = Outputs::folder("--out", out, ALIGNED[0], sources)?;
    outputs.spare(std::iter::once(Path::new(&args.target)).chain(args.guess.as_deref()))?;
    Ok(outputs)
}

impl<'a> Files<'a> {
    fn plan(args: &'a IcpArgs, options: &ReadOptions) -> Result<Self, Failure> {
        let names = [args.source.as_str(), args.target.as_str()];
        if names == [STDIN; 2] {
            return Err(Failure::Usage("-: expected once, found twice".into()));
        }
        if names.contains(&STDIN) {
            require_format(options)?;
        }
        let inputs: Vec<&Path> = names.into_iter().filter(|name| *name != STDIN).map(Path::new).collect();
        let file = |flag, path: &'a Option<PathBuf>, extensions: &[&'static str]| {
            let path = path.as_deref();
            path.map(|path| Ok::<_, Failure>((path, plan_file(flag, path, extensions, &inputs)?))).transpose()
        };
        let out = file("--out", &args.out, &ALIGNED)?;
        let plot = file("--plot", &args.plot, &["svg", "png"])?;
        let picture = file("--visualize", &args.visualize, &EXTENSIONS)?;
        let mut paths: Vec<_> = [out, plot, picture].into_iter().flatten().map(|(path, _)| path).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            let told = format!("{}: expected files that differ, found it twice", twice[0].display());
            return Err(Failure::Usage(told));
        }
        let picture = picture.map(|(path, extension)| Picture::plan(path, extension)).transpose()?;
        Ok(Self { out: out.map(|(_, extension)| extension), picture, plot })
    }
}

impl Command for Icp<'_> {
    type Lane = Station<Arc<Target>>;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "source";

    fn lane(&self) -> Result<Self::Lane, Failure> {
        Station::new(&self.device, &self.args.work, false, |device| self.onto.on(device))
    }

    fn one(&self, station: &mut Self::Lane, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let start = Instant::now();
        let scan = self.inputs.scan(source)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let name = source.name();
        let blame = |e: Error| Trouble::blame("BadValue", e, &name);
        let from = rows(&scan).map_err(blame)?;
        let called = station
            .call(&name, |device| self.onto.on(device), |target| target.align(from, &self.onto.guess))
            .map_err(blame)?;
        interrupt::check()?;
        let compare = |cpu: &Called<'_, Arc<Target>, Registration>| Ok(differences(&called.found, &cpu.found));
        let cpu = called.compare(compare).map_err(blame)?;
        let start = Instant::now();
        let mut write_ms = None;
        if let Some(to) = self.outputs.place(index) {
            let moved = scan.transformed(&called.found.target_from_source, self.onto.scan.is_f64());
            let format = self.files.out.unwrap_or(ALIGNED[0]).parse::<Format>().ok();
            undivided(|| write(to, &moved, &WriteOptions { format })).map_err(Failure::from)?;
            write_ms = Some(milliseconds(start.elapsed()));
        }
        if let Some(picture) = &self.files.picture {
            picture.write(&scan, &self.onto.scan, &called.found)?;
        }
        if let Some((path, extension)) = self.files.plot {
            let clouds = [&scan, &self.onto.scan];
            plot::write(path, extension, &self.device, clouds, &self.onto, &called.found)?;
        }
        let (device, ms) = (called.device.to_string(), called.ms);
        tracing::info!("{name}: {} points; read {read_ms} ms, aligned {ms} ms on {device}", scan.cloud.len());
        let [source_points, target_points] = [&scan, &self.onto.scan].map(|scan| scan.cloud.len());
        Ok(Frame {
            index,
            input: name,
            device: Some(device),
            ms: Some(ms),
            read_ms,
            write_ms,
            out: self.outputs.of(index).map(shown),
            warnings: warnings(&scan),
            cpu,
            of: Row { found: called.found, source_points, target_points },
        })
    }

    fn settled(&self, frame: &Frame<Row>) -> bool {
        frame.of.found.converged()
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.source_points;
        totals.converged += usize::from(frame.of.found.converged());
        totals.status = Some(frame.of.found.status);
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        report::cells(&frame.of)
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        alone.then(|| report::detail(frame, &device::describe(&self.device)))
    }

    fn finish(&self, totals: &mut Totals, _: Vec<Self::Lane>, counts: Counts) -> Result<bool, Failure> {
        totals.target_points = self.onto.scan.cloud.len();
        totals.target_ms = self.onto.ms;
        totals.target_read_ms = self.onto.read_ms;
        totals.target_warnings.clone_from(&self.onto.warnings);
        totals.plot = self.files.plot.filter(|_| counts.done > 0).map(|(path, _)| shown(path));
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        report::lines(summary)
    }

    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        let (inputs, done) = (summary.counts.inputs, summary.counts.done);
        match done - summary.of.converged {
            0 => Ok(()),
            _ if inputs == 1 => {
                let status = summary.of.status.map_or("", |status| status.as_str());
                Err(Failure::No(format!("not converged: {status}")))
            }
            lost => Err(Failure::No(format!("not converged: {lost} of {done} source(s)"))),
        }
    }
}
