//! The target and the guess, which all sources share.

use super::args::IcpArgs;
use super::cloud::{coordinates, warnings};
use crate::batch::{Refused, Shared, Trouble};
use crate::failure::Failure;
use crate::inputs::read_cloud;
use crate::pose;
use crate::printer::Printer;
use crate::say;
use crate::stats::milliseconds;
use pointmill::icp::{IcpParams, Target};
use pointmill::{Device, Error};
use pointmill_io::Scan;
use std::sync::Arc;
use std::time::Instant;

/// The target as it was read, and prepared for each device.
pub(super) struct Onto {
    pub(super) scan: Scan,
    /// The parameters, with the guess.
    pub(super) params: IcpParams,
    prepared: Shared<Target>,
    pub(super) read_ms: f64,
    /// Time to prepare it for the device of the command.
    pub(super) ms: f64,
    pub(super) warnings: Vec<String>,
}

impl Onto {
    /// Reads the target and the guess, and prepares the target. Each file that cannot be used is reported, and then no source is aligned.
    pub(super) fn load(
        args: &IcpArgs,
        mut params: IcpParams,
        device: &Device,
        sources: usize,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let start = Instant::now();
        let mut failed = 0;
        let mut refuse = |index: usize, input: &str, refused: Refused| {
            failed += 1;
            refused.tell(printer, sources + index, input)
        };
        let scan = match read_cloud(&args.target, &args.read.options()) {
            Ok(scan) => Some(scan),
            Err(e) => refuse(0, &args.target, e.into()).map(|()| None)?,
        };
        if let Some(path) = &args.guess {
            match pose::read_guess(path, &params) {
                Ok(pose) => params.target_from_source = pose,
                Err(e) => refuse(1, &path.to_string_lossy(), e.into())?,
            }
        }
        let read_ms = milliseconds(start.elapsed());
        let inputs = sources + 1 + usize::from(args.guess.is_some());
        let (Some(scan), 0) = (scan, failed) else { return Err(Failure::Inputs { failed, inputs }) };
        let warnings = warnings(&scan);
        warnings.iter().for_each(|warning| say::warning(format_args!("{}: {warning}", args.target)));
        let start = Instant::now();
        let mut onto = Self { scan, params, prepared: Shared::default(), read_ms, ms: 0.0, warnings };
        match onto.on(device).map_err(|e| Trouble::blame("BadValue", e, &args.target)) {
            Ok(_) => {}
            Err(Trouble::Fatal(failure)) => return Err(failure),
            Err(Trouble::Input(refused)) => {
                refused.into_iter().try_for_each(|refused| refused.tell(printer, sources, &args.target))?;
                return Err(Failure::Inputs { failed: 1, inputs });
            }
        }
        onto.ms = milliseconds(start.elapsed());
        Ok(onto)
    }

    /// The target on a device, prepared once.
    pub(super) fn on(&self, device: &Device) -> Result<Arc<Target>, Error> {
        self.prepared.get(device, || Target::new(&device.stream()?, coordinates(&self.scan)?, &self.params))
    }
}
