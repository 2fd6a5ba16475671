//! `pointmill icp`: the pose that brings one cloud onto another, or each of many onto one.

mod args;
mod batch;
mod cloud;
mod picture;
mod plot;
pub(crate) mod records;
mod table;

pub(crate) use args::IcpArgs;

use crate::args::Global;
use crate::batch::Refused;
use crate::failure::Failure;
use crate::inputs::{STDIN, load_one, one_file, require_format};
use crate::interrupt::{self, undivided};
use crate::outputs::plan_file_of;
use crate::pose;
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::milliseconds;
use crate::table::matrix_lines;
use crate::{convert, device, say};
use picture::Picture;
use pointmill::icp::{IcpParams, Registration, align};
use pointmill::{Device, Pose, Rows};
use pointmill_io::{Detail, IoError, ReadOptions, Scan};
use records::{Begin, FoundRecord, ParamsRecord, Summary};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "icp";
/// The endings of files that keep names and `f64`.
const ALIGNED: [&str; 3] = ["ply", "pcd", "npz"];

/// Where everything goes, settled before any work.
#[derive(Debug)]
struct Targets<'a> {
    out: Option<(&'a Path, &'static str)>,
    picture: Option<Picture<'a>>,
    plot: Option<(&'a Path, &'static str)>,
}

/// Runs the command.
pub(crate) fn run(args: &IcpArgs, global: &Global, printer: &mut Printer) -> Result<(), Failure> {
    let (options, params) = (args.read.options(), args.params());
    let device = global.device.as_deref().unwrap_or("auto");
    if one_file(std::slice::from_ref(&args.source)).is_none() {
        return batch::run(args, params, device, printer);
    }
    if args.resume.resume {
        return Err(Failure::Usage("--resume: expected a folder that outputs go to, got one source".into()));
    }
    let targets = Targets::plan(args, &options)?;
    params.validate()?;
    let device = device::open(device)?;
    printer.record(
        "begin",
        &Begin {
            run: Run::new(COMMAND, &device),
            source: args.source.clone(),
            target: args.target.clone(),
            params: ParamsRecord::new(args, &params),
        },
    )?;
    let start = Instant::now();
    let Ready { source, target, guess } = load(args, &options, printer)?;
    let read_ms = milliseconds(start.elapsed());
    interrupt::check()?;
    let mut warnings: Vec<String> = cloud::warnings(&args.source, &source).collect();
    warnings.extend(cloud::warnings(&args.target, &target));
    warnings.iter().for_each(say::warning);
    let (from, onto) = (cloud::coordinates(&source)?, cloud::coordinates(&target)?);
    let start = Instant::now();
    let found = align_on(&device, from, onto, &params, &guess)?;
    let ms = milliseconds(start.elapsed());
    interrupt::check()?;
    if let Some((path, extension)) = targets.out {
        let scan = cloud::aligned(&source, &target, &found.target_from_source)?;
        undivided(|| convert::write(path, extension, &scan))?;
    }
    if let Some(picture) = &targets.picture {
        picture.write(&source, &target, &found)?;
    }
    if let Some((path, extension)) = targets.plot {
        plot::write(path, extension, &device, [&source, &target], (&params, &guess), &found)?;
    }
    let summary = Summary {
        run: Run::new(COMMAND, &device),
        found: FoundRecord::from(&found),
        source_points: source.cloud.len(),
        target_points: target.cloud.len(),
        ms,
        read_ms,
        warnings,
        out: shown(&args.out),
        picture: shown(&args.visualize),
        plot: shown(&args.plot),
    };
    printer.record("summary", &summary)?;
    for line in table::trace_lines(&found.fit.trace) {
        printer.text(&line)?;
    }
    matrix_lines(&pose::flat(&found.target_from_source)).iter().try_for_each(|line| printer.text(line))?;
    table::summary_lines(&summary, &found).iter().try_for_each(|line| printer.text(line))?;
    if found.converged() { Ok(()) } else { Err(Failure::No(format!("not converged: {}", summary.found.status))) }
}

/// Aligns on a device.
fn align_on(
    device: &Device,
    source: Rows<'_>,
    target: Rows<'_>,
    params: &IcpParams,
    guess: &Pose,
) -> Result<Registration, Failure> {
    Ok(align(source, target, guess, params, device)?)
}

impl<'a> Targets<'a> {
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
            path.map(|path| Ok::<_, Failure>((path, plan_file_of(flag, path, extensions, &inputs)?))).transpose()
        };
        let out = file("--out", &args.out, &ALIGNED)?;
        let plot = file("--plot", &args.plot, &["svg", "png"])?;
        let picture = file("--visualize", &args.visualize, &picture::EXTENSIONS)?;
        let mut paths: Vec<_> = [out, plot, picture].into_iter().flatten().map(|(path, _)| path).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            let told = format!("{}: expected files that differ, found it twice", twice[0].display());
            return Err(Failure::Usage(told));
        }
        let picture = picture.map(|(path, extension)| Picture::plan(path, extension)).transpose()?;
        Ok(Self { out, picture, plot })
    }
}

/// What was read.
struct Ready {
    source: Scan,
    target: Scan,
    guess: Pose,
}

/// Reads both clouds and the guess; what cannot be used is told, and there is no answer then.
fn load(args: &IcpArgs, options: &ReadOptions, printer: &mut Printer) -> Result<Ready, Failure> {
    let inputs = 2 + usize::from(args.guess.is_some());
    let mut failed = 0;
    let mut tell = |index: usize, input: &str, e: IoError| {
        failed += 1;
        Refused::from(e).tell(printer, index, input)
    };
    let mut scans = [None, None];
    for (i, name) in [&args.source, &args.target].into_iter().enumerate() {
        match load_one(name, options)? {
            Ok(scan) => scans[i] = Some(scan),
            Err(e) => tell(i, name, e)?,
        }
    }
    let mut from = Pose::IDENTITY;
    if let Some(path) = &args.guess {
        match guess(path) {
            Ok(pose) => from = pose,
            Err(e) => tell(2, &path.to_string_lossy(), e)?,
        }
    }
    match scans {
        [Some(source), Some(target)] if failed == 0 => Ok(Ready { source, target, guess: from }),
        _ => Err(Failure::Inputs { failed, inputs }),
    }
}

/// The one pose of a file, if it is rigid.
fn guess(path: &Path) -> Result<Pose, IoError> {
    let poses = pose::read(path)?;
    let [written] = poses[..] else {
        return Err(IoError::BadValue(Detail::new(path, "text", "one pose", poses.len().to_string())));
    };
    written.pose().map_err(|e| pose::refused(path, 0, &e))
}

fn shown(path: &Option<PathBuf>) -> Option<String> {
    path.as_deref().map(|path| path.to_string_lossy().into_owned())
}
