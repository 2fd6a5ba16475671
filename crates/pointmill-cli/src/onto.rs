//! Sources that are aligned with one target: what `icp` and `register` share.

use crate::batch::Shared;
use crate::batch::prelude::*;
use crate::inputs::{read_cloud, require_format, stdin_twice};
use crate::outputs::has_extension;
use crate::pose;
use pointmill::{Device, Error, Pose, Rows};
use pointmill_io::{Format, ReadOptions, Scan, WriteOptions, write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The extensions of aligned sources, which keep names and `f64`; the first is the one of files in
/// folders.
pub(crate) const ALIGNED: [&str; 3] = ["ply", "pcd", "npz"];

/// How a target is made ready.
type Prepare<T, P> = fn(&Device, Rows<'_>, &P) -> Result<T, Error>;

/// The target as it was read, and prepared for each device.
pub(crate) struct Onto<T, P> {
    pub(crate) scan: Scan,
    pub(crate) params: P,
    /// The pose to start from.
    pub(crate) guess: Pose,
    prepare: Prepare<T, P>,
    prepared: Shared<T>,
    /// Time to read it, and the guess.
    pub(crate) read_ms: f64,
    /// Time to prepare it for the device of the command.
    pub(crate) ms: f64,
    pub(crate) warnings: Vec<String>,
}

impl<T, P> Onto<T, P> {
    /// Reads the target and the guess, and prepares the target. Each file that cannot be used is
    /// reported, and then no source is aligned.
    pub(crate) fn load(
        (target, guess): (&Path, Option<&Path>),
        options: &ReadOptions,
        (params, prepare): (P, Prepare<T, P>),
        device: &Device,
        sources: usize,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let start = Instant::now();
        let inputs = sources + 1 + usize::from(guess.is_some());
        let name = shown(target);
        let mut failed = 0;
        let mut refuse = |index: usize, input: &str, input_error: InputError| {
            failed += 1;
            input_error.tell(printer, sources + index, input)
        };
        let scan = match read_cloud(target, options) {
            Ok(scan) => Some(scan),
            Err(e) => refuse(0, &name, e.into()).map(|()| None)?,
        };
        let mut start_pose = Pose::IDENTITY;
        if let Some(path) = guess {
            match pose::read_one(path) {
                Ok(pose) => start_pose = pose,
                Err(e) => refuse(1, &shown(path), e.into())?,
            }
        }
        let read_ms = since(start);
        let (Some(scan), 0) = (scan, failed) else { return Err(Failure::Inputs { failed, inputs }) };
        let warnings = warnings_of_rows(&scan).warnings;
        warnings.iter().for_each(|warning| stderr::warning(format_args!("{name}: {warning}")));
        let prepared = Shared::default();
        let mut onto = Self { scan, params, guess: start_pose, prepare, prepared, read_ms, ms: 0.0, warnings };
        match timed(|| onto.on(device)).map_err(|e| InputError::blame("BadValue", e, &name)) {
            Ok((_, ms)) => onto.ms = ms,
            Err(input_error) => {
                input_error.tell(printer, sources, &name)?;
                return Err(Failure::Inputs { failed: 1, inputs });
            }
        }
        Ok(onto)
    }

    /// The target on a device, prepared once.
    pub(crate) fn on(&self, device: &Device) -> Result<Arc<T>, Error> {
        self.prepared.get(device, || (self.prepare)(device, rows(&self.scan)?, &self.params))
    }
}

/// Checks what a source alone and the target are, and returns those that are files.
pub(crate) fn check_one<'a>(
    [source, target]: [&'a Path; 2],
    options: &ReadOptions,
    resume: bool,
) -> Result<Vec<&'a Path>, Failure> {
    if resume {
        let message = "--resume: needs several sources and --out with a folder, got one source";
        return Err(Failure::Usage(message.into()));
    }
    let inputs: Vec<&Path> = [source, target].into_iter().filter(|input| !is_stdin(input)).collect();
    match inputs.len() {
        0 => return Err(stdin_twice().into()),
        1 => require_format(options)?,
        _ => {}
    }
    Ok(inputs)
}

/// Checks what the target of several sources is.
pub(crate) fn check_many(target: &Path, options: &ReadOptions, resume: bool) -> Result<(), Failure> {
    if is_stdin(target) {
        require_format(options)?;
        if resume {
            let message = "--resume: needs TARGET as a file, because the standard input can differ between runs";
            return Err(Failure::Usage(message.into()));
        }
    }
    Ok(())
}

/// A folder of aligned sources, or nothing.
pub(crate) fn folder(out: Option<&Path>, sources: &[Source]) -> Result<Outputs, Failure> {
    let Some(out) = out else { return Outputs::plan(None, sources) };
    if ALIGNED.iter().any(|extension| has_extension(out, extension)) && !out.is_dir() {
        let message = format!("--out {}: expected a folder, since there may be several sources", out.display());
        return Err(Failure::Usage(message));
    }
    Outputs::folder("--out", out, ALIGNED[0], sources)
}

/// Writes a source in the frame of the target, if it is to be written: the file, and how long it took.
pub(crate) fn write_aligned(
    outputs: &Outputs,
    index: usize,
    extension: Option<&str>,
    [source, target]: [&Scan; 2],
    target_from_source: &Pose,
) -> Result<Option<(String, f64)>, Failure> {
    let Some(to) = outputs.place(index) else { return Ok(None) };
    let format = extension.unwrap_or(ALIGNED[0]).parse::<Format>().ok();
    let written = timed(|| -> Result<_, Failure> {
        let moved = source.transformed(target_from_source, target.is_f64());
        undivided(|| write(to, &moved, &WriteOptions { format }))?;
        Ok(shown(to.path))
    })?;
    Ok(Some(written))
}
