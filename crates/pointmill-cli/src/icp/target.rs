//! The target and the guess, which all sources share.

use super::args::IcpArgs;
use crate::batch::{InputError, Shared};
use crate::failure::Failure;
use crate::inputs::{read_cloud, rows, warnings_of_rows};
use crate::pose;
use crate::printer::Printer;
use crate::stats::{since, timed};
use crate::stderr;
use crate::text::shown;
use pointmill::icp::{IcpParams, Target};
use pointmill::{Device, Error, Pose};
use pointmill_io::{ReadOptions, Scan};
use std::sync::Arc;
use std::time::Instant;

/// The target as it was read, and prepared for each device.
pub(super) struct IcpTarget {
    pub(super) scan: Scan,
    pub(super) params: IcpParams,
    /// The pose to start from.
    pub(super) guess: Pose,
    prepared: Shared<Target>,
    pub(super) read_ms: f64,
    /// Time to prepare it for the device of the command.
    pub(super) ms: f64,
    pub(super) warnings: Vec<String>,
}

impl IcpTarget {
    /// Reads the target and the guess, and prepares the target. Each file that cannot be used is
    /// reported, and then no source is aligned.
    pub(super) fn load(
        args: &IcpArgs,
        params: IcpParams,
        options: &ReadOptions,
        device: &Device,
        sources: usize,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let start = Instant::now();
        let target = shown(&args.target);
        let mut failed = 0;
        let mut refuse = |index: usize, input: &str, input_error: InputError| {
            failed += 1;
            input_error.tell(printer, sources + index, input)
        };
        let scan = match read_cloud(&args.target, options) {
            Ok(scan) => Some(scan),
            Err(e) => refuse(0, &target, e.into()).map(|()| None)?,
        };
        let mut guess = Pose::IDENTITY;
        if let Some(path) = &args.guess {
            match pose::read_one(path) {
                Ok(pose) => guess = pose,
                Err(e) => refuse(1, &shown(path), e.into())?,
            }
        }
        let read_ms = since(start);
        let inputs = sources + 1 + usize::from(args.guess.is_some());
        let (Some(scan), 0) = (scan, failed) else { return Err(Failure::Inputs { failed, inputs }) };
        let warnings = warnings_of_rows(&scan).warnings;
        warnings.iter().for_each(|warning| stderr::warning(format_args!("{target}: {warning}")));
        let mut onto = Self { scan, params, guess, prepared: Shared::default(), read_ms, ms: 0.0, warnings };
        match timed(|| onto.on(device)).map_err(|e| InputError::blame("BadValue", e, &target)) {
            Ok((_, ms)) => onto.ms = ms,
            Err(input_error) => {
                input_error.tell(printer, sources, &target)?;
                return Err(Failure::Inputs { failed: 1, inputs });
            }
        }
        Ok(onto)
    }

    /// The target on a device, prepared once.
    pub(super) fn on(&self, device: &Device) -> Result<Arc<Target>, Error> {
        self.prepared.get(device, || Target::new(&device.stream()?, rows(&self.scan)?, &self.params))
    }
}
